"""The base class of distributions: shapes, validation, and the common interface."""

import warnings

from .._modes import no_grad
from .._size import Size
from .._tensor import Tensor
from ..engines import demand, is_traced
from ..engines.levels import innermost
from .constraints import is_dependent
from .utils import lazy_property

__all__ = ["Distribution"]

INVALID_PARAMETER = (
    "Expected parameter {name} ({type} of shape {shape}) of distribution {distribution} to satisfy the constraint "
    "{constraint}, but found invalid values:\n{values}"
)
OUTSIDE_SUPPORT = (
    "Expected value argument ({type} of shape {shape}) to be within the support ({constraint}) of the distribution "
    "{distribution}, but found invalid values:\n{values}"
)
NOT_SHOWN = "those of a function under vmap or of a compiled program, which are not shown."
NO_ARG_CONSTRAINTS = (
    "{cls} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize the distribution with "
    "`validate_args=False` to turn off validation."
)
NO_SUPPORT = (
    "{cls} does not define `support` to enable sample validation. Please initialize the distribution with "
    "`validate_args=False` to turn off validation."
)
NOT_BROADCASTABLE = "Value is not broadcastable with batch_shape+event_shape: {value} vs {shape}."
NOT_A_TENSOR = "The value argument to log_prob must be a Tensor, but it is a {type}: torch.as_tensor(value) makes one."
NO_EXPAND = (
    "Subclass {subclass} of {cls} that defines a custom __init__ method must also define a custom .expand() method."
)
SAMPLE_N = "`sample_n(n)` will be deprecated. Use `sample((n,))` instead."


class Distribution:
    """Base class of distributions: a batch of independent distributions over events of one shape.

    A subclass declares the constraints of its parameters in `arg_constraints` and of its values in `support`, and
    implements what it can of `sample`, `rsample`, `log_prob` and so on.

    Args:
        batch_shape: the shape of the batch.
        event_shape: the shape of a single event.
        validate_args: whether to validate parameters and values; None means the default, which is True.

    Example::

        >>> class Loaded(Distribution):
        ...     arg_constraints = {"probs": flambeau.distributions.constraints.simplex}
        ...     def __init__(self, probs):
        ...         self.probs = probs
        ...         super().__init__(probs.shape[:-1])
        >>> Loaded(flambeau.tensor([0.5, 0.6]))
        Traceback (most recent call last):
        ValueError: Expected parameter probs (Tensor of shape (2,)) of distribution Loaded(probs: torch.Size([2])) ...
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value):
        """Sets whether distributions validate their arguments by default."""
        if value not in (True, False):
            raise ValueError(f"expected True or False, got {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape=Size(), event_shape=Size(), validate_args=None):  # noqa: B008
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()
        super().__init__()

    @property
    def arg_constraints(self):
        """The constraints of the parameters, by name."""
        raise NotImplementedError

    @property
    def support(self):
        """The constraint of the values."""
        raise NotImplementedError

    @property
    def batch_shape(self):
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self):
        """The shape of a single event."""
        return self._event_shape

    @property
    def mean(self):
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self):
        """The mode."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self):
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self):
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape=Size()):  # noqa: B008
        """Samples, without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=Size()):  # noqa: B008
        """Samples with reparameterized gradients."""
        raise NotImplementedError

    def sample_n(self, n):
        """Draws n samples."""
        warnings.warn(SAMPLE_N, FutureWarning, stacklevel=2)
        return self.sample(Size((n,)))

    def log_prob(self, value):
        """The logarithm of the probability density or mass at `value`."""
        raise NotImplementedError

    def cdf(self, value):
        """The cumulative distribution function at `value`."""
        raise NotImplementedError

    def icdf(self, value):
        """The quantile function, the inverse of ``cdf``, at `value`."""
        raise NotImplementedError

    def enumerate_support(self, expand=True):
        """All values of a discrete distribution, along a new leading dimension.

        With ``expand=False``, the batch dimensions have size 1.
        """
        raise NotImplementedError

    def entropy(self):
        """The entropy, in nats."""
        raise NotImplementedError

    def perplexity(self):
        """The exponential of the entropy."""
        return self.entropy().exp()

    def expand(self, batch_shape, _instance=None):
        """Expands the batch; the parameters become views of the current ones.

        Args:
            batch_shape: the shape of the new batch.
            _instance: the instance to fill, for subclasses that override this method.
        """
        raise NotImplementedError

    # ---- for subclasses

    def _extended_shape(self, sample_shape=Size()):  # noqa: B008
        """The shape of samples of `sample_shape`."""
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _get_checked_instance(self, cls, _instance=None):
        """The instance for ``cls.expand`` to fill."""
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(NO_EXPAND.format(subclass=type(self).__name__, cls=cls.__name__))
        return self.__new__(type(self)) if _instance is None else _instance

    def _expand_parameters(self, cls, batch_shape, _instance=None):
        """Implements ``cls.expand`` for parameters named by `arg_constraints`."""
        new = self._get_checked_instance(cls, _instance)
        for name, constraint in self.arg_constraints.items():
            if name in vars(self):
                value = vars(self)[name]
                event = value.shape[value.dim() - constraint.event_dim :]
                setattr(new, name, value.expand(Size(batch_shape) + event))
        return self._finish_expanded(new, batch_shape)

    def _finish_expanded(self, new, batch_shape):
        """Finishes `new`, whose parameters are set, without validating them again."""
        Distribution.__init__(new, Size(batch_shape), self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    # ---- validation

    def _validate_parameters(self):
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            warnings.warn(NO_ARG_CONSTRAINTS.format(cls=type(self)), stacklevel=4)
            return
        for name, constraint in arg_constraints.items():
            if is_dependent(constraint) or self._is_uncomputed(name):
                continue
            value = getattr(self, name)
            self._demand(constraint.check(value), INVALID_PARAMETER, value, constraint, name=name)

    def _is_uncomputed(self, name):
        """Whether a parameter is lazy and has not been computed."""
        return name not in vars(self) and isinstance(getattr(type(self), name, None), lazy_property)

    def _check_value(self, value):
        """Raises if `value` is not a valid value, if this distribution validates its arguments."""
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value):
        """Raises if `value` is not a valid value of this distribution."""
        if not isinstance(value, Tensor):
            raise ValueError(NOT_A_TENSOR.format(type=type(value).__name__))
        event_start = value.dim() - len(self._event_shape)
        if value.shape[event_start:] != self._event_shape:
            raise ValueError(
                "The right-most size of value must match event_shape: "
                f"{tuple(value.shape)} vs {tuple(self._event_shape)}."
            )
        shape = self._batch_shape + self._event_shape
        for i, j in zip(reversed(value.shape), reversed(shape)):
            if 1 not in (i, j) and i != j:
                raise ValueError(NOT_BROADCASTABLE.format(value=tuple(value.shape), shape=tuple(shape)))
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(NO_SUPPORT.format(cls=type(self)), stacklevel=4)
            return
        self._demand(support.check(value), OUTSIDE_SUPPORT, value, support)

    def _demand(self, inside, message, value, constraint, **more):
        """Raises unless all events are valid, also in samples of a vmap; in a traced program, at run time."""
        array = innermost(inside._a)
        holds = array.all()
        is_shown = array is inside._a and not is_traced(array)

        def error(_):
            distribution = self if is_shown else type(self).__name__
            values = f"{value}\n{_first_outside(value, inside)}" if is_shown else NOT_SHOWN
            return ValueError(message.format(type=type(value).__name__, shape=tuple(value.shape), constraint=constraint,
                                             distribution=distribution, values=values, **more))

        demand(holds, holds, error)

    def __repr__(self):
        values = {name: vars(self)[name] for name in self.arg_constraints if name in vars(self)}
        shown = [f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in values.items()]
        return f"{type(self).__name__}({', '.join(shown)})"


def _first_outside(value, inside):
    """Describes the first invalid event of `value`."""
    index = (~inside).nonzero()[0].tolist()
    event_shape = value.shape[value.dim() - max(0, value.dim() - inside.dim()) :]
    event = value.expand((*inside.shape, *event_shape))[tuple(index)]
    shown = event.item() if event.dim() == 0 else event
    return f"The first is {shown}" + (f", at index {tuple(index)}." if index else ".")
