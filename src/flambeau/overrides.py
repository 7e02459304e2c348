"""Subclasses of Tensor and ``__torch_function__``: function overrides by user-defined tensor classes.

Plain tensors pay nothing. When the first object of such a class is created, the bodies of the public functions and of
Tensor's methods are replaced by ones that check the classes of the arguments first. The function objects stay the same,
so names imported earlier, and calls such as ``Tensor.add(x, y)``, are overridden too.

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

from ._device import device
from ._dtypes import dtype
from ._intercept import intercept
from ._size import Size
from ._tensor import Tensor
from ._threads import per_thread

__all__ = [
    "BaseTorchFunctionMode", "TorchFunctionMode", "get_ignored_functions", "handle_torch_function",
    "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like",
    "is_tensor_method_or_property", "resolve_name", "wrap_torch_function",
]

NO_IMPLEMENTATION = (
    "Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented: no "
    "implementation found for '{name}' on types that implement __torch_function__: {types}"
)

# Methods that Python calls, and those that `func` is then.
PUBLIC_NAMES = {
    "__abs__": "abs", "__add__": "add", "__ge__": "ge", "__gt__": "gt", "__iadd__": "add_",
    "__ifloordiv__": "floor_divide_", "__imod__": "remainder_", "__imul__": "mul_", "__ipow__": "pow_",
    "__isub__": "sub_", "__itruediv__": "div_", "__le__": "le", "__lt__": "lt", "__matmul__": "matmul",
    "__mod__": "remainder", "__mul__": "mul", "__ne__": "ne", "__neg__": "neg", "__pos__": "positive", "__pow__": "pow",
    "__radd__": "add", "__rand__": "bitwise_and", "__rmul__": "mul", "__ror__": "bitwise_or",
    "__rtruediv__": "__rdiv__", "__rxor__": "bitwise_xor", "__sub__": "sub", "__truediv__": "div", "ndimension": "dim",
    "nelement": "numel",
}
ARITHMETIC = (
    "add", "and", "floordiv", "lshift", "matmul", "mod", "mul", "or", "pow", "rshift", "sub", "truediv", "xor",
)
OPERATORS = frozenset((  # binary operators: if one raises TypeError, Python tries the other operand
    *(f"__{kind}{name}__" for name in ARITHMETIC for kind in ("", "r", "i")),
    "__eq__", "__ge__", "__gt__", "__le__", "__lt__", "__ne__",
))
PACKAGE = __name__.rpartition(".")[0]
MODULES = ("", ".functional", ".fft", ".linalg", ".nn.functional", ".special")  # whose functions can be overridden
NOT_OVERRIDABLE = frozenset(("__iter__", "as_subclass"))  # methods that cannot be overridden
IGNORED = frozenset((  # functions that cannot be overridden
    "are_deterministic_algorithms_enabled", "broadcast_shapes", "compile", "fork_rng", "from_dlpack", "from_numpy",
    "frombuffer", "get_default_device", "get_default_dtype", "get_deterministic_debug_mode",
    "get_float32_matmul_precision", "get_num_interop_threads", "get_num_threads", "get_rng_state", "initial_seed",
    "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "is_deterministic_algorithms_warn_only_enabled",
    "is_grad_enabled", "is_inference_mode_enabled", "is_storage", "is_tensor", "load", "manual_seed", "save", "seed",
    "set_anomaly_enabled", "set_default_device", "set_default_dtype", "set_default_tensor_type",
    "set_deterministic_debug_mode", "set_float32_matmul_precision", "set_num_interop_threads", "set_num_threads",
    "set_printoptions", "set_rng_state", "typename", "use_deterministic_algorithms", "vmap",
))
FACTORIES = frozenset((  # functions that create tensors: only modes override them
    "arange", "as_tensor", "asarray", "bartlett_window", "blackman_window", "empty", "empty_permuted", "empty_strided",
    "eye", "fftfreq", "full", "hamming_window", "hann_window", "kaiser_window", "linspace", "logspace", "ones", "rand",
    "randint", "randn", "randperm", "range", "rfftfreq", "scalar_tensor", "sparse_coo_tensor", "tensor", "tril_indices",
    "triu_indices", "zeros",
))
SILENT = frozenset((Tensor, bool, int, float, complex, str, slice, type(None), type(...), dtype, device, Size))
are_silent = SILENT.issuperset


class _State(threading.local):
    off = 0  # the nesting depth of calls without overrides
    modes: tuple[TorchFunctionMode, ...] = ()  # that are entered, the innermost last


_state = per_thread(_State())
_lock = threading.Lock()
_enabled = False  # whether functions check for overrides


class DisableTorchFunctionSubclass:
    """A context in which functions treat subclasses of Tensor as plain tensors."""

    def __enter__(self):
        _state.off += 1

    def __exit__(self, *exc):
        _state.off -= 1


def give_plain_results(func, types, args=(), kwargs=None):
    """A disabled ``__torch_function__``: results are plain tensors."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


# ---- modes


class TorchFunctionMode:
    """A context in which all functions call its ``__torch_function__``, whatever their arguments."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        enable_overrides()
        _state.modes = (*_state.modes, self)
        return self

    def __exit__(self, *exc):
        _state.modes = _state.modes[:-1]


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing, to derive from."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def dispatch_to_mode(func, args, kwargs):
    """The result of the innermost mode's ``__torch_function__``, which runs outside of that mode."""
    *outer, mode = _state.modes
    before, _state.modes = _state.modes, tuple(outer)
    try:
        return mode.__torch_function__(func, tuple(overriding_types((*args, *kwargs.values()), [])), args, kwargs)
    finally:
        _state.modes = before


# ---- the default


def torch_function(cls, func, types, args=(), kwargs=None):
    """Runs `func` and converts tensors in its result to the subclass."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
    return result if cls is Tensor or func in (Tensor.grad.__get__, Tensor._base.__get__) else convert_to(result, cls)


def convert_to(result, cls):
    """`result` with its tensors converted to `cls`."""
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else Tensor.as_subclass(result, cls)
    if isinstance(result, tuple | list):
        parts = [convert_to(r, cls) for r in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result


# ---- dispatch


def overriding_types(values, found):
    """Adds to `found` the classes that override, also those inside lists; subclasses before their bases."""
    for value in values:
        kind = type(value)
        if kind is Tensor or kind in found:
            continue
        if kind is tuple or kind is list:
            for item in value:  # no deeper: a list may contain itself
                if type(item) is not tuple and type(item) is not list:
                    overriding_types((item,), found)
        elif getattr(kind, "__torch_function__", give_plain_results) is not give_plain_results:
            found.insert(next((i for i, k in enumerate(found) if issubclass(kind, k)), len(found)), kind)
    return found


def dispatch(kinds, func, args, kwargs):
    """The result of the first class that does not return NotImplemented."""
    for kind in kinds:
        result = kind.__torch_function__(func, tuple(kinds), args, kwargs)
        if result is not NotImplemented:
            return result
    name = resolve_name(func) or getattr(func, "__name__", func)
    raise TypeError(NO_IMPLEMENTATION.format(name=name, types=list(kinds)))


def dispatch_operands(kinds, func, args, kwargs):
    """``dispatch`` for an operator."""
    try:
        return dispatch(kinds, func, args, kwargs)
    except TypeError:
        return NotImplemented


# ---- functions that can be overridden


def with_dispatch(public, dispatch=dispatch, checks_classes=True):
    """For ``intercept``: makes calls of `public` dispatch to modes and argument classes before the body runs."""

    def around(body):
        def call(args, kwargs):
            if _state.modes:
                return dispatch_to_mode(public, args, kwargs)
            if checks_classes and not (are_silent(map(type, args)) and are_silent(map(type, kwargs.values()))):
                kinds = [] if _state.off else overriding_types((*args, *kwargs.values()), [])
                if kinds:
                    return dispatch(kinds, public, args, kwargs)
            return body(*args, **kwargs)

        return call

    return around


def tensor_methods():
    """(name, method) of the methods of Tensor that can be overridden."""
    for name, member in vars(Tensor).items():
        if isinstance(member, types.FunctionType) and name not in NOT_OVERRIDABLE:
            yield name, member


def accessors():
    """(name, function that runs, accessor of the property) of the properties of Tensor."""
    for name, member in vars(Tensor).items():
        if isinstance(member, property):
            functions = dict(__get__=member.fget, __set__=member.fset, __delete__=member.fdel)
            for accessor, function in functions.items():
                if function is not None:
                    yield f"{name}.{accessor}", function, getattr(member, accessor)


def public_functions():
    """(module, name, function) of the public functions that can be overridden."""
    for path in MODULES:
        module = functools.reduce(getattr, path.split(".")[1:], sys.modules[PACKAGE])
        for name in getattr(module, "__all__", vars(module)):
            function = getattr(module, name)
            if isinstance(function, types.FunctionType) and name[0] != "_" and name not in IGNORED:
                yield path, name, function


def entry_points():
    """The functions that can be overridden, with the dispatcher of each."""
    found = {function: with_dispatch(accessor) for _, function, accessor in accessors()}
    for name, method in tensor_methods():
        public = vars(Tensor)[PUBLIC_NAMES.get(name, name)]
        found.setdefault(method, with_dispatch(public, dispatch_operands if name in OPERATORS else dispatch))
    for _, name, function in public_functions():
        found.setdefault(function, with_dispatch(function, checks_classes=name not in FACTORIES))
    return found


def is_mode_active():
    """Whether this thread is in a ``TorchFunctionMode``."""
    return _enabled and bool(_state.modes)


def enable_overrides():
    """Enables overrides for Tensor's methods and the public functions."""
    global _enabled
    with _lock:
        if not _enabled:
            for function, around in entry_points().items():
                intercept(function, around)
            _enabled = True


def new_instance(cls):
    """An object of a tensor class, with unset slots."""
    if not _enabled and cls is not Tensor and cls.__torch_function__ is not give_plain_results:
        enable_overrides()
    return object.__new__(cls)


Tensor.__torch_function__ = classmethod(torch_function)  # type: ignore[attr-defined]


# ---- for those who write functions of their own


def has_torch_function(relevant_args):
    """Whether one of the arguments has a ``__torch_function__``."""
    return not _state.off and bool(overriding_types(relevant_args, []))


def has_torch_function_unary(obj):
    """``has_torch_function`` for one argument."""
    return has_torch_function((obj,))


def has_torch_function_variadic(*args):
    """``has_torch_function`` for arguments that are given one by one."""
    return has_torch_function(args)


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """Dispatches ``public_api(*args, **kwargs)`` to the classes of `relevant_args`."""
    return dispatch(overriding_types(relevant_args, []), public_api, args, kwargs)


def wrap_torch_function(dispatcher):
    """Makes a function of your own overridable; ``dispatcher(*args, **kwargs)`` gives the relevant arguments.

    Example::

        >>> @wrap_torch_function(lambda x: (x,))
        ... def double(x):
        ...     return x * 2
        >>> double(flambeau.ones(2))
        tensor([2., 2.])
    """

    def wrap(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(call, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return call

    return wrap


def is_tensor_like(inp):
    """Whether an object is a Tensor or overrides functions like one."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def get_ignored_functions():
    """The functions that cannot be overridden."""
    package = sys.modules[PACKAGE]
    return {getattr(package, name) for name in IGNORED | FACTORIES if hasattr(package, name)}


def is_tensor_method_or_property(func):
    """Whether what ``__torch_function__`` gets as `func` is a method of Tensor or an accessor of a property."""
    return func in dict(tensor_methods()).values() or getattr(func, "__name__", None) == "__get__"


def resolve_name(f):
    """The name of a function that can be overridden, such as ``torch.Tensor.add``; None for others."""
    return _names().get(f)


@functools.cache
def _names():
    found = {function: f"torch{path}.{name}" for path, name, function in public_functions()}
    found.update({method: f"torch.Tensor.{name}" for name, method in tensor_methods()})
    return found | {accessor: f"torch.Tensor.{name}" for name, _, accessor in accessors()}
