"""Products of grouped, int8 and scaled 8-bit matrices, as used by mixtures of experts."""

from .. import _dtypes
from ._args import need_tensor
from .join import cat, stack
from .matmul import matmul

__all__ = ["_grouped_mm", "_int_mm", "_scaled_mm"]

NO_OFFSETS = "_grouped_mm: offs, the ends of the groups, is required unless both operands are 3-D"
TWO_OFFSETS = "_grouped_mm: offs is not allowed where both operands are 3-D: each matrix is a group"
INT8 = "_int_mm: Expected self and mat2 to be 2-D of dtype int8, got {first} and {second}"


def _grouped_mm(self, mat2, offs=None, bias=None, out_dtype=None):
    """The product of each group. A 2-D operand is split into groups, which end at ``offs``.

    A 2-D with a 3-D operand splits the rows (or columns) of the result into groups; two 2-D operands split the summed
    dimension, and each group yields a matrix.
    """
    need_tensor(self, "_grouped_mm")
    need_tensor(mat2, "_grouped_mm", "mat2", 2)
    if self.dim() == mat2.dim() == 3:
        if offs is not None:
            raise RuntimeError(TWO_OFFSETS)
        result = matmul(self, mat2)
    else:
        if offs is None:
            raise RuntimeError(NO_OFFSETS)
        result = _by_offsets(self, mat2, offs.tolist())
    return result if out_dtype is None else result.to(out_dtype)


def _by_offsets(a, b, ends):
    groups = [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]
    if a.dim() == b.dim():
        return stack([matmul(a[:, group], b[group]) for group in groups])
    if a.dim() == 2:
        return cat([matmul(a[group], b[i]) for i, group in enumerate(groups)])
    return cat([matmul(a[i], b[:, group]) for i, group in enumerate(groups)], 1)


def _int_mm(self, mat2):
    """The product of two matrices of int8, as int32."""
    need_tensor(self, "_int_mm")
    need_tensor(mat2, "_int_mm", "mat2", 2)
    if not (self.dim() == mat2.dim() == 2 and self.dtype is mat2.dtype is _dtypes.int8):
        first, second = (f"{x.dtype}{list(x.shape)}" for x in (self, mat2))
        raise RuntimeError(INT8.format(first=first, second=second))
    return matmul(self.to(_dtypes.int32), mat2.to(_dtypes.int32))


def _scaled_mm(self, mat2, scale_a, scale_b, bias=None, scale_result=None, out_dtype=None, use_fast_accum=False):
    """The product of two 8-bit matrices, times their scales: one per tensor, or one per row or column."""
    need_tensor(self, "_scaled_mm")
    result = matmul(self.to(_dtypes.float32), mat2.to(_dtypes.float32)) * scale_a * scale_b
    if bias is not None:
        result = result + bias
    if scale_result is not None:
        result = result * scale_result
    return result.to(out_dtype or self.dtype)
