"""``flambeau torch``: the distribution named torch, in a temporary virtual environment."""

import importlib.metadata
import importlib.util
import subprocess
import sys
import venv
from importlib.machinery import PathFinder  # setuptools makes another search for pip change what distutils is
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
PYTORCH = "Metadata-Version: 2.1\nName: torch\nVersion: 2.9.1\n"
FLAMBEAU = "Metadata-Version: 2.1\nName: flambeau\nVersion: 0.1.0\n"


class Environment:
    """A virtual environment with what Flambeau needs, by links; Flambeau is installed, or only on the path."""

    def __init__(self, path):
        venv.create(path, symlinks=True)
        self.path = path
        self.python = path / "bin" / "python"
        self.packages = next((path / "lib").glob("python*/site-packages"))
        for name in ("numpy", "ml_dtypes"):
            distribution = importlib.metadata.distribution(name)
            for top in {file.parts[0] for file in distribution.files if file.parts[0] != ".."}:
                (self.packages / top).symlink_to(distribution.locate_file(top))
        (self.packages / "flambeau").symlink_to(SOURCE / "flambeau")
        self.add("flambeau-0.1.0", FLAMBEAU)

    def add(self, name, metadata):
        """Puts a distribution there that consists of its metadata."""
        folder = self.packages / f"{name}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(metadata)

    def run(self, *arguments):
        return subprocess.run(
            [self.python, *arguments], capture_output=True, text=True, timeout=120, env={"OPENBLAS_NUM_THREADS": "1"},
        )

    def flambeau(self, *arguments):
        return self.run("-m", "flambeau", "torch", *arguments)

    def pip(self, *arguments):
        """The pip of the tests, at work on this environment."""
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", self.python, *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    def contents(self):
        return {
            str(path.relative_to(self.path)) for path in [*self.path.iterdir(), *self.packages.iterdir()]
            if path.name != "__pycache__"
        }


@pytest.fixture
def environment(tmp_path):
    return Environment(tmp_path / "env")


def test_install_and_remove(environment, tmp_path):
    before = environment.contents()
    assert environment.flambeau("status").returncode == 1
    for _ in range(2):  # again, as after an update of Flambeau
        done = environment.flambeau("install")
        assert done.returncode == 0 and "pip uninstall torch" in done.stdout, done.stderr
    assert environment.flambeau("status").returncode == 0
    done = environment.run("-c", """if True:
        import torch.nn.functional as F
        import importlib.metadata, importlib.util, pickle, sys, torch
        from torch import nn
        print(torch.__version__, importlib.metadata.version("torch"), importlib.util.find_spec("torch").name)
        print(F.relu(torch.tensor([-1.0, 1.0])), type(torch.ones(1)), b"flambeau.nn.modules" in pickle.dumps(nn.Linear(1, 1)))
    """)
    assert done.stdout.splitlines() == [
        "2.13.0+flambeau 2.13.0+flambeau torch", "tensor([0., 1.]) <class 'torch.Tensor'> False",
    ], done.stderr
    assert environment.run("-m", "torch.utils.model_zoo").returncode == 0
    assert environment.flambeau("remove").returncode == 0
    assert environment.contents() == before
    assert "No module named 'torch'" in environment.run("-c", "import torch").stderr
    again = environment.flambeau("remove")
    assert again.returncode == 1 and "no torch is installed" in again.stderr


@pytest.mark.skipif(PathFinder.find_spec("pip") is None, reason="needs pip")
def test_pip_lists_the_distribution(environment):
    before = environment.contents()
    environment.flambeau("install")
    assert "torch     2.13.0+flambeau" in environment.pip("list").stdout
    assert environment.pip("check").returncode == 0
    pin = environment.pip("install", "--no-index", "--dry-run", "torch==2.13.0")
    assert pin.returncode == 0 and "already satisfied: torch==2.13.0" in pin.stdout, pin.stderr
    assert environment.pip("uninstall", "-y", "torch").returncode == 0
    assert environment.contents() == before


def test_pip_does_not_replace_it(environment):
    """A library that asks for a later PyTorch is refused, for pip is bound to the one that is there."""
    environment.flambeau("install")
    constraint = (environment.path / "pip.conf").read_text().split(" = ")[1].strip()
    assert Path(constraint).read_text() == "torch==2.13.0+flambeau\n"


def test_a_configuration_that_is_there_stays(environment):
    mine = "[install]\nno-compile = yes\n"
    (environment.path / "pip.conf").write_text(mine)
    assert "constraint = " in environment.flambeau("install").stdout
    environment.flambeau("remove")
    assert (environment.path / "pip.conf").read_text() == mine


def test_pytorch_stays(environment):
    environment.add("torch-2.9.1", PYTORCH)
    before = environment.contents()
    for action in ("install", "remove"):
        done = environment.flambeau(action)
        assert done.returncode == 1 and done.stderr.startswith("flambeau torch: PyTorch 2.9.1 is installed in ")
    done = environment.flambeau("status")
    assert done.returncode == 1 and done.stdout.startswith("PyTorch 2.9.1 is installed in ")
    assert environment.contents() == before


def test_a_folder_of_that_name_stays(environment):
    (environment.packages / "torch").mkdir()
    done = environment.flambeau("install")
    assert done.returncode == 1 and "belongs to no distribution" in done.stderr


def test_flambeau_must_be_installed_itself(environment):
    (environment.packages / "flambeau-0.1.0.dist-info" / "METADATA").unlink()
    (environment.packages / "flambeau-0.1.0.dist-info").rmdir()
    done = environment.flambeau("install")
    assert done.returncode == 1 and "only on the path" in done.stderr


def test_outside_of_an_environment(environment):
    done = environment.run("-c", """if True:
        import sys
        sys.base_prefix = sys.prefix  # what is written stays in the environment of the test
        from flambeau.cli import main
        print(main(["torch", "install"]), main(["torch", "install", "--force"]))
    """)
    assert "is not a virtual environment" in done.stderr and done.stdout.endswith("1 0\n"), done.stderr
    assert any(environment.path.rglob("torch/__init__.py"))  # where Debian's Python puts what is outside of one, too
    assert not (environment.path / "pip.conf").exists()
