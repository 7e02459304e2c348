"""Constraints: the regions that parameters and values of distributions lie in.

``constraint.check(value)`` says for each event of a tensor whether it is inside. Constraints of one element have an
``event_dim`` of 0; those of a vector, such as :data:`simplex`, of 1; those of a matrix of 2.
"""

from __future__ import annotations

from itertools import accumulate

from .._dtypes import bool_, finfo
from ..functions.join import cat as cat_tensors
from ..functions.join import stack as stack_tensors
from ..functions.linalg.decompose import cholesky_ex, eigvalsh

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property",
    "greater_than", "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval",
    "is_dependent", "less_than", "lower_cholesky", "lower_triangular", "multinomial", "nonnegative",
    "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer", "positive_semidefinite",
    "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval",
]

STATICALLY = ".{name} cannot be determined statically: it depends on the parameters. Ask the constraint of an instance."
TOO_FEW_DIMENSIONS = "Expected value.dim() >= {wanted} but got {found}"


class Constraint:
    """A region of numbers, vectors or matrices.

    Attributes:
        is_discrete: whether it holds separate points only.
        event_dim: how many of the last dimensions of a tensor make one event.
    """

    is_discrete = False
    event_dim = 0

    def check(self, value):
        """For each event of `value`, whether it is inside: a tensor of bools."""
        raise NotImplementedError

    def __repr__(self):
        return type(self).__name__.removeprefix("_") + "()"


class _Dependent(Constraint):
    """A placeholder for a constraint that depends on parameters."""

    def __init__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    @property
    def is_discrete(self):
        return _known(self._is_discrete, "is_discrete")

    @property
    def event_dim(self):
        return _known(self._event_dim, "event_dim")

    def __call__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        """The same placeholder, with more known about it."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, x):
        raise ValueError("Cannot determine validity of dependent constraint: ask the constraint of an instance.")


def _known(value, name):
    if value is NotImplemented:
        raise NotImplementedError(STATICALLY.format(name=name))
    return value


def is_dependent(constraint):
    """Whether a constraint is a placeholder for one that depends on parameters."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property of instances that is a constraint; of the class, a placeholder for it.

    Example::

        >>> from flambeau.distributions.constraints import dependent_property, less_than
        >>> class Below:
        ...     def __init__(self, high):
        ...         self.high = high
        ...     @dependent_property(is_discrete=False, event_dim=0)
        ...     def support(self):
        ...         return less_than(self.high)
        >>> Below.support.event_dim, Below(3).support
        (0, LessThan(upper_bound=3))
    """

    def __init__(self, fn=None, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        super().__init__(fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn):
        """Decorates `fn`: ``@dependent_property(event_dim=1)``."""
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _IndependentConstraint(Constraint):
    """Another constraint that holds for all elements of the last dimensions at once."""

    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"Expected a Constraint, got {type(base_constraint).__name__}")
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise AssertionError(f"Expected a non-negative int, got {reinterpreted_batch_ndims!r}")
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value):
        inside = self.base_constraint.check(value)
        batch_ndims = inside.dim() - self.reinterpreted_batch_ndims
        if batch_ndims < 0:
            raise ValueError(TOO_FEW_DIMENSIONS.format(wanted=self.event_dim, found=value.dim()))
        return inside.reshape((*inside.shape[:batch_ndims], -1)).all(-1)

    def __repr__(self):
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The constraint of a mixture: that of its components, whose dimension the value does not have."""

    def __init__(self, base_constraint):
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"Expected a Constraint, got {type(base_constraint).__name__}")
        self.base_constraint = base_constraint

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim

    def check(self, value):
        inside = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        batch_ndims = value.dim() - self.event_dim
        return inside.reshape((*inside.shape[:batch_ndims], -1)).all(-1)

    def __repr__(self):
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


# ---- of one element


class _Real(Constraint):
    """Everything but nan."""

    def check(self, value):
        return value == value


class _Boolean(Constraint):
    """0 and 1."""

    is_discrete = True

    def check(self, value):
        return (value == 0) | (value == 1)


class _Bounded(Constraint):
    """A constraint with bounds, which are its attributes."""

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
    """Integers from `lower_bound` to `upper_bound`, both included."""

    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerLessThan(_Below):
    """Integers up to `upper_bound`, which is included."""

    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Above):
    """Integers from `lower_bound` on, which is included."""

    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (value >= self.lower_bound)


class _GreaterThan(_Above):
    """Numbers above `lower_bound`."""

    def check(self, value):
        return self.lower_bound < value


class _GreaterThanEq(_Above):
    """Numbers from `lower_bound` on."""

    def check(self, value):
        return self.lower_bound <= value


class _LessThan(_Below):
    """Numbers below `upper_bound`."""

    def check(self, value):
        return value < self.upper_bound


class _Interval(_Between):
    """Numbers from `lower_bound` to `upper_bound`, both included."""

    def check(self, value):
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Between):
    """Numbers from `lower_bound` on and below `upper_bound`."""

    def check(self, value):
        return (self.lower_bound <= value) & (value < self.upper_bound)


# ---- of vectors


class _Simplex(Constraint):
    """Vectors of probabilities: not negative, with a sum of 1."""

    event_dim = 1

    def check(self, value):
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _OneHot(Constraint):
    """Vectors with one 1 among zeros."""

    is_discrete = True
    event_dim = 1

    def check(self, value):
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _Multinomial(Constraint):
    """Vectors of counts with a sum of at most `upper_bound`."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, x):
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)


# ---- of matrices


class _LowerTriangular(Constraint):
    """Matrices with zeros above the diagonal."""

    event_dim = 2

    def check(self, value):
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(Constraint):
    """Lower triangular matrices with a positive diagonal."""

    event_dim = 2

    def check(self, value):
        return lower_triangular.check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(Constraint):
    """Cholesky factors of correlation matrices: their rows have the length 1."""

    event_dim = 2

    def check(self, value):
        tolerance = finfo(value.dtype).eps * value.size(-1) * 10
        lengths = (value * value).sum(-1)
        return lower_cholesky.check(value) & ((lengths - 1).abs() < tolerance).all(-1)


def is_square(value):
    return value.shape[-2] == value.shape[-1]


class _Square(Constraint):
    """Matrices with as many rows as columns."""

    event_dim = 2

    def check(self, value):
        return value.new_full(value.shape[:-2], is_square(value), dtype=bool_)


class _Symmetric(_Square):
    """Matrices that equal their transpose, up to 1e-6."""

    def check(self, value):
        return value.isclose(value.mT, atol=1e-6).flatten(-2).all(-1) if is_square(value) else super().check(value)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value):
        symmetric = super().check(value)
        return symmetric & (eigvalsh(value) >= 0).all(-1) if is_square(value) else symmetric


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices that have a Cholesky factor."""

    def check(self, value):
        symmetric = super().check(value)
        return symmetric & (cholesky_ex(value).info == 0) if is_square(value) else symmetric


# ---- of parts


class _Parts(Constraint):
    """Constraints of the parts of a tensor along a dimension."""

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
        return cat_tensors([c.check(part) for c, part in zip(self.cseq, slices)], self.dim)


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
        return stack_tensors([c.check(part) for c, part in zip(self.cseq, parts)], self.dim)


# ---- public names

dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
