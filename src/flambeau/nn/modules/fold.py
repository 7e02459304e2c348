"""Fold and unfold layers."""

from .. import functional as F
from .module import Module

__all__ = ["Fold", "Unfold"]


class _Windows(Module):
    def extra_repr(self):
        return ", ".join([f"{name}={getattr(self, name)}" for name in self.__constants__])


class Unfold(_Windows):
    """Extracts sliding windows of images as columns of a matrix.

    Args:
        kernel_size: the height and width of a window.
        dilation: the distance between its elements.
        padding: the margin of zeros on both sides.
        stride: the distance between windows.

    Shape:
        - Input: ``(N, C, H, W)`` or ``(C, H, W)``
        - Output: ``(N, C * kernel_size, windows)`` or ``(C * kernel_size, windows)``

    Example::

        >>> Unfold((2, 3))(randn(2, 5, 3, 4)).shape
        torch.Size([2, 30, 4])
    """

    __constants__ = ["kernel_size", "dilation", "padding", "stride"]

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input):
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(_Windows):
    """Sums sliding windows, passed as columns of a matrix, into images: the transpose of ``Unfold``.

    Args:
        output_size: the height and width of the images.
        kernel_size, dilation, padding, stride: as for ``Unfold``.

    Example::

        >>> Fold((4, 5), (2, 2))(randn(1, 3 * 2 * 2, 12)).shape
        torch.Size([1, 3, 4, 5])
    """

    __constants__ = ["output_size", "kernel_size", "dilation", "padding", "stride"]

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input):
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)
