"""python -m differential: compares Flambeau with PyTorch on random programs; see the package's docstring."""

import argparse
import pathlib
import sys
import tempfile

import torch

import flambeau

from .search import FAMILIES, Search


def main():
    parser = argparse.ArgumentParser(prog="differential", description=__doc__.partition(":")[2])
    parser.add_argument("--seconds", type=float, default=60, help="how long to search (default: 60)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--families", default=",".join(FAMILIES), help="some of: %(default)s")
    arguments = parser.parse_args()
    families = arguments.families.split(",")
    if unknown := set(families) - set(FAMILIES):
        parser.error(f"no such families: {', '.join(sorted(unknown))}")
    torch.set_num_threads(1)
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        search = Search(flambeau, torch, pathlib.Path(folder), arguments.seed)
        for count, finding in enumerate(search.run(families, arguments.seconds), 1):
            print(f"--- {count}: {finding.family}\n{finding}\n", flush=True)
    print(f"seed {arguments.seed}: {search.programs} programs, {search.steps} steps, {count} findings")
    return count > 0


if __name__ == "__main__":
    sys.exit(main())
