"""The table of KL divergences, by pairs of classes."""

from __future__ import annotations

import warnings

from ..distribution import Distribution

_KL_REGISTRY: dict = {}  # {(class of p, class of q): function}
_memory: dict = {}  # cache of lookups

NOT_A_DISTRIBUTION = "Expected {name} to be a Distribution subclass but got {found}"
AMBIGUOUS = "Ambiguous kl_divergence({p}, {q}). Please register_kl({left}, {right})"
NOT_REGISTERED = (
    "No KL(p || q) is implemented for p type {p} and q type {q}. Register one with @register_kl({p}, {q}), or estimate "
    "it from draws x of p: (p.log_prob(x) - q.log_prob(x)).mean()."
)


def register_kl(type_p, type_q):
    """Decorator: registers the divergence of two classes of distributions and their subclasses.

    Args:
        type_p: the class of the first distribution.
        type_q: the class of the second.

    Example::

        >>> class Plain(Normal):
        ...     pass
        >>> @register_kl(Plain, Plain)
        ... def kl_plain(p, q):
        ...     return flambeau.zeros(p.batch_shape)
        >>> kl_divergence(Plain(0.0, 1.0), Plain(1.0, 1.0))
        tensor(0.)
    """
    for name, cls in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(cls, type) or not issubclass(cls, Distribution):
            raise TypeError(NOT_A_DISTRIBUTION.format(name=name, found=cls))

    def register(function):
        _KL_REGISTRY[type_p, type_q] = function
        _memory.clear()
        return function

    return register


def kl_divergence(p, q):
    """The Kullback–Leibler divergence ``KL(p || q)``: the mean of ``log p(x) - log q(x)`` over samples x of p.

    Args:
        p: the distribution of x.
        q: the other distribution.

    Example::

        >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
        tensor(0.5000)
    """
    classes = type(p), type(q)
    if classes not in _memory:
        _memory[classes] = find(*classes)
    function = _memory[classes]
    if function is None:
        raise NotImplementedError(NOT_REGISTERED.format(p=type(p).__name__, q=type(q).__name__))
    return function(p, q)


def find(class_p, class_q):
    """The function registered for the closest base classes, or None.

    If the closest match by p differs from the closest by q, the former is used, with a warning.
    """
    found = [(p, q) for p, q in _KL_REGISTRY if issubclass(class_p, p) and issubclass(class_q, q)]
    if not found:
        return None
    by_p, by_q = class_p.__mro__.index, class_q.__mro__.index
    left = min(found, key=lambda pair: (by_p(pair[0]), by_q(pair[1])))
    right = min(found, key=lambda pair: (by_q(pair[1]), by_p(pair[0])))
    if _KL_REGISTRY[left] is not _KL_REGISTRY[right]:
        names = {"p": class_p.__name__, "q": class_q.__name__, "left": left[0].__name__, "right": right[1].__name__}
        warnings.warn(AMBIGUOUS.format(**names), RuntimeWarning, stacklevel=3)
    return _KL_REGISTRY[left]
