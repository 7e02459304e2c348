"""``flambeau doctor --training``."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
DOCTOR = [sys.executable, "-m", "flambeau", "doctor", "--training"]

LOOP = """\
import sys
import torch
from torch import nn

print("arguments", sys.argv[1:])
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(1000):
    {zero}
    loss = nn.functional.cross_entropy(model(torch.randn(16, 4)), torch.randint(3, (16,)))
    loss.backward()
    optimizer.step()
print("the end")
"""


def doctor(*arguments):
    return subprocess.run([*DOCTOR, *map(str, arguments)], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("zero, status, words", [
    ("optimizer.zero_grad()", 0, "10 steps were observed"),
    ("pass", 1, "[zero-grad]"),
])
def test_script(tmp_path, zero, status, words):
    script = tmp_path / "train.py"
    script.write_text(LOOP.format(zero=zero))
    done = doctor(script, "--epochs", "3")
    assert done.returncode == status and words in done.stdout and not done.stderr
    assert "arguments ['--epochs', '3']" in done.stdout and "the end" not in done.stdout


@pytest.mark.parametrize("text, words", [
    ("print('nothing to train')", "took no step of an optimizer"),
    ("raise ValueError('its own')", "its own"),
])
def test_script_without_training(tmp_path, text, words):
    script = tmp_path / "train.py"
    script.write_text(text)
    done = doctor(script)
    assert done.returncode == 1 and words in done.stderr
    assert doctor(tmp_path / "absent.py").returncode == 2 and doctor().returncode == 2


@pytest.mark.parametrize("name", ["digits", "lstm", "transformer", "vae"])
def test_examples_are_healthy(name):
    done = doctor(EXAMPLES / f"{name}.py")
    assert done.returncode == 0 and "found no problems" in done.stdout, done.stdout + done.stderr
