"""Maps autograd nodes to the modules they were recorded in."""

import bisect

from .._tape import next_sequence

__all__ = ["ModuleCalls"]

MAX_MARKS = 100_000  # starts and ends of calls to keep


class ModuleCalls:
    """Records the sequence numbers of nodes at the start and end of module calls."""

    def __init__(self):
        self.open = []
        self.starts, self.paths = [next_sequence()], [None]

    def enter(self, path):
        if len(self.starts) > MAX_MARKS:
            self.starts, self.paths = self.starts[-MAX_MARKS // 2:], self.paths[-MAX_MARKS // 2:]
        self.open.append(path)
        self._mark()

    def leave(self):
        self.open.pop()
        self._mark()

    def _mark(self):
        self.starts.append(next_sequence())
        self.paths.append(self.innermost())

    def innermost(self):
        """The path of the innermost running module; None outside the model."""
        return self.open[-1] if self.open else None

    def at(self, sequence):
        """The path of the module that was running when a node was recorded."""
        return self.paths[max(bisect.bisect_right(self.starts, sequence) - 1, 0)]
