"""float64 and complex128 are never narrowed internally: forward and gradients to twelve digits.

Finite differences cannot see this: their own error is larger than the rounding of a float32.
"""

import warnings

import numpy as np
import pytest

import flambeau
from _layers import LAYERS, wave
from _oracle import to_array, to_flambeau
from _special_values import BINARY_CALLS, REDUCTION_CALLS, UNARY_CALLS

pytestmark = pytest.mark.oracle

RTOL = 2e-12

# PyTorch's own precision here is that of float32.
FLOAT32_THERE = {"t.digamma(x)", "t.polygamma(1, x)", "t.nn.functional.hardsigmoid(x)"}

# These take vectors; of a matrix and its like the gradient is a difference of equals.
VECTORS = {"t.nn.functional.cosine_similarity(x[:, None], y[:, None], 1)"}

# Calls with x and y (3 by 4 and positive, below 1), z (their like, of both signs), A (4 by 4), i (indices), w (weights).
CALLS = """
    F.nll_loss(z, i); F.nll_loss(z, i, w); F.nll_loss(z, i, reduction="sum"); F.nll_loss(z, i, w, reduction="none")
    F.nll_loss(z, i, ignore_index=1); F.cross_entropy(z, i); F.cross_entropy(z, i, w); F.cross_entropy(z, x)
    F.cross_entropy(z, i, w, label_smoothing=0.1, ignore_index=1); F.cross_entropy(z.reshape(1, 4, 3), i.reshape(1, 3))
    F.embedding(i, z.T); F.embedding(i, z.T, padding_idx=1); F.embedding(i, z.T, scale_grad_by_freq=True)
    F.embedding_bag(i.reshape(1, 3), z.T); F.embedding_bag(i.reshape(1, 3), z.T, mode="max")
    F.embedding_bag(i.reshape(1, 3), z.T, mode="sum", per_sample_weights=x[:1, :3])
    F.binary_cross_entropy(x, y); F.binary_cross_entropy(x, y, x.detach()); F.binary_cross_entropy_with_logits(z, y)
    F.binary_cross_entropy_with_logits(z, y, pos_weight=x[0].detach()); F.kl_div(z, y, reduction="batchmean")
    F.mse_loss(z, y); F.l1_loss(z, y); F.smooth_l1_loss(z, y, beta=0.3); F.huber_loss(z, y, delta=0.3)
    F.normalize(z, dim=1); F.cosine_similarity(z, y); F.layer_norm(z, (4,), y[0], x[0])
    F.rms_norm(z, (4,), y[0]); F.group_norm(z, 2, y[0], x[0]); F.batch_norm(z, None, None, y[0], x[0], True)
    F.batch_norm(z, x[0].detach(), y[0].detach(), y[0], x[0]); F.instance_norm(z.reshape(1, 3, 4))
    F.local_response_norm(z.reshape(1, 3, 4), 2); F.conv1d(z.reshape(1, 3, 4), A[:2, :3].reshape(2, 3, 1))
    F.conv_transpose1d(z.reshape(1, 3, 4), A[:3, :2].reshape(3, 2, 1)); F.linear(z, A, x[0]); F.bilinear(z, y, A[:, None] + A)
    F.avg_pool1d(z.reshape(1, 3, 4), 3, 1); F.max_pool1d(z.reshape(1, 3, 4), 2); F.lp_pool1d(z.reshape(1, 3, 4), 3, 2)
    F.adaptive_avg_pool1d(z.reshape(1, 3, 4), 3); F.gumbel_softmax(z); F.rrelu(z, training=True); F.dropout(z, 0.3)
    F.alpha_dropout(z, 0.3, True); F.feature_alpha_dropout(z, 0.3, True); F.glu(z); F.prelu(z, y[0]); F.one_hot(i) * z[:, :3]
    z @ A; z.matmul(A); t.addmm(z, z, A, beta=0.3, alpha=0.7); t.einsum("ij,kj->ik", z, y); t.outer(z[0], y[1]); t.dot(z[0], y[0])
    t.baddbmm(z[None], z[None], A[None], beta=0.3); t.bmm(z[None], A[None]); t.kron(z, y); t.tensordot(z, y, 2); t.cdist(z, y)
    t.linalg.inv(A); t.linalg.det(A); t.linalg.slogdet(A)[1]; t.linalg.solve(A, z.T); t.linalg.svdvals(A); t.linalg.qr(A)[1].abs()
    t.linalg.cholesky(A @ A.T + t.eye(4, dtype=A.dtype)); t.linalg.eigvalsh(A + A.T); t.linalg.matrix_norm(A); t.linalg.pinv(A)
    t.linalg.matrix_norm(A, 2); t.linalg.matrix_norm(A, "nuc"); t.linalg.matrix_exp(A); t.linalg.matrix_power(A, 3); t.logdet(A @ A.T)
    t.trace(A); t.linalg.cond(A); t.linalg.lstsq(A, z.T)[0]; t.triangular_solve(z.T, A)[0]; t.cross(z[:, :3], y[:, :3], dim=1)
    t.fft.fft(z).abs(); t.fft.rfft(z).real; t.fft.ifft2(z).imag; t.stft(z.reshape(-1), 4, return_complex=True).abs()
    z.gather(1, i[:, None]); z.scatter_add(1, i[:, None], y[:, :1]); z.index_add(0, i[:3] % 3, y); z.index_select(1, i); z.take(i)
    z.scatter_reduce(1, i[:, None], y[:, :1], "mean"); z.scatter_reduce(1, i[:, None], y[:, :1], "prod"); z.index_reduce(0, i % 3, y, "mean")
    z.masked_fill(z > 0, 0.3); t.lerp(z, y, 0.3); t.lerp(z, y, x); t.addcmul(z, x, y, value=0.3); t.addcdiv(z, x, y, value=0.3)
    z.clamp(-0.3, 0.3); z.renorm(2, 0, 0.3); z.quantile(0.3); z.nanquantile(0.3, 1)
    z.prod(); z.cumprod(1); z.logcumsumexp(1); z.var(); z.std(1); z.logsumexp(1); t.var_mean(z, 1); z.norm(3); z.pow(0.3); 0.3 ** z
    x.pow(y); t.pow(0.3, z); t.hypot(z, y); t.atan2(z, y); t.xlogy(x, y); t.logaddexp(z, y); t.igamma(x.detach(), y); t.dist(z, y, 3)
    t.cov(z); t.corrcoef(z); t.trapezoid(z, dx=0.3); t.gradient(z, spacing=0.3)[0]; t.diff(z); t.histogram(z.detach()).hist
    t.nn.functional.pad(z, (1, 1), value=0.3); t.full_like(z, 0.3) * z; t.where(z > 0, z, 0.3); t.maximum(z, y); z.median(); z + 0.3
    t.linspace(0, 0.3, 4, dtype=z.dtype) * z; t.arange(0, 0.4, 0.1, dtype=z.dtype) * z; t.logspace(0, 0.3, 4, dtype=z.dtype) * z
""".replace("\n", ";").split(";")
CALLS = [c.strip() for c in CALLS if c.strip()]
COMPLEX_CALLS = """
    z * y; z / y; z @ A; z.prod(); z.cumprod(1); z.cumsum(1); z.logcumsumexp(1); z.mean(); z.var(1).abs(); z.std().abs(); z.norm()
    z.norm(3); z.abs(); z.angle(); z.sgn(); z ** 2; z ** 0.3; z ** y; 0.3 ** z; z.exp(); z.log(); z.log1p(); z.expm1(); z.sqrt(); z.rsqrt()
    z.sin(); z.cos(); z.tan(); z.asin(); z.acos(); z.atan(); z.sinh(); z.cosh(); z.tanh(); z.asinh(); z.acosh(); z.atanh(); z.sinc()
    z.sigmoid(); z.reciprocal(); z.square(); z.exp2(); z.log2(); z.log10(); z.logsumexp(1); t.linalg.inv(A); t.linalg.det(A)
    t.linalg.solve(A, z.T); F.rms_norm(z, (4,)); F.rms_norm(z, (4,), y[0]); t.addcmul(z, y, y, value=0.3); t.fft.fft(z); t.lerp(z, y, 0.3)
    t.polar(z.abs(), z.angle()); z.real * z.imag; z.conj() * y; t.linalg.svdvals(A); t.kron(z, y); t.dot(z[0], y[0]); t.vdot(z[0], y[0])
    F.conv1d(z.reshape(1, 3, 4), A[:2, :3].reshape(2, 3, 1)); t.linalg.vector_norm(z, 3, 1); t.linalg.matrix_exp(A); F.linear(z, A)
    t.linalg.qr(A)[1].abs(); t.linalg.eigvals(A).abs().sum(); t.linalg.cholesky(A @ A.mH + t.eye(4, dtype=A.dtype)); z.logaddexp(y)
""".replace("\n", ";").split(";")
COMPLEX_CALLS = [c.strip() for c in COMPLEX_CALLS if c.strip()]


def generic(t, *shape, start):
    """Numbers between -1 and 1 that have all the digits of a float64."""
    return to_here(t, wave(flambeau, *shape, start=start).double() * (1 + 1e-9 * start))


def to_here(t, x):
    return x if t is flambeau else t.from_numpy(x.numpy().copy())


def inputs(t, dtype):
    z, u, A = generic(t, 3, 4, start=0.3), generic(t, 3, 4, start=1.1), generic(t, 4, 4, start=0.9)
    names = {"x": z.abs() * 0.9 + 0.05, "y": u.abs() * 0.9 + 0.05, "z": z, "A": A + 2 * t.eye(4, dtype=A.dtype)}
    if dtype == "complex128":
        names = {n: (v * (1 + 0.7j) + 0.1j).to(t.complex128) for n, v in names.items()}
    names = {n: v.detach().requires_grad_() for n, v in names.items()}
    weights = generic(t, 4, start=0.7).abs() + 0.1
    return names, {**names, "t": t, "F": t.nn.functional, "i": t.tensor([0, 2, 2]), "w": weights}


def found(t, code, dtype="float64"):
    """Results and gradients."""
    leaves, scope = inputs(t, dtype)
    t.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = eval(code, scope)
        outs = [o for o in (out if isinstance(out, tuple | list) else (out,)) if isinstance(o, t.Tensor)]
        backward(t, outs)
    return [to_array(o) for o in outs], [None if v.grad is None else to_array(v.grad) for v in leaves.values()]


def backward(t, outs):
    outs = [o for o in outs if o.requires_grad]
    cotangents = [(generic(t, *o.shape, start=0.5) * (1 - 0.4j if o.is_complex() else 1)).to(o.dtype) for o in outs]
    if outs:
        t.autograd.backward(outs, cotangents)


def assert_same_digits(got, want, what):
    assert len(got) == len(want), what
    for g, w in zip(got, want, strict=True):
        if w is None or g is None:
            assert w is None or (g is None and not np.any(w)), what
            continue
        assert g.dtype == w.dtype and g.shape == w.shape, f"{what}: {g.dtype}{g.shape}, not {w.dtype}{w.shape}"
        if w.dtype.kind in "fc":
            scale = np.abs(w[np.isfinite(w)]).max(initial=0.01)
            np.testing.assert_allclose(g, w, rtol=RTOL, atol=RTOL * scale, equal_nan=True, err_msg=what)


def test_functions():
    torch = pytest.importorskip("torch")
    for code in CALLS:
        for got, want in zip(found(flambeau, code), found(torch, code), strict=True):
            assert_same_digits(got, want, code)


def test_functions_of_complex_numbers():
    torch = pytest.importorskip("torch")
    for code in COMPLEX_CALLS:
        for got, want in zip(found(flambeau, code, "complex128"), found(torch, code, "complex128"), strict=True):
            assert_same_digits(got, want, code)


@pytest.mark.parametrize("row", [row for row in LAYERS if not row.lazy], ids=str)
def test_layers(row):
    torch = pytest.importorskip("torch")
    here, there = row.make(flambeau).double(), row.make(torch).double()
    state = there.state_dict()
    here.load_state_dict({name: to_flambeau(v) for name, v in state.items()})
    results = []
    for t, module in ((flambeau, here), (torch, there)):
        arguments = row.arguments(t, t.float64)
        t.manual_seed(3)
        out = module(*arguments)
        outs = [o for o in (out if isinstance(out, tuple) else (out,)) if isinstance(o, t.Tensor)]
        backward(t, outs)
        leaves = [a for a in arguments if a.requires_grad] + list(module.parameters())
        results.append([to_array(o) for o in outs] + [None if v.grad is None else to_array(v.grad) for v in leaves])
    assert_same_digits(*results, str(row))


def test_functions_of_special_values_agree_at_ordinary_values():
    torch = pytest.importorskip("torch")
    for code in [c for c in (*UNARY_CALLS, *BINARY_CALLS, *REDUCTION_CALLS) if c not in FLOAT32_THERE | VECTORS]:
        try:
            want = found(torch, code)
        except Exception:
            continue  # which errors are raised is another test's question
        for got, expected in zip(found(flambeau, code), want, strict=True):
            assert_same_digits(got, expected, code)
