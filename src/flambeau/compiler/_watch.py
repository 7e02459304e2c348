"""What a traced function reads and sets besides tensors.

Attributes of modules, of optimizers and of the user's own objects are watched where they are read and set: by methods
put on their classes for as long as the trace runs. Global names, closures, and what is read from classes and from
Python modules are noted when a function that names them is called. What containers hold is noted when they are reached.

What was read decides later whether the program still holds (see _guards.py). What was changed is put back after the
trace, and changed again by every run of the program.
"""

from __future__ import annotations

import contextlib
import gc
import random
import sys
import threading
import types

import numpy as np

from .._tensor import Tensor
from ..nn.modules._hooks import everywhere
from ..nn.modules.module import Module
from ..optim.optimizer import _everywhere as every_step
from ._contents import CONTAINERS, Contents, refill
from ._nest import Given, Same, containers_in, flatten, gives_on, others_in
from ._patches import NamesOf, is_foreign, is_made_by_users, on_classes
from ._places import MISSING, Argument, ClassItem, Closed, Gradient, Item, Place, Slot

TABLES = ("_parameters", "_buffers", "_modules")
DRAWN = "it draws from Python's or NumPy's random numbers, which a program would not draw again"
ITERATOR = "{label} is an iterator or draws random numbers: it gives something else each time"


class Noted:
    """What was at a place when it was first read or set."""

    __slots__ = ("label", "place", "read", "value")

    def __init__(self, place, value, label, read):
        self.place = place
        self.value = value
        self.label = label
        self.read = read  # before it was set


class Watch:
    """Notes what is read and set while it runs.

    Args:
        arguments: the tensors among the arguments of the function.
        call: all its arguments.
    """

    def __init__(self, arguments, call):
        self.noted = {}  # by key of the place
        self.contents = {}  # id of a container -> (Contents, label)
        self.tensors = {}  # id -> (tensor, requires_grad, its places: (place, label))
        self.attributes = {}  # id -> (tensor, what the user has set on it)
        self.seen = set()  # (id, name) of attributes that were read
        self.things = {}  # id -> object whose attributes were noted
        self.made = {}  # id -> object that the function itself has made
        self.codes = {}  # of functions that ran -> the names in them
        self.importing = 0  # how deep in the import system: what runs there is not the function's
        self.volatile = None  # why no program can be kept
        self.thread = threading.get_ident()
        self.given = [Contents(c) for c in containers_in(call, [])]
        self.made.update((id(c.container), c.container) for c in self.given)
        for nr, t in enumerate(arguments):
            self.tensor(t, Argument(nr), "an argument")
        for value in others_in(flatten(call, [])):
            self.reached(value, "an argument")
        self.reached(everywhere, "hooks on all modules")
        self.reached(every_step, "hooks on all optimizers")

    @contextlib.contextmanager
    def running(self):
        """Watches; then puts back everything that was changed."""
        drawn, profile = drawing_state(), sys.getprofile()
        try:
            with on_classes(self):
                sys.setprofile(self.profile)
                try:
                    yield
                finally:
                    set_profile(profile)
        finally:
            self.restore()
        if drawing_state() != drawn:
            self.volatile = DRAWN

    def restore(self):
        for noted in self.noted.values():
            if noted.place.now() is not noted.value:
                noted.place.put(noted.value)
        for contents in (*[c for c, _ in self.contents.values()], *self.given):
            contents.restore()
        for t, flag, _ in self.tensors.values():
            t._rg = flag
        for t, before in self.attributes.values():
            if vars(t) or before:
                refill(vars(t), before.keys(), before.values())

    def changed(self):
        """What the function has changed: (place, value) pairs, and (container or argument number, Contents) pairs."""
        places = [(noted.place, noted.place.now()) for noted in self.noted.values()
                  if noted.place.now() is not noted.value]
        refilled = [(c.container, Contents(c.container)) for c, _ in self.contents.values() if not c.untouched()]
        refilled += [(nr, Contents(c.container)) for nr, c in enumerate(self.given) if not c.untouched()]
        return places, refilled

    def keep(self, value):
        """What stands for a container from outside, which is not to be copied; None for others."""
        for nr, contents in enumerate(self.given):
            if contents.container is value:
                return Given(nr)
        return Same(value) if id(value) in self.contents or id(value) in self.things else None

    def is_new(self, value):
        """Whether a value is an object of the user's that the function has made."""
        return id(value) in self.made and is_made_by_users(type(value)) and not isinstance(value, (*CONTAINERS, Module))

    # ---- places, and what is reached from there

    def depends(self, place, value, label):
        """The program holds only as long as there is `value` at a place, or, of a tensor, another one like it."""
        if place.key not in self.noted:
            self.noted[place.key] = Noted(place, value, label, True)
            if isinstance(value, Tensor):
                self.tensor(value, place, label)
            else:
                self.reached(value, label)

    def will_set(self, place, label):
        """What is at a place now is about to be changed."""
        if place.key not in self.noted:
            self.noted[place.key] = Noted(place, place.now(), label, False)

    def tensor(self, t, place, label):
        if id(t) not in self.tensors:
            self.tensors[id(t)] = t, t._rg, []
            self.attributes[id(t)] = t, dict(vars(t))
            if vars(t) and not isinstance(place, Argument):
                self.tensors[id(t)][2].append((None, label))  # not to be exchanged for another one
                self.reached(vars(t), label)
        places = self.tensors[id(t)][2]
        if not isinstance(place, Place) or all(place.key != getattr(other, "key", None) for other, _ in places):
            places.append((place, label))

    def gradient(self, grad, t):
        """The gradient of `t` was read."""
        self.tensor(grad, Gradient(t), "a gradient")

    def reached(self, value, label):
        """Notes what a value holds."""
        if isinstance(value, CONTAINERS):
            if id(value) not in self.contents and id(value) not in self.made:
                contents = Contents(value)
                self.contents[id(value)] = contents, label
                for key in contents.keys:
                    if isinstance(key, Tensor):
                        self.tensor(key, None, label)
                for place, part in contents.places():
                    if isinstance(part, Tensor):
                        self.tensor(part, place, label)
                    else:
                        self.reached(part, label)
        elif isinstance(value, types.FunctionType):
            self.closure(value)
        elif gives_on(value):
            self.volatile = ITERATOR.format(label=label)

    def closure(self, function):
        """Notes what a function has closed over, and what it takes where an argument is not given."""
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            place = Closed(cell, "cell_contents")
            self.depends(place, place.now(), f"the closed-over name {name}")
        for defaults in (function.__defaults__, function.__kwdefaults__):
            self.reached(defaults, f"a default of {function.__name__}")

    # ---- attributes

    def on(self, thing):
        return threading.get_ident() == self.thread and id(thing) not in self.made

    def saw(self, thing, name):
        """An attribute of an object is read."""
        if (id(thing), name) in self.seen or not self.on(thing):
            return
        self.seen.add((id(thing), name))
        self.things[id(thing)] = thing
        label = f"{type(thing).__name__}.{name}"
        tables = tables_of(thing)
        if name == "__dict__":
            self.reached(tables[0], label)
            return
        for table in tables:
            if name in table:
                self.depends(Item(table, name), table[name], label)
                return
        for cls in type(thing).__mro__:
            if name in cls.__dict__:
                self.saw_at_class(thing, cls, name, tables, label)
                return
        for table in tables:
            self.depends(Item(table, name), MISSING, label)

    def saw_at_class(self, thing, cls, name, tables, label):
        found = cls.__dict__[name]
        if isinstance(found, types.MemberDescriptorType):
            place = Slot(thing, found)
            self.depends(place, place.now(), label)
            return
        if tables and not hasattr(type(found), "__set__"):
            self.depends(Item(tables[0], name), MISSING, label)
        if not is_foreign(cls.__module__):
            self.depends(ClassItem(cls, name), found, label)

    def sets(self, thing, name):
        """An attribute of an object is about to be set or deleted."""
        if not self.on(thing):
            return
        self.things[id(thing)] = thing
        label = f"{type(thing).__name__}.{name}"
        for table in tables_of(thing):
            self.will_set(Item(table, name), label)
        member = getattr(type(thing), name, None)
        if isinstance(member, types.MemberDescriptorType):
            self.will_set(Slot(thing, member), label)

    def tensors_with_other_attributes(self):
        return [t for t, before in self.attributes.values()
                if vars(t).keys() != before.keys() or any(vars(t)[name] is not before[name] for name in before)]

    # ---- functions

    def profile(self, frame, event, arg):
        module, code = frame.f_globals.get("__name__"), frame.f_code
        if module == "importlib._bootstrap":
            self.importing += (event == "call") - (event == "return")
        if event != "call" or self.importing:
            return
        if code.co_name == "__init__" and code.co_argcount:
            self.begins(frame.f_locals.get(code.co_varnames[0]))
        if is_foreign(module):
            return
        names = self.codes.get(code)
        if names is None:
            names = self.codes[code] = NamesOf(code)
            self.first_call(code)
        for name in (names.globals if "globals" not in names.globals else {*frame.f_globals}) | names.stored:
            value = frame.f_globals.get(name, MISSING)
            if value is not MISSING or name in names.stored:
                self.depends(Item(frame.f_globals, name), value, f"the global name {name}")
                self.explore(value, names)
        for name in names.imported:
            self.explore(sys.modules.get(name), names)
        for value in list(frame.f_locals.values()):
            self.explore(value if isinstance(value, type) else type(value), names)

    def begins(self, thing):
        """The function makes an object: what is new is nobody else's."""
        if id(thing) not in self.things and not any(tables_of(thing)):
            self.made[id(thing)] = thing

    def first_call(self, code):
        """Of a function that was reached in no way that is watched, closures are found through its code."""
        if code.co_freevars and not any(code in other.co_consts for other in self.codes):
            for function in gc.get_referrers(code):
                if isinstance(function, types.FunctionType):
                    self.closure(function)

    def explore(self, space, names, depth=3):
        """Notes what code with these names may read from, or set in, a class or a Python module of the user's."""
        if isinstance(space, types.ModuleType):
            if not is_foreign(space.__name__):
                self.explore_names(Item, vars(space), vars(space), space.__name__, names, depth)
        elif isinstance(space, type):
            for cls in space.__mro__:
                if is_made_by_users(cls):
                    self.explore_names(ClassItem, cls, cls.__dict__, cls.__name__, names, depth)

    def explore_names(self, kind, owner, table, label, names, depth):
        for name in names.read | names.written:
            if name in table:
                self.depends(kind(owner, name), table[name], f"{label}.{name}")
                if depth:
                    self.explore(table[name], names, depth - 1)
            elif name in names.written:
                self.will_set(kind(owner, name), f"{label}.{name}")


def tables_of(thing):
    """The dicts in which an object has its attributes."""
    try:
        attributes = object.__getattribute__(thing, "__dict__")
    except AttributeError:
        return []
    if not isinstance(thing, Module):
        return [attributes]
    return [attributes, *[attributes[t] for t in TABLES if t in attributes]]


def drawing_state():
    """What Python and NumPy draw next."""
    return random.getstate(), repr(np.random.get_state())


def set_profile(profile):
    """``sys.setprofile``, also of the profilers that are written in C."""
    sys.setprofile(profile if callable(profile) else None)
    if hasattr(profile, "enable"):
        profile.enable()
