"""Conversion of all parameters to one vector, and back."""

from ..._tensor import Tensor
from ...functions.join import cat

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters):
    """Concatenates the elements of all parameters; gradients flow back to them."""
    return cat([p.view(-1) for p in parameters])


def vector_to_parameters(vec, parameters):
    """Makes the parameters views of consecutive pieces of a vector.

    Example::

        >>> m = nn.Linear(2, 1)
        >>> nn.utils.vector_to_parameters(flambeau.tensor([1.0, 2.0, 3.0]), m.parameters())
        >>> nn.utils.parameters_to_vector(m.parameters())
        tensor([1., 2., 3.], grad_fn=<CatBackward0>)
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    start = 0
    for p in parameters:
        p.data = vec[start : start + p.numel()].view_as(p).data
        start += p.numel()
