"""Guards: whether a program is still valid. Compares what the traced function has read with the current values.

Almost always nothing has changed, and all places hold identical objects. This is checked first, for all places at once,
by a few calls of C functions; it takes some tens of nanoseconds per place. Only if an object was replaced, places are
checked one by one.
"""

import abc
import collections
import types
from itertools import chain
from operator import attrgetter, eq, is_

from .._slots import are_in_slots, are_same
from ._contents import is_like_input
from ._floats import NotAFloat
from ._lifted import slot_requires_grad
from ._notes import FUNCTION_PARTS
from ._places import MISSING, Argument, ClassItem, Fixed, Gradient, Item, Place, Slot
from ._pytree import PLAIN, is_same_value
from ._tables import are_contents, are_items, are_of_types

LOST = (
    "it uses a tensor, {tensor}, that is not in an attribute, a global variable, a closure or an argument. Pass it as "
    "an argument, or store it in one of these"
)

CLASS_PARTS = attrgetter("__mro__", "__name__", "__qualname__")
DICT_OF = attrgetter("__dict__")
IN_ORDER = (dict, collections.defaultdict, list)  # containers that store their contents contiguously and in order
NEVER_ASKED = frozenset(("__annotations__", "__dict__", "__doc__", "__module__", "__weakref__"))


class Value:
    """A guard for the value at a place."""

    __slots__ = ("form", "is_input", "label", "place", "value")

    def __init__(self, place, value, label, is_input=False, form=None):
        self.place = place
        self.value = value
        self.label = label
        self.is_input = is_input  # it is an input of the program, and may be any float
        self.form = form  # TupleForm of a tuple that may be replaced

    @property
    def varies(self):
        return self.is_input or (self.form is not None and self.form.varies)

    def is_as_good(self, now):
        if self.form is not None:
            return self.form.fits(now)
        return is_same_value(now, self.value) or (self.is_input and is_like_input(now, self.value))

    def mismatch(self):
        now = self.place.value()
        if now is not self.value:
            if not self.is_as_good(now):
                return f"{self.label} was {describe(self.value)} and is {describe(now)}"
            self.value = now
        return None


class TensorKind:
    """A guard for the class and ``requires_grad`` of the tensor at a place."""

    __slots__ = ("cls", "label", "place", "requires_grad", "value")

    def __init__(self, place, t, requires_grad, label):
        self.place = place
        self.value = t
        self.cls = type(t)
        self.requires_grad = requires_grad
        self.label = label

    @property
    def varies(self):
        return self.place.varies

    def mismatch(self):
        t = self.place.value()
        if type(t) is not self.cls:
            return f"{self.label} was a {self.cls.__name__} and is {describe(t)}"
        if t._rg is not self.requires_grad:
            return f"{self.label} had requires_grad={self.requires_grad}"
        self.value = t
        return None


class Guards:
    """The guards of a program.

    Args:
        watch: has noted what the traced function has read.
    """

    def __init__(self, watch):
        self.volatile = watch.volatile  # why the program is valid for this call only; otherwise None
        self.identities = watch.compares_identities
        read = [x for x in watch.observations.values() if x.is_read and id(x.value) not in watch.tensors]
        self.values = [Value(x.place, x.value, x.label, x.is_input, watch.form_of(x.value, x.is_input)) for x in read]
        self.containers = [(c, label) for c, label in watch.contents.values() if not c.is_fixed]
        for contents, _ in self.containers:
            contents.note_forms(watch.form_of)
        self.functions = [*watch.functions.values()]
        self.users_classes = [(cls, frozenset(cls.__dict__), *CLASS_PARTS(cls)) for cls in watch.users_classes()]
        self.values += [Value(ClassItem(cls, name), cls.__dict__[name], f"{cls.__name__}.{name}")
                        for cls, names, *_ in self.users_classes for name in names if is_implicit(name)]
        for attributes, table in watch.tables.values():
            name = next((name for name, value in attributes.items() if value is table), None)
            if name is not None and (id(attributes), name) not in watch.observations:
                self.values.append(Value(Item(attributes, name), table, f"the table {name} of a module"))
        self.registrations = abc.get_cache_token() if watch.asks_abstract_classes() else None
        self.classes = [(thing, type(thing)) for thing in watch.objects.values()]
        self.dicts = [(thing, thing.__dict__) for thing in watch.objects.values() if has_dict(thing)]
        self.expectations = [] if watch.floats is None else [*watch.floats.expectations.values()]
        self.kinds = []  # of TensorKind
        self.same = []  # (place, place, label) of places with the same tensor
        self.places = {}  # id of a tensor -> its place, during compilation
        for t, requires_grad, places in watch.tensors.values():
            self.place_tensor(t, requires_grad, places)
        self.shared = watch.shared_arguments  # containers among the arguments that are also reachable otherwise
        self.outside = {id(c) for c in self.shared.values()} | {id(c.container) for c, _ in self.containers}
        self.inputs = frozenset()  # ids of the places of tensors that TensorInputs compares
        self.fast = None

    def place_tensor(self, t, requires_grad, places):
        """Notes the places of a tensor, and their guards. A tensor with several places may not be replaced."""
        open_to_change = [(place, label) for place, label in places if isinstance(place, Place)]
        if len(open_to_change) == len(places) == 1 and not self.identities:
            place, label = places[0]
            self.kinds.append(TensorKind(place, t, requires_grad, label))
            self.places[id(t)] = place
        elif len(open_to_change) == len(places) or any(place is None for place, _ in places):
            self.values += [Value(place, t, label) for place, label in open_to_change]
            self.kinds += [TensorKind(place, t, requires_grad, label) for place, label in open_to_change[:1]]
            self.places[id(t)] = Fixed(t)
        else:
            first = next(place for place, _ in places if not isinstance(place, Place))
            self.places[id(t)] = first
            self.same += [(first, place, label) for place, label in places if place is not first]
            if self.identities and isinstance(first, Argument):
                self.same.append((first, Fixed(t), "an argument"))

    def find(self, t):
        """The place of a tensor."""
        place = self.places.get(id(t))
        if place is None:
            if self.volatile is None:
                self.volatile = LOST.format(tensor=f"{t._a.dtype.name}{list(t._a.shape)}")
            return Fixed(t)
        return Gradient(self.find(place.of)) if isinstance(place, Gradient) else place

    def resolve(self):
        """Drops what only compilation needs."""
        whole = lambda p: Gradient(self.find(p.of)) if isinstance(p, Gradient) else p  # noqa: E731
        self.same = [(whole(a), whole(b), label) for a, b, label in self.same]
        self.places = None

    def tensor_mismatch(self):
        """Describes the first changed place of a tensor; None if there is none."""
        return next((reason for guard in self.kinds if (reason := guard.mismatch()) is not None), None)

    def mismatch(self, arguments, containers):
        """Describes the first change; None if the program is valid.

        Args:
            arguments: the tensors among the arguments of the call.
            containers: the containers among them.
        """
        for nr, container in enumerate(containers):
            if self.shared.get(nr) is not (container if id(container) in self.outside else None):
                return "a container among the arguments has become, or is no longer, reachable otherwise"
        if self.fast is None or not self.fast.holds():
            for guard in self.values:
                reason = guard.mismatch()
                if reason is not None:
                    return reason
            reason = self.tensor_mismatch()
            if reason is not None:
                return reason
            for thing, cls in self.classes:
                if type(thing) is not cls:
                    return f"a {cls.__name__} is now a {type(thing).__name__}"
            for thing, table in self.dicts:
                if thing.__dict__ is not table:
                    return f"a {type(thing).__name__} has another __dict__"
            for function, *parts in self.functions:
                if not all(map(is_, FUNCTION_PARTS(function), parts)):
                    return f"the code or the defaults of {function.__name__} have changed"
            for cls, names, *parts in self.users_classes:
                if cls.__dict__.keys() != names or not all(map(is_, CLASS_PARTS(cls), parts)):
                    return f"the attributes or the bases of the class {cls.__name__} have changed"
            if self.registrations is not None and self.registrations != abc.get_cache_token():
                return "a class was registered with an abstract base class"
            for contents, label in self.containers:
                if not contents.matches():
                    return f"the contents of {label} have changed"
            self.fast = Snapshot(self)
        for a, b, label in self.same:
            if a.find(arguments) is not b.find(arguments):
                return f"{label} is not the same tensor as {'an argument' if isinstance(a, Argument) else 'a gradient'}"
        return self.expectation_that_fails()

    def expectation_that_fails(self):
        try:
            return next((reason for x in self.expectations if (reason := x.mismatch()) is not None), None)
        except (NotAFloat, ArithmeticError, ValueError) as error:
            return str(error)


class Snapshot:
    """The objects at all places, as of the last check one by one.

    Places whose objects may be replaced without invalidating the program (arrays, floats that are inputs) are always
    checked individually.
    """

    def __init__(self, guards):
        self.tables, self.names, self.values = [], [], []
        self.others, self.inputs = [], []
        covered = {id(c.table) for c, _ in guards.containers}  # compared as a whole
        for guard in (*guards.values, *guards.kinds):
            if id(guard.place.owner) in covered and not isinstance(guard.place, Slot):
                continue
            if guard.varies:
                if id(guard.place) not in guards.inputs:
                    self.inputs.append(guard)
            elif guard.place.table is None:
                self.others.append((guard.place, guard.value))
            else:
                self.tables.append(guard.place.table)
                self.names.append(guard.place.name)
                self.values.append(guard.value)
        kinds = [guard for guard in guards.kinds if id(guard.place) not in guards.inputs and not guard.varies]
        self.tensors = [guard.value for guard in kinds]
        self.requires_grad = [guard.requires_grad for guard in kinds]
        self.objects, self.classes = [o for o, _ in guards.classes], [cls for _, cls in guards.classes]
        self.owners, self.own_dicts = [[pair[nr] for pair in guards.dicts] for nr in (0, 1)]
        self.functions = [function for function, *_ in guards.functions]
        self.function_parts = [*chain.from_iterable(parts for _, *parts in guards.functions)]
        self.users_classes = [cls for cls, *_ in guards.users_classes]
        self.class_parts = [*chain.from_iterable(parts for _, _, *parts in guards.users_classes)]
        self.class_keys = [cls.__dict__.keys() for cls in self.users_classes]
        self.class_names = [names for _, names, *_ in guards.users_classes]
        self.registrations = guards.registrations
        plain = [c for c, _ in guards.containers if not c.varies]
        self.variable = [c for c, _ in guards.containers if c.varies]
        ordered = [c for c in plain if type(c.table) in IN_ORDER]
        self.ordered, self.ordered_lengths = [c.table for c in ordered], [len(c.values) for c in ordered]
        self.ordered_contents = [*chain.from_iterable(
            chain.from_iterable(zip(c.keys, c.values)) if isinstance(c.table, dict) else c.values for c in ordered)]
        plain = [c for c in plain if type(c.table) not in IN_ORDER]
        self.containers = [c.table for c in plain]
        self.lengths = [len(c.values) for c in plain]
        self.views = [c.table.values() if isinstance(c.table, dict) else c.table for c in plain]
        self.contents = [*chain.from_iterable(c.values for c in plain)]
        self.dicts = [c.table for c in plain if isinstance(c.table, dict)]
        self.keys = [*chain.from_iterable(c.keys for c in plain if isinstance(c.table, dict))]

    def holds(self):
        return (
            are_items(self.tables, self.names, self.values, MISSING)
            and are_in_slots((slot_requires_grad,), self.tensors, (self.requires_grad,))
            and are_of_types(self.objects, self.classes)
            and are_same([*map(DICT_OF, self.owners)], self.own_dicts)
            and are_same([*chain.from_iterable(map(FUNCTION_PARTS, self.functions))], self.function_parts)
            and (self.registrations is None or self.registrations == abc.get_cache_token())
            and are_contents(self.ordered, self.ordered_lengths, self.ordered_contents)
            and (not self.users_classes or self.has_same_classes())
            and (not self.containers or self.has_same_containers())
            and all([place.value() is value for place, value in self.others])
            and all([contents.matches() for contents in self.variable])
            and all([guard.mismatch() is None for guard in self.inputs])
        )

    def has_same_classes(self):
        return (are_same(chain.from_iterable(map(CLASS_PARTS, self.users_classes)), self.class_parts)
                and all(map(eq, self.class_keys, self.class_names)))

    def has_same_containers(self):
        """Whether the contents of containers that are not ``IN_ORDER`` are identical."""
        return (all(map(eq, map(len, self.containers), self.lengths))
                and are_same(chain.from_iterable(self.views), self.contents)
                and are_same(chain.from_iterable(self.dicts), self.keys))


def has_dict(thing):
    """Whether the attributes of an object are in a dict of its own, in whose place there may be another one."""
    return bool(type(thing).__dictoffset__) and not isinstance(thing, type | types.ModuleType)


def is_implicit(name):
    """Whether Python may look up a name in a class without code that names it."""
    return name[:2] == "__" and name not in NEVER_ASKED


def describe(value):
    return "absent" if value is MISSING else repr(value) if type(value) in PLAIN else f"a {type(value).__name__}"
