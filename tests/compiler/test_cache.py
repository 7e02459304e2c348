"""Compiled programs on disk: later processes reuse them, and any damage only costs time."""

import json
import os
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

pytestmark = pytest.mark.jax

SCRIPT = """
import io, logging, pathlib, sys, warnings
warnings.simplefilter("error")
import flambeau as torch
import jax
import flambeau.engines.xla  # it has settings of its own
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
messages = io.StringIO()
logging.basicConfig(stream=messages, level=logging.DEBUG)
x = torch.ones(3, 3)
for damage in map(int, sys.argv[1:]):
    for file in pathlib.Path(jax.config.jax_compilation_cache_dir).iterdir() if damage else ():
        file.write_bytes(file.read_bytes()[:-7])
    jax.clear_caches()
    messages.truncate(0)
    step = torch.compile(lambda x: (x @ x).tanh().sum())
    results = [round(step(x).item(), 4) for _ in range(2)]
    found = messages.getvalue()
    print("deleted" if "deleted a damaged entry" in found else "found" if "cache hit" in found else "", results, sep=";")
"""


@pytest.fixture
def jax():
    return pytest.importorskip("jax", reason="the compiler needs jax")


def start(folder, *arguments, script=SCRIPT):
    plain = {name: value for name, value in os.environ.items() if name != "FLAMBEAU_CACHE"}  # which conftest.py sets
    return subprocess.Popen([sys.executable, "-c", script, *arguments], env={**plain, "XDG_CACHE_HOME": str(folder)},
                            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process):
    """[(what became of the programs on disk, results)]"""
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return [tuple(line.split(";")) for line in out.splitlines()]


@pytest.mark.usefixtures("jax")
def test_the_next_process_finds_what_was_compiled_and_a_damaged_entry_is_compiled_again(tmp_path):
    both = [start(tmp_path, "0") for _ in range(2)]  # which write to one folder at the same time
    (results,) = {results for process in both for _, results in finish(process)}
    written = sorted((tmp_path / "flambeau" / "programs").iterdir())
    assert written and all(file.suffix == ".program" for file in written)
    again = finish(start(tmp_path, "0", "1", "0"))
    assert again == [("found", results), ("deleted", results), ("found", results)]  # they were written again


AHEAD = """
import io, logging
import flambeau as torch
import flambeau.engines.xla
import jax
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
messages = io.StringIO()
logging.basicConfig(stream=messages, level=logging.DEBUG)
x = torch.ones(3, 3, device="xla")
flambeau.engines.xla._cache.programs.thread.join()
step = torch.compile(lambda x: (x @ x).tanh().sum())
results = [round(step(x).item(), 4) for _ in range(2)]
print(messages.getvalue().count("was preloaded"), results, sep=";")
"""


@pytest.mark.usefixtures("jax")
def test_programs_that_a_script_has_used_are_loaded_ahead(tmp_path):
    def run():
        ((count, results),) = finish(start(tmp_path, script=AHEAD))
        return int(count), results

    count, results = run()
    assert count == 0
    count, again = run()
    assert count >= 2  # one of the first, lazy call, and one of the second, compiled one
    assert again == results
    (list_of_script,) = (tmp_path / "flambeau" / "programs").glob("script-*.program")
    list_of_script.write_bytes(list_of_script.read_bytes()[:-7])
    assert run() == (0, results)
    assert run() == (count, results)  # it was written again
    for file in (tmp_path / "flambeau" / "programs").iterdir():
        if file != list_of_script:
            file.unlink()
    assert run() == (0, results)


KNOWN = """
import io, json, logging, sys, warnings
warnings.simplefilter("error")
import flambeau as torch
from flambeau import nn
import flambeau.engines.xla
from flambeau.engines.xla import _calls, _digests, _sources
import jax
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
exec(sys.argv[1])
messages = io.StringIO()
logging.basicConfig(stream=messages, level=logging.DEBUG)
traced = []
infer = _calls.Signature.call
_calls.Signature.call = lambda self, *args: traced.append(self) or infer(self, *args)
torch.manual_seed(0)
model = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 4), nn.BatchNorm1d(3), nn.Dropout(0.5), nn.Tanh()).to("xla")
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
x = torch.tensor([[0, 1, 2], [3, 4, 0]], device="xla")
bound = 2.0

def step(x):
    optimizer.zero_grad()
    loss = model(x).square().mul(bound).sum()
    loss.backward()
    optimizer.step()
    return loss.detach()

compiled = torch.compile(step) if sys.argv[2] == "compiled" else step
results = []
for nr in range(4):
    optimizer.param_groups[0]["lr"] *= 0.9
    results.append(round(compiled(x).item(), 4))
try:
    compiled(x + 1).item()
except IndexError as error:
    results.append(str(error))
unchecked = [s for s in traced if not s.errors]
print(len(unchecked), messages.getvalue().count("could not be reused"), json.dumps(results), sep=";")
"""


def run_known(folder, change="", way="compiled"):
    """(how many calls jax has traced, how many programs it had to trace after all, the results)"""
    ((traced, again, results),) = finish(start(folder, change, way, script=KNOWN))
    return int(traced), int(again), results


@pytest.mark.parametrize("way", ["lazy", "compiled"])
@pytest.mark.usefixtures("jax")
def test_a_cached_program_is_not_traced_again(tmp_path, way):
    traced, again, results = run_known(tmp_path, "", way)
    assert traced > 10 and again == 0
    assert run_known(tmp_path, "", way) == (0, 0, results)


@pytest.mark.usefixtures("jax")
def test_a_cached_program_is_bound_to_its_environment(tmp_path):
    first = run_known(tmp_path)
    assert run_known(tmp_path, "_digests.digest_of_sources = lambda: 'other'; _sources.KNOWN |= {'__main__'}") == first
    assert run_known(tmp_path, "jax.config.update('jax_default_matmul_precision', 'highest')") == first


@pytest.mark.usefixtures("jax")
def test_programs_with_replaced_functions_are_not_shared(tmp_path):
    patch = "jax.numpy.tanh = lambda x: 2 * x"
    other = run_known(tmp_path, patch)
    first = run_known(tmp_path)
    assert first[2] != other[2] and first[0] == other[0]
    assert run_known(tmp_path, patch) == other
    assert run_known(tmp_path) == (0, 0, first[2])


@pytest.mark.usefixtures("jax")
def test_a_program_whose_entries_are_damaged_or_gone_is_traced(tmp_path):
    first = traced, _, results = run_known(tmp_path)
    folder = tmp_path / "flambeau" / "programs"
    for file in (*folder.glob("form-*.program"), *folder.glob("calls-*.program")):
        file.write_bytes(file.read_bytes()[:-7])
    assert run_known(tmp_path) == first  # they are deleted, and written again
    for file in folder.glob("jit_*.program"):
        file.unlink()
    count, again, found = run_known(tmp_path)
    assert 0 < count <= traced and again > 0 and found == results
    assert run_known(tmp_path) == (0, 0, results)


@pytest.mark.usefixtures("jax")
def test_a_program_is_traced_if_jaxs_cache_is_disabled(tmp_path):
    _, _, results = run_known(tmp_path)
    off = "from jax._src import compilation_cache; compilation_cache.is_cache_used = lambda backend: False"
    traced, again, found = run_known(tmp_path, off)
    assert traced > 0 and again > 0 and found == results


@pytest.mark.parametrize("contents", [None, b"", b"no JSON", b"3", b"[1, 2]", b'["a", [0], [[1]], 0]',
                                      b"[" * 100_000])
@pytest.mark.usefixtures("jax")
def test_invalid_cache_entries_are_ignored(contents):
    from flambeau.engines.xla._inferred import Table
    from flambeau.engines.xla._stand_ins import Form

    assert Form.read(contents) is None
    table = Table(Memory(a=contents), ["b", "a"])
    assert table.get("c") is None
    entry = [None, 0], [((2, 3), np.dtype("bfloat16"), True)], [0, None, (1,)]
    table.put("c", *entry)
    table.put("d", [None], [((), np.dtype("int64"), False)], Device(0))  # what is of a type of its own
    table.save()
    again = Table(table.programs, ["b", "a"])
    assert again.get("c") == entry and again.get("d") is None
    again.entries["c"] = [[None], [[3]], 0]
    assert again.get("c") is None


@pytest.mark.usefixtures("jax")
def test_a_program_that_calls_the_host_has_no_entry():
    import jax

    from flambeau.engines.xla._stand_ins import Form

    struct = jax.ShapeDtypeStruct((2,), np.float32)
    for function in (lambda x: x + 1, lambda x: jax.pure_callback(np.sin, struct, x)):
        jitted = jax.jit(function)
        form = Form.of("a", jitted.lower(struct).compile(), jitted.eval_shape(struct))
        calls_host = "callback" in str(jax.make_jaxpr(function)(struct))
        assert form == (None if calls_host else ("a", [0], [((2,), "float32", False)], 0))


class Options:
    def __init__(self, text):
        self.text = text

    def SerializeAsString(self):
        return self.text.encode()


class Device(NamedTuple):
    id: int


class Backend:
    platform = "cpu"


class Memory(dict):
    """A folder of programs."""

    path = "nowhere"
    put = dict.__setitem__


@pytest.mark.usefixtures("jax")
def test_a_program_that_was_loaded_ahead_is_used_for_the_same_request_only(monkeypatch):
    from flambeau.engines.xla._prefetch import Prefetch, Request

    monkeypatch.setattr(Request, "arguments", property(lambda self: (self.key, self.options, self.platform, self.devices)))
    loads, folder = [], Memory()

    def load(key, options, backend, devices, host_callbacks=()):
        if host_callbacks:
            return f"program {key} with callbacks", 1
        loads.append(key)
        if key == "damaged":
            raise ValueError("not a program")
        return (None, None) if key == "gone" else (f"program {key}", 1)

    def prefetch(*arguments, before=()):
        loads.clear()
        found = Prefetch(folder, load, [["train.py", *arguments], ["train.py"]])
        for key in before:
            ask(found, key)
        found.start()
        found.thread.join()
        return found

    def ask(prefetch, key, *more, options="O2", devices=(0,)):
        return prefetch.get_executable_and_time(key, Options(options), Backend, [Device(i) for i in devices], *more)

    first = prefetch()
    for key in "abc":
        assert ask(first, key) == (f"program {key}", 1)
    assert ask(first, "gone") == (None, None)
    second = prefetch()
    assert loads == ["a", "b", "c"]
    assert ask(second, "a", [print]) == ("program a with callbacks", 1)
    assert ask(second, "a", []) == ("program a", 1)
    assert loads == ["a", "b", "c"]  # it was there
    assert ask(second, "a") == ("program a", 1)
    assert ask(second, "b", options="the same options, in another order") == ("program b", 1)
    assert loads == ["a", "b", "c", "a"]  # for one who has it already; the key covers the options
    assert ask(second, "c", devices=(1,)) == ("program c", 1)
    assert loads == ["a", "b", "c", "a", "c"]  # on another device
    prefetch(before="a")
    assert loads == ["a", "b", "c"]  # what was asked for before anything could be loaded ahead is not loaded twice
    third = prefetch("--epochs", 3)
    assert loads == ["a", "b", "c"]  # as with other arguments
    assert ask(third, "new") == ("program new", 1)  # it does something else
    assert ask(third, "a") == ("program a", 1)
    assert loads == ["a", "b", "c", "new", "a"]
    prefetch("--epochs", 3)
    assert loads == ["new", "a"]
    for contents in (b"[[1, 2]]", b"no list", b"3"):
        folder.update(dict.fromkeys(first.names, contents))
        prefetch()
        assert loads == []
    folder.update(dict.fromkeys(first.names, json.dumps([["damaged", "", "cpu", [0]]]).encode()))
    with pytest.raises(ValueError, match="not a program"):
        ask(prefetch(), "damaged")


@pytest.mark.parametrize(("environment", "settings", "folder"), [
    ({"FLAMBEAU_CACHE": "0"}, {}, None),
    ({"FLAMBEAU_CACHE": "/dev/null/nowhere"}, {}, None),
    ({}, {"jax_enable_compilation_cache": False}, None),
    ({}, {"jax_compilation_cache_dir": "told"}, "told"),
    ({"FLAMBEAU_CACHE": "own"}, {}, "own"),
    ({}, {}, "home/flambeau/programs"),
], ids=["switched off", "a folder that cannot be", "switched off in jax", "told to jax", "a folder", "by default"])
def test_where_programs_are_kept(tmp_path, monkeypatch, jax, environment, settings, folder):
    from flambeau.engines.xla import _cache

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "home")
    monkeypatch.delenv("FLAMBEAU_CACHE", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    files_of_jax = _cache.cache_of_jax.get_file_cache
    monkeypatch.setattr(_cache.cache_of_jax, "get_file_cache", files_of_jax)
    settings = {"jax_compilation_cache_dir": None, "jax_enable_compilation_cache": True, **settings}
    before = {name: getattr(jax.config, name) for name in (*settings, *_cache.SETTINGS)}
    try:
        for name, value in settings.items():
            jax.config.update(name, value)
        _cache.install()
        assert jax.config.jax_compilation_cache_dir == folder
        ours = folder not in (None, "told")
        assert ours == (_cache.cache_of_jax.get_file_cache is not files_of_jax)
        assert ours == any(tmp_path.iterdir()) and (not ours or (tmp_path / folder).is_dir())
    finally:
        for name, value in before.items():
            jax.config.update(name, value)


@pytest.mark.usefixtures("jax")
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


@pytest.mark.usefixtures("jax")
def test_nothing_stays_behind_of_a_write_that_fails(tmp_path):
    from flambeau.engines.xla import _cache

    folder = _cache.Folder(tmp_path)
    folder.file_of("a").mkdir()  # no file can take its place
    folder.put("a", bytes(60))
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.program"] and folder.get("a") is None


@pytest.mark.parametrize(("parameters", "is_known"), [
    ("cache_key, compile_options, backend, executable_devices", True),
    ("cache_key, compile_options, backend, executable_devices, host_callbacks=()", True),  # of jax 0.11
    ("cache_key, compile_options, backend", False),
])
@pytest.mark.usefixtures("jax")
def test_programs_are_preloaded_with_known_functions_of_jax(monkeypatch, parameters, is_known):
    from flambeau.engines.xla import _prefetch

    load, folder = eval(f"lambda {parameters}: (None, None)"), Memory()
    monkeypatch.setattr(_prefetch.cache_of_jax, "get_executable_and_time", load)
    assert (_prefetch.with_prefetch(folder) is not folder) == is_known
    assert (_prefetch.cache_of_jax.get_executable_and_time is not load) == is_known


@pytest.mark.parametrize("arguments", [[], [""], ["no script"]])
@pytest.mark.usefixtures("jax")
def test_a_process_without_a_script(monkeypatch, arguments):
    from flambeau.engines.xla._prefetch import runs_like_this

    monkeypatch.setattr(sys, "argv", arguments)
    assert runs_like_this() == [[os.getcwd(), *sys.orig_argv]]


@pytest.mark.usefixtures("jax")
def test_arguments_of_a_script_that_are_no_text(monkeypatch, tmp_path):
    from flambeau.engines.xla._prefetch import runs_like_this

    script = tmp_path / "train.py"
    script.touch()
    monkeypatch.setattr(sys, "argv", [script, 3])
    assert runs_like_this() == [[str(script), "3"], [str(script)]]
