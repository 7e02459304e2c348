"""Transformer encoders and decoders."""

import copy
import math
import warnings

from ..._modes import modes
from ...functions.creation import full
from .. import functional as F
from .. import init
from ..functional.attention import float_mask
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .multihead_attention import MultiheadAttention
from .normalization import LayerNorm

__all__ = ["Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
           "TransformerEncoderLayer"]

ACTIVATION = "activation should be relu/gelu, not {name}. Give other activations as a function or a Module."
NOT_NESTED = "enable_nested_tensor is True, but self.use_nested_tensor is False because {why}"
BATCHES = "the batch number of src and tgt must be equal, got src of shape {src} and tgt of shape {tgt}"
FEATURES = (
    "the feature number of src and tgt must be equal to d_model, got src of shape {src} and tgt of shape {tgt} for "
    "d_model={d_model}"
)


def _activation(activation):
    """The activation function for a name."""
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(ACTIVATION.format(name=activation))
    return getattr(F, activation)


def _is_causal(mask, length):
    """Whether a mask is known to be causal."""
    if mask is None or mask.shape != (length, length) or mask.is_meta or modes.tracer.active:
        return False  # it is a hint: without values the mask itself is used
    return bool((mask == Transformer.generate_square_subsequent_mask(length, mask.device, mask.dtype)).all())


def _length(x, layer):
    """The sequence length of a batch or a single sequence."""
    batch_first = getattr(getattr(layer, "self_attn", None), "batch_first", False)
    return x.shape[1 if x.dim() == 3 and batch_first else 0]


def _clones(module, count):
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


class _Layer(Module):
    """Base of encoder and decoder layers: residual attention blocks, then a feed-forward block."""

    __constants__ = ["norm_first"]

    def _add_feed_forward(self, d_model, dim_feedforward, dropout, layer_norm_eps, norm_first, bias, norms, factory):
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **factory)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **factory)
        self.norm_first = norm_first
        for nr in range(1, norms + 1):
            self.add_module(f"norm{nr}", LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory))
        for nr in range(1, norms + 1):
            self.add_module(f"dropout{nr}", Dropout(dropout))

    def _residual(self, x, norm, block, *args):
        """Adds a block's output to x, with the norm before the block or after the sum."""
        if self.norm_first:
            return x + block(norm(x), *args)
        return norm(x + block(x, *args))

    def _feed_forward(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def __setstate__(self, state):
        super().__setstate__(state)
        if not hasattr(self, "activation"):  # modules pickled by early versions of PyTorch have none
            self.activation = F.relu


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network, each with a residual connection and a norm.

    Args:
        d_model: the number of input features.
        nhead: the number of attention heads.
        dim_feedforward: the number of features inside the feed-forward network.
        dropout: the probability of dropout, in four places.
        activation: of the feed-forward network: ``"relu"``, ``"gelu"`` or a function.
        layer_norm_eps: the ``eps`` of the norms.
        batch_first: whether the input is ``(N, S, E)`` instead of ``(S, N, E)``.
        norm_first: whether to normalize the input of each block instead of the sum.
        bias: whether linear layers and norms have a bias.

    Shape:
        - src: ``(S, N, d_model)`` or ``(S, d_model)``
        - Output: same as src

    Example::

        >>> layer = TransformerEncoderLayer(16, 4, batch_first=True)
        >>> layer(randn(2, 5, 16)).shape
        torch.Size([2, 5, 16])
    """

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5,
                 batch_first=False, norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **factory
        )
        self._add_feed_forward(d_model, dim_feedforward, dropout, layer_norm_eps, norm_first, bias, 2, factory)
        activation = _activation(activation)
        self.activation_relu_or_gelu = 1 if activation is F.relu else 2 if activation is F.gelu else 0
        self.activation = activation

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        src_key_padding_mask = float_mask(src_key_padding_mask, "src_key_padding_mask", src.dtype, src_mask, "src_mask")
        src_mask = float_mask(src_mask, "src_mask", src.dtype)
        x = self._residual(src, self.norm1, self._sa_block, src_mask, src_key_padding_mask, is_causal)
        return self._residual(x, self.norm2, self._ff_block)

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        x, _ = self.self_attn(x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False,
                              is_causal=is_causal)
        return self.dropout1(x)

    def _ff_block(self, x):
        return self.dropout2(self._feed_forward(x))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the memory and a feed-forward network, each with a residual connection and a norm.

    Arguments are those of ``TransformerEncoderLayer``.

    Shape:
        - tgt: ``(T, N, d_model)`` or ``(T, d_model)``
        - memory: ``(S, N, d_model)`` or ``(S, d_model)``
        - Output: same as tgt

    Example::

        >>> layer = TransformerDecoderLayer(16, 4, batch_first=True)
        >>> layer(randn(2, 5, 16), randn(2, 7, 16)).shape
        torch.Size([2, 5, 16])
    """

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5,
                 batch_first=False, norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        for name in ("self_attn", "multihead_attn"):
            self.add_module(name, MultiheadAttention(
                d_model, nhead, dropout=dropout, batch_first=batch_first, bias=bias, **factory
            ))
        self._add_feed_forward(d_model, dim_feedforward, dropout, layer_norm_eps, norm_first, bias, 3, factory)
        self.activation = _activation(activation)

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None,
                memory_key_padding_mask=None, tgt_is_causal=False, memory_is_causal=False):
        x = self._residual(tgt, self.norm1, self._sa_block, tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        x = self._residual(
            x, self.norm2, self._mha_block, memory, memory_mask, memory_key_padding_mask, memory_is_causal
        )
        return self._residual(x, self.norm3, self._ff_block)

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        x, _ = self.self_attn(x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal,
                              need_weights=False)
        return self.dropout1(x)

    def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
        x, _ = self.multihead_attn(x, mem, mem, attn_mask=attn_mask, key_padding_mask=key_padding_mask,
                                   is_causal=is_causal, need_weights=False)
        return self.dropout2(x)

    def _ff_block(self, x):
        return self.dropout3(self._feed_forward(x))


class TransformerEncoder(Module):
    """A stack of copies of an encoder layer.

    Args:
        encoder_layer: the layer to copy; its own parameters are not used.
        num_layers: the number of copies.
        norm: applied at the end.
        enable_nested_tensor: no effect, except for PyTorch's warning: there are no nested tensors.
        mask_check: no effect.

    Example::

        >>> layer = TransformerEncoderLayer(16, 4, batch_first=True)
        >>> TransformerEncoder(layer, 3)(randn(2, 5, 16)).shape
        torch.Size([2, 5, 16])
    """

    __constants__ = ["norm"]

    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__()
        self.layers = _clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        why = _why_not_nested(encoder_layer)
        self.use_nested_tensor = enable_nested_tensor and not why
        self.mask_check = mask_check
        if enable_nested_tensor and why:
            warnings.warn(NOT_NESTED.format(why=why), stacklevel=2)

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        src_key_padding_mask = float_mask(src_key_padding_mask, "src_key_padding_mask", src.dtype, mask, "mask")
        mask = float_mask(mask, "mask", src.dtype)
        if is_causal is None:
            is_causal = _is_causal(mask, _length(src, self.layers[0]))
        for layer in self.layers:
            src = layer(src, src_mask=mask, is_causal=is_causal, src_key_padding_mask=src_key_padding_mask)
        return src if self.norm is None else self.norm(src)


def _why_not_nested(layer):
    """The reason why PyTorch would not use nested tensors for such encoder layers; empty if it would."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention = layer.self_attn
    for applies, why in (
        (layer.norm_first, "encoder_layer.norm_first was True"),
        (not attention.batch_first,
         "encoder_layer.self_attn.batch_first was not True (use batch_first for better inference performance)"),
        (not attention._qkv_same_embed_dim, "encoder_layer.self_attn._qkv_same_embed_dim was not True"),
        (attention.in_proj_bias is None, "encoder_layer.self_attn was passed bias=False"),
        (not layer.activation_relu_or_gelu, "encoder_layer.activation_relu_or_gelu was not True"),
        (layer.norm1.eps != layer.norm2.eps, "encoder_layer.norm1.eps was not equal to encoder_layer.norm2.eps"),
        (attention.num_heads % 2 == 1, "encoder_layer.self_attn.num_heads is odd"),
    ):
        if applies:
            return why
    return ""


class TransformerDecoder(Module):
    """A stack of copies of a decoder layer.

    Args:
        decoder_layer: the layer to copy; its own parameters are not used.
        num_layers: the number of copies.
        norm: applied at the end.

    Example::

        >>> layer = TransformerDecoderLayer(16, 4, batch_first=True)
        >>> TransformerDecoder(layer, 3)(randn(2, 5, 16), randn(2, 7, 16)).shape
        torch.Size([2, 5, 16])
    """

    __constants__ = ["norm"]

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = _clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None,
                memory_key_padding_mask=None, tgt_is_causal=None, memory_is_causal=False):
        if tgt_is_causal is None:
            tgt_is_causal = _is_causal(tgt_mask, _length(tgt, self.layers[0]))
        for layer in self.layers:
            tgt = layer(
                tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
                memory_is_causal=memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder, and a decoder that attends to the encoder's output.

    Args:
        d_model: the number of features.
        nhead: the number of attention heads.
        num_encoder_layers, num_decoder_layers: the numbers of layers.
        custom_encoder, custom_decoder: replace the standard ones.
        dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias: of each layer, see
            ``TransformerEncoderLayer``.

    Shape:
        - src: ``(S, N, d_model)``, ``(N, S, d_model)`` if ``batch_first``, or ``(S, d_model)``
        - tgt: ``(T, N, d_model)``, ``(N, T, d_model)`` if ``batch_first``, or ``(T, d_model)``
        - Output: same as tgt

    Example::

        >>> model = Transformer(16, 4, 2, 2, batch_first=True)
        >>> model(randn(2, 7, 16), randn(2, 5, 16)).shape
        torch.Size([2, 5, 16])
    """

    def __init__(self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048,
                 dropout=0.1, activation=F.relu, custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5,
                 batch_first=False, norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        layer = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)

        def norm():
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory)

        if custom_encoder is None:
            custom_encoder = TransformerEncoder(TransformerEncoderLayer(*layer, **factory), num_encoder_layers, norm())
        self.encoder = custom_encoder
        if custom_decoder is None:
            custom_decoder = TransformerDecoder(TransformerDecoderLayer(*layer, **factory), num_decoder_layers, norm())
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None,
                tgt_key_padding_mask=None, memory_key_padding_mask=None, src_is_causal=None, tgt_is_causal=None,
                memory_is_causal=False):
        self._check(src, tgt)
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    def _check(self, src, tgt):
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError(BATCHES.format(src=list(src.shape), tgt=list(tgt.shape)))
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError(FEATURES.format(src=list(src.shape), tgt=list(tgt.shape), d_model=self.d_model))

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """A causal mask: zeros, and minus infinity above the diagonal."""
        return full((sz, sz), -math.inf, device=device, dtype=dtype).triu(1)

    def _reset_parameters(self):
        """Reinitializes all matrices."""
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)
