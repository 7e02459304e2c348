"""Handles that take a hook away again."""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict


class RemovableHandle:
    """Removes a hook: call ``remove()``, or use it as a context manager.

    Removing twice does nothing; pickled or deep-copied together with its dict it keeps working.
    """

    _ids = itertools.count()

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.id = next(RemovableHandle._ids)
        extra = extra_dict if isinstance(extra_dict, list) else [extra_dict] if extra_dict is not None else []
        self._dicts = tuple(_reference(d) for d in (hooks_dict, *extra))

    def remove(self):
        """Takes the hook away, if it is still there."""
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
    """Puts a hook at the end of a table (or at its beginning); returns the handle that takes it away."""
    handle = RemovableHandle(table)
    later = dict(table) if prepend else {}
    if prepend:
        table.clear()
    table[handle.id] = hook
    table.update(later)
    return handle


def _reference(d):
    """A weak reference where the dict allows one; a plain dict is held."""
    try:
        return weakref.ref(d)
    except TypeError:
        return lambda: d
