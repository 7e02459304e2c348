"""Recipes: what a call of an op has recorded, to be recorded again without asking the op.

What an op records depends on the shapes, dtypes and strides of its operands, and on its settings. So the second call of
a kind can repeat what the first has recorded: the casts of promotion, the kernels, whatever it was.
"""

from ._conditions import recording_lock
from .lazy import LONGEST, LazyArray, graph_of


class Recipe:
    """Calls on arrays that are named when they are repeated.

    Values are counted: first those arrays, then the results of the calls. ``calls`` are (signature, values it takes)
    pairs; ``numbers`` are the floats that the calls were recorded with; ``operands`` are the values that the arrays
    are, each its own, or that of an earlier one where it is the same array.
    """

    __slots__ = ("calls", "is_free", "numbers", "only", "operands")

    def __init__(self, operands, calls, numbers, is_free):
        self.operands = operands
        self.calls = calls
        self.numbers = numbers
        self.is_free = is_free  # whether it may be repeated with other numbers, as far as it is not the signatures'
        is_plain = len(calls) == 1 and calls[0][1] == operands
        self.only = calls[0][0] if is_plain else None  # the signature of the one call, which takes the arrays as named

    def repeat_only(self, arrays, numbers):
        """``repeat`` of the one call that there is: returns the results of it alone."""
        if numbers != self.numbers and not (self.is_free and self.only.is_free):
            return None
        graph = arrays[0].graph if type(arrays[0]) is LazyArray else graph_of(arrays)
        with recording_lock:
            computed = graph.append(self.only, arrays, numbers)
            if len(graph.calls) >= LONGEST:
                graph.run()
        return computed

    def repeat(self, arrays, numbers):
        """Records the calls again; returns all values. None, if the numbers may decide something."""
        if numbers != self.numbers and not (self.is_free and all([s.is_free for s, _ in self.calls])):
            return None
        graph = arrays[0].graph if type(arrays[0]) is LazyArray else graph_of(arrays)
        with recording_lock:
            if self.only is not None:
                values = arrays + graph.append(self.only, arrays, numbers)
            else:
                values = arrays.copy()
                for signature, inputs in self.calls:
                    values += graph.append(signature, [values[i] for i in inputs], ())
                graph.numbers += numbers
            graph.run_if_long()
        return values


class Watch:
    """Sees what is recorded on the device of some arrays from now on."""

    def __init__(self, arrays, numbers):
        self.arrays = arrays
        self.numbers = numbers
        self.graph = graph_of(arrays)
        self.places = {}
        for i, x in enumerate(arrays):
            self.places.setdefault(self.graph.place_of(x), i)
        self.is_clear = len(self.places) == len({id(x) for x in arrays})  # by its place it is known which array it is
        self.calls = self.graph.calls  # a graph that runs gets another list
        self.start = len(self.graph.calls), len(self.graph.results), len(self.graph.numbers)

    def recipe(self, allows_other_numbers):
        """The recipe of what was recorded; None where arrays from elsewhere took part in it."""
        graph = self.graph
        if graph.calls is not self.calls or not self.is_clear:
            return None
        first_call, _, first_number = self.start
        calls = []
        for signature, places in graph.calls[first_call:]:
            inputs = [self.value_at(place) for place in places]
            if None in inputs:
                return None
            calls.append((signature, inputs))
        numbers = graph.numbers[first_number:]
        if numbers != self.numbers:
            return None
        return Recipe([*map(self.value_of, self.arrays)], calls, numbers, allows_other_numbers)

    def value_at(self, place):
        """The count of the value at a place in the graph, or None."""
        first_result = self.start[1]
        return len(self.arrays) + place - first_result if place >= first_result else self.places.get(place)

    def value_of(self, array):
        """The count of the value that an array is, or None."""
        if type(array) is LazyArray and array._value is None and array.graph is self.graph:
            return self.value_at(array._slot)
        return next((i for i, x in enumerate(self.arrays) if x is array), None)
