"""Linear algebra: norms, decompositions, inverses and solutions, over any leading batch dimensions."""

from .functions.contract import _cross as cross
from .functions.contract import multi_dot, vander, vecdot
from .functions.linalg.decompose import (
    cholesky,
    cholesky_ex,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    householder_product,
    ldl_factor,
    ldl_factor_ex,
    ldl_solve,
    lu,
    lu_factor,
    lu_factor_ex,
    qr,
    svd,
    svdvals,
)
from .functions.linalg.norm import cond, matrix_norm, matrix_rank, norm, vector_norm
from .functions.linalg.solve import (
    det,
    inv,
    inv_ex,
    lstsq,
    lu_solve,
    matrix_exp,
    matrix_power,
    pinv,
    slogdet,
    solve,
    solve_ex,
    solve_triangular,
    tensorinv,
    tensorsolve,
)
from .functions.matmul import matmul
from .functions.views import diagonal as _diagonal
from .ops._errors import LinAlgError

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
    "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex", "ldl_solve", "lstsq", "lu", "lu_factor",
    "lu_factor_ex", "lu_solve", "matmul",
    "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve",
    "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vander", "vecdot", "vector_norm",
]


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals of the matrices, as a view."""
    return _diagonal(A, offset, dim1, dim2)
