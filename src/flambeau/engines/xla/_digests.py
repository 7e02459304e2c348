"""Digests of programs, which are the same in every process that would compile the same program.

Code of this package, of jax and of NumPy is identified by name, or by its bytecode if it has none; the sources of this
package (_sources.py) and the versions of the others are part of the ``environment``, like everything else that affects
how jax compiles a call. User code has no digest, since its dependencies are unknown; and there are no digests at all if
jax's internals are not as expected.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import os
import platform
import sys
import types
from collections.abc import Callable

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np
from jax._src.lib import xla_client
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from ..._device import _Named, device
from .. import Engine
from ._sources import PACKAGE, digest_of_sources, find_replaced

TRUSTED = frozenset((PACKAGE.name, "jax", "jaxlib", "numpy", "_operator", "operator", "builtins", "functools"))
FOLDERS = tuple([os.path.dirname(os.path.abspath(file)) + os.sep for file in (PACKAGE / "_", jax.__file__)])
WITHOUT_EFFECT = ("cache", "log", "dump", "traceback")  # words in the names of settings without effect
LARGEST = 1 << 16  # bytes of a constant


def internal(module, name):
    """A private object of jax; None if it does not exist."""
    return getattr(getattr(jax._src, module, None), name, None)


CONFIG, KEY_OF_PROGRAM = internal("config", "config"), internal("cache_key", "get")
TRACE_CONTEXT = internal("config", "trace_context")


class NoDigest(Exception):
    """Something cannot be identified across processes."""


def digest(*values):
    """The digest of values, as text."""
    parts: list[str] = []
    tell(values, parts)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def tell(x, parts):
    """Appends lines that identify a value to `parts`."""
    kind = type(x)
    if kind in PLAIN:
        parts.append(f"{kind.__name__} {x!r}")
    elif kind is tuple or kind is list or kind is dict:
        parts.append(f"{kind.__name__} {len(x)}")
        for item in x.items() if kind is dict else x:
            tell(item, parts)
    else:
        tell_other(x, kind, parts)


PLAIN = frozenset((int, str, float, bool, complex, bytes, types.NoneType, types.EllipsisType))


def tell_other(x, kind, parts):
    found = KINDS.get(kind) or next((tell for base, tell in BASES.items() if isinstance(x, base)), tell_named)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        tell((kind, *x), parts)
    else:
        found(x, parts)


def tell_named(x, parts):
    """An object that can be found by its name in a trusted module."""
    module, name = getattr(x, "__module__", None), getattr(x, "__qualname__", None) or getattr(x, "__name__", None)
    if not (is_trusted(module) and isinstance(name, str) and found_at(module, name) is x):
        raise NoDigest(f"{type(x).__name__} {x!r}")
    parts.append(f"{module} {name}")


def is_trusted(module):
    return isinstance(module, str) and module.partition(".")[0] in TRUSTED


def found_at(module, name):
    found = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def tell_function(function, parts):
    """A function that can be found by its name; otherwise, its code and what that depends on."""
    module = function.__globals__.get("__name__")
    if not is_trusted(module):
        raise NoDigest(f"{module}.{function.__qualname__}")
    if found_at(function.__module__, function.__qualname__) is function:
        parts.append(f"function {function.__module__} {function.__qualname__}")
        return
    parts.append(f"function {module}")
    tell_code(function.__code__, parts)
    tell((function.__defaults__, function.__kwdefaults__), parts)
    for cell in function.__closure__ or ():
        if cell.cell_contents is function:
            parts.append("itself")
        else:
            tell(cell.cell_contents, parts)
    if function.__globals__ is not getattr(sys.modules.get(module), "__dict__", None):  # generated code
        for name in function.__code__.co_names:
            if name in function.__globals__:
                tell((name, function.__globals__[name]), parts)


def tell_code(code, parts):
    parts.append(f"code {code.co_qualname} {code.co_code.hex()}")
    tell((code.co_names, code.co_varnames, code.co_freevars, code.co_flags), parts)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            tell_code(constant, parts)
        elif isinstance(constant, frozenset):
            tell(sorted(map(repr, constant)), parts)
        else:
            tell(constant, parts)


def tell_code_alone(code, parts):
    """Code without its function: it must come from a file of this package or of jax."""
    if not code.co_filename.startswith(FOLDERS):
        raise NoDigest(code.co_filename)
    parts.append(f"file {code.co_filename.removeprefix(FOLDERS[0])}")
    tell_code(code, parts)


def tell_partial(x, parts):
    parts.append("partial")
    tell((x.func, x.args, x.keywords), parts)


def tell_array(x, parts):
    if x.size * x.dtype.itemsize > LARGEST or not isinstance(x.dtype, np.dtype) or x.dtype.hasobject:
        raise NoDigest("a large constant")
    x = np.asarray(x)
    parts.append(f"array {x.dtype.name} {x.dtype.byteorder} {x.shape} {x.tobytes().hex()}")


def tell_aval(x, parts):
    if not isinstance(x.dtype, np.dtype):
        raise NoDigest(f"{x.dtype}")  # keys of random numbers
    parts.append(f"aval {x.shape} {x.dtype.name} {x.weak_type}")


# ---- equations of jax


def tell_jaxpr(found, parts):
    """Equations; variables are numbered in order of appearance."""
    jaxpr, numbers = getattr(found, "jaxpr", found), {}

    def tell_variable(v):
        if isinstance(v, Literal):
            parts.append("literal")
            tell_aval(v.aval, parts)
            tell(np.asarray(v.val), parts)
        else:
            parts.append(f"variable {numbers.setdefault(v, len(numbers))}")

    parts.append(f"jaxpr {len(jaxpr.constvars)} {len(jaxpr.invars)} {len(jaxpr.eqns)} {len(jaxpr.outvars)}")
    for v in (*jaxpr.constvars, *jaxpr.invars):
        tell_variable(v)
        tell_aval(v.aval, parts)
    for e in jaxpr.eqns:
        parts.append(f"equation {e.primitive.name}")
        tell({name: e.params[name] for name in sorted(e.params)}, parts)
        parts.append(f"operands {len(e.invars)} {len(e.outvars)}")
        for v in (*e.invars, *e.outvars):
            tell_variable(v)
    for v in jaxpr.outvars:
        tell_variable(v)
    tell(list(getattr(found, "consts", ())), parts)


def tell_axes(x, parts):
    """Mapped axes: programs are compiled outside of any."""
    if x.axis_sizes:
        raise NoDigest("a mapped axis")
    parts.append("no axes")


def tell_mesh(x, parts):
    """Device meshes: programs run on one device."""
    if not x.empty:
        raise NoDigest("a mesh")
    parts.append("no mesh")


KINDS: dict[type, Callable] = {
    types.FunctionType: tell_function,
    types.CodeType: tell_code_alone,
    functools.partial: tell_partial,
    np.ndarray: tell_array,
    type(jnp.zeros(())): tell_array,
    internal("literals", "TypedNdArray"): tell_array,
    Jaxpr: tell_jaxpr,
    ClosedJaxpr: tell_jaxpr,
    internal("core", "AxisEnv"): tell_axes,
    jax.sharding.Mesh: tell_mesh,
    jax.sharding.AbstractMesh: tell_mesh,
    internal("sharding_impls", "UnspecifiedValue"): lambda x, parts: parts.append("unspecified"),
}
BASES: dict[type, Callable] = {
    type: tell_named,
    enum.Enum: lambda x, parts: parts.append(f"{type(x).__name__} {x.name}"),
    np.dtype: lambda x, parts: parts.append(f"dtype {x.name} {x.byteorder}"),
    np.generic: tell_array,
    Engine: lambda x, parts: parts.append(f"engine {x.name}"),
    device: lambda x, parts: parts.append(f"device {x}"),
    _Named: lambda x, parts: parts.append(f"constant {x}"),
    jax.Device: lambda x, parts: parts.append(f"device {x.platform} {x.device_kind} {x.id}"),
}


# ---- the environment


def check_code():
    """Raises NoDigest if a function was replaced, so that the sources do not describe the running code."""
    replaced = find_replaced()
    if replaced is not None:
        raise NoDigest(f"{replaced} was replaced")


@functools.cache
def platform_of(own):
    """jax's key for a device: versions, XLA's flags, the machine."""
    empty = jax.jit(lambda: None).lower().compiler_ir()
    try:
        return KEY_OF_PROGRAM(empty, np.array([own], object), xla_client.CompileOptions(), own.client)
    except TypeError as error:
        raise NoDigest("jax computes its keys in an unknown way") from error


@functools.cache
def settings_of_jax():
    """The names of jax's settings that may affect programs."""
    return tuple([name for name in sorted(CONFIG.values) if not any([word in name for word in WITHOUT_EFFECT])])


def trace_context():
    """What jax compares, besides arguments, to decide whether to trace again: default device, precisions."""
    if TRACE_CONTEXT is not None:
        return TRACE_CONTEXT()
    return jax.config.jax_default_device, jax.config.jax_enable_x64, jax.config.jax_default_matmul_precision


def environment(own):
    """A digest of everything, besides code and arguments, that affects how jax compiles a call for a device."""
    if not (TRACE_CONTEXT and KEY_OF_PROGRAM and isinstance(getattr(CONFIG, "values", None), dict)):
        raise NoDigest("the settings of jax are not where they are expected")
    return _environment(own, tuple(map(CONFIG.values.get, settings_of_jax())), trace_context())


@functools.lru_cache(64)
def _environment(own, settings, context):
    check_code()
    sources = digest_of_sources()
    if sources is None:
        raise NoDigest("sources were modified after the import, or are missing")
    versions = platform.python_version(), np.__version__, jax.__version__, jaxlib.__version__
    return digest(versions, sources, platform_of(own), own, settings_of_jax(), settings, context)
