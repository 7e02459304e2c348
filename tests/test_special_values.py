"""Values and first gradients at nan, infinities, zeros, subnormal and largest numbers, compared by op and dtype."""

import itertools

import pytest

import flambeau
from _special_values import BINARY_CALLS, DTYPES, REDUCTION_CALLS, UNARY_CALLS, differences, few, rows, values

FLOATS = "float16 bfloat16 float32 float64"
COMPLEX = "complex64 complex128"
INTS = "int64 int32 uint8 int8"

# Where we differ, and why: calls and the dtypes in which they do.
DIFFERENT = {
    "exact here, less so in PyTorch (poles, cancellation, what underflows, or float32 on the way)": {
        "t.digamma(x)": FLOATS, "t.polygamma(1, x)": f"{FLOATS} int64 int32 int8", "t.special.i1(x)": "float32",
        "t.special.log_ndtr(x)": "float32 float64", "t.special.ndtr(x)": "float64 bfloat16 int64 int32 int8", "t.mvlgamma(x, 2)": "float64",
        "t.special.bessel_j0(x)": "float64 int32", "t.special.bessel_y0(x)": "float64 int32", "t.sinc(x)": "float16",
        "t.nn.functional.hardsigmoid(x)": "float64", "t.nn.functional.celu(x, 0.3)": "float64", "t.acos(x)": "complex128",
        "t.nn.functional.silu(x)": "float32 bfloat16", "t.logaddexp2(x, y)": "float32 float64 bfloat16", "t.lgamma(x)": "float64",
        "t.nn.functional.cosine_similarity(x[:, None], y[:, None], 1)": "float64", "t.cov(x[:3])": "int64", "t.corrcoef(x[:3])": "int64",
        'x.log_softmax(1)': "bfloat16", "t.histc(x.abs().clamp(0, 1).nan_to_num())": "bfloat16", "t.sigmoid(x)": "complex128",
        't.nn.functional.binary_cross_entropy_with_logits(x, y, reduction="none")': "float16 bfloat16",
        "(-2.0) ** x": COMPLEX, "t.special.erfcx(x)": "float64",
    },
    "half precision is computed in float32 here from end to end": {
        "x ** 0.5": "float16", "x ** 1.5": "float16", "t.pow(x, y)": "float16", "t.atan2(x, y)": "float16", "t.ldexp(x, y)": "float16",
        "t.addcdiv(x, x, y, value=2)": "float16", "x.prod(1)": "float16", "x.std(1)": "float16 bfloat16", "x.norm(3, 1)": "float16",
        "x.norm(-1, 1)": "float16", "t.linalg.vector_norm(x, 4, 1)": "float16",
        "t.nn.functional.lp_pool1d(x, 2, 2)": "float16",
    },
    "a fused multiplication and addition there, or another order of them: what overflows on the way differs": {
        "t.sub(x, y, alpha=2)": "float32 float64 float16", "t.polar(x, y)": "float32 float64", "t.nn.functional.layer_norm(x, x.shape[1:])": FLOATS,
        "t.cdist(x, x)": FLOATS, "t.nn.functional.rms_norm(x, x.shape[1:])": "float32 float64 bfloat16 complex64", "t.var_mean(x, 1)": f"{FLOATS} {COMPLEX}",
        "t.std_mean(x, 1)": f"{FLOATS} {COMPLEX}", "x.var(1)": "float64 complex128", "x.std(1)": "float64 complex128 float16 bfloat16",
        "x.std(1, unbiased=False)": "float64 complex64 complex128", "t.nn.functional.avg_pool1d(x, 2)": "int64",
        "t.nn.functional.lp_pool1d(x, 2, 2)": "int64 bool float16", "x.prod(1)": "complex128 float16", "x @ x[:4].T": COMPLEX,
        "t.div(x, y)": COMPLEX, "t.true_divide(x, y)": COMPLEX, "t.atanh(x)": COMPLEX, "t.angle(x)": COMPLEX,
        "t.addcmul(x, x, y, value=2)": COMPLEX, "t.addcmul(x, x, x)": COMPLEX,
    },
    "infinite complex numbers: PyTorch multiplies by a complex 1, or takes another branch": {
        "t.add(x, y)": COMPLEX, "t.sub(x, y)": COMPLEX, "1 - x": COMPLEX, "x.diff(dim=1)": COMPLEX, "t.gradient(x, dim=1)[0]": COMPLEX,
        "t.reciprocal(x)": COMPLEX, "t.rsqrt(x)": COMPLEX, "x ** -1": COMPLEX, "x ** -2": COMPLEX, "0 ** x": COMPLEX, "0.3 ** x": "complex64",
        "t.pow(x, y)": f"{COMPLEX} float16", "t.float_power(x, y)": COMPLEX, "t.ldexp(x, y)": f"{COMPLEX} float16",
        "t.logaddexp(x, y)": COMPLEX, "t.nn.functional.tanhshrink(x)": COMPLEX, "t.log1p(x)": COMPLEX,
        't.nn.functional.l1_loss(x, y, reduction="none")': COMPLEX,
    },
    "nan stays nan here, where PyTorch has a number, or the other way round": {
        "t.igamma(x, y)": FLOATS, "t.igammac(x, y)": FLOATS, "t.special.zeta(x, y)": "float32 float64 int64", "x.mode(1)": FLOATS,
        "x.cumprod(1)": f"{FLOATS} {COMPLEX}", "x.logcumsumexp(1)": f"{FLOATS} {COMPLEX}", "x.prod()": f"{FLOATS} {COMPLEX}",
        "x.renorm(2, 0, 1.0)": f"{FLOATS} {COMPLEX}",
    },
    "which of several equal elements is found": {
        "x.kthvalue(2, 1)": f"{FLOATS} {INTS}", "x.median(1)": "uint8 int8", "x.nanmedian(1)": "uint8 int8",
    },
    "PyTorch's result depends on the processor: with AVX-512 it is not what it is with AVX2": {
        "t.selu(x)": "float16 bfloat16", "t.nn.functional.elu(x)": "float16 bfloat16", "t.nn.functional.celu(x)": "float16 bfloat16",
        "t.nn.functional.elu(x, 0.3)": "float16 bfloat16", "t.nn.functional.elu(x, 0.5)": "float16 bfloat16",
        "t.nn.functional.celu(x, 0.3)": "float16 bfloat16", "t.sgn(x)": "complex64", "t.cov(x[:3])": COMPLEX, "t.corrcoef(x[:3])": COMPLEX,
    },
    "not recorded here: it has no gradient": {"t.unique(x)": FLOATS},
    "bool is refused here": {"t.clamp(x, min=y)": "bool", "t.clamp(x, max=y)": "bool"},
}
KNOWN = {(call, dtype) for table in DIFFERENT.values() for call, dtypes in table.items() for dtype in dtypes.split()}


def pairs(dtype):
    return [list(column) for column in zip(*itertools.product(few(dtype), repeat=2))]


TABLES = {
    "unary": (UNARY_CALLS, lambda dtype: [values(dtype)]),
    "binary": (BINARY_CALLS, pairs),
    "reductions": (REDUCTION_CALLS, lambda dtype: [rows(dtype)]),
}


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("table", TABLES)
def test_agrees_with_torch(table, dtype):
    torch = pytest.importorskip("torch")
    calls, data = TABLES[table]
    data = data(dtype)
    wrong = [d for call in calls if (call, dtype) not in KNOWN for d in differences(torch, call, dtype, *data)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.oracle
def test_a_gradient_that_is_nan_goes_on_as_in_torch():
    torch = pytest.importorskip("torch")
    numbers = [-3.0, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 7.0, float("inf"), -float("inf")]
    both = [list(column) for column in zip(*itertools.product(numbers, repeat=2))]
    tables = (UNARY_CALLS, [numbers]), (BINARY_CALLS, both)
    wrong = [d for calls, data in tables for call in calls for d in differences(torch, f"({call}) * t.nan", "float32", *data)]
    assert not wrong, "\n".join(wrong)


def test_calls_that_differ_are_in_the_tables():
    assert {call for call, _ in KNOWN} <= {*UNARY_CALLS, *BINARY_CALLS, *REDUCTION_CALLS}


# ---- fixed cases


NAN, INF = float("nan"), float("inf")


def slopes(code, x):
    x = flambeau.tensor(x, requires_grad=True)
    eval(code, {"t": flambeau, "x": x}).sum().backward()
    return x.grad.tolist()


def test_gradients_at_nan_and_near_zero():
    assert slopes("t.sinc(x)", [1e-45, 0.0, 1e-30]) == [0.0, 0.0, 0.0]
    assert str(slopes("x.amax(0)", [NAN, 1.0])) == "[nan, nan]"
    assert str(slopes("t.nn.functional.lp_pool1d(x[None], 2, 2)", [0.0, 0.0])) == "[0.0, 0.0]"
    assert slopes("x.reshape(2, 1).norm(dim=1)", [3e30, -3e30]) == [1.0, -1.0]
    norm = flambeau.nn.BatchNorm1d(2)
    norm(flambeau.zeros(0, 2)).sum().backward()
    assert norm.weight.grad.tolist() == [0.0, 0.0]


def test_values_that_overflow_or_vanish():
    large = flambeau.tensor([0.0, 3e30])
    assert large.std().item() == pytest.approx(3e30 / 2**0.5)
    assert flambeau.gradient(flambeau.tensor([0.0, INF, 4.0]))[0].tolist() == [INF, 2.0, -INF]
    assert flambeau.log1p(flambeau.tensor(1e-20 + 1e-20j)).item() == pytest.approx(1e-20 + 1e-20j)
    replaced = flambeau.nan_to_num(flambeau.tensor([complex(NAN, INF)]), 1.0, 2.0)
    assert replaced.tolist() == [1 + 2j]
    assert flambeau.lcm(flambeau.tensor(2**31 - 1, dtype=flambeau.int32), flambeau.tensor(2, dtype=flambeau.int32)).item() == 2
    assert flambeau.isclose(flambeau.tensor([-127], dtype=flambeau.int8), flambeau.tensor([1], dtype=flambeau.int8)).item() is False


def test_nan_is_found_at_the_end():
    half = flambeau.tensor([NAN, 0.5, NAN, -1.0], dtype=flambeau.bfloat16)
    assert flambeau.bucketize(half, flambeau.tensor([-1.0, 0.0, 1.0], dtype=flambeau.bfloat16)).tolist() == [3, 2, 3, 0]
    assert str(flambeau.unique(half).tolist()) == "[-1.0, 0.5, nan, nan]"
    assert flambeau.searchsorted(flambeau.tensor([0.0, NAN, NAN]), flambeau.tensor([-1.0, 2.0])).tolist() == [3, 3]
    third = flambeau.tensor([0.3], dtype=flambeau.bfloat16)
    assert flambeau.nn.functional.hardshrink(third, 0.3).item() == 0


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("name", ["var", "std"])
def test_slopes_without_degrees_of_freedom(name):
    """They are constants: that of the elements at the mean is nan, that of others infinite, and has no gradient."""
    x = flambeau.tensor([1.0, 2.0, 3.0], requires_grad=True)
    getattr(x, name)(correction=3).backward(create_graph=True)
    assert str(x.grad.tolist()) == ("[inf, nan, inf]" if name == "var" else "[nan, nan, nan]")
    alone = flambeau.tensor(1.0, requires_grad=True)
    alone.var().backward(create_graph=True)
    assert not alone.grad.requires_grad
