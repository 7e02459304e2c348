"""Short runs of the tools that kill saves and forge checkpoints, and proof that they find faults."""

import os
import pickle
import signal
import sys

import pytest

import flambeau

if sys.platform != "linux":
    pytest.skip("the tools fork, and limit the memory of processes as Linux does", allow_module_level=True)

import crash_saves
import mutate_checkpoints


@pytest.mark.parametrize("kind", crash_saves.FORMATS)
def test_saves_that_are_killed(kind):
    interrupted, complete, _, faults = crash_saves.crash(kind, 12, seed=1)
    assert interrupted >= 12 and complete and faults == []


def save_in_place(value, path):
    with open(path, "wb") as file:
        flambeau.save(value, file)


def test_a_save_that_is_not_atomic_is_found(monkeypatch):
    monkeypatch.setitem(crash_saves.FORMATS, "save", (save_in_place, flambeau.load))
    *_, faults = crash_saves.crash("save", 12, seed=1)
    assert any(why.startswith("unreadable") for why in faults)


def test_damaged_and_forged_files():
    outcomes, faults, peak = mutate_checkpoints.mutate(200, seed=1)
    assert faults == [] and sum(outcomes.values()) == 200
    assert {"loaded", "RuntimeError", "UnpicklingError"} <= outcomes.keys()
    assert peak < 64 << 20


def runs_code(file):
    pickle.loads(mutate_checkpoints.Call("builtins eval", "1").opcodes() + b".")


def takes_memory(file):
    bytearray(1 << 33)


def dies(file):
    os.kill(os.getpid(), signal.SIGKILL)


def raises(file):
    raise KeyError("another error")


FOUND = {runs_code: "ran code", takes_memory: "MemoryError", dies: "status -9", raises: "KeyError"}


@pytest.mark.parametrize("load", FOUND, ids=lambda load: load.__name__)
def test_what_must_not_happen_is_found(load):
    _, faults, _ = mutate_checkpoints.mutate(3, seed=0, load=load)
    assert FOUND[load] in faults[0]
