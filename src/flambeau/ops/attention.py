"""Attention as one op, whose gradient recomputes the weights instead of saving them.

The weights have a row for each query and a column for each key. Saved values have the size of the inputs, as in
PyTorch's fused kernels.
"""

import math

from .._tensor import Tensor
from ..engines import engine_of
from ._op import kernel_op, op
from .join import all_pieces, stack
from .matmul import mT, product
from .shape import permute, reshape
from .softmax import softmax_pull


@op(opmath=True, row_major=True)
def masked_softmax(k, x, mask, *, causal):
    """The masked softmax over the last dimension; zeros for fully masked rows.

    Boolean masks are True for positions to keep, float masks are added; `causal` keeps the lower triangle.
    """
    if causal:
        mask = k.tril(k.ones_like(x, dtype=bool, shape=x.shape[-2:]), 0)
    if mask is not None:
        x = k.where(mask, x, -math.inf) if mask.dtype.kind == "b" else x + mask
    nothing = k.all(x == -math.inf, axis=-1, keepdims=True)
    return k.where(nothing, 0.0, k.softmax(x, -1))


masked_softmax.vjp(
    x=lambda g, out: softmax_pull(g, out, axis=-1),
    mask=lambda g, out: softmax_pull(g, out, axis=-1),
)


def weights_of(query, key, mask, scale, causal):
    """The attention weights."""
    return masked_softmax(product(query * scale, mT(key)), mask, causal=causal)


def attention_node(query_shape, value_shape, dropped):
    """The node name: PyTorch's fused kernel supports batches of heads of one size, without dropout."""
    if len(query_shape) == 2:
        return "MmBackward0"
    fused = len(query_shape) == 4 and query_shape[-1] == value_shape[-1] and dropped is None
    return "ScaledDotProductFlashAttentionForCpuBackward0" if fused else "UnsafeViewBackward0"


@op(opmath=True, row_major=True, node=attention_node, product=True, constants="mask dropped")
def attention(k, query, key, value, mask, dropped, *, scale, causal):
    """Scaled dot-product attention.

    `dropped` has the dropout factors of the weights, or their random key. It and the mask may be None.
    """
    fused = k.fused_attention(query, key, value, mask, dropped, scale, causal)
    if fused is not None:
        return fused
    weights = weights_of(query, key, mask, scale, causal)
    return k.matmul(weights if dropped is None else weights * dropped, value)


# The dropout factors that an engine's kernel draws with a key.
dropout_factors = kernel_op("dropout_factors", inputs="key", settings="shape")


@attention.joint_vjp
def _(g, query, key, value, mask, dropped, scale, causal, needs):
    if not isinstance(g, Tensor):
        k = engine_of(g)
        pull = k.masked_attention_pull if needs[3] else k.fused_attention_pull
        fused = pull(g, query, key, value, mask, dropped, scale, causal)
        if fused is not None:
            return *fused, None
    weights = weights_of(query, key, mask, scale, causal)
    if dropped is not None and len(dropped.shape) == 1:
        dropped = dropout_factors(dropped, shape=tuple(weights.shape))
    g_value = product(mT(weights if dropped is None else weights * dropped), g) if needs[2] else None
    if not (needs[0] or needs[1] or needs[3]):
        return None, None, g_value, None, None
    g_weights = product(g, mT(value))
    g_scores = softmax_pull(g_weights if dropped is None else g_weights * dropped, weights, axis=-1)
    return (
        product(g_scores, key) * scale if needs[0] else None,
        product(mT(g_scores), query * scale) if needs[1] else None,
        g_value,
        g_scores if needs[3] else None,
        None,
    )


# ---- heads


@op(view=True, node="ViewBackward0")
def split_heads(k, x, *, parts, heads):
    """Splits ``(L, N, parts * E)`` into `parts` views ``(N, heads, L, E / heads)``: queries, keys and values."""
    length, batch, width = x.shape
    x = k.reshape_view(x, (length, batch, parts, heads, width // (parts * heads)))
    return tuple([x[:, :, i].transpose((1, 2, 0, 3)) for i in range(parts)])


split_heads.vjp(
    x=lambda g, x_shape: reshape(stack(*[permute(p, axes=(2, 0, 1, 3)) for p in all_pieces(g)], axis=2), shape=x_shape)
)


@op(row_major=True, node="UnsafeViewBackward0")
def merge_heads(k, x):
    """``(N, heads, L, E / heads)`` as ``(L, N, E)``."""
    batch, heads, length, width = x.shape
    return k.reshape(x.transpose((2, 0, 1, 3)), (length, batch, heads * width))


merge_heads.vjp(x=lambda g, x_shape: split_heads(g, parts=1, heads=x_shape[1])[0])
