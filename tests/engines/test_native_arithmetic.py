"""Native arithmetic is bitwise equal to NumPy's, however the operands broadcast."""

import numpy as np
import pytest

import flambeau
from flambeau.engines import NUMPY
from flambeau.engines.numpy import native

pytestmark = pytest.mark.skipif(not native.NAMES, reason="flambeau._kernels was not built, or is turned off")

NAMES = ("add", "subtract", "multiply", "divide")
SHAPES = (
    ((), ()), ((1,), (1,)), ((5,), ()), ((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 4), (3, 1)), ((1, 4), (3, 1)),
    ((2, 3, 5, 7), (2, 3, 1, 1)), ((2, 3, 5, 7), (3, 1, 1)), ((2, 3, 5, 7), (1, 1, 5, 7)), ((2, 1, 5, 1), (1, 3, 1, 7)),
    ((2, 3, 5, 7), (2, 1, 5, 1)), ((0, 3), (1, 3)), ((0,), ()), ((2, 0, 3), (2, 1, 1)), ((2000, 2), (2000, 1)),
    ((300, 1), (1, 500)), ((400, 500), (400, 500)), ((64, 64, 9, 9), (1, 64, 1, 1)), ((3, 4), (2, 3)), ((3,), (0,)),
)
SPECIAL = np.array([0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e30, 1e-40], np.float32)


@pytest.fixture(params=[16, 32, 64], autouse=True)
def width(request):
    """Each test with all vectors that this processor has."""
    from flambeau import _kernels

    if _kernels.use_width(request.param) != request.param:
        pytest.skip(f"this processor has no vectors of {request.param} bytes")
    yield
    _kernels.use_width(64)


def check(name, x, y):
    kernel = getattr(NUMPY, name)
    with np.errstate(all="ignore"):
        try:
            twin = np.asarray(kernel.__wrapped__(x, y))
        except Exception as error:
            with pytest.raises(type(error)):
                kernel(x, y)
            return
        ours = np.asarray(kernel(x, y))
    assert (ours.shape, ours.dtype) == (twin.shape, twin.dtype)
    assert ours.flags.c_contiguous == twin.flags.c_contiguous
    np.testing.assert_array_equal(ours, twin)
    np.testing.assert_array_equal(np.signbit(ours.real), np.signbit(twin.real))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_broadcasting(name, shapes):
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        x, y = (np.asarray(rng.standard_normal(shape).astype(dtype)) for shape in shapes)
        check(name, x, y)
        check(name, y, x)


@pytest.mark.parametrize("name", NAMES)
def test_special_values(name):
    check(name, SPECIAL, SPECIAL[:, None])
    check(name, np.tile(SPECIAL, 9), np.repeat(SPECIAL, 9))
    for number in SPECIAL:
        check(name, SPECIAL, np.array(number))
        check(name, np.array(number), SPECIAL)


@pytest.mark.parametrize("name", ["hypot", "logaddexp"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_of_two_arrays(name, dtype):
    kernel, rng = getattr(NUMPY, name), np.random.default_rng(0)
    special = SPECIAL.astype(dtype)
    operands = [tuple(rng.standard_normal(shape).astype(dtype) * 20 for shape in pair) for pair in SHAPES[:-2]]
    operands += [(special, special[:, None]), (special, np.array(1, dtype)), (special[::2], special[::-2])]
    for x, y in operands:
        with np.errstate(all="ignore"):
            right = getattr(np, name)(x.astype(np.longdouble), y.astype(np.longdouble))
            ours, twin = (np.asarray(call(x, y)) for call in (kernel, kernel.__wrapped__))
            assert (ours.dtype, ours.shape) == (twin.dtype, twin.shape)
            for found in (ours, twin):
                size = np.maximum(np.abs(x), np.abs(y))  # of what is added up
                close = np.abs(found - right) <= 4 * np.finfo(dtype).eps * size + 2 * np.finfo(dtype).eps
                assert (close | (found == right.astype(dtype)) | (np.isnan(found) & np.isnan(right))).all()


@pytest.mark.parametrize("name", NAMES)
def test_what_the_twin_does(name):
    x = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
    others = (x.T.copy().T, x[:, ::-1], x.astype(np.int64), x.astype(np.float64), x > 3, x.astype(np.complex64), 2.0, 3)
    for y in others:
        check(name, x, y)
        check(name, y, x)
        check(name, y, y)
    out = np.empty_like(x)
    assert getattr(NUMPY, name)(x, x, out=out) is out


@pytest.mark.parametrize("shapes", [((1000, 1000), (1000, 1000)), ((16, 64, 40, 40), (16, 64, 1, 1))], ids=str)
def test_threads_share_the_work(shapes):
    before = flambeau.get_num_threads()
    x, y = (np.random.default_rng(0).standard_normal(shape).astype(np.float32) for shape in shapes)
    try:
        for count in (1, 2, 3):
            flambeau.set_num_threads(count)
            check("multiply", x, y)
    finally:
        flambeau.set_num_threads(before)
