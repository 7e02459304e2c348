"""``flambeau.cpu``: the functions that device-independent code calls on a device module."""

import pytest

import flambeau


def answers(t):
    cpu = t.cpu
    stream = cpu.current_stream()
    stream.wait_stream(cpu.Stream())
    event = cpu.Event()
    event.record(stream)
    stream.wait_event(stream.record_event())
    with cpu.stream(stream):
        inside = cpu.current_stream() is stream
    return [cpu.is_available(), cpu.is_initialized(), cpu.device_count(), cpu.current_device(), inside, event.query(),
            event.wait(), event.synchronize(), cpu.synchronize(), cpu.synchronize("cpu"), cpu.set_device("cpu")]


def test_answers():
    assert answers(flambeau) == [True, True, 1, "cpu", True, True, None, None, None, None, None]


@pytest.mark.oracle
def test_answers_as_torch():
    assert answers(flambeau) == answers(pytest.importorskip("torch"))
