"""The cells of recurrent layers: one step in time."""

from __future__ import annotations

import math

from ..._tensor import Tensor
from ...functions import rnn as functions
from ...functions.creation import empty, zeros
from .. import init
from ..parameter import Parameter
from .module import Module

CELL_DIMS = "{name}: Expected {what} to be 1D or 2D, got {dims}D instead"


class RNNCellBase(Module):
    """The base of cells: parameters, and unbatched inputs."""

    __constants__ = ["input_size", "hidden_size", "bias"]
    input_size: int
    hidden_size: int
    bias: bool
    weight_ih: Tensor
    weight_hh: Tensor

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = num_chunks * hidden_size
        self.weight_ih = Parameter(empty((gates, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(empty((gates, hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty(gates, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Initializes all parameters uniformly within ±1/√hidden_size."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _run(self, function, input, hx, count=1):
        """The next state of a batch or of a single input; the state defaults to zeros."""
        self._check_dims("input", input)
        batched = input.dim() == 2
        if hx is None:
            state = zeros((*input.shape[:-1], self.hidden_size), dtype=input.dtype, device=input.device)
            hx = state if count == 1 else (state,) * count
        if not batched:
            input = input.unsqueeze(0)
            hx = hx.unsqueeze(0) if isinstance(hx, Tensor) else tuple([s.unsqueeze(0) for s in hx])
        state = function(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        if batched:
            return state
        return state.squeeze(0) if isinstance(state, Tensor) else tuple([s.squeeze(0) for s in state])

    def _check_dims(self, what, x):
        if x.dim() not in (1, 2):
            raise ValueError(CELL_DIMS.format(name=type(self).__name__, what=what, dims=x.dim()))

    def extra_repr(self):
        said = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            said += f", bias={self.bias}"
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return said if nonlinearity == "tanh" else f"{said}, nonlinearity={nonlinearity}"


class RNNCell(RNNCellBase):
    """One step of an ``RNN``: ``tanh(W_ih x + b_ih + W_hh h + b_hh)``.

    Shape:
        - Input: ``(N, input_size)`` or ``(input_size)``; the state, zeros by default, ``(N, hidden_size)`` or
          ``(hidden_size)``
        - Output: the next state

    Example::

        >>> RNNCell(10, 20)(randn(3, 10)).shape
        torch.Size([3, 20])
    """

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]
    nonlinearity: str

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        if hx is not None:
            self._check_dims("hidden", hx)
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._run(functions.rnn_tanh_cell if self.nonlinearity == "tanh" else functions.rnn_relu_cell, input, hx)


class LSTMCell(RNNCellBase):
    """One step of an ``LSTM``; the state is a pair, the hidden state and the cell state.

    Example::

        >>> hidden, cell = LSTMCell(10, 20)(randn(3, 10))
        >>> hidden.shape
        torch.Size([3, 20])
    """

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        for nr, state in enumerate(hx if isinstance(hx, tuple) else ()):
            self._check_dims(f"hx[{nr}]", state)
        return self._run(functions.lstm_cell, input, hx, count=2)


class GRUCell(RNNCellBase):
    """One step of a ``GRU``.

    Example::

        >>> GRUCell(10, 20)(randn(3, 10)).shape
        torch.Size([3, 20])
    """

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        if hx is not None:
            self._check_dims("hidden", hx)
        return self._run(functions.gru_cell, input, hx)
