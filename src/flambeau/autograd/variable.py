"""Variable: the deprecated name for tensors with gradients."""

from .._tensor import Tensor


class _VariableMeta(type):
    def __instancecheck__(cls, instance):
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableMeta):
    """``Variable(t, requires_grad)`` returns the tensor; for compatibility."""

    def __new__(cls, data=None, requires_grad=False, volatile=False):
        if data is None:
            data = Tensor()
        out = data.detach()
        out.requires_grad = requires_grad
        return out
