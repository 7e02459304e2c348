"""Scaled dot-product attention and multi-head attention."""

import math
import warnings

from ..._dtypes import bool_, float32, type_word
from ..._modes import in_use
from ..._tensor import Tensor, engine_for, wrap
from ...functions._args import need_tensor
from ...functions._autocast import autocast
from ...functions._randomness import sampling_levels
from ...functions.broadcast import broadcast_shapes
from ...functions.creation import ones, zeros
from ...functions.dropout import dropout as _dropout
from ...functions.join import cat
from ...functions.like import zeros_like
from ...functions.padding import pad
from ...functions.reduce import softmax
from ...ops import attention as ops
from ...random import default_of
from .linear import linear

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]

TWO_MASKS = (
    "scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True, but for batches of heads "
    "[N, H, L, E] without dropout, with a mask of 2 or 4 dimensions that requires no gradient. "
    "Combine them: attn_mask & torch.ones(L, S, dtype=torch.bool).tril()"
)
DIMS = (
    "Expected query, key, and value to all be at least 2 dimensional, but got query.dim: {}, key.dim: {} and "
    "value.dim: {} instead."
)
DTYPES = (
    "Expected query, key, and value to have the same dtype, but got query.dtype: {}, key.dtype: {} and value.dtype: {} "
    "instead."
)
DEVICES = (
    "Expected query, key, and value to have the same device type, but got query.device: {}, key.device: {} and "
    "value.device: {} instead."
)
MASK_DTYPE = (
    "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: {mask} and "
    "query.dtype: {query} instead."
)
MASK_SHAPE = (
    "attn_mask of shape {mask} does not broadcast to the weights of shape {weights}: the size of each dimension must "
    "match, or be 1"
)
GROUPS = (
    "Number of heads in key and value must divide the number of heads in query: got {query} heads in query, {key} in "
    "key and {value} in value"
)
NEEDS_MASK = (
    "Need attn_mask if specifying the is_causal hint: it says what kind of mask attn_mask is. "
    "Transformer.generate_square_subsequent_mask makes such a mask."
)
MIXED_MASKS = "Support for mismatched {first} and {second} is deprecated. Use same type for both instead."


# ---- one head


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    """``softmax(query @ key.mT * scale + mask) @ value``: the mean of the values, weighted by the attention scores.

    Args:
        attn_mask: booleans, True where a query may attend, or floats to add to the scores. Queries that may attend
            nowhere get zeros.
        dropout_p: the dropout probability of attention weights, in evaluation too: pass 0.0 there.
        is_causal: query i may attend to keys 0 to i only; a mask restricts this further.
        scale: the factor of the scores, by default ``1 / sqrt(E)``.
        enable_gqa: key and value may have fewer heads than query, each of which is used by a group of heads.

    Shape:
        - query: ``(*, L, E)``
        - key: ``(*, S, E)``
        - value: ``(*, S, V)``
        - attn_mask: broadcastable to ``(*, L, S)``
        - Output: ``(*, L, V)``

    Example::

        >>> query, key = randn(2, 8, 5, 16), randn(2, 8, 7, 16)
        >>> F.scaled_dot_product_attention(query, key, key, is_causal=True).shape
        torch.Size([2, 8, 5, 16])
    """
    for position, (name, t) in enumerate((("query", query), ("key", key), ("value", value)), 1):
        need_tensor(t, "scaled_dot_product_attention", name, position)
    if in_use.autocast:
        query, key, value, attn_mask = autocast("scaled_dot_product_attention", query, key, value, attn_mask)
    _check_alike(query, key, value)
    if enable_gqa:
        key, value = _for_each_head(query, key, value)
    if attn_mask is not None:
        _check_mask(need_tensor(attn_mask, "scaled_dot_product_attention", "attn_mask", 4), query)
        if is_causal:
            attn_mask, is_causal = _causal_too(attn_mask, query, key, value, dropout_p), False
    shape = _weights_shape(query, key, value, attn_mask)
    dropped = _draw_dropout(shape, query, key, value, dropout_p) if dropout_p > 0 else None
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1] or 1)
    return ops.attention(query, key, value, attn_mask, dropped, scale=float(scale), causal=bool(is_causal))


def _draw_dropout(shape, query, key, value, p):
    """Dropout factors for attention weights of a shape; in float32 for half precision, like the weights.

    On devices whose kernel draws them, their random key.
    """
    if p < 1 and not sampling_levels():
        drawn = engine_for(query).attention_key(default_of(query.device), query._a, key._a, value._a, p)
        if drawn is not None:
            return wrap(drawn, query.device)
    dtype = float32 if query.dtype.itemsize < float32.itemsize else query.dtype
    return _dropout(ones(shape, dtype=dtype, device=query.device), p, True)


def _check_alike(*tensors):
    """Raises unless the tensors have the same floating dtype and device, and at least two dimensions."""
    dtypes, devices, dims = zip(*[(t.dtype, t.device, t.dim()) for t in tensors])
    if len(set(dtypes)) > 1:
        raise RuntimeError(DTYPES.format(*dtypes))
    if len({device.type for device in devices}) > 1:
        raise RuntimeError(DEVICES.format(*devices))
    if min(dims) < 2:
        raise RuntimeError(DIMS.format(*dims))
    if dtypes[0].is_complex:
        raise NotImplementedError(f"\"softmax\" not implemented for '{type_word(dtypes[0])}': attention is for reals")
    if not dtypes[0].is_floating_point:
        raise RuntimeError(f"expected scalar type Float but found {type_word(dtypes[0])}; convert it with .float()")


def _for_each_head(query, key, value):
    """Key and value, with heads repeated to match the heads of the query (grouped-query attention)."""
    if min(query.dim(), key.dim(), value.dim()) < 3:
        raise IndexError("enable_gqa=True: Dimension out of range: the heads are the third last dimension, -3")
    heads = [t.shape[-3] for t in (query, key, value)]
    if any(n == 0 or heads[0] % n for n in heads[1:]):
        raise RuntimeError(GROUPS.format(query=heads[0], key=heads[1], value=heads[2]))
    return [t.repeat_interleave(heads[0] // n, -3) for t, n in zip((key, value), heads[1:])]


def _check_mask(mask, query):
    name = mask.dtype.name
    if name not in ("bool", "float32") and mask.dtype is not query.dtype:
        raise RuntimeError(MASK_DTYPE.format(mask=mask.dtype, query=query.dtype))


def _causal_too(mask, query, key, value, dropout_p):
    """A mask combined with the causal one, if PyTorch's fused kernel supports the inputs: its other kernel refuses
    both."""
    fused = (
        query.dim() == 4 and mask.dim() in (2, 4) and query.shape[:2] == key.shape[:2] == value.shape[:2]
        and query.shape[-1] == value.shape[-1] and not dropout_p and not mask.requires_grad
    )
    if not fused:
        raise RuntimeError(TWO_MASKS)
    visible = ones(query.shape[-2], key.shape[-2], dtype=bool_, device=mask.device).tril()
    return mask & visible if mask.dtype is bool_ else mask.masked_fill(~visible, -math.inf)


def _weights_shape(query, key, value, mask):
    """The shape of the weights, ``(*, L, S)``; raises if the shapes do not match."""
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise RuntimeError(
            f"attention: Expected size of the last dimension of query {list(query.shape)} and key {list(key.shape)}, "
            f"and number of rows of key and value {list(value.shape)}, to be the same"
        )
    batch, *others = [tuple(t.shape[:-2]) for t in (query, key, value)]
    if others != [batch, batch]:
        batch = broadcast_shapes(batch, *others)
    shape = (*batch, query.shape[-2], key.shape[-2])
    if mask is not None and _common_shape(mask.shape, shape) != shape:
        raise RuntimeError(MASK_SHAPE.format(mask=list(mask.shape), weights=list(shape)))
    return shape


def _common_shape(*shapes):
    """The common broadcast shape, or None."""
    try:
        return tuple(broadcast_shapes(*shapes))
    except RuntimeError:
        return None


# ---- masks of layers


def float_mask(mask, name, dtype, other=None, other_name=""):
    """A mask as floats to add to the scores: minus infinity where a boolean mask is True.

    Warns if the other mask has a different dtype.
    """
    if mask is None:
        return None
    if mask.dtype.name != "bool" and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported, got {mask.dtype}")
    if other is not None and other.dtype is not mask.dtype:
        warnings.warn(MIXED_MASKS.format(first=name, second=other_name), stacklevel=3)
    if mask.dtype.name != "bool":
        return mask
    return zeros_like(mask, dtype=dtype).masked_fill_(mask, -math.inf)


# ---- several heads


def multi_head_attention_forward(
    query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v, add_zero_attn,
    dropout_p, out_proj_weight, out_proj_bias, training=True, key_padding_mask=None, need_weights=True, attn_mask=None,
    use_separate_proj_weight=False, q_proj_weight=None, k_proj_weight=None, v_proj_weight=None, static_k=None,
    static_v=None, average_attn_weights=True, is_causal=False,
):
    """Projects queries, keys and values, computes attention for each head, and projects the joined results.

    The functional form of ``MultiheadAttention``, which documents the arguments. Returns the result and the weights
    (None unless ``need_weights``). ``static_k`` and ``static_v`` replace the projected keys and values.

    Shape:
        - query: ``(L, N, E)`` or ``(L, E)``
        - key, value: ``(S, N, E_k)`` and ``(S, N, E_v)``, or without N
        - key_padding_mask: ``(N, S)`` or ``(S)``
        - attn_mask: ``(L, S)`` or ``(N * num_heads, L, S)``
        - Output: that of query; weights ``(N, L, S)``, or ``(N, num_heads, L, S)`` if not averaged, or without N
    """
    batched = _check_dims(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    key_padding_mask = float_mask(key_padding_mask, "key_padding_mask", query.dtype, attn_mask, "attn_mask")
    if is_causal and attn_mask is None:
        raise RuntimeError(NEEDS_MASK)
    is_causal = is_causal and key_padding_mask is None and not need_weights
    attn_mask = None if is_causal else float_mask(attn_mask, "attn_mask", query.dtype)

    _check_sizes(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    if use_separate_proj_weight:
        weights = _separate_weights(query, key, value, q_proj_weight, k_proj_weight, v_proj_weight)
    if key.shape[1] != query.shape[1]:
        raise RuntimeError(f"key of shape {list(key.shape)} is invalid for a query of shape {list(query.shape)}: "
                           "their batches differ in size")
    if use_separate_proj_weight:
        projections = _project_each((query, key, value), weights, in_proj_bias)
    else:
        _require(in_proj_weight is not None, "use_separate_proj_weight is False but in_proj_weight is None")
        projections = _project(query, key, value, in_proj_weight, in_proj_bias)
    if attn_mask is not None:
        attn_mask = _mask_of_heads(attn_mask, batch, num_heads, length, key.shape[0])

    extra = 0  # keys that stand for nothing in the input
    if bias_k is not None or bias_v is not None:
        _require(bias_v is not None, "bias_k is set but bias_v is None")
        _require(bias_k is not None, "bias_v is set but bias_k is None")
        _require(static_k is None, "bias cannot be added to static key.")
        _require(static_v is None, "bias cannot be added to static value.")
        q, k, v = projections if len(projections) == 3 else projections[0].chunk(3, -1)
        projections = q, *[cat([t, bias.expand(1, batch, width)]) for t, bias in ((k, bias_k), (v, bias_v))]
        extra += 1
    parts = 3 // len(projections)
    q, k, v = [head for t in projections for head in ops.split_heads(t, parts=parts, heads=num_heads)]
    if static_k is not None:
        k = _static_heads(static_k, "static_k", batch, num_heads, width)
    if static_v is not None:
        v = _static_heads(static_v, "static_v", batch, num_heads, width)
    if add_zero_attn:
        blank = zeros((batch, num_heads, 1, width // num_heads), dtype=k.dtype, device=k.device)
        k, v = cat([k, blank], 2), cat([v, blank], 2)
        extra += 1
    mask = _joint_mask(attn_mask, key_padding_mask, extra, batch, k.shape[2])

    dropout_p = dropout_p if training else 0.0
    if need_weights:
        out, weights = _attend(q, k, v, mask, dropout_p)
        weights = weights.mean(1) if average_attn_weights else weights
    else:
        out, weights = scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal), None
    out = linear(ops.merge_heads(out), out_proj_weight, out_proj_bias)
    if batched:
        return out, weights
    return out.squeeze(1), None if weights is None else weights.squeeze(0)


def _attend(q, k, v, mask, dropout_p):
    """Attention that also returns its weights. Fully masked rows become NaN here, unlike in the fused version."""
    if mask is not None and mask.dtype is not q.dtype:
        raise RuntimeError(f"Input dtypes must be the same, got: a mask of {mask.dtype} for a query of {q.dtype}")
    scores = (q * math.sqrt(1.0 / q.shape[-1])) @ k.mT
    weights = softmax(scores if mask is None else scores + mask, -1)
    if dropout_p > 0:
        weights = _dropout(weights, dropout_p, True)
    return weights @ v, weights


def _static_heads(x, name, batch, num_heads, width):
    """``(N * heads, S, E / heads)`` as ``(N, heads, S, E / heads)``."""
    for dim, want in ((0, batch * num_heads), (2, width // num_heads)):
        _require(x.shape[dim] == want, f"expecting {name}.size({dim}) of {want}, but got {x.shape[dim]}")
    return x.unflatten(0, (batch, num_heads))


def _project(query, key, value, weight, bias):
    """The three projections with packed weights: a single product for self-attention."""
    if query is key and key is value:
        return (linear(query, weight, bias),)
    return _project_each((query, key, value), weight.chunk(3), bias)


def _project_each(inputs, weights, bias):
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return [linear(*each) for each in zip(inputs, weights, biases)]


def _joint_mask(attn_mask, key_padding_mask, extra, batch, length):
    """Both masks combined, broadcastable to ``(N, heads, L, S)``; appended keys are not masked."""
    if key_padding_mask is not None:
        shape = key_padding_mask.shape
        for dim, want in ((0, batch), (1, length - extra)):
            _require(shape[dim] == want, f"Expected key_padded_mask.shape[{dim}] to be {want}, but got {shape[dim]}")
        key_padding_mask = key_padding_mask[:, None, None]
    masks = [pad(mask, (0, extra)) if extra else mask for mask in (attn_mask, key_padding_mask) if mask is not None]
    return sum(masks[1:], masks[0]) if masks else None


# ---- what is refused


def _require(condition, message):
    if not condition:
        raise AssertionError(message)


def _check_dims(query, key, value, key_padding_mask, attn_mask, num_heads):
    """Whether the inputs are batched; raises unless all or none are."""
    dims = query.dim()
    _require(dims in (2, 3), f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor")
    kind = "batched (3-D)" if dims == 3 else "unbatched (2-D)"
    _require(
        key.dim() == value.dim() == dims,
        f"For {kind} `query`, expected `key` and `value` to be {dims}-D but found {key.dim()}-D and {value.dim()}-D "
        "tensors respectively",
    )
    if key_padding_mask is not None:
        _require(
            key_padding_mask.dim() == dims - 1,
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {dims - 1}-D but found "
            f"{key_padding_mask.dim()}-D tensor instead",
        )
    if isinstance(attn_mask, Tensor):
        _require(
            attn_mask.dim() in (2, 3),
            f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor "
            "instead",
        )
        want = (num_heads, query.shape[0], key.shape[0])
        _require(
            dims == 3 or attn_mask.dim() == 2 or attn_mask.shape == want,
            f"Expected `attn_mask` shape to be {want} but got {attn_mask.shape}",
        )
    return dims == 3


def _check_sizes(query, key, value, width, num_heads, separate):
    found = query.shape[-1]
    _require(found == width, f"was expecting embedding dimension of {width}, but got {found}")
    _require(width % num_heads == 0, f"embed_dim {width} not divisible by num_heads {num_heads}")
    if separate:
        _require(
            key.shape[:2] == value.shape[:2],
            f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}",
        )
    else:
        _require(key.shape == value.shape, f"key shape {key.shape} does not match value shape {value.shape}")


def _separate_weights(query, key, value, *weights):
    """The separate weights of the three projections; raises if their shapes do not match the inputs."""
    width = query.shape[-1]
    for name, input, weight in zip(("query", "key", "value"), (query, key, value), weights):
        _require(weight is not None, f"use_separate_proj_weight is True but {name[0]}_proj_weight is None")
        want = (width, input.shape[-1])
        _require(weight.shape == want, f"expecting {name} weights shape of {want}, but got {weight.shape}")
    return weights


def _mask_of_heads(mask, batch, num_heads, length, keys):
    """A mask ``(L, S)`` or ``(N * heads, L, S)``, reshaped to broadcast to ``(N, heads, L, S)``."""
    want = (length, keys) if mask.dim() == 2 else (batch * num_heads, length, keys)
    if mask.shape != want:
        raise RuntimeError(f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {want}.")
    return mask if mask.dim() == 2 else mask.unflatten(0, (batch, num_heads))
