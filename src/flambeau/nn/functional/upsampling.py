"""Resizing images."""

import math
import warnings

import numpy as np

from ...functions._args import as_float, as_int, need_tensor
from ...ops import upsampling as ops
from ...ops._errors import not_implemented
from .pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

__all__ = ["interpolate", "upsample", "upsample_bilinear", "upsample_nearest"]

DIMS = {"nearest": (1, 2, 3), "linear": (1,), "bilinear": (2,), "bicubic": (2,), "trilinear": (3,), "lanczos": (2,),
        "area": (1, 2, 3), "nearest-exact": (1, 2, 3)}  # the numbers of spatial dimensions that the modes support
ALIGNABLE = ("linear", "bilinear", "bicubic", "trilinear")
SMOOTH = ("bilinear", "bicubic", "lanczos")
OF_BYTES = ("nearest", "nearest-exact", "bilinear", "bicubic", "lanczos")
AREA = {1: adaptive_avg_pool1d, 2: adaptive_avg_pool2d, 3: adaptive_avg_pool3d}

ALIGN = "align_corners option can only be set with the interpolating modes: {modes}, not with {mode}"
COUNTS = (
    "Input and {what} must have the same number of spatial dimensions, but got input with spatial dimensions of "
    "{spatial} and {what} of {value}. The input is (N, C, d1, ..., dK), and there is one number for each of d1 to dK."
)
EXPLICIT = "recompute_scale_factor is not meaningful with an explicit size; omit one of them"
ANTIALIAS = (
    "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input, not "
    "{mode} and {ndim}-D"
)
OTHER_RANK = "Got {got}D input, but {mode} mode needs {need}D input"
NO_MODE = "Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the modes: {modes} (got {mode})"
EMPTY = "Non-empty {ndim}D data tensor expected but got a tensor with sizes {shape}"
TOO_SMALL = "Input and output sizes should be greater than 0, but got input {spatial} and output {sizes}"
DEPRECATED = "`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead."


def interpolate(
    input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None,
    antialias=False,
):
    """Resizes an input ``(N, C, ...)`` in its last one, two or three dimensions.

    Args:
        size: the output size, one number for all dimensions or one for each.
        scale_factor: alternatively, the ratio of output to input size; the output size is rounded down.
        mode: "nearest" and "nearest-exact" (which rounds like Pillow) repeat elements; "linear", "bilinear" and
            "trilinear" interpolate between two neighbours per dimension, "bicubic" between four; "area" averages
            windows; "lanczos" requires ``antialias``.
        align_corners: whether the centers of the first and last elements stay in place, instead of their edges.
        recompute_scale_factor: whether to compute with the ratio of the actual sizes instead of ``scale_factor``.
        antialias: whether all elements contribute to a smaller result, as in Pillow; for images and the modes
            "bilinear", "bicubic" and "lanczos".
    """
    need_tensor(input, "interpolate")
    if align_corners is not None and mode not in ALIGNABLE:
        raise ValueError(ALIGN.format(modes=" | ".join(ALIGNABLE), mode=mode))
    spatial = tuple(input._a.shape[2:])
    sizes, scales = _sizes(spatial, size, scale_factor, recompute_scale_factor, mode)
    if antialias and not (mode in SMOOTH and len(spatial) == 2):
        raise ValueError(ANTIALIAS.format(mode=mode, ndim=input._a.ndim))
    if mode == "lanczos" and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")
    _check_mode(input, len(spatial), mode)
    if mode == "area":
        return AREA[len(spatial)](input, sizes)
    _check_sizes(input, spatial, sizes)
    _check_dtype(input, mode, antialias)
    return ops.upsample(input, sizes=sizes, mode=f"{mode}-aa" if antialias else mode, align=bool(align_corners),
                        scales=scales)


def _sizes(spatial, size, scale_factor, recompute, mode):
    """(the output sizes, the scale factors to use; None for the ratio of the sizes)."""
    n = len(spatial)
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if recompute:
            raise ValueError(EXPLICIT)
        return _each(size, spatial, as_int, "output size"), (None,) * n
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    scales = _each(scale_factor, spatial, as_float, "scale_factor")
    if not all(map(math.isfinite, scales)):
        raise RuntimeError(f"interpolate: scale_factor {scale_factor} is invalid: it must be finite")
    sizes = tuple([math.floor(m * s) for m, s in zip(spatial, scales, strict=True)])
    return sizes, (None,) * n if recompute or mode == "area" else scales


def _each(value, spatial, read, what):
    """One number for each spatial dimension."""
    if not isinstance(value, (tuple, list)):
        return (read(value, "interpolate", what),) * len(spatial)
    if len(value) != len(spatial):
        raise ValueError(COUNTS.format(what=what, spatial=list(spatial), value=tuple(value)))
    return tuple([read(v, "interpolate", what) for v in value])


def _check_mode(input, n, mode):
    if mode not in DIMS or not 1 <= n <= 3:
        raise NotImplementedError(NO_MODE.format(ndim=input._a.ndim, modes=" | ".join(DIMS), mode=mode))
    if n not in DIMS[mode]:
        raise NotImplementedError(OTHER_RANK.format(got=n + 2, mode=mode, need=DIMS[mode][0] + 2))


def _check_sizes(input, spatial, sizes):
    if min(*spatial, *sizes) < 1:
        raise RuntimeError(TOO_SMALL.format(spatial=list(spatial), sizes=list(sizes)))
    if not input._a.shape[1]:
        raise RuntimeError(EMPTY.format(ndim=input._a.ndim, shape=list(input._a.shape)))


def _check_dtype(input, mode, antialias):
    dtype = input._a.dtype
    known = dtype in (np.float32, np.float64) if antialias else input.is_floating_point()
    if not known and not (dtype == np.uint8 and mode in OF_BYTES):
        raise not_implemented(f"interpolate: {mode}", dtype, [input._a])


def _warn_deprecated(name):
    warnings.warn(DEPRECATED.format(name=name), UserWarning, stacklevel=3)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """Deprecated name of ``interpolate``."""
    _warn_deprecated("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """Deprecated: ``interpolate`` with ``mode="nearest"``."""
    _warn_deprecated("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """Deprecated: bilinear ``interpolate`` with ``align_corners=True``."""
    _warn_deprecated("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
