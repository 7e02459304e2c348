"""Distances as layers."""

from __future__ import annotations

from .. import functional as F
from .module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(Module):
    """The ``p``-norm distance between pairs of vectors; ``eps`` is added to their difference.

    Shape:
        - Inputs: ``(N, D)`` or ``(D)``
        - Output: ``(N)`` or ``()``; with ``keepdim`` the last dimension stays, with size 1
    """

    __constants__ = ["norm", "eps", "keepdim"]

    norm: float
    eps: float
    keepdim: bool

    def __init__(self, p=2.0, eps=1e-6, keepdim=False):
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1, x2):
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosine similarity of vectors along ``dim``; norms are clamped to at least ``eps``.

    Example::

        >>> CosineSimilarity(dim=0)(tensor([1., 0.]), tensor([1., 1.]))
        tensor(0.7071)
    """

    __constants__ = ["dim", "eps"]

    dim: int
    eps: float

    def __init__(self, dim=1, eps=1e-8):
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1, x2):
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
