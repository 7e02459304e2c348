"""Embedding lookup, and reductions of bags of embeddings."""

from math import inf

from ..._dtypes import FLOAT, int32, int64
from ..._modes import no_grad
from ..._tensor import Tensor
from ...engines import demand
from ...functions._args import need_tensor
from ...functions.creation import arange, full_like
from ...functions.join import cat
from ...functions.sort import searchsorted
from ...ops import embedding as ops

__all__ = ["embedding", "embedding_bag"]

INDEX_TYPE = (
    "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got {dtype} "
    "instead (while checking arguments for {name})"
)
FIRST_BAG = (
    "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, "
    "got {got}"
)
NEGATIVE_BAG = (
    "index out of range in self: offsets must not be negative: a bag begins at its position in the input. Got {got}"
)
BAG_INDEX = "embedding_bag: Expected idx >= 0 && idx < num_embeddings, in the valid range [0, {rows}): {error}"
WEIGHT_TYPE = (
    "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, Float, "
    "Double; but got {dtype} instead (while checking arguments for embedding_bag)"
)
UNSORTED_BAGS = "offsets must be sorted: a bag ends where the next one begins, but one begins {got} before the last"
SCALE_TYPE = (
    "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 'per_sample_weights'; "
    "but type {weight} does not equal {scale} (while checking arguments for embedding_bag)"
)
MAX_GRADIENT = "max mode does not support {what}: each element of a bag may come from another row"
LAST_BAG = "offsets[-1] can not be greater than input's length ({total}), but got {got}"


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """The rows of ``weight`` at the indices ``input``.

    Args:
        padding_idx: the index of a row that gets no gradient.
        max_norm: scales down, in place, rows that are looked up and have a larger norm.
        scale_grad_by_freq: divides the gradient of a row by its frequency in the input.
        sparse: makes the gradient of ``weight`` a sparse tensor.

    Shape:
        - input: ``(*)``, integers
        - Output: ``(*, embedding_dim)``
    """
    _check_tables(input, weight, "embedding")
    padding_idx = _row(padding_idx, weight._a.shape[0])
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    return ops.embedding(weight, input, padding=padding_idx, by_frequency=bool(scale_grad_by_freq), sparse=bool(sparse))


def _check_tables(input, weight, name):
    if not isinstance(input, Tensor):
        need_tensor(input, name)
    if not isinstance(weight, Tensor):
        need_tensor(weight, name, "weight", 2)
    if weight._a.ndim != 2:
        raise RuntimeError(f"'weight' must be 2-D, but got {list(weight._a.shape)}")
    if input._a.dtype.name not in ("int64", "int32"):
        raise RuntimeError(INDEX_TYPE.format(dtype=input.type(), name=name))


def _row(index, rows):
    """Normalizes a row index, which may be negative."""
    if index is None:
        return None
    if index >= rows or index < -rows:
        raise AssertionError(f"Padding_idx must be within num_embeddings, got {index} with {rows} embeddings")
    return index + rows if index < 0 else index


@no_grad()
def _renormalize(weight, index, max_norm, norm_type):
    """Renormalizes, in place, the rows that are looked up and exceed the maximal norm."""
    used = index.reshape(-1)  # a repeated row is written repeatedly, with the same numbers
    rows = weight.detach()[used]
    norms = rows.norm(norm_type, 1, keepdim=True)
    long = norms > max_norm
    weight.detach()[used] = rows * (max_norm / (norms + 1e-7)).masked_fill(~long, 1.0)


def embedding_bag(
    input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean", sparse=False,
    per_sample_weights=None, include_last_offset=False, padding_idx=None,
):
    """Sums, means or maxima of bags of rows of ``weight``.

    A bag is a row of ``input``; if ``input`` is a vector, a bag is the part between two successive ``offsets``.
    """
    _check_bags(input, weight, per_sample_weights, mode, scale_grad_by_freq, sparse)
    bags, count = _bags(input, offsets, include_last_offset)  # bag number `count` is discarded
    padding_idx = _row(padding_idx, weight._a.shape[0])
    try:
        rows = embedding(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    except IndexError as error:  # PyTorch has different error types for lookups and for sums
        raise RuntimeError(BAG_INDEX.format(rows=weight._a.shape[0], error=error)) from None
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    if rows._a.ndim == 3 and rows._a.size and padding_idx is None and mode != "max":  # bags of equal size
        return rows.sum(1) if mode == "sum" else rows.mean(1)
    if padding_idx is not None:
        bags = bags.masked_fill(input.reshape(-1) == padding_idx, count)
    return _fold_bags(rows.reshape(-1, weight.size(1)), bags, count + 1, mode)[:count]


def _check_bags(input, weight, per_sample_weights, mode, scale_grad_by_freq, sparse):
    """Raises PyTorch's errors, in its order."""
    if per_sample_weights is not None and input._a.shape != per_sample_weights._a.shape:
        raise ValueError(f"embedding_bag: per_sample_weights ({list(per_sample_weights.shape)}) must have the same "
                         f"shape as the input ({list(input.shape)})")
    if weight._a.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    _check_tables(input, weight, "embedding_bag")
    if weight.dtype.category != FLOAT:
        raise RuntimeError(WEIGHT_TYPE.format(dtype=weight.type()))
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and (scale_grad_by_freq or sparse):
        raise ValueError(MAX_GRADIENT.format(what="sparse weights" if sparse else "scaling the gradient by the "
                                             "frequency"))
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(f"embedding_bag: per_sample_weights is only supported for mode='sum' (got {mode=}).")
    if per_sample_weights is not None and per_sample_weights.dtype is not weight.dtype:
        raise RuntimeError(SCALE_TYPE.format(weight=weight.dtype, scale=per_sample_weights.dtype))


def _fold_bags(rows, bags, count, mode):
    """The sum, mean or maximum of the rows in each of `count` bags."""
    out = rows.new_zeros((count, rows.size(1)))
    if mode == "max":
        return cat([rows, out[:1]]).gather(0, _largest(rows.detach(), bags.unsqueeze(1).expand_as(rows), out))
    out = out.index_add(0, bags, rows)
    if mode == "sum":
        return out
    sizes = rows.new_zeros(count).index_add(0, bags, rows.new_ones(bags.shape))
    return out / sizes.clamp(min=1).unsqueeze(1)


def _largest(rows, bags, out):
    """The row of each element of the maxima `out`: the first that is greater than all before it; none, if none is.

    As PyTorch compares them, nan stays if it is the first, and is passed over if it is not.
    """
    n = len(rows)
    at = arange(n, device=rows.device).unsqueeze(1).expand_as(rows)
    none = full_like(out, n, dtype=int64)
    is_first = none.scatter_reduce(0, bags, at, "amin").gather(0, bags) == at
    rows = rows.masked_fill(rows.isnan() & is_first, inf).nan_to_num(-inf, inf, -inf)
    is_largest = out.scatter_reduce(0, bags, rows, "amax", include_self=False).gather(0, bags) == rows
    return none.scatter_reduce(0, bags, at.masked_fill(~is_largest, n), "amin")


def _bags(input, offsets, include_last_offset):
    """The bag of each index, and how many bags there are."""
    if input._a.ndim == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as each row of the input is a bag; got "
                             f"offsets of type {type(offsets).__name__}")
        rows, length = input._a.shape
        return arange(rows, device=input.device).unsqueeze(1).expand(rows, length).reshape(-1), rows
    if input._a.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if not isinstance(offsets, Tensor):
        raise ValueError("offsets has to be a 1D Tensor but got None" if offsets is None else
                         f"offsets has to be a Tensor, but got {type(offsets).__name__}")
    if offsets._a.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    if offsets.dtype not in (int64, int32):
        raise RuntimeError(INDEX_TYPE.format(dtype=offsets.type(), name="embedding_bag"))
    total, count = input._a.shape[0], offsets._a.shape[0] - bool(include_last_offset)
    if count < 0:
        raise RuntimeError("include_last_offset: number of offsets should be at least 1: the last one is not a bag")
    if not offsets._a.size:
        return input.new_zeros(total, dtype=int64), 0
    first, last = offsets._a[0], offsets._a[-1]
    demand(first == 0, first, lambda got: RuntimeError(FIRST_BAG.format(got=got)))
    demand(last <= total, last, lambda got: RuntimeError(LAST_BAG.format(total=total, got=got)))
    lowest = offsets._a.min()
    demand(lowest >= 0, lowest, lambda got: IndexError(NEGATIVE_BAG.format(got=got)))
    if count > 1:
        smallest = (offsets._a[1:] - offsets._a[:-1]).min()
        demand(smallest >= 0, smallest, lambda got: RuntimeError(UNSORTED_BAGS.format(got=-got)))
    return searchsorted(offsets, arange(total, dtype=offsets.dtype, device=offsets.device), right=True) - 1, count
