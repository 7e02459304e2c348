"""Convolution layers."""

from __future__ import annotations

import math

from ..._tensor import Tensor
from ...functions.creation import empty
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedParameter
from ._variants import Variants, unusual
from .lazy import LazyModuleMixin

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d",
           "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d"]

PADDING_MODES = ("zeros", "reflect", "replicate", "circular")
OUTPUT_RANGE = "requested an output size of {wanted}, but valid sizes are from {low} to {high} for an input of {given}"


def each(value, n):
    """A tuple of n values from one value or a sequence."""
    return tuple(value) if hasattr(value, "__iter__") else (value,) * n


class _ConvNd(Variants):
    """Base of convolutions: weight, bias and geometry."""

    __constants__ = ["stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels",
                     "out_channels", "kernel_size"]
    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    weight: Tensor
    bias: Tensor | None

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding,
                 groups, bias, padding_mode, device=None, dtype=None):
        super().__init__()
        n = self._dims
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = each(kernel_size, n)
        self.stride = each(stride, n)
        self.padding = padding if isinstance(padding, str) else each(padding, n)
        self.dilation = each(dilation, n)
        self.transposed = transposed
        self.output_padding = each(output_padding, n)
        self.groups = groups
        self.padding_mode = padding_mode
        self._check_arguments()
        self._reversed_padding_repeated_twice = self._margins()
        size = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(empty((*size, *self.kernel_size), device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_channels, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def _check_arguments(self):
        if self.groups <= 0:
            raise ValueError(f"groups must be a positive integer, got {self.groups}")
        for name in ("in_channels", "out_channels"):
            if getattr(self, name) % self.groups:
                raise ValueError(f"{name} must be divisible by groups, got {getattr(self, name)} and {self.groups}")
        if isinstance(self.padding, str):
            if self.padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {self.padding!r}, should be one of 'same', 'valid'")
            if self.padding == "same" and any(s != 1 for s in self.stride):
                raise ValueError(f"padding='same' is not supported for strided convolutions, got stride {self.stride}")
        if self.padding_mode not in PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {PADDING_MODES}, but got padding_mode='{self.padding_mode}'")

    def _margins(self):
        """The padding as an argument of ``F.pad``: before and after, the last dimension first."""
        if self.padding == "valid":
            return [0] * (2 * self._dims)
        if self.padding == "same":
            total = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            return [amount for t in reversed(total) for amount in (t // 2, t - t // 2)]
        return [p for p in reversed(self.padding) for _ in range(2)]

    def reset_parameters(self):
        """Initializes weight and bias uniformly within ±1/√fan_in."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            inputs, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if inputs:
                bound = 1 / math.sqrt(inputs)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self):
        n = self._dims
        said = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        said += unusual(self, padding=(0,) * n, dilation=(1,) * n, output_padding=(0,) * n, groups=1)
        return said + (", bias=False" if self.bias is None else "") + unusual(self, padding_mode="zeros")

    def __setstate__(self, state):
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


class _Conv(_ConvNd):

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros", device=None, dtype=None):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, False, 0, groups, bias,
                         padding_mode, device, dtype)

    def forward(self, input):
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input, weight, bias):
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        return getattr(F, self._function)(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_Conv, _function="conv1d", _dims=1):
    """Convolution of sequences.

    Args:
        in_channels: the number of input channels.
        out_channels: the number of output channels.
        kernel_size: the size of the kernel.
        stride: the distance between windows.
        padding: the margin on both sides: a number, ``"same"`` or ``"valid"``.
        dilation: the distance between the elements of a window.
        groups: the number of groups of channels that are convolved separately.
        bias: whether to add a learnable bias to each output channel.
        padding_mode: how the margin is filled: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.

    Shape:
        - Input: ``(N, in_channels, L)`` or ``(in_channels, L)``
        - Output: ``(N, out_channels, L')`` or ``(out_channels, L')``

    Example::

        >>> Conv1d(16, 33, 3, stride=2)(randn(20, 16, 50)).shape
        torch.Size([20, 33, 24])
    """


class Conv2d(_Conv, _function="conv2d", _dims=2):
    """Convolution of images. Arguments as for ``Conv1d``; sizes may be pairs (height, width).

    Shape:
        - Input: ``(N, in_channels, H, W)`` or ``(in_channels, H, W)``
        - Output: ``(N, out_channels, H', W')`` or ``(out_channels, H', W')``

    Example::

        >>> Conv2d(3, 8, (3, 5), padding=(1, 2))(randn(2, 3, 10, 12)).shape
        torch.Size([2, 8, 10, 12])
    """


class Conv3d(_Conv, _function="conv3d", _dims=3):
    """Convolution of volumes. Arguments as for ``Conv1d``; sizes may be triples."""


class _ConvTranspose(_ConvNd):

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1,
                 bias=True, dilation=1, padding_mode="zeros", device=None, dtype=None):
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}, got {padding_mode!r}')
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, True, output_padding,
                         groups, bias, padding_mode, device, dtype)

    def forward(self, input, output_size=None):
        extra = self._output_padding(input, output_size)
        return getattr(F, self._function)(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups,
                                          self.dilation)

    def _output_padding(self, input, output_size):
        """The output padding for `output_size`: with a stride, several sizes are possible."""
        if output_size is None:
            return self.output_padding
        n = self._dims
        lead = input.dim() - n
        if len(output_size) == lead + n:
            output_size = output_size[lead:]
        if len(output_size) != n:
            raise ValueError(f"{type(self).__name__}: for {input.dim()}D input, output_size must have {n} or "
                             f"{lead + n} elements (got {len(output_size)})")
        low = [(input.size(lead + d) - 1) * self.stride[d] - 2 * self.padding[d]
               + self.dilation[d] * (self.kernel_size[d] - 1) + 1 for d in range(n)]
        high = [size + s - 1 for size, s in zip(low, self.stride, strict=True)]
        if any(not a <= size <= b for a, size, b in zip(low, output_size, high, strict=True)):
            raise ValueError(OUTPUT_RANGE.format(wanted=output_size, low=low, high=high, given=input.size()[lead:]))
        return [size - a for size, a in zip(output_size, low, strict=True)]


class ConvTranspose1d(_ConvTranspose, _function="conv_transpose1d", _dims=1):
    """Transposed convolution of sequences, which inverts the size change of a ``Conv1d`` with the same arguments.

    Args:
        output_padding: the additional length of the output, since inputs of several lengths convolve to the same.
            Alternatively, pass ``output_size`` to ``forward``.

    Shape:
        - Input: ``(N, in_channels, L)`` or ``(in_channels, L)``
        - Output: ``(N, out_channels, L')`` or ``(out_channels, L')``

    Example::

        >>> ConvTranspose1d(16, 33, 3, stride=2)(randn(20, 16, 24)).shape
        torch.Size([20, 33, 49])
    """


class ConvTranspose2d(_ConvTranspose, _function="conv_transpose2d", _dims=2):
    """Transposed convolution of images. See ``ConvTranspose1d``."""


class ConvTranspose3d(_ConvTranspose, _function="conv_transpose3d", _dims=3):
    """Transposed convolution of volumes. See ``ConvTranspose1d``."""


# ---- lazy ones


class _LazyConv(LazyModuleMixin):
    def _make_lazy(self, out_channels, bias, device, dtype):
        """Sets up a lazy convolution: the known channels and uninitialized parameters."""
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input, *args, **kwargs):
        if not self.has_uninitialized_params():
            if self.in_channels == 0:  # loading has replaced its parameters
                self.in_channels = self.weight.shape[0] if self.transposed else self.weight.shape[1] * self.groups
            return
        n = self._dims
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {type(self).__name__}, "
                               f"but got input of size: {list(input.shape)}")
        self.in_channels = input.shape[-n - 1]
        if self.in_channels % self.groups:
            raise ValueError(f"in_channels must be divisible by groups, got {self.in_channels} and {self.groups}")
        size = (self.out_channels, self.in_channels // self.groups)
        if self.transposed:
            size = (self.in_channels, self.out_channels // self.groups)
        self.weight.materialize((*size, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


class _LazyConvPlain(_LazyConv):
    def __init__(self, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros", device=None, dtype=None):
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._make_lazy(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConv):
    def __init__(self, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True,
                 dilation=1, padding_mode="zeros", device=None, dtype=None):
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode,
                         device, dtype)
        self._make_lazy(out_channels, bias, device, dtype)


class LazyConv1d(_LazyConvPlain, Conv1d, cls_to_become=Conv1d):
    """A ``Conv1d`` that infers ``in_channels`` from its first input."""


class LazyConv2d(_LazyConvPlain, Conv2d, cls_to_become=Conv2d):
    """A ``Conv2d`` that infers ``in_channels`` from its first input."""


class LazyConv3d(_LazyConvPlain, Conv3d, cls_to_become=Conv3d):
    """A ``Conv3d`` that infers ``in_channels`` from its first input."""


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d, cls_to_become=ConvTranspose1d):
    """A ``ConvTranspose1d`` that infers ``in_channels`` from its first input."""


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d, cls_to_become=ConvTranspose2d):
    """A ``ConvTranspose2d`` that infers ``in_channels`` from its first input."""


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d, cls_to_become=ConvTranspose3d):
    """A ``ConvTranspose3d`` that infers ``in_channels`` from its first input."""
