"""Recurrent layers and their cells."""

from __future__ import annotations

import math
import numbers
import warnings

from ..._modes import modes
from ...functions import rnn as functions
from ...functions.creation import empty, zeros
from ...functions.index import index_select
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from ._rnn_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase
from ._variants import unusual
from .module import Module

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

DROPOUT = "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
USELESS_DROPOUT = (
    "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater "
    "than 1, but got dropout={dropout} and num_layers={layers}"
)
PROJECTION = "proj_size argument is only supported for LSTM, not RNN or GRU"
NONLINEARITY = "Unknown nonlinearity {got!r}. Select from 'tanh' or 'relu'."
INPUT_DTYPE = (
    "RNN input dtype ({got}) does not match weight dtype ({weight}). Convert input: input.to({weight}), or convert "
    "model: model.to({got})"
)
INPUT_SIZE = "input.size(-1) must be equal to input_size. Expected {expected}, got {got}"
INPUT_DIMS = "{name}: Expected input to be 2D or 3D, got {dims}D tensor instead"
PACKED_STATE_DIMS = "Dimension out of range: the states of a packed batch are 3-D, got shapes {shapes}"
STATE_DIMS = "For {kind} {dims}-D input, {states} should also be {dims}-D but got {got}"

GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
DERIVED = ("_flat_weights", "_flat_weight_refs")  # lists of parameters that PyTorch's modules have


def _permute(x, permutation):
    return index_select(x, 1, permutation)


class RNNBase(Module):
    """Base of RNN, LSTM and GRU: parameters, checks, and packed sequences.

    The weights of layer k are ``weight_ih_l{k}``, ``weight_hh_l{k}``, ``bias_ih_l{k}``, ``bias_hh_l{k}`` and, with a
    projection, ``weight_hr_l{k}``; those of the other direction end in ``_reverse``.
    """

    __constants__ = ["mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout",
                     "bidirectional", "proj_size"]
    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int

    def __init__(self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, proj_size=0, device=None, dtype=None):
        super().__init__()
        _check_options(mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._all_weights = [
            self._add_weights(layer, suffix, device, dtype)
            for layer in range(num_layers) for suffix in ("", "_reverse")[:self._directions]
        ]
        self._flat_weights_names = [name for names in self._all_weights for name in names]
        self.reset_parameters()

    def _add_weights(self, layer, suffix, device, dtype):
        """Adds the parameters of one layer in one direction; returns their names."""
        inputs = self.input_size if layer == 0 else self._output_size * self._directions
        gates = GATES[self.mode] * self.hidden_size
        shapes = {"weight_ih": (gates, inputs), "weight_hh": (gates, self._output_size)}
        if self.bias:
            shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        for name, shape in shapes.items():
            setattr(self, f"{name}_l{layer}{suffix}", Parameter(empty(shape, device=device, dtype=dtype)))
        return [f"{name}_l{layer}{suffix}" for name in shapes]

    @property
    def _directions(self):
        return 2 if self.bidirectional else 1

    @property
    def _output_size(self):
        return self.proj_size or self.hidden_size

    @property
    def all_weights(self):
        """The parameters, a list for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights(self):
        return [getattr(self, name) for name in self._flat_weights_names]

    def __getstate__(self):
        return super().__getstate__() | {"_flat_weights": self._flat_weights}  # as in PyTorch's pickles

    def __setstate__(self, state):
        super().__setstate__({name: value for name, value in state.items() if name not in DERIVED})

    def flatten_parameters(self):
        """No effect: weights need not be packed here."""

    def reset_parameters(self):
        """Initializes all parameters uniformly within ±1/√hidden_size."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    # ---- checks

    def check_input(self, input, batch_sizes):
        """Raises unless the input has a valid dtype, number of dimensions and number of features."""
        weight = self._flat_weights[0]
        if input.dtype != weight.dtype and modes.autocast is None:
            raise ValueError(INPUT_DTYPE.format(got=input.dtype, weight=weight.dtype))
        dims = 2 if batch_sizes is not None else 3
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(INPUT_SIZE.format(expected=self.input_size, got=input.size(-1)))

    def get_expected_hidden_size(self, input, batch_sizes):
        """The shape of the hidden states for an input; `batch_sizes` are those of a packed sequence."""
        return self._state_shape(input, batch_sizes, self._output_size)

    def _state_shape(self, input, batch_sizes, size):
        batch = int(batch_sizes[0]) if batch_sizes is not None else input.size(0 if self.batch_first else 1)
        return self.num_layers * self._directions, batch, size

    def check_hidden_size(self, hx, expected_hidden_size, msg="Expected hidden size {}, got {}"):
        """Raises with `msg` unless the states have the expected shape."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input, hidden, batch_sizes):
        """Raises unless input and states match."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx, permutation):
        """Permutes the states of the batch."""
        return hx if permutation is None else _permute(hx, permutation)

    # ---- the call, in terms of tuples of states

    def _run(self, function, input, states):
        """(output, final states). An unbatched sequence is run as a batch of one."""
        if isinstance(input, PackedSequence):
            return self._run_packed(function, input, states)
        name = type(self).__name__
        if input.dim() not in (2, 3):
            raise ValueError(INPUT_DIMS.format(name=name, dims=input.dim()))
        batched, axis = input.dim() == 3, 0 if self.batch_first else 1
        if states is not None:
            _check_state_dims(states, batched)
        if not batched:
            input = input.unsqueeze(axis)
            states = states and tuple([s.unsqueeze(1) for s in states])
        states = states or self._zero_states(input, None)
        self._check_states(input, states, None)
        output, *ends = function(input, *self._arguments(states), self.batch_first)
        if not batched:
            output, ends = output.squeeze(axis), [s.squeeze(1) for s in ends]
        return output, tuple(ends)

    def _run_packed(self, function, packed, states):
        data, batch_sizes, order, original = packed
        states = self._zero_states(data, batch_sizes) if states is None else self._permuted_states(states, order)
        self._check_states(data, states, batch_sizes)
        data, *ends = function(data, batch_sizes, *self._arguments(states))
        return PackedSequence(data, batch_sizes, order, original), self._permuted_states(tuple(ends), original)

    def _arguments(self, states):
        hx = states[0] if len(states) == 1 else states
        return hx, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional

    def _zero_states(self, input, batch_sizes):
        return (self._zeros(input, self.get_expected_hidden_size(input, batch_sizes)),)

    def _zeros(self, input, shape):
        return zeros(shape, dtype=input.dtype, device=input.device)

    def _check_states(self, input, states, batch_sizes):
        self.check_forward_args(input, states[0], batch_sizes)

    def _permuted_states(self, states, permutation):
        return (self.permute_hidden(states[0], permutation),)

    def extra_repr(self):
        return f"{self.input_size}, {self.hidden_size}" + unusual(
            self, proj_size=0, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False)


def _check_options(mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size):
    if not isinstance(dropout, numbers.Number) or not 0 <= dropout <= 1 or isinstance(dropout, bool):
        raise ValueError(DROPOUT)
    if dropout > 0 and num_layers == 1:
        warnings.warn(USELESS_DROPOUT.format(dropout=dropout, layers=num_layers), stacklevel=4)
    for name, value in (("bias", bias), ("batch_first", batch_first)):
        if not isinstance(value, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(value).__name__}")
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size)):
        if not isinstance(value, int):
            raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")
    if mode not in GATES:
        raise ValueError(f"Unrecognized RNN mode: {mode}")


def _check_state_dims(states, batched):
    dims, kind = (3, "batched") if batched else (2, "unbatched")
    found = [s.dim() for s in states]
    if found == [dims] * len(found):
        return
    got = f"{found[0]}-D tensor" if len(found) == 1 else f"({found[0]}-D, {found[1]}-D) tensors"
    names = "hx" if len(found) == 1 else "hx and cx"
    raise RuntimeError(STATE_DIMS.format(kind=kind, dims=dims, states=names, got=got))


class RNN(RNNBase):
    """Layers of ``h' = tanh(W_ih x + b_ih + W_hh h + b_hh)`` over sequences.

    Args:
        input_size: the number of input features.
        hidden_size: the number of features of the hidden state.
        num_layers: the number of layers, each of which takes the output of the one before.
        nonlinearity: ``"tanh"`` or ``"relu"``.
        bias: whether there are biases ``b_ih`` and ``b_hh``.
        batch_first: whether input and output are ``(batch, time, features)``; does not apply to the states.
        dropout: the dropout probability, in training, of the outputs of all layers but the last.
        bidirectional: whether each layer also runs backwards in time; both outputs are concatenated.

    Shape:
        - Input: ``(L, N, input_size)``, ``(L, input_size)`` or a PackedSequence; the initial states, zeros by default,
          ``(num_layers * D, N, hidden_size)`` or without N, where D is 2 if bidirectional, else 1
        - Output: ``(L, N, D * hidden_size)`` and the final states

    Example::

        >>> output, hidden = RNN(10, 20, num_layers=2)(randn(5, 3, 10))
        >>> output.shape, hidden.shape
        (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError(PROJECTION)
        if len(args) > 3:
            nonlinearity, args = args[3], args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(NONLINEARITY.format(got=nonlinearity))
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        function = functions.rnn_tanh if self.mode == "RNN_TANH" else functions.rnn_relu
        output, (hidden,) = self._run(function, input, hx if hx is None else (hx,))
        return output, hidden


class LSTM(RNNBase):
    """Layers of long short-term memory over sequences.

    Args:
        proj_size: if not 0, the hidden state is projected to this size.
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional: as for ``RNN``.

    Shape:
        - Input: as for ``RNN``; the states are a pair: hidden states of size ``proj_size or hidden_size``, and cell
          states of size ``hidden_size``
        - Output: ``(L, N, D * (proj_size or hidden_size))`` and the pair of final states

    Example::

        >>> output, (hidden, cell) = LSTM(10, 20, bidirectional=True)(randn(5, 3, 10))
        >>> output.shape, hidden.shape
        (torch.Size([5, 3, 40]), torch.Size([2, 3, 20]))
    """

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)

    def forward(self, input, hx=None):
        return self._run(functions.lstm, input, hx if hx is None else (hx[0], hx[1]))

    def get_expected_cell_size(self, input, batch_sizes):
        """The shape of the cell states for an input."""
        return self._state_shape(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input, hidden, batch_sizes):
        """Raises unless input and states match."""
        self.check_input(input, batch_sizes)
        if any(state.dim() < 3 for state in hidden):
            raise IndexError(PACKED_STATE_DIMS.format(shapes=[list(state.shape) for state in hidden]))
        self.check_hidden_size(hidden[0], self.get_expected_hidden_size(input, batch_sizes),
                               "Expected hidden[0] size {}, got {}")
        self.check_hidden_size(hidden[1], self.get_expected_cell_size(input, batch_sizes),
                               "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx, permutation):
        """Permutes the states of the batch."""
        return hx if permutation is None else (_permute(hx[0], permutation), _permute(hx[1], permutation))

    def _zero_states(self, input, batch_sizes):
        cell = self._zeros(input, self.get_expected_cell_size(input, batch_sizes))
        return *super()._zero_states(input, batch_sizes), cell

    def _check_states(self, input, states, batch_sizes):
        self.check_forward_args(input, states, batch_sizes)

    def _permuted_states(self, states, permutation):
        return self.permute_hidden(states, permutation)


class GRU(RNNBase):
    """Layers of gated recurrent units over sequences.

    Arguments and shapes are those of ``RNN``, without ``nonlinearity``.

    Example::

        >>> output, hidden = GRU(10, 20, batch_first=True)(randn(3, 5, 10))
        >>> output.shape, hidden.shape
        (torch.Size([3, 5, 20]), torch.Size([1, 3, 20]))
    """

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError(PROJECTION)
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input, hx=None):
        output, (hidden,) = self._run(functions.gru, input, hx if hx is None else (hx,))
        return output, hidden
