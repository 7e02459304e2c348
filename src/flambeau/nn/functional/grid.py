"""Grid sampling: images sampled at points, and affine grids."""

import warnings

from ..._dtypes import type_word
from ...functions._args import need_tensor, shape_from
from ...ops import grid as ops

__all__ = ["affine_grid", "grid_sample"]

MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")

OPTION = "nn.functional.grid_sample(): expected {what} to be one of {known}, but got: '{value}'"
DEFAULT = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
    "align_corners: True lets -1 and 1 be the centers of the outermost elements, False their edges."
)
UNIT = (
    "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True: a grid of one "
    "element is at 0. This is probably not intended; use align_corners=False."
)
SIZES = "but got input with sizes {input} and grid with sizes {grid}"
DTYPES = "grid_sample: expected scalar type {input} but found {grid}: input and grid must have one dtype"
EMPTY = (
    "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes {shape} with dimension "
    "{dim} being empty"
)
ONLY = "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {size}."
MATRICES = "Expected a batch of {n}D affine matrices of shape Nx{n}x{m} for size {size}. Got {got}."
BATCH = (
    "affine_grid: Expected size for first two dimensions of batch2 tensor to be: [{n}, {m}] but got: [{got}, {m}]. "
    "There is to be one matrix for each of the {n} samples in size."
)


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """Samples images ``(N, C, H, W)`` or volumes ``(N, C, D, H, W)`` at the points of ``grid``.

    Args:
        grid: ``(N, H', W', 2)`` or ``(N, D', H', W', 3)``: for each element of the result the coordinates x, y (and z)
            of a point, from -1 at the left, upper (front) edge to 1 at the opposite one.
        mode: "bilinear" interpolates, "nearest" takes the nearest element, "bicubic" (for images) uses 4 × 4
            neighbours.
        padding_mode: the values outside: "zeros", the "border" repeated, or its "reflection".
        align_corners: whether -1 and 1 are the centers of the outermost elements, or their edges.
    """
    for what, value, known in (("mode", mode, MODES), ("padding_mode", padding_mode, PADDINGS)):
        if value not in known:
            raise ValueError(OPTION.format(what=what, known=", ".join(map(repr, known)), value=value))
    if align_corners is None:
        warnings.warn(DEFAULT, UserWarning, stacklevel=2)
    need_tensor(input, "grid_sampler")
    need_tensor(grid, "grid_sampler", "grid", 2)
    _check_shapes(tuple(input.shape), tuple(grid.shape), mode)
    if input.dtype is not grid.dtype:
        raise RuntimeError(DTYPES.format(input=type_word(input.dtype), grid=type_word(grid.dtype)))
    return ops.grid_sample(input, grid, mode=mode, padding=padding_mode, align=bool(align_corners))


def _check_shapes(shape, grid, mode):
    sizes = SIZES.format(input=list(shape), grid=list(grid))
    if not shape or not grid or shape[0] != grid[0]:
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, {sizes}")
    n = len(shape) - 2
    if n not in (2, 3) or len(grid) != n + 2:
        raise RuntimeError(f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, {sizes}")
    if grid[-1] != n:
        raise RuntimeError(f"grid_sampler(): expected grid to have size {n} in last dimension, {sizes}")
    for dim, size in enumerate(shape[2:], 2):
        if not size:
            raise RuntimeError(EMPTY.format(shape=list(shape), dim=dim))
    if mode == "bicubic" and n == 3:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")


def affine_grid(theta, size, align_corners=None):
    """The points to which affine maps send the elements of images, for ``grid_sample``.

    Args:
        theta: the maps, ``(N, 2, 3)`` for images or ``(N, 3, 4)`` for volumes.
        size: the size of the result of ``grid_sample``: ``(N, C, H, W)`` or ``(N, C, D, H, W)``.
        align_corners: as for ``grid_sample``.
    """
    need_tensor(theta, "affine_grid", "theta")
    if align_corners is None:
        warnings.warn(DEFAULT, UserWarning, stacklevel=2)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    size = shape_from((size,), name="affine_grid")
    n = len(size) - 2
    if n not in (2, 3):
        raise NotImplementedError(ONLY.format(size=size))
    if theta.ndim != 3 or tuple(theta.shape[1:]) != (n, n + 1):
        raise ValueError(MATRICES.format(n=n, m=n + 1, size=size, got=theta.shape))
    if min(size) < 1:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if align_corners and 1 in size[2:]:
        warnings.warn(UNIT, UserWarning, stacklevel=2)
    if theta.shape[0] != size[0]:
        raise RuntimeError(BATCH.format(n=size[0], m=n + 1, got=theta.shape[0]))
    return ops.affine_grid_generator(theta, spatial=size[2:], align=bool(align_corners))
