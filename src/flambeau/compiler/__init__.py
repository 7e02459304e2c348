"""The compiler: imperative functions as XLA programs, through JAX.

``compile(function)`` runs a function as a program in which everything it does with tensors is fused and compiled:
the forward of a module, or a whole training step with ``backward()`` and ``optimizer.step()``. See docs/compile.md.
"""

import functools
import importlib.util

from .._modes import modes
from ..nn.modules._hooks import register_compiler, run_with_hooks
from ..nn.modules.module import Module
from ._compiled import Compiled
from ._markers import *
from ._markers import __all__ as _MARKERS
from ._module import OptimizedModule

__all__ = ["compile", "disable", "is_compiling", "list_backends", *_MARKERS]

BACKENDS = {"inductor": True, "xla": True, "openxla": True, "eager": False, "aot_eager": False}
MODES = (None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")

NO_JAX = (
    "compile() needs JAX, which is not installed: pip install 'flambeau[xla]'. Without it, leave compile() out, or "
    'pass backend="eager", which runs the function eagerly.'
)
UNKNOWN_BACKEND = "Invalid backend: {backend!r}. The backends are {known}; functions as backends are not supported."
UNKNOWN_MODE = "Unrecognized mode={mode!r}, should be one of: {known}"
UNKNOWN_DYNAMIC = (
    "dynamic must be True, False or None, but got {dynamic!r}. Programs are specialized to shapes: batches of another "
    "size, such as the last one of an epoch, get their own programs, and nothing is padded."
)
BOTH = "Either mode or options can be specified, but both can't be specified at the same time."
DISABLED = (
    "{name} is marked with compiler.disable{because}, but is called by a compiled function. Call it before or after "
    "that function."
)
NOT_CALLABLE = "compile() expects a function or a module, but got {kind}"


def compile(model=None, *, fullgraph=False, dynamic=None, backend=None, mode=None, options=None, name=None,
            disable=False, recompile_limit=None, isolate_recompiles=False, shapes_spec=None):
    """Compiles a function or a module; without one, returns a decorator.

    The first call runs eagerly. Later calls run as XLA programs, on the device of the tensors. There is one program for
    each combination of arguments (shapes, dtypes, other values) and of other values that the function reads (attributes
    of modules, global names). ``backward()`` may be called inside the function or after it.

    Args:
        model: the function or module.
        fullgraph: no effect: a program is always the whole function. What cannot be part of a program (``item()``, an
            ``if`` on a tensor) is an error.
        dynamic: True, False or None; no effect: programs are specialized to shapes, so a batch of another size, such as
            the last one of an epoch, gets its own program.
        backend: "xla" (the default), "openxla" and "inductor" compile with XLA; "eager" and "aot_eager" do not compile.
        mode: one of PyTorch's modes; no effect.
        options: settings of the backend; there are none.
        name: the function's name in messages.
        disable: returns the model itself.
        recompile_limit: the number of programs, 8 by default, after which the function runs eagerly.
        isolate_recompiles: no effect: each call of ``compile`` has its own limit.
        shapes_spec: no effect: programs are specialized to shapes.

    Example::

        >>> double = flambeau.compile(lambda x: x * 2, backend="eager")
        >>> double(flambeau.ones(2))
        tensor([2., 2.])
    """
    settings = dict(dynamic=dynamic, backend=backend, mode=mode, options=options, name=name, disable=disable,
                    recompile_limit=recompile_limit)
    if model is None:
        return lambda function: compile(function, **settings)
    if isinstance(model, type):
        return model
    if not callable(model):
        raise RuntimeError(NOT_CALLABLE.format(kind=type(model).__name__))
    if isinstance(model, Module):
        call = compiled_call(model, **settings)
        if disable:
            return model
        return OptimizedModule(model, call or functools.partial(run_with_hooks, model), settings)
    if not wants_program(dynamic, backend, mode, options, disable) or getattr(model, "disabled", False):
        return model
    name = name or getattr(model, "__qualname__", type(model).__name__)
    return Compiled(model, name, program_limit(recompile_limit))


def compiled_call(module, *, fullgraph=False, dynamic=None, backend=None, mode=None, options=None, name=None,
                  disable=False, recompile_limit=None, isolate_recompiles=False, shapes_spec=None):
    """The function that calls of a module run, with the settings of ``compile``; None to call it directly."""
    if not wants_program(dynamic, backend, mode, options, disable):
        return None
    name = name or type(module).__name__
    return Compiled(functools.partial(run_with_hooks, module), name, program_limit(recompile_limit))


register_compiler(compiled_call)


def program_limit(limit):
    return 8 if limit is None else limit


def wants_program(dynamic, backend, mode, options, disable):
    """Whether to compile; raises for invalid settings, or if JAX is not installed."""
    if dynamic is not None and type(dynamic) is not bool:
        raise RuntimeError(UNKNOWN_DYNAMIC.format(dynamic=dynamic))
    if mode is not None and options is not None:
        raise RuntimeError(BOTH)
    if mode not in MODES:
        raise RuntimeError(UNKNOWN_MODE.format(mode=mode, known=", ".join(map(str, MODES[1:]))))
    if options:
        raise RuntimeError(f"Unexpected optimization option {next(iter(options))}: the XLA backend has none")
    if disable:
        return False
    backend = "xla" if backend is None else backend
    if not isinstance(backend, str) or backend not in BACKENDS:
        raise RuntimeError(UNKNOWN_BACKEND.format(backend=backend, known=", ".join(map(repr, BACKENDS))))
    if BACKENDS[backend] and importlib.util.find_spec("jax") is None:
        raise ModuleNotFoundError(NO_JAX, name="jax")
    return BACKENDS[backend]


def is_compiling():
    """Whether the caller is being traced for compilation."""
    return modes.tracer.active


def disable(fn=None, recursive=True, *, reason=None):
    """Marks a function that must not be compiled: calling it in a compiled function is an error.

    A program is always the whole function, so it cannot leave out a part.
    """
    if fn is None:
        return lambda fn: disable(fn, recursive, reason=reason)

    @functools.wraps(fn)
    def outside(*args, **kwargs):
        if is_compiling():
            because = f" ({reason})" if reason else ""
            message = DISABLED.format(name=getattr(fn, "__qualname__", fn), because=because)
            raise modes.tracer.refuse(RuntimeError(message))
        return fn(*args, **kwargs)

    outside.disabled = True
    return outside


def list_backends(exclude_tags=("debug", "experimental")):
    """The names that ``compile`` accepts as ``backend``."""
    return sorted(BACKENDS)
