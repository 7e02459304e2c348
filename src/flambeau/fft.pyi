# Written by tools/make_stubs.py from the running library: change that, or the library, and run it.

from ._tensor import Tensor
from ._types import Bool, Device, Dims, DType, Float, Int, Layout

def fft(
    input: Tensor, n: Int | None = None, dim: Int = -1, norm: str | None = None, *, out: Tensor | None = None,
) -> Tensor: ...
def fft2(
    input: Tensor, s: Dims | None = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None,
) -> Tensor: ...
def fftfreq(
    n: Int, d: Float = 1.0, *, dtype: DType | None = None, layout: Layout | None = None, device: Device | None = None,
    requires_grad: Bool = False, out: Tensor | None = None,
) -> Tensor: ...
def fftn(
    input: Tensor, s: Dims | None = None, dim: Dims | None = None, norm: str | None = None, *,
    out: Tensor | None = None,
) -> Tensor: ...
def fftshift(input: Tensor, dim: Dims | None = None) -> Tensor: ...
def hfft(
    input: Tensor, n: Int | None = None, dim: Int = -1, norm: str | None = None, *, out: Tensor | None = None,
) -> Tensor: ...
def hfft2(
    input: Tensor, s: Dims | None = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None,
) -> Tensor: ...
def hfftn(
    input: Tensor, s: Dims | None = None, dim: Dims | None = None, norm: str | None = None, *,
    out: Tensor | None = None,
) -> Tensor: ...
def ifft(
    input: Tensor, n: Int | None = None, dim: Int = -1, norm: str | None = None, *, out: Tensor | None = None,
) -> Tensor: ...
def ifft2(
    input: Tensor, s: Dims | None = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None,
) -> Tensor: ...
def ifftn(
    input: Tensor, s: Dims | None = None, dim: Dims | None = None, norm: str | None = None, *,
    out: Tensor | None = None,
) -> Tensor: ...
def ifftshift(input: Tensor, dim: Dims | None = None) -> Tensor: ...
def ihfft(
    input: Tensor, n: Int | None = None, dim: Int = -1, norm: str | None = None, *, out: Tensor | None = None,
) -> Tensor: ...
def ihfft2(
    input: Tensor, s: Dims | None = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None,
) -> Tensor: ...
def ihfftn(
    input: Tensor, s: Dims | None = None, dim: Dims | None = None, norm: str | None = None, *,
    out: Tensor | None = None,
) -> Tensor: ...
def irfft(
    input: Tensor, n: Int | None = None, dim: Int = -1, norm: str | None = None, *, out: Tensor | None = None,
) -> Tensor: ...
def irfft2(
    input: Tensor, s: Dims | None = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None,
) -> Tensor: ...
def irfftn(
    input: Tensor, s: Dims | None = None, dim: Dims | None = None, norm: str | None = None, *,
    out: Tensor | None = None,
) -> Tensor: ...
def rfft(
    input: Tensor, n: Int | None = None, dim: Int = -1, norm: str | None = None, *, out: Tensor | None = None,
) -> Tensor: ...
def rfft2(
    input: Tensor, s: Dims | None = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None,
) -> Tensor: ...
def rfftfreq(
    n: Int, d: Float = 1.0, *, dtype: DType | None = None, layout: Layout | None = None, device: Device | None = None,
    requires_grad: Bool = False, out: Tensor | None = None,
) -> Tensor: ...
def rfftn(
    input: Tensor, s: Dims | None = None, dim: Dims | None = None, norm: str | None = None, *,
    out: Tensor | None = None,
) -> Tensor: ...
