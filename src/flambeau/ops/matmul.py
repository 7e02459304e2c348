"""Products of vectors, matrices and batches of matrices.

The public ``matmul`` selects among these ops by the ranks of its operands. Gradients multiply by transposed *views*,
which BLAS accepts without a copy.
"""

import math

import numpy as np

from .. import _dtypes
from .._tensor import Tensor
from ..engines import engine_of
from ._calls import on_arrays
from ._op import kernel_op, op
from .pointwise import add, cj, mul
from .reduce import sum_
from .shape import expand, permute, reshape, reshape_shared, squeeze, t, unsqueeze, view, view_or_copy

MM_SHAPES = "mat1 and mat2 shapes cannot be multiplied ({a[0]}x{a[1]} and {b[0]}x{b[1]})"

def mT(x):
    """The matrices transposed, as a view."""
    if isinstance(x, Tensor):
        n = x._a.ndim
        return permute(x, axes=(*range(n - 2), n - 1, n - 2))
    return x.swapaxes(-1, -2)


def mH(x):
    """The matrices transposed and conjugated."""
    return cj(mT(x))


def product(x, y):
    """``x @ y`` for matrices and batches of them, for arrays and tensors in vjps."""
    return matmul_batched(x, y) if isinstance(x, Tensor) else on_arrays(matmul_batched.spec, x, y)


def rows(x):
    """x with its leading dimensions flattened to one."""
    shape = x.shape
    return x if len(shape) == 2 else reshape_shared(x, (math.prod(shape[:-1]), shape[-1]))


def column(x):
    """x with a last dimension of one."""
    return reshape_shared(x, (*x.shape, 1))


def row(x):
    """x with a dimension of one before its last."""
    return reshape_shared(x, (*x.shape[:-1], 1, x.shape[-1]))


def scale(g, factor):
    """g times the conjugate of a Python number."""
    if isinstance(factor, complex):
        return g * factor.conjugate()
    return g if factor == 1 else g * factor


# ---- plain products


def c_name(array):
    """The C type of an array's elements, which some of PyTorch's messages show."""
    name = _dtypes.from_np(array.dtype).name
    return _dtypes.C_NAMES.get(name, name)


def refuse_bool(a, kernel):
    if a.dtype.kind == "b":
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool': convert the operands, e.g. by .int()")


def check_mm(x, y):
    """Raises PyTorch's error for matrices (or a folded batch of them and a matrix) that cannot be multiplied."""
    if x.shape[-1] != y.shape[0]:
        raise RuntimeError(MM_SHAPES.format(a=(math.prod(x.shape[:-1]), x.shape[-1]), b=y.shape))
    if x.dtype != y.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {c_name(x)} != {c_name(y)}")
    refuse_bool(x, "addmm_impl_cpu_")


def _matmul_op(name, node, check=None):
    """A product of matrices, or of batches of them."""
    call = kernel_op(name, "matmul", inputs="x, y", promote="common", node=node, refuses="b", check=check,
                     row_major=True, by_element=False, product=True)
    call.vjp(x=lambda g, y: product(g, mH(y)), y=lambda g, x: product(mH(x), g))
    return call


mm = _matmul_op("mm", "MmBackward0", check_mm)
bmm = _matmul_op("bmm", "BmmBackward0")
matmul_batched = _matmul_op("matmul_batched", "UnsafeViewBackward0")


@op(node="UnsafeViewBackward0", promote="common", opmath=False, row_major=True)
def matmul_folded(k, x, y):
    """x of any leading dimensions times one matrix, as a single product."""
    return k.reshape(k.matmul(rows(x), y), (*x.shape[:-1], y.shape[-1]))


matmul_folded.vjp(x=lambda g, y: matmul_folded(g, mH(y)), y=lambda g, x: product(mH(rows(x)), rows(g)))


def row_view(x):
    """``rows``, as PyTorch records it."""
    return view_or_copy(x, (math.prod(x.shape[:-1]), x.shape[-1]))


def batched_steps(x, y):
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    pair = [expand(a, shape=(*batch, *a.shape[-2:])) for a in (x, y)]
    product = bmm(*[view_or_copy(a, (math.prod(batch), *a.shape[-2:])) for a in pair])
    return reshape(product, shape=(*batch, *product.shape[-2:]))


matmul_batched.presents(UnsafeViewBackward0=batched_steps)
matmul_folded.presents(UnsafeViewBackward0=lambda x, y: reshape(mm(row_view(x), y), shape=(*x.shape[:-1], y.shape[-1])))


def mv_node(x_shape):
    return "MvBackward0" if len(x_shape) == 2 else "UnsafeViewBackward0"


# Matrices of any leading dimensions times one vector.
mv = kernel_op("mv", "matmul", inputs="x, y", promote="common", node=mv_node, refuses="b", by_element=False)
mv.vjp(
    x=lambda g, y: column(g) * cj(y),
    y=lambda g, x: reshape(product(mH(rows(x)), reshape(g, shape=(-1, 1))), shape=(x.shape[-1],)),
)
mv.presents(UnsafeViewBackward0=lambda x, y: reshape(mv(row_view(x), y), shape=x.shape[:-1]))

# A vector times a matrix.
vecmat = kernel_op("vecmat", "matmul", inputs="x, y", node="SqueezeBackward4", promote="common", opmath=False)
vecmat.vjp(
    x=lambda g, y: reshape(product(row(g), mH(y)), shape=(y.shape[-2],)),
    y=lambda g, x: column(cj(x)) * g,
)
vecmat.presents(SqueezeBackward4=lambda x, y: squeeze(mm(unsqueeze(x, axis=0), y), axis=(0,), node="SqueezeBackward4"))

dot = kernel_op("dot", "matmul", inputs="x, y", promote="common", opmath=False)
dot.vjp(x=lambda g, y: g * cj(y), y=lambda g, x: g * cj(x))


@op(promote="common", opmath=False)
def vdot(k, x, y):
    """The inner product, conjugated in its first argument."""
    return k.matmul(k.conj(x), y)


vdot.vjp(x=lambda g, y: cj(g) * y, y=lambda g, x: g * x)


def outer(x, y):
    return mul(view_or_copy(x, (*x.shape, 1)), y)


# ---- sums with a product: beta * x + alpha * (a @ b)


def _add_product(name, forward, a, b):
    call = op(forward, name=name, promote="common", opmath=False, row_major=True)
    call.vjp(x=lambda g, beta: scale(g, beta), a=a, b=b)
    return call


def _addmm(k, x, a, b, *, beta, alpha):
    return k.add_product(k.matmul, x, a, b, beta, alpha)


def _addbmm(k, x, a, b, *, beta, alpha):
    return k.add_product(lambda a, b: k.sum(k.matmul(a, b), axis=0, dtype=a.dtype), x, a, b, beta, alpha)


def _addr(k, x, a, b, *, beta, alpha):
    return k.add_product(lambda a, b: a[:, None] * b, x, a, b, beta, alpha)


def _left(g, b, alpha):
    return scale(product(g, mH(b)), alpha)


def _right(g, a, alpha):
    return scale(product(mH(a), g), alpha)


addmm = _add_product("addmm", _addmm, _left, _right)
baddbmm = _add_product("baddbmm", _addmm, _left, _right)
addbmm = _add_product("addbmm", _addbmm, _left, _right)
addmv = _add_product(
    "addmv", _addmm,
    lambda g, b, alpha: scale(column(g) * cj(b), alpha),
    lambda g, a, alpha: scale(reshape(product(mH(a), column(g)), shape=(a.shape[-1],)), alpha),
)
addr = _add_product(
    "addr", _addr,
    lambda g, b, alpha: scale(reshape(product(g, column(cj(b))), shape=(g.shape[-2],)), alpha),
    lambda g, a, alpha: scale(reshape(product(row(cj(a)), g), shape=(g.shape[-1],)), alpha),
)


# ---- the affine map of a layer


def check_linear(x, weight, bias):
    if x.shape[-1] != weight.shape[1]:
        count = math.prod(x.shape[:-1])
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({count}x{x.shape[-1]} and {weight.shape[1]}x{weight.shape[0]})"
        )
    if x.dtype != weight.dtype or (bias is not None and bias.dtype != x.dtype):
        other = weight if x.dtype != weight.dtype else bias
        words = (_dtypes.type_word(_dtypes.from_np(a.dtype)) for a in (x, other))
        raise RuntimeError("mat1 and mat2 must have the same dtype, but got {} and {}".format(*words))
    refuse_bool(x, "addmm_impl_cpu_")


def linear_node(x, bias):
    if x.ndim == 2:
        return "MmBackward0" if bias is None else "AddmmBackward0"
    if bias is None:
        return "UnsafeViewBackward0"
    return "ViewBackward0" if engine_of(x).is_contiguous(x) else "AddBackward0"


# ``x @ weight.T + bias`` over the last dimension of x, which has at least two; bias may be None.
linear = kernel_op("linear", inputs="x, weight, bias", node=linear_node, opmath=True, check=check_linear,
                   row_major=True, product=True)


@linear.joint_vjp
def linear_gradients(g, x, weight, needs):
    x_needs, weight_needs, bias_needs = needs
    flat = rows(g) if weight_needs or bias_needs else g
    return (
        (product if len(g.shape) == 2 else matmul_folded)(g, cj(weight)) if x_needs else None,
        product(mT(flat), cj(rows(x))) if weight_needs else None,
        sum_rows(flat) if bias_needs else None,
    )


def sum_rows(x):
    """The sum of the rows of a matrix."""
    of_engine = None if isinstance(x, Tensor) else engine_of(x).sum_rows(x)
    return sum_(x, axis=(0,), keepdims=False) if of_engine is None else of_engine


def with_bias(x, weight, bias):
    return addmm(bias, x, t(weight), beta=1, alpha=1)


LINEAR_STEPS = dict(
    MmBackward0=lambda x, weight: mm(x, t(weight)),
    AddmmBackward0=with_bias,
    UnsafeViewBackward0=lambda x, weight: matmul_folded(x, t(weight)),
    ViewBackward0=lambda x, weight, bias: view(
        with_bias(row_view(x), weight, bias), shape=(*x.shape[:-1], weight.shape[0])
    ),
    AddBackward0=lambda x, weight, bias: add(matmul_folded(x, t(weight)), bias),
)
linear.presents(**LINEAR_STEPS)


# ---- the cross product

linalg_cross = kernel_op("linalg_cross", "cross", inputs="x, y", settings="axis", by_name=True, promote="common",
                         opmath=False, row_major=True)
linalg_cross.vjp(
    x=lambda g, y, axis: linalg_cross(cj(y), g, axis=axis),
    y=lambda g, x, axis: linalg_cross(g, cj(x), axis=axis),
)
