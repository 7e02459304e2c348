"""Parametrizations: a parameter that is computed from others whenever it is read."""

from __future__ import annotations

import contextlib
import copy

from ..._modes import no_grad
from ..._tensor import Tensor
from ..modules.container import ModuleDict, ModuleList
from ..parameter import Parameter

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
           "transfer_parametrizations_and_params", "type_before_parametrizations"]

_cache: dict = {}
_cache_depth = 0


@contextlib.contextmanager
def cached():
    """Inside, a parametrized tensor is computed once and then kept."""
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
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    new = _right_inverse(module, new)
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            if original.dtype != new.dtype:
                raise ValueError(f"When `right_inverse` outputs one tensor, it may not change the dtype.\noriginal.dtype: {original.dtype}\nright_inverse(original).dtype: {new.dtype}")
            with no_grad():
                original.data = new.data if isinstance(new, Tensor) else new
            _register(self, "original", original)
        else:
            for i, value in enumerate(new):
                if not isinstance(value, Tensor):
                    raise ValueError(f"`right_inverse` must return a Tensor or a Sequence of tensors (list, tuple...). Got element {i} of the sequence with type {type(value).__name__}.")
                if isinstance(original, Parameter):
                    value = Parameter(value, original.requires_grad)
                value.requires_grad_(original.requires_grad)
                _register(self, f"original{i}", value)
        if not unsafe:
            self._check(*before)

    def _check(self, shape, dtype):
        value = self()
        if not isinstance(value, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(value).__name__}.")
        if value.dtype != dtype:
            raise ValueError(f"Registering a parametrization may not change the dtype of the tensor, unless `unsafe` flag is enabled.\nunparametrized dtype: {dtype}\nparametrized dtype: {value.dtype}")
        if value.shape != shape:
            raise ValueError(f"Registering a parametrization may not change the shape of the tensor, unless `unsafe` flag is enabled.\nunparametrized shape: {shape}\nparametrized shape: {value.shape}")

    def originals(self):
        """The tensors that the parametrized one is computed from."""
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value):
        """Sets the originals so that the parametrized tensor becomes `value`."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = _right_inverse(module, value)
            if self.is_tensor:
                if not isinstance(value, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
                if value.dtype != self.original.dtype:
                    raise ValueError(f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has dtype {self.original.dtype}")
                self.original.data = value.data
            else:
                if len(value) != self.ntensors:
                    raise ValueError(f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of length {len(value)}.")
                for original, new in zip(self.originals(), value, strict=True):
                    original.data = new.data

    def forward(self):
        value = self[0](*self.originals())
        for module in list(self)[1:]:
            value = module(value)
        return value


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
    """Computes ``module.<tensor_name>`` by a parametrization from now on; several are applied one after another."""
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
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'")
    return module


def _check_joined(module, name, parametrization):
    """A further parametrization must keep the dtype and shape."""
    with no_grad():
        now = getattr(module, name)
        new = parametrization(now)
        if not isinstance(new, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(new).__name__}.")
        if new.dtype != now.dtype or new.shape != now.shape:
            raise ValueError(f"Registering a parametrization may not change the dtype or shape of the tensor, unless the `unsafe` flag is enabled: {now.dtype}{list(now.shape)} became {new.dtype}{list(new.shape)}")
        if hasattr(parametrization, "right_inverse"):
            back = _right_inverse(parametrization, new)
            if isinstance(back, Tensor) and (back.dtype != now.dtype or back.shape != now.shape):
                raise ValueError("The tensor returned by parametrization.right_inverse must have the dtype and shape of the tensor")


def _swap_class(module):
    """Gives the module a class of its own, on which the properties can be put."""
    cls = type(module)

    def getstate(self):
        raise RuntimeError("Serialization of parametrized modules is only supported through state_dict(). See: nn.Module.state_dict and load_state_dict.")

    def deepcopy(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        replica = memo[id(self)] = self.__new__(type(self))
        replica.__dict__ = copy.deepcopy(self.__dict__, memo)
        return replica

    body = {"__getstate__": getstate, "parametrized_class": cls}
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
    """Takes the parametrizations of a tensor away; it keeps its computed value, or gets its original one."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    chain = module.parametrizations[tensor_name]
    if chain.is_tensor:
        original = chain.original
        if leave_parametrized:
            with no_grad():
                value = getattr(module, tensor_name)
            if type(original) is not Tensor and not isinstance(original, Parameter):
                original = value
            else:
                with no_grad():
                    original.data = value.data.clone() if value.data is original.data else value.data
    else:
        if not leave_parametrized:
            raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of tensors.")
        value = getattr(module, tensor_name)
        trained = any(o.requires_grad for o in chain.originals())
        original = Parameter(value.detach(), trained) if trained or isinstance(chain.original0, Parameter) else value.detach()
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    _register(module, tensor_name, original)
    return module


def type_before_parametrizations(module):
    """The class of a module as it was written."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Copies parametrizations and the tensors behind them to another module of the same class."""
    if not is_parametrized(from_module):
        return to_module
    if not isinstance(to_module, type_before_parametrizations(from_module)):
        raise AssertionError(f"{type(to_module).__name__} is not a {type_before_parametrizations(from_module).__name__}")
    names = from_module.parametrizations if tensor_name is None else [tensor_name]
    for name in list(names):
        chain = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, copy.deepcopy(getattr(from_module, name).detach()))
        for module in chain:
            register_parametrization(to_module, name, module)
        for target, source in zip(to_module.parametrizations[name].originals(), chain.originals(), strict=True):
            with no_grad():
                target.data = source.data
    return to_module


