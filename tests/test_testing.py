"""assert_close and make_tensor, compared with PyTorch."""

import math

import numpy as np
import pytest

import flambeau
from _programs import Programs, differences

programs = Programs("testing_programs.json")
NAN = float("nan")


def outcome(t, actual, expected, **settings):
    try:
        t.testing.assert_close(actual, expected, **settings)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "close"


@programs
def close(t):
    one, three = t.ones(1), t.tensor([1.0, 2.0, 3.0])
    return [
        outcome(t, three, three.clone()), outcome(t, three, t.tensor([1.0, 2.0, 4.0])), outcome(t, three, t.ones(4)),
        outcome(t, three, three.double()), outcome(t, three, three.double(), check_dtype=False),
        outcome(t, t.tensor([1, 2]), t.tensor([1, 3])), outcome(t, 1.0, 1.1), outcome(t, 1, 1.0), outcome(t, 1, 2),
        outcome(t, [one, 2], [one, 3]), outcome(t, (one, {"a": one}), (one, {"a": one + 1})), outcome(t, [1, 2], [1]),
        outcome(t, {"a": 1}, {"b": 1}), outcome(t, t.tensor(1.0), t.tensor(2.0)), outcome(t, None, None), outcome(t, None, 1),
        outcome(t, t.tensor([NAN]), t.tensor([NAN])), outcome(t, t.tensor([NAN]), t.tensor([NAN]), equal_nan=True),
        outcome(t, one, one * 2, rtol=1), outcome(t, one, one * 1.5, rtol=0.5, atol=0), outcome(t, one, one * 2, msg="told so"),
        outcome(t, one, one * 2, msg=lambda text: "told " + text[:12]), outcome(t, t.tensor([True, False]), t.tensor([True, True])),
        outcome(t, t.tensor([1 + 2j]), t.tensor([1 + 3j])), outcome(t, t.ones(2, 3), t.ones(3, 2).t(), check_stride=True),
        outcome(t, t.ones(2, dtype=t.bfloat16), t.full((2,), 1.01, dtype=t.bfloat16)),
        outcome(t, one + 1e-6, one), outcome(t, one.double() + 1e-6, one.double()), outcome(t, True, False),
    ]


@programs
def close_integers(t):
    large = 2**62
    return [outcome(t, t.tensor([large]), t.tensor([large + 1])), outcome(t, t.tensor(large), t.tensor(large + 1)),
            outcome(t, large, large + 1), outcome(t, t.tensor([3, large]), t.tensor([4, large]), rtol=0, atol=1),
            outcome(t, t.tensor([200], dtype=t.uint8), t.tensor([3], dtype=t.uint8)), outcome(t, np.int64(1), 1)]


@programs
def close_and_sparse(t):
    eye = t.eye(2).to_sparse()
    twice = t.sparse_coo_tensor(t.tensor([[0, 1, 1], [0, 1, 1]]), t.tensor([1.0, 0.5, 0.5]), (2, 2))
    return [outcome(t, eye, other, **settings) for other in (eye.clone(), eye * 2, t.ones(2, 2).to_sparse(), t.eye(2), twice,
                                                             t.sparse_coo_tensor(t.tensor([[0, 1], [1, 1]]), t.ones(2), (2, 2)))
            for settings in ({}, {"check_layout": False})]


@programs
def kinds_that_are_not_compared(t):
    one = t.ones(1)
    found = [outcome(t, *pair) for pair in ((1.0, one), (one, [1.0]), (one, np.ones(1, "f")), ([1.0], np.ones(1)), ({1}, {1}))]
    return [text[:59] for text in found]


@programs
def made(t):
    make = t.testing.make_tensor
    t.manual_seed(0)
    gaps = make(3, 4, dtype=t.float32, device="cpu", noncontiguous=True)
    bytes_, bools = make(200, dtype=t.uint8, device="cpu"), make(50, dtype=t.bool, device="cpu")
    whole = make((300,), dtype=t.int64, device="cpu", low=-1, high=2, exclude_zero=True)
    floats = make(300, dtype=t.float64, device="cpu", low=2, high=3, requires_grad=True)
    last = make(2, 3, 4, 5, dtype=t.float32, device="cpu", memory_format=t.channels_last)
    return [list(gaps.shape), gaps.is_contiguous(), str(bytes_.dtype), int(bytes_.max()), int(bools.sum()) > 0,
            sorted(set(whole.tolist())), bool((floats >= 2).all() and (floats < 3).all()), floats.requires_grad,
            last.is_contiguous(memory_format=t.channels_last), list(make(dtype=t.float32, device="cpu").shape)]


@pytest.mark.parametrize("name", programs.names())
def test_as_recorded(name):
    assert differences(programs.run(name, flambeau), programs.recorded(name)) == []


@pytest.mark.oracle
@pytest.mark.parametrize("name", programs.names())
def test_recording_is_what_torch_does(name):
    torch = pytest.importorskip("torch")
    assert differences(programs.run(name, torch), programs.recorded(name)) == []


def test_what_cannot_be_compared():
    with pytest.raises(TypeError, match="two tensors, two numbers or two collections"):
        flambeau.testing.assert_close("a", "a")
    with pytest.raises(ValueError, match="`low` must be less than `high`"):
        flambeau.testing.make_tensor(2, dtype=flambeau.float32, low=3, high=1)


BOUNDS = [(None, None), (0, 5), (-3, 3), (-1e300, 1e300), (-math.inf, math.inf), (None, 3), (3, None), (0.5, 2.5), (-300, 300),
          (True, 2), (0, 1), (-(2**63), 2**63), (0, 2**70),  # drawn
          (math.nan, 1), (1, math.nan), (3, 1), (None, -20), (20, None), (1e300, 2e300), (5, -math.inf)]  # refused
KINDS = ["bool", "uint8", "int8", "int32", "int64", "uint16", "float16", "bfloat16", "float32", "float64", "complex64",
         "float8_e5m2"]


def drawn(t, kind, low, high, **options):
    """The values that make_tensor draws from seed 0, and the strides of the result; or the type of its exception."""
    t.manual_seed(0)
    try:
        out = t.testing.make_tensor(2, 3, dtype=getattr(t, kind), device="cpu", low=low, high=high, **options)
    except Exception as error:
        return type(error).__name__
    values = out.float() if kind in ("bfloat16", "float8_e5m2") else out
    return values.tolist(), out.stride(), str(out.dtype)


@pytest.mark.oracle
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("low", "high"), BOUNDS)
def test_make_tensor_draws_as_torch_does(kind, low, high):
    torch = pytest.importorskip("torch")
    for options in ({}, {"noncontiguous": True}):
        want, got = (drawn(t, kind, low, high, **options) for t in (torch, flambeau))
        if isinstance(want, str):
            assert got == want
            continue
        assert got[1:] == want[1:]
        np.testing.assert_allclose(np.array(got[0]), np.array(want[0]), rtol=1e-6)


@pytest.mark.parametrize(("options", "words"), [
    ({"low": 3, "high": 1}, "less than `high`"), ({"low": math.nan}, "cannot be NaN"),
    ({"low": 250, "high": 300, "dtype": flambeau.int8}, r"only supports \[-128, 128\)"),
    ({"dtype": flambeau.int8, "requires_grad": True}, "not supported for boolean and integral dtypes"),
    ({"noncontiguous": True, "memory_format": flambeau.contiguous_format}, "mutually exclusive"),
])
def test_make_tensor_refuses(options, words):
    with pytest.raises(ValueError, match=words):
        flambeau.testing.make_tensor(2, **{"dtype": flambeau.float32, **options})


def test_make_tensor_of_an_empty_interval():
    with pytest.warns(FutureWarning, match="Passing `low==high`"):
        assert flambeau.testing.make_tensor(2, dtype=flambeau.float32, low=2, high=2).tolist() == [2, 2]


def test_make_tensor_without_zeros():
    for dtype in (flambeau.bool, flambeau.uint8, flambeau.float64):
        assert flambeau.testing.make_tensor(50, dtype=dtype, low=0, high=2, exclude_zero=True).all()
