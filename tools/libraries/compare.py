"""Runs a program of this folder on Flambeau and on PyTorch, and compares what they print.

    python tools/libraries/compare.py transformers_models --oracle ~/pytorch/bin/python

The program is run by `--python` (this interpreter if not given), which has the library and Flambeau, and by `--oracle`,
which has the library and PyTorch. The exit status says whether all agree.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

import numpy as np

TOLERANCE = 2e-4  # of the greatest value: sums of float32 in another order
FOLDER = pathlib.Path(__file__).parent
# torchvision's wheel for CUDA cannot load its extension beside a PyTorch for CPUs, and then misses these two schemas.
WITH_PYTORCH = """
import runpy, sys, torch
try:
    import torchvision
except RuntimeError:
    for name in list(sys.modules):
        if name.startswith("torchvision"):
            del sys.modules[name]
    schemas = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        schemas.define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
except ImportError:
    pass
sys.argv = sys.argv[1:]
sys.path[0] = sys.argv[0].rpartition("/")[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("program", help="transformers_models, timm_families or lightning_training")
    parser.add_argument("names", nargs="*", help="what to run of it (default: all)")
    parser.add_argument("--oracle", required=True, help="an interpreter with PyTorch")
    parser.add_argument("--python", default=sys.executable, help="an interpreter with Flambeau")
    parser.add_argument("--table", type=pathlib.Path, help="a file for the table")
    arguments = parser.parse_args()
    program = str(FOLDER / f"{arguments.program}.py")
    ours = on_flambeau(arguments.python, program, arguments.names)
    theirs = on_pytorch(arguments.oracle, program, arguments.names)
    rows = [(name, *verdict(ours.get(name, MISSING), theirs[name])) for name in theirs]
    text = table(rows)
    print(text)
    if arguments.table:
        arguments.table.write_text(text)
    return not all(agrees for _, agrees, _ in rows)


MISSING = {"error": "the program ended before it", "seconds": 0}


def on_flambeau(python, program, names):
    return run([python, "-W", "ignore", "-m", "flambeau", "run", program, *names])


def on_pytorch(python, program, names):
    return run([python, "-W", "ignore", "-c", WITH_PYTORCH, program, *names])


def run(command):
    """{name: its line of results}; lines that are no JSON are passed on."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}  # PyTorch sums in another order on several threads
    results = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        for line in process.stdout:
            if line.startswith("{"):
                result = json.loads(line)
                results[result["name"]] = result
                print(result["name"], result["seconds"], result.get("error", ""), file=sys.stderr)
            else:
                sys.stderr.write(line)
    return results


def verdict(ours, theirs):
    """(whether they agree, what to say about it)"""
    if "error" in theirs:
        return False, f"PyTorch: {theirs['error']}"
    if "error" in ours:
        return False, ours["error"]
    gaps = {key: difference(ours["values"][key], value) for key, value in theirs["values"].items()}
    worst = max(gaps, key=gaps.get)
    return gaps[worst] <= TOLERANCE, f"{gaps[worst]:.0e} ({worst})"


def difference(got, want):
    """The greatest difference, as a part of the greatest value; infinite where shapes or integers differ."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape or not np.array_equal(np.isnan(got), np.isnan(want)):
        return float("inf")
    if want.dtype.kind != "f":
        return 0.0 if np.array_equal(got, want) else float("inf")
    if not want.size:
        return 0.0
    return float(np.nanmax(np.abs(got - want)) / max(np.nanmax(np.abs(want)), 1e-30))


def table(rows):
    lines = [f"{sum(agrees for _, agrees, _ in rows)} of {len(rows)} agree with PyTorch.", "",
             "| name | agrees | greatest relative difference |", "|---|---|---|"]
    lines += [f"| {name} | {'yes' if agrees else '**no**'} | {said} |" for name, agrees, said in rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
