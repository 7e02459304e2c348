"""Linear algebra: against PyTorch, and by its defining equations."""

import math

import numpy as np
import pytest

import flambeau
from _matrices import check_derivatives, check_value, lines
from flambeau import linalg
from flambeau.engines import NUMPY

# ---- against PyTorch

VALUES = lines("""
torch.linalg.det(t)
torch.linalg.det(torch.zeros(0, 0))
torch.linalg.slogdet(t)
torch.slogdet(-s)
torch.logdet(-torch.eye(3))
torch.logdet(torch.zeros(2, 2))
torch.logdet(s)
torch.linalg.inv(t)
torch.inverse(s)
torch.linalg.inv_ex(torch.zeros(2, 2)).info
torch.linalg.inv_ex(torch.stack([s, torch.zeros(3, 3, dtype=torch.float64)])).info
torch.linalg.inv(tall)
torch.linalg.inv(v)
torch.linalg.inv(i[:, :2])
torch.linalg.solve(t, v)
torch.linalg.solve(t, a)
torch.linalg.solve(t, tall.T)
torch.linalg.solve(t, t[0])
torch.linalg.solve(s, a, left=False)
torch.linalg.solve(s, tall)
torch.linalg.solve(s, v.float())
torch.linalg.solve(t, x.transpose(1, 2))
torch.linalg.solve_triangular(s, wide, upper=True)
torch.linalg.solve_triangular(s, tall, upper=False, left=False, unitriangular=True)
torch.linalg.solve_triangular(torch.zeros(2, 2), torch.ones(2, 1), upper=True)
torch.linalg.solve_triangular(s, v, upper=True)
torch.linalg.solve_triangular(tall, tall, upper=True)
torch.triangular_solve(wide, s, upper=False, transpose=True)
torch.linalg.cholesky(s @ s.T)
torch.linalg.cholesky(t @ t.mT, upper=True)
torch.linalg.cholesky_ex(torch.diag(torch.tensor([1., -1., 2.]))).info
torch.linalg.cholesky(a)
torch.cholesky_solve(wide, s)
torch.cholesky_solve(wide, s.T, True)
torch.cholesky_solve(tall, s)
torch.cholesky_inverse(s)
torch.cholesky_inverse(s, upper=True)
torch.linalg.qr(tall)
torch.linalg.qr(wide)
torch.linalg.qr(tall, 'complete')
torch.linalg.qr(tall, 'r')
torch.linalg.qr(tall, mode='full')
torch.qr(tall, some=False)
torch.geqrf(tall)
torch.linalg.householder_product(*torch.geqrf(tall))
torch.orgqr(*torch.geqrf(x.transpose(1, 2)))
torch.ormqr(*torch.geqrf(tall), wide.T)
torch.ormqr(*torch.geqrf(tall), wide, left=False, transpose=True)
torch.ormqr(*torch.geqrf(tall), wide)
torch.linalg.householder_product(wide, v)
torch.linalg.householder_product(tall, a)
torch.linalg.svdvals(x)
torch.linalg.svd(tall).S
torch.linalg.svd(tall).U.abs()
torch.linalg.svd(tall, full_matrices=False).Vh.abs()
torch.svd(wide).V.abs()
torch.svd(wide, compute_uv=False)
torch.svd(wide, some=False).V.shape
torch.linalg.svd(v)
torch.linalg.svd(tall, driver='gesvd')
torch.linalg.eigh(s + s.T).eigenvalues
torch.linalg.eigh(t, UPLO='U').eigenvectors.abs()
torch.linalg.eigvalsh(t)
torch.linalg.eigh(s, UPLO='X')
torch.linalg.eigvals(s).abs().sort().values
torch.linalg.eig(s).eigenvectors.abs()
torch.linalg.eig(i[:, :2])
torch.linalg.lu(t)
torch.linalg.lu(tall)
torch.linalg.lu(wide)
torch.linalg.lu(torch.zeros(2, 2))
torch.linalg.lu_factor(x)
torch.linalg.lu_factor_ex(torch.zeros(3, 2, 2))
torch.linalg.lu_factor(torch.zeros(2, 2))
torch.linalg.lu(s, pivot=False)
torch.lu(s, get_infos=True)
torch.lu_unpack(*torch.lu(tall))
torch.lu_unpack(*torch.lu(tall), unpack_data=False)
torch.lu_unpack(*torch.lu(tall), unpack_pivots=False)
torch.linalg.lu_solve(*torch.linalg.lu_factor(t), wide)
torch.linalg.lu_solve(*torch.linalg.lu_factor(s), tall, left=False, adjoint=True)
torch.lu_solve(wide, *torch.lu(t))
torch.linalg.lu_solve(s, torch.tensor([1, 2, 3]), wide)
torch.linalg.ldl_factor(t + t.mT)
torch.linalg.ldl_factor(wave(6, 6) + wave(6, 6).T)
torch.linalg.ldl_factor(c + c.mH, hermitian=True)
torch.linalg.ldl_solve(*torch.linalg.ldl_factor(wave(6, 6) + wave(6, 6).T), wave(6, 2))
torch.linalg.ldl_factor_ex(torch.zeros(2, 2))
torch.linalg.pinv(x)
torch.linalg.pinv(wide @ tall, rtol=0.5)
torch.linalg.pinv(t + t.mT, hermitian=True, atol=torch.tensor([0.1, 2.0]))
torch.pinverse(tall)
torch.linalg.pinv(v)
torch.linalg.matrix_rank(torch.ones(3, 3))
torch.linalg.matrix_rank(torch.diag(torch.tensor([1., 0.5, 1e-9])))
torch.linalg.matrix_rank(torch.diag(torch.tensor([1., 0.5, 1e-9])), atol=0.6)
torch.linalg.matrix_rank(t + t.mT, rtol=0.3, hermitian=True)
torch.linalg.matrix_rank(v)
torch.linalg.lstsq(tall, wide.T).solution
torch.linalg.lstsq(x.transpose(1, 2), wave(5, 3), driver='gelsd')
torch.linalg.lstsq(wide, s, driver='gels')
torch.linalg.lstsq(tall, v)
torch.linalg.lstsq(tall, tall[0], driver='gelss')
torch.linalg.lstsq(tall, tall, driver='other')
torch.linalg.cond(t)
torch.linalg.cond(s, 1)
torch.linalg.cond(s, 'nuc')
torch.linalg.cond(tall, -2)
torch.linalg.cond(torch.zeros(2, 2), 1)
torch.linalg.cond(tall, 'fro')
torch.linalg.cond(s, 3)
torch.linalg.norm(x)
torch.linalg.norm(a, inf)
torch.linalg.norm(v, inf)
torch.linalg.norm(a, 'fro', dim=(0, 1), keepdim=True)
torch.linalg.norm(x, 2)
torch.linalg.norm(x, 2, dim=(0, 1, 2))
torch.linalg.norm(v, 'nuc')
torch.linalg.vector_norm(x, 3, dim=(0, 2))
torch.linalg.vector_norm(x, 0, dim=1, keepdim=True)
torch.linalg.vector_norm(f, dtype=torch.float64)
torch.linalg.vector_norm(a, dtype=torch.float32)
torch.linalg.vector_norm(i)
torch.linalg.vector_norm(e, inf)
torch.linalg.vector_norm(v, 'fro')
torch.linalg.matrix_norm(x)
torch.linalg.matrix_norm(x, 'nuc', dim=(0, 2), keepdim=True)
torch.linalg.matrix_norm(x, 2)
torch.linalg.matrix_norm(x, -2)
torch.linalg.matrix_norm(x, 1)
torch.linalg.matrix_norm(x, -inf, dim=(2, 0))
torch.linalg.matrix_norm(e, 2)
torch.linalg.matrix_norm(e.T, -1)
torch.linalg.matrix_norm(x, 3)
torch.linalg.matrix_norm(x, dim=(0, 0))
torch.linalg.matrix_norm(v)
torch.linalg.matrix_power(t, 5)
torch.matrix_power(s, -2)
torch.matrix_power(i[:, :2], 3)
torch.matrix_power(s, 0)
torch.matrix_power(a, 2)
torch.matrix_power(s, 0.5)
torch.linalg.matrix_exp(t)
torch.matrix_exp(30 * s)
torch.matrix_exp(torch.zeros(0, 2, 2))
torch.matrix_exp(a)
torch.linalg.tensorinv(wave(2, 3, 6))
torch.linalg.tensorinv(wave(6, 3, 2), ind=1)
torch.linalg.tensorinv(a)
torch.linalg.tensorsolve(wave(2, 3, 6), a)
torch.linalg.tensorsolve(wave(6, 2, 3), wave(6), dims=(1, 2))
torch.linalg.tensorsolve(a, v)
torch.linalg.diagonal(x, offset=1)
torch.linalg.inv(s, out=torch.empty(0, dtype=torch.float64))
torch.linalg.eigh(s + s.T, out=(torch.empty(0, dtype=torch.float64), torch.empty(0, dtype=torch.float64))).eigenvalues
torch.linalg.qr(h)
torch.linalg.solve(c, d)
torch.linalg.lu(c)
torch.linalg.cholesky(c @ c.mH)
torch.linalg.det(c)
torch.linalg.slogdet(c)
torch.linalg.pinv(d)
torch.linalg.svdvals(c)
""")

DERIVATIVES = lines("""
t: torch.linalg.det(t)
s: torch.linalg.slogdet(s).logabsdet
s: torch.logdet(s @ s.T)
t: torch.linalg.inv(t)
t, wide: torch.linalg.solve(t, wide)
s, v: torch.linalg.solve(s, v)
s, x: torch.linalg.solve(s, x, left=False)
s, wide: torch.linalg.solve_triangular(s, wide, upper=True)
t, tall: torch.linalg.solve_triangular(t, tall, upper=False, left=False, unitriangular=True)
t: torch.linalg.cholesky(t @ t.mT + torch.eye(3, dtype=torch.float64))
s: torch.linalg.cholesky(s @ s.T, upper=True)
s, wide: torch.cholesky_solve(wide, s)
s, wide: torch.cholesky_solve(wide, s, upper=True)
s: torch.cholesky_inverse(s)
tall: torch.linalg.qr(tall)
wide: torch.linalg.qr(wide)
s: torch.linalg.qr(s, mode='complete')
tall: (torch.linalg.svd(tall, False).U.abs(), torch.linalg.svd(tall).S, torch.linalg.svd(tall).Vh.abs())
wide: (torch.linalg.svd(wide, False).U.abs(), torch.linalg.svd(wide).S, torch.linalg.svd(wide, False).Vh.abs())
x: torch.linalg.svdvals(x)
s: (torch.linalg.eigh(s + s.T).eigenvalues, torch.linalg.eigh(s + s.T).eigenvectors.abs())
t: torch.linalg.eigvalsh(t)
t: torch.linalg.lu(t)
tall: torch.linalg.lu(tall)
wide: torch.linalg.lu(wide)
s: torch.linalg.lu_factor(s)
s, wide: torch.linalg.lu_solve(*torch.linalg.lu_factor(s), wide)
x: torch.linalg.pinv(x)
t: torch.linalg.matrix_exp(t)
s: torch.linalg.matrix_power(s, 3)
s: torch.linalg.matrix_power(s, -2)
tall, wide: torch.linalg.lstsq(tall, wide.T).solution
x: torch.linalg.matrix_norm(x, 'nuc')
x: torch.linalg.matrix_norm(x, 2)
x: torch.linalg.matrix_norm(x, 1)
x: torch.linalg.vector_norm(x, 3, dim=1)
s: torch.linalg.cond(s)
tall, v: torch.linalg.householder_product(tall, v)
a: torch.linalg.tensorinv((a.T @ a + torch.eye(3, dtype=torch.float64)).reshape(3, 3), ind=1)
c: torch.linalg.inv(c)
c, d: torch.linalg.solve(c, d)
c: torch.linalg.det(c)
c: torch.linalg.slogdet(c).logabsdet
c: torch.linalg.cholesky(c @ c.mH)
d: torch.linalg.pinv(d)
c: torch.linalg.lu(c)
c: torch.linalg.svdvals(c)
c: torch.linalg.eigh(c + c.mH).eigenvectors.abs()
c: torch.linalg.eig(c).eigenvectors.abs()
s: torch.linalg.eigvals(s).abs().sort().values
""")


@pytest.mark.oracle
@pytest.mark.parametrize("expression", VALUES)
def test_value(expression):
    check_value(expression)


@pytest.mark.oracle
@pytest.mark.parametrize("case", DERIVATIVES)
def test_derivatives(case):
    check_derivatives(case)


# ---- by their equations


def matrices(*shape, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    if dtype.startswith("complex"):
        values = values + 1j * rng.standard_normal(shape)
    return flambeau.from_numpy(values.astype(dtype))


def close(got, want, **tolerance):
    np.testing.assert_allclose(got.numpy(), want.numpy(), **({"atol": 1e-9} | tolerance))


SIZES = [1, 3, 64, 65, 150]  # around the block of the blocked algorithms


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_lu_multiplies_back(n, dtype):
    A = matrices(2, n, n + 3, dtype=dtype)
    P, L, U = linalg.lu(A)
    close(P @ L @ U, A)
    assert np.abs(L.numpy()).max() <= math.sqrt(2)  # what partial pivoting promises (|re| + |im| is what it compares)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("left", [True, False])
def test_triangular_solution_fits(n, upper, left):
    A = matrices(n, n) / n + 2 * flambeau.eye(n).double()
    B = matrices(2, n, 3) if left else matrices(2, 3, n)
    X = linalg.solve_triangular(A, B, upper=upper, left=left)
    T = A.triu() if upper else A.tril()
    close(T @ X if left else X @ T, B)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_decompositions_keep_the_precision(dtype):
    A = matrices(4, 3, dtype=dtype)
    real = dtype.replace("complex64", "float32").replace("complex128", "float64")
    square = A.mH @ A
    for result, kinds in [
        (linalg.svd(A), (dtype, real, dtype)), (linalg.qr(A), (dtype, dtype)), (linalg.eigh(square), (real, dtype)),
        (linalg.lu(A), (dtype, dtype, dtype)), (linalg.cholesky(square), (dtype,)), (linalg.pinv(A), (dtype,)),
        (linalg.inv(square), (dtype,)), (linalg.matrix_exp(square / 9), (dtype,)), (linalg.det(square), (dtype,)),
        (linalg.slogdet(square), (dtype, real)), (linalg.solve_triangular(square, square, upper=True), (dtype,)),
    ]:
        result = result if isinstance(result, tuple) else (result,)
        assert tuple(r.numpy().dtype.name for r in result) == kinds


@pytest.mark.parametrize("n", [1, 2, 5, 20])
@pytest.mark.parametrize("dtype, hermitian", [("float64", False), ("complex128", False), ("complex128", True)])
def test_ldl_solves(n, dtype, hermitian):
    A = matrices(2, n, n, dtype=dtype)
    A = A + (A.mH if hermitian else A.mT)
    B = matrices(2, n, 2, dtype=dtype, seed=1)
    X = linalg.ldl_solve(*linalg.ldl_factor(A, hermitian=hermitian), B, hermitian=hermitian)
    close(A @ X, B)


def test_gradient_of_a_singular_determinant():
    A = flambeau.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    linalg.det(A).backward()
    np.testing.assert_allclose(A.grad.numpy(), [[4, -2], [-2, 1]], atol=1e-5)


def test_svdvals_of_equal_singular_values_have_a_gradient():
    A = flambeau.eye(3).requires_grad_()
    linalg.svdvals(A).sum().backward()
    np.testing.assert_allclose(A.grad.numpy(), np.eye(3), atol=1e-6)


FIELDS = [
    (linalg.eigh, "linalg_eigh", ("eigenvalues", "eigenvectors")), (linalg.svd, "linalg_svd", ("U", "S", "Vh")),
    (linalg.slogdet, "linalg_slogdet", ("sign", "logabsdet")), (linalg.qr, "linalg_qr", ("Q", "R")),
    (linalg.lu, "linalg_lu", ("P", "L", "U")), (linalg.inv_ex, "linalg_inv_ex", ("inverse", "info")),
    (linalg.cholesky_ex, "linalg_cholesky_ex", ("L", "info")), (flambeau.svd, "svd", ("U", "S", "V")),
    (linalg.lu_factor, "linalg_lu_factor", ("LU", "pivots")), (flambeau.geqrf, "geqrf", ("a", "tau")),
]


@pytest.mark.parametrize("function, name, fields", FIELDS, ids=[name for _, name, _ in FIELDS])
def test_results_have_names(function, name, fields):
    result = function(flambeau.eye(2))
    assert result._fields == fields
    assert repr(result).startswith(f"torch.return_types.{name}(\n{fields[0]}=tensor(")


MESSAGES = [
    (lambda: linalg.inv(flambeau.ones(2, 3)), RuntimeError,
     "linalg.inv: A must be batches of square matrices, but they are 2 by 3 matrices"),
    (lambda: linalg.inv(flambeau.ones(3)), RuntimeError, "The input tensor A must have at least 2 dimensions."),
    (lambda: linalg.det(flambeau.ones(2, 2).long()), RuntimeError,
     "linalg.det: Expected a floating point or complex tensor as input. Got Long"),
    (lambda: linalg.qr(flambeau.ones(2, 2).half()), NotImplementedError, "Low precision dtypes not supported."),
    (lambda: linalg.inv(flambeau.zeros(2, 2)), linalg.LinAlgError,
     "linalg.inv: The diagonal element 1 is zero, the inversion could not be completed because the input matrix is"),
    (lambda: linalg.inv(flambeau.stack([flambeau.eye(2), flambeau.ones(2, 2)])), linalg.LinAlgError,
     "linalg.inv: (Batch element 1): The diagonal element 2 is zero"),
    (lambda: linalg.solve(flambeau.zeros(2, 2), flambeau.ones(2)), linalg.LinAlgError, "the input matrix is singular"),
    (lambda: linalg.cholesky(-flambeau.eye(2)), linalg.LinAlgError, "the leading minor of order 1 is not positive"),
    (lambda: linalg.lu_factor(flambeau.zeros(2, 2)), RuntimeError, "U[1,1] is zero"),
    (lambda: linalg.solve(flambeau.eye(2), flambeau.ones(3, 1)), RuntimeError,
     "linalg.solve: Incompatible shapes of A and B for the equation AX = B (2x2 and 3x1)"),
    (lambda: linalg.qr(flambeau.ones(3, 2, requires_grad=True), "complete").R.sum().backward(), RuntimeError,
     "not differentiable when mode='complete' and nrows > ncols"),
    (lambda: linalg.svd(flambeau.full((2, 2), math.nan)), linalg.LinAlgError, "linalg"),
]


@pytest.mark.parametrize("call, kind, message", MESSAGES, ids=[m for _, _, m in MESSAGES])
def test_messages(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert message in str(caught.value)


def test_failed_matrices_do_not_spoil_the_others():
    A = flambeau.stack([flambeau.eye(2), flambeau.zeros(2, 2), 2 * flambeau.eye(2)])
    inverse, info = linalg.inv_ex(A)
    assert info.tolist() == [0, 1, 0] and info.dtype is flambeau.int32
    close(inverse[2], flambeau.eye(2) / 2)
    L, info = linalg.cholesky_ex(A)
    assert info.tolist() == [0, 1, 0]
    close(L[2], math.sqrt(2) * flambeau.eye(2), rtol=1e-6)


def test_low_rank_decompositions_are_near():
    A = matrices(20, 3) @ matrices(3, 15)
    U, S, V = flambeau.svd_lowrank(A, q=4)
    close(U * S @ V.mH, A)
    U, S, V = flambeau.pca_lowrank(A, q=4)
    close(U * S @ V.mH, A - A.mean(0))


# ---- the jax twins

_S = np.sin(np.arange(18) * 1.7).reshape(2, 3, 3) + 2 * np.eye(3)
_W = np.sin(np.arange(24) * 2.3).reshape(2, 3, 4)
_LU, _PIVOTS, _ = NUMPY.lu_factor(_S)
KERNELS = [
    ("inv_ex", _S), ("solve_ex", _S, _W, True), ("solve_ex", _S, _W.swapaxes(1, 2), False),
    ("cholesky_ex", _S @ _S.swapaxes(1, 2), False), ("cholesky_ex", _S @ _S.swapaxes(1, 2), True),
    ("solve_triangular", _S, _W, True, True, False), ("solve_triangular", _S, _S, False, False, True),
    ("lu_factor", _W), ("lu_factor", np.zeros((2, 3, 3))), ("permutation_matrix", _PIVOTS, 3, np.float64),
    ("matrix_exp", _S), ("householder", np.cos(np.arange(24) ** 2).reshape(2, 4, 3)), ("linear", _W, _W[0], np.ones(3)),
    ("add_product", np.matmul, np.ones(4), _S, _W, 2, 0.5), ("add_product", np.matmul, np.ones(4), _S, _W, 0, 1),
]


@pytest.mark.jax
@pytest.mark.parametrize("name, arguments", [(k[0], k[1:]) for k in KERNELS], ids=[k[0] for k in KERNELS])
def test_jax_kernels_agree(name, arguments):
    import jax
    from jax import numpy as jnp

    from flambeau.engines import xla

    arguments = [jnp.matmul if a is np.matmul else a for a in arguments]
    with jax.enable_x64(True):
        moved = [jnp.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]
        got = getattr(xla.engine, name)(*moved)
    own = [np.matmul if a is jnp.matmul else a for a in arguments]
    want = getattr(NUMPY, name)(*own)
    for g, w in zip(got if isinstance(got, tuple) else (got,), want if isinstance(want, tuple) else (want,)):
        np.testing.assert_allclose(g, w, atol=1e-10)
        assert g.dtype == w.dtype
