"""Multi-head attention."""

from __future__ import annotations

from ..._tensor import Tensor
from ...functions.creation import empty
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .linear import NonDynamicallyQuantizableLinear
from .module import Module

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Attention with several heads: each query attends to all keys, and gets the weighted mean of their values.

    Query, key and value are projected to ``embed_dim`` features, which are split among the heads. The results of the
    heads are concatenated and projected by ``out_proj``.

    Args:
        embed_dim: the number of features of the query and of the output.
        num_heads: the number of heads, which must divide ``embed_dim``.
        dropout: the dropout probability of attention weights in training.
        bias: whether the projections have a bias.
        add_bias_kv: whether to append a learnable key and value.
        add_zero_attn: whether to append a key and value of zeros.
        kdim, vdim: the numbers of features of key and value; ``embed_dim`` by default.
        batch_first: whether inputs and output are ``(N, L, E)`` instead of ``(L, N, E)``.

    Shape:
        - query: ``(L, N, E)``, or ``(L, E)`` unbatched
        - key, value: ``(S, N, kdim)`` and ``(S, N, vdim)``, or unbatched
        - Output: that of the query, and the weights: ``(N, L, S)``

    Example::

        >>> attention = MultiheadAttention(16, 4, batch_first=True)
        >>> out, weights = attention(randn(2, 5, 16), randn(2, 7, 16), randn(2, 7, 16))
        >>> out.shape, weights.shape
        (torch.Size([2, 5, 16]), torch.Size([2, 5, 7]))
    """

    __constants__ = ["batch_first"]
    bias_k: Tensor | None
    bias_v: Tensor | None

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None,
                 vdim=None, batch_first=False, device=None, dtype=None):
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                "instead"
            )
        if embed_dim % num_heads:
            raise AssertionError(f"embed_dim must be divisible by num_heads, got {embed_dim} and {num_heads}")
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads

        def parameter(*shape):
            return Parameter(empty(shape, device=device, dtype=dtype))

        if self._qkv_same_embed_dim:
            self.in_proj_weight = parameter(3 * embed_dim, embed_dim)
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
        else:
            self.q_proj_weight = parameter(embed_dim, embed_dim)
            self.k_proj_weight = parameter(embed_dim, self.kdim)
            self.v_proj_weight = parameter(embed_dim, self.vdim)
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", parameter(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        self.bias_k, self.bias_v = (parameter(1, 1, embed_dim) if add_bias_kv else None for _ in range(2))
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self):
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def __setstate__(self, state):
        # Modules pickled by early versions of PyTorch have no separate weights.
        super().__setstate__({"_qkv_same_embed_dim": True, **state})

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,
                average_attn_weights=True, is_causal=False):
        """Returns the result and the weights (None unless ``need_weights``).

        Args:
            key_padding_mask: ``(N, S)``: True for keys to ignore, or floats to add to the scores.
            attn_mask: ``(L, S)`` or ``(N * num_heads, L, S)``: True where a query may *not* attend, or floats to add.
            average_attn_weights: whether to average the weights over the heads.
            is_causal: a hint that ``attn_mask`` is the causal mask, so that it need not be read.
        """
        swap = self.batch_first and query.dim() == 3
        if swap:
            query, key, value = self._sequences_first(query, key, value)
        out, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k,
            self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias,
            training=self.training, key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim, q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight, v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights, is_causal=is_causal,
        )
        return (out.transpose(0, 1) if swap else out), weights

    @staticmethod
    def _sequences_first(query, key, value):
        """The inputs with the sequence dimension first; identical tensors stay identical, which saves a projection."""
        first = query.transpose(0, 1)
        second = first if key is query else key.transpose(0, 1)
        return first, second, second if value is key else value.transpose(0, 1)

    def merge_masks(self, attn_mask, key_padding_mask, query):
        """Both masks combined, and the type: 1 if there is only ``key_padding_mask``, 2 otherwise, None without masks.
        """
        if key_padding_mask is None and attn_mask is None:
            return None, None
        if attn_mask is None:
            return key_padding_mask, 1
        batch, length, _ = query.shape
        if attn_mask.dim() == 3:
            merged = attn_mask.view(batch, -1, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is None:
            return merged, 2
        return merged + key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1), 2
