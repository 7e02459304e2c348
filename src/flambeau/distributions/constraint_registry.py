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


def both(*registered):
    """Decorator: registers a factory for constraints in both tables."""

    def register(factory):
        for constraint in registered:
            biject_to.register(constraint, factory)
            transform_to.register(constraint, factory)
        return factory

    return register


@both(constraints.real)
def to_real(constraint):
    return transforms.identity_transform


@biject_to.register(constraints.independent)
def biject_to_independent(constraint):
    base = biject_to(constraint.base_constraint)
    return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)


@transform_to.register(constraints.independent)
def transform_to_independent(constraint):
    base = transform_to(constraint.base_constraint)
    return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)


@both(constraints.greater_than, constraints.greater_than_eq)
def to_above(constraint):
    shift = transforms.AffineTransform(constraint.lower_bound, 1)
    return transforms.ComposeTransform([transforms.ExpTransform(), shift])


@both(constraints.less_than)
def to_below(constraint):
    mirror = transforms.AffineTransform(constraint.upper_bound, -1)
    return transforms.ComposeTransform([transforms.ExpTransform(), mirror])


@both(constraints.interval, constraints.half_open_interval)
def to_interval(constraint):
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, Number) and low == 0 and isinstance(high, Number) and high == 1:
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


@biject_to.register(constraints.simplex)
def biject_to_simplex(constraint):
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def transform_to_simplex(constraint):
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def transform_to_lower_cholesky(constraint):
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)
@transform_to.register(constraints.positive_semidefinite)
def transform_to_positive_definite(constraint):
    return transforms.PositiveDefiniteTransform()


@both(constraints.corr_cholesky)
def to_corr_cholesky(constraint):
    return transforms.CorrCholeskyTransform()


@biject_to.register(constraints.cat)
def biject_to_cat(constraint):
    return transforms.CatTransform([biject_to(c) for c in constraint.cseq], constraint.dim, constraint.lengths)


@transform_to.register(constraints.cat)
def transform_to_cat(constraint):
    return transforms.CatTransform([transform_to(c) for c in constraint.cseq], constraint.dim, constraint.lengths)


@biject_to.register(constraints.stack)
def biject_to_stack(constraint):
    return transforms.StackTransform([biject_to(c) for c in constraint.cseq], constraint.dim)


@transform_to.register(constraints.stack)
def transform_to_stack(constraint):
    return transforms.StackTransform([transform_to(c) for c in constraint.cseq], constraint.dim)
