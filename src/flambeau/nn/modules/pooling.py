"""Pooling layers."""

from __future__ import annotations

from .. import functional as F
from ._variants import Variants
from .conv import each

__all__ = ["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
           "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d",
           "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d",
           "MaxUnpool3d"]


class _MaxPool(Variants):
    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input):
        return getattr(F, self._function)(input, self.kernel_size, self.stride, self.padding, self.dilation,
                                          ceil_mode=self.ceil_mode, return_indices=self.return_indices)

    def extra_repr(self):
        return (f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
                f"dilation={self.dilation}, ceil_mode={self.ceil_mode}")


class MaxPool1d(_MaxPool, _function="max_pool1d"):
    """Max pooling over sequences.

    Args:
        kernel_size: the size of a window.
        stride: the distance between windows; ``kernel_size`` by default.
        padding: the margin of minus infinity on both sides.
        dilation: the distance between the elements of a window.
        return_indices: whether to return the indices of the maxima too, for ``MaxUnpool1d``.
        ceil_mode: whether to add a last window that reaches beyond the end.

    Example::

        >>> MaxPool1d(2)(tensor([[[1., 3., 2., 0.]]]))
        tensor([[[3., 2.]]])
    """


class MaxPool2d(_MaxPool, _function="max_pool2d"):
    """Max pooling over images. See ``MaxPool1d``."""


class MaxPool3d(_MaxPool, _function="max_pool3d"):
    """Max pooling over volumes. See ``MaxPool1d``."""


class _FractionalMaxPool(Variants):
    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]

    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        super().__init__()
        self.kernel_size = each(kernel_size, self._dims)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else each(output_size, self._dims)
        self.output_ratio = None if output_ratio is None else each(output_ratio, self._dims)
        self._check_arguments()

    def _check_arguments(self):
        if self.output_size is None and self.output_ratio is None:
            name = type(self).__name__
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio (output_ratio)")
        if self.output_size is not None and self.output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {self.output_ratio})")

    def forward(self, input):
        pool = getattr(F, self._function)
        return pool(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
                    _random_samples=self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPool, _function="fractional_max_pool2d", _dims=2):
    """Fractional max pooling over images: windows at random steps, for any ratio of sizes.

    Args:
        kernel_size: the height and width of a window.
        output_size: the height and width of the output.
        output_ratio: alternatively, the ratio of output to input size, between 0 and 1.
        return_indices: whether to return the indices of the maxima too, for ``MaxUnpool2d``.

    Example::

        >>> FractionalMaxPool2d(3, output_ratio=(0.5, 0.6))(randn(20, 16, 50, 32)).shape
        torch.Size([20, 16, 25, 19])
    """


class FractionalMaxPool3d(_FractionalMaxPool, _function="fractional_max_pool3d", _dims=3):
    """``FractionalMaxPool2d`` for volumes."""


class _MaxUnpool(Variants):

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        self.kernel_size = each(kernel_size, self._dims)
        self.stride = each(stride if stride is not None else kernel_size, self._dims)
        self.padding = each(padding, self._dims)

    def forward(self, input, indices, output_size=None):
        return getattr(F, self._function)(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool, _function="max_unpool1d", _dims=1):
    """A partial inverse of ``MaxPool1d``: other elements are zero."""


class MaxUnpool2d(_MaxUnpool, _function="max_unpool2d", _dims=2):
    """A partial inverse of ``MaxPool2d``: other elements are zero."""


class MaxUnpool3d(_MaxUnpool, _function="max_unpool3d", _dims=3):
    """A partial inverse of ``MaxPool3d``: other elements are zero."""


class AvgPool1d(Variants):
    """Average pooling over sequences.

    Args:
        kernel_size, stride, padding, ceil_mode: as for ``MaxPool1d``; the margin is zero.
        count_include_pad: whether the margin counts in the mean.
    """

    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        super().__init__()
        self.kernel_size = each(kernel_size, 1)
        self.stride = each(stride if stride is not None else kernel_size, 1)
        self.padding = each(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input):
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPool(Variants):
    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"]

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
                 divisor_override=None):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input):
        return getattr(F, self._function)(input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
                                          self.count_include_pad, self.divisor_override)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPool, _function="avg_pool2d"):
    """Average pooling over images, with an optional ``divisor_override``. See ``AvgPool1d``."""


class AvgPool3d(_AvgPool, _function="avg_pool3d"):
    """Average pooling over volumes, with an optional ``divisor_override``. See ``AvgPool1d``."""


class _LPPool(Variants):
    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]

    def __init__(self, norm_type, kernel_size, stride=None, ceil_mode=False):
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input):
        return getattr(F, self._function)(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self):
        return (f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
                f"ceil_mode={self.ceil_mode}")


class LPPool1d(_LPPool, _function="lp_pool1d"):
    """The p-norm of each window of sequences."""


class LPPool2d(_LPPool, _function="lp_pool2d"):
    """The p-norm of each window of images."""


class LPPool3d(_LPPool, _function="lp_pool3d"):
    """The p-norm of each window of volumes."""


class _AdaptivePool(Variants):
    __constants__ = ["output_size"]

    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size

    def forward(self, input):
        return getattr(F, self._function)(input, self.output_size)

    def extra_repr(self):
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptivePool, _function="adaptive_avg_pool1d"):
    """Average pooling to ``output_size``, over sequences of any length."""


class AdaptiveAvgPool2d(_AdaptivePool, _function="adaptive_avg_pool2d"):
    """Average pooling to ``output_size``, over images of any size.

    Args:
        output_size: a number, or one per dimension; None keeps the input size.

    Example::

        >>> AdaptiveAvgPool2d((5, None))(randn(1, 64, 8, 9)).shape
        torch.Size([1, 64, 5, 9])
    """


class AdaptiveAvgPool3d(_AdaptivePool, _function="adaptive_avg_pool3d"):
    """Average pooling to ``output_size``, over volumes of any size."""


class _AdaptiveMaxPool(_AdaptivePool):
    __constants__ = ["output_size", "return_indices"]

    def __init__(self, output_size, return_indices=False):
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input):
        return getattr(F, self._function)(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPool, _function="adaptive_max_pool1d"):
    """Max pooling to ``output_size``, over sequences of any length."""


class AdaptiveMaxPool2d(_AdaptiveMaxPool, _function="adaptive_max_pool2d"):
    """Max pooling to ``output_size``, over images of any size."""


class AdaptiveMaxPool3d(_AdaptiveMaxPool, _function="adaptive_max_pool3d"):
    """Max pooling to ``output_size``, over volumes of any size."""
