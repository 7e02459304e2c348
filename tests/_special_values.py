"""Tables of calls, the values at which they are asked (nan, infinities, zeros, subnormal, tiny, largest), and asking."""

import itertools
import warnings

import numpy as np

import flambeau
from _oracle import to_array

INF, NAN = float("inf"), float("nan")

UNARY = """
    abs acos acosh angle asin asinh atan atanh bitwise_not ceil conj_physical cos cosh deg2rad digamma erf erfc erfinv exp
    exp2 expm1 floor frac i0 isfinite isinf isnan isneginf isposinf isreal lgamma log log10 log1p log2 logical_not logit
    nan_to_num neg positive rad2deg reciprocal relu round rsqrt selu sgn sigmoid sign signbit sin sinc sinh sqrt square tan
    tanh trunc real imag frexp special.entr special.erfcx special.i0e special.i1 special.i1e special.log_ndtr special.ndtr
    special.ndtri special.bessel_j0 special.bessel_y0 nn.functional.celu nn.functional.elu nn.functional.gelu
    nn.functional.hardshrink nn.functional.hardsigmoid nn.functional.hardswish nn.functional.hardtanh
    nn.functional.leaky_relu nn.functional.logsigmoid nn.functional.mish nn.functional.relu6 nn.functional.silu
    nn.functional.softplus nn.functional.softshrink nn.functional.softsign nn.functional.tanhshrink
"""
WITH_SETTINGS = """
    t.nn.functional.gelu(x, approximate="tanh"); t.nn.functional.threshold(x, 0.5, 2.0); t.nn.functional.elu(x, 0.5)
    t.nn.functional.hardshrink(x, 0.0); t.nn.functional.softshrink(x, 0.0); t.nn.functional.softplus(x, 2.0, 5.0)
    t.clamp(x, -1, 1); t.clamp(x, min=0); t.clamp(x, max=0); t.logit(x, 0.1); t.nan_to_num(x, 1.0, 2.0, 3.0)
    t.nn.functional.hardshrink(x, 0.3); t.nn.functional.softshrink(x, 0.3); t.nn.functional.threshold(x, 0.3, 0.3)
    t.nn.functional.hardtanh(x, -0.3, 0.3); t.clamp(x, -0.3, 0.3); t.clamp(x, min=0.3); t.clamp(x, max=0.3); x < 0.3; x == 0.3
    x >= 0.3; t.where(x > 0.3, x, 0.3); x + 0.3; x * 0.3; x / 0.3; 0.3 / x; x - 0.3; x ** 0.3; 0.3 ** x; x % 0.3; x // 0.3
    t.maximum(x, t.tensor(0.3)); t.nn.functional.leaky_relu(x, 0.3); t.nn.functional.elu(x, 0.3); t.nn.functional.celu(x, 0.3)
    t.logit(x, 0.3); t.lerp(x, x + 1, 0.3); t.add(x, x, alpha=3); t.nn.functional.softplus(x, 0.3); t.hypot(x, t.tensor(0.3))
    x ** 0; x ** 2; x ** 3; x ** 0.5; x ** -1; x ** -2; x ** 1.5; 2 ** x; 0 ** x; (-2.0) ** x; x * 2; x / 3; 1 / x; x + 1
    1 - x; x // 2; x % 2; x % -3; t.fmod(x, 2); x == 0; x < 1; t.round(x, decimals=2); t.polygamma(1, x); t.mvlgamma(x, 2)
    t.ldexp(x, t.tensor(3)); t.isclose(x, x); t.signbit(x); x.to(t.float32); x.to(t.float64); x.to(t.bool); x.to(t.bfloat16)
    t.where(x > 0, x, x * 2); t.lerp(x, x * 2, 0.3); t.addcmul(x, x, x); t.addcdiv(x, x, x); t.copysign(x, -1.0)
""".replace("\n", ";").split(";")
BINARY = """
    add sub mul div true_divide floor_divide remainder fmod pow maximum minimum fmax fmin atan2 hypot copysign nextafter
    logaddexp logaddexp2 xlogy special.xlog1py heaviside eq ne lt le gt ge gcd lcm bitwise_and bitwise_or bitwise_xor
    logical_and logical_or logical_xor isclose ldexp igamma igammac special.zeta float_power
    bitwise_left_shift bitwise_right_shift
"""
BINARY_WITH_SETTINGS = """
    t.div(x, y, rounding_mode="floor"); t.div(x, y, rounding_mode="trunc"); t.clamp(x, y, y); t.clamp(x, min=y)
    t.clamp(x, max=y); t.lerp(x, y, 0.25); t.lerp(x, y, 0.75); t.addcmul(x, x, y, value=2); t.addcdiv(x, x, y, value=2)
    t.where(x > y, x, y); t.nn.functional.mse_loss(x, y, reduction="none"); t.nn.functional.l1_loss(x, y, reduction="none")
    t.nn.functional.smooth_l1_loss(x, y, reduction="none"); t.nn.functional.huber_loss(x, y, reduction="none")
    t.nn.functional.binary_cross_entropy_with_logits(x, y, reduction="none"); t.nn.functional.kl_div(x, y, reduction="none")
    t.nn.functional.soft_margin_loss(x, y, reduction="none"); t.complex(x, y); t.polar(x, y)
    t.nn.functional.kl_div(x, y, reduction="none", log_target=True); t.nn.functional.cosine_similarity(x[:, None], y[:, None], 1)
    t.nn.functional.prelu(x[:, None], y[:1]); t.sub(x, y, alpha=2)
""".replace("\n", ";").split(";")
REDUCTIONS = """
    sum(1); nansum(1); mean(1); nanmean(1); prod(1); amax(1); amin(1); aminmax(dim=1); max(1); min(1); argmax(1); argmin(1); var(1)
    std(1); median(1); nanmedian(1); mode(1); logsumexp(1); norm(2, 1); norm(1, 1); norm(3, 1); norm(0.5, 1); norm(-1, 1)
    norm(0, 1); norm(float("inf"), 1); norm(-float("inf"), 1); all(1); any(1); count_nonzero(1); cumsum(1); cumprod(1); cummax(1)
    cummin(1); logcumsumexp(1); softmax(1); log_softmax(1); sort(1); argsort(dim=1, stable=True); topk(2, 1); kthvalue(2, 1); diff(dim=1)
    sum(); mean(); prod(); max(); min(); var(); std(); norm(); median(); nanmedian(); nansum(); std(1, unbiased=False)
    quantile(0.4, 1); nanquantile(0.4, 1); renorm(2, 0, 1.0)
""".replace("\n", ";").split(";")
REDUCTIONS_WITH_SETTINGS = """
    t.var_mean(x, 1); t.std_mean(x, 1); t.nn.functional.normalize(x, dim=1); t.gradient(x, dim=1)[0]; t.trapezoid(x, dim=1)
    t.nn.functional.layer_norm(x, x.shape[1:]); t.nn.functional.softmin(x, 1); t.cdist(x, x); t.linalg.vector_norm(x, 2, 1)
    t.linalg.vector_norm(x, 4, 1); t.dist(x, x * 2); t.unique(x); t.searchsorted(t.sort(x[0])[0], x.reshape(-1))
    t.bucketize(x, t.tensor([-1.0, 0.0, 1.0], dtype=x.dtype)); t.nn.functional.rms_norm(x, x.shape[1:])
    t.nn.functional.max_pool1d(x, 2); t.nn.functional.avg_pool1d(x, 2); t.nn.functional.lp_pool1d(x, 2, 2)
    t.nn.functional.glu(x[:, :2]); t.histc(x.abs().clamp(0, 1).nan_to_num()); t.isin(x, x[:1]); x @ x[:4].T
    t.nn.functional.adaptive_max_pool1d(x, 2); t.cov(x[:3]); t.corrcoef(x[:3]); t.linalg.vector_norm(x, 0, 1)
""".replace("\n", ";").split(";")


def calls(names, template):
    return [template.format(name.strip()) for name in names if name.strip()]


UNARY_CALLS = calls(UNARY.split(), "t.{}(x)") + calls(WITH_SETTINGS, "{}")
BINARY_CALLS = calls(BINARY.split(), "t.{}(x, y)") + calls(BINARY_WITH_SETTINGS, "{}")
REDUCTION_CALLS = calls(REDUCTIONS, "x.{}") + calls(REDUCTIONS_WITH_SETTINGS, "{}")

FLOATS = ["float32", "float64", "float16", "bfloat16"]
COMPLEX = ["complex64", "complex128"]
INTS = ["int64", "int32", "uint8", "int8"]
DTYPES = [*FLOATS, *COMPLEX, *INTS, "bool"]

LARGEST = {"float32": 3.4028234663852886e38, "float64": 1.7976931348623157e308, "float16": 65504.0,
           "bfloat16": 3.3895313892515355e38}
SMALLEST = {"float32": 2.0**-149, "float64": 2.0**-1074, "float16": 2.0**-24, "bfloat16": 2.0**-133}
NORMAL = {"float32": 2.0**-126, "float64": 2.0**-1022, "float16": 2.0**-14, "bfloat16": 2.0**-126}
EPS = {"float32": 2.0**-23, "float64": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def floats(dtype):
    root = {"float32": 3e30, "float64": 3e200, "float16": 6e3, "bfloat16": 3e30}[dtype]
    found = [0.0, SMALLEST[dtype], NORMAL[dtype], EPS[dtype], 0.3, 0.5, 1.0, 2.5, 20.0, 90.0, root, LARGEST[dtype], INF]
    return [NAN, *found, *(-v for v in found)]


def complexes(dtype):
    part = "float32" if dtype == "complex64" else "float64"
    parts = [0.0, EPS[part] / 8, 1.0, -0.7, 30.0, -90.0, LARGEST[part], INF, -INF, NAN, NORMAL[part]]
    return [complex(a, b) for a in parts for b in parts]


def integers(dtype):
    info = np.iinfo(dtype)
    # not the lowest: PyTorch itself crashes in lcm
    return [info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, *([-1, -2, -7] if info.min else [])]


def values(dtype):
    """As many as fill a vector register or two, so that PyTorch's vector loops are asked."""
    if dtype in COMPLEX:
        return complexes(dtype)
    return 4 * some(dtype)


def some(dtype):
    if dtype == "bool":
        return [False, True]
    return floats(dtype) if dtype in FLOATS else complexes(dtype) if dtype in COMPLEX else integers(dtype)


def few(dtype):
    """Values for pairs and rows."""
    found = some(dtype)
    return found if dtype not in COMPLEX else found[::7]


def rows(dtype):
    found = few(dtype)
    if dtype in FLOATS:
        found = [NAN, 0.0, -0.0, SMALLEST[dtype], 1.0, -2.0, floats(dtype)[11], LARGEST[dtype], INF, -INF]
    return [list(r) for r in itertools.product(found[:10], repeat=3)]


RTOL = {"float32": 2e-5, "float64": 1e-11, "float16": 4e-3, "bfloat16": 3e-2, "complex64": 1e-4, "complex128": 1e-11}


def close(got, want, dtype, slack=0.0):
    """Which elements agree: nan with nan, infinities exactly, others to rounding."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return np.zeros(want.shape or (1,), bool)
    if want.dtype.kind == "c":
        return close(got.real.copy(), want.real.copy(), dtype, slack) & close(got.imag.copy(), want.imag.copy(), dtype, slack)
    if want.dtype.kind != "f":
        return np.asarray(got == want)
    rtol, part = RTOL.get(dtype, 2e-5), {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    got, want = got.astype(np.float64), want.astype(np.float64)
    with np.errstate(all="ignore"):
        near = np.abs(got - want) <= rtol * np.abs(want) + 4 * NORMAL.get(part, 2.0**-126) + slack * EPS.get(part, 2.0**-23)
        rounds_to_infinity = np.minimum(np.abs(got), np.abs(want)) > LARGEST.get(part, INF) * (1 - 8 * rtol)
        near |= rounds_to_infinity & (np.sign(got) == np.sign(want))
    return near | (got == want) | (np.isnan(got) & np.isnan(want))


def strided(t, x):
    """The elements of x, every other one of a larger tensor's."""
    return t.stack((x, x), -1)[..., 0]


def run(t, call, dtype, *data, lay=lambda t, x: x):
    """(results, gradients of the inputs) as lists of arrays, or the type of the error."""
    inputs = [lay(t, t.tensor(d, dtype=getattr(t, dtype))) for d in data]
    inexact = dtype in FLOATS or dtype in COMPLEX
    names = dict(zip("xy", inputs))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for x in inputs:
                x.requires_grad_(inexact)
            out = eval(call, {"t": t, **names})
            outs = [o for o in (out if isinstance(out, tuple) else (out,)) if isinstance(o, t.Tensor)]
            results = [to_array(o) for o in outs]
        except Exception as error:
            return type(error).__name__, []
        grads = []
        recorded = [o for o in outs if o.requires_grad]
        if recorded:
            try:
                t.autograd.backward(recorded, [t.ones_like(o) for o in recorded])
            except Exception as error:
                return results, [type(error).__name__]
            grads = [None if x.grad is None else to_array(x.grad) for x in inputs]
    return results, grads


def differences(torch, call, dtype, *data):
    """What flambeau does otherwise than torch, in words."""
    want, want_grads = run(torch, call, dtype, *data)
    got, got_grads = run(flambeau, call, dtype, *data)
    if isinstance(want, str):  # what PyTorch refuses is asked elsewhere
        return []
    if isinstance(got, str):
        return [f"{call} {dtype}: {got}"]
    found, other = [], None
    for kind, here, there in (("value", got, want), ("gradient", got_grads, want_grads)):
        if len(here) != len(there):
            found.append(f"{call} {dtype}: {len(here)} {kind}s, not {len(there)}")
            continue
        for nr, (g, w) in enumerate(zip(here, there)):
            if isinstance(w, str):
                continue
            if isinstance(g, str) or g is None or w is None:
                if g is not w:
                    found.append(f"{call} {dtype}: {kind} {nr} {g!r:.60} not {w!r:.60}")
                continue
            slack = 16 if kind == "gradient" else 0  # the cotangents are ones
            ok = close(g, w, dtype, slack)
            if not ok.all():
                # PyTorch's vector loops and its scalar ones, which take what is strided, do not always agree
                if other is None:
                    other = run(torch, call, dtype, *data, lay=strided)
                there = other[kind == "gradient"]
                if len(there) == len(here) and isinstance(there[nr], np.ndarray) and there[nr].shape == ok.shape:
                    ok |= close(g, there[nr], dtype, slack)
            if not ok.all():
                found.append(f"{call} {dtype} {kind} {nr}: {describe(ok, g, w, data)}")
    return found


def describe(ok, got, want, data):
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{got.shape}, not {want.dtype}{want.shape}"
    some = []
    for index in np.argwhere(~ok)[:4]:
        at = tuple(index)
        source = [np.asarray(d)[at[:1]] if np.shape(d)[:1] == ok.shape[:1] else "" for d in data]
        some.append(f"at {', '.join(map(str, source))} {at[1:] or ''}: {got[at]}, not {want[at]}")
    return f"{(~ok).sum()} of {ok.size} differ: " + "; ".join(some)
