"""Where a program finds what it depends on: tensors, each time it runs, and other values that it was compiled for."""

MISSING = object()


class Argument:
    """Among the tensors in the arguments."""

    __slots__ = ("nr",)
    varies = True  # whether there may be another tensor each time, of which the guards do not know

    def __init__(self, nr):
        self.nr = nr

    def find(self, arguments):
        return arguments[self.nr]


class Gradient:
    """At another tensor, as its gradient; ``of`` is the place of that tensor."""

    __slots__ = ("of",)
    varies = True

    def __init__(self, of):
        self.of = of

    def find(self, arguments):
        return self.of.find(arguments)._grad


class Fixed:
    """The same tensor each time."""

    __slots__ = ("tensor",)
    varies = False

    def __init__(self, tensor):
        self.tensor = tensor

    def find(self, arguments):
        return self.tensor


class PlaceList:
    """Places by number, looked up all at once.

    Those outside of the arguments are looked up again only after something has changed: the guards know when.
    """

    def __init__(self):
        self.places = []
        self.numbers = {}  # id of a place -> its number
        self.cached = None  # what was found: None at the places that are looked up each time
        self.stamp = None

    def number(self, place):
        """The number of a place, which is added if it is new."""
        nr = self.numbers.setdefault(id(place), len(self.places))
        if nr == len(self.places):
            self.places.append(place)
        return nr

    def find(self, arguments, stamp):
        """The tensors at all places; `stamp` is the same object for as long as the guards find nothing changed."""
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
    """Outside of the arguments. ``read(name, default)`` and ``put(value)`` work on the `name` of an `owner`."""

    __slots__ = ("name", "owner", "read")
    varies = False
    table = None  # the class of the tables that hold it under its name, by which guards read many places at once

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
    """In a dict: the attributes of an object, the parameters of a module, global names."""

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
    """In a list or a tuple."""

    __slots__ = ()

    def reader(self):
        return lambda index, default: self.owner[index] if index < len(self.owner) else default

    def put(self, value):
        self.owner[self.name] = value


class Part(Place):
    """In the tuple at another place, the owner: there may be another tuple each time."""

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
    """At a class."""

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
    """In one of the ``__slots__`` of an object; `name` is the class's member for it."""

    __slots__ = ()

    def reader(self):
        return lambda member, default: read_or(lambda: member.__get__(self.owner), AttributeError, default)

    def put(self, value):
        if value is MISSING:
            self.name.__delete__(self.owner)
        else:
            self.name.__set__(self.owner, value)


class ClosureCell(Place):
    """In the cell of a closure."""

    __slots__ = ()

    def reader(self):
        return lambda name, default: read_or(lambda: self.owner.cell_contents, ValueError, default)

    def put(self, value):
        if value is MISSING:
            del self.owner.cell_contents
        else:
            self.owner.cell_contents = value


def read_or(read, error, default):
    """What `read` returns, or the default where it says with `error` that there is nothing."""
    try:
        return read()
    except error:
        return default
