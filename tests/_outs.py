"""Calls of every function that has ``out=``, and the kinds of tensors passed there."""

import re
import warnings

import numpy as np

DRAW = np.random.default_rng(7)
SPD = np.array([[4, 1, 0.5], [1, 3, 0.25], [0.5, 0.25, 2]], np.float32)
VALUES = {
    "x": DRAW.uniform(0.1, 0.9, (2, 3)).astype(np.float32), "y": DRAW.uniform(0.1, 0.9, (2, 3)).astype(np.float32),
    "z": DRAW.uniform(0.1, 0.9, (2, 3)).astype(np.float32), "x64": DRAW.uniform(0.1, 0.9, (2, 3)),
    "g": DRAW.uniform(1.1, 1.9, (2, 3)).astype(np.float32),  # above one
    "i": np.array([[4, 6, 1], [3, 2, 5]]), "j": np.array([[2, 3, 1], [1, 4, 2]]),
    "b": np.array([[True, False, True], [False, False, True]]), "b2": np.array([[True, True, False]] * 2),
    "c": (DRAW.uniform(0.1, 0.9, (2, 3)) + 1j * DRAW.uniform(0.1, 0.9, (2, 3))).astype(np.complex64),
    "s": np.float32(0.5), "m": SPD, "n": SPD.T @ SPD, "low": np.tril(SPD), "v": SPD[0], "w": SPD[1],
    "p": DRAW.uniform(0, 1, (3, 4)).astype(np.float32), "q": DRAW.uniform(0, 1, (4, 3)).astype(np.float32),
    "B": np.stack([SPD, SPD + 1]), "C": np.stack([SPD - 1, SPD]), "k": np.array([[0, 2, 1], [1, 0, 2]]),
    "ks": np.array([0, 1, 0]), "e": np.array([1, 2, 3]), "d": np.array([0.1, 0.4, 0.7], np.float32),
    "T": DRAW.uniform(0, 1, (2, 3, 6)).astype(np.float32) + np.eye(6, dtype=np.float32).reshape(2, 3, 6),
    "rhs": SPD[:, :2], "unit": DRAW.uniform(0, 1, (2, 3)).astype(np.float32),
}

UNARY = ["abs", "absolute", "acos", "angle", "arccos", "arcsin", "arcsinh", "arctan", "arctanh", "asin", "asinh", "atan", "atanh", "ceil", "conj_physical", "cos", "cosh", "deg2rad", "digamma", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "fix", "floor", "frac", "frexp", "i0", "isneginf", "isposinf", "lgamma", "log", "log10", "log1p", "log2", "logical_not", "logit", "neg", "negative", "rad2deg", "reciprocal", "round", "rsqrt", "sgn", "sigmoid", "sign", "signbit", "sin", "sinc", "sinh", "sqrt", "square", "tan", "tanh", "trunc", "nan_to_num", "msort", "special.airy_ai", "special.bessel_j0", "special.bessel_j1", "special.bessel_y0", "special.bessel_y1", "special.digamma", "special.entr", "special.erf", "special.erfc", "special.erfcx", "special.erfinv", "special.exp2", "special.expit", "special.expm1", "special.gammaln", "special.i0", "special.i0e", "special.i1", "special.i1e", "special.log1p", "special.log_ndtr", "special.logit", "special.modified_bessel_i0", "special.modified_bessel_i1", "special.modified_bessel_k0", "special.modified_bessel_k1", "special.ndtr", "special.ndtri", "special.psi", "special.round", "special.scaled_modified_bessel_k0", "special.scaled_modified_bessel_k1", "special.sinc", "special.spherical_bessel_j0"]
BINARY = ["add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide", "remainder", "fmod", "atan2", "arctan2", "copysign", "hypot", "logaddexp", "logaddexp2", "maximum", "minimum", "fmax", "fmin", "nextafter", "heaviside", "xlogy", "pow", "float_power", "igamma", "igammac", "ldexp", "eq", "ne", "not_equal", "lt", "less", "le", "less_equal", "gt", "greater", "ge", "greater_equal", "logical_and", "logical_or", "logical_xor", "special.gammainc", "special.gammaincc", "special.xlog1py", "special.xlogy", "special.zeta"]
POLYNOMIALS = ["chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p", "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w"]

CALLS = [
    *(f"{name}(x)" for name in UNARY),
    *(f"{name}(x, y)" for name in BINARY),
    *(f"special.{name}(x, 2)" for name in POLYNOMIALS),
    *(f"fft.{name}({x})" for names, x in (
        ("fft ifft rfft ihfft fft2 ifft2 rfft2 ihfft2 fftn ifftn rfftn ihfftn", "x"),
        ("hfft irfft hfft2 irfft2 hfftn irfftn", "c")) for name in names.split()),
    *"""acosh(g); arccosh(g); abs(i); abs(c); neg(i); exp(i); exp(c); sqrt(i); ceil(i); sign(i); sgn(c); angle(c)
conj_physical(c); bitwise_not(i); bitwise_not(b); logical_not(i); round(x, decimals=1); round(i); square(i); frac(x64)
nan_to_num(i); isposinf(i); signbit(i); angle(i); reciprocal(i); rsqrt(i); sinc(i); logit(x, eps=0.1)
add(i, j); add(i, 1.5); add(i, x); add(x, y, alpha=2); add(x, 2); add(c, x); add(b, b2); add(s, s); sub(i, j, alpha=2)
mul(i, j); mul(x, 2.0); mul(x, c); mul(b, i); div(i, j); div(i, j, rounding_mode="floor"); div(x, y, rounding_mode="trunc")
floor_divide(i, j); remainder(i, j); fmod(i, j); pow(i, 2); pow(x, 2); pow(2, x); pow(2.5, i); pow(i, j); float_power(i, 2)
float_power(x, 2); gcd(i, j); lcm(i, j); ldexp(x, i); bitwise_and(i, j); bitwise_or(b, b2); bitwise_xor(i, 3)
bitwise_left_shift(i, j); bitwise_right_shift(i, 1); maximum(i, j); copysign(i, j); hypot(x, y); atan2(i, j); heaviside(i, j)
xlogy(i, j); special.zeta(i, 2); eq(i, 2); lt(i, x); logical_and(i, j); addcmul(x, y, z); addcmul(i, j, j, value=2)
addcdiv(x, y, z, value=2); lerp(x, y, 0.5); lerp(x, y, z); lerp(x, y, s); clamp(x, 0.2, 0.6); clamp(x, y, z); clamp(i, 2, 3)
clamp(x, min=0.3); clamp(i, 2.5); clip(x, 0.2, 0.6); clamp_min(x, 0.4); clamp_max(x, y); where(b, x, y); where(b, i, j)
where(b, x, x64); isin(i, j); isin(i, 2)
mvlgamma(g, 1); special.multigammaln(g, 1); polygamma(1, x); special.polygamma(1, x); threshold(x, 0.5, 0.25)
hardshrink(x, 0.5); nn.functional.hardshrink(x); nn.functional.normalize(x); complex(x, y); polar(x, y)
sum(x, 1); sum(i, 1); sum(b, 0); sum(x, 1, dtype=t.float64); sum(c, 0)
nansum(x, 1); nansum(i, 1); mean(x, 1); mean(x); mean(i, 1, dtype=t.float32); mean(c, 1); nanmean(x, 1); prod(x, 1)
prod(i, 1); prod(i, 1, dtype=t.float32); var(x, 1); var(x, 1, correction=0); std(x, 1); std(c, 1); var(x, 1, keepdim=True)
amax(x, 1); amax(i); amin(i, 0); aminmax(x, dim=1); aminmax(i); max(x, 1); max(x); max(x, y); max(i, 0); min(x, 1); min(x); min(i, j)
argmax(x, 1); argmax(x); argmin(i, 0); all(b, 1); all(x); any(b, 1); any(i); any(x, 1, keepdim=True); median(x, 1)
nanmedian(x, 1); median(i, 1); mode(i, 1); mode(x, 1); quantile(x, 0.5, 1); quantile(x64, 0.5, 1); nanquantile(x, 0.5, 1)
logsumexp(x, 1); logsumexp(i, 1); special.logsumexp(x, 1); softmax(x, 1); softmax(x, 1, t.float64)
softmax(i, 1, t.float32); log_softmax(x, 1); norm(x); norm(x, 2, 1); norm(x, "fro"); norm(x, 2, 1, dtype=t.float64)
linalg.norm(x); linalg.norm(x, 2, 1); linalg.norm(x, dtype=t.float64); renorm(x, 2, 0, 0.5)
cumsum(x, 1); cumsum(i, 1); cumsum(i, 1, dtype=t.float32); cumprod(x, 1); cumprod(i, 1); logcumsumexp(x, 1); cummax(x, 1)
cummax(i, 1); cummin(x, 1); diff(x); diff(i); sort(x); sort(i); sort(x, stable=True); argsort(x, stable=True)
topk(x, 2); topk(i, 2); kthvalue(x, 2); bucketize(x, d); bucketize(x, d, out_int32=True); searchsorted(d, x); searchsorted(d, x, out_int32=True)
histc(x, 4); histogram(x, 4); histogram(x, d)
cat([x, y]); cat([x, i]); cat([i, j], 1); concat([x, y]); concatenate([x, y]); stack([x, y]); stack([x, i]); stack([i, j]); hstack([x, y])
vstack([x, y]); dstack([x, y]); column_stack([x, y]); row_stack([x, y]); kron(x, y); kron(i, j)
tril(x); tril(m); triu(x); triu(i); diag(v); diag(m); slice_scatter(x, y[:, :1], 1, 0, 1)
gather(x, 1, k); gather(i, 1, k); index_select(x, 1, ks); index_select(i, 0, ks); take(x, k); take(i, k); masked_select(x, b); masked_select(i, b)
nonzero(x); nonzero(b); nonzero_static(b, size=4); take_along_dim(x, k, 1); take_along_dim(i, k, 1)
scatter(x, 1, k, y); scatter(x, 1, k, 2.0); scatter(x, 1, k, y, reduce="add"); scatter_add(x, 1, k, y); scatter_add(i, 1, k, j)
scatter_reduce(x, 1, k, y, "amax"); scatter_reduce(x, 1, k, y, "sum"); index_add(x, 1, ks, y); index_copy(x, 1, e - 1, y)
index_reduce(x, 1, ks, y, "amax")
mm(m, n); mm(p, q); bmm(B, C); mv(m, v); dot(v, w); vdot(v, w); outer(v, w); ger(v, w); outer(v, e); matmul(m, n); matmul(m, v); matmul(v, w)
matmul(B, m); linalg.matmul(m, n); addmm(m, m, n); addmm(v, m, n, beta=2); addmv(v, m, w); addr(m, v, w); addbmm(m, B, C)
baddbmm(B, B, C); chain_matmul(m, n, m); linalg.multi_dot([m, n, m]); tensordot(m, n, 1); inner(m, n); cross(m, n, 1)
linalg.cross(m, n); spmm(m, n); dsmm(m, n); linalg.vecdot(m, n); mm(i, i.T); dot(e, e)
cholesky(m); cholesky_inverse(low); cholesky_solve(rhs, low); geqrf(m); orgqr(rhs, v[:2]); ormqr(m, v, n); qr(m); svd(m)
slogdet(m); inverse(m); matrix_power(m, 2); lu(m); lu_unpack(m, (e.int())); triangular_solve(rhs, n); lu_solve(rhs, m, e.int())
linalg.cholesky(m); linalg.cholesky_ex(m); linalg.cond(m); linalg.cond(m, 1); linalg.det(m); linalg.det(B); linalg.eig(m); linalg.eigh(m)
linalg.eigvals(m); linalg.eigvalsh(m); linalg.householder_product(rhs, v[:2]); linalg.inv(m); linalg.inv_ex(m)
linalg.ldl_factor(m); linalg.ldl_factor_ex(m); linalg.ldl_solve(m, e.int(), rhs); linalg.lu(m); linalg.lu_factor(m)
linalg.lu_factor_ex(m); linalg.lu_solve(m, e.int(), rhs); linalg.matrix_norm(m); linalg.matrix_norm(m, 2); linalg.matrix_norm(m, dtype=t.float64)
linalg.matrix_power(m, 3); linalg.matrix_rank(m); linalg.matrix_rank(m, hermitian=True); linalg.pinv(rhs); linalg.pinv(m, hermitian=True)
linalg.qr(m); linalg.slogdet(m); linalg.solve(m, rhs); linalg.solve_ex(m, rhs)
linalg.solve_triangular(n, rhs, upper=True); linalg.svd(m); linalg.svdvals(m); linalg.tensorinv(T); linalg.tensorsolve(T, x)
linalg.vector_norm(x); linalg.vector_norm(x, dim=1); linalg.vector_norm(x, dtype=t.float64)
arange(5); arange(1, 4); arange(0.5, 3); range(0, 3); linspace(0, 1, 4); linspace(0, 4, 3); logspace(0, 1, 4); zeros(2, 3); ones(2, 3)
full((2, 3), 1.5); full((2, 3), 2); full((2, 3), True); eye(3); eye(2, 3); fft.fftfreq(4); fft.rfftfreq(4)
zeros(2, 3, dtype=t.float64); ones((2, 3), dtype=t.int64); full((2, 3), 1.5, dtype=t.float64); arange(4, dtype=t.float64); eye(2, dtype=t.float64)
linspace(0, 1, 4, dtype=t.float64); rand(2, 3); rand(2, 3, dtype=t.float64); randn(2, 3); randint(9, (2, 3)); randint(2, 9, (2, 3)); randperm(5)
randperm(5, dtype=t.int32); normal(x, y); normal(x, 1.0); normal(0.0, y); normal(0.0, 1.0, (2, 3)); bernoulli(x)
multinomial(x, 2)""".replace("\n", "; ").split("; "),
]

WITHOUT_OUT = ["sum(x)", "sum(i, dtype=t.float32)", "prod(x)", "median(x)", "where(b, x, 2.0)", "bernoulli(x, 0.5)"]


# ---- what is given as out=

def buffer(t, dtype, shape):
    """A tensor of a dtype, all sevens (or True)."""
    return t.full(shape, 7, dtype=dtype)


def same(t, r):
    out = buffer(t, r.dtype, r.shape)
    return out, out


def as_dtype(name):
    def make(t, r):
        out = buffer(t, getattr(t, name), r.shape)
        return out, out

    make.__name__ = name
    return make


def strided(t, r):
    """Every second element of a larger tensor, from the second on."""
    whole = buffer(t, r.dtype, (*r.shape[:-1], 2 * r.shape[-1] + 3) if r.ndim else (3,))
    return (whole[..., 1 : 2 * r.shape[-1] + 1 : 2] if r.ndim else whole[1]), whole


def transposed(t, r):
    whole = buffer(t, r.dtype, r.shape[::-1])
    return whole.permute(tuple(reversed(range(r.ndim)))), whole


def expanded(t, r):
    whole = buffer(t, r.dtype, (1,) * r.ndim)
    return whole.expand(r.shape), whole


def wrong_size(t, r):
    out = buffer(t, r.dtype, (*r.shape, 2))
    return out, out


def wrong_view(t, r):
    """Too small a part of a tensor that has room for the result."""
    whole = buffer(t, r.dtype, (r.numel() + 40,))
    return whole[3:15:4], whole


def growing(t, r):
    out = buffer(t, r.dtype, (1, 1, 1, 1, 1))
    return out, out


def empty(t, r):
    out = buffer(t, r.dtype, (0,))
    return out, out


def leaf(t, r):
    out = buffer(t, r.dtype if r.dtype.is_floating_point or r.dtype.is_complex else t.float32, r.shape)
    return out.requires_grad_(), out


def in_graph(t, r):
    out, _ = leaf(t, r)
    out = out * 1
    return out, out


def meta(t, r):
    out = t.empty(r.shape, dtype=r.dtype, device="meta")
    return out, None


def no_tensor(t, r):
    return "out", None


def in_tuple(t, r):
    out = buffer(t, r.dtype, r.shape)
    return (out,), out


DTYPES = ("bool", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64")
KINDS = {f.__name__: f for f in (
    same, *map(as_dtype, DTYPES), strided, transposed, expanded, wrong_size, wrong_view, growing, empty, leaf, in_graph,
    meta, no_tensor, in_tuple,
)}
GRADS = ("input requires grad", "input requires grad under no_grad")
ALIASES = ("is the input", "overlaps the input")


# ---- running a call

class Asked:
    """One library, and what the words of a call mean in it."""

    def __init__(self, library):
        self.library = library
        self.results = {}

    def tensors(self, call, requires_grad=False):
        """New tensors for the names in a call."""
        names = VALUES.keys() & set(re.findall(r"\w+", call.partition("(")[2]))
        found = {name: self.library.from_numpy(np.array(VALUES[name])) for name in names}
        if requires_grad:
            for value in found.values():
                if value.is_floating_point() or value.is_complex():
                    value.requires_grad_()
        return found

    def run(self, call, tensors, **named):
        name, _, arguments = call.partition("(")
        self.library.manual_seed(3)
        arguments = arguments[:-1] + ("" if not named else ", out=out" if arguments[:-1] else "out=out")
        return eval(f"t.{name}({arguments})", {"t": self.library, **tensors, **named})

    def result(self, call):
        """The result without out=, as a tuple."""
        if call not in self.results:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = self.run(call, self.tensors(call))
            self.results[call] = found if isinstance(found, tuple) else (found,)
        return self.results[call]

    def outcome(self, call, kind):
        """What comes of a call with a kind of out=: an exception's name, or all there is to see of the out= tensors."""
        t = self.library
        parts = self.result(call)
        tensors = self.tensors(call, kind in GRADS)
        if kind in ALIASES:
            aliased = aliasing(t, call, kind, tensors, parts)
            if aliased is None:
                return None
            outs, wholes = [aliased[0]], [aliased[1]]
        elif kind in GRADS:
            outs, wholes = zip(*[same(t, r) for r in parts])
        else:
            outs, wholes = zip(*[KINDS[kind](t, r) for r in parts])
        out = outs[0] if len(parts) == 1 else tuple(outs)
        before = [o.data_ptr() if hasattr(o, "data_ptr") and o.device.type != "meta" else 0 for o in outs]
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                with t.no_grad() if kind.endswith("no_grad") else t.enable_grad():
                    found = self.run(call, tensors, out=out)
            except Exception as error:
                return [type(error).__name__, str(error)]
        found = found if isinstance(found, tuple) else (found,)
        return [
            ("same objects", [f is o for f, o in zip(found, outs)]),
            ("warnings", sorted({w.category.__name__ for w in told if "resized" in str(w.message)})),
            ("layout", [(str(o.dtype).rpartition(".")[2], tuple(o.shape), o.stride(), o.storage_offset()) for o in outs]),
            ("place", [o.data_ptr() == p for o, p in zip(outs, before)] if kind not in ("empty", "growing") else ""),
            ("values", [elements(o) for o in outs]),
            ("around", [elements(w) for w in wholes if w is not None]),
        ]


def elements(t):
    return np.array([] if t.device.type == "meta" else t.detach().tolist())


def aliasing(t, call, kind, tensors, parts):
    """An out= that is the first tensor of the call, or lies one element after it in memory."""
    name = call.partition("(")[2].partition(",")[0].rstrip(")")
    if name not in tensors or len(parts) > 1:
        return None
    first, r = tensors[name], parts[0]
    if first.shape != r.shape or first.dtype != r.dtype or not r.ndim:
        return None
    if kind == "is the input":
        return first, first
    whole = t.zeros(r.numel() + 1, dtype=r.dtype)
    whole[:-1] = first.reshape(-1)
    tensors[name] = whole[:-1].view(r.shape)
    return whole[1:].view(r.shape), whole
