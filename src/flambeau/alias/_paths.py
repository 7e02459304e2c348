"""Paths below ``torch`` that differ in Flambeau."""

from __future__ import annotations

import importlib
import types

# Maps a path of torch to a module of Flambeau, or to a dict of names and their modules.
ELSEWHERE: dict[str, str | dict[str, str]] = {
    "ops": "flambeau._ops",  # flambeau.ops is internal
    "nn.modules.adaptive": {"nn": "AdaptiveLogSoftmaxWithLoss"},
    "nn.modules.channelshuffle": {"nn": "ChannelShuffle"},
    "nn.modules.distance": {"nn": "CosineSimilarity PairwiseDistance"},
    "nn.modules.fold": {"nn": "Fold Unfold"},
    "nn.modules.instancenorm": {
        "nn": "InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d",
        "nn.modules.batchnorm": "_InstanceNorm",
    },
    "nn.modules.pixelshuffle": {"nn": "PixelShuffle PixelUnshuffle"},
    "nn.modules.sparse": {"nn": "Embedding EmbeddingBag"},
    "nn.modules.upsampling": {"nn": "Upsample UpsamplingBilinear2d UpsamplingNearest2d"},
    "nn.modules.linear_cross_entropy_options": {"nn": "LinearCrossEntropyOptions"},
    "_tensor": {"": "Tensor", "serialization._rebuild": "_rebuild_from_type_v2"},
    "_utils": {
        "_utils": "ExceptionWrapper KeyErrorMessage",
        "nn.parameter": "_rebuild_parameter _rebuild_parameter_with_state",
        "serialization._rebuild": (
            "_rebuild_meta_tensor_no_storage _rebuild_sparse_tensor _rebuild_tensor _rebuild_tensor_v2 "
            "_rebuild_tensor_v3"
        ),
    },
    "profiler.profiler": {"profiler": "ProfilerAction profile"},
    "autograd.grad_mode": {
        "": "enable_grad inference_mode no_grad set_grad_enabled",
        "autograd": "enforce_grad_layout_policy set_multithreading_enabled",
    },
}


def gathered_module(name, sources):
    """A module assembled from names of several Flambeau modules."""
    module = types.ModuleType(name)
    for path, names in sources.items():
        source = importlib.import_module(f"flambeau.{path}".rstrip("."))
        module.__dict__.update({each: getattr(source, each) for each in names.split()})
    return module
