"""Transforms from unconstrained space to constrained sets.

Both :data:`biject_to` and :data:`transform_to` map a constraint to a transform from the reals to its set. Those of the
former are bijections with a Jacobian, as densities need; those of the latter may be simpler, as optimizers need.
"""

from numbers import Number

from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

NOT_A_CONSTRAINT = "Expected constraint to be either a Constraint subclass or instance, but got {constraint}"
NO_TRANSFORM = "Cannot transform {cls} constraints: no transform is registered for them."


class ConstraintRegistry:
    """A table of transform factories by constraint class.

    Example::

        >>> biject_to(constraints.unit_interval)
        SigmoidTransform()
    """

    def __init__(self):
        self._registry = {}
        super().__init__()

    def register(self, constraint, factory=None):
        """Registers a factory for a constraint class, given by the class or an instance; also a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        cls = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(cls, type) or not issubclass(cls, constraints.Constraint):
            raise TypeError(NOT_A_CONSTRAINT.format(constraint=constraint))
        self._registry[cls] = factory
        return factory

    def __call__(self, constraint):
        """A transform to the set of a constraint."""
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(NO_TRANSFORM.format(cls=type(constraint).__name__)) from None
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def to_above(constraint):
    shift = transforms.AffineTransform(constraint.lower_bound, 1)
    return transforms.ComposeTransform([transforms.ExpTransform(), shift])


def to_below(constraint):
    mirror = transforms.AffineTransform(constraint.upper_bound, -1)
    return transforms.ComposeTransform([transforms.ExpTransform(), mirror])


def to_interval(constraint):
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, Number) and low == 0 and isinstance(high, Number) and high == 1:
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


def register_in_both(to):
    """Registers the constraints whose transforms are the same in both tables, but for those of their parts: by `to`."""
    to.register(constraints.real, lambda c: transforms.identity_transform)
    to.register(constraints.greater_than, to_above)
    to.register(constraints.greater_than_eq, to_above)
    to.register(constraints.less_than, to_below)
    to.register(constraints.interval, to_interval)
    to.register(constraints.half_open_interval, to_interval)
    to.register(constraints.corr_cholesky, lambda c: transforms.CorrCholeskyTransform())
    to.register(constraints.independent, lambda c: transforms.IndependentTransform(
        to(c.base_constraint), c.reinterpreted_batch_ndims))
    to.register(constraints.cat, lambda c: transforms.CatTransform([to(part) for part in c.cseq], c.dim, c.lengths))
    to.register(constraints.stack, lambda c: transforms.StackTransform([to(part) for part in c.cseq], c.dim))


register_in_both(biject_to)
register_in_both(transform_to)
biject_to.register(constraints.simplex, lambda c: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda c: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda c: transforms.LowerCholeskyTransform())
transform_to.register(constraints.positive_definite, lambda c: transforms.PositiveDefiniteTransform())
transform_to.register(constraints.positive_semidefinite, lambda c: transforms.PositiveDefiniteTransform())
