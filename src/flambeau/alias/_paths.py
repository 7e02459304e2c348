"""Paths below ``torch`` that are arranged otherwise in Flambeau."""

from __future__ import annotations

import importlib
import types

# A path of torch, and the module of Flambeau that it is, or the names in it and where they are from.
ELSEWHERE: dict[str, str | dict[str, str]] = {
    "ops": "flambeau._ops",  # flambeau.ops is the floor of that name
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
    """A module with names from several of Flambeau's."""
    module = types.ModuleType(name)
    for path, names in sources.items():
        source = importlib.import_module(f"flambeau.{path}".rstrip("."))
        module.__dict__.update({each: getattr(source, each) for each in names.split()})
    return module
