"""``utils.benchmark``: timing of code snippets."""

import pytest

import flambeau
from flambeau.utils.benchmark import Measurement, Timer


def test_a_measurement_is_of_one_call():
    m = Measurement(10, [1.0, 2.0, 4.0], stmt="x + y")
    assert (m.times, m.median, m.title) == ([0.1, 0.2, 0.4], 0.2, "x + y")
    assert m.mean == pytest.approx(0.7 / 3)
    assert m.iqr == pytest.approx(0.15)
    assert "200.00 ms (median)\n  3 measurements, 10 runs each, 1 thread" in repr(m)


def test_the_statement_is_run():
    calls = []
    timer = Timer("f()", setup="calls.clear()", globals={"f": lambda: calls.append(flambeau.get_num_threads()), "calls": calls})
    assert timer.timeit(7).number_per_run == 7
    assert calls == [1] * 7
    found = timer.blocked_autorange(min_run_time=0.001)
    assert sum(found.raw_times) >= 0.001
    assert found.median > 0
    assert len(timer.adaptive_autorange(min_run_time=0.0001, max_run_time=0.01).raw_times) >= 3
