"""Causal masks for different numbers of queries and keys."""

from __future__ import annotations

import enum
import warnings

from ... import _dtypes
from ..._tensor import Tensor
from ...functions.creation import ones
from ...overrides import give_plain_results

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """The corner of the mask that the diagonal is aligned to."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A causal mask for the argument ``attn_mask``: booleans, True where a query may attend to a key.

    Args:
        variant: ``UPPER_LEFT``: the first query sees the first key; ``LOWER_RIGHT``: the last query sees all keys.
        seq_len_q, seq_len_kv: how many queries and keys there are.
    """

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int
    __torch_function__ = give_plain_results

    def __new__(cls, variant, seq_len_q, seq_len_kv):
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        offset = seq_len_kv - seq_len_q if variant is CausalVariant.LOWER_RIGHT else 0
        mask = ones((seq_len_q, seq_len_kv), dtype=_dtypes.bool_).tril(offset)
        return Tensor._make_subclass(cls, mask)

    def __init__(self, variant, seq_len_q, seq_len_kv):
        self.variant = variant
        self.seq_len_q = seq_len_q
        self.seq_len_kv = seq_len_kv
        if variant is CausalVariant.LOWER_RIGHT and seq_len_q > seq_len_kv:
            warnings.warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv: the first "
                "queries see no key. scaled_dot_product_attention gives zeros for them.", stacklevel=3,
            )

    def __repr__(self):
        return repr(self.as_subclass(Tensor))


def causal_upper_left(*size):
    """The causal mask of ``size`` (queries, keys) whose diagonal starts in the upper left corner.

    Example::

        >>> nn.attention.bias.causal_upper_left(2, 3)
        tensor([[ True, False, False],
                [ True,  True, False]])
    """
    return _causal(CausalVariant.UPPER_LEFT, size, "causal_upper_left")


def causal_lower_right(*size):
    """The causal mask of ``size`` (queries, keys) whose diagonal ends in the lower right corner.

    Example::

        >>> nn.attention.bias.causal_lower_right(2, 3)
        tensor([[ True,  True, False],
                [ True,  True,  True]])
    """
    return _causal(CausalVariant.LOWER_RIGHT, size, "causal_lower_right")


def _causal(variant, size, name):
    if len(size) != 2:
        raise AssertionError(f"{name} only supports 2D tensors, got size {size}")
    return CausalBias(variant, *size)
