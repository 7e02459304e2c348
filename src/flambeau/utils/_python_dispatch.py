"""What libraries ask about subclasses of Tensor."""

from .._tensor import Tensor

__all__ = ["is_traceable_wrapper_subclass"]


def is_traceable_wrapper_subclass(t):
    """Whether a tensor is of a class that says how it is taken apart into other tensors, and put together again."""
    return (isinstance(t, Tensor) and type(t) is not Tensor
            and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__"))
