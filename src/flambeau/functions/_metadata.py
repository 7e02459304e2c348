"""In-place views: the tensor takes the shape and strides of the view and keeps its memory."""

import functools
import inspect

from .._hooks import move_hooks
from .._modes import modes
from .._tensor import Tensor, share, storage_of, take_place
from ..autograd._writes import check_history, count_write
from ._results import rename_node


def metadata_methods(*functions, **renamed):
    """Adds an in-place method for each view function: ``transpose`` becomes ``Tensor.transpose_``."""
    for name, function in {**{f.__name__: f for f in functions}, **renamed}.items():
        setattr(Tensor, name + "_", becoming(function, name + "_"))


def becoming(function, name):
    @functools.wraps(function)
    def method(self, *args, **kwargs):
        return become(self, function, args, kwargs, name)

    method.__signature__ = inspect.signature(function)
    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = f"In-place form of ``{name.rstrip('_')}``: the tensor itself takes that shape."
    return method


def become(t, function, args, kwargs, name):
    """Turns `t` into the view of itself that `function` returns."""
    view, storage = t._view, storage_of(t)
    if modes.grad and t.requires_grad:
        check_history(t)
    before = share(object.__new__(Tensor), t)
    take_place(before, t)
    before._view = view
    after = function(before, *args, **kwargs)
    count_write(t, name)
    storage.attach(t, after._a, after)
    if modes.grad:
        if after._node is not None:
            rename_node(after, inplace_node_name(after._node.name()))
        take_place(t, after)
    if view is not None:
        t._view = after._view
        t._view.version = storage.version
    move_hooks(t)
    return t


def inplace_node_name(node):
    """The node name of the in-place form: PyTorch numbers these overloads after the others, and squeeze has three."""
    return node[:-1] + str(int(node[-1]) + (3 if node.startswith("Squeeze") else 1))
