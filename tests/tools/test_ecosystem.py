"""Libraries written for PyTorch run on Flambeau, and print the same as on PyTorch."""

import importlib
import sys

import ecosystem
import pytest

QUICK = [
    "einops_layers", "torchinfo_summary", "torchmetrics_collection", "safetensors_files", "vit_pytorch_training", "skorch_classifier",
    "ignite_training", "torchvision_detection", "torchvision_transforms", "torchvision_datasets", "torchvision_features",
]

quick = pytest.mark.parametrize("name", QUICK)


def output(name):
    if lacking := ecosystem.missing(name):
        pytest.skip(f"not installed: {', '.join(lacking)}")
    return ecosystem.run_aliased(name)


@quick
def test_program_runs(name):
    assert output(name)


@pytest.mark.oracle
@quick
def test_program_prints_what_it_prints_on_pytorch(name):
    ours = output(name)
    if "torchvision" in ecosystem.PROGRAMS[name] or name in ("torchmetrics_collection", "vit_pytorch_training"):
        try:  # both libraries import it
            importlib.import_module("torchvision.extension")._assert_has_ops()
        except (ImportError, RuntimeError) as error:
            pytest.skip(f"torchvision does not go with this PyTorch: {str(error).partition('.')[0]}")
    assert ecosystem.difference(ours, ecosystem.run([sys.executable], name))[0] == ""


def test_every_program_is_in_the_table():
    files = {path.stem for path in ecosystem.USES.glob("*.py")} - {"weights"}
    assert files == set(ecosystem.PROGRAMS)


@pytest.mark.parametrize("got, want, same", [
    ("a 1.0 b", "a 1.0004 b", True), ("a 1.0 b", "a 1.01 b", False), ("a 1.0", "b 1.0", False), ("a\nb", "a", False),
    ("x 0.0001", "x 0.0002", True), ("x nan", "x nan", True), ("x nan", "x 1.0", False), ("1e-9", "2e-9", True),
])
def test_outputs_are_compared(got, want, same):
    assert (ecosystem.difference(got, want)[0] == "") is same
