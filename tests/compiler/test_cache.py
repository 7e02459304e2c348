"""Compiled programs on disk: the next process finds them, and whatever is wrong with them costs time only."""

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.jax

SCRIPT = """
import logging, sys, warnings
warnings.simplefilter("error")
logging.basicConfig(stream=sys.stderr, level=logging.DEBUG, format="%(name)s %(message)s")
import flambeau as torch
from flambeau.engines.xla import _cache
_cache.SETTINGS  # imported with the engine
import jax
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
step = torch.compile(lambda x: (x @ x).tanh().sum())
x = torch.ones(3, 3)
print([round(step(x).item(), 4) for _ in range(2)], jax.config.jax_compilation_cache_dir)
"""


@pytest.fixture(autouse=True)
def _needs_jax():
    pytest.importorskip("jax", reason="the compiler needs jax")


def start(folder, **more):
    plain = {name: value for name, value in os.environ.items() if name != "FLAMBEAU_CACHE"}  # which conftest.py sets
    environment = {**plain, "XDG_CACHE_HOME": str(folder), **more}
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(SCRIPT)], env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process):
    """(what it printed, how many programs it found on disk)"""
    out, err = communicate(process)
    return out, err.count("Persistent compilation cache hit")


def communicate(process):
    """(what it printed, what it logged)"""
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out.strip(), err


def entries(folder):
    return sorted((folder / "flambeau" / "programs").glob("*"))


def test_the_next_process_finds_what_was_compiled_and_a_damaged_entry_is_compiled_again(tmp_path):
    both = [start(tmp_path) for _ in range(2)]  # which write to one folder at the same time
    printed = {finish(process)[0] for process in both}
    written = entries(tmp_path)
    assert len(printed) == 1 and written and all(file.suffix == ".program" for file in written)
    out, hits = finish(start(tmp_path))
    assert {out} == printed and hits >= 1
    for file in written:
        file.write_bytes(file.read_bytes()[:-7])
    out, err = communicate(start(tmp_path))
    assert {out} == printed and err.count("a compiled program that cannot be read is deleted") == len(written)
    assert finish(start(tmp_path))[1] >= 1  # they were written again


@pytest.mark.parametrize("environment", [
    {"FLAMBEAU_CACHE": "0"}, {"FLAMBEAU_CACHE": "/dev/null/nowhere"}, {"JAX_ENABLE_COMPILATION_CACHE": "0"},
], ids=["switched off", "a folder that cannot be", "switched off in jax"])
def test_without_a_folder_programs_are_compiled_each_time(tmp_path, environment):
    out, hits = finish(start(tmp_path, **environment))
    assert out.endswith("None") and hits == 0 and not entries(tmp_path)


def test_jax_may_have_been_told_where(tmp_path):
    out, _ = finish(start(tmp_path, JAX_COMPILATION_CACHE_DIR=str(tmp_path / "own")))
    assert out.endswith("own") and list((tmp_path / "own").iterdir()) and not entries(tmp_path)


def test_what_was_used_least_recently_makes_room(tmp_path, monkeypatch):
    from flambeau.engines.xla import _cache

    monkeypatch.setattr(_cache, "LARGEST", 300)
    folder = _cache.Folder(tmp_path)
    for nr, key in enumerate("abc"):
        folder.put(key, bytes(60))
        os.utime(folder.file_of(key), (nr, nr))
    assert folder.get("a") == bytes(60)
    folder.put("d", bytes(60))
    assert [folder.get(key) is not None for key in "abcd"] == [True, False, True, True]
    folder.clear()
    assert folder.get("a") is None


def test_nothing_stays_behind_of_a_write_that_fails(tmp_path):
    from flambeau.engines.xla import _cache

    folder = _cache.Folder(tmp_path)
    folder.file_of("a").mkdir()  # no file can take its place
    folder.put("a", bytes(60))
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.program"] and folder.get("a") is None
