"""Constraints on slices of a tensor along a dimension."""

from itertools import accumulate

from ...functions.join import cat, stack
from ._constraint import Constraint


class _Parts(Constraint):
    """Base class for constraints on slices of a tensor along a dimension."""

    def __init__(self, cseq, dim):
        if not all(isinstance(c, Constraint) for c in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq = list(cseq)
        self.dim = dim

    @property
    def is_discrete(self):
        return any(c.is_discrete for c in self.cseq)

    def _check_dim(self, value):
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} is out of range for a value of {value.dim()} dimensions")


class _Cat(_Parts):
    """Constraints of successive slices along a dimension."""

    def __init__(self, cseq, dim=0, lengths=None):
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"Expected {len(self.cseq)} lengths, one a constraint, got {len(self.lengths)}")

    @property
    def event_dim(self):
        return max(c.event_dim for c in self.cseq)

    def check(self, value):
        self._check_dim(value)
        starts = accumulate(self.lengths, initial=0)
        slices = [value.narrow(self.dim, start, length) for start, length in zip(starts, self.lengths)]
        return cat([c.check(part) for c, part in zip(self.cseq, slices)], self.dim)


class _Stack(_Parts):
    """Constraints of the elements along a dimension."""

    def __init__(self, cseq, dim=0):
        super().__init__(cseq, dim)

    @property
    def event_dim(self):
        dim = max(c.event_dim for c in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value):
        self._check_dim(value)
        parts = [value.select(self.dim, i) for i in range(value.size(self.dim))]
        return stack([c.check(part) for c, part in zip(self.cseq, parts)], self.dim)
