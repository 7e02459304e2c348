"""Views, copies, joins, padding, conversions."""

import numpy as np

from engines.xla_row import C, P, R, V, fixed, row, rows
from flambeau.ops._op import OPS
from flambeau.ops.move import PADDINGS

MARGINS = ((0, 0), (1, 2), (0, 1), (3, 0))
F32, F64, C128, I64 = map(np.dtype, ("float32", "float64", "complex128", "int64"))


def step(name, **settings):
    """One step of the way from a tensor to a view of it."""
    return OPS[name].function, settings, None


SHAPES = [
    *rows("alias clone t zeros_like zero view_as_complex as_complex", R(3, 2)),
    *rows("view_as_real clone", C(2, 3)),
    row("piecewise_constant", R(3, 2), R(3, 2)),
    row("cast", R(2, 3), dtype=F32),
    row("cast", R(2, 3), dtype=C128),
    row("cast", C(2, 3), dtype=F64),
    row("cast", V([0, 1, 2]), dtype=F64),
    row("cast", R(2, 3), dtype=I64),
    *rows("view reshape reshape_alias reshape_copy", R(2, 6), shape=(3, 4)),
    row("expand", R(2, 1), shape=(3, 2, 4)),
    row("permute", R(2, 3, 4), axes=(2, 0, 1)),
    row("transpose", R(2, 3, 4), axis0=0, axis1=2),
    row("unsqueeze", R(2, 3), axis=1),
    row("squeeze", R(2, 1, 3, 1), axis=None, node="SqueezeBackward0"),
    row("squeeze", R(2, 1, 3, 1), axis=(1,)),
    row("squeeze", R(2, 1, 3, 1), axis=(1, 3), node="SqueezeBackward2"),
    row("basic_index", R(3, 4), key=(slice(None), slice(0, 4, 2))),
    row("basic_index", R(3, 4), key=(slice(1, None), Ellipsis)),
    row("basic_index", R(3, 4), key=(1,), node="SelectBackward0"),
    row("basic_index", R(3, 4), key=(Ellipsis, -1), node="SelectBackward0"),
    row("embed", R(3, 2), key=(slice(None), slice(0, 4, 2)), shape=(3, 4)),
    *rows("split split_with_sizes", R(2, 5), sizes=(2, 2, 1), axis=1),
    row("split", R(2, 5), sizes=(5,), axis=1),
    row("unbind", R(3, 2), axis=1),
    row("unbind", R(1, 2), axis=0),
    row("diagonal", R(3, 4), offset=1, axis1=0, axis2=1),
    row("diagonal", R(2, 3, 4), offset=-1, axis1=2, axis2=0),
    row("embed_diagonal", R(2, 3), shape=(2, 3, 3), offset=0, axis1=1, axis2=2),
    row("embed_diagonal", R(2), shape=(3, 3), offset=-1, axis1=0, axis2=1),
    row("unfold", R(2, 7), axis=1, size=3, step=2),
    row("unfold", R(5, 2), axis=0, size=3, step=1),
    row("unfold", R(), axis=0, size=1, step=1),
    row("unfold", R(2, 0), axis=1, size=0, step=2),
    row("fold_windows", R(3, 2, 3), shape=(5, 2), axis=0, size=3, step=1),
    row("as_strided", R(2, 3), size=(2, 2), stride=(1, 2), offset=1, own_stride=(3, 1), own_offset=0),
    row("as_strided", R(2, 3), size=(3, 3), stride=(1, 1), offset=0, own_stride=(3, 1), own_offset=0),
    row("as_strided_pull", R(2, 2), shape=(2, 3), stride=(1, 2), offset=1, own_stride=(3, 1), own_offset=0),
    row("as_strided_pull", R(3, 3), shape=(2, 3), stride=(1, 1), offset=0, own_stride=(3, 1), own_offset=0),
    row("view_dtype", R(2, 4), dtype=I64),
    row("view_dtype", R(2, 4), dtype=np.dtype("int32")),
    row("view_dtype", V(np.arange(8, dtype=np.int32).reshape(2, 4)), dtype=F64),
    # keys with None
    row("basic_index", R(2, 3), key=(None, Ellipsis, None), node="UnsqueezeBackward0"),
    row("basic_index", R(2, 3), key=(None, 1), node="SelectBackward0"),
    row("basic_index", R(2, 3), key=(1, None, slice(1, 3))),
    row("basic_index", R(2, 3), key=(Ellipsis,), node="AliasBackward0"),
    # copies to other places
    row("flip", R(2, 3), axes=(0, 1)),
    row("roll", R(2, 3), shifts=(1, -1), axes=(0, 1)),
    row("roll", R(5), shifts=(2,), axes=(0,)),
    row("rot90", R(2, 3), times=1, axes=(0, 1)),
    row("repeat", R(2, 3), counts=(2, 1, 2)),
    row("sum_repeats", R(4, 3), counts=(2, 1), shape=(2, 3)),
    row("repeat_interleave", R(2, 3), count=2, axis=1),
    *rows("tril triu", R(2, 3, 4), diagonal=1),
    *rows("trace eye_like eye_from", R(3, 4)),
    *rows("select_scatter copy_slices", R(3, 4), R(4), chain=(step("basic_index", key=(1,), node="SelectBackward0"),)),
    row("copy_slices", R(3, 4), R(2, 2), chain=(step("t"), step("basic_index", key=(slice(0, 4, 2), slice(2))))),
    row("copy_slices", R(3, 2), C(3), chain=(step("view_as_complex"),)),
    row("copy_slices", C(3), R(3, 2), chain=(step("view_as_real"),)),
    row("copy_slices", C(3), R(3), chain=(step("real"),)),
    row("copy_slices", C(3), R(), chain=(step("imag"), step("basic_index", key=(1, ...), node="SelectBackward0"))),
    row("slice_scatter", R(3, 4), R(3, 2), chain=(step("basic_index", key=(slice(None), slice(0, 4, 2))),)),
    row("diagonal_scatter", R(3, 4), R(3), chain=(step("diagonal", offset=0, axis1=0, axis2=1),)),
    row("as_strided_scatter", R(2, 3), R(2, 2), chain=(
        step("as_strided", size=(2, 2), stride=(1, 2), offset=1, own_stride=(3, 1), own_offset=0),
    )),
    # padding
    row("constant_pad", R(2, 3), pads=((1, 2), (0, 1)), value=0.5),
    row("constant_pad", R(2, 3), pads=((-1, 2), (0, -1)), value=0.5),
    *[row("pad_edges", R(1, *[4] * n), pads=MARGINS[:n + 1], mode=mode, dims=n) for mode in PADDINGS for n in (1, 2, 3)],
    *[row("fold_edges", R(1, *[7] * n), pads=MARGINS[:n + 1], mode=mode, dims=n) for mode in PADDINGS for n in (1, 2, 3)],
    *[row(name, R(1, n, 4), pads=((0, 0), pads, (0, 1)), mode=mode, dims=2)
      for mode in PADDINGS for pads in ((-1, 2), (1, -2)) for name, n in (("pad_edges", 4), ("fold_edges", 4 + sum(pads)))],
    # joins
    row("cat", R(2, 3), R(2, 1), axis=1),
    row("cat", R(2, 3), C(1, 3), V([[1, 2, 3]]), axis=0),
    row("stack", R(2, 3), R(2, 3), axis=1),
    row("block_diag", R(2, 3), R(1, 1), R(1, 2)),
    # conversions and overwriting
    row("to_copy", R(2, 3), dtype=F32, format=None),
    row("to_copy", C(2, 3), dtype=F64, format=None),
    row("clone_as", R(2, 3), format=None),
    row("copy_in_layout", fixed(R(2, 3)), R(2, 3)),
    row("copy_over", R(2, 3), R(3)),
    row("copy_over", V(np.zeros((2, 3))), V([1, 2, 3])),
    *rows("fill fill_in_place", R(2, 3), value=2.5),
    *rows("fill_from fill_from_in_place", R(2, 3), R()),
    row("redrawn", R(2, 3), V(np.ones((2, 3))), node="NormalBackward0"),
    row("standard_gamma", P(2, 3), fixed(P(2, 3))).once(),
    row("dirichlet", P(2, 3), fixed(V([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]]))).once(),
]
