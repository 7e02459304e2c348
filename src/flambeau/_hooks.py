"""Tensor hooks, and the handles that remove hooks."""

import itertools
import weakref
from collections import OrderedDict


class TensorHooks:
    """The hooks of one tensor; those of a non-leaf are also registered on its node."""

    __slots__ = ("end", "grad", "post_accumulate", "retain")

    def __init__(self):
        self.grad = OrderedDict()
        self.post_accumulate = OrderedDict()
        self.retain = None  # weak reference to the tensor whose .grad to retain
        self.end = None  # weak reference to the AccumulateGrad of a leaf


def hooks_of(t):
    """The hooks of a tensor, registered on its node too if it has one."""
    if t._hooks is None:
        t._hooks = TensorHooks()
    node = t.grad_fn
    if node is not None:
        if node._out_hooks is None:
            node._out_hooks = []
        if not any(hooks is t._hooks for _, hooks in node._out_hooks):
            node._out_hooks.append((t._nr, t._hooks))
        node._hooked = True
    return t._hooks


def move_hooks(t):
    """Updates the hooks of a tensor whose place in the graph has changed: they stay on the old node, except the one for
    ``retain_grad``, which moves along."""
    hooks, t._hooks = t._hooks, None
    if hooks is not None and hooks.retain is not None:
        retain, hooks.retain = hooks.retain, None
        hooks_of(t).retain = retain


class RemovableHandle:
    """Removes a hook: call ``remove()``, or use it as a context manager.

    Removing twice has no effect. A handle pickled or deep-copied together with its dict keeps working.
    """

    _ids = itertools.count()

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.id = next(RemovableHandle._ids)
        extra = extra_dict if isinstance(extra_dict, list) else [extra_dict] if extra_dict is not None else []
        self._dicts = tuple(_reference(d) for d in (hooks_dict, *extra))

    def remove(self):
        """Removes the hook, if it is still registered."""
        for reference in self._dicts:
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self):
        return tuple(reference() for reference in self._dicts), self.id

    def __setstate__(self, state):
        dicts, self.id = state
        self._dicts = tuple(_reference(d if d is not None else OrderedDict()) for d in dicts)
        RemovableHandle._ids = itertools.count(max(self.id + 1, next(RemovableHandle._ids)))

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def add_hook(table, hook, prepend=False):
    """Adds a hook at the end of a table (or at its beginning); returns the handle that removes it."""
    handle = RemovableHandle(table)
    later = dict(table) if prepend else {}
    if prepend:
        table.clear()
    table[handle.id] = hook
    table.update(later)
    return handle


def _reference(d):
    """A weak reference to the dict, if it supports one; plain dicts are referenced strongly."""
    try:
        return weakref.ref(d)
    except TypeError:
        return lambda: d
