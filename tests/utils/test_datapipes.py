"""Datapipes, and streams of the CPU: the same programs on both libraries."""

import copy
import importlib
import pickle

import pytest

import flambeau


@pytest.fixture(params=["flambeau", pytest.param("torch", marks=pytest.mark.oracle)])
def pipes(request):
    pytest.importorskip(request.param)
    return importlib.import_module(f"{request.param}.utils.data.datapipes.iter")


def odd(number):
    return number % 2 == 1


@pytest.mark.parametrize("drop_last", [False, True])
def test_chains(pipes, drop_last):
    numbers = pipes.IterableWrapper(range(7))
    batches = numbers.map(abs).batch(3, drop_last=drop_last)
    assert list(batches) == list(batches) == [[0, 1, 2], [3, 4, 5], [6]][: 3 - drop_last]
    assert len(batches) == 3 - drop_last
    assert list(pipes.Filter(numbers, odd)) == list(numbers.filter(odd)) == [1, 3, 5]
    assert list(pickle.loads(pickle.dumps(batches))) == list(copy.copy(batches)) == list(batches)


def test_errors(pipes):
    numbers = pipes.IterableWrapper([1])
    with pytest.raises(AttributeError, match="no attribute 'no_such_pipe"):
        numbers.no_such_pipe()
    with pytest.raises(AssertionError, match="larger than 0"):
        numbers.batch(0)


def test_a_method_of_ones_own():
    data = flambeau.utils.data

    @data.functional_datapipe("twice_for_this_test")
    class Twice(data.IterDataPipe):
        def __init__(self, source):
            self.source = source

        def __iter__(self):
            for sample in self.source:
                yield from (sample, sample)

    chain = data.datapipes.iter.IterableWrapper([1, 2]).twice_for_this_test()
    assert list(data.DataLoader(chain, batch_size=None)) == [1, 1, 2, 2]
    with pytest.raises(Exception, match="already taken"):
        data.functional_datapipe("twice_for_this_test")(Twice)


@pytest.mark.parametrize("library", ["flambeau", pytest.param("torch", marks=pytest.mark.oracle)])
def test_streams_of_the_cpu(library):
    t = pytest.importorskip(library)
    stream = t.Stream(device="cpu")
    assert stream.query() and stream.synchronize() is None and stream.device.type == "cpu"
    with pytest.raises(RuntimeError, match="cpu backend doesn't support events"):
        t.Event(device="cpu").record()
