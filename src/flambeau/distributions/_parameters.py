"""Mixins for common parameters: probs or logits, loc and scale, and those of a base distribution."""

from operator import attrgetter

from . import constraints
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

EITHER = "Either `probs` or `logits` must be specified, but not both."
ONE_DIMENSION = "`{name}` parameter must be at least one-dimensional."


def attribute_of(owner, name, doc):
    """A property that forwards to the attribute `name` of the distribution in `owner`."""
    return property(attrgetter(f"{owner}.{name}"), doc=doc)


# ---- a location and a scale


class Symmetric:
    """Mixin: the distribution is symmetric around `loc`."""

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc


class LocationScale(Symmetric):
    """Mixin: a location-scale family on the reals, with parameters `loc` and `scale`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)


# ---- probabilities or logits: each is computed from the other when it is asked for


def check_either(probs, logits):
    """Raises unless exactly one of both is given."""
    if (probs is None) == (logits is None):
        raise ValueError(EITHER)


class ProbsOrLogits:
    """Mixin: the parameter `probs`, or `logits`."""

    _is_binary = True

    @lazy_property
    def logits(self):
        """The log-odds of the probabilities; for categories, their logarithms."""
        return probs_to_logits(self.probs, is_binary=self._is_binary)

    @lazy_property
    def probs(self):
        """The probabilities."""
        return logits_to_probs(self.logits, is_binary=self._is_binary)

    @property
    def _param(self):
        """The parameter that was given."""
        return self.logits if "logits" in vars(self) else self.probs

    @property
    def param_shape(self):
        """The shape of the parameter."""
        return self._param.size()

    def _new(self, *args, **kwargs):
        """A new tensor with the dtype and device of the parameter."""
        return self._param.new(*args, **kwargs)

    def _enumerate(self, values, expand):
        """The result of ``enumerate_support`` for the values of one distribution of the batch."""
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values

    def _broadcast_parameter(self, probs, logits, *others):
        """Sets the parameter that is not None, broadcast with `others`, which are returned."""
        check_either(probs, logits)
        name, value = ("probs", probs) if logits is None else ("logits", logits)
        *others, value = broadcast_all(*others, value)
        setattr(self, name, value)
        return others


class CategoryProbsOrLogits(ProbsOrLogits):
    """Mixin: the parameter `probs`, or `logits`, of categories along the last dimension."""

    _is_binary = False

    def _normalize_parameter(self, probs, logits):
        """Sets the parameter that is not None, normalized so that probabilities sum to 1."""
        check_either(probs, logits)
        name, value = ("probs", probs) if logits is None else ("logits", logits)
        if value.dim() < 1:
            raise ValueError(ONE_DIMENSION.format(name=name))
        if logits is None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = logits - logits.logsumexp(-1, keepdim=True)

    @property
    def _num_events(self):
        return self._param.shape[-1]


class CategoricalParameters:
    """Mixin: the parameters are those of ``_categorical``, a Categorical."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    logits = attribute_of("_categorical", "logits", "The logarithms of the probabilities.")
    probs = attribute_of("_categorical", "probs", "The probabilities of the categories.")
    param_shape = attribute_of("_categorical", "param_shape", "The shape of the parameter.")

    def _shapes(self):
        """The batch shape and the event shape, which has an element per category."""
        return self._categorical.batch_shape, self._categorical.param_shape[-1:]
