# Written by tools/make_stubs.py from the running library: change that, or the library, and run it.

from typing import Any

from .._tensor import Tensor
from .._types import Bool, Device, DType, Float, Int, Layout, Number

def bartlett(
    M: Int, *, sym: Bool = True, dtype: DType | None = None, layout: Layout = ..., device: Device | None = None,
    requires_grad: Bool = False,
) -> Tensor: ...
def blackman(
    M: Int, *, sym: Bool = True, dtype: DType | None = None, layout: Layout = ..., device: Device | None = None,
    requires_grad: Bool = False,
) -> Tensor: ...
def cosine(
    M: Int, *, sym: Bool = True, dtype: DType | None = None, layout: Layout = ..., device: Device | None = None,
    requires_grad: Bool = False,
) -> Tensor: ...
def exponential(
    M: Int, *, center: Any = None, tau: Float = 1.0, sym: Bool = True, dtype: DType | None = None, layout: Layout = ...,
    device: Device | None = None, requires_grad: Bool = False,
) -> Tensor: ...
def gaussian(
    M: Int, *, std: Number = 1.0, sym: Bool = True, dtype: DType | None = None, layout: Layout = ...,
    device: Device | None = None, requires_grad: Bool = False,
) -> Tensor: ...
def general_cosine(
    M: Int, *, a: Any, sym: Bool = True, dtype: DType | None = None, layout: Layout = ..., device: Device | None = None,
    requires_grad: Bool = False,
) -> Tensor: ...
def general_hamming(
    M: Int, *, alpha: Number = 0.54, sym: Bool = True, dtype: DType | None = None, layout: Layout = ...,
    device: Device | None = None, requires_grad: Bool = False,
) -> Tensor: ...
def hamming(
    M: Int, *, sym: Bool = True, dtype: DType | None = None, layout: Layout = ..., device: Device | None = None,
    requires_grad: Bool = False,
) -> Tensor: ...
def hann(
    M: Int, *, sym: Bool = True, dtype: DType | None = None, layout: Layout = ..., device: Device | None = None,
    requires_grad: Bool = False,
) -> Tensor: ...
def kaiser(
    M: Int, *, beta: Number = 12.0, sym: Bool = True, dtype: DType | None = None, layout: Layout = ...,
    device: Device | None = None, requires_grad: Bool = False,
) -> Tensor: ...
def nuttall(
    M: Int, *, sym: Bool = True, dtype: DType | None = None, layout: Layout = ..., device: Device | None = None,
    requires_grad: Bool = False,
) -> Tensor: ...
