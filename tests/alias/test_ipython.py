"""``%load_ext flambeau``, in an IPython session in a subprocess."""

import importlib.util
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(importlib.util.find_spec("IPython") is None, reason="needs IPython")

PROGRAM = """if True:
    from IPython.core.interactiveshell import InteractiveShell
    shell = InteractiveShell.instance()
    for cell in {cells!r}:
        shell.run_cell(cell).raise_error()
"""


def run(*cells, folder):
    """The lines that the cells of a session print."""
    environment = os.environ | {"IPYTHONDIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", PROGRAM.format(cells=cells)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    return done.stdout.splitlines(), done


def test_load_and_unload(tmp_path):
    (tmp_path / "torch.py").write_text("__version__ = 'another'")
    lines, done = run(
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})",
        "%load_ext flambeau", "import torch; print(torch.__version__, torch.ones(2))",
        "%reload_ext flambeau", "import torch; print(torch.__version__)",
        "%unload_ext flambeau", "print('torch' in globals())", "import torch; print(torch.__version__)", folder=tmp_path,
    )
    assert lines == ["2.13.0+flambeau tensor([1., 1.])", "2.13.0+flambeau", "False", "another"], done.stderr


def test_after_another_torch_was_imported(tmp_path):
    (tmp_path / "torch.py").write_text("__version__ = 'another'")
    _, done = run(f"import sys; sys.path.insert(0, {str(tmp_path)!r})", "import torch", "%load_ext flambeau", folder=tmp_path)
    assert done.returncode == 1 and "PyTorch another is imported already" in done.stdout + done.stderr
