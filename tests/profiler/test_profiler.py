"""Profiles: calls, their counts and times."""

import gzip
import json
import sys
import threading

import pytest

import flambeau
from flambeau import nn, profiler
from flambeau.autograd import profiler as autograd_profiler


@pytest.fixture
def model():
    flambeau.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Sequential(nn.Linear(16, 4)))


def step(model):
    model(flambeau.randn(2, 8)).sum().backward()


def test_counts(model):
    step(model)
    with profiler.profile(record_shapes=True) as prof, profiler.record_function("mine"):
        for _ in range(3):
            step(model)
    counts = {row.key: row.count for row in prof.key_averages()}
    assert counts["aten::linear"] == 6 and counts["aten::relu"] == 3 and counts["mine"] == 1
    assert counts["autograd::ReluBackward0"] == 3
    modules = {row.key: row.count for row in prof.modules().key_averages()}
    assert modules == {
        "nn.Module: Sequential (Sequential)": 3, "nn.Module: 0 (Linear)": 3, "nn.Module: 1 (ReLU)": 3,
        "nn.Module: 2 (Sequential)": 3, "nn.Module: 2.0 (Linear)": 3,
    }
    shapes = [row.input_shapes for row in prof.key_averages(group_by_input_shape=True) if row.key == "aten::linear"]
    assert [[2, 8], [16, 8], [16]] in shapes
    assert sys.getprofile() is None


def test_times(model):
    """Each moment is counted once: what happens in a part is not the part's own."""
    with profiler.profile() as prof, profiler.record_function("all"):
        step(model)
    events = {event.name: event for event in prof.events()}
    whole = events["all"]
    assert 0 < whole.self_cpu_time_total < whole.cpu_time_total
    assert prof.events().self_cpu_time_total == pytest.approx(whole.cpu_time_total, rel=1e-6)
    assert all(whole.start <= event.start <= event.end <= whole.end for event in prof.events())


def test_table(model):
    with profiler.profile() as prof:
        step(model)
    text = prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=3)
    lines = text.splitlines()
    assert lines[1].split() == ["Name", "Self", "CPU", "%", "Self", "CPU", "CPU", "total", "%", "CPU", "total", "CPU", "time", "avg", "#", "of", "Calls"]
    assert len(lines) == 8 and lines[-1].startswith("Self CPU time total:")
    with pytest.raises(AttributeError, match="unknown column 'nonsense' to sort by"):
        prof.key_averages().table(sort_by="nonsense")


def test_timeline(model, tmp_path):
    with profiler.profile() as prof:
        step(model)
    prof.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {"op", "module", "backward"} <= {event["cat"] for event in events}
    assert all(event["ph"] == "X" and event["dur"] >= 0 for event in events)


@pytest.mark.parametrize("settings", [
    dict(wait=1, warmup=1, active=2), dict(wait=0, warmup=0, active=1, repeat=2), dict(wait=2, warmup=1, active=3, skip_first=2),
], ids=str)
def test_schedules(model, settings, tmp_path):
    recorded = []
    when = profiler.schedule(**settings)
    with profiler.profile(schedule=when, on_trace_ready=lambda prof: recorded.append(len(prof.modules()) // 5)) as prof:
        for _ in range(8):
            step(model)
            prof.step()
    wanted = [when(i) for i in range(8)]
    assert sum(recorded) == sum(action in (profiler.ProfilerAction.RECORD, profiler.ProfilerAction.RECORD_AND_SAVE) for action in wanted)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
@pytest.mark.parametrize("settings", [
    dict(wait=1, warmup=1, active=2), dict(wait=0, warmup=0, active=1, repeat=2), dict(wait=2, warmup=1, active=3, skip_first=2),
    dict(wait=2, warmup=1, active=1, repeat=2, skip_first_wait=1),
], ids=str)
def test_schedules_are_pytorchs(settings):
    import torch.profiler

    ours, theirs = profiler.schedule(**settings), torch.profiler.schedule(**settings)
    assert [ours(i).name for i in range(20)] == [theirs(i).name for i in range(20)]


def test_handler_writes_timelines(model, tmp_path):
    with profiler.profile(on_trace_ready=profiler.tensorboard_trace_handler(tmp_path / "runs")):
        step(model)
    assert [path.name.endswith(".pt.trace.json") for path in (tmp_path / "runs").iterdir()] == [True]


def test_handler_writes_compressed_timelines(model, tmp_path):
    with profiler.profile(on_trace_ready=profiler.tensorboard_trace_handler(tmp_path, use_gzip=True)):
        step(model)
    path, = tmp_path.iterdir()
    assert path.name.endswith(".pt.trace.json.gz")
    with gzip.open(path) as file:
        assert json.load(file)["traceEvents"]


def test_errors_and_threads(model):
    with pytest.raises(AssertionError, match="not recorded anything"):
        profiler.profile().events()
    with pytest.raises(AssertionError, match="schedule"):
        profiler.schedule(wait=0, warmup=0, active=0)
    with pytest.raises(ZeroDivisionError), profiler.profile() as prof:
        thread = threading.Thread(target=step, args=(model,))
        thread.start()
        thread.join()
        _ = 1 / 0
    assert sys.getprofile() is None
    assert any(event.name == "aten::relu" for event in prof.events())


def test_decorator_without_a_profile():
    assert profiler.record_function("f")(lambda x: x + 1)(1) == 2


def test_memory_flops_and_stacks(model, tmp_path):
    with profiler.profile(profile_memory=True, with_flops=True, with_stack=True) as prof, profiler.record_function("mine"):
        model(flambeau.randn(2, 8)).view(8).sum().backward()
    rows = {row.key: row for row in prof.key_averages()}
    assert rows["aten::linear"].flops == 2 * 2 * (8 * 16 + 16 * 4) and rows["aten::relu"].flops == 0
    assert rows["aten::linear"].cpu_memory_usage == 4 * 2 * (16 + 4)
    assert rows["mine"].self_cpu_memory_usage == 0
    assert rows["mine"].cpu_memory_usage == sum(row.self_cpu_memory_usage for row in rows.values()) > 0
    assert rows["aten::reshape"].cpu_memory_usage == 0  # it has the memory of what it views
    relu = next(event for event in prof.events() if event.name == "aten::relu")
    assert "functional" in relu.stack[0] and any("test_profiler.py" in line for line in relu.stack)
    title, = [line for line in prof.key_averages(group_by_stack_n=2).table().splitlines() if "Name" in line]
    for column in ("CPU Mem", "Self CPU Mem", "Total KFLOPs", "Source Location"):
        assert column in title
    prof.export_stacks(tmp_path / "stacks")
    line = next(line for line in (tmp_path / "stacks").read_text().splitlines() if "activation.py" in line)
    assert line.rpartition(" ")[2].isdigit() and line.index("test_profiler.py") < line.index("activation.py")
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(tmp_path / "stacks", "nonsense")


def test_the_plain_profile(model):
    """That of autograd does not know of modules."""
    with autograd_profiler.profile(record_shapes=True) as prof:
        step(model)
    assert {event.kind for event in prof.function_events} == {"op", "backward"}
    assert prof.total_average().count == len(prof.function_events)
    assert "aten::relu" in prof.table() and "aten::relu" in str(prof)
    with pytest.raises(RuntimeError, match="not reentrant"):
        prof.__enter__()
    with autograd_profiler.profile(enabled=False) as prof:
        step(model)
    with pytest.raises(RuntimeError, match="didn't finish"):
        prof.key_averages()


def test_profiles_within_each_other(model):
    with profiler.profile() as outer:
        step(model)
        with autograd_profiler.profile() as inner:
            step(model)
    assert [sum(event.name == "aten::relu" for event in p.events) for p in (outer.profiler._recorder, inner._recorder)] == [2, 1]
    assert sys.getprofile() is None


def test_profiles_that_end_in_the_order_they_began_in(model):
    first, second = autograd_profiler.profile(), autograd_profiler.profile()
    first.__enter__()
    second.__enter__()
    first.__exit__()
    step(model)
    second.__exit__()
    assert [sum(event.name == "aten::relu" for event in p.function_events) for p in (first, second)] == [0, 1]
    assert sys.getprofile() is None


@pytest.mark.parametrize("marks", [autograd_profiler.emit_nvtx, autograd_profiler.emit_itt])
def test_marks_for_other_tools_are_refused(marks):
    with marks(enabled=False):
        pass
    with pytest.raises(NotImplementedError, match="not supported"):
        marks().__enter__()
