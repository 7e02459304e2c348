"""torch.futures, by programs that run on PyTorch too."""

import pytest

import flambeau


def both():
    return [flambeau, pytest.param("torch", marks=pytest.mark.oracle)]


@pytest.fixture(params=both(), ids=["flambeau", "torch"])
def t(request):
    return pytest.importorskip("torch") if request.param == "torch" else request.param


def test_results_reach_those_who_wait(t):
    future = t.futures.Future()
    seen = []
    future.add_done_callback(lambda done: seen.append(done.wait()))
    later = future.then(lambda done: done.wait() + 1)
    assert not future.done() and not later.done()
    future.set_result(1)
    future.add_done_callback(lambda done: seen.append(done.value()))
    assert (future.done(), future.wait(), future.value(), later.wait(), seen) == (True, 1, 1, 2, [1, 1])


def test_a_result_is_set_once(t):
    future = t.futures.Future()
    future.set_result(None)
    with pytest.raises(RuntimeError, match="mark a completed Future as complete again"):
        future.set_result(2)


def test_exceptions(t):
    future = t.futures.Future()
    future.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        future.wait()
    later = future.then(lambda done: done.wait())
    with pytest.raises((ValueError, RuntimeError), match="no"):  # PyTorch wraps what a callback raises
        later.wait()
    with pytest.raises(AssertionError):
        t.futures.Future().set_exception("no")


def test_many(t):
    futures = [t.futures.Future() for _ in range(3)]
    together = t.futures.collect_all(futures)
    for number, future in enumerate(futures):
        assert not together.done()
        future.set_result(number)
    assert [future.wait() for future in together.wait()] == t.futures.wait_all(futures) == [0, 1, 2]
    assert t.futures.collect_all([]).wait() == []
