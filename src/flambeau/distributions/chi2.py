"""The chi-squared distribution."""

from . import constraints
from .gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The sum of squares of `df` standard normal random variables.

    Args:
        df: the degrees of freedom.
        validate_args: whether to validate parameters and values.

    Example::

        >>> Chi2(flambeau.tensor([3.0])).variance
        tensor([6.])
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df, validate_args=None):
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Chi2, _instance)
        new.concentration, new.rate = self.concentration.expand(batch_shape), self.rate.expand(batch_shape)
        return self._finish_expanded(new, batch_shape)

    @property
    def df(self):
        """The degrees of freedom."""
        return self.concentration * 2
