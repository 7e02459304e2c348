"""Subclasses of Tensor and ``__torch_function__``: what a user's tensor class makes of functions called on it.

Plain tensors pay nothing. A class derived from Tensor gets its methods from ``Dispatching``, which stands between it
and Tensor. When the first such class is made, the public functions are replaced, in the modules that offer them, by
ones that look for such arguments. Not asked are a function that was imported by name before, a method of a plain tensor
that gets an argument of a subclass, and ``Tensor.add`` called by that name.

Example::

    >>> class Named(flambeau.Tensor):
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return super().__torch_function__(func, types, args, kwargs)
    >>> x = flambeau.ones(2).as_subclass(Named)
    >>> y = flambeau.stack([x, x])
    stack
    >>> type(y)
    <class 'Named'>
"""

from __future__ import annotations

import functools
import sys
import threading
import types

from ._tensor import Tensor
from ._threads import per_thread

__all__ = [
    "TorchFunctionMode", "get_ignored_functions", "handle_torch_function", "has_torch_function", "is_tensor_like",
]

NO_IMPLEMENTATION = (
    "no implementation found for '{name}' on types that implement __torch_function__: [{types}]. Each of them returned "
    "NotImplemented."
)

# Python's names of operators, and the methods that `func` is then.
OPERATORS = {
    "__add__": "add", "__radd__": "add", "__sub__": "sub", "__mul__": "mul", "__rmul__": "mul", "__truediv__": "div",
    "__rtruediv__": "__rdiv__", "__mod__": "remainder", "__pow__": "pow", "__matmul__": "matmul", "__neg__": "neg",
    "__abs__": "abs", "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge", "__iadd__": "add_",
    "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_", "__imod__": "remainder_",
}
# What is not asked about: it makes or describes objects, or runs the user's own code.
OWN_WAYS = frozenset((
    "__array_wrap__", "__class__", "__class_getitem__", "__contains__", "__copy__", "__deepcopy__", "__delattr__",
    "__dir__", "__format__", "__getattribute__", "__hash__", "__init__", "__init_subclass__", "__iter__", "__module__",
    "__new__", "__reduce__", "__reduce_ex__", "__reversed__", "__setattr__", "__setstate__", "__torch_function__",
    "_make_subclass", "apply_", "as_subclass", "backward", "is_inference", "map2_", "map_", "register_hook",
    "register_post_accumulate_grad_hook", "retain_grad", "share_memory_",
))
PROPERTIES = ("H", "T", "data", "imag", "mH", "mT", "real")  # those that are tensors
MODULES = ("", ".fft", ".linalg", ".nn.functional", ".special")  # whose functions ask the classes of their arguments
MAKERS = frozenset((
    "arange", "as_tensor", "asarray", "bartlett_window", "blackman_window", "empty", "empty_permuted", "empty_strided",
    "eye", "fork_rng", "from_dlpack", "from_file", "from_numpy", "frombuffer", "full", "get_default_device",
    "get_default_dtype", "get_num_interop_threads", "get_num_threads", "get_rng_state", "hamming_window", "hann_window",
    "initial_seed", "is_storage", "is_tensor", "kaiser_window", "linspace", "load", "logspace", "manual_seed", "ones",
    "rand", "randint", "randn", "randperm", "save", "scalar_tensor", "seed", "set_default_tensor_type",
    "set_default_device", "set_num_interop_threads", "set_num_threads", "set_rng_state", "tensor", "tril_indices",
    "triu_indices", "typename", "use_deterministic_algorithms", "zeros",
))


class _State(threading.local):
    off = 0  # how many calls deep no class is asked
    modes: tuple[TorchFunctionMode, ...] = ()  # that are entered, the innermost last


_state = per_thread(_State())


class DisableTorchFunctionSubclass:
    """Inside, functions treat subclasses of Tensor as plain tensors."""

    def __enter__(self):
        _state.off += 1

    def __exit__(self, *exc):
        _state.off -= 1


def disabled(func, types, args=(), kwargs=None):
    """The ``__torch_function__`` of a class that wants none: results are plain tensors."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


# ---- modes


class TorchFunctionMode:
    """A context in which functions ask its ``__torch_function__``, whatever their arguments are.

    Functions ask, and methods of subclasses of Tensor; methods of plain tensors, and functions that make tensors from
    other things, do not.
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        replace_functions()
        _state.modes = (*_state.modes, self)
        return self

    def __exit__(self, *exc):
        _state.modes = _state.modes[:-1]


def ask_mode(func, args, kwargs):
    """What the innermost mode makes of a call. In it, that mode is left."""
    *outer, mode = _state.modes
    before, _state.modes = _state.modes, tuple(outer)
    try:
        return mode.__torch_function__(func, tuple(overriding((*args, *kwargs.values()), [])), args, kwargs)
    finally:
        _state.modes = before


# ---- the default


def torch_function(cls, func, types, args=(), kwargs=None):
    """Runs `func`; tensors in its result become objects of the subclass."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
    return result if cls is Tensor else turn_into(result, cls)


def turn_into(result, cls):
    """`result` with its tensors as objects of `cls`."""
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else Tensor.as_subclass(result, cls)
    if isinstance(result, tuple | list):
        parts = [turn_into(r, cls) for r in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result


# ---- asking


def overriding(values, found):
    """Adds to `found` the classes, also of what lists hold, that have a say; a subclass before what it derives from."""
    for value in values:
        kind = type(value)
        if kind is Tensor or kind in found:
            continue
        if kind is tuple or kind is list:
            for item in value:  # no deeper: a list may contain itself
                if type(item) is not tuple and type(item) is not list:
                    overriding((item,), found)
        elif getattr(kind, "__torch_function__", disabled) is not disabled:
            found.insert(next((i for i, k in enumerate(found) if issubclass(kind, k)), len(found)), kind)
    return found


def ask(kinds, func, args, kwargs):
    """The result of the first class that has one."""
    for kind in kinds:
        result = kind.__torch_function__(func, tuple(kinds), args, kwargs)
        if result is not NotImplemented:
            return result
    names = ", ".join(f"{kind.__module__}.{kind.__qualname__}" for kind in kinds)
    raise TypeError(NO_IMPLEMENTATION.format(name=getattr(func, "__name__", func), types=names))


def dispatching(function, public=None):
    """`function`, which first asks the classes of its arguments; they are told that it is `public`."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        if _state.modes:
            return ask_mode(public or call, args, kwargs)
        if not _state.off:
            kinds = overriding((*args, *kwargs.values()), [])
            if kinds:
                return ask(kinds, public or call, args, kwargs)
        return function(*args, **kwargs)

    return call


# ---- classes


@functools.cache
def dispatching_class():
    """The class that stands between Tensor and its subclasses, with methods that ask."""
    members = {"__doc__": Tensor.__doc__, "__hash__": Tensor.__hash__, "__module__": "flambeau"}
    for name, member in list(vars(Tensor).items()):
        if isinstance(member, types.FunctionType) and name not in OWN_WAYS:
            members[name] = dispatching(member, vars(Tensor)[OPERATORS.get(name, name)])
        elif name in PROPERTIES:
            members[name] = property(dispatching(member.fget, member.__get__), member.fset, member.fdel, member.__doc__)
    return type("Dispatching", (Tensor,), members)


def between(cls, **kwargs):
    """Puts ``Dispatching`` between a new class and Tensor, unless it has ``_disabled_torch_function_impl``."""
    super(Tensor, cls).__init_subclass__(**kwargs)
    if Tensor in cls.__bases__ and cls.__torch_function__ is not disabled and cls.__name__ != "Dispatching":
        cls.__bases__ = tuple(dispatching_class() if base is Tensor else base for base in cls.__bases__)
        replace_functions()


@functools.cache
def replace_functions():
    """Makes the functions of the public modules ask their arguments."""
    package, made = __name__.rpartition(".")[0], {}
    for name in (*(package + name for name in MODULES), "torch"):  # under the alias, torch has the same functions
        module = sys.modules.get(name)
        for key, function in list(vars(module).items()) if module is not None else ():
            if not isinstance(function, types.FunctionType) or not function.__module__.startswith(package):
                continue
            if key not in MAKERS and not key.endswith("_"):  # in place the tensor stays what it is
                if function not in made:
                    made[function] = dispatching(function)
                    made[function].__module__ = module.__name__  # where pickle finds it
                setattr(module, key, made[function])


Tensor.__torch_function__ = classmethod(torch_function)  # type: ignore[attr-defined]
Tensor.__init_subclass__ = classmethod(between)  # type: ignore[assignment, method-assign]


# ---- for those who write functions of their own


def has_torch_function(relevant_args):
    """Whether one of the arguments wants to be asked."""
    return not _state.off and bool(overriding(relevant_args, []))


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """What the classes of `relevant_args` make of ``public_api(*args, **kwargs)``."""
    return ask(overriding(relevant_args, []), public_api, args, kwargs)


def is_tensor_like(inp):
    """Whether an object is a Tensor, or can be given for one."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def get_ignored_functions():
    """The functions that ask nobody."""
    package = sys.modules[__name__.rpartition(".")[0]]
    return {getattr(package, name) for name in MAKERS if hasattr(package, name)}
