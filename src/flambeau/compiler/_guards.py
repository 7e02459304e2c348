"""Whether a program still holds: what a traced function read, compared with what is there now."""

from __future__ import annotations

from ._nest import PLAIN, alike
from ._places import MISSING, Argument, Fixed, Gradient, Place

LOST = "it uses a tensor, {tensor}, that is found in no attribute, global name, closure or argument"


class Guards:
    """What a program depends on.

    Args:
        watch: what was noted while the function was traced.
    """

    def __init__(self, watch):
        self.volatile = watch.volatile  # why the program cannot be kept; None if it can
        self.items = [[n.place.read, n.place.name, n.value, n.label] for n in watch.noted.values()
                      if n.read and id(n.value) not in watch.tensors]
        self.containers = [(c, label) for c, label in watch.contents.values() if not c.is_fixed]
        self.kinds = []  # (read, name, class, requires_grad, label) of places of tensors
        self.same = []  # (place, place, label) at which there is one tensor
        self.places = {}  # id of a tensor -> its place, while the program is made
        for t, flag, places in watch.tensors.values():
            self.place_tensor(t, flag, places)

    def place_tensor(self, t, flag, places):
        """Notes where a tensor is found, and what must hold there. One that is found twice may not be exchanged."""
        open_to_change = [(place, label) for place, label in places if isinstance(place, Place)]
        if len(open_to_change) == len(places) == 1:
            place, label = places[0]
            self.kinds.append((place.read, place.name, type(t), flag, label))
            self.places[id(t)] = place
        elif len(open_to_change) == len(places) or any(place is None for place, _ in places):
            self.items += [[place.read, place.name, t, label] for place, label in open_to_change]
            self.kinds += [(place.read, place.name, type(t), flag, label) for place, label in open_to_change[:1]]
            self.places[id(t)] = Fixed(t)
        else:
            first = next(place for place, _ in places if not isinstance(place, Place))
            self.places[id(t)] = first
            self.same += [(first, place, label) for place, label in places if place is not first]

    def find(self, t):
        """The place of a tensor."""
        place = self.places.get(id(t))
        if place is None:
            if self.volatile is None:
                self.volatile = LOST.format(tensor=f"{t._a.dtype.name}{list(t._a.shape)}")
            return Fixed(t)
        return Gradient(self.find(place.of)) if isinstance(place, Gradient) else place

    def resolve(self):
        """Lets go of what only the making of the program needed."""
        whole = lambda p: Gradient(self.find(p.of)) if isinstance(p, Gradient) else p  # noqa: E731
        self.same = [(whole(a), whole(b), label) for a, b, label in self.same]
        self.places = None

    def changed(self, arguments):
        """What has changed since, in words; None if nothing has."""
        for item in self.items:
            read, name, value, label = item
            got = read(name, MISSING)
            if got is not value:
                if not alike(got, value):
                    return f"{label} was {shown(value)} and is {shown(got)}"
                item[2] = got
        for read, name, kind, flag, label in self.kinds:
            t = read(name, None)
            if type(t) is not kind:
                return f"{label} was a {kind.__name__} and is {shown(t)}"
            if t._rg is not flag:
                return f"{label} had requires_grad={flag}"
        for contents, label in self.containers:
            if not contents.still():
                return f"{label} holds something else"
        for a, b, label in self.same:
            if a.find(arguments) is not b.find(arguments):
                return f"{label} was the same tensor as {'an argument' if isinstance(a, Argument) else 'a gradient'}"
        return None


def shown(value):
    return "absent" if value is MISSING else repr(value) if type(value) in PLAIN else f"a {type(value).__name__}"
