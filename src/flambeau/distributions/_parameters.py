"""Distributions that are given by probabilities or by logits: each is computed from the other when it is asked for."""

from __future__ import annotations

from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

EITHER = "Either `probs` or `logits` must be specified, but not both."
ONE_DIMENSION = "`{name}` parameter must be at least one-dimensional."


def check_either(probs, logits):
    """Raises unless one of both is None."""
    if (probs is None) == (logits is None):
        raise ValueError(EITHER)


class ProbsOrLogits:
    """Mixin: the parameter `probs`, or `logits`."""

    _is_binary = True

    @lazy_property
    def logits(self):
        """The log-odds of the probabilities; of categories, the logarithms."""
        return probs_to_logits(self.probs, is_binary=self._is_binary)

    @lazy_property
    def probs(self):
        """The probabilities."""
        return logits_to_probs(self.logits, is_binary=self._is_binary)

    @property
    def _param(self):
        """The parameter that is there without computing."""
        return self.logits if "logits" in vars(self) else self.probs

    @property
    def param_shape(self):
        """The shape of the parameter."""
        return self._param.size()

    def _new(self, *args, **kwargs):
        """A new tensor of the dtype and on the device of the parameter."""
        return self._param.new(*args, **kwargs)

    def _broadcast_parameter(self, probs, logits, *others):
        """Sets the parameter that is not None, broadcast with others; returns those."""
        check_either(probs, logits)
        name, value = ("probs", probs) if logits is None else ("logits", logits)
        *others, value = broadcast_all(*others, value)
        setattr(self, name, value)
        return others


class CategoryProbsOrLogits(ProbsOrLogits):
    """Mixin: the parameter `probs`, or `logits`, of categories along the last dimension."""

    _is_binary = False

    def _normalize_parameter(self, probs, logits):
        """Sets the parameter that is not None, as probabilities with a sum of 1."""
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
