"""FlexAttention, which is not supported: its names raise when they are used."""

__all__ = ["AuxRequest", "BlockMask", "create_block_mask", "flex_attention"]

_DEFAULT_SPARSE_BLOCK_SIZE = 128
NOT_SUPPORTED = (
    "torch.nn.attention.flex_attention.{name} is not supported: use F.scaled_dot_product_attention with a mask "
    "(in transformers: attn_implementation='sdpa')."
)


class AuxRequest:
    """Auxiliary outputs to return. Creating one raises."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(NOT_SUPPORTED.format(name="AuxRequest"))


class BlockMask:
    """A block mask; exists for ``isinstance`` checks. Creating one raises."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(NOT_SUPPORTED.format(name="BlockMask"))


def create_block_mask(*args, **kwargs):
    """Not supported: it raises."""
    raise NotImplementedError(NOT_SUPPORTED.format(name="create_block_mask"))


def flex_attention(*args, **kwargs):
    """Not supported: it raises."""
    raise NotImplementedError(NOT_SUPPORTED.format(name="flex_attention"))
