"""Builds the native kernels with a sanitizer and runs their tests: ``tools/sanitize.py address``, or ``thread``.

``address`` also checks for undefined behaviour. The package is built in a temporary folder; the sanitizer's runtime is
preloaded. Needs gcc, and the tests' dependencies. Arguments after the name go to pytest.

NumPy, OpenBLAS and Python are not built with the sanitizer, so leaks are not checked, and only races between accesses
by our own code are detected.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
FLAGS = {
    "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"],
    "thread": ["-fsanitize=thread"],
}
RUNTIMES = {"address": ["libasan.so", "libubsan.so"], "thread": ["libtsan.so"]}
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1 ignore_noninstrumented_modules=1",
}
TESTS = [
    *sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/engines/test_native*.py")),
    *[f"tests/{name}.py" for name in ("engines/test_memory", "engines/test_threads", "test_slots", "test_many_arrays",
                                      "test_pick", "compiler/test_tables")],
]
WITHOUT = (
    "not forked and not everything_works and not own_threads "  # these start subprocesses
    "and not leaves_no_gaps"  # measures what malloc returns to the system; a sanitizer's returns nothing
)


def library(name):
    """The path of one of gcc's runtime libraries."""
    command = ["gcc", f"-print-file-name={name}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def build(folder, flags):
    """Builds the package with instrumented kernels; returns its import path."""
    for name in ("csrc", "src", "setup.py", "pyproject.toml", "README.md", "LICENSE"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    for old in (folder / "src" / "flambeau").glob("_kernels*.so"):
        old.unlink()
    setup = folder / "setup.py"
    setup.write_text(setup.read_text().replace('"-O3"', '"-O1"'))  # halves the compile time
    text = " ".join([*flags, "-g", "-fno-omit-frame-pointer"])
    env = os.environ | {"CFLAGS": text, "LDFLAGS": " ".join(flags)}
    subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], check=True, cwd=folder, env=env)
    return folder / "src"


def main(sanitizer, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        source = build(Path(folder), FLAGS[sanitizer])
        env = os.environ | OPTIONS | {
            "PYTHONPATH": str(source), "LD_PRELOAD": ":".join(map(library, RUNTIMES[sanitizer])),
            "FLAMBEAU_REQUIRE_NATIVE": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONMALLOC": "malloc",
        }
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", WITHOUT, *TESTS, *arguments]
        return subprocess.run(command, cwd=ROOT, env=env).returncode


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in FLAGS:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
