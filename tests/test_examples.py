"""Every example runs, and prints what PyTorch prints when it is PyTorch that it imports."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))

each_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)


def run(source):
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def split_numbers(text):
    """The words of a text and, apart, its numbers: rounding may differ in the numbers only."""
    number = r"-?\d+(?:\.\d+)?"
    return re.split(number, text), [float(n) for n in re.findall(number, text)]


@each_example
def test_example_runs(example):
    assert run(example.read_text())


@pytest.mark.oracle
@each_example
def test_example_prints_what_torch_prints(example):
    source = example.read_text()
    words, numbers = split_numbers(run(source))
    on_torch = source.replace("import flambeau as torch", "import torch")
    torch_words, torch_numbers = split_numbers(run(on_torch))
    assert words == torch_words
    assert numbers == pytest.approx(torch_numbers, rel=1e-3, abs=2e-4)
