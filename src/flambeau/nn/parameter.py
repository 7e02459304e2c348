"""Parameters and buffers: tensors that modules register."""

from __future__ import annotations

from collections import OrderedDict
from typing import Self

from .._dtypes import FLOAT
from .._format import format_tensor
from .._pickle import set_state, state_of
from .._tensor import Tensor, share
from ..functions.creation import empty
from ..overrides import give_plain_results, new_instance

UNINITIALIZED = (
    "Attempted to use an uninitialized parameter: this {cls} has no shape yet. A lazy module gives its parameters "
    "their shapes when it is first called: call it once with a sample input."
)
NO_SHAPE = (
    "Can't access the shape of an {cls}: it has none before the module's first call. When this comes from "
    "load_state_dict, a state dict of a lazy module that was never called is being loaded into an ordinary one."
)
NOT_SHARED = "Can't share memory on an {cls}: it has none before the module's first call."


def _blank(cls, requires_grad):
    """A leaf of class `cls` that has no array yet."""
    t = new_instance(cls)
    t._storage = t._grad = t._hooks = t._node = t._view = None
    t._nr = 0
    t._rg = requires_grad
    return t


def _over(cls, data, requires_grad):
    """A leaf of class `cls` over the memory of `data`."""
    t = share(new_instance(cls), data)
    if requires_grad:
        if data.dtype.category < FLOAT:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients; use "
                               f"requires_grad=False for a parameter of {data.dtype}")
        t.requires_grad = requires_grad
    return t


class Parameter(Tensor):
    """A tensor that becomes a parameter of the Module it is assigned to.

    It shares the memory of ``data`` and by default requires a gradient.

    Example::

        >>> Parameter(flambeau.zeros(2))
        Parameter containing:
        tensor([0., 0.], requires_grad=True)
    """

    __torch_function__ = give_plain_results

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Self:
        if data is None:
            data = empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(f"Parameter data must be a Tensor, not {type(data).__name__}")
        return _over(cls, data, requires_grad)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self):
        text = format_tensor(self)
        return "Parameter containing:\n" + (text if type(self) is Parameter else f"Parameter({text})")

    def __reduce_ex__(self, protocol):
        # PyTorch, too, makes a plain Parameter of one of a subclass.
        state, hooks = state_of(self), OrderedDict()
        if state:
            return _rebuild_parameter_with_state, (self.detach(), self.requires_grad, hooks, state)
        return _rebuild_parameter, (self.detach(), self.requires_grad, hooks)


def _rebuild_parameter(data, requires_grad, hooks=None):
    """Called by pickles, including PyTorch's."""
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data, requires_grad, hooks, state):
    out = Parameter(data, requires_grad)
    set_state(out, state)
    return out


def clear_grad(parameter, set_to_none):
    """Clears the gradient of a parameter: to None, or the same tensor to zeros."""
    grad = parameter._grad
    if set_to_none:
        parameter._grad = None
    elif grad is not None:
        if grad.requires_grad:
            grad.requires_grad_(False) if grad.is_leaf else grad.detach_()
        grad.zero_()


class _IsBuffer(type):
    """Buffers are ordinary tensors with a flag, which ``isinstance(t, Buffer)`` checks."""

    def __instancecheck__(cls, instance):
        return isinstance(instance, Tensor) and "_is_buffer" in instance.__dict__


class Buffer(Tensor, metaclass=_IsBuffer):
    """A tensor that becomes a buffer of the Module it is assigned to: state that is not trained.

    ``persistent=False`` keeps it out of the module's ``state_dict``.
    """

    persistent: bool
    __torch_function__ = give_plain_results

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Self:
        data = empty(0) if data is None else data
        return _mark(data.detach().requires_grad_(data.requires_grad), persistent)


def _mark(tensor, persistent):
    tensor._is_buffer = True
    tensor.persistent = persistent
    return tensor


# ---- without a shape


class UninitializedTensorMixin:
    """A parameter or buffer whose shape is not known yet.

    It has a dtype and a device, which may be changed, and nothing else: every other operation accesses the
    array, which raises.
    """

    cls_to_become: type

    @classmethod
    def _unborn(cls, requires_grad, device, dtype):
        t = _blank(cls, requires_grad)
        t._sample = empty(0, device=device, dtype=dtype)  # has the dtype and the device
        return t

    def materialize(self, shape, device=None, dtype=None):
        """Gives the tensor a shape, uninitialized elements, and its regular class."""
        fresh = empty(shape, device=device or self.device, dtype=dtype or self.dtype)
        del self._sample
        self.__class__ = self.cls_to_become
        self._a, self._storage = fresh._a, fresh._storage

    @property
    def _a(self):
        raise ValueError(UNINITIALIZED.format(cls=type(self).__name__))

    @property
    def shape(self):
        raise RuntimeError(NO_SHAPE.format(cls=type(self).__name__))

    @property
    def data(self):
        return self._sample

    @data.setter
    def data(self, value):
        self._sample = value._sample if is_lazy(value) else value

    @property
    def dtype(self):
        return self._sample.dtype

    @property
    def device(self):
        return self._sample.device

    @property
    def requires_grad(self):
        return self._rg

    @requires_grad.setter
    def requires_grad(self, value):
        self._rg = value

    def share_memory_(self):
        raise RuntimeError(NOT_SHARED.format(cls=type(self).__name__))

    def copy_(self, other, non_blocking=False):
        return self

    def _as(self, sample):
        """This tensor, with the dtype and device of another sample."""
        return type(self)(self.requires_grad, sample.device, sample.dtype)

    def __repr__(self):
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = self._as(self._sample)
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        return type(self), (self.requires_grad, self.device, self.dtype)


def _of_sample(name, converts):
    """A method that asks the sample; one that converts gives an uninitialised tensor again."""

    def method(self, *args, **kwargs):
        result = getattr(self._sample, name)(*args, **kwargs)
        return self._as(result) if converts else result

    method.__name__ = name
    return method


for _name in ("size", "is_complex", "is_floating_point", "get_device"):
    setattr(UninitializedTensorMixin, _name, _of_sample(_name, False))
for _name in ("to", "cpu", "cuda", "half", "float", "double", "bfloat16", "char", "short", "int", "long", "type"):
    setattr(UninitializedTensorMixin, _name, _of_sample(_name, True))


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A Parameter without a shape, which lazy modules materialize on their first call."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return cls._unborn(requires_grad, device, dtype)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer without a shape, which lazy modules materialize on their first call."""

    cls_to_become = Tensor
    __torch_function__ = give_plain_results

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        return _mark(cls._unborn(requires_grad, device, dtype), persistent)

    def _as(self, sample):
        return type(self)(self.requires_grad, sample.device, sample.dtype, self.persistent)

    def __reduce_ex__(self, protocol):
        return type(self), (self.requires_grad, self.device, self.dtype, self.persistent)


def is_lazy(param):
    """Whether a parameter or buffer is uninitialized."""
    return isinstance(param, UninitializedTensorMixin)


__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin",
           "is_lazy"]
