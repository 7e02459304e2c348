"""Products, decompositions, Fourier transforms."""

import numpy as np

from engines.xla_row import C, R, V, made, row, rows


def definite(a):
    return a @ a.conj().swapaxes(-1, -2) + 3 * np.eye(a.shape[-1])


def regular(a):
    return a + 3 * np.eye(*a.shape[-2:])


def triangle(a):
    return np.tril(regular(a))


SQUARE, SQUARES, ZSQUARE = made(regular, R(3, 3)), made(regular, R(2, 3, 3)), made(regular, C(3, 3))
DEFINITE, ZDEFINITE = made(definite, R(2, 3, 3)), made(definite, C(3, 3))
LOWER, UPPER = made(triangle, R(3, 3)), made(lambda a: triangle(a).T, R(3, 3))
SCALED = {"beta": 0.5, "alpha": 2.0}
PLAIN = {"beta": 1, "alpha": 1}
TOLERANCES = V(np.zeros(())), V(np.full((), 1e-15))


def unsigned(*parts):
    """Singular and eigenvectors are determined up to a factor of length one."""
    return tuple((p * p.conj()).real if p.dtype.is_complex else p * p for p in parts)


LINALG = [
    *rows("mm matmul_batched matmul_folded", R(2, 3), R(3, 4)),
    *rows("mm matmul_batched matmul_folded", C(2, 3), C(3, 4)),
    *rows("bmm matmul_batched", R(2, 3, 4), R(2, 4, 3)),
    row("matmul_batched", R(2, 1, 3, 4), R(3, 4, 3)),
    row("matmul_folded", R(2, 3, 4), R(4, 5)),
    row("mm", V([[1, 2], [3, 4]]), V([[1, 2], [3, 4]])),
    row("mv", R(2, 3), R(3)),
    row("mv", R(2, 3, 4), R(4)),
    row("vecmat", R(3), R(3, 4)),
    *rows("dot vdot", R(3), R(3)),
    *rows("dot vdot", C(3), C(3)),
    *rows("addmm", R(4), R(2, 3), R(3, 4), **SCALED),
    *rows("addmm", R(4), R(2, 3), R(3, 4), **PLAIN),
    row("addmm", R(2, 4), R(2, 3), R(3, 4), beta=0, alpha=1),
    row("addmm", V([1, 2]), V([[1, 2]]), V([[1, 2], [3, 4]]), **PLAIN),
    row("baddbmm", R(2, 3, 5), R(2, 3, 4), R(2, 4, 5), **SCALED),
    row("addbmm", R(3, 5), R(2, 3, 4), R(2, 4, 5), **SCALED),
    row("addmv", R(2), R(2, 3), R(3), **SCALED),
    row("addr", R(2, 3), R(2), R(3), **SCALED),
    *[row(name, R(*batch, 3), R(4, 3), bias)
      for name in ("linear", "input_product") for batch in ((2,), (2, 5)) for bias in (R(4), None)],
    row("linalg_cross", R(2, 3), R(1, 3), axis=1),
    # solving
    *rows("linalg_inv_ex linalg_det linalg_slogdet cofactor", SQUARES),
    *rows("linalg_inv_ex linalg_det linalg_slogdet cofactor", ZSQUARE),
    row("linalg_solve_ex", SQUARES, R(2, 3, 4), left=True),
    row("linalg_solve_ex", SQUARE, R(2, 4, 3), left=False),
    row("linalg_solve_ex", ZSQUARE, C(3, 2), left=True),
    row("linalg_pinv", R(4, 3), *TOLERANCES, hermitian=False),
    row("linalg_pinv", made(definite, R(3, 3)), *TOLERANCES, hermitian=True),
    row("linalg_lstsq", R(4, 3), R(4, 2), V(np.full((1,), 1e-15)), residuals=True),
    row("linalg_lstsq", R(3, 3), R(3, 2), V(np.full((1,), 1e-15)), residuals=False),
    row("linalg_solve_triangular", LOWER, R(3, 2), upper=False, left=True, unitriangular=False),
    row("linalg_solve_triangular", UPPER, R(2, 3), upper=True, left=False, unitriangular=True),
    row("linalg_solve_triangular", made(triangle, C(3, 3)), C(3, 2), upper=False, left=True, unitriangular=False),
    *[row("linalg_cholesky_ex", a, upper=u) for a in (DEFINITE, ZDEFINITE) for u in (False, True)],
    row("cholesky_solve", R(3, 2), LOWER, upper=False),
    row("cholesky_solve", R(3, 2), UPPER, upper=True),
    row("cholesky_inverse", LOWER, upper=False),
    row("cholesky_inverse", UPPER, upper=True),
    *[row("linalg_lu_factor_ex", a) for a in (R(2, 3, 3), R(3, 4), R(4, 3), C(3, 3))],
    row("permutation_matrix", V(np.array([[3, 2, 3]], np.int32)), size=4, dtype=np.dtype(np.float64)),
    *[row("linalg_ldl_factor_ex", a, hermitian=h).without_gradient() for a in (DEFINITE, ZDEFINITE) for h in (False, True)],
    row("linalg_ldl_solve", LOWER, V(np.array([1, 2, 3], np.int32)), R(2, 3, 1), hermitian=False).without_gradient(),
    # spectral
    *[row("linalg_qr", a, mode="reduced").through(lambda q, r: (*unsigned(q, r), q @ r))
      for a in (R(4, 3), R(2, 3, 3), R(3, 4), C(4, 3))],
    row("linalg_qr", R(3, 3), mode="complete").through(unsigned),
    *[row("linalg_svd", a, full_matrices=False).through(lambda u, s, vh: (*unsigned(u, vh), s))
      for a in (R(4, 3), R(2, 3, 4), C(3, 3))],
    row("linalg_svd", R(3, 3), full_matrices=True).through(lambda u, s, vh: (*unsigned(u, vh), s)),
    *rows("linalg_svdvals", R(4, 3)),
    *rows("linalg_svdvals", C(3, 4)),
    *[row("linalg_eigh", a, uplo="L").through(lambda w, v: (w, *unsigned(v))) for a in (DEFINITE, ZDEFINITE)],
    row("linalg_eigvalsh", DEFINITE, uplo="U"),
    *[row("linalg_eig", a).through(lambda w, v: (w.abs(), *unsigned(v))) for a in (SQUARE, ZSQUARE)],
    row("linalg_eigvals", SQUARE),
    row("linalg_matrix_exp", R(2, 3, 3)),
    row("linalg_matrix_exp", C(3, 3)),
    row("geqrf", R(4, 3)).without_gradient(),
    # Fourier transforms
    *[row("fft_c2c", C(3, 4), axes=(0, 1), inverse=i, norm=n)
      for i in (False, True) for n in ("backward", "forward", "ortho")],
    row("fft_c2c", R(3, 4), axes=(1,), inverse=False, norm="backward"),
    row("fft_r2c", R(3, 4), axis=1, norm="backward"),
    row("fft_r2c", R(5, 2), axis=0, norm="ortho"),
    row("fft_c2r", C(3, 3), n=4, axis=1, norm="backward"),
    row("fft_c2r", C(3, 3), n=5, axis=0, norm="forward"),
    row("middle_scaled", C(3, 3), axis=1, n=4, factor=2.0),
]
