"""``flambeau doctor``: shows what is installed and active, and whether a program's requirements are met."""

import importlib
import importlib.metadata
import os
import platform
import sys

import numpy as np

from .._version import __version__
from . import _script

LIBRARIES = (
    "torchvision", "timm", "transformers", "lightning", "pytorch-lightning", "accelerate", "einops", "torchmetrics",
    "torchinfo", "safetensors", "skorch", "pytorch-ignite", "vit-pytorch",
)
NO_KERNELS = "not built. If a C compiler is available: pip install --force-reinstall --no-deps flambeau"
KERNELS_OFF = "disabled by FLAMBEAU_NATIVE=0"
NO_JAX = "jax is not installed. For compile() and the devices cuda, tpu and xla: pip install 'flambeau[xla]'"
NO_PILLOW = "not installed. For images: pip install pillow"
NO_TORCH = "not available here. `flambeau run script.py` provides it to one program, `flambeau torch install` to all"


def report():
    """Prints what is installed and active; returns 0."""
    lines = {
        "flambeau": f"{__version__} in {os.path.dirname(os.path.dirname(__file__))}",
        "python": f"{platform.python_version()} in {sys.prefix}, {platform.system()} {platform.machine()}",
        "numpy": f"{np.__version__}, BLAS: {_blas()}",
        "native kernels": _kernels(),
        "xla": _xla(),
        "pillow": _version("pillow") or NO_PILLOW,
        "import torch": _torch(),
        "libraries": ", ".join(f"{name} {found}" for name in LIBRARIES if (found := _version(name))) or "none known",
    }
    for name, text in lines.items():
        print(f"{name + ':':<16}{text}")
    return 0


def check(scripts, libraries=False):
    """Prints the names of torch that programs use and Flambeau lacks.

    Returns the exit status: 1 if there are any, 2 if a script cannot be read.
    """
    return max(_check(script, libraries) for script in scripts)


def _check(script, libraries):
    try:
        program = _script.Program(script, libraries)
    except (OSError, SyntaxError) as error:
        print(f"flambeau doctor: {error}", file=sys.stderr)
        return 2
    findings = program.findings()
    for finding in findings:
        print(finding)
    certain = sum(finding.is_certain for finding in findings)
    read = f"{script} and {len(program.readers) - 1} modules that it imports"
    print(f"{read}: {len(program.names())} names of torch, missing in {certain or 'no'} place{'s' * (certain != 1)}")
    if program.unread:
        print(f"  not read, but with --libraries: {', '.join(sorted(program.unread))}")
    return int(certain > 0)


def _version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _blas():
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"{blas['name']} {blas['version']}"


def _kernels():
    if os.environ.get("FLAMBEAU_NATIVE") == "0":
        return KERNELS_OFF
    try:
        kernels = importlib.import_module("flambeau._kernels")
    except ImportError:
        return NO_KERNELS
    return f"{len(kernels.NAMES)}, on vectors of {8 * kernels.use_width(64)} bits"


def _xla():
    found = _version("jax")
    if not found:
        return NO_JAX
    import jax

    kinds = sorted({device.device_kind if device.platform != "cpu" else "CPU" for device in jax.devices()})
    return f"jax {found} on {', '.join(kinds)}"


def _torch():
    from .torch import find, is_ours

    found = find()
    if not found:
        return NO_TORCH
    return f"Flambeau, as torch {found.version}" if is_ours(found) else f"PyTorch {found.version}"
