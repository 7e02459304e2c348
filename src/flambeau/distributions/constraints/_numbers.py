"""Constraints of scalars."""

from ._constraint import Constraint


class _Real(Constraint):
    """All numbers except NaN."""

    def check(self, value):
        return value == value


class _Boolean(Constraint):
    """0 and 1."""

    is_discrete = True

    def check(self, value):
        return (value == 0) | (value == 1)


class _Bounded(Constraint):
    """A constraint with bounds, given by its attributes."""

    def __repr__(self):
        bounds = ", ".join(f"{name}={bound}" for name, bound in vars(self).items())
        return f"{super().__repr__()[:-1]}{bounds})"


class _Between(_Bounded):
    def __init__(self, lower_bound, upper_bound):
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound


class _Above(_Bounded):
    def __init__(self, lower_bound):
        self.lower_bound = lower_bound


class _Below(_Bounded):
    def __init__(self, upper_bound):
        self.upper_bound = upper_bound


class _IntegerInterval(_Between):
    """Integers from `lower_bound` to `upper_bound`, inclusive."""

    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerLessThan(_Below):
    """Integers up to and including `upper_bound`."""

    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Above):
    """Integers from `lower_bound`, inclusive."""

    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (value >= self.lower_bound)


class _GreaterThan(_Above):
    """Numbers above `lower_bound`."""

    def check(self, value):
        return self.lower_bound < value


class _GreaterThanEq(_Above):
    """Numbers from `lower_bound`, inclusive."""

    def check(self, value):
        return self.lower_bound <= value


class _LessThan(_Below):
    """Numbers below `upper_bound`."""

    def check(self, value):
        return value < self.upper_bound


class _Interval(_Between):
    """Numbers from `lower_bound` to `upper_bound`, inclusive."""

    def check(self, value):
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Between):
    """Numbers from `lower_bound` (inclusive) to `upper_bound` (exclusive)."""

    def check(self, value):
        return (self.lower_bound <= value) & (value < self.upper_bound)
