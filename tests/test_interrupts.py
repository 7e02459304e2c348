"""Signals that arrive during an update that must not be interrupted are handled afterwards."""

import signal
import threading

import pytest

from flambeau._interrupts import SIGNALS, defer_interrupts


def handlers():
    return [signal.getsignal(number) for number in SIGNALS]


@pytest.fixture(autouse=True)
def _same_handlers():
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
    before = handlers()
    yield
    assert handlers() == before
    signal.signal(signal.SIGINT, inherited)


def test_an_interrupt_arrives_when_the_block_is_left():
    done = []
    with pytest.raises(KeyboardInterrupt), defer_interrupts():
        signal.raise_signal(signal.SIGINT)
        done.append("first")
        with defer_interrupts():
            signal.raise_signal(signal.SIGINT)
            done.append("second")
        done.append("third")
    assert done == ["first", "second", "third"]


def test_an_error_of_the_block_is_the_context_of_an_interrupt():
    with pytest.raises(KeyboardInterrupt) as caught, defer_interrupts():
        signal.raise_signal(signal.SIGINT)
        raise ValueError
    assert isinstance(caught.value.__context__, ValueError)


def test_every_handler_runs_with_its_signal(monkeypatch):
    found = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: found.append((number, frame is not None)))
    try:
        with defer_interrupts():
            signal.raise_signal(signal.SIGUSR1)
            assert not found
        assert found == [(signal.SIGUSR1, True)]
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_handler_that_is_set_inside_stays():
    own = lambda number, frame: None  # noqa: E731
    before = signal.getsignal(signal.SIGINT)
    try:
        with defer_interrupts():
            signal.signal(signal.SIGINT, own)
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_have_no_handlers():
    found = []

    def work():
        with defer_interrupts():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(signal.SIGINT)]
