"""Python ints beyond int64 are refused as in PyTorch, or accepted as uint64."""

import warnings

import pytest

import flambeau

INTS = {"2**63": 2**63, "2**64": 2**64, "-2**63 - 1": -(2**63) - 1, "2**200": 2**200}
DTYPES = ("bool", "uint8", "int64", "float16", "float32", "float64")
CALLS = """
x + v
x * v
x == v
x.mul_(v)
x.fill_(v)
t.fill(x, v)
x.masked_fill_(x == 0, v)
x.index_fill(0, t.tensor([0]), v)
x.clamp(max=v)
x.clamp(min=v)
x.new_full((2,), v)
x.__setitem__(0, v)
x.__setitem__(slice(None), v)
t.full((2,), v, dtype=x.dtype)
t.full((2,), v)
t.full_like(x, v)
t.tensor(v, dtype=x.dtype)
t.where(x == 0, x, v)
""".strip().splitlines()


def outcome(t, call, dtype, value):
    """The elements of the result and of `x`, or the type of the error."""
    x = t.zeros(2, dtype=getattr(t, dtype))
    try:
        result = eval(call, {"t": t, "x": x, "v": value})
    except Exception as error:
        return type(error).__name__
    return [r.tolist() for r in (result, x) if r is not None]


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("call", CALLS)
def test_large_ints_are_treated_as_in_pytorch(call, dtype):
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = {name: outcome(torch, call, dtype, value) for name, value in INTS.items()}
        assert {name: outcome(flambeau, call, dtype, value) for name, value in INTS.items()} == wanted


@pytest.mark.parametrize("call, error", [
    ("x.__setitem__(0, v)", "ValueError"), ("x.clamp(max=v)", "OverflowError"), ("x.fill_(v)", "OverflowError"), ("x + v", "OverflowError"),
])
def test_ints_beyond_64_bits_are_refused(call, error):
    assert outcome(flambeau, call, "float32", 2**200) == error
