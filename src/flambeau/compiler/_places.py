"""Places: where a program finds the tensors and other values that it depends on."""

MISSING = object()


class Argument:
    """A tensor among the arguments."""

    __slots__ = ("nr",)
    varies = True  # whether each call may have another tensor here, unseen by the guards

    def __init__(self, nr):
        self.nr = nr

    def find(self, arguments):
        return arguments[self.nr]


class Gradient:
    """The gradient of another tensor; ``of`` is the place of that tensor."""

    __slots__ = ("of",)
    varies = True

    def __init__(self, of):
        self.of = of

    def find(self, arguments):
        return self.of.find(arguments)._grad


class Fixed:
    """Always the same tensor."""

    __slots__ = ("tensor",)
    varies = False

    def __init__(self, tensor):
        self.tensor = tensor

    def find(self, arguments):
        return self.tensor


class PlaceList:
    """Numbered places, which are looked up together.

    Places outside the arguments are only looked up again after a guard has failed.
    """

    def __init__(self):
        self.places = []
        self.numbers = {}  # id of a place -> its number
        self.cached = None  # the tensors found; None at places that are always looked up
        self.stamp = None

    def number(self, place):
        """The number of a place, which is appended if it is new."""
        nr = self.numbers.setdefault(id(place), len(self.places))
        if nr == len(self.places):
            self.places.append(place)
        return nr

    def find(self, arguments, stamp):
        """The tensors at all places; as long as `stamp` is the same object, the guards have found no change."""
        if self.stamp is not stamp or stamp is None:
            self.varying = [nr for nr, p in enumerate(self.places) if p.varies]
            found = [p.find(arguments) for p in self.places]
            self.cached, self.stamp = found.copy(), stamp
            for nr in self.varying:
                self.cached[nr] = None
            return found
        found = self.cached.copy()
        for nr in self.varying:
            found[nr] = self.places[nr].find(arguments)
        return found


class Place:
    """A place outside the arguments: the `name` of an `owner`, accessed by ``read(name, default)`` and ``put(value)``.
    """

    __slots__ = ("name", "owner", "read")
    varies = False
    table = None  # the dict with its value under its name, if any: guards read many of these at once

    def __init__(self, owner, name):
        self.owner = owner
        self.name = name
        self.read = self.reader()

    @property
    def key(self):
        return id(self.owner), self.name

    def find(self, arguments):
        return self.read(self.name, None)

    def value(self):
        return self.read(self.name, MISSING)


class Item(Place):
    """An item of a dict: an attribute of an object, a parameter of a module, a global variable."""

    __slots__ = ()

    def reader(self):
        return self.owner.get

    @property
    def table(self):
        return self.owner

    def put(self, value):
        if value is MISSING:
            self.owner.pop(self.name, None)
        else:
            self.owner[self.name] = value


class Element(Place):
    """An element of a list or tuple."""

    __slots__ = ()

    def reader(self):
        return lambda index, default: self.owner[index] if index < len(self.owner) else default

    def put(self, value):
        self.owner[self.name] = value


class Part(Place):
    """An element of the tuple at another place, the owner; each call may have another tuple there."""

    __slots__ = ()
    varies = True

    @property
    def key(self):
        return self.owner.key, self.name

    def reader(self):
        def read(index, default):
            found = self.owner.value()
            return found[index] if isinstance(found, tuple) and index < len(found) else default

        return read


class ClassItem(Place):
    """An attribute of a class."""

    __slots__ = ()

    def reader(self):
        return self.owner.__dict__.get

    @property
    def table(self):
        return self.owner.__dict__

    def put(self, value):
        if value is MISSING:
            delattr(self.owner, self.name)
        else:
            setattr(self.owner, self.name, value)


class Slot(Place):
    """One of the ``__slots__`` of an object; `name` is the member descriptor."""

    __slots__ = ()

    def reader(self):
        return lambda member, default: read_or(lambda: member.__get__(self.owner), AttributeError, default)

    def put(self, value):
        if value is MISSING:
            self.name.__delete__(self.owner)
        else:
            self.name.__set__(self.owner, value)


class ClosureCell(Place):
    """A closure cell."""

    __slots__ = ()

    def reader(self):
        return lambda name, default: read_or(lambda: self.owner.cell_contents, ValueError, default)

    def put(self, value):
        if value is MISSING:
            del self.owner.cell_contents
        else:
            self.owner.cell_contents = value


def read_or(read, error, default):
    """The result of `read`, or the default if it raises `error`."""
    try:
        return read()
    except error:
        return default
