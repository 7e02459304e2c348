"""Cross-compiles the native kernels for another architecture, with warnings as errors: ``tools/cross_compile.py``.

The default compiler is ``aarch64-linux-gnu-gcc``, from Debian's package ``gcc-aarch64-linux-gnu``. The headers of
Python and NumPy are those of this machine, which must have the same pointer size. The object files are discarded: this
only checks that the kernels compile. ``--vectors`` prints how many vector instructions the loops contain, and how many
scalar ones of the same arithmetic. ``--link`` writes the extension for a Python of the same version, to be run by
``qemu-aarch64 -L ROOT ROOT/usr/bin/python3.11`` if its libraries and wheels are available::

    python tools/cross_compile.py --link FOLDER/flambeau/_kernels.cpython-311-aarch64-linux-gnu.so
"""

import argparse
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy

ROOT = Path(__file__).parents[1]
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", "-Wno-psabi", "-Wno-unknown-pragmas"]
ARITHMETIC = r"\tf(?:add|sub|mul|div|mla|madd|sqrt)\t"


def flags():
    """The compiler flags of setup.py, which cannot be imported: it would build."""
    text = re.search(r"^FLAGS = \[(.*)\]$", (ROOT / "setup.py").read_text(), re.MULTILINE)
    return re.findall(r'"(.*?)"', text[1])


def compile_file(compiler, source, folder):
    """Returns the path of the object file; prints the compiler's message and returns None on failure."""
    target = folder / f"{source.stem}.o"
    includes = [f"-I{sysconfig.get_path('include')}", f"-I{numpy.get_include()}"]
    command = [compiler, *flags(), *WARNINGS, "-fPIC", *includes, "-c", source, "-o", target]
    return target if subprocess.run(command).returncode == 0 else None


def count_arithmetic(compiler, path):
    """(vector instructions, scalar ones) of an object for aarch64."""
    command = [compiler.removesuffix("gcc") + "objdump", "-d", "--no-show-raw-insn", path]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    found = [line for line in lines if re.search(ARITHMETIC, line)]
    vectors = sum(re.search(r"\tv\d", line) is not None for line in found)
    return vectors, len(found) - vectors


def main(options):
    sources = sorted((ROOT / "csrc").glob("*.c"))
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(lambda source: compile_file(options.compiler, source, Path(name)), sources))
        failed = [source.name for source, path in zip(sources, objects, strict=True) if path is None]
        for path in objects if options.vectors else ():
            if path is not None and path.stem.startswith("loops"):
                vectors, scalars = count_arithmetic(options.compiler, path)
                print(f"{path.stem}: {vectors} vector instructions, {scalars} scalar ones")
        if options.link and not failed:
            subprocess.run([options.compiler, "-shared", *objects, "-o", options.link, "-lm", "-lpthread"], check=True)
    print(f"{len(sources) - len(failed)} of {len(sources)} files compile", *failed)
    return bool(failed)


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("compiler", nargs="?", default="aarch64-linux-gnu-gcc")
    parser.add_argument("--vectors", action="store_true")
    parser.add_argument("--link", metavar="PATH", help="of the extension to be written")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main(read_options()))
