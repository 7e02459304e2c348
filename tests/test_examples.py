"""Every example runs unchanged under the alias, and prints what PyTorch prints."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = {path.stem: path for path in sorted((Path(__file__).parents[1] / "examples").glob("*.py"))}
del EXAMPLES["inspect_models"]  # about what PyTorch has not: tests/inspection runs its models
SHORTER = {"digits": ["--epochs", "2"], "transformer": ["--steps", "40"], "vae": ["--epochs", "3"], "lstm": ["--steps", "40"]}

each_example = pytest.mark.parametrize("name", EXAMPLES)


def run(*command):
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def split_numbers(text):
    """The words of a text and, apart, its numbers: rounding may differ in the numbers only."""
    number = r"-?\d+(?:\.\d+)?"
    return re.split(number, text), [float(n) for n in re.findall(number, text)]


@each_example
def test_example_runs(name):
    assert run("-m", "flambeau", "run", EXAMPLES[name], *SHORTER.get(name, ()))


def test_the_digits_are_read():
    """What the README promises."""
    accuracy = re.search(r"test accuracy: ([\d.]+)%", run("-m", "flambeau", "run", EXAMPLES["digits"]))
    assert float(accuracy[1]) >= 97


@pytest.mark.oracle
@each_example
def test_example_prints_what_torch_prints(name):
    arguments = [EXAMPLES[name], *SHORTER.get(name, ())]
    words, numbers = split_numbers(run("-m", "flambeau", "run", *arguments))
    torch_words, torch_numbers = split_numbers(run(*arguments))
    assert words == torch_words
    for number, want, unit in zip(numbers, torch_numbers, words[1:], strict=True):
        one_image = 100 / 359  # of those that are read, which rounding may decide
        assert number == pytest.approx(want, rel=1e-3, abs=1.01 * one_image if unit[:1] == "%" else 2e-4)
