"""Libraries written for PyTorch give the same numbers on Flambeau; the programs are in tools/libraries."""

import importlib.util
import sys

import pytest
from libraries.compare import FOLDER, on_flambeau, on_pytorch, verdict

pytestmark = pytest.mark.oracle

PROGRAMS = {
    "transformers_models": ("transformers", ["bert", "gpt2", "t5", "llama", "vit", "whisper"]),
    "lightning_training": ("pytorch_lightning", ["lightning", "accelerate"]),
    "timm_families": ("timm", ["test_convnext", "test_efficientnet", "test_resnet", "test_vit"]),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_same_numbers(program):
    library, names = PROGRAMS[program]
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    path = str(FOLDER / f"{program}.py")
    got, want = on_flambeau(sys.executable, path, names), on_pytorch(sys.executable, path, names)
    assert sorted(got) == sorted(want) == sorted(names)
    for name in names:
        agrees, said = verdict(got[name], want[name])
        assert agrees, f"{name}: {said}"
