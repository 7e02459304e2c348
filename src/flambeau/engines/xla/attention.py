"""Attention in half precision: by cuDNN's kernel, with dropout by our own, or in float32 if they do not support the
case."""

import jax
import jax.numpy as jnp

from ..._modes import modes
from . import engine
from .lazy import record
from .memory import is_on_gpu
from .random import draw_key

HALF = (jnp.bfloat16, jnp.float16)
IMPLEMENTATION = "cudnn"
LOWEST = {"bfloat16": -2.0**41, "float16": -2.0**15}  # score of a masked key; finite: cuDNN subtracts two of them


def formula(query, key, value, mask, dropped, scale, causal):
    """Attention in float32, rounded in the end."""
    narrow = query.dtype
    query, key, value = [x.astype(jnp.float32) for x in (query, key, value)]
    scores = jnp.matmul(query * scale, key.swapaxes(-1, -2))
    if causal:
        mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    if mask is not None:
        scores = jnp.where(mask, scores, -jnp.inf) if mask.dtype == bool else scores + mask
    nothing = jnp.all(scores == -jnp.inf, axis=-1, keepdims=True)
    weights = jnp.where(nothing, 0.0, jax.nn.softmax(jnp.where(nothing, 0.0, scores), axis=-1))
    if dropped is not None:
        weights = weights * (dropout_factors(dropped, scores.shape) if is_key(dropped) else dropped)
    return jnp.matmul(weights, value).astype(narrow)


def by_cudnn(query, key, value, mask, scale, causal):
    """Attention by one kernel. It also returns what backward needs, so XLA merges it with the forward."""
    length, bias = query.shape[2], bias_of(mask, query, key)
    query, key, value, more = with_even_lengths(*[x.swapaxes(1, 2) for x in (query, key, value)], bias)
    out, _ = jax.nn.dot_product_attention(query, key, value, scale=scale, is_causal=causal, return_residual=True,
                                          implementation=IMPLEMENTATION, **more)
    out = out[:, :length].swapaxes(1, 2)
    return out if mask is None else jnp.where(sees_nothing(mask), 0, out)


def bias_of(mask, query, key):
    """A mask in cuDNN's form: numbers to add to the scores, with a row for each query."""
    if mask is None:
        return None
    lowest = jnp.asarray(LOWEST[query.dtype.name], query.dtype)
    bias = jnp.where(mask, 0, lowest) if mask.dtype == bool else jnp.maximum(mask, lowest)
    bias = bias.astype(query.dtype).reshape((1,) * (4 - mask.ndim) + mask.shape)
    return jnp.broadcast_to(bias, (*bias.shape[:2], query.shape[2], key.shape[2]))


def sees_nothing(mask):
    """The queries without visible keys."""
    return jnp.all(~mask if mask.dtype == bool else mask == -jnp.inf, axis=-1, keepdims=True)


def with_even_lengths(query, key, value, bias):
    """Pads odd sequence lengths, for which jax cannot differentiate cuDNN's kernel; returns a mask for the padding."""
    sizes = query.shape[1], key.shape[1]
    if not any(n % 2 for n in sizes):
        return query, key, value, {} if bias is None else {"bias": bias}
    padded = [jnp.pad(x, ((0, 0), (0, x.shape[1] % 2), (0, 0), (0, 0))) for x in (query, key, value)]
    if bias is None:
        own, others = [jnp.full(len(query), n, jnp.int32) for n in sizes]
        return *padded, {"query_seq_lengths": own, "key_value_seq_lengths": others}
    widths = [(0, 0), (0, 0), *[(0, n % 2) for n in sizes]]
    return *padded, {"bias": jnp.pad(bias, widths, constant_values=LOWEST[bias.dtype.name])}


def are_heads(query, key, value):
    """Whether these are batches of heads in the kernels' format, on a GPU."""
    alike = query.shape[:2] == key.shape[:2] == value.shape[:2] and query.shape[-1] == value.shape[-1]
    return query.dtype in HALF and query.ndim == 4 and alike and is_on_gpu()


def suits_cudnn(query, key, value):
    return are_heads(query, key, value) and query.shape[-1] <= 128 and query.shape[-1] % 8 == 0


# ---- with dropout


@engine.immediate
def attention_key(generator, query, key, value, p):
    if not (are_heads(query, key, value) and jax.device_count() == 1):
        return None
    from . import _flash_attention as kernels

    if query.shape[-1] not in kernels.DEPTHS or not (kernels.INTERPRETED or kernels.are_supported()):
        return None
    return record(kernels.key_of, (modes.tracer.draw_key(draw_key, generator), float(p), query), {})


def is_key(dropped):
    """Whether this is a dropout key, and not dropout factors."""
    return dropped.ndim == 1


@engine.kernel
def dropout_factors(key, shape):
    from ._flash_attention import all_factors

    return all_factors(key, shape)


def by_flash(query, key, value, mask, dropped, scale, causal):
    from ._flash_attention import attend

    if mask is not None:
        mask = jnp.where(mask, 0, -jnp.inf) if mask.dtype == bool else mask
        mask = mask.astype(jnp.float32).reshape((1,) * (4 - mask.ndim) + mask.shape)
    return attend(query, key, value, mask, dropped, scale, causal)


# ---- kernels


@engine.immediate
def fused_attention(query, key, value, mask, dropped, scale, causal):
    if query.dtype not in HALF:
        return None
    if dropped is None and suits_cudnn(query, key, value):
        return by_cudnn(query, key, value, mask, float(scale), causal)
    if dropped is not None and is_key(dropped):
        return by_flash(query, key, value, mask, dropped, float(scale), causal)
    return formula(query, key, value, mask, dropped, scale, causal)


@engine.immediate
def fused_attention_pull(g, query, key, value, mask, dropped, scale, causal):
    if query.dtype not in HALF:
        return None
    _, pull = jax.vjp(lambda *x: fused_attention(*x, mask, dropped, scale, causal), query, key, value)
    return *pull(g), None


@engine.immediate
def masked_attention_pull(g, query, key, value, mask, dropped, scale, causal):
    if query.dtype not in HALF:
        return None
    _, pull = jax.vjp(lambda *x: formula(*x, dropped, scale, causal), query, key, value, mask)
    return pull(g)
