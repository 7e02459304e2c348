"""``flambeau doctor``: what is active, and which names of torch a program lacks."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from flambeau.cli import _script, doctor

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
DOCTOR = [sys.executable, "-m", "flambeau", "doctor"]

# A program, and (line, name) of what it will miss for certain.
FAULTS = {
    "attribute": ("import torch\nx = 1\ntorch.nothing(x)", [(3, "torch.nothing")]),
    "two levels": ("import torch\ntorch.nn.functional.nothing", [(2, "torch.nn.functional.nothing")]),
    "missing package": ("import torch\ntorch.nothing.at.all()", [(2, "torch.nothing")]),
    "import": ("import torch.nothing.at.all", [(1, "torch.nothing")]),
    "import as": ("import torch.nn.functional as F\nF.relu\nF.nothing", [(3, "torch.nn.functional.nothing")]),
    "from": ("from torch.nn import (\n    Linear,\n    Nothing,\n)", [(3, "torch.nn.Nothing")]),
    "from, then attribute": ("from torch import nn as layers\nlayers.Linear, layers.Nothing", [(2, "torch.nn.Nothing")]),
    "assignment": ("import torch\nF = torch.nn.functional\nF.nothing", [(3, "torch.nn.functional.nothing")]),
    "in a function": ("import torch\ndef f(x):\n    return torch.nothing(x)", [(3, "torch.nothing")]),
    "import in a function": ("def f():\n    from torch import nn\n    nn.Nothing", [(3, "torch.nn.Nothing")]),
    "in a class": ("from torch import nn\nclass Net(nn.Nothing):\n    size = nn.nothing", [(2, "torch.nn.Nothing"), (3, "torch.nn.nothing")]),
    "decorator": ("import torch\n@torch.nothing\ndef f(): pass", [(2, "torch.nothing")]),
    "in an f-string": ("import torch\nprint(f'{torch.nothing}')", [(2, "torch.nothing")]),
    "in a comprehension": ("import torch\n[torch.nothing(x) for x in []]", [(2, "torch.nothing")]),
    "annotation": ("import torch\ndef f(x: torch.Nothing): pass", [(2, "torch.Nothing")]),
    "of a class": ("import torch\ntorch.Tensor.nothing", [(2, "torch.Tensor.nothing")]),
    "getattr": ("import torch\ngetattr(torch, 'nothing')", [(2, "torch.nothing")]),
    "across lines": ("import torch\n(torch\n .nn\n .Nothing)", [(4, "torch.nn.Nothing")]),
    "argument of a call": ("import torch\nprint(x=torch.nothing)", [(2, "torch.nothing")]),
    "after a default of None": ("try:\n    import torch\nexcept ImportError:\n    torch = None\ntorch.nothing", [(5, "torch.nothing")]),
    "raises": ("import torch\ntorch.onnx.export()", [(2, "torch.onnx.export")]),
    "class that raises": ("from torch.cuda import CUDAGraph\nCUDAGraph()", [(2, "torch.cuda.CUDAGraph")]),
    "twice": ("import torch\ntorch.nothing\ntorch.nothing", [(2, "torch.nothing"), (3, "torch.nothing")]),
    "in a broad try": ("import torch\ntry:\n    torch.nothing()\nexcept Exception as e:\n    print(e)", [(3, "torch.nothing")]),
}
FINE = {
    "nothing": "",
    "no torch": "import os\nos.nothing",
    "all there": "import torch\nfrom torch import nn\nimport torch.utils.data as data\nnn.Linear(1, 1), data.DataLoader, torch.float32.itemsize",
    "submodules": "import torch\ntorch.utils.data.dataloader, torch.nn.modules.conv, torch.cuda.amp.GradScaler, torch.nn.modules.distance.PairwiseDistance",
    "another torch": "def f(torch, F):\n    torch.nothing\n    F.nothing",
    "parameter shadows": "import torch.nn.functional as F\ndef f(F):\n    return F.nothing",
    "lambda shadows": "import torch.nn.functional as F\nlambda F: F.nothing",
    "comprehension shadows": "import torch.nn.functional as F\n[F.nothing for F in []]",
    "loop rebinds": "import torch.nn.functional as F\nfor F in []:\n    F.nothing",
    "with rebinds": "from torch import nn\ndef f():\n    with open('x') as nn:\n        nn.nothing",
    "import of another": "try:\n    from apex import amp\nexcept ImportError:\n    from torch import amp\namp.nothing",
    "assigned in a scope where nn is another": "from torch import nn\nF = nn.functional\ndef f(nn):\n    return F.relu, nn.nothing",
    "result of a call": "import torch\ntorch.ones(1).nothing, torch.load('x').nothing",
    "own attribute": "import torch\ntorch.mine = 1\ntorch.mine, torch.mine.more",
    "guarded by hasattr": "import torch\nif hasattr(torch, 'nothing'):\n    torch.nothing",
    "asked for before": "import torch\nhas = hasattr(torch, 'nothing')\nif has:\n    torch.nothing",
    "guarded by and": "import torch\nhasattr(torch, 'x') and torch.nothing",
    "guarded by a version": "import torch\nx = torch.nothing if torch.__version__ > '3' else torch.other",
    "guarded by is_available": "import torch\nif torch.cuda.is_available():\n    torch.cuda.nothing()",
    "guarded by except": "try:\n    from torch import nothing\nexcept ImportError:\n    nothing = None",
    "getattr with a default": "import torch\ngetattr(torch, 'nothing', None)",
    "for type checkers": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from torch import Nothing",
    "annotations that stay text": "from __future__ import annotations\nimport torch\ndef f(x: torch.Nothing) -> torch.Nothing:\n    y: torch.Nothing = 1",
    "not called": "import torch\nisinstance(1, torch.cuda.CUDAGraph), torch.onnx.export",
    "operators of libraries": "import torch\ntorch.ops.mine.op(1)",
    "docstring": "'''torch.nothing'''\nimport torch",
    "perhaps a method": "def f(x):\n    return x.to_mkldnn()",
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """{name: (line, name of torch) of what is certainly missing} for all programs, by one process."""
    folder = tmp_path_factory.mktemp("programs")
    programs = {name: text for name, (text, _) in FAULTS.items()} | FINE
    files = {f"{number}.py": name for number, name in enumerate(programs)}
    for file, name in files.items():
        (folder / file).write_text(programs[name])
    done = subprocess.run([*DOCTOR, *files], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stderr
    found = {name: [] for name in programs}
    for file, line, path, rest in re.findall(r"^(\w+\.py):(\d+): (\S+) (.*)$", done.stdout, re.MULTILINE):
        if "guarded" not in rest and not path.startswith("."):
            found[files[file]].append((int(line), path))
    return found


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_missing_is_found(reports, name):
    assert reports[name] == FAULTS[name][1]


@pytest.mark.parametrize("name", FINE)
def test_no_false_alarm(reports, name):
    assert reports[name] == []


def test_modules_beside_the_script(tmp_path):
    files = {
        "main.py": "import helper, broken\nfrom package import first, other\nimport package.deep.module\nimport json",
        "helper.py": "import torch\ntorch.one",
        "package/__init__.py": "import torch\ntorch.two",
        "package/first.py": "from . import second\nfrom .deep.module import x\nimport torch\ntorch.three",
        "package/second.py": "from torch import four",
        "package/deep/module.py": "from ..unseen import x\nfrom torch.nn import five",  # deep has no __init__.py
        "package/unseen.py": "import torch\ntorch.six",
        "unused.py": "import torch\ntorch.seven",
        "broken.py": "print 'of Python 2'",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    done = subprocess.run([*DOCTOR, "main.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    found = {line.partition(" is missing")[0] for line in done.stdout.splitlines() if "is missing" in line}
    assert found == {
        "helper.py:2: torch.one", "package/__init__.py:2: torch.two", "package/first.py:4: torch.three",
        "package/second.py:1: torch.four", "package/deep/module.py:2: torch.nn.five", "package/unseen.py:2: torch.six",
    }
    assert "main.py and 6 modules that it imports" in done.stdout


def test_libraries(tmp_path):
    """They are read on demand; otherwise it is said that they were not."""
    library = tmp_path / "site-packages" / "library.py"
    library.parent.mkdir()
    library.write_text("import torch\ntorch.nothing")
    (tmp_path / "main.py").write_text("import library")
    options = dict(cwd=tmp_path, capture_output=True, text=True, timeout=60, env={"PYTHONPATH": ":".join([str(library.parent), *sys.path])})
    without = subprocess.run([*DOCTOR, "main.py"], **options)
    assert without.returncode == 0 and "not read, but with --libraries: library" in without.stdout
    done = subprocess.run([*DOCTOR, "--libraries", "main.py"], **options)
    assert done.returncode == 1 and "library.py:2: torch.nothing is missing" in done.stdout


def test_examples_miss_nothing():
    done = subprocess.run([*DOCTOR, *EXAMPLES], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("missing in no places") == len(EXAMPLES)


def test_a_method_that_tensors_may_lack(tmp_path):
    (tmp_path / "main.py").write_text("def f(x):\n    return x.to_mkldnn()")
    done = subprocess.run([*DOCTOR, "main.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith("main.py:2: .to_mkldnn may be missing")


@pytest.mark.parametrize("text, message", [(None, "No such file"), ("def", "invalid syntax"), (b"\xff", "encoding")])
def test_what_cannot_be_read(tmp_path, capsys, text, message):
    path = tmp_path / "main.py"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert doctor.check([str(path)]) == 2
    assert message in capsys.readouterr().err


def test_report():
    done = subprocess.run(DOCTOR, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    titles = [line.partition(":")[0] for line in done.stdout.splitlines()]
    assert titles == ["flambeau", "python", "numpy", "native kernels", "xla", "pillow", "import torch", "libraries"]


def test_report_says_what_to_install():
    """As where nothing but Flambeau is installed."""
    program = """if True:
        import sys
        from flambeau.cli import doctor
        sys.modules["flambeau._kernels"] = None
        doctor._version = lambda name: ""
        doctor.report()
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env={"PYTHONPATH": ":".join(sys.path)})
    for cure in ("pip install --force-reinstall", "pip install 'flambeau[xla]'", "pip install pillow"):
        assert cure in done.stdout, done.stderr


@pytest.mark.oracle
def test_methods_are_pytorchs():
    import torch

    assert [name for name in _script.TENSOR_METHODS if not hasattr(torch.Tensor, name)] == []
