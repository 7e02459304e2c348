"""Recipes: recorded calls of an op, which can be recorded again without running the op's Python code.

What an op records depends on the shapes, dtypes and strides of its operands, and on its settings. So the second call
with the same ones repeats what the first has recorded, such as casts and kernels.
"""

from ._conditions import recording_lock
from .lazy import LONGEST, LazyArray, graph_of


class Recipe:
    """Recorded calls, on arrays that are passed when they are repeated.

    Values are numbered: first these arrays, then the results of the calls. ``calls`` are (signature, numbers of its
    inputs) pairs; ``numbers`` are the floats that the calls were recorded with; ``operands`` has the number of each
    array (identical arrays have the same).
    """

    __slots__ = ("calls", "is_free", "numbers", "only", "operands")

    def __init__(self, operands, calls, numbers, is_free):
        self.operands = operands
        self.calls = calls
        self.numbers = numbers
        self.is_free = is_free  # whether it may be repeated with other numbers, if the signatures allow it
        is_plain = len(calls) == 1 and calls[0][1] == operands
        self.only = calls[0][0] if is_plain else None  # the signature, if the only call takes exactly these arrays

    def repeat_only(self, arrays, numbers):
        """``repeat`` for a recipe of one call; returns only its results."""
        if numbers != self.numbers and not (self.is_free and self.only.is_free):
            return None
        graph = arrays[0].graph if type(arrays[0]) is LazyArray else graph_of(arrays)
        with recording_lock:
            computed = graph.append(self.only, arrays, numbers)
            if len(graph.calls) >= LONGEST:
                graph.run()
        return computed

    def repeat(self, arrays, numbers):
        """Records the calls again; returns all values. None if they may depend on the numbers."""
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
    """Observes what is recorded on the device of some arrays."""

    def __init__(self, arrays, numbers):
        self.arrays = arrays
        self.numbers = numbers
        self.graph = graph_of(arrays)
        self.places = {}
        for i, x in enumerate(arrays):
            self.places.setdefault(self.graph.place_of(x), i)
        self.is_clear = len(self.places) == len({id(x) for x in arrays})  # whether a place identifies an array
        self.calls = self.graph.calls  # a graph that has run has a new list
        self.start = len(self.graph.calls), len(self.graph.results), len(self.graph.numbers)

    def recipe(self, allows_other_numbers):
        """The recipe of what was recorded; None if it involves other arrays."""
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
        """The number of the value at a place in the graph, or None."""
        first_result = self.start[1]
        return len(self.arrays) + place - first_result if place >= first_result else self.places.get(place)

    def value_of(self, array):
        """The number of an array, or None."""
        if type(array) is LazyArray and array._value is None and array.graph is self.graph:
            return self.value_at(array._slot)
        return next((i for i, x in enumerate(self.arrays) if x is array), None)
