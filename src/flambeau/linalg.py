"""Linear algebra: norms, decompositions, inverses and solutions, over any leading batch dimensions."""

from .functions.contract import _cross as cross
from .functions.contract import multi_dot, vander, vecdot
from .functions.linalg import decompose as _decompose
from .functions.linalg import solve as _solve
from .functions.linalg.decompose import *
from .functions.linalg.norm import cond, matrix_norm, matrix_rank, norm, vector_norm
from .functions.linalg.solve import *
from .functions.matmul import matmul
from .functions.views import diagonal as _diagonal
from .ops._errors import LinAlgError

__all__ = [
    "LinAlgError", "cond", "cross", "diagonal", "matmul", "matrix_norm", "matrix_rank", "multi_dot", "norm", "vander",
    "vecdot", "vector_norm",
    *_decompose.__all__, *_solve.__all__,
]


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals of the matrices, as a view."""
    return _diagonal(A, offset, dim1, dim2)
