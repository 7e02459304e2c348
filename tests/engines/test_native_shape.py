"""Native views and stacks against their twins: the same elements, memory and strides."""

import itertools

import numpy as np
import pytest

from flambeau.engines import NUMPY
from flambeau.engines.numpy import native

pytestmark = pytest.mark.skipif(not native.NAMES, reason="flambeau._kernels was not built, or is turned off")

WHOLE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
INPUTS = {
    "matrix": WHOLE[0], "cube": WHOLE, "transposed": WHOLE.T, "part": WHOLE[:, 1:, ::2], "reversed": WHOLE[:, ::-1],
    "vector": WHOLE[0, 0], "scalar": np.array(3.0), "ones": np.ones((1, 3, 1)), "empty": np.ones((2, 0, 3)),
    "expanded": NUMPY.broadcast_to(np.arange(3.0), (2, 3)), "read-only": np.frombuffer(b"abcdefgh", np.uint8),
}
each_input = pytest.mark.parametrize("x", INPUTS.values(), ids=INPUTS)


def check(name, x, *arguments):
    """Compares what the kernel `name` and its twin do."""
    kernel = getattr(NUMPY, name)
    try:
        twin = kernel.__wrapped__(x, *arguments)
    except Exception as error:
        with pytest.raises(type(error)):
            kernel(x, *arguments)
        return
    ours = kernel(x, *arguments)
    if twin is None or ours is None:
        assert twin is ours is None or 1 in x.shape  # the twin leaves dimensions of size one to others
        return
    assert (ours.shape, ours.strides, ours.dtype) == (twin.shape, twin.strides, twin.dtype)
    assert ours.flags.writeable == x.flags.writeable
    np.testing.assert_array_equal(ours, twin)
    if ours.size:
        assert ours.__array_interface__["data"] == twin.__array_interface__["data"]


@each_input
def test_expand_dims(x):
    for axis in range(x.ndim + 1):
        check("expand_dims", x, axis)
    check("expand_dims", x, x.ndim + 3)


@each_input
def test_broadcast_to(x):
    wider = tuple([5 if n == 1 else n for n in x.shape])
    for shape in (x.shape, wider, (2, *wider), (1, *x.shape), (2, 1, *x.shape), (0, *x.shape), (7,), (), (2**40, 2**40)):
        check("broadcast_to", x, shape)


@each_input
def test_new_dims(x):
    for key in ((None, ...), (..., None), (None, ..., None), (None, 0, ...), (slice(1), None, ...), (None, 9, ...)):
        check("new_dims", x, key)


@each_input
def test_view_contiguous(x):
    shapes = itertools.product((-2, -1, 1, 2, 3, 4, 6, 8, 12, 24), repeat=2)
    for shape in (*shapes, (-1,), (), (24,), (4, 3, 2), (4, -1, 2), (2, 3, 4, 1), [6, 4], (6.0, 4), (True, 24), "a", (0,)):
        check("view_contiguous", x, shape)


@each_input
def test_stack(x):
    for axis in range(-x.ndim - 2, x.ndim + 2):
        for pieces in ([x], [x, x], (x, x * 2, x + 1), [x, x.astype(np.float64)], [x, x[..., None]], []):
            kernel = NUMPY.stack
            try:
                twin = kernel.__wrapped__(pieces, axis)
            except Exception as error:
                with pytest.raises(type(error)):
                    kernel(pieces, axis)
                continue
            ours = kernel(pieces, axis)
            assert ours.flags.c_contiguous and ours.dtype == twin.dtype
            np.testing.assert_array_equal(ours, twin)
            assert not np.shares_memory(ours, x)
