"""``flambeau run`` behaves as python does."""

import functools
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

ALIASED = [sys.executable, "-m", "flambeau", "run"]


@pytest.fixture
def script(tmp_path):
    def write(text, name="script.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    return write


def run(command, *arguments, **options):
    return subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True, timeout=60, **options)


def same(arguments, **options):
    """The output and status of the command, which are those of python."""
    theirs, ours = run([sys.executable], *arguments, **options), run(ALIASED, *arguments, **options)
    assert (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr)
    return ours


def test_arguments_and_names(script, tmp_path):
    script("VALUE = 3", "beside.py")
    path = script("""
        import os, sys
        import beside
        print(sys.argv, __name__, __file__, sys.modules["__main__"].__name__, beside.VALUE, os.path.realpath(sys.path[0]))
    """)
    assert "'--epochs', '3'" in same([path, "--epochs", "3", "-m", "x"]).stdout


@pytest.mark.parametrize("program", [
    "import sys; sys.exit(3)",
    "import sys; sys.exit('a message')",
    "raise SystemExit",
    "raise ValueError('wrong')",
    "def f():\n    raise KeyError(1)\ntry:\n    f()\nexcept KeyError as e:\n    raise RuntimeError('again') from e",
    "import sys; sys.excepthook = lambda kind, error, trace: print('mine', error, trace.tb_lineno)\n1 / 0",
    "import atexit; atexit.register(print, 'bye'); 1 / 0",
    "syntax error here",
    "import nowhere_to_be_found",
])
def test_ends(script, program):
    same([script(program)])


def test_annotations_are_not_postponed(script):
    path = script("def f(x: int) -> float: ...\nprint(f.__annotations__)")
    assert same([path]).stdout == "{'x': <class 'int'>, 'return': <class 'float'>}\n"


def test_modules(script, tmp_path):
    script("", "package/__init__.py")
    script("import sys\nprint(sys.argv[1:], __name__, __package__)\nfrom . import other", "package/__main__.py")
    script("print('other')", "package/other.py")
    script("raise ValueError('in a module')", "package/broken.py")
    assert same(["-m", "package", "-x", "1"], cwd=tmp_path).stdout == "['-x', '1'] __main__ package\nother\n"
    broken = run(ALIASED, "-m", "package.broken", cwd=tmp_path)
    assert broken.returncode == 1 and "in a module" in broken.stderr and "runpy" not in broken.stderr
    missing = run(ALIASED, "-m", "package.missing", cwd=tmp_path)
    assert missing.returncode == 1 and "No module named package.missing" in missing.stderr


def test_folders(script, tmp_path):
    script("print('in a folder', __name__)", "app/__main__.py")
    same([tmp_path / "app"])


def test_missing_script(tmp_path):
    done = run(ALIASED, tmp_path / "nowhere.py")
    assert done.returncode == 2
    assert done.stderr == f"flambeau run: can't open file '{tmp_path}/nowhere.py': [Errno 2] No such file or directory\n"


@pytest.mark.parametrize("arguments", [[], ["-m"], ["-x", "script.py"]])
def test_wrong_usage(arguments):
    done = run(ALIASED, *arguments)
    assert done.returncode == 2 and "usage: flambeau" in done.stderr


def test_interrupt(script):
    path = script("""
        import time
        print("ready", flush=True)
        time.sleep(60)
    """)
    heeded = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # in background jobs it is ignored
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*ALIASED, path], **pipes, preexec_fn=heeded) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        error = process.communicate()[1]
    assert process.returncode == -signal.SIGINT
    assert error.endswith("KeyboardInterrupt\n") and "cli" not in error


def test_pickles_of_the_scripts_own_classes(script):
    path = script("""
        import io, torch
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(1, 1)
        file = io.BytesIO()
        torch.save(Net(), file)
        file.seek(0)
        print(type(torch.load(file, weights_only=False)) is Net)
    """)
    done = run(ALIASED, path)
    assert done.stdout == "True\n", done.stderr


def test_the_command_is_installed():
    command = os.path.join(os.path.dirname(sys.executable), "flambeau")
    if not os.path.exists(command):
        pytest.skip("Flambeau is on the path, but was not installed by pip")
    assert run([command], "--version").stdout.startswith("flambeau ")
