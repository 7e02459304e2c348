"""Discrete Fourier transforms of one or more dimensions, and their helpers."""

import functools

import numpy as np

from .. import _dtypes
from .._dtypes import type_word
from .._signatures import set_name
from ..ops.fft import DUAL, c2c, c2r, r2c
from ..ops.move import roll
from ..ops.pointwise import conj
from ..ops.shape import basic_index, cast, embed
from ._args import (
    allocating,
    as_int,
    dim_in_range,
    need_tensor,
    nonnegative,
    np_dtype_of,
    tensor_on,
)
from ._folds import numpy_names
from ._out import castable, out_variant, own, real, same_width
from ._types import typed

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]


# ---- arguments


def as_inexact(x, name, real=False):
    """A floating or complex tensor: integers are promoted to floats, half precision is rejected."""
    need_tensor(x, f"fft_{name}")
    dtype = x._a.dtype
    if dtype in _dtypes.HALF:
        raise RuntimeError(f"Unsupported dtype {type_word(x.dtype)}: convert the input of {name} by .float()")
    if real and dtype.kind == "c":
        raise RuntimeError(f"{name} expects a real input tensor, but got {type_word(x.dtype)}")
    return x if _dtypes.is_inexact(dtype) else cast(x, dtype=_dtypes.get_default_dtype().np)


def mode(norm):
    if norm is None:
        return "backward"
    if norm not in DUAL:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"; expected one of "backward", "ortho", "forward"')
    return norm


def one_axis(x, dim):
    if x._a.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return dim_in_range(dim, x._a.ndim)


def positive(n):
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return n


def length(x, n, axis):
    """The length of the signal: n, or the size of the dimension."""
    return positive(x._a.shape[axis] if n is None else as_int(n, "fft", "n"))


def resize_dim(x, axis, n):
    """x cropped or zero-padded to size n along one dimension."""
    shape = x._a.shape
    if shape[axis] == n:
        return x
    if shape[axis] > n:
        return basic_index(x, key=(slice(None),) * axis + (slice(n),))
    key = (slice(None),) * axis + (slice(shape[axis]),)
    return embed(x, key=key, shape=(*shape[:axis], n, *shape[axis + 1:]))


def axes_and_sizes(x, s, dim, name):
    """The dimensions to transform, non-negative, and the signal sizes along them (None: unchanged)."""
    ndim = x._a.ndim
    if isinstance(dim, int):
        dim = (dim,)
    if s is not None:
        s = (s,) if isinstance(s, int) else tuple(as_int(n, f"fft_{name}", "s", "tuple of ints") for n in s)
    if dim is not None:
        if dim and not ndim:
            raise IndexError(f"Dimension specified as {dim[0]} but tensor has no dimensions")
        axes = tuple(dim_in_range(d, ndim) for d in dim)
        if len(set(axes)) != len(axes):
            raise RuntimeError(f"FFT dims must be unique, got {tuple(dim)}")
        if s is not None and len(s) != len(axes):
            raise RuntimeError(
                f"When given, dim and shape arguments must have the same length, got dim={tuple(dim)} and s={tuple(s)}"
            )
    elif s is not None:
        if len(s) > ndim:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {ndim} dimensions.")
        axes = tuple(range(ndim - len(s), ndim))
    else:
        axes = tuple(range(ndim))
    sizes = [None if n == -1 else n for n in (s if s is not None else (-1,) * len(axes))]
    return axes, sizes


def resize_dims(x, axes, sizes):
    for axis, n in zip(axes, sizes):
        x = resize_dim(x, axis, length(x, n, axis))
    return x


def last_axis(axes, name):
    if not axes:
        raise RuntimeError(f"{name} must transform at least one axis")
    return axes[-1]


# ---- the four kinds of transform


def complex_transform(name, x, axes, sizes, norm, inverse):
    x = as_inexact(x, name)
    return c2c(resize_dims(x, axes, sizes), axes=axes, inverse=inverse, norm=mode(norm))


def real_to_complex(name, x, axes, sizes, norm, hermitian=False):
    """Transforms real numbers: ``rfft`` along the last axis, ``fft`` along the others; for ``ihfft`` their inverses."""
    x, last = resize_dims(as_inexact(x, name, real=True), axes, sizes), last_axis(axes, name)
    half = conj(r2c(x, axis=last, norm=DUAL[mode(norm)])) if hermitian else r2c(x, axis=last, norm=mode(norm))
    return half if len(axes) == 1 else c2c(half, axes=axes[:-1], inverse=hermitian, norm=mode(norm))


def complex_to_real(name, x, axes, sizes, norm, hermitian=False):
    """The inverse of ``real_to_complex``: ``irfft``, or ``hfft``."""
    x, last = as_complex(as_inexact(x, name)), last_axis(axes, name)
    n = real_length(x, sizes[-1], last)
    x = resize_dims(x, axes, [*sizes[:-1], n // 2 + 1])
    if len(axes) > 1:
        x = c2c(x, axes=axes[:-1], inverse=not hermitian, norm=mode(norm))
    return c2r(conj(x) if hermitian else x, n=n, axis=last, norm=DUAL[mode(norm)] if hermitian else mode(norm))


def real_length(x, n, axis):
    """The length of a real signal; by default the even length with this many frequencies."""
    return positive(2 * (x._a.shape[axis] - 1) if n is None else as_int(n, "fft", "n"))


def as_complex(x):
    return x if x._a.dtype.kind == "c" else cast(x, dtype=np.result_type(x._a.dtype, np.complex64))


# ---- the public functions, made from a table


def _one(name, transform, doc, **settings):
    def function(input, n=None, dim=-1, norm=None):
        input = as_inexact(input, name, real=transform is real_to_complex)
        axis = one_axis(input, dim)
        return transform(name, input, (axis,), [n], norm, **settings)

    widths = same_width if name in ("ifft", "ihfft") else None
    return _public(function, transform, name, doc, widths)


def _many(name, transform, doc, dims=None, **settings):
    def function(input, s=None, dim=dims, norm=None):
        if need_tensor(input, f"fft_{name}").is_complex() and transform is real_to_complex and not settings:
            as_inexact(input, name, real=True)
        axes, sizes = axes_and_sizes(input, s, dim, name)
        return transform(name, input, axes, sizes, norm, **settings)

    return _public(function, transform, name, doc)


_two = functools.partial(_many, dims=(-2, -1))


def _public(function, transform, name, doc, widths=None):
    norms = 'norm: "backward" (the inverse divides by n), "ortho" (each by its root) or "forward".'
    dtype = widths or (real if transform is complex_to_real else castable)
    return numpy_names(out_variant(set_name(function, name, f"{doc}\n\n{norms}"), dtype=dtype, aliases="any"))


fft = _one("fft", complex_transform, "The Fourier transform along ``dim``.", inverse=False)
ifft = _one("ifft", complex_transform, "The inverse Fourier transform along ``dim``.", inverse=True)
rfft = _one("rfft", real_to_complex, "The transform of a real signal: the frequencies from zero up.")
irfft = _one("irfft", complex_to_real, "The inverse of ``rfft``; n is the length of the signal.")
hfft = _one("hfft", complex_to_real, "The transform of a signal whose negative half is conjugate to the given one.",
            hermitian=True)
ihfft = _one("ihfft", real_to_complex, "The inverse of ``hfft``.", hermitian=True)

fft2 = _two("fft2", complex_transform, "The Fourier transform over two dimensions.", inverse=False)
ifft2 = _two("ifft2", complex_transform, "The inverse Fourier transform over two dimensions.", inverse=True)
rfft2 = _two("rfft2", real_to_complex, "``rfft`` along the last, ``fft`` along the other of two dimensions.")
irfft2 = _two("irfft2", complex_to_real, "The inverse of ``rfft2``.")
hfft2 = _two("hfft2", complex_to_real, "``hfft`` along the last, ``fft`` along the other of two dimensions.",
             hermitian=True)
ihfft2 = _two("ihfft2", real_to_complex, "The inverse of ``hfft2``.", hermitian=True)

fftn = _many("fftn", complex_transform, "The Fourier transform over several dimensions, by default all.", inverse=False)
ifftn = _many("ifftn", complex_transform, "The inverse Fourier transform over several dimensions.", inverse=True)
rfftn = _many("rfftn", real_to_complex, "``rfft`` along the last of several dimensions, ``fft`` along the others.")
irfftn = _many("irfftn", complex_to_real, "The inverse of ``rfftn``.")
hfftn = _many("hfftn", complex_to_real, "``hfft`` along the last of several dimensions, ``fft`` along the others.",
              hermitian=True)
ihfftn = _many("ihfftn", real_to_complex, "The inverse of ``hfftn``.", hermitian=True)


# ---- helpers


@out_variant(dtype=own)
@allocating
@typed(n=int, d=float)
def fftfreq(n, d=1.0, *, dtype=None, layout=None, device=None, requires_grad=False):
    """The frequencies of an ``fft`` of n samples with spacing ``d``."""
    index = np.concatenate([np.arange((n + 1) // 2), np.arange(-(n // 2), 0)]) if n > 0 else np.arange(0)
    return _frequencies("fftfreq", index, n, d, dtype, device, requires_grad)


@out_variant(dtype=own)
@allocating
@typed(n=int, d=float)
def rfftfreq(n, d=1.0, *, dtype=None, layout=None, device=None, requires_grad=False):
    """The frequencies of an ``rfft`` of n samples with spacing ``d``."""
    return _frequencies("rfftfreq", np.arange(n // 2 + 1), n, d, dtype, device, requires_grad)


def _frequencies(name, index, n, d, dtype, device, requires_grad):
    np_dtype = np_dtype_of(dtype)
    if not _dtypes.is_inexact(np_dtype):
        raise RuntimeError(f"{name} requires a floating point or complex dtype, got {dtype}")
    if np_dtype.kind == "c":
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{type_word(dtype)}': frequencies are real")
    nonnegative((n,))
    return tensor_on(np.divide(index, n * d).astype(np_dtype), device, requires_grad)


@numpy_names
def fftshift(input, dim=None):
    """Moves frequency zero to the middle of each dimension."""
    return _shift(input, dim, "fftshift", lambda n: n // 2)


@numpy_names
def ifftshift(input, dim=None):
    """The inverse of ``fftshift``."""
    return _shift(input, dim, "ifftshift", lambda n: (n + 1) // 2)


def _shift(x, dim, name, shift):
    if not need_tensor(x, f"fft_{name}")._a.ndim:
        if dim is not None:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        raise RuntimeError(f"{name}: `shifts` required, but a zero-dimensional tensor has no dimension to shift along")
    dims = range(x._a.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    axes = tuple(dim_in_range(d, x._a.ndim) for d in dims)
    return roll(x, shifts=tuple(shift(x._a.shape[i]) for i in axes), axes=axes)
