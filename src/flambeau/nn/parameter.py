"""Parameters and buffers: tensors that a Module counts as its own."""

from __future__ import annotations

import copy


from .._format import format_tensor
from .._tensor import Tensor, storage_of

UNINITIALIZED = (
    "Attempted to use an uninitialized parameter in {what}. This error happens when you are using a `LazyModule` or "
    "explicitly manipulating uninitialized parameters: run a forward pass with a sample input first."
)


def _over(cls, data, requires_grad):
    """A new tensor of class `cls` over the memory of `data`, out of the graph."""
    t = object.__new__(cls)
    t._a = data._a
    t._storage = storage_of(data)
    t._grad = t._hooks = t._node = t._view = None
    t._nr = 0
    t._rg = False
    t.requires_grad = requires_grad
    return t


class Parameter(Tensor):
    """A tensor that becomes a parameter of the Module it is assigned to.

    It shares the memory of ``data`` and, unless told otherwise, requires a gradient.

    Example::

        >>> list(dict(Parameter=Parameter(flambeau.zeros(2))).values())[0]
        Parameter containing:
        tensor([0., 0.], requires_grad=True)
    """

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            from ..functions.creation import empty

            data = empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(f"Parameter data must be a Tensor, not {type(data).__name__}")
        return _over(cls, data, requires_grad)

    def __init__(self, data=None, requires_grad=True):
        pass

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        result = memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        result.__dict__.update(copy.deepcopy({k: v for k, v in self.__dict__.items() if k[0] != "_"}, memo))
        return result

    def __repr__(self):
        return "Parameter containing:\n" + format_tensor(self)

    def __reduce_ex__(self, protocol):
        return _rebuild_parameter, (type(self), self.data, self.requires_grad, dict(self.__dict__))


def _rebuild_parameter(cls, data, requires_grad, attributes):
    parameter = _over(cls, data, requires_grad)
    parameter.__dict__.update(attributes)
    return parameter


class Buffer(Tensor):
    """A tensor that becomes a buffer of the Module it is assigned to: state without a gradient.

    ``persistent=False`` keeps it out of the module's ``state_dict``.
    """

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            from ..functions.creation import empty

            data = empty(0)
        buffer = _over(cls, data, data.requires_grad and data.is_leaf)
        buffer.persistent = persistent
        return buffer

    def __init__(self, data=None, *, persistent=True):
        pass


class UninitializedTensorMixin:
    """A parameter or buffer whose shape is not known yet."""

    _ready_class: type
    _allowed = ("device", "dtype", "requires_grad", "is_leaf", "grad", "data", "is_complex", "is_floating_point",
                "requires_grad_", "detach", "persistent", "grad_fn", "is_inference")

    def materialize(self, shape, device=None, dtype=None):
        """Gives the tensor a shape, with elements that are not initialised, and its ordinary class."""
        from ..functions.creation import empty

        fresh = empty(shape, dtype=dtype or self.dtype, device=device or self.device)
        self._a = fresh._a
        self._storage = None
        self.__class__ = self._ready_class

    @property
    def shape(self):
        raise RuntimeError("Can't access the shape of an uninitialized parameter or buffer. " + UNINITIALIZED.format(what="a shape query"))

    def size(self, *args):
        return self.shape

    def share_memory_(self):
        raise RuntimeError("Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters before calling `module.share_memory()`.")

    def __repr__(self):
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = self._another()
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        return type(self)._of, (self.dtype, self.requires_grad)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A Parameter without a shape: lazy modules fill it in at the first call."""

    _ready_class = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        from ..functions.creation import empty

        return _over(cls, empty(0, device=device, dtype=dtype), requires_grad)

    def __init__(self, requires_grad=True, device=None, dtype=None):
        pass

    def _another(self):
        return type(self)(self.requires_grad, self.device, self.dtype)

    @classmethod
    def _of(cls, dtype, requires_grad):
        return cls(requires_grad, dtype=dtype)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer without a shape: lazy modules fill it in at the first call."""

    _ready_class = Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        from ..functions.creation import empty

        buffer = _over(cls, empty(0, device=device, dtype=dtype), requires_grad)
        buffer.persistent = persistent
        return buffer

    def __init__(self, requires_grad=False, device=None, dtype=None, persistent=True):
        pass

    def _another(self):
        return type(self)(self.requires_grad, self.device, self.dtype, self.persistent)

    @classmethod
    def _of(cls, dtype, requires_grad):
        return cls(requires_grad, dtype=dtype)


def is_lazy(param):
    """Whether a parameter or buffer still waits for its shape."""
    return isinstance(param, UninitializedTensorMixin)


__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin", "is_lazy"]

