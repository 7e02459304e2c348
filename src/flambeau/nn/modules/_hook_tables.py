"""PyTorch's names for the hooks of a module: tables by handle id, as attributes and in its ``__dict__``.

The ``__dict__`` of a module without hooks has one shared read-only table, ``NO_HOOKS``, under all these names. The
first hook, or the first access to one of the attributes, creates the module's registry, whose tables replace it.
"""

import copy
from collections import OrderedDict
from collections.abc import MutableMapping

from . import _report
from ._hooks import Hook, Hooks

TABLES = {  # PyTorch's name -> the kind of hooks
    "_backward_pre_hooks": "backward_pre", "_backward_hooks": "backward", "_forward_hooks": "forward",
    "_forward_pre_hooks": "forward_pre", "_state_dict_hooks": "state_dict", "_state_dict_pre_hooks": "state_dict_pre",
    "_load_state_dict_pre_hooks": "load_pre", "_load_state_dict_post_hooks": "load",
}
FLAGS = {
    "_forward_hooks_with_kwargs": ("forward", "with_kwargs"), "_forward_hooks_always_called": ("forward", "always"),
    "_forward_pre_hooks_with_kwargs": ("forward_pre", "with_kwargs"),
}
READ_ONLY = (
    "the __dict__ of a module without hooks does not take any: use module.register_forward_hook and its like, or the "
    "attribute, as in module._forward_hooks[key] = hook"
)


class NoHooks(OrderedDict):
    """The shared table of modules without hooks. A copy is the same object; pickled, it is a plain OrderedDict."""

    def __setitem__(self, key, value):
        raise TypeError(READ_ONLY)

    def __repr__(self):
        return repr(OrderedDict())

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return OrderedDict, ()


class FlagTable(MutableMapping, OrderedDict):  # type: ignore[misc, metaclass]  # its methods are the mapping's
    """The hooks of one kind that have a flag: handle id -> True. The flags are stored in the hooks' records.

    It is an OrderedDict to ``isinstance`` and to pickle.
    """

    def __init__(self, hooks, kind, flag):
        self._hooks, self._kind, self._flag = hooks, kind, flag

    def __deepcopy__(self, memo):
        return FlagTable(copy.deepcopy(self._hooks, memo), self._kind, self._flag)

    def __reduce__(self):
        return OrderedDict, (list(self.items()),)

    def __iter__(self):
        table = getattr(self._hooks, self._kind)
        return (key for key, hook in table.items() if type(hook) is Hook and getattr(hook, self._flag))

    def __len__(self):
        return sum(1 for _ in self)

    def __getitem__(self, key):
        if key not in list(self):
            raise KeyError(key)
        return True

    def __setitem__(self, key, value):
        table = getattr(self._hooks, self._kind)
        hook = table[key]
        record = hook if type(hook) is Hook else Hook(hook)
        table[key] = record._replace(**{self._flag: bool(value)})

    def __delitem__(self, key):
        if self[key]:
            self[key] = False

    def __repr__(self):
        return repr(OrderedDict(self.items()))


NO_HOOKS = NoHooks()
WITHOUT_HOOKS = {  # in the order of PyTorch's modules
    "_backward_pre_hooks": NO_HOOKS, "_backward_hooks": NO_HOOKS, "_is_full_backward_hook": None,
    "_forward_hooks": NO_HOOKS, "_forward_hooks_with_kwargs": NO_HOOKS, "_forward_hooks_always_called": NO_HOOKS,
    "_forward_pre_hooks": NO_HOOKS, "_forward_pre_hooks_with_kwargs": NO_HOOKS, "_state_dict_hooks": NO_HOOKS,
    "_state_dict_pre_hooks": NO_HOOKS, "_load_state_dict_pre_hooks": NO_HOOKS, "_load_state_dict_post_hooks": NO_HOOKS,
}


def tables_without_hooks():
    """Separate empty tables for a pickled module without hooks, which PyTorch can write to after loading."""
    return {name: table if table is None else NoHooks() for name, table in WITHOUT_HOOKS.items()}


def own_hooks(module):
    """The registry of a module, created if it has none."""
    d = module.__dict__
    if module._hook_registry is None or "_hook_registry" not in d:  # a trace observes attribute reads
        if "_modules" not in d:
            raise AttributeError(_report.no_attribute(module, "_hook_registry"))
        hooks = d["_hook_registry"] = Hooks()
        d.update({name: getattr(hooks, kind) for name, kind in TABLES.items()})
        d.update({name: FlagTable(hooks, *flag) for name, flag in FLAGS.items()})
    return d["_hook_registry"]


def adopt_tables(module):
    """Registers the hooks found in a ``__dict__`` that was filled from another module's, such as one of PyTorch's."""
    d = module.__dict__
    if d.get("_hook_registry") is not None:
        return
    d.pop("_hook_registry", None)
    found = {name: d[name] for name in WITHOUT_HOOKS if d[name] not in (None, {})}
    d.update(WITHOUT_HOOKS)
    for name in sorted(found, key=lambda name: name in FLAGS):  # it belongs to an existing hook
        setattr(module, name, found[name])


def hook_table(name):
    """The property for the hooks of one kind."""

    def table(self):
        return getattr(own_hooks(self), TABLES[name])

    def replace(self, hooks):
        setattr(own_hooks(self), TABLES[name], hooks)
        self.__dict__[name] = hooks

    return property(table, replace, doc=f"The {TABLES[name]} hooks, by handle id.")


def flag_table(name):
    """The property for the hooks of one kind that have a flag."""

    def table(self):
        return own_hooks(self) and self.__dict__[name]

    def replace(self, flags):
        table(self).clear()
        table(self).update(flags)

    return property(table, replace, doc="The {} hooks with the flag {}, by handle id.".format(*FLAGS[name]))


def _is_full(self):
    """Whether the backward hooks are full ones; None before the first."""
    return None if self._hook_registry is None else self._hook_registry.full


def _set_full(self, full):
    own_hooks(self).full = self.__dict__["_is_full_backward_hook"] = full


full_flag = property(_is_full, _set_full)
