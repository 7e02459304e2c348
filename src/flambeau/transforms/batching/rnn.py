"""Batching rules of recurrent layers: with unbatched weights, the samples are folded into the sequences."""

from ...ops.shape import reshape
from ..vmap import Batched, loop, move_axis, with_batch_dim

STATES = ("h", "c")  # inputs per sequence, without a time dimension


def recurrent(axis):
    """The rule of an op with the sequences along `axis` of inputs and outputs; states have them first."""

    def rule(op, operands, settings, size):
        names = dict(zip(op.inputs, operands, strict=True))
        if any([isinstance(x, Batched) and x.batched for name, x in names.items() if name in ("w", "b", "projection")]):
            return loop(op, operands, settings, size)
        tensors = [
            fold_at(x, 0 if name in STATES else axis, size) if name in ("x", "mask", *STATES) else value_of(x)
            for name, x in names.items()
        ]
        result = op.function(*tensors, **settings)
        if not isinstance(result, tuple):
            return unfold_at(result, axis, size)
        return tuple([unfold_at(t, axis, size) for t in result])

    return rule


def value_of(x):
    return None if x is None else x.value


def fold_at(x, axis, size):
    """The tensor of an operand with the batch dimension folded into the dimension `axis`."""
    if x is None:
        return None
    shape = list(x.shape)
    shape[axis] *= size
    return reshape(move_axis(with_batch_dim(x, size), 0, axis), shape=tuple(shape))


def unfold_at(t, axis, size):
    """The inverse of ``fold_at`` for a result."""
    shape = t._a.shape
    split = reshape(t, shape=(*shape[:axis], size, shape[axis] // size, *shape[axis + 1:]))
    return move_axis(split, axis, 0)


RNN = {
    **{f"{name}_layer": recurrent(1) for name in ("rnn_tanh", "rnn_relu", "lstm", "gru")},
    **{f"{name}_cell": recurrent(0) for name in ("rnn_tanh", "rnn_relu", "lstm", "gru")},
}
