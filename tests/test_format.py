"""Tensors print as PyTorch prints them, character for character."""

import math
import random
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import flambeau
from flambeau import _dtypes
from flambeau._format import format_spec, format_tensor, get_printoptions, printoptions, set_printoptions

inf, nan = math.inf, math.nan


def f32(values):
    return np.array(values, np.float32)


def bf16(values):
    return np.array(values, ml_dtypes.bfloat16)


class Tensor:
    """What printing needs of a tensor."""

    def __init__(self, array, requires_grad=False, grad_fn=None, device="cpu"):
        self._a = np.asarray(array)
        self.dtype = f"torch.{self._a.dtype}"
        self.requires_grad = requires_grad or grad_fn is not None
        self.grad_fn = SimpleNamespace(name=lambda: grad_fn) if grad_fn else None
        self.device = Device(device)

    def __repr__(self):
        return format_tensor(self)

    def __format__(self, spec):
        return format_spec(self, spec)


class Device(str):
    @property
    def type(self):
        return self.partition(":")[0]


@pytest.fixture
def default_dtype():
    before = _dtypes.get_default_dtype()
    yield _dtypes.set_default_dtype
    _dtypes.set_default_dtype(before)


# An array, the tensor's state and the print options, the text that PyTorch prints.
RECORDED = [
    (f32(1), {}, "tensor(1.)"),
    (f32(0.1), {}, "tensor(0.1000)"),
    (np.float16(0.1), {}, "tensor(0.1000, dtype=torch.float16)"),
    (bf16(0.1), {}, "tensor(0.1001, dtype=torch.bfloat16)"),
    (np.float64(0.1), {}, "tensor(0.1000, dtype=torch.float64)"),
    (np.int64(-3), {}, "tensor(-3)"),
    (np.bool_(True), {}, "tensor(True)"),
    (np.uint8(255), {}, "tensor(255, dtype=torch.uint8)"),
    (np.complex64(1.5 - 2j), {}, "tensor(1.5000-2.j)"),
    (f32(nan), {}, "tensor(nan)"),
    (f32(-inf), {}, "tensor(-inf)"),
    (f32(-0.0), {}, "tensor(-0.)"),
    (f32([]), {}, "tensor([])"),
    (np.empty((0, 3), np.float32), {}, "tensor([], size=(0, 3))"),
    (np.empty((2, 0), np.int64), {}, "tensor([], size=(2, 0), dtype=torch.int64)"),
    (np.empty(0, np.int64), {}, "tensor([], dtype=torch.int64)"),
    (f32([1, 2, 3]), {}, "tensor([1., 2., 3.])"),
    (f32([0, 0]), {}, "tensor([0., 0.])"),
    (f32([-0.0, 1, 20]), {}, "tensor([-0.,  1., 20.])"),
    (f32([1, nan, inf, -inf]), {}, "tensor([1., nan, inf, -inf])"),
    (f32([0.5, nan, -inf, 0]), {}, "tensor([0.5000,    nan,   -inf, 0.0000])"),
    (f32([1, 1000]), {}, "tensor([   1., 1000.])"),
    (f32([1, 1001]), {}, "tensor([1.0000e+00, 1.0010e+03])"),
    (f32([1e8]), {}, "tensor([100000000.])"),
    (f32([2e8]), {}, "tensor([2.0000e+08])"),
    (f32([0.001, 1]), {}, "tensor([0.0010, 1.0000])"),
    (f32([0.0009, 1]), {}, "tensor([9.0000e-04, 1.0000e+00])"),
    (np.array([1e-4]), {}, "tensor([0.0001], dtype=torch.float64)"),
    (f32([1e-4]), {}, "tensor([1.0000e-04])"),
    (np.array([5e-324, 1e308]), {}, "tensor([4.9407e-324, 1.0000e+308], dtype=torch.float64)"),
    (f32([0.00005, 0.00015, 2.00005]), {}, "tensor([5.0000e-05, 1.5000e-04, 2.0001e+00])"),
    (f32([0.12345, 0.125, 0.99995]), dict(precision=2), "tensor([0.12, 0.12, 1.00])"),
    (f32([1.5, -2.5]), dict(precision=0), "tensor([ 2, -2])"),
    (f32([1.5, 20]), dict(sci_mode=True), "tensor([1.5000e+00, 2.0000e+01])"),
    (f32([1.5, 1e9]), dict(sci_mode=False), "tensor([         1.5000, 1000000000.0000])"),
    (f32([0, 0]), dict(sci_mode=True), "tensor([0., 0.])"),
    (np.array([-5, 1000], np.int32), {}, "tensor([  -5, 1000], dtype=torch.int32)"),
    (np.array([2**64 - 1], np.uint64), {}, "tensor([18446744073709551615], dtype=torch.uint64)"),
    (np.array([True, False]), {}, "tensor([ True, False])"),
    (np.array([1 + 2j, 3.5 - 1e-6j], np.complex64), {}, "tensor([1.0000+2.0000e+00j, 3.5000-1.0000e-06j])"),
    (
        np.array([complex(nan, inf), complex(-0.0, -0.0), 10 - 20j]),
        {},
        "tensor([nan+infj, -0.-0.j, 10.-20.j], dtype=torch.complex128)",
    ),
    (bf16([0.1, 1e-3, 3]), {}, "tensor([1.0010e-01, 9.9945e-04, 3.0000e+00], dtype=torch.bfloat16)"),
    (
        np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1)[:2],
        {},
        "tensor([[[ 0.,  4.,  8.],\n"
        "         [12., 16., 20.]],\n"
        "\n"
        "        [[ 1.,  5.,  9.],\n"
        "         [13., 17., 21.]]], dtype=torch.float64)",
    ),
    (
        np.arange(30),
        {},
        "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
        "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])",
    ),
    (np.arange(1001), {}, "tensor([   0,    1,    2,  ...,  998,  999, 1000])"),
    (
        np.arange(1200.0).reshape(40, 30) / 7,
        {},
        "tensor([[0.0000e+00, 1.4286e-01, 2.8571e-01,  ..., 3.8571e+00, 4.0000e+00,\n"
        "         4.1429e+00],\n"
        "        [4.2857e+00, 4.4286e+00, 4.5714e+00,  ..., 8.1429e+00, 8.2857e+00,\n"
        "         8.4286e+00],\n"
        "        [8.5714e+00, 8.7143e+00, 8.8571e+00,  ..., 1.2429e+01, 1.2571e+01,\n"
        "         1.2714e+01],\n"
        "        ...,\n"
        "        [1.5857e+02, 1.5871e+02, 1.5886e+02,  ..., 1.6243e+02, 1.6257e+02,\n"
        "         1.6271e+02],\n"
        "        [1.6286e+02, 1.6300e+02, 1.6314e+02,  ..., 1.6671e+02, 1.6686e+02,\n"
        "         1.6700e+02],\n"
        "        [1.6714e+02, 1.6729e+02, 1.6743e+02,  ..., 1.7100e+02, 1.7114e+02,\n"
        "         1.7129e+02]], dtype=torch.float64)",
    ),
    (
        np.arange(8).reshape(2, 2, 2),
        dict(edgeitems=1, threshold=7),
        "tensor([[[0, 1],\n         [2, 3]],\n\n        [[4, 5],\n         [6, 7]]])",
    ),
    (
        np.arange(27).reshape(3, 3, 3),
        dict(edgeitems=1, threshold=7),
        "tensor([[[ 0,  ...,  2],\n"
        "         ...,\n"
        "         [ 6,  ...,  8]],\n"
        "\n"
        "        ...,\n"
        "\n"
        "        [[18,  ..., 20],\n"
        "         ...,\n"
        "         [24,  ..., 26]]])",
    ),
    (np.arange(6), dict(edgeitems=0, threshold=5), "tensor([...], size=(6,))"),
    (np.arange(6), dict(edgeitems=0), "tensor([0, 1, 2, 3, 4, 5], size=(6,))"),
    (
        np.arange(6),
        dict(linewidth=20),
        "tensor([0, 1, 2, 3,\n        4, 5])",
    ),
    (
        np.arange(3),
        dict(linewidth=1),
        "tensor([0,\n        1,\n        2])",
    ),
    (
        np.arange(40.0) / 3,
        dict(profile="short"),
        "tensor([ 0.00,  0.33,  0.67,  1.00,  1.33,  1.67,  2.00,  2.33,  2.67,  3.00,\n"
        "         3.33,  3.67,  4.00,  4.33,  4.67,  5.00,  5.33,  5.67,  6.00,  6.33,\n"
        "         6.67,  7.00,  7.33,  7.67,  8.00,  8.33,  8.67,  9.00,  9.33,  9.67,\n"
        "        10.00, 10.33, 10.67, 11.00, 11.33, 11.67, 12.00, 12.33, 12.67, 13.00],\n"
        "       dtype=torch.float64)",
    ),
    (f32([1, 2]), dict(requires_grad=True), "tensor([1., 2.], requires_grad=True)"),
    (f32([1, 2]), dict(grad_fn="AddBackward0"), "tensor([1., 2.], grad_fn=<AddBackward0>)"),
    (
        np.array([1.0, 2.0]),
        dict(requires_grad=True),
        "tensor([1., 2.], dtype=torch.float64, requires_grad=True)",
    ),
    (
        f32([1.1] * 8),
        dict(requires_grad=True),
        "tensor([1.1000, 1.1000, 1.1000, 1.1000, 1.1000, 1.1000, 1.1000, 1.1000],\n"
        "       requires_grad=True)",
    ),
    (
        f32([1.1] * 6),
        dict(requires_grad=True),
        "tensor([1.1000, 1.1000, 1.1000, 1.1000, 1.1000, 1.1000], requires_grad=True)",
    ),
    (
        np.full((2, 6), 1.25),
        dict(grad_fn="AddBackward0"),
        "tensor([[1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500],\n"
        "        [1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500]], dtype=torch.float64,\n"
        "       grad_fn=<AddBackward0>)",
    ),
    (
        np.full((2, 7), 1.25),
        dict(grad_fn="AddBackward0"),
        "tensor([[1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500],\n"
        "        [1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500]],\n"
        "       dtype=torch.float64, grad_fn=<AddBackward0>)",
    ),
    (
        np.float64(1.25),
        dict(requires_grad=True, linewidth=30),
        "tensor(1.2500,\n       dtype=torch.float64,\n       requires_grad=True)",
    ),
    (np.empty((2, 3), np.float32), dict(device="meta"), "tensor(..., device='meta', size=(2, 3))"),
    (np.empty((), np.int64), dict(device="meta"), "tensor(..., device='meta', size=(), dtype=torch.int64)"),
    (
        np.empty((2, 3), np.float16),
        dict(device="meta", requires_grad=True),
        "tensor(..., device='meta', size=(2, 3), dtype=torch.float16,\n       requires_grad=True)",
    ),
    (
        np.empty((0, 3), np.float64),
        dict(grad_fn="AddBackward0"),
        "tensor([], size=(0, 3), dtype=torch.float64, grad_fn=<AddBackward0>)",
    ),
]

STATE = ("requires_grad", "grad_fn", "device")


@pytest.mark.parametrize(("array", "settings", "text"), RECORDED)
def test_prints_what_was_recorded(array, settings, text):
    state = {name: value for name, value in settings.items() if name in STATE}
    options = {name: value for name, value in settings.items() if name not in STATE}
    with printoptions(**options):
        assert repr(Tensor(array, **state)) == text


@pytest.mark.parametrize(
    ("default", "dtype", "text"),
    [
        ("float64", np.float64, "tensor([1.])"),
        ("float64", np.float32, "tensor([1.], dtype=torch.float32)"),
        ("float64", np.complex64, "tensor([1.+0.j], dtype=torch.complex64)"),
        ("float64", np.complex128, "tensor([1.+0.j])"),
        ("float16", np.float16, "tensor([1.])"),
        ("float16", np.complex64, "tensor([1.+0.j])"),
        ("bfloat16", ml_dtypes.bfloat16, "tensor([1.])"),
    ],
)
def test_only_the_default_dtype_is_silent(default_dtype, default, dtype, text):
    default_dtype(getattr(flambeau, default))
    assert repr(Tensor(np.ones(1, dtype))) == text


def test_names_another_device():
    assert repr(Tensor(f32([1]), device="cuda:0")) == "tensor([1.], device='cuda:0')"


def test_grad_fn_loses_its_namespace():
    shown = repr(Tensor(f32([1]), grad_fn="torch::autograd::CopySlices"))
    assert shown == "tensor([1.], grad_fn=<CopySlices>)"


def test_view_without_a_place_in_the_graph_prints():
    class Lost(Tensor):
        @property
        def grad_fn(self):
            raise RuntimeError("the view was written to")

        @grad_fn.setter
        def grad_fn(self, value):
            pass

    assert format_tensor(Lost(f32([1])), name="tensor") == "tensor([1.], grad_fn=<Invalid>)"


def test_subclass_prints_its_name_and_indents_by_it():
    class Image(Tensor):
        pass

    class Parameter(Tensor):
        pass

    assert repr(Image(np.eye(2, dtype=int))) == "Image([[1, 0],\n       [0, 1]])"
    assert repr(Parameter(f32([1]), requires_grad=True)) == "tensor([1.], requires_grad=True)"


def test_large_tensor_is_not_read_as_a_whole():
    # A billion elements over one byte of memory: a copy would not fit.
    vast = np.broadcast_to(np.int8(7), (1000, 1000, 1000))
    assert repr(Tensor(vast)).count("7") == 6**3


def test_format_of_a_scalar_is_that_of_the_number():
    assert f"{Tensor(f32(0.1))}" == "0.10000000149011612"
    assert f"{Tensor(bf16(0.1)):.3f}" == "0.100"
    assert f"{Tensor(np.int64(3)):05d}" == "00003"
    assert f"{Tensor(np.complex64(1 + 2j)):.2f}" == "1.00+2.00j"
    assert f"{Tensor(np.bool_(True))}" == "True"
    assert f"{Tensor(f32(1.5), requires_grad=True)}" == "1.5"


def test_format_of_other_tensors_takes_no_spec():
    class Parameter(Tensor):
        pass

    for t in (Tensor(f32([1])), Tensor(f32(1), device="meta"), Parameter(f32(1))):
        assert f"{t}" == repr(t)
        with pytest.raises(TypeError, match=f"passed to {type(t).__name__}.__format__"):
            format(t, ".2f")


def test_set_printoptions_refines_a_profile():
    default = dict(precision=4, threshold=1000, edgeitems=3, linewidth=80, sci_mode=None)
    try:
        set_printoptions(profile="short", precision=7, sci_mode=True)
        assert get_printoptions() == default | dict(precision=7, edgeitems=2, sci_mode=True)
        set_printoptions(linewidth=100)
        assert get_printoptions() == default | dict(precision=7, edgeitems=2, linewidth=100)
        set_printoptions(profile="full")
        assert get_printoptions() == default | dict(threshold=inf)
    finally:
        set_printoptions(profile="default")
    assert get_printoptions() == default


def test_printoptions_are_restored_after_an_error():
    before = get_printoptions()
    with pytest.raises(KeyError), printoptions(precision=1, sci_mode=True):
        raise KeyError
    assert get_printoptions() == before


FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEXES = ("complex64", "complex128")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "bool")
DTYPES = (*FLOATS, *COMPLEXES, *INTEGERS)

# Numbers at which the notation, the width or the rounding changes.
TURNS = (0.0, -0.0, 1.0, 0.5, 2.5, 0.1, 0.001, 1e-4, 9.9e-5, 0.99995, 9.99995, 0.12345, 1e3, 1001, 1e8, 1.1e8)


def to_dtype(values, dtype):
    """Casts without the warnings of an overflow; integers stay what fits into them."""
    np_dtype = getattr(flambeau, dtype).np
    if dtype in INTEGERS and dtype != "bool":
        limits = np.iinfo(np_dtype)
        values = np.clip(np.nan_to_num(values.real), max(limits.min, -(2**53)), min(limits.max, 2**53))
    with np.errstate(all="ignore"):
        return (values if dtype in COMPLEXES else values.real).astype(np_dtype)


def to_torch(array, state):
    torch = pytest.importorskip("torch")
    if array.dtype == ml_dtypes.bfloat16:
        t = torch.from_numpy(np.array(array.view(np.int16))).view(torch.bfloat16)
    else:
        t = torch.from_numpy(np.array(array))
    t = t.to(state.get("device", "cpu"))
    if "grad_fn" in state:
        return t.requires_grad_() + 0
    return t.requires_grad_(state.get("requires_grad", False))


def check_against_torch(array, state, options):
    torch = pytest.importorskip("torch")
    with printoptions(**options), torch._tensor_str.printoptions(**options):
        theirs = to_torch(array, state)
        if "grad_fn" in state:  # the sum turns -0 into 0
            array = array + np.zeros((), array.dtype)
        assert repr(Tensor(array, **state)) == repr(theirs)


def random_values(rng, shape):
    draw = np.random.default_rng(rng.getrandbits(32))
    scale = 10.0 ** rng.randint(-6, 9)
    values = rng.choice(
        [
            lambda: draw.standard_normal(shape) * scale,
            lambda: np.round(draw.standard_normal(shape) * scale),
            lambda: 10.0 ** draw.uniform(-8, 8, shape),
            lambda: 10.0 ** draw.integers(-5, 9, shape) * rng.choice([1, -1]),
            lambda: draw.integers(-20, 2000, shape) * 1.0,
            lambda: draw.choice(TURNS, shape),
            lambda: np.zeros(shape),
        ]
    )()
    if rng.random() < 0.3:
        odd = draw.choice([nan, inf, -inf, 0.0, -0.0], shape)
        values = np.where(draw.random(shape) < 0.3, odd, values)
    return values


def random_shape(rng):
    ndim = rng.choice([0, 1, 1, 2, 2, 3, 4])
    sizes = [1, 2, 3, 6, 7, 30, 200] if ndim <= 2 else [1, 2, 3, 5, 8]
    shape = [rng.choice(sizes) for _ in range(ndim)]
    if ndim and rng.random() < 0.05:
        shape[rng.randrange(ndim)] = 0
    return tuple(shape)


def random_array(rng):
    shape, dtype = random_shape(rng), rng.choice(DTYPES + 2 * FLOATS)
    values = np.empty(shape, complex)
    values.real, values.imag = random_values(rng, shape), random_values(rng, shape)
    array = to_dtype(values, dtype)
    return array.T[::2] if array.ndim > 1 and rng.random() < 0.2 else array


def random_state(rng, array):
    inexact = _dtypes.is_inexact(array.dtype)
    return rng.choice(
        [
            {},
            {"device": "meta"} if rng.random() < 0.2 else {},
            {"requires_grad": True} if inexact else {},
            {"grad_fn": "AddBackward0"} if inexact else {},
        ]
    )


def random_options(rng):
    if rng.random() < 0.4:
        return {}
    return {
        "profile": rng.choice([None, "default", "short", "full", "unknown"]),
        "precision": rng.choice([None, 0, 1, 2, 4, 8]),
        "threshold": rng.choice([None, 0, 5, 50, inf]),
        "edgeitems": rng.choice([None, 0, 1, 2, 3, 5]),
        "linewidth": rng.choice([None, 1, 20, 40, 60, 120]),
        "sci_mode": rng.choice([None, None, True, False]),
    }


@pytest.mark.oracle
@pytest.mark.parametrize("default", FLOATS)
def test_random_tensors_agree_with_torch(default_dtype, default):
    torch = pytest.importorskip("torch")
    default_dtype(getattr(flambeau, default))
    theirs = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, default))
    try:
        rng = random.Random(default)
        for _ in range(1000):
            array = random_array(rng)
            options = random_options(rng)
            if array.size > 2000:
                options["threshold"] = 100
            check_against_torch(array, random_state(rng, array), options)
    finally:
        torch.set_default_dtype(theirs)


@st.composite
def small_arrays(draw):
    dtype = draw(st.sampled_from(DTYPES))
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    number = st.sampled_from(TURNS) | st.floats(width=draw(st.sampled_from([16, 32, 64])))
    parts = hnp.arrays(float, shape, elements=number, fill=st.nothing())
    values = np.empty(shape, complex)
    values.real, values.imag = draw(parts), draw(parts)
    return to_dtype(values, dtype)


@pytest.mark.oracle
@settings(max_examples=500)
@given(
    small_arrays(),
    st.fixed_dictionaries(
        {},
        optional={
            "precision": st.integers(0, 20),
            "threshold": st.integers(0, 20),
            "edgeitems": st.integers(0, 4),
            "linewidth": st.integers(0, 100),
            "sci_mode": st.none() | st.booleans(),
        },
    ),
)
def test_searched_tensors_agree_with_torch(array, options):
    pytest.importorskip("torch")
    check_against_torch(array, {}, options)


@pytest.mark.oracle
@pytest.mark.parametrize(("array", "settings", "text"), RECORDED)
def test_records_are_what_torch_prints(array, settings, text):
    torch = pytest.importorskip("torch")
    state = {name: value for name, value in settings.items() if name in STATE}
    options = {name: value for name, value in settings.items() if name not in STATE}
    with torch._tensor_str.printoptions(**options):
        assert repr(to_torch(np.asarray(array), state)) == text
