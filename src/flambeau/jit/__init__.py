"""TorchScript's API. Nothing is compiled: functions and modules remain Python and run eagerly."""

import contextlib
from typing import Final

from .._lazy import lazy_submodules
from ..nn.modules.module import Module

__all__ = [
    "Error", "Final", "RecursiveScriptModule", "ScriptFunction", "ScriptModule", "annotate", "export", "fork", "freeze",
    "ignore", "interface", "is_scripting", "is_tracing", "isinstance", "load", "optimize_for_inference",
    "optimized_execution", "save", "script", "script_if_tracing", "script_method", "set_fusion_strategy", "trace",
    "trace_module", "unused", "wait",
]

NO_FILES = (
    "torch.jit.{name} is not supported: TorchScript files hold programs for PyTorch's own interpreter. Keep the Python "
    "code, and save the weights: torch.save(model.state_dict(), path)."
)


NOT_SCRIPTABLE = "torch.jit.script() takes a function, a class or a module, but got {kind}"
NO_EXAMPLE = "example_kwarg_inputs should be a dict, unless torch.jit.trace() is given example_inputs"


class Error(RuntimeError):
    """The error class of PyTorch's interpreter, for ``except`` clauses."""


class ScriptModule(Module):
    """A plain, unscripted module."""


RecursiveScriptModule = ScriptModule
TracedModule = ScriptModule


class ScriptFunction:
    """The class of scripted functions in PyTorch, for ``isinstance`` only."""


# ---- what would compile


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """Returns the function, class or module unchanged."""
    if not callable(obj) and not builtin_isinstance(obj, (dict, list)):
        raise TypeError(NOT_SCRIPTABLE.format(kind=type(obj).__name__))
    return obj


def trace(func, example_inputs=None, optimize=None, check_trace=True, check_inputs=None, check_tolerance=1e-5,
          strict=True, _force_outplace=False, _module_class=None, _compilation_unit=None, example_kwarg_inputs=None,
          _store_inputs=True):
    """Returns the function or module unchanged, after one call with the example inputs."""
    if example_kwarg_inputs is not None:
        func(**example_kwarg_inputs)
    elif example_inputs is None:
        raise RuntimeError(NO_EXAMPLE)
    else:
        func(*example_inputs if builtin_isinstance(example_inputs, tuple) else (example_inputs,))
    return func


def trace_module(mod, inputs, *args, **kwargs):
    """Returns the module unchanged, after one call of each method in `inputs`."""
    for name, example in inputs.items():
        getattr(mod, name)(*example if builtin_isinstance(example, tuple) else (example,))
    return mod


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """Returns the module unchanged."""
    return mod


def optimize_for_inference(mod, other_methods=None):
    """Returns the module unchanged."""
    return mod


# ---- marks


def export(fn):
    """Returns the function."""
    return fn


def unused(fn):
    """Returns the function."""
    return fn


def ignore(drop=False, **kwargs):
    """A decorator that returns the function; used with and without arguments."""
    return drop if callable(drop) else lambda fn: fn


def script_method(fn):
    """Returns the function."""
    return fn


def interface(obj):
    """Returns the class."""
    return obj


def script_if_tracing(fn):
    """Returns the function."""
    return fn


_script_if_tracing = script_if_tracing


def _overload(func):
    return func


def _overload_method(func):
    return func


def annotate(the_type, the_value):
    """Returns the value."""
    return the_value


builtin_isinstance = isinstance


def isinstance(obj, target_type):
    """Python's isinstance, which also takes generic aliases such as ``List[int]`` and ``Optional[int]``."""
    kinds = target_type if builtin_isinstance(target_type, tuple) else (target_type,)
    return any(builtin_isinstance(obj, _classes(kind)) for kind in kinds)


def _classes(kind):
    from typing import Union, get_args, get_origin

    origin = get_origin(kind)
    if origin is Union:
        return tuple(getattr(part, "__origin__", part) for part in get_args(kind))
    return origin or kind


# ---- questions


def is_scripting():
    """Whether the code is being scripted: always False."""
    return False


def is_tracing():
    """Whether the code is being traced by ``torch.jit.trace``: always False."""
    return False


@contextlib.contextmanager
def optimized_execution(should_optimize):
    """A context manager without effect."""
    yield


def set_fusion_strategy(strategy):
    """Accepted, without effect; returns the previous strategy, an empty one."""
    return []


# ---- tasks


class Future:
    """The result of ``fork``, already available."""

    def __init__(self, value):
        self._value = value

    def wait(self):
        """Returns the result."""
        return self._value

    value = wait

    def done(self):
        """Whether the result is available."""
        return True


def fork(func, *args, **kwargs):
    """Calls the function immediately."""
    return Future(func(*args, **kwargs))


def wait(future):
    """Returns the result of a fork."""
    return future.wait()


# ---- files


def save(m, f, _extra_files=None):
    """Not supported: raises."""
    raise NotImplementedError(NO_FILES.format(name="save"))


def load(f, map_location=None, _extra_files=None, _restore_shapes=False):
    """Not supported: raises."""
    raise NotImplementedError(NO_FILES.format(name="load"))


__getattr__, __dir__ = lazy_submodules(__name__, ["annotations"])
