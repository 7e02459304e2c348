"""Embedding layers."""

from __future__ import annotations

from ..._modes import no_grad
from ..._tensor import Tensor
from ...functions.creation import empty
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = ["Embedding", "EmbeddingBag"]

PADDING_RANGE = "Padding_idx must be within num_embeddings, got {index} with {rows} embeddings"
WEIGHT_SHAPE = "Shape of weight {got} does not match num_embeddings and embedding_dim {wanted}"
PRETRAINED_RANK = "Embeddings parameter is expected to be 2-dimensional, got shape {shape}"


def _place(index, rows):
    """Normalizes a row index, which may be negative."""
    if index is None:
        return None
    if not -rows <= index < rows:
        raise AssertionError(PADDING_RANGE.format(index=index, rows=rows))
    return index + rows if index < 0 else index


class _Table(Module):
    """Base of both layers: the table and the padding row."""

    num_embeddings: int
    embedding_dim: int
    weight: Tensor

    def _make_table(self, weight, freeze, device, dtype):
        if weight is None:
            table = empty((self.num_embeddings, self.embedding_dim), device=device, dtype=dtype)
            self.weight = Parameter(table, requires_grad=not freeze)
            self.reset_parameters()
            return
        wanted = [self.num_embeddings, self.embedding_dim]
        if list(weight.shape) != wanted:
            raise AssertionError(WEIGHT_SHAPE.format(got=list(weight.shape), wanted=wanted))
        self.weight = Parameter(weight, requires_grad=not freeze)

    def reset_parameters(self):
        """Initializes the table from a standard normal distribution, and the padding row with zeros."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self):
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def _norm_repr(self):
        """The non-default settings for norms and gradients."""
        said = "" if self.max_norm is None else f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            said += f", norm_type={self.norm_type}"
        return said + f", scale_grad_by_freq={self.scale_grad_by_freq}" if self.scale_grad_by_freq else said


class Embedding(_Table):
    """A lookup table of vectors, indexed by integers.

    Args:
        num_embeddings: the number of rows in the table.
        embedding_dim: the size of each row.
        padding_idx: the index of a row that is initially zero and gets no gradient.
        max_norm: scales down, in place, rows that are looked up and have a larger ``norm_type``-norm.
        scale_grad_by_freq: divides the gradient of a row by its frequency in the batch.
        sparse: makes the gradient of the table a sparse tensor.

    Shape:
        - Input: ``(*)``, integers
        - Output: ``(*, embedding_dim)``

    Example::

        >>> Embedding(10, 3)(tensor([[1, 2, 4, 5], [4, 3, 2, 9]])).shape
        torch.Size([2, 4, 3])
    """

    __constants__ = ["num_embeddings", "embedding_dim", "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq",
                     "sparse"]

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0,
                 scale_grad_by_freq=False, sparse=False, _weight=None, _freeze=False, device=None, dtype=None):
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = _place(padding_idx, num_embeddings)
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self._make_table(_weight, _freeze, device, dtype)

    def forward(self, input):
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
                           self.scale_grad_by_freq, self.sparse)

    def extra_repr(self):
        said = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            said += f", padding_idx={self.padding_idx}"
        said += self._norm_repr()
        return said + ", sparse=True" if self.sparse else said

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, padding_idx=None, max_norm=None, norm_type=2.0,
                        scale_grad_by_freq=False, sparse=False):
        """An Embedding over an existing table, frozen unless ``freeze=False``."""
        if embeddings.dim() != 2:
            raise AssertionError(PRETRAINED_RANK.format(shape=list(embeddings.shape)))
        rows, size = embeddings.shape
        return cls(rows, size, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, _weight=embeddings,
                   _freeze=freeze)


class EmbeddingBag(_Table):
    """Sums, means or maxima of bags of embeddings, without storing the individual ones.

    Args:
        mode: ``"sum"``, ``"mean"`` or ``"max"``.
        include_last_offset: whether the last offset is the end of the last bag instead of the start of another.
        padding_idx: the index of a row that gets no gradient and does not count in bags.
        num_embeddings, embedding_dim, max_norm, norm_type, scale_grad_by_freq, sparse: as for ``Embedding``.

    Shape:
        - Input: ``(B, N)``, integers; or ``(N)``, with the starts of the bags in ``offsets``, ``(B)``
        - Output: ``(B, embedding_dim)``
    """

    __constants__ = ["num_embeddings", "embedding_dim", "max_norm", "norm_type", "scale_grad_by_freq", "mode", "sparse",
                     "include_last_offset", "padding_idx"]

    def __init__(self, num_embeddings, embedding_dim, max_norm=None, norm_type=2.0, scale_grad_by_freq=False,
                 mode="mean", sparse=False, _weight=None, include_last_offset=False, padding_idx=None, device=None,
                 dtype=None):
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.padding_idx = _place(padding_idx, num_embeddings)
        self._make_table(_weight, False, device, dtype)
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset

    def forward(self, input, offsets=None, per_sample_weights=None):
        return F.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq,
                               self.mode, self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx)

    def extra_repr(self):
        said = f"{self.num_embeddings}, {self.embedding_dim}{self._norm_repr()}, mode={self.mode!r}"
        return said if self.padding_idx is None else said + f", padding_idx={self.padding_idx}"

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, max_norm=None, norm_type=2.0, scale_grad_by_freq=False,
                        mode="mean", sparse=False, include_last_offset=False, padding_idx=None):
        """An EmbeddingBag over an existing table, frozen unless ``freeze=False``."""
        if embeddings.dim() != 2:
            raise AssertionError(PRETRAINED_RANK.format(shape=list(embeddings.shape)))
        rows, size = embeddings.shape
        bag = cls(rows, size, max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings, include_last_offset,
                  padding_idx)
        bag.weight.requires_grad = not freeze
        return bag
