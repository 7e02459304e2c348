"""Vector and matrix products."""

import math

from .. import _dtypes
from .._dtypes import type_word
from .._modes import in_use
from .._tensor import Tensor
from ..ops import matmul as ops
from ..ops.matmul import c_name, check_mm, refuse_bool
from ..ops.shape import cast, reshape
from ._args import as_number, need_tensor
from ._attach import inplace_methods, methods
from ._autocast import autocast, without_autocast
from ._data import scalar_for
from ._deprecated import hide, old_order
from ._out import out_variant, resize_without_warning, same

__all__ = [
    "addbmm", "addmm", "addmv", "addmv_", "addr", "baddbmm", "bmm", "dot", "dsmm", "ger", "matmul", "mm", "mv", "outer",
    "spmm", "vdot",
]

MV_SHAPES = "size mismatch, got input ({n}), mat ({a[0]}x{a[1]}), vec ({b[0]})"
BMM_SHAPES = (
    "Expected size for first two dimensions of batch2 tensor to be: [{a[0]}, {a[2]}] but got: [{b[0]}, {b[1]}]."
)
DOT_SHAPES = (
    "inconsistent tensor size, expected tensor [{a}] and src [{b}] to have the same number of elements, but got {a} "
    "and {b} elements respectively"
)
BATCH_SHAPES = "The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {dim}"
EXPAND = (
    "The expanded size of the tensor ({want}) must match the existing size ({have}) at non-singleton dimension {dim}.  "
    "Target sizes: {target}.  Tensor sizes: {own}"
)


def word(array):
    return type_word(_dtypes.from_np(array.dtype))


def differ(a, b):
    """Whether two arrays differ in dtype."""
    return a.dtype is not b.dtype and a.dtype != b.dtype


# ---- matmul


@out_variant(dtype=same, aliases="any")
def matmul(input, other):
    """The matrix product; leading dimensions are batch dimensions and broadcast, vectors act as rows or columns."""
    if not isinstance(input, Tensor) or not isinstance(other, Tensor):
        need_tensor(input, "matmul", "input", 1)
        need_tensor(other, "matmul", "other", 2)
    if in_use.autocast:
        input, other = autocast("matmul", input, other)
    a, b = input._a, other._a
    n, m = a.ndim, b.ndim
    if n == 2 and m == 2:
        result = ops.mm(input, other)
    elif n > 2 and m > 2:
        check_batched(a, b)
        result = ops.matmul_batched(input, other)
    elif n > 2 and m == 2:
        check_mm(a, b)
        result = ops.matmul_folded(input, other)
    else:
        result = _matmul_rare(input, other, n, m)
    return result


def _matmul_rare(x, y, n, m):
    """Products with a vector, or of one matrix with a batch."""
    a, b = x._a, y._a
    if n == 1 and m == 1:
        check_dot(a, b, "dot")
        return ops.dot(x, y)
    if n == 0 or m == 0:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {n}D and {m}D; use * to scale by a number"
        )
    if m == 1:
        check_mv(a, b)
        return ops.mv(x, y)
    if n == 1 and m == 2:
        check_mm(a.reshape(1, -1), b)
        return ops.vecmat(x, y)
    if n == 1:
        lead = ops.row(x)
        check_batched(lead._a, b)
        return reshape(ops.matmul_batched(lead, y), shape=(*b.shape[:-2], b.shape[-1]))
    check_batched(a, b)
    return ops.matmul_batched(x, y)


def check_batched(a, b):
    """Raises unless the batch dimensions broadcast."""
    if a.shape[-1] != b.shape[-2] or a.shape[:-2] != b.shape[:-2]:
        for d in range(3, min(a.ndim, b.ndim) + 1):
            if a.shape[-d] != b.shape[-d] and 1 not in (a.shape[-d], b.shape[-d]):
                dim = max(a.ndim, b.ndim) - d
                raise RuntimeError(BATCH_SHAPES.format(a=a.shape[-d], b=b.shape[-d], dim=dim))
        if a.shape[-1] != b.shape[-2]:
            batch = math.prod(max(a.shape[:-2], b.shape[:-2], key=len))
            raise RuntimeError(BMM_SHAPES.format(a=(batch, *a.shape[-2:]), b=(batch, *b.shape[-2:])))
    if differ(a, b):
        raise RuntimeError(f"expected scalar type {word(a)} but found {word(b)}")
    refuse_bool(a, "bmm")


def check_mv(a, b):
    if a.ndim < 2 or b.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {a.ndim}, {b.ndim}")
    if a.shape[-1] != b.shape[0]:
        n = math.prod(a.shape[:-1])
        raise RuntimeError(MV_SHAPES.format(n=n, a=(n, a.shape[-1]), b=b.shape))
    if differ(a, b):
        raise RuntimeError(f"addmv input tensors must have the same dtype, but got {word(b)}, {word(a)}, and {word(b)}")
    refuse_bool(a, "addmv_impl_cpu")


def check_dot(a, b, name):
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if differ(a, b):
        raise RuntimeError(f"{name} : expected both vectors to have same dtype, but found {word(a)} and {word(b)}")
    if a.shape != b.shape:
        raise RuntimeError(DOT_SHAPES.format(a=a.shape[0], b=b.shape[0]))
    refuse_bool(a, name)


def check_bmm(a, b):
    for which, x in (("batch1", a), ("batch2", b)):
        if x.ndim != 3:
            raise RuntimeError(f"{which} must be a 3D tensor, but it has the shape {list(x.shape)}")
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(BMM_SHAPES.format(a=a.shape, b=b.shape))
    if differ(a, b):
        raise RuntimeError(f"expected scalar type {word(a)} but found {word(b)}")
    refuse_bool(a, "bmm")


def check_matrices(a, b, first="self"):
    for which, x in ((first, a), ("mat2", b)):
        if x.ndim != 2:
            raise RuntimeError(f"{which} must be a matrix, got {x.ndim}-D tensor")
    check_mm(a, b)


def widen(tensors, dtype, name):
    """The operands cast to the dtype of the result: the current one, or float32 for half precision."""
    own = tensors[-1].dtype
    if dtype is not own and not (dtype is _dtypes.float32 and own.np in _dtypes.HALF):
        raise RuntimeError(
            f"{name}(): out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs, got {dtype} for {own}"
        )
    return [cast(t, dtype=dtype.np) for t in tensors]


# ---- products of a given rank


@out_variant(dtype=same, aliases="any")
def mm(input, mat2, out_dtype=None):
    """The product of two matrices, in ``out_dtype`` if one is given."""
    if not isinstance(input, Tensor) or not isinstance(mat2, Tensor):
        need_tensor(input, "mm")
        need_tensor(mat2, "mm", "mat2", 2)
    if in_use.autocast:
        input, mat2 = autocast("mm", input, mat2)
    if out_dtype is not None:
        input, mat2 = widen((input, mat2), out_dtype, "mm")
    check_matrices(input._a, mat2._a)
    return ops.mm(input, mat2)


spmm = dsmm = mm  # names from before mm took sparse matrices


@out_variant(dtype=same, aliases="any")
def bmm(input, mat2, out_dtype=None):
    """The products of the matrices in two batches, in ``out_dtype`` if one is given."""
    need_tensor(input, "bmm")
    need_tensor(mat2, "bmm", "mat2", 2)
    if in_use.autocast:
        input, mat2 = autocast("bmm", input, mat2)
    if out_dtype is not None:
        input, mat2 = widen((input, mat2), out_dtype, "bmm")
    check_bmm(input._a, mat2._a)
    return ops.bmm(input, mat2)


@out_variant(dtype=same, aliases="any")
def mv(input, vec):
    """The product of a matrix and a vector."""
    need_tensor(input, "mv")
    need_tensor(vec, "mv", "vec", 2)
    if input._a.ndim == 0:
        raise IndexError("mv(): expected a matrix, but the input has no dimensions")
    if input._a.ndim != 2:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {input._a.ndim}, {vec._a.ndim}")
    check_mv(input._a, vec._a)
    return ops.mv(input, vec)


@out_variant(dtype=same, aliases="any")
def dot(input, tensor):
    """The dot product of two vectors."""
    need_tensor(input, "dot")
    need_tensor(tensor, "dot", "tensor", 2)
    check_dot(input._a, tensor._a, "dot")
    return ops.dot(input, tensor)


@out_variant(dtype=same, aliases="any")
def vdot(input, other):
    """The dot product of two vectors, with the first one conjugated."""
    need_tensor(input, "vdot")
    need_tensor(other, "vdot", "other", 2)
    check_dot(input._a, other._a, "vdot")
    return ops.vdot(input, other)


@out_variant(aliases="any")
def outer(input, vec2):
    """The outer product of two vectors."""
    need_tensor(input, "outer")
    need_tensor(vec2, "outer", "vec2", 2)
    for which, x in (("self", input), ("vec2", vec2)):
        if x._a.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {which}, but got {x._a.ndim}-D")
    return ops.outer(input, vec2)


@out_variant(aliases="any")
def ger(input, vec2):
    """Alias of ``outer``."""
    return outer(input, vec2)


# ---- sums with products


def check_scalars(name, a, beta, alpha):
    """(beta, alpha) as Python numbers; raises unless they fit the tensors' dtype."""
    beta, alpha = as_number(beta, name, "beta"), as_number(alpha, name, "alpha")
    for which, value in (("beta", beta), ("alpha", alpha)):
        if isinstance(value, complex) and a.dtype.kind != "c":
            raise RuntimeError(f"value cannot be converted to type {c_name(a)} without overflow ({which}={value})")
        if isinstance(value, float) and name == "addr" and a.dtype.kind in "biu":
            raise RuntimeError(f"For integral input tensors, argument {which} must not be a floating point number.")
    return beta, alpha


def check_expands(own, target):
    """Raises unless the addend broadcasts to the product's shape (never the other way round)."""
    if len(own) > len(target):
        raise RuntimeError(
            f"the number of sizes provided ({len(target)}) must be greater or equal to the number of dimensions in the "
            f"tensor ({len(own)}): cannot expand {list(own)} to {list(target)}"
        )
    for d in range(1, len(own) + 1):
        if own[-d] != target[-d] and own[-d] != 1:
            raise RuntimeError(EXPAND.format(
                want=target[-d], have=own[-d], dim=len(target) - d, target=list(target), own=list(own),
            ))


def _add_product(name, op, tensors, shape, beta, alpha):
    """beta * input + alpha * product, for checked operands."""
    x, a, b = tensors
    check_expands(x._a.shape, shape)
    beta, alpha = check_scalars(name, a._a, beta, alpha)
    if a._a.dtype.kind in "iu":
        beta, alpha = [scalar_for(value, a._a.dtype) for value in (beta, alpha)]
    return op(x, a, b, beta=beta, alpha=alpha)


def _old_call(name, alpha, *arguments):
    """(input, the two operands, beta, alpha) of a deprecated call with positional beta and optionally alpha."""
    tensors, (beta, *scale) = old_order(name, 3, *arguments, depth=1)
    return *tensors, beta, scale[0] if scale else alpha


def _need_three(name, *arguments):
    for position, (argument, value) in enumerate(arguments, 1):
        if not isinstance(value, Tensor):
            need_tensor(value, name, argument, position)


@out_variant(dtype=same)
def addmm(input, mat1, mat2, out_dtype=None, *deprecated, beta=1, alpha=1):
    """``beta * input + alpha * (mat1 @ mat2)``. With ``beta=0`` the input is ignored, including NaNs."""
    if isinstance(out_dtype, Tensor):
        arguments = (input, mat1, mat2, out_dtype, *deprecated)
        (input, mat1, mat2, beta, alpha), out_dtype = _old_call("addmm", alpha, *arguments), None
    _need_three("addmm", ("input", input), ("mat1", mat1), ("mat2", mat2))
    if in_use.autocast:
        input, mat1, mat2 = autocast("addmm", input, mat1, mat2)
    if out_dtype is not None:
        input, mat1, mat2 = widen((input, mat1, mat2), out_dtype, "addmm")
    x, a, b = input._a, mat1._a, mat2._a
    if a.ndim == b.ndim == 2 and differ(a, b):
        raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {word(a)} and {word(b)}")
    check_matrices(a, b, "mat1")
    if differ(x, b):
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {word(x)} and {word(b)}")
    return _add_product("addmm", ops.addmm, (input, mat1, mat2), (a.shape[0], b.shape[1]), beta, alpha)


@out_variant(dtype=same)
def addmv(input, mat, vec, *deprecated, beta=1, alpha=1):
    """``beta * input + alpha * (mat @ vec)``."""
    if deprecated:
        input, mat, vec, beta, alpha = _old_call("addmv", alpha, input, mat, vec, *deprecated)
    _need_three("addmv", ("input", input), ("mat", mat), ("vec", vec))
    x, a, b = input._a, mat._a, vec._a
    if a.ndim != 2 or b.ndim != 1 or x.ndim > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {x.ndim}, {a.ndim}, {b.ndim}")
    if a.shape[1] != b.shape[0] or x.shape not in ((a.shape[0],), (1,), ()):
        raise RuntimeError(MV_SHAPES.format(n=x.shape[0] if x.ndim else 1, a=a.shape, b=b.shape))
    if differ(a, b) or differ(x, a):
        raise RuntimeError(f"addmv input tensors must have the same dtype, but got {word(x)}, {word(a)}, and {word(b)}")
    refuse_bool(a, "addmv_impl_cpu")
    return _add_product("addmv", ops.addmv, (input, mat, vec), (a.shape[0],), beta, alpha)


@out_variant
def addr(input, vec1, vec2, *deprecated, beta=1, alpha=1):
    """``beta * input + alpha * outer(vec1, vec2)``."""
    if deprecated:
        input, vec1, vec2, beta, alpha = _old_call("addr", alpha, input, vec1, vec2, *deprecated)
    _need_three("addr", ("input", input), ("vec1", vec1), ("vec2", vec2))
    for which, x in (("vec1", vec1), ("vec2", vec2)):
        if x._a.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {which}, but got {x._a.ndim}-D")
    shape = (vec1._a.shape[0], vec2._a.shape[0])
    for which, value in (("beta", beta), ("alpha", alpha)):
        if isinstance(value, bool) and input._a.dtype.kind != "b":
            raise RuntimeError(f"Boolean {which} only supported for Boolean results: pass a number to addr.")
    return _add_product("addr", ops.addr, (input, vec1, vec2), shape, beta, alpha)


@out_variant(dtype=same, fit=resize_without_warning)
def addbmm(input, batch1, batch2, *deprecated, beta=1, alpha=1):
    """``beta * input`` plus ``alpha`` times the sum of the batched products."""
    if deprecated:
        input, batch1, batch2, beta, alpha = _old_call("addbmm", alpha, input, batch1, batch2, *deprecated)
    _need_three("addbmm", ("input", input), ("batch1", batch1), ("batch2", batch2))
    if in_use.autocast:
        input, batch1, batch2 = autocast("addbmm", input, batch1, batch2)
    x, a, b = input._a, batch1._a, batch2._a
    check_bmm(a, b)
    if differ(x, b):
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {word(x)} and {word(b)}")
    return _add_product("addbmm", ops.addbmm, (input, batch1, batch2), (a.shape[1], b.shape[2]), beta, alpha)


@out_variant(dtype=same)
def baddbmm(input, batch1, batch2, out_dtype=None, *deprecated, beta=1, alpha=1):
    """``beta * input + alpha * bmm(batch1, batch2)``."""
    if isinstance(out_dtype, Tensor):
        arguments = (input, batch1, batch2, out_dtype, *deprecated)
        (input, batch1, batch2, beta, alpha), out_dtype = _old_call("baddbmm", alpha, *arguments), None
    _need_three("baddbmm", ("input", input), ("batch1", batch1), ("batch2", batch2))
    if in_use.autocast:
        input, batch1, batch2 = autocast("baddbmm", input, batch1, batch2)
    if out_dtype is not None:
        input, batch1, batch2 = widen((input, batch1, batch2), out_dtype, "baddbmm")
    x, a, b = input._a, batch1._a, batch2._a
    check_bmm(a, b)
    if differ(x, b):
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {c_name(x)}, batch1: {c_name(a)}, batch2: {c_name(b)}"
        )
    shape = (a.shape[0], a.shape[1], b.shape[2])
    return _add_product("baddbmm", ops.baddbmm, (input, batch1, batch2), shape, beta, alpha)


hide(addmm, addmv, addr, addbmm, baddbmm)
methods(matmul, mm, bmm, mv, dot, vdot, outer, ger, addmm, addmv, addr, addbmm, baddbmm)
addmv_ = inplace_methods(addmv, addr)["addmv_"]
inplace_methods(*map(without_autocast, (addmm, addbmm, baddbmm)))


# ---- the operator


def _matmul(self, other):
    if not isinstance(other, Tensor):
        return NotImplemented
    if self._a.ndim == 2 == other._a.ndim and not in_use.autocast:
        return ops.mm(self, other)
    return matmul(self, other)


def _rmatmul(self, other):
    return matmul(other, self) if isinstance(other, Tensor) else NotImplemented


methods(__matmul__=_matmul, __rmatmul__=_rmatmul)
