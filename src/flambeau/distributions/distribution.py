"""The base of the distributions."""

from __future__ import annotations

from .._modes import no_grad
from .._size import Size
from .._tensor import Tensor
from ..functions.broadcast import broadcast_tensors
from ..functions.from_data import tensor

__all__ = ["Distribution"]

INVALID = (
    "Expected parameter {name} ({shape}) of distribution {cls} to satisfy the constraint {what}, but found invalid "
    "values:\n{value}"
)


class Distribution:
    """Base of the distributions: a batch of independent ones, each over events of one shape."""

    has_rsample = False
    arg_constraints: dict = {}
    support = None
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value):
        """Whether distributions check their arguments when none is said."""
        if value not in (True, False):
            raise ValueError(f"expected True or False, got {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape=Size(), event_shape=Size(), validate_args=None):  # noqa: B008
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            for name, (holds, what) in self.arg_constraints.items():
                value = getattr(self, name)
                if not bool(holds(value).all()):
                    raise ValueError(INVALID.format(name=name, shape=f"Tensor of shape {tuple(value.shape)}",
                                                    cls=repr(self), what=what, value=value))

    @property
    def batch_shape(self):
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self):
        """The shape of one draw of one distribution."""
        return self._event_shape

    @property
    def mean(self):
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self):
        """The most likely value."""
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
        """Draws, without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=Size()):  # noqa: B008
        """Draws through which gradients reach the parameters."""
        raise NotImplementedError

    def sample_n(self, n):
        """n draws."""
        return self.sample(Size((n,)))

    def log_prob(self, value):
        """The logarithm of the density at `value`."""
        raise NotImplementedError

    def cdf(self, value):
        """The probability of at most `value`."""
        raise NotImplementedError

    def icdf(self, value):
        """The value below which the probability is `value`."""
        raise NotImplementedError

    def enumerate_support(self, expand=True):
        """All values of a discrete distribution."""
        raise NotImplementedError

    def entropy(self):
        """The entropy."""
        raise NotImplementedError

    def perplexity(self):
        """The exponential of the entropy."""
        return self.entropy().exp()

    def expand(self, batch_shape, _instance=None):
        """The same distributions, as a larger batch."""
        raise NotImplementedError

    def _extended_shape(self, sample_shape=Size()):  # noqa: B008
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _validate_sample(self, value):
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape = self._batch_shape + self._event_shape
        for i, j in zip(reversed(value.shape), reversed(shape), strict=False):
            if 1 not in (i, j) and i != j:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {tuple(value.shape)} vs {tuple(shape)}."
                )
        if bool(value.isnan().any()):
            raise ValueError(
                f"Expected value argument (Tensor of shape {tuple(value.shape)}) to be within the support of the "
                f"distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self):
        values = {name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__}
        shown = [f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in values.items()]
        return f"{type(self).__name__}({', '.join(shown)})"


def broadcast_all(*values):
    """Numbers and tensors as tensors of one shape."""
    if not all(isinstance(v, Tensor | int | float) for v in values):
        raise ValueError("Input arguments must all be instances of Number or torch.Tensor.")
    dtype = next((v.dtype for v in values if isinstance(v, Tensor)), None)
    return broadcast_tensors(*[v if isinstance(v, Tensor) else tensor(float(v), dtype=dtype) for v in values])
