"""``torch.cuda`` and ``torch.accelerator`` with two GPUs, for which two devices of JAX's CPU backend stand in."""

import json
import os
import subprocess
import sys

import pytest

import flambeau as torch

pytestmark = pytest.mark.jax

STAND_IN = """
import json, sys
import jax
from flambeau.cuda import _devices

of_kind = jax.devices
jax.devices = lambda kind=None: of_kind("cpu")
_devices.PLUGINS = ("jax",)

import flambeau as torch

def value(call):
    try:
        found = eval(call, {"torch": torch}) if "\\n" not in call else run(call)
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    return found if isinstance(found, (bool, int, float, list)) else str(found)

def run(code):
    names = {"torch": torch}
    exec(code, names)
    return names["found"]

print(json.dumps([value(call) for call in json.load(sys.stdin)]))
"""

CALLS = {
    "torch.cuda.is_available()": True,
    "torch.cuda.is_initialized()": True,
    "torch.cuda.device_count()": 2,
    "torch.cuda.current_device()": 0,
    "torch.cuda.get_device_name()": "cpu",
    "torch.cuda.get_device_properties(0).name": "cpu",
    "torch.cuda.get_device_properties('cuda:1').total_memory": 0,
    "torch.cuda.get_device_capability()": "(0, 0)",
    "torch.cuda.can_device_access_peer(0, 1)": False,
    "torch.cuda.get_gencode_flags()": "",
    "torch.cuda.is_tf32_supported()": False,
    "torch.cuda.synchronize()": "None",
    "torch.cuda.synchronize('cuda:1')": "None",
    "torch.cuda.synchronize(7)": "RuntimeError: CUDA error: invalid device ordinal: there is no GPU 7; there are 2",
    "torch.cuda.empty_cache()": "None",
    "torch.cuda.ipc_collect()": "None",
    "torch.cuda.reset_peak_memory_stats()": "None",
    "torch.cuda.memory_allocated() == torch.cuda.memory.max_memory_allocated() == torch.cuda.memory_reserved(1)": True,
    "torch.cuda.memory_summary()": "cpu | 0.0 MiB allocated | 0.0 MiB at the peak | 0.0 MiB reserved",
    "torch.cuda.mem_get_info()": "(0, 0)",
    "[d.device.index for d in torch.cuda.default_generators]": [0, 1],
    "torch.cuda.Stream(1).device": "cuda:1",
    "torch.cuda.Stream(device='cuda').device_index": 0,
    "torch.cuda.current_stream() == torch.cuda.default_stream() != torch.cuda.current_stream(1)": True,
    "torch.cuda.current_stream().query()": True,
    "torch.cuda.Event().query()": True,
    "torch.cuda.Event().elapsed_time(torch.cuda.Event())":
        "RuntimeError: Both events must be created with argument 'enable_timing=True' and recorded before elapsed_time.",
    "torch.accelerator.current_accelerator()": "cuda",
    "torch.accelerator.device_count()": 2,
    "torch.accelerator.current_device_idx()": 0,
    "torch.accelerator.memory_allocated()": 0,
    "torch.accelerator.get_memory_info()": "(0, 0)",
    "torch.ones(2).cuda().device": "cuda:0",
    "torch.ones(2).cuda(1).device": "cuda:1",
    "torch.ones(2).to(1).device": "cuda:1",
    "torch.ones(2, device=1).is_cuda": True,
    "torch.ones(2, device='cuda') + torch.ones(2, device='cuda:1')":
        "RuntimeError: Tensor on device cuda:1 is not on the expected device cuda:0! Expected all tensors to be on the "
        "same device, but found at least two devices, cuda:0 and cuda:1: add got float32[2] on cuda:0, float32[2] on "
        "cuda:1. Move them to one device first, with .to().",
}

PROGRAMS = {
    "the current device is meant without an index": ("""
torch.cuda.set_device(1)
found = [torch.ones(1, device="cuda").device.index, torch.ones(1).cuda().device.index, torch.cuda.current_device(),
         torch.nn.Linear(1, 1).cuda().weight.device.index, torch.ones(1, device="cuda:0").device.index]
with torch.cuda.device(0):
    found.append(torch.ones(1, device="cuda").device.index)
with torch.cuda.device_of(torch.ones(1, device="cuda:0")):
    found.append(torch.cuda.current_device())
with torch.device("cuda"):
    found.append(torch.ones(1).device.index)
with torch.accelerator.device_index(0):
    found.append(torch.cuda.current_device())
torch.cuda.set_device(0)
found.append(torch.ones(1, device="cuda").device.index)
""", [1, 1, 1, 1, 0, 0, 0, 1, 0, 0]),
    "compiled functions follow the current device": ("""
made = torch.compile(lambda: torch.zeros(2, device="cuda"))
found = []
for index in (0, 1, 0):
    with torch.cuda.device(index):
        found += [made().device.index for _ in range(3)]
""", [0, 0, 0, 1, 1, 1, 0, 0, 0]),
    "devices have states of their own": ("""
def draws(*devices):
    return [torch.rand(3, device=d).tolist() for d in devices]

torch.manual_seed(3)
a, b, c = draws("cuda:0", "cuda:1", "cpu")
torch.cuda.manual_seed_all(3)
found = [draws("cuda:0", "cuda:1") == [a, b], draws("cpu") == [c], a == b]
torch.manual_seed(3)
found += [draws("cpu") == [c], draws("cuda:1") == [b]]
states = torch.cuda.get_rng_state_all()
d = draws("cuda:0", "cuda:1")
torch.cuda.set_rng_state_all(states)
found += [draws("cuda:0", "cuda:1") == d, torch.cuda.initial_seed()]
with torch.random.fork_rng([1]):
    e = draws("cuda:0", "cuda:1")
f = draws("cuda:0", "cuda:1")
found += [e[0] == f[0], e[1] == f[1]]
torch.cuda.manual_seed(8)
g = draws("cuda")
torch.cuda.manual_seed(8)
found += [draws("cuda") == g, draws("cuda") == g]
torch.cuda.seed_all()
found += [torch.cuda.default_generators[0].initial_seed() == torch.cuda.default_generators[1].initial_seed()]
""", [True, False, True, True, True, True, 3, False, True, True, False, True]),
    "a training script": ("""
model = torch.nn.Linear(3, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
scaler, copies = torch.amp.GradScaler("cuda"), torch.cuda.Stream()
begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
begin.record()
for _ in range(3):
    with torch.cuda.stream(copies), copies:
        x = torch.ones(4, 3).pin_memory().cuda(non_blocking=True)
    torch.cuda.current_stream().wait_stream(copies)
    x.record_stream(torch.cuda.current_stream())
    with torch.cuda.nvtx.range("step {}", 1), torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(x).float().square().mean()
    optimizer.zero_grad(set_to_none=True)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
end.record()
torch.cuda.synchronize()
found = [begin.elapsed_time(end) > 0, loss.device.type == "cuda", bool(loss.isfinite()), torch.cuda.nvtx.range_pop()]
""", [True, True, True, -1]),
}


@pytest.fixture(scope="module")
def results():
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    environment = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    calls = [*CALLS, *[code for code, _ in PROGRAMS.values()]]
    done = subprocess.run([sys.executable, "-c", STAND_IN], env=environment, input=json.dumps(calls), check=True,
                          stdout=subprocess.PIPE, text=True, timeout=240)
    return dict(zip([*CALLS, *PROGRAMS], json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("call", [*CALLS, *PROGRAMS])
def test_with_two_gpus(results, call):
    assert results[call] == (CALLS[call] if call in CALLS else PROGRAMS[call][1])


# ---- memory


@pytest.fixture
def stats(monkeypatch):
    """JAX's memory statistics of a GPU, to be changed by the test."""
    found = {"bytes_in_use": 3, "peak_bytes_in_use": 5, "pool_bytes": 8, "peak_pool_bytes": 8}
    monkeypatch.setattr(torch.cuda.memory, "_stats", lambda device: found)
    monkeypatch.setattr(torch.cuda.memory, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda.memory, "index_of", lambda device: device or 0)
    monkeypatch.setattr(torch.cuda.memory, "_reset_peaks", {})
    return found


def test_memory_has_pytorchs_names_too(stats):
    found = torch.cuda.memory_stats()
    assert found["allocated_bytes.all.current"] == found["bytes_in_use"] == torch.cuda.memory_allocated() == 3
    assert found["reserved_bytes.all.peak"] == torch.cuda.max_memory_reserved() == torch.cuda.max_memory_cached() == 8
    assert found["active_bytes.all.peak"] == torch.cuda.max_memory_allocated() == 5
    assert "allocation.all.allocated" not in found and list(found) == sorted(found)


def test_a_peak_from_before_the_reset_is_reported_with_a_warning(stats):
    torch.cuda.reset_peak_memory_stats()
    with pytest.warns(UserWarning, match="upper bound"):
        assert torch.cuda.max_memory_allocated() == 5
    assert torch.cuda.memory_allocated() == 3
    stats["peak_bytes_in_use"] = 6
    assert torch.cuda.max_memory_allocated() == 6
    with pytest.warns(UserWarning, match="upper bound"):
        torch.accelerator.max_memory_reserved()


# ---- ranges


def test_ranges_are_shown_by_the_profiler():
    nvtx = torch.cuda.nvtx
    with torch.profiler.profile() as profile:
        assert (nvtx.range_push("outer"), nvtx.range_push("inner")) == (0, 1)
        assert (nvtx.range_pop(), nvtx.range_pop(), nvtx.range_pop()) == (1, 0, -1)
        number = nvtx.range_start("apart")
        with nvtx.range("batch {}", 3):
            nvtx.mark("here")
        nvtx.range_end(number)
    assert {"outer", "inner", "apart", "batch 3", "here"} <= {e.key for e in profile.key_averages()}
