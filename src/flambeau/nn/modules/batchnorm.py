"""Batch norm and instance norm."""

from __future__ import annotations

import warnings

from ..._dtypes import int64
from ..._tensor import Tensor, engine_for
from ...autograd._writes import check_writable, write
from ...functions.creation import empty, ones, zeros
from ...functions.from_data import tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedBuffer, UninitializedParameter
from ._variants import Variants
from .lazy import LazyModuleMixin

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d",
           "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d",
           "LazyInstanceNorm3d", "SyncBatchNorm"]

UNEXPECTED_STATISTICS = (
    "Unexpected running stats buffer(s) {names} for {cls} with track_running_stats=False. If state_dict is a "
    "checkpoint saved before 0.4.0, this may be expected because {cls} does not track running stats by default since "
    "0.4.0. Please remove these keys from state_dict. If the running stats are actually needed, instead set "
    "track_running_stats=True in {cls} to enable them."
)


class _NormBase(Variants):
    """Base of batch and instance norms: weight, bias and running statistics of the channels."""

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    num_features: int
    eps: float
    momentum: float | None
    affine: bool
    track_running_stats: bool

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None,
                 dtype=None, *, bias=True):
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            made = Parameter(empty(num_features, device=device, dtype=dtype)) if wanted else None
            self.register_parameter(name, made)
        if track_running_stats:
            self.register_buffer("running_mean", zeros(num_features, device=device, dtype=dtype))
            self.register_buffer("running_var", ones(num_features, device=device, dtype=dtype))
            self.register_buffer("num_batches_tracked", tensor(0, dtype=int64, device=device))
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self):
        """Sets the running statistics to mean 0 and variance 1."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        """Resets the running statistics; sets weight to ones and bias to zeros."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input):
        if input.dim() not in self._ranks:
            wanted = " or ".join(f"{rank}D" for rank in self._ranks)
            raise ValueError(f"expected {wanted} input (got {input.dim()}D input)")

    def extra_repr(self):
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}")

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
        version = local_metadata.get("version", None)
        if (version is None or version < 2) and self.track_running_stats:
            key = prefix + "num_batches_tracked"
            if key not in state_dict:  # version 1 had no such buffer
                own = self.num_batches_tracked
                kept = own is not None and own.device.type != "meta"
                state_dict[key] = own if kept else tensor(0, dtype=int64)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


def _count_up(count):
    """Adds one to a tensor, without the overhead of type promotion."""
    if type(count) is Tensor and engine_for(count).computes:
        check_writable(count)
        write(count, "add_", engine_for(count).accumulate, 1)
    else:
        count.add_(1)


class _BatchNorm(_NormBase):
    def forward(self, input):
        self._check_input_dim(input)
        return self._apply_norm(F.batch_norm, input)

    def _apply_norm(self, function, input):
        """Applies a function with the signature of ``F.batch_norm`` to the input, with the state of this module."""
        momentum = 0.0 if self.momentum is None else self.momentum
        track = self.track_running_stats
        if self.training and track and self.num_batches_tracked is not None:
            _count_up(self.num_batches_tracked)
            if self.momentum is None:  # the cumulative mean over all batches
                momentum = self.num_batches_tracked.double().reciprocal()
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        running = not self.training or track
        return function(
            input, self.running_mean if running else None, self.running_var if running else None, self.weight,
            self.bias, by_batch, momentum, self.eps,
        )


class BatchNorm1d(_BatchNorm, _ranks=(2, 3)):
    """Normalizes each channel over the batch, then applies weight and bias.

    Args:
        num_features: the number of channels.
        eps: added to the variance for numerical stability.
        momentum: the weight of each batch in the running statistics; None averages over all batches.
        affine: whether there are a learnable scale (``weight``) and shift (``bias``).
        track_running_stats: whether to keep running statistics, and use them in eval mode.

    Shape:
        - Input: ``(N, C)`` or ``(N, C, L)``
        - Output: same as the input

    Example::

        >>> BatchNorm1d(100)(randn(20, 100)).shape
        torch.Size([20, 100])
    """


class BatchNorm2d(_BatchNorm, _ranks=(4,)):
    """``BatchNorm1d`` for images ``(N, C, H, W)``."""


class BatchNorm3d(_BatchNorm, _ranks=(5,)):
    """``BatchNorm1d`` for volumes ``(N, C, D, H, W)``."""


class SyncBatchNorm(_BatchNorm):
    """Batch norm over the batches of all processes. With one process, a batch norm for inputs of any rank.

    Args:
        process_group: accepted for compatibility: there is only one process.

    Shape:
        - Input: ``(N, C, ...)``
        - Output: same as the input
    """

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, process_group=None,
                 device=None, dtype=None, *, bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """The module with every batch norm replaced by a SyncBatchNorm over the same parameters and buffers."""
        converted = module
        if isinstance(module, _BatchNorm):
            converted = cls(module.num_features, module.eps, module.momentum, module.affine,
                            module.track_running_stats, process_group, bias=module.bias is not None)
            for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
                setattr(converted, name, getattr(module, name))
            converted.training = module.training
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted


class _InstanceNorm(_NormBase):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None,
                 dtype=None, *, bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input):
        self._check_input_dim(input)
        channels = input.size(-self._ranks[0])
        if channels != self.num_features:
            if self.affine:
                raise ValueError(f"expected input's size at dim={input.dim() - self._ranks[0]} to match num_features "
                                 f"({self.num_features}), but got: {channels}.")
            warnings.warn(f"input's size at dim={input.dim() - self._ranks[0]} does not match num_features. You can "
                          "silence this warning by not passing in num_features, which is not used because affine=False",
                          stacklevel=2)
        if input.dim() == self._ranks[0]:
            return self._normalize(input.unsqueeze(0)).squeeze(0)
        return self._normalize(input)

    def _normalize(self, input):
        return F.instance_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats, 0.0 if self.momentum is None else self.momentum, self.eps,
        )

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                              error_msgs):
        if local_metadata.get("version", None) is None and not self.track_running_stats:
            found = [prefix + name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if found:
                error_msgs.append(UNEXPECTED_STATISTICS.format(names=" and ".join(map(repr, found)),
                                                               cls=type(self).__name__))
                for key in found:
                    state_dict.pop(key)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                                      error_msgs)


class InstanceNorm1d(_InstanceNorm, _ranks=(2, 3)):
    """Normalizes each channel of each sample. Arguments as for ``BatchNorm1d``.

    Shape:
        - Input: ``(N, C, L)`` or ``(C, L)``
        - Output: same as the input
    """


class InstanceNorm2d(_InstanceNorm, _ranks=(3, 4)):
    """``InstanceNorm1d`` for images ``(N, C, H, W)`` or ``(C, H, W)``."""


class InstanceNorm3d(_InstanceNorm, _ranks=(4, 5)):
    """``InstanceNorm1d`` for volumes ``(N, C, D, H, W)`` or ``(C, D, H, W)``."""


# ---- lazy ones


class _LazyNorm(LazyModuleMixin):
    def __init__(self, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, *,
                 bias=True):
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = tensor(0, dtype=int64, device=device)

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input):
        if self.num_features == 0:
            self.num_features = input.shape[1]
        if not self.has_uninitialized_params():
            return
        for name in ("weight", "bias", "running_mean", "running_var"):
            value = getattr(self, name)
            if value is not None:
                value.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNorm, _BatchNorm, _ranks=(2, 3), cls_to_become=BatchNorm1d):
    """A ``BatchNorm1d`` that infers ``num_features`` from its first input."""


class LazyBatchNorm2d(_LazyNorm, _BatchNorm, _ranks=(4,), cls_to_become=BatchNorm2d):
    """A ``BatchNorm2d`` that infers ``num_features`` from its first input."""


class LazyBatchNorm3d(_LazyNorm, _BatchNorm, _ranks=(5,), cls_to_become=BatchNorm3d):
    """A ``BatchNorm3d`` that infers ``num_features`` from its first input."""


class LazyInstanceNorm1d(_LazyNorm, _InstanceNorm, _ranks=(2, 3), cls_to_become=InstanceNorm1d):
    """An ``InstanceNorm1d`` that infers ``num_features`` from its first input."""


class LazyInstanceNorm2d(_LazyNorm, _InstanceNorm, _ranks=(3, 4), cls_to_become=InstanceNorm2d):
    """An ``InstanceNorm2d`` that infers ``num_features`` from its first input."""


class LazyInstanceNorm3d(_LazyNorm, _InstanceNorm, _ranks=(4, 5), cls_to_become=InstanceNorm3d):
    """An ``InstanceNorm3d`` that infers ``num_features`` from its first input."""
