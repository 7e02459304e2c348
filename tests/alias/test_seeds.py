"""The programs of the five documents, each as one script with ``import torch``, run by ``flambeau run``."""

import subprocess
import sys
import textwrap

import ecosystem
import pytest

from test_seeds import SEEDS, same

BETWEEN = "=== next block ==="
START = """\
import warnings
import torch
warnings.simplefilter("ignore")  # of Softmax() without dim, and .grad of a tensor that is not a leaf: as in PyTorch
torch.manual_seed(0)
folder = {folder!r}
"""

each_document = pytest.mark.parametrize("name", SEEDS)


@pytest.fixture
def script(tmp_path):
    def write(name):
        path = tmp_path / f"document_{name}.py"
        blocks = f"\nprint({BETWEEN!r})\n".join(textwrap.dedent(block.code) for block in SEEDS[name])
        path.write_text(START.format(folder=str(tmp_path)) + blocks)
        return path

    return write


def flambeau(*arguments):
    command = [sys.executable, "-m", "flambeau", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@each_document
def test_a_document_is_a_script(script, name):
    done = flambeau("run", script(name))
    assert done.returncode == 0, done.stderr
    printed = done.stdout.split(BETWEEN + "\n")
    assert len(printed) == len(SEEDS[name])
    wrong = [text for text, block in zip(printed, SEEDS[name], strict=True) if block.says is not None and not same(text, block.says)]
    assert wrong == []


def test_the_doctor_finds_nothing_missing(script):
    done = flambeau("doctor", *map(script, SEEDS))
    assert done.returncode == 0 and "missing in Flambeau" not in done.stdout, done.stdout


def need(program):
    if lacking := ecosystem.missing(program):
        pytest.skip(f"not installed: {', '.join(lacking)}")


def test_the_imports_of_document_003(tmp_path):
    """With those of torchvision, which the blocks leave out."""
    need("torchvision_models")
    imports = "from torch.utils.data import DataLoader\nfrom torchvision import datasets, transforms\n"
    path = tmp_path / "script.py"
    path.write_text(imports + textwrap.dedent(SEEDS["003"][0].code) + "\nprint(NeuralNetwork()(torch.rand(1, 28, 28)).shape)")
    done = flambeau("run", path)
    assert done.stdout == "torch.Size([1, 10])\n", done.stderr


def test_the_hooks_of_document_000():
    """On timm's VGG, as the document has it, but with random weights."""
    need("timm_hooks")
    printed = ecosystem.run_aliased("timm_hooks")
    assert printed.count("=" * 36) == 31
    assert printed.startswith(
        "Conv2d(3, 64, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))\ntorch.Size([4, 3, 299, 299]) => torch.Size([4, 64, 299, 299])\n"
    )
    assert "Linear(in_features=4096, out_features=1000, bias=True)\ntorch.Size([4, 4096]) => torch.Size([4, 1000])" in printed
