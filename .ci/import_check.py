"""Fails unless ``import flambeau`` is light: no heavy package comes with it, and it is fast beside torch."""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

from _harness import compare_imports, format_seconds

HEAVY = {"jax", "scipy", "torch"}
LIMIT = 0.25
ROUNDS = 9


def imported_modules() -> set[str]:
    command = [sys.executable, "-I", "-c", "import sys, flambeau; print(*sys.modules)"]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())


def main() -> None:
    if heavy := HEAVY & imported_modules():
        sys.exit(f"import flambeau also imports {', '.join(sorted(heavy))}")

    result = compare_imports("flambeau", "torch", ROUNDS)
    ours, theirs = format_seconds(min(result.ours)), format_seconds(min(result.theirs))
    print(f"import flambeau {ours}, import torch {theirs}, ratio {result.best_ratio:.3f} (limit {LIMIT})")
    if result.best_ratio > LIMIT:
        sys.exit("import flambeau is too slow")


if __name__ == "__main__":
    main()
