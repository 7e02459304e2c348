"""Runs small, unmodified programs that use libraries written for PyTorch on Flambeau, and compares with PyTorch.

    python tools/ecosystem.py                               # every program of tools/uses whose library is installed
    python tools/ecosystem.py --oracle PYTHON --table FILE  # compares with PyTorch in another interpreter, or this one

Each program prints words and numbers. Words must be the same, numbers equal up to rounding. The exit status is 1 if a
program fails or its output differs from PyTorch's.
"""

import argparse
import importlib.metadata
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

USES = Path(__file__).with_name("uses")
SOURCE = Path(__file__).parents[1] / "src"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
RELATIVE, ABSOLUTE = 1e-3, 2e-4  # rounding amplified by deep networks; a few units of the last printed digit

# The programs of tools/uses, and the distributions that they need.
PROGRAMS = {
    "einops_layers": ["einops"],
    "torchinfo_summary": ["torchinfo"],
    "torchmetrics_collection": ["torchmetrics"],
    "safetensors_files": ["safetensors"],
    "vit_pytorch_training": ["vit-pytorch", "einops"],
    "skorch_classifier": ["skorch", "scikit-learn"],
    "ignite_training": ["pytorch-ignite"],
    "timm_hooks": ["timm", "torchvision"],
    "torchvision_models": ["torchvision"],
    "torchvision_detection": ["torchvision"],
    "torchvision_transforms": ["torchvision", "pillow"],
    "torchvision_datasets": ["torchvision", "pillow"],
    "torchvision_features": ["torchvision"],
}
TABLE = """\
# Libraries on Flambeau

Written by `tools/ecosystem.py`: the unmodified programs of `tools/uses`, with Flambeau as `torch`. In their output,
words are compared exactly, numbers up to rounding.

Python {python}; {versions}.

| program | what it uses | outcome |
|---|---|---|
{rows}
"""


class Result(NamedTuple):
    """The outcome of a program."""

    name: str
    outcome: str
    is_failure: bool = False


def description(name):
    """The first line of the program's docstring."""
    return (USES / f"{name}.py").read_text().split('"""')[1].splitlines()[0]


def missing(name):
    """The distributions that a program needs and that are not installed."""
    return [each for each in PROGRAMS[name] if not _version(each)]


def _version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def run(command, name, timeout=600):
    """The output of a program; raises RuntimeError with the reason if it failed."""
    path = os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [*command, str(USES / f"{name}.py")], capture_output=True, text=True, timeout=timeout,
        env=os.environ | {"PYTHONPATH": path, "PYTHONHASHSEED": "0"},
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"status {done.returncode}")
    return done.stdout


def run_aliased(name):
    """The same on Flambeau, imported as torch."""
    return run([sys.executable, "-m", "flambeau", "run"], name)


def difference(got, want):
    """Where two outputs differ ("" if they do not), and the largest relative difference of two numbers."""
    largest = 0.0
    for ours, theirs in zip(got.splitlines(), want.splitlines(), strict=False):
        if NUMBER.split(ours) != NUMBER.split(theirs):
            return f"{ours!r}, not {theirs!r}", largest
        for x, y in zip(map(float, NUMBER.findall(ours)), map(float, NUMBER.findall(theirs)), strict=True):
            apart = abs(x - y) / max(abs(y), ABSOLUTE / RELATIVE)
            if not apart <= RELATIVE:
                return f"{ours!r}, not {theirs!r}", largest
            largest = max(largest, apart)
    lines = len(got.splitlines()), len(want.splitlines())
    return "" if lines[0] == lines[1] else f"{lines[0]} lines, not {lines[1]}", largest


def check(name, oracle=None):
    """The Result of one program."""
    if lacking := missing(name):
        return Result(name, f"not run: {', '.join(lacking)} not installed")
    try:
        ours = run_aliased(name)
    except RuntimeError as error:
        return Result(name, f"fails: {error}", True)
    if oracle is None:
        return Result(name, "runs")
    try:
        theirs = run([oracle], name)
    except RuntimeError as error:
        return Result(name, f"runs; PyTorch fails: {error}")
    where, largest = difference(ours, theirs)
    equal = f"equal to PyTorch (numbers to {largest:.0e})" if largest else "equal to PyTorch"
    return Result(name, f"differs: {where}" if where else equal, bool(where))


def table(results):
    """The results as Markdown."""
    needs = sorted({each for distributions in PROGRAMS.values() for each in distributions})
    versions = ", ".join(f"{each} {_version(each)}" for each in needs if _version(each))
    rows = [f"| `{name}` | {description(name)} | {outcome} |" for name, outcome, _ in results]
    return TABLE.format(python=platform.python_version(), versions=versions, rows="\n".join(rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"of {', '.join(PROGRAMS)}; all by default")
    parser.add_argument("--oracle", metavar="PYTHON", help="an interpreter with PyTorch to compare with")
    parser.add_argument("--table", type=Path, metavar="FILE", help="writes the table there")
    arguments = parser.parse_args()
    results = []
    for name in arguments.programs or PROGRAMS:
        results.append(check(name, arguments.oracle))
        print(f"{name:<26}{results[-1].outcome}", flush=True)
    if arguments.table:
        arguments.table.write_text(table(results))
    return int(any(result.is_failure for result in results))


if __name__ == "__main__":
    sys.exit(main())
