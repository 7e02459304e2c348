"""The base class of constraints, dependent constraints, and combinators."""

STATICALLY = ".{name} cannot be determined statically: it depends on the parameters. Ask the constraint of an instance."
TOO_FEW_DIMENSIONS = "Expected value.dim() >= {wanted} but got {found}"


class Constraint:
    """A set of valid scalars, vectors or matrices.

    Attributes:
        is_discrete: whether the set is discrete.
        event_dim: the number of trailing dimensions that form an event.
    """

    is_discrete = False
    event_dim = 0

    def check(self, value):
        """Returns a bool tensor: for each event of `value`, whether it is valid."""
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
        return _require_static(self._is_discrete, "is_discrete")

    @property
    def event_dim(self):
        return _require_static(self._event_dim, "event_dim")

    def __call__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        """The same placeholder with additional information."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, x):
        raise ValueError("Cannot determine validity of dependent constraint: ask the constraint of an instance.")


def _require_static(value, name):
    if value is NotImplemented:
        raise NotImplementedError(STATICALLY.format(name=name))
    return value


def is_dependent(constraint):
    """Whether a constraint is a placeholder for one that depends on parameters."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property that is a constraint of instances, and on the class a placeholder for it.

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
    """A constraint applied to all elements of the trailing dimensions jointly."""

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
    """The constraint of a mixture: that of its components, without their batch dimension."""

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
