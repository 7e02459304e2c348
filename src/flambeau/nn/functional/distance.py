"""Distances between vectors."""

from ...functions._args import need_tensor
from ...functions._results import rename_node
from ...functions.distance import cosine_similarity as cosine_similarity
from ...functions.distance import pdist as pdist
from ...functions.linalg.norm import vector_norm
from ...ops.pointwise import by_number

__all__ = ["cosine_similarity", "pairwise_distance", "pdist"]


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The ``p``-norm of ``x1 - x2 + eps`` along the last dimension: the distance of each pair of vectors.

    Shape:
        - x1, x2: ``(N, D)`` or ``(D)``, broadcast
        - Output: ``(N)`` or ``()``; with ``keepdim`` the last dimension stays, with size 1
    """
    need_tensor(x1, "pairwise_distance", "x1")
    need_tensor(x2, "pairwise_distance", "x2", 2)
    return rename_node(vector_norm(by_number(x1 - x2 + eps), p, -1, keepdim), "NormBackward1")
