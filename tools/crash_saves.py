"""Kills processes while they save checkpoints, and checks the files that remain.

    PYTHONPATH=src python tools/crash_saves.py                    # 200 interrupted saves, one line a format
    PYTHONPATH=src python tools/crash_saves.py --saves 20 --seed 3

A child process saves one checkpoint after the other to the same path; after a random time it gets SIGKILL. The file
must then be the last complete checkpoint or the one being saved. Kills between two saves are not counted. A new file
has a temporary name for an instant before it replaces the old one: such a stray file must be a complete checkpoint too.
Exits with 1 if anything else was found.
"""

import argparse
import mmap
import os
import pathlib
import random
import signal
import struct
import tempfile
import time

import flambeau
from flambeau.serialization import safetensors

SIZE = 1 << 18  # elements: a save takes a few milliseconds
_PROGRESS = struct.Struct("<qq")  # saves begun, saves done


def checkpoint(number):
    return {"number": flambeau.tensor(number), "elements": flambeau.full((SIZE,), float(number))}


FORMATS = {
    "save": (flambeau.save, flambeau.load),
    "safetensors": (safetensors.save_file, safetensors.load_file),
}


def save_forever(save, path, shared, first):
    """The main loop of the child process."""
    number = first
    while True:
        shared[:] = _PROGRESS.pack(number, number - 1)
        save(checkpoint(number), path)
        shared[:] = _PROGRESS.pack(number, number)
        number += 1


def interrupt(save, path, shared, first, delay):
    """(saves begun, saves completed) by a child that was killed after `delay` seconds."""
    shared[:] = _PROGRESS.pack(first - 1, first - 1)
    child = os.fork()
    if not child:
        try:
            save_forever(save, path, shared, first)
        finally:
            os._exit(1)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return _PROGRESS.unpack(shared[:])


def fault(load, path, begun, done):
    """What is wrong with the file after a kill, or None."""
    if not path.exists():
        return None if done == 0 else f"the file is gone, after {done} saves"
    try:
        found = load(path)
        number, elements = int(found["number"]), found["elements"]
    except Exception as error:
        return f"unreadable: {error!r}"
    if number not in (begun, done) or tuple(elements.shape) != (SIZE,) or not bool((elements == number).all()):
        return f"the file holds save {number}, of {begun} begun and {done} done"
    return None


def remove_strays(load, path, begun, done):
    """What is wrong with each of the other files in the folder, or None."""
    faults = []
    for stray in path.parent.iterdir():
        if stray != path:
            faults.append(fault(load, stray, begun, done))
            stray.unlink()
    return faults


def crash(kind, saves, seed):
    """Interrupts this many saves; returns (interrupted saves, completed saves, strays, faults)."""
    draw = random.Random(seed)
    save, load = FORMATS[kind]
    interrupted = complete = number = 0
    strays, faults, longest = [], [], 0.04
    with tempfile.TemporaryDirectory(prefix="crash-saves-") as folder, mmap.mmap(-1, _PROGRESS.size) as shared:
        path = pathlib.Path(folder) / "checkpoint"
        while interrupted < saves or not complete:
            begun, done = interrupt(save, path, shared, number + 1, draw.uniform(0, longest))
            interrupted += begun > done
            complete += done - number
            if done == number:
                longest *= 1.1  # this machine is slow
            if why := fault(load, path, begun, done):
                faults.append(why)
            elif path.exists():
                number = int(load(path)["number"])
            strays += remove_strays(load, path, begun, done)
    return interrupted, complete, len(strays), faults + [f"a stray is {why}" for why in strays if why]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--saves", type=int, default=200, help="interrupted saves of each format")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    failed = False
    for kind in FORMATS:
        interrupted, complete, strays, faults = crash(kind, options.saves, options.seed)
        print(f"{kind}: {interrupted} saves interrupted, {complete} complete, {strays} strays, {len(faults)} faults")
        for why in faults[:10]:
            print(f"    {why}")
        failed |= bool(faults)
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
