"""Transforms of vectors and of event shapes."""

from ..._dtypes import finfo
from ..._size import Size
from ...nn.functional import logsigmoid, pad
from .. import constraints
from ._elementwise import _Parameterless, clipped_sigmoid
from ._transform import Transform

DIFFERENT_NUMBERS = "in_shape, out_shape have different numbers of elements: {in_shape} and {out_shape}."


class ReshapeTransform(Transform):
    """Reshapes events.

    Args:
        in_shape: the event shape of inputs.
        out_shape: the event shape of outputs, with the same number of elements.
        cache_size: the size of the cache, 0 or 1.
    """

    bijective = True
    _parameters = ("in_shape", "out_shape")

    def __init__(self, in_shape, out_shape, cache_size=0):
        self.in_shape = Size(in_shape)
        self.out_shape = Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            message = DIFFERENT_NUMBERS.format(in_shape=tuple(self.in_shape), out_shape=tuple(self.out_shape))
            raise ValueError(message)
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x):
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y):
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x, y):
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape):
        return _replace_end(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape):
        return _replace_end(shape, self.out_shape, self.in_shape)


def _replace_end(shape, old, new):
    """Replaces the suffix `old` of a shape by `new`."""
    _check_dimensions(shape, len(old))
    cut = len(shape) - len(old)
    if tuple(shape[cut:]) != tuple(old):
        raise ValueError(f"Shape mismatch: expected {tuple(old)} at the end of {tuple(shape)}")
    return Size(shape[:cut]) + new


def _check_dimensions(shape, least):
    if len(shape) < least:
        raise ValueError(f"Too few dimensions on input: expected at least {least}, got the shape {tuple(shape)}")


class SoftmaxTransform(_Parameterless):
    """``y = softmax(x)``; ``log(y)`` is one of its inverses. It has no Jacobian: see StickBreakingTransform."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x):
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y):
        return y.log()

    def forward_shape(self, shape):
        _check_dimensions(shape, 1)
        return shape

    def inverse_shape(self, shape):
        _check_dimensions(shape, 1)
        return shape


class StickBreakingTransform(_Parameterless):
    """Maps vectors to the simplex of one more dimension: each element breaks a fraction off the remaining stick.

    Example::

        >>> StickBreakingTransform()(flambeau.zeros(3))
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _call(self, x):
        share = clipped_sigmoid(x - _log_pieces_left(x))
        left = (1 - share).cumprod(-1)
        return pad(share, [0, 1], value=1) * pad(left, [1, 0], value=1)

    def _inverse(self, y):
        pieces = y[..., :-1]
        left = (1 - pieces.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return pieces.log() - left.log() + _log_pieces_left(pieces)

    def log_abs_det_jacobian(self, x, y):
        x = x - _log_pieces_left(x)
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape):
        _check_dimensions(shape, 1)
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape):
        _check_dimensions(shape, 1)
        return Size((*shape[:-1], shape[-1] - 1))


def _log_pieces_left(x):
    """The logarithm of the number of remaining pieces, so that zeros break the stick into equal pieces."""
    n = x.shape[-1]
    return (n + 1 - x.new_ones(n).cumsum(-1)).log()
