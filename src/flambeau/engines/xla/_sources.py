"""Detects whether the running code is that of the sources, which identify programs across processes.

It is not if a file was modified after the import, or if a kernel, or a function of jax or NumPy that kernels call, was
replaced.
"""

from __future__ import annotations

import functools
import hashlib
import pathlib
import sys
import types

import numpy as np

from ..._import_time import IMPORTED_AT

PACKAGE = pathlib.Path(__file__).parents[2]
USED_BY_KERNELS = ("jax.numpy", "jax.lax", "jax.nn", "jax.scipy", "jax.random", "jax.ops", "jax.image",
                   f"{PACKAGE.name}.ops", f"{PACKAGE.name}.engines")  # modules and their submodules
STANDARD = sys.stdlib_module_names - {"__main__", "unittest"}
KNOWN = frozenset((PACKAGE.name, "jax", "jaxlib", "numpy", "ml_dtypes", "nanobind", "opt_einsum", "scipy", *STANDARD))


@functools.cache
def digest_of_sources():
    """A digest of this package as it was imported; None if that is not known."""
    found, files = hashlib.sha256(), sorted(PACKAGE.rglob("*.py"))
    try:
        for file in files:
            contents, status = file.read_bytes(), file.stat()
            if max(status.st_mtime, status.st_ctime) >= IMPORTED_AT:
                return None
            found.update(f"{file.relative_to(PACKAGE)} {len(contents)}\n".encode() + contents)
    except OSError:
        return None
    return found.hexdigest() if PACKAGE / "__init__.py" in files else None  # otherwise there are only compiled files


class Replaced:
    """The name of a function that was replaced. Code traced with it remains in use."""

    name: str | None = None


def find_replaced():
    """The name of a function that is or was replaced; None if there is none."""
    if Replaced.name is None:
        Replaced.name = next(replaced_names(), None)
    return Replaced.name


def replaced_names():
    from . import engine  # imported late: its kernels import this module

    owners = [(name, module) for name, module in [*sys.modules.items()] if is_used_by_kernels(name)]
    for owner, found in (*owners, ("numpy", np), (f"{engine}", engine)):
        for name, x in [*vars(found).items()]:
            if callable(x) and package_of(x) not in KNOWN:
                yield f"{owner}.{name}"


def is_used_by_kernels(module):
    return module.startswith(USED_BY_KERNELS) and any(
        [module == used or module.startswith(f"{used}.") for used in USED_BY_KERNELS])


def package_of(x):
    """The package that defines a callable."""
    if isinstance(x, types.FunctionType):
        module = x.__globals__.get("__name__")
    elif callable(inner := getattr(x, "func" if isinstance(x, functools.partial) else "__wrapped__", None)):
        return package_of(inner)
    else:
        module = (x if isinstance(x, (type, types.BuiltinFunctionType)) else type(x)).__module__
    return str(module or "builtins").partition(".")[0]
