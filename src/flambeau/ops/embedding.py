"""Embedding lookup."""

from .._modes import modes
from ._op import op
from .pointwise import at_least_float32
from .sparse import sparse_rows

SPARSE_FREQUENCY = (
    "embedding_backward: scale_grad_by_freq not supported with sparse gradients: leave one of the two options out"
)


@op(row_major=True, constants="index")
def embedding(k, weight, index, *, padding, by_frequency, sparse):
    """The rows of `weight` at `index`; the settings affect the gradient only."""
    return k.index_select(weight, index.reshape(-1), 0).reshape(*index.shape, *weight.shape[1:])


@embedding.joint_vjp
def _(g, index, weight_shape, padding, by_frequency, sparse):
    if sparse and by_frequency:
        raise RuntimeError(SPARSE_FREQUENCY)
    if sparse and not modes.tracer.active:  # programs return arrays, whose shapes cannot depend on elements
        return sparse_rows(g, index, padding=padding, shape=tuple(weight_shape)), None
    if padding is not None or by_frequency:
        factors = row_factors(
            index, rows=weight_shape[0], padding=padding, by_frequency=by_frequency, dtype=at_least_float32(g)
        )
        g = g * factors
    return unembedding(g, index, shape=tuple(weight_shape)), None


@op(row_major=True)
def row_factors(k, index, *, rows, padding, by_frequency, dtype):
    """The gradient scale of each looked-up row: 0 for padding, and optionally one over its frequency."""
    factors = k.ones(index.shape, dtype) if padding is None else (index != padding).astype(dtype)
    if by_frequency:
        flat = index.reshape(-1)
        counts = k.unindex(k.ones(flat.shape, dtype), (flat,), (0,), (rows,))
        factors = factors / counts[index]
    return factors.reshape(*index.shape, 1)


@op(node="EmbeddingDenseBackward0", opmath=True, row_major=True)
def unembedding(k, g, index, *, shape):
    """Zeros of `shape`, with the rows of g added at `index`."""
    return k.unindex(g.reshape(-1, *shape[1:]), (index.reshape(-1),), (0,), shape)


unembedding.vjp(g=lambda h, index: embedding(h, index, padding=None, by_frequency=False, sparse=False))
