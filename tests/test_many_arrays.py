"""Many NumPy arrays at once: by the extension and by its twin in Python."""

import contextlib
import importlib.util

import numpy as np
import pytest

from flambeau import _many_arrays


def twins():
    """The module without the extension."""
    spec = importlib.util.find_spec("flambeau._many_arrays")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLAMBEAU_NATIVE", "0")
        spec.loader.exec_module(module)
    return module


@pytest.fixture(params=[twins(), _many_arrays], ids=["python", "as installed"])
def many(request):
    return request.param


def test_forms_distinguish_dtypes_shapes_and_strides(many):
    x = np.zeros((2, 3), np.float32)
    form = many.forms_of([x])
    assert form == many.forms_of([np.ones((2, 3), np.float32)])
    for other in (x.T, x.reshape(6), x.view(np.int32), np.zeros((3, 2), np.float32).T, np.float32(0) * x[0]):
        assert form != many.forms_of([other])
    assert many.forms_of([]) == many.forms_of([])
    assert many.forms_of([x, x]) != form


def test_plain_arrays_may_be_written_to(many):
    x, fixed = np.zeros((2, 3)), np.zeros(())
    fixed.flags.writeable = False
    assert many.are_plain([x, np.zeros(())])
    assert many.are_plain([])
    assert not many.are_plain([x, x.T])
    assert not many.are_plain([fixed])


def test_numbers_are_equal_bit_by_bit(many):
    def numbers(*values, dtype=np.float32):
        return [np.array(v, dtype) for v in values]

    assert many.are_equal_numbers(numbers(3, 3, 3))
    assert many.are_equal_numbers(numbers(7))
    assert many.are_equal_numbers([])
    assert not many.are_equal_numbers(numbers(3, 3, 4))
    assert not many.are_equal_numbers(numbers(0.0, -0.0))
    assert not many.are_equal_numbers([*numbers(3), *numbers(3, dtype=np.float64)])
    assert not many.are_equal_numbers([*numbers(3), np.array([3], np.float32)])


def test_arrays_are_filled(many):
    arrays = [np.zeros(()), np.zeros((2, 2)), np.zeros((2, 3)).T, np.zeros((), np.int64)]
    many.fill_each(arrays, [np.array(2.0), np.eye(2), np.ones((3, 2), np.float32), np.float64(4)])
    assert [a.sum() for a in arrays] == [2, 2, 6, 4]
    many.fill_each([], [])
    memory = np.arange(4.0)
    many.fill_each([memory[1:]], [memory[:3]])
    assert memory.tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize("call, error", [
    (lambda m: m.fill_each([np.zeros(2)], []), ValueError),
    (lambda m: m.fill_each([np.zeros(2)], [np.zeros(3)]), ValueError),
    (lambda m: m.forms_of([3]), (TypeError, AttributeError)),
    (lambda m: m.are_plain([3]), (TypeError, AttributeError)),
    (lambda m: m.are_equal_numbers([3]), (TypeError, AttributeError)),
])
def test_bad_arguments(many, call, error):
    with pytest.raises(error):
        call(many)


def test_values_may_change_the_lists(many):
    """Values that are no arrays are asked for one, which runs code."""

    class Value:
        def __init__(self, run):
            self.run = run

        def __array__(self, dtype=None, copy=None):
            self.run()
            return np.ones(3)

    def change():
        arrays[1:] = ["no array", None]

    arrays, values = [np.zeros(3) for _ in range(40)], [np.ones(3) for _ in range(40)]
    values[0] = Value(change)
    with pytest.raises(TypeError):
        many.fill_each(arrays, values)
    arrays = [np.zeros(3) for _ in range(40)]
    first = arrays[0]
    values[0] = Value(lambda: (arrays.clear(), values.clear()))
    with contextlib.suppress(ValueError):  # the lists have another length
        many.fill_each(arrays, values)
    assert first.tolist() == [1, 1, 1]
