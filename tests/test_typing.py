"""Type checking: the stubs are up to date, and mypy checks a user's program correctly."""

from __future__ import annotations

import importlib
import pathlib
import re
import runpy
import subprocess
import sys
import types

import pytest

import flambeau
import flambeau.sparse

ROOT = pathlib.Path(__file__).parent.parent
DATA = ROOT / "tests" / "data"
STALE = "{path} is not what the library has now. Write the stubs anew:\n    PYTHONPATH=src python tools/make_stubs.py"
INSIDE = re.compile(r"flambeau\.(cli|engines|functions|ops|transforms|nn\.functional\.\w+|nn\.modules\.\w+|vision)$")  # modules not for users


@pytest.fixture
def make_stubs(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    return importlib.import_module("make_stubs")


STALE_FILES = """
import sys
sys.path.insert(0, "tools")
import make_stubs
print(*[path for path, text in make_stubs.stubs().items() if not path.exists() or path.read_text() != text])
"""


def test_the_stubs_are_what_the_generator_writes():
    """In a process of its own: other tests may have made functions ask for ``__torch_function__``."""
    done = subprocess.run([sys.executable, "-c", STALE_FILES], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not done.stdout.split(), STALE.format(path=done.stdout.strip())


def test_the_tables_name_only_what_is_there(make_stubs):
    """An entry of a table that no function asks for is a mistake, or left over."""
    text = "".join(make_stubs.stubs().values())
    defined = set(re.findall(r"def (\w+)\(", text))
    assert {name.partition(".")[0] for name in make_stubs.EXCEPTIONS} <= defined
    assert {*make_stubs.RETURNS, *make_stubs.SPREAD} <= defined
    assert {name.rpartition(".")[2] for name in make_stubs.SIGNATURES} <= defined


# ---- mypy


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """{file name: {line: {code: message}}} of the errors that mypy finds in the programs."""
    pytest.importorskip("mypy", reason="mypy reads the stubs: pip install mypy")
    names = tmp_path_factory.mktemp("typing") / "names.py"
    names.write_text("import flambeau\n" + "\n".join(public_names()) + "\n")
    programs = [DATA / "typed_program.py", DATA / "wrong_program.py", names]
    command = [sys.executable, "-m", "mypy", "--config-file=", "--strict", "--allow-untyped-calls",
               "--follow-imports=silent", "--no-error-summary", *map(str, programs)]
    run = subprocess.run(command, cwd=ROOT, env={"MYPYPATH": "src", "PATH": ""}, capture_output=True, text=True)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    errors: dict = {program.name: {} for program in programs}
    for path, line, text, code in re.findall(r"^(.+?):(\d+): error: (.*)  \[([\w-]+)\]$", run.stdout, re.MULTILINE):
        errors[pathlib.Path(path).name].setdefault(int(line), {})[code] = text
    return errors


def public_names(module=flambeau):
    """Every name of the public modules, written out from ``flambeau`` on."""
    for name in sorted(getattr(module, "__all__", vars(module))):
        value, path = getattr(module, name), f"{module.__name__}.{name}"
        if name.startswith("_"):
            continue
        if not isinstance(value, types.ModuleType):
            yield path
        elif value.__name__ == path and not INSIDE.match(path):
            yield from public_names(value)


def test_mypy_accepts_a_typed_program(found):
    assert found["typed_program.py"] == {}


def test_a_typed_program_runs():
    runpy.run_path(str(DATA / "typed_program.py"), run_name="__main__")


def test_mypy_finds_the_mistakes_of_a_wrong_program(found):
    lines = (DATA / "wrong_program.py").read_text().splitlines()
    marks = {i: line.partition("# error: ")[2] for i, line in enumerate(lines, 1)}
    codes = {line: ", ".join(sorted(errors)) for line, errors in found["wrong_program.py"].items()}
    assert codes == {line: mark for line, mark in marks.items() if mark}


def test_mypy_sees_every_public_name(found):
    assert found["names.py"] == {}
