"""Introspection of Tensor subclasses."""

from .._tensor import Tensor

__all__ = ["is_traceable_wrapper_subclass"]


def is_traceable_wrapper_subclass(t):
    """Whether a tensor's class defines how to flatten it into other tensors and to rebuild it."""
    return (isinstance(t, Tensor) and type(t) is not Tensor
            and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__"))
