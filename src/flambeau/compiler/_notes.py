"""What a traced function reads and sets: noted, to be compared before each run, restored after the trace, and set again
by every run.

Contents of containers and closures are noted when they are reached. Reads from classes and Python modules are noted by
the names in the code that runs. A value that can neither be watched nor trusted makes the program *volatile*: it serves
only one call.
"""

import abc
import collections
import enum
import functools
import gc
import operator
import types
from collections.abc import Set
from typing import NamedTuple

import numpy as np

from .._tensor import Tensor
from ..nn.modules.module import Module
from ._compiled import Compiled
from ._contents import CONTAINERS, Contents, TupleForm, is_plain_tuple, refill
from ._floats import TracedFloat
from ._places import Argument, ClassItem, ClosureCell, Gradient, Item, Part, Place, Slot
from ._pytree import LARGE, PLAIN, ArgumentContainer, Identity, containers_of
from ._trust import (
    CONFIGURATION,
    IMPURE_CALL,
    IMPURE_CLASS,
    ITERATOR,
    LARGE_ARRAY,
    UNKNOWN,
    advances,
    has_visible_state,
    is_constant,
    is_foreign,
    is_ours,
    is_pure,
    is_users,
)

FEW = 64  # entries of a container up to which its floats may become inputs
NAMING = (operator.attrgetter, operator.methodcaller)  # they ask for attributes by name
BUILTINS = (types.BuiltinFunctionType, types.MethodWrapperType)
PARTS = {  # types that only hold other values -> those values
    types.BuiltinFunctionType: lambda f: () if isinstance(f.__self__, types.ModuleType) else (f.__self__,),
    types.MethodWrapperType: lambda f: (f.__self__,),
    types.MappingProxyType: lambda proxy: gc.get_referents(proxy)[:1],
    property: lambda p: (p.fget, p.fset, p.fdel),
    classmethod: lambda f: (f.__func__,),
    staticmethod: lambda f: (f.__func__,),
    functools.cached_property: lambda p: (p.func,),
    slice: lambda s: (s.start, s.stop, s.step),
    Compiled: lambda f: (f.function,),
}
FUNCTION_PARTS = operator.attrgetter(
    "__code__", "__defaults__", "__kwdefaults__", "__name__", "__qualname__", "__doc__", "__dict__"
)


class Names(NamedTuple):
    """The names of attributes that something reads, and sets."""

    reads: Set
    writes: Set = frozenset()


class Observation:
    """The value at a place when it was first read or set."""

    __slots__ = ("current", "is_read", "label", "place", "value")

    def __init__(self, place, value, label, is_read):
        self.place = place
        self.value = value
        self.current = value  # or its proxy during tracing
        self.label = label
        self.is_read = is_read  # before it was set

    @property
    def is_input(self):
        """Whether it is a float that has become an input."""
        return self.current is not self.value


class Notes:
    """What a function has read and set.

    Args:
        call: all its arguments.
        floats: replaces floats by proxies; with None they are constants.
    """

    def __init__(self, call, floats):
        self.floats = floats
        self.observations = {}  # by key of the place
        self.contents = {}  # id of a container -> (Contents, label)
        self.tuples = {}  # id of a tuple -> its place; None if it has several
        self.tensors = {}  # id -> (tensor, requires_grad, its places: (place, label))
        self.attributes = {}  # id -> (tensor, the attributes set on it)
        self.objects = {}  # id -> object whose attributes were noted
        self.created = {}  # id -> object that the function has created
        self.functions = {}  # id -> (function, *its FUNCTION_PARTS)
        self.known_codes = {}  # id -> code of a function that was reached
        self.names = set()  # of attributes that the code reads
        self.written_names = set()  # of attributes that the code sets
        self.tables = {}  # id of a table of a module -> (the attributes of the module, the table)
        self.reads_all_names = False  # whether some code asks for attributes by names that it computes
        self.namespaces = {}  # id -> user class or foreign module that the code reads from
        self.patches = None  # on classes, during tracing
        self.volatile = None  # why the program is valid for this call only; otherwise None
        self.argument_containers = [Contents(c) for c in containers_of(*call)]
        self.shared_arguments = {}  # those of them that are also reachable otherwise, by number
        self.reached = {}  # id -> object of a watched class
        self.created.update((id(c.container), c.container) for c in self.argument_containers)

    def restore(self):
        for seen in self.observations.values():
            if seen.place.value() is not seen.value:
                seen.place.put(seen.value)
        for contents in (*[c for c, _ in self.contents.values()], *self.argument_containers):
            contents.restore()
        for t, flag, _ in self.tensors.values():
            t._rg = flag
        for t, before in self.attributes.values():
            if vars(t) or before:
                refill(vars(t), before.keys(), before.values())

    def changes(self):
        """What the function has changed: (place, value) pairs, and (container or argument number, Contents) pairs."""
        places = [(seen.place, seen.place.value()) for seen in self.observations.values()
                  if seen.place.value() is not seen.current]
        refilled = [(c.container, Contents(c.container)) for c, _ in self.contents.values() if not c.is_untouched()]
        refilled += [(nr, Contents(c.container)) for nr, c in enumerate(self.argument_containers)
                     if not c.is_untouched()]
        return places, refilled

    def stand_in(self, value):
        """What represents a container from outside in a tree of results; None for other values."""
        for nr, contents in enumerate(self.argument_containers):
            if contents.container is value:
                return ArgumentContainer(nr)
        is_watched = id(value) in self.contents or (id(value) in self.objects and self.is_from_outside(value))
        return Identity(value) if is_watched and not self.is_exchangeable(value) else None

    def is_from_outside(self, thing):
        """Whether an object whose attributes were noted was found somewhere; otherwise the function has created it."""
        return id(thing) in self.reached or is_constant(thing) or isinstance(thing, types.ModuleType | Module)

    def make_volatile(self, reason):
        self.volatile = self.volatile or reason

    def note_read(self, place, value, label, may_vary=True):
        """Makes the program depend on `value` being at a place, or, for a tensor, a similar one.

        Args:
            may_vary: whether a float at this place may become an input.
        """
        if place.key in self.observations or id(place.owner) in self.contents:  # containers are compared as a whole
            return
        seen = self.observations[place.key] = Observation(place, value, label, True)
        if isinstance(value, Tensor):
            self.note_tensor(value, place, label)
            return
        self.note_value(value, label, place)
        if may_vary and self.floats is not None:
            seen.current = self.floats.stand_in(place, value, label)
            if seen.is_input:
                place.put(seen.current)

    def note_table(self, attributes, table):
        """What a module has in a table (its parameters, say) was read: the module must go on to have it."""
        self.tables[id(table)] = attributes, table

    def note_write(self, place, label):
        """The value at a place is about to be changed."""
        if place.key not in self.observations:
            self.observations[place.key] = Observation(place, place.value(), label, False)

    def note_tensor(self, t, place, label):
        if id(t) not in self.tensors:
            self.tensors[id(t)] = t, t._rg, []
            self.attributes[id(t)] = t, dict(vars(t))
            if vars(t) and not isinstance(place, Argument):
                self.tensors[id(t)][2].append((None, label))  # it may not be replaced by another tensor
                self.note_value(vars(t), label)
        places = self.tensors[id(t)][2]
        if not isinstance(place, Place) or all(place.key != getattr(other, "key", None) for other, _ in places):
            places.append((place, label))

    def on_missing(self, t):
        """The function asks for an attribute that a tensor does not have, but may have later."""
        if id(t) in self.tensors and id(vars(t)) not in self.contents:
            self.tensors[id(t)][2].append((None, "attributes"))  # not to be exchanged for another one
            self.note_value(vars(t), "what is set on a tensor")

    def note_gradient(self, grad, t):
        """The gradient of `t` was read."""
        self.note_tensor(grad, Gradient(t), "a gradient")

    def note_value(self, value, label, place=None):
        """Notes the contents of a value; the program becomes volatile if they cannot be inspected.

        Args:
            place: where it was found, if there may be another value later.
        """
        kind = type(value)
        if issubclass(kind, (Tensor, TracedFloat)):
            return
        if id(value) in self.created:
            found = enumerate(self.argument_containers)
            self.shared_arguments |= {nr: value for nr, contents in found if contents.container is value}
        elif issubclass(kind, CONTAINERS):
            self.note_container(value, label, place)
        elif issubclass(kind, types.FunctionType):
            self.note_function(value)
        elif issubclass(kind, type | types.ModuleType):
            self.note_namespace(value, label)
        elif kind in PARTS:
            for part in PARTS[kind](value):
                self.note_value(part, label)
        elif kind in NAMING:
            self.note_names_of(value)
        elif issubclass(kind, enum.Enum):
            self.note_value(vars(value), label)
        elif advances(value):
            self.make_volatile(ITERATOR.format(label=label))
        elif not is_constant(value):
            self.reached[id(value)] = value
            if not self.can_watch(kind):
                self.make_volatile(UNKNOWN.format(label=label, kind=kind.__qualname__))

    def can_watch(self, cls):
        """Watches a class; returns whether the whole state of its objects is watched."""
        self.patches.add(cls)
        return has_visible_state(cls, self.patches.classes, self.patches.opaque)

    def note_container(self, value, label, place):
        if id(value) in self.contents:
            known = self.tuples.get(id(value))
            if known is not None and (place is None or place.key != known.key):
                self.tuples[id(value)] = None
            return
        if isinstance(value, np.ndarray) and value.nbytes > LARGE:
            self.make_volatile(LARGE_ARRAY.format(label=label, size=-(-value.nbytes // 10**6)))
            return
        if isinstance(value, np.ndarray) and value.dtype.hasobject:
            self.make_volatile(UNKNOWN.format(label=label, kind="NumPy array of objects"))
            return
        if isinstance(value, np.ma.MaskedArray):
            self.make_volatile(UNKNOWN.format(label=label, kind="masked array"))
            return
        if isinstance(value, collections.defaultdict):
            factory = value.default_factory
            self.note_read(Slot(value, collections.defaultdict.default_factory), factory, label, False)
            self.note_callee(factory)
        contents = Contents(value)
        self.contents[id(value)] = contents, label
        if isinstance(value, functools.partial):
            self.note_callee(value.func)
            self.note_value(vars(value), label)
            if value.func in (getattr, hasattr):
                self.note_names(Names({part for part in value.args if type(part) is str}))
        self.patches.add(type(value))
        for key in contents.keys:
            if isinstance(key, Tensor):
                self.note_tensor(key, None, label)
            else:
                self.note_value(key, label)
        if is_plain_tuple(value) and place is not None:
            self.tuples[id(value)] = place
            places = [(Part(place, nr), part) for nr, part in enumerate(value)]
        else:
            places = contents.places()
        for inner, part in places:
            if isinstance(part, Tensor):
                self.note_tensor(part, inner, label)
            else:
                is_open = isinstance(inner, Part) or not contents.is_fixed
                self.note_value(part, item_label(label, inner), inner if is_open else None)
        if isinstance(value, tuple) and getattr(value, "__dict__", None):
            self.note_value(vars(value), label)
        if self.floats is not None and len(contents.values) <= FEW:
            contents.exchange(lambda place, v: self.floats.stand_in(place, v, item_label(label, place)))

    def note_callee(self, function):
        """Something may be called that nobody hears of: by a partial, say."""
        if isinstance(function, types.BuiltinFunctionType) and isinstance(function.__self__, types.ModuleType | None):
            module, name = function.__module__, function.__name__
            if is_foreign(module) and not is_pure(module, name):
                self.make_volatile(IMPURE_CALL.format(name=f"{module}.{name}"))

    def note_names_of(self, getter):
        """Notes the names of attributes for which an ``attrgetter`` or a ``methodcaller`` asks."""
        names = [name for name in getter.__reduce__()[1] if type(name) is str]
        self.note_names(Names({part for name in names for part in name.split(".")}))

    def is_exchangeable(self, value):
        """Whether a value is a tuple that another one may replace."""
        return self.tuples.get(id(value)) is not None and is_plain_tuple(value) and not self.compares_identities

    def form_of(self, value, takes_floats):
        """The form of a tuple that another one may replace; None for other values."""
        return TupleForm(value, takes_floats, self.is_exchangeable) if self.is_exchangeable(value) else None

    def note_function(self, function):
        """Notes the closure, the defaults and the attributes of a function."""
        if id(function) in self.functions:
            return
        self.functions[id(function)] = function, *FUNCTION_PARTS(function)
        self.known_codes[id(function.__code__)] = function.__code__
        module = function.__globals__.get("__name__", "")
        if is_ours(module) or module.partition(".")[0] == "numpy":
            return
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            place = ClosureCell(cell, "cell_contents")
            self.note_read(place, place.value(), f"the closed-over name {name}")
            self.note_callee(place.value())
        for defaults in (function.__defaults__, function.__kwdefaults__):
            self.note_value(defaults, f"a default of {function.__name__}")
        if not is_foreign(module):
            self.note_value(vars(function), f"the attributes of {function.__name__}")
            if "__annotations__" in self.names:
                self.note_annotations(function)

    def note_annotations(self, function):
        self.note_value(function.__annotations__, f"the annotations of {function.__name__}")

    def tensors_with_other_attributes(self):
        return [t for t, before in self.attributes.values()
                if vars(t).keys() != before.keys() or any(vars(t)[name] is not before[name] for name in before)]

    # ---- classes and Python modules

    def users_classes(self):
        """User classes that attributes were looked up in, whether they were found there or not."""
        reached = [space for space in self.namespaces.values() if isinstance(space, type)]
        reached += map(type, self.objects.values())
        return [cls for cls in dict.fromkeys(base for cls in reached for base in cls.__mro__) if is_users(cls)]

    def asks_abstract_classes(self):
        """Whether the code may call ``isinstance`` with an abstract class, whose registrations then matter."""
        return any(isinstance(space, abc.ABCMeta) for space in self.namespaces.values())

    def note_namespace(self, space, label):
        """Notes what code has read, or may read later, from a class or a Python module."""
        if id(space) in self.namespaces:
            return
        self.namespaces[id(space)] = space
        if isinstance(space, type) and is_users(type(space)):
            self.note_namespace(type(space), type(space).__name__)
        if isinstance(space, types.ModuleType) and not is_foreign(space.__name__):
            if not self.patches.add_module(space):
                self.make_volatile(UNKNOWN.format(label=label, kind="Python module of its own class"))
        elif isinstance(space, type) and not is_constant(space):
            self.make_volatile(IMPURE_CLASS.format(name=f"{space.__module__}.{space.__qualname__}"))
        else:
            self.read_from(space, self.names)
            self.write_to(space, self.written_names)
            if isinstance(space, enum.EnumMeta):
                for member in space.__members__.values():
                    self.note_value(member, label)
            if self.reads_all_names:
                self.read_all_from(space)

    def read_all_names(self):
        """Some code asks for attributes by names that it computes: all that classes of the user's have may be read."""
        self.reads_all_names = True
        for space in list(self.namespaces.values()):
            self.read_all_from(space)

    def read_all_from(self, space):
        if isinstance(space, type) and is_users(space):
            self.read_from(space, {name for base in space.__mro__ for name in base.__dict__ if name[:2] != "__"})

    def note_names(self, names):
        """Notes that code reads and sets attributes of these names, of any object that it reaches."""
        read, written = names.reads - self.names, names.writes - self.written_names
        self.names |= read
        self.written_names |= written
        for name in read & Tensor.__dict__.keys():
            place = ClassItem(Tensor, name)
            if name[0] != "_" and place.key not in self.observations:
                self.observations[place.key] = Observation(place, place.value(), f"Tensor.{name}", True)
        for space in list(self.namespaces.values()) if read or written else ():
            self.read_from(space, read)
            self.write_to(space, written)
        for function, *_ in list(self.functions.values()) if "__annotations__" in read else ():
            self.note_annotations(function)

    def write_to(self, space, names):
        if isinstance(space, type) and (is_users(space) or is_ours(space.__module__)):
            for name in names - space.__dict__.keys():
                self.note_write(ClassItem(space, name), f"{space.__name__}.{name}")

    def read_from(self, space, names):
        if isinstance(space, type):
            for cls in space.__mro__:
                for name in names & cls.__dict__.keys() if is_users(cls) or is_ours(cls.__module__) else ():
                    value = cls.__dict__[name]
                    if is_users(cls) or type(value) in PLAIN:
                        self.note_read(ClassItem(cls, name), value, f"{cls.__name__}.{name}", False)
        elif is_foreign(space.__name__):
            table = vars(space)
            for name in names & table.keys():
                self.read_from_foreign(space, table, name)

    def read_from_foreign(self, module, table, name):
        """Notes a name of a foreign module. Functions are only compared; their calls are judged when they happen."""
        place, value = Item(table, name), table[name]
        is_internal = (is_ours(module.__name__) and not isinstance(value, types.ModuleType)
                       and type(value).__module__ != CONFIGURATION)
        if is_internal or isinstance(value, (types.FunctionType, *BUILTINS)):
            if place.key not in self.observations:
                self.observations[place.key] = Observation(place, value, f"{module.__name__}.{name}", True)
            if isinstance(value, type):
                self.note_namespace(value, name)
        else:
            self.note_read(place, value, f"{module.__name__}.{name}", False)


def item_label(label, place):
    """The label of an element of a container."""
    return f"{label}[{place.name!r}]" if isinstance(place, Place) and type(place.name) in (str, int) else label
