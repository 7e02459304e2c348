"""Recurrent networks (stacked, optionally bidirectional layers over sequences) and their cells."""

from __future__ import annotations

from typing import NamedTuple

from .._dtypes import type_word
from .._modes import modes
from .._signatures import set_name
from .._tensor import Tensor
from ..ops import rnn as ops
from ..ops.matmul import linear
from ._args import need_tensor, need_tensors
from .dropout import dropout as drop
from .join import cat, stack
from .packed import Packing

__all__ = ["gru", "gru_cell", "lstm", "lstm_cell", "rnn_relu", "rnn_relu_cell", "rnn_tanh", "rnn_tanh_cell"]

NO_TIME = "Expected sequence length to be larger than 0 in RNN, but the input has shape {shape}"
TWO_STATES = "{name} expects two hidden states, the hidden and the cell state; got {count}"
MISSING_PARAMETERS = "got an incorrect number of RNN parameters: {got}, expected {each} for each layer and direction"
PARAMETERS = "Expected more weights in stacked_rnn, or fewer: {layers} layers and directions of {each}, but got {got}"
INPUT_SIZE = "input has inconsistent input_size: got {got} expected {expected}"
BATCH = "Input batch size {batch} doesn't match hidden{nr} batch size {got}"
HIDDEN_SIZE = "hidden{nr} has inconsistent hidden_size: got {got}, expected {expected}"
HIDDEN_DIMS = "{name}: hidden{nr} must be a matrix, as the input is: a state for each sample. Its shape is {shape}"
STATE_DTYPE = (
    "{name}: mat1 and mat2 must have the same dtype, but got {got} and {weight}: the hidden state is not of the dtype "
    "of the weights. Convert it: hx.to({dtype})"
)
STATES_TYPE = "{name}(): argument 'hx' (position 2) must be tuple of Tensors, not {kind}"


class Weights(NamedTuple):
    """The weights of one layer in one direction."""

    w_ih: Tensor
    w_hh: Tensor
    b_ih: Tensor | None
    b_hh: Tensor | None
    w_hr: Tensor | None


# ---- one layer in one direction: the input for all times at once, then the recurrence


def _elman_layer(op):
    def layer(x, states, weights, packing, reverse):
        gates = _of_input(x, weights, packing)
        out, _ = op(gates, *states, weights.w_hh, _mask(packing), reverse=reverse)
        return out, (_last(out, reverse),)

    return layer


def _lstm_layer(x, states, weights, packing, reverse):
    gates = _of_input(x, weights, packing)
    out, _, cells, _ = ops.lstm_layer(gates, *states, weights.w_hh, weights.w_hr, _mask(packing), reverse=reverse)
    return out, (_last(out, reverse), _last(cells, reverse))


def _gru_layer(x, states, weights, packing, reverse):
    # the reset gate scales the hidden contribution including its bias
    gates = _of_input(x, weights._replace(b_hh=None), packing)
    out, *_ = ops.gru_layer(gates, *states, weights.w_hh, weights.b_hh, _mask(packing), reverse=reverse)
    return out, (_last(out, reverse),)


def _of_input(x, weights, packing):
    """The input's contribution at every time step."""
    x = ops.input_product(x, weights.w_ih, _sum_of_biases(weights.b_ih, weights.b_hh))
    return x if packing is None else packing.pad(x)


def _sum_of_biases(b_ih, b_hh):
    return b_hh if b_ih is None else b_ih if b_hh is None else b_ih + b_hh


def _mask(packing):
    return None if packing is None else packing.mask


def _last(states, reverse):
    """The state after all time steps; finished sequences keep theirs."""
    return states[0] if reverse else states[-1]


# ---- stacks of them


def _stack_of_layers(layer, x, states, weights, dropout, train, bidirectional, packing):
    """The output of the last layer, and the final states of all layers and directions."""
    directions = 2 if bidirectional else 1
    states = list(zip(*[s.unbind(0) for s in states], strict=True))
    ends = []
    for first in range(0, len(weights), directions):
        if first and dropout and train:
            x = drop(x, dropout, train)
        outs = []
        for nr in range(first, first + directions):
            out, end = layer(x, states[nr], weights[nr], packing, nr > first)
            outs.append(out if packing is None else packing.pack(out))
            ends.append(end)
        x = outs[0] if directions == 1 else cat(outs, -1)
    return x, *[stack(parts) for parts in zip(*ends, strict=True)]


def _group_weights(params, has_biases, num_layers, bidirectional, projected):
    """The parameters grouped by layer and direction."""
    each = 2 + 2 * has_biases + projected
    if len(params) % each:
        raise RuntimeError(MISSING_PARAMETERS.format(got=len(params), each=each))
    layers = num_layers * (2 if bidirectional else 1)
    if len(params) != layers * each:
        raise RuntimeError(PARAMETERS.format(layers=layers, each=each, got=len(params)))
    return [_weights(params[i:i + each], has_biases, projected) for i in range(0, len(params), each)]


def _weights(group, has_biases, projected):
    biases = group[2:4] if has_biases else (None, None)
    return Weights(*group[:2], *biases, group[-1] if projected else None)


def _recurrent(name, layer, count):
    """The function of a kind of network with `count` state tensors."""

    def over_batch(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
        need_tensor(input, name)
        x = input.transpose(0, 1) if batch_first else input
        if not x.shape[0]:
            raise RuntimeError(NO_TIME.format(shape=list(input.shape)))
        out, *ends = run(x, hx, params, has_biases, num_layers, dropout, train, bidirectional, None)
        return out.transpose(0, 1) if batch_first else out, *ends

    def over_packed(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional):
        need_tensor(data, name, "data")
        packing = Packing(batch_sizes, data.device)
        return run(data, hx, params, has_biases, num_layers, dropout, train, bidirectional, packing)

    def run(x, hx, params, has_biases, num_layers, dropout, train, bidirectional, packing):
        states = (hx,) if isinstance(hx, Tensor) else tuple(hx)
        if len(states) != count:
            raise RuntimeError(TWO_STATES.format(name=name, count=len(states)))
        projected = count == 2 and states[0].shape[2] != states[1].shape[2]
        weights = _group_weights(need_tensors(params, name), has_biases, num_layers, bidirectional, projected)
        for state in states:
            _check_state_dtype(name, state, weights[0].w_hh)
        return _stack_of_layers(layer, x, states, weights, dropout, train, bidirectional, packing)

    def function(*args, **kwargs):
        packed = "batch_sizes" in kwargs or (len(args) > 3 and isinstance(args[3], (list, tuple)))
        return (over_packed if packed else over_batch)(*args, **kwargs)

    return set_name(function, name,
        f"``nn.{name.split('_')[0].upper()}`` as a function of its weights: ``(input, hx, params, has_biases, "
        "num_layers, dropout, train, bidirectional, batch_first)``, or of packed sequences ``(data, batch_sizes, hx, "
        "params, has_biases, num_layers, dropout, train, bidirectional)``. The weights are in the order of the module.")


rnn_tanh = _recurrent("rnn_tanh", _elman_layer(ops.rnn_tanh_layer), 1)
rnn_relu = _recurrent("rnn_relu", _elman_layer(ops.rnn_relu_layer), 1)
lstm = _recurrent("lstm", _lstm_layer, 2)
gru = _recurrent("gru", _gru_layer, 1)


# ---- cells


def rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """``tanh(w_ih x + b_ih + w_hh h + b_hh)``."""
    _check_cell("rnn_tanh_cell", input, (hx,), w_ih, w_hh)
    return ops.rnn_tanh_cell(linear(input, w_ih, _sum_of_biases(b_ih, b_hh)), hx, w_hh)


def rnn_relu_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """``relu(w_ih x + b_ih + w_hh h + b_hh)``."""
    _check_cell("rnn_relu_cell", input, (hx,), w_ih, w_hh)
    return ops.rnn_relu_cell(linear(input, w_ih, _sum_of_biases(b_ih, b_hh)), hx, w_hh)


def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """The next hidden state and the next cell state of a long short-term memory."""
    if isinstance(hx, Tensor) or not isinstance(hx, (list, tuple)):
        raise TypeError(STATES_TYPE.format(name="lstm_cell", kind=type(hx).__name__))
    if len(hx) != 2:
        raise RuntimeError(TWO_STATES.format(name="lstm_cell", count=len(hx)))
    _check_cell("lstm_cell", input, hx, w_ih, w_hh)
    _check_matrices("lstm_cell", hx)
    hidden, cell = hx
    if not (cell.is_floating_point() or cell.is_complex()):
        cell = cell.to(hidden.dtype)  # non-floating operands do not promote the dtype
    h, c, _ = ops.lstm_cell(linear(input, w_ih, _sum_of_biases(b_ih, b_hh)), hidden, cell, w_hh)
    return h, c


def gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """The next hidden state of a gated recurrent unit."""
    _check_cell("gru_cell", input, (hx,), w_ih, w_hh)
    _check_matrices("gru_cell", (hx,))
    return ops.gru_cell(linear(input, w_ih, b_ih), hx, w_hh, b_hh)[0]


def _check_cell(name, input, states, w_ih, w_hh):
    need_tensor(input, name)
    if input.size(1) != w_ih.shape[1]:
        raise RuntimeError(INPUT_SIZE.format(got=input.size(1), expected=w_ih.shape[1]))
    for nr, state in enumerate(states):
        need_tensor(state, name, "hx", 2)
        if state.size(0) != input.shape[0]:
            raise RuntimeError(BATCH.format(batch=input.shape[0], nr=nr, got=state.size(0)))
        if state.size(1) != w_hh.shape[1]:
            raise RuntimeError(HIDDEN_SIZE.format(nr=nr, got=state.size(1), expected=w_hh.shape[1]))
    _check_state_dtype(name, states[0], w_hh)


def _check_matrices(name, states):
    """Raises for states with extra dimensions, which would broadcast against the gates of the input."""
    for nr, state in enumerate(states):
        if state.dim() != 2:
            raise RuntimeError(HIDDEN_DIMS.format(name=name, nr=nr, shape=list(state.shape)))


def _check_state_dtype(name, state, weight):
    """Raises unless the state has the dtype of its weights; autocast casts single and half precision to one dtype."""
    if state.dtype == weight.dtype:
        return
    if modes.autocast is None or not state.is_floating_point() or state.element_size() > 4:
        got, dtype = type_word(state.dtype), weight.dtype
        raise RuntimeError(STATE_DTYPE.format(name=name, got=got, weight=type_word(dtype), dtype=dtype))
