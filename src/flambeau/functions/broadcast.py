"""Broadcasting: views with expanded dimensions."""

from .._dtypes import type_word
from .._size import Size
from ..ops import shape as ops
from ..ops._errors import broadcast_clash
from ._args import as_int, need_tensor, need_tensors, shape_from
from ._attach import keyword_value, methods, spread

__all__ = ["broadcast_to", "broadcast_tensors", "broadcast_shapes"]

EXPAND_CLASH = (
    "The expanded size of the tensor ({new}) must match the existing size ({old}) at non-singleton dimension {dim}.  "
    "Target sizes: {target}.  Tensor sizes: {own}"
)


def expand_to(input, size):
    """A view of `size` with dimensions of size one expanded; -1 keeps the size of a dimension."""
    own = input._a.shape
    lead = len(size) - len(own)
    if -1 not in size and lead >= 0 and own == size[lead:] and (not size or min(size) >= 0):
        return ops.expand(input, shape=size)
    if lead < 0:
        raise RuntimeError(
            f"expand(torch.{type_word(input.dtype)}Tensor{{{list(own)}}}, size={list(size)}): the number "
            f"of sizes provided ({len(size)}) must be greater or equal to the number of dimensions in the tensor "
            f"({len(own)})"
        )
    shape = []
    for i, n in enumerate(size):
        old = own[i - lead] if i >= lead else 1
        if n == -1 and i >= lead:
            n = old
        elif n < 0 and i < lead:
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) isn't allowed in a leading, non-existing dimension {i}"
            )
        elif (n != old and old != 1) or n < 0:
            raise RuntimeError(EXPAND_CLASH.format(new=n, old=old, dim=i, target=list(size), own=list(own)))
        shape.append(n)
    return ops.expand(input, shape=tuple(shape))


def expand(self, *size, implicit=False, **named):
    """A view with dimensions of size one expanded, without a copy; -1 keeps the size of a dimension."""
    if not size:
        size = (keyword_value(named, "expand", "size"),)
    return expand_to(self, size if type(size[0]) is int else shape_from(size))


def expand_as(self, other):
    """``expand(other.size())``."""
    need_tensor(other, "expand_as", "other")
    return expand_to(self, other._a.shape)


def broadcast_to(input, size):
    """``input`` expanded to ``size``."""
    need_tensor(input, "broadcast_to")
    return expand_to(input, shape_from((size,)))


@spread("size")
def broadcast_to_method(self, size):
    """This tensor expanded to ``size``."""
    return expand_to(self, shape_from(size))


def broadcast_shapes(*shapes):
    """The shape that results from broadcasting tensors of these shapes."""
    shapes = [tuple(s) if isinstance(s, (tuple, list)) else (as_int(s, "broadcast_shapes", "shapes"),) for s in shapes]
    out = [1] * max(map(len, shapes), default=0)
    for shape in shapes:
        for i in range(-1, -1 - len(shape), -1):
            n = as_int(shape[i], "broadcast_shapes", "shapes")
            if n < 0:
                raise RuntimeError(f"Trying to create tensor with negative dimension ({n}): ({list(shape)})")
            if n not in (1, out[i]):
                if out[i] != 1:
                    raise RuntimeError(
                        "Shape mismatch: objects cannot be broadcast to a single shape: "
                        + ", ".join(str(list(s)) for s in shapes)
                    )
                out[i] = n
    return Size(out)


def broadcast_tensors(*tensors):
    """The tensors, each expanded to their common shape."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tensors[0]
    tensors = need_tensors(tensors, "broadcast_tensors")
    shapes = [x._a.shape for x in tensors]
    if clash := broadcast_clash(shapes):
        raise RuntimeError(clash)
    shape = tuple(broadcast_shapes(*shapes))
    return tuple([x if x._a.shape == shape else ops.expand(x, shape=shape) for x in tensors])


methods(expand, expand_as, broadcast_to=broadcast_to_method)
