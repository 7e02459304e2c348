"""Parametrizations: parameters that are computed from others on each access."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Sequence

from ..._modes import no_grad
from ..._tensor import Tensor
from ..modules.container import ModuleDict, ModuleList
from ..parameter import Parameter

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
           "transfer_parametrizations_and_params", "type_before_parametrizations"]

NOT_TENSORS = "`right_inverse` must return a Tensor or a Sequence of tensors (list, tuple...). Got {kind}."
INVERSE_DTYPE = """\
`right_inverse` may not change the dtype.
original.dtype: {before}
right_inverse(original).dtype: {after}"""
INVERSE_COUNT = "`right_inverse` must return a sequence of {expected} tensors. Got a sequence of length {got}."
NO_INVERSE = "parametrization {kind} does not implement right_inverse: the parametrized tensor cannot be assigned to."
CHANGED = """\
{what} may not change the {attribute} of the tensor, unless `unsafe` flag is enabled.
unparametrized {attribute}: {before}
parametrized {attribute}: {after}"""
NO_TENSOR = "Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{name}'"
NOT_PICKLED = (
    "Serialization of parametrized modules is only supported through state_dict(). See: nn.Module.state_dict and "
    "load_state_dict."
)
NO_WAY_BACK = (
    "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of "
    "tensors."
)

_cache: dict = {}
_cache_depth = 0


@contextlib.contextmanager
def cached():
    """A context in which parametrized tensors are computed once and cached."""
    global _cache_depth
    _cache_depth += 1
    try:
        yield
    finally:
        _cache_depth -= 1
        if not _cache_depth:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and the tensor (or tensors) it is computed from: ``original``, or
    ``original0``, ``original1``, ... where the first ``right_inverse`` returned several.
    """

    def __init__(self, modules, original, unsafe=False):
        if not len(modules):
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        before = original.shape, original.dtype
        with no_grad():
            new = original
            for module in reversed(self):
                with contextlib.suppress(NotImplementedError):  # the inverse does not support these settings
                    if hasattr(module, "right_inverse"):
                        new = _right_inverse(module, new)
        self.is_tensor = isinstance(new, Tensor)
        if not self.is_tensor and not isinstance(new, Sequence):
            raise ValueError(NOT_TENSORS.format(kind=type(new).__name__))
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            self._keep(original, new)
        else:
            self._keep_several(original, new)
        if not unsafe:
            _check_same("Registering a parametrization", *before, self())

    def _keep(self, original, new):
        """The tensor itself becomes ``original``, with its new value."""
        if original.dtype != new.dtype:
            raise ValueError(INVERSE_DTYPE.format(before=original.dtype, after=new.dtype))
        with no_grad():
            original.data = new.data
        _register(self, "original", original)

    def _keep_several(self, original, new):
        for i, value in enumerate(new):
            if not isinstance(value, Tensor):
                raise ValueError(NOT_TENSORS.format(kind=f"element {i}, a {type(value).__name__}"))
            if isinstance(original, Parameter):
                value = Parameter(value, original.requires_grad)
            value.requires_grad_(original.requires_grad)
            _register(self, f"original{i}", value)

    def originals(self):
        """The tensors that the parametrized one is computed from."""
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value):
        """Sets the originals so that the parametrized tensor becomes `value`."""
        with no_grad():
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(NO_INVERSE.format(kind=type(module).__name__))
                value = _right_inverse(module, value)
            values = [value] if self.is_tensor else value
            if len(values) != self.ntensors:
                raise ValueError(INVERSE_COUNT.format(expected=self.ntensors, got=len(values)))
            for original, new in zip(self.originals(), values, strict=True):
                if not isinstance(new, Tensor):
                    raise ValueError(NOT_TENSORS.format(kind=type(new).__name__))
                if new.dtype != original.dtype:
                    raise ValueError(INVERSE_DTYPE.format(before=original.dtype, after=new.dtype))
                original.data = new.data

    def __reversed__(self):
        return reversed(list(self))

    def forward(self):
        first, *rest = self
        value = first(*self.originals())
        for module in rest:
            value = module(value)
        return value


def _check_same(what, shape, dtype, value):
    """Raises unless a parametrization preserves dtype and shape."""
    if not isinstance(value, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(value).__name__}.")
    for attribute, before, after in (("dtype", dtype, value.dtype), ("shape", shape, value.shape)):
        if before != after:
            raise ValueError(CHANGED.format(what=what, attribute=attribute, before=before, after=after))


def _right_inverse(module, value):
    return module.right_inverse(value) if isinstance(value, Tensor) else module.right_inverse(*value)


def _register(module, name, tensor):
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def is_parametrized(module, tensor_name=None):
    """Whether a module has parametrizations, or one of the given tensor."""
    table = module.__dict__.get("_modules", {}).get("parametrizations")
    if not isinstance(table, ModuleDict):
        return False
    return len(table) > 0 if tensor_name is None else tensor_name in table


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """Registers a parametrization of ``module.<tensor_name>``; several are applied in sequence."""
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        chain = module.parametrizations[tensor_name]
        if not unsafe:
            _check_joined(module, tensor_name, parametrization)
        chain.append(parametrization)
        chain.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        chain = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _swap_class(module)
            module.parametrizations = ModuleDict()
        _add_property(module, tensor_name)
        module.parametrizations[tensor_name] = chain
    else:
        raise ValueError(NO_TENSOR.format(module=module, name=tensor_name))
    return module


def _check_joined(module, name, parametrization):
    """Raises unless an additional parametrization preserves dtype and shape, in both directions."""
    with no_grad():
        now = getattr(module, name)
        new = parametrization(now)
        _check_same("Registering a further parametrization", now.shape, now.dtype, new)
        if hasattr(parametrization, "right_inverse"):
            with contextlib.suppress(NotImplementedError):
                back = parametrization.right_inverse(new)
                _check_same("The right_inverse of a further parametrization", now.shape, now.dtype, back)


def _swap_class(module):
    """Gives the module a class of its own, so that properties can be defined on it."""
    cls = type(module)

    def getstate(self):
        raise RuntimeError(NOT_PICKLED)

    def deepcopy(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        replica = memo[id(self)] = self.__new__(type(self))
        replica.__dict__ = copy.deepcopy(self.__dict__, memo)
        return replica

    body = {"__module__": ParametrizationList.__module__, "__getstate__": getstate, "parametrized_class": cls}
    if not hasattr(cls, "__deepcopy__"):
        body["__deepcopy__"] = deepcopy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), body)


def _add_property(module, name):
    def read(self):
        if not _cache_depth:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def write(self, value):
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(read, write))


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Removes the parametrizations of a tensor, which keeps the computed value or gets the original one."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    chain = module.parametrizations[tensor_name]
    if chain.is_tensor:
        original = chain.original
        if leave_parametrized:
            with no_grad():
                original.data = getattr(module, tensor_name).data
    elif leave_parametrized:
        trained = any(o.requires_grad for o in chain.originals())
        original = getattr(module, tensor_name).detach()
        original = Parameter(original, trained) if isinstance(chain.original0, Parameter) else original
    else:
        raise ValueError(NO_WAY_BACK)
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    _register(module, tensor_name, original)
    return module


def type_before_parametrizations(module):
    """The class of a module without its parametrizations."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Copies parametrizations and the tensors behind them to another module of the same class."""
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        chain = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach().clone()))
        for module in chain:
            register_parametrization(to_module, name, module)
        with no_grad():
            for target, source in zip(to_module.parametrizations[name].originals(), chain.originals(), strict=True):
                target.data = source.data
    return to_module
