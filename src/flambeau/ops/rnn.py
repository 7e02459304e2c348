"""Recurrent cells, and layers of them: one op for all time steps of a sequence in one direction.

A cell is two functions: ``step`` computes the next state, ``pull`` the gradients. Both are written in operators and
ops, so they run on arrays of any engine and on tensors. The op of a layer passes them to the engine's ``scan``, a loop
over time. The input has already been multiplied by its weights, for all steps at once.

    step(weights, state, x)                                      -> (next state, other values for pull)
    pull(weights, g_state, g_saved, saved, state, previous)      -> (g_x, g_previous, values for the weights' gradients)

The states are tuples. Of all but gradients ``pull`` gets the conjugates. A result of a step that ``pull`` needs is also
a result of the op, so the second derivative goes through it. The states are given out as a copy: to overwrite the
output of a layer does not harm its backward.

If an engine has a kernel for a whole sequence (such as ``lstm_sequence``), it replaces the loop.
"""

from types import SimpleNamespace

from .._modes import modes
from .._precision import recurrent_layer
from .._tensor import Tensor
from ..engines import NUMPY, engine_of
from ..engines._formulas import lstm_gates, lstm_gates_pull
from ._op import op
from .activation import relu
from .elementary import sigmoid, tanh
from .join import cat, stack
from .matmul import LINEAR_STEPS, check_linear, linear_gradients, linear_node, mT, product, rows
from .pointwise import cj, keep, where
from .reduce import sum_
from .shape import zeros_like

SHORT, LONG = 64, 192  # rows; sums over numbers in between are split here, longer ones by kernels

# ---- cells


def chunks(x, count):
    """Splits the last dimension into equal parts."""
    size = x.shape[-1] // count
    return [x[..., i * size:(i + 1) * size] for i in range(count)]


def join(*parts):
    return cat(*parts, axis=1)


def elman_cell(activation, slope):
    def step(weights, state, x):
        (h,), (w,) = state, weights
        return (activation(x + product(h, mT(w))),), ()

    def pull(weights, g_state, g_saved, saved, state, previous):
        g_x = slope(g_state[0], state[0])
        return g_x, (product(g_x, weights[0]),), ()

    return step, pull


tanh_step, tanh_pull = elman_cell(tanh, lambda g, h: g * (1 - h * h))
relu_step, relu_pull = elman_cell(relu, lambda g, h: keep(g, ~(h <= 0)))  # NaN propagates


def lstm_step(weights, state, x):
    (h, c), (w, projection) = state, weights
    shown, c, gates = gates_of(x, product(h, mT(w)), c)
    return (shown if projection is None else product(shown, mT(projection)), c), (gates,)


def lstm_pull(weights, g_state, g_saved, saved, state, previous):
    (g_h, g_c), (w, projection) = g_state, weights
    g_shown = g_h if projection is None else product(g_h, projection)
    g_x, g_previous = gates_pull(g_shown, g_c, g_saved[0], saved[0], state[1], previous[1])
    return g_x, (product(g_x, w), g_previous), () if projection is None else (g_h,)


RECORDED = SimpleNamespace(  # the engine for the formulas of the gates on tensors: ops, which are recorded
    split=lambda x, count, axis: chunks(x, count), concatenate=lambda parts, axis: join(*parts), sigmoid=sigmoid,
    tanh=tanh,
)


def gates_of(x, hidden, c):
    """The engine's ``lstm_gates``; on tensors, composed of ops."""
    k = engine_of(x, hidden, c)
    if k.computes and not isinstance(c, Tensor):
        return k.lstm_gates(x, hidden, c)
    return lstm_gates(RECORDED, x, hidden, c)


def gates_pull(g_h, g_c, g_gates, gates, c, previous):
    """The engine's ``lstm_gates_pull``; on tensors, composed of ops."""
    k = engine_of(g_h, gates, c)
    if k.computes and not isinstance(c, Tensor):
        return k.lstm_gates_pull(g_h, g_c, g_gates, gates, c, previous)
    return lstm_gates_pull(RECORDED, g_h, g_c, g_gates, gates, c, previous)


def gru_step(weights, state, x):
    (h,), (w, b) = state, weights
    hidden = product(h, mT(w))
    if b is not None:
        hidden = hidden + b
    (x_r, x_z, x_n), (h_r, h_z, h_n) = chunks(x, 3), chunks(hidden, 3)
    r, z = sigmoid(x_r + h_r), sigmoid(x_z + h_z)
    n = tanh(x_n + r * h_n)
    return (n + z * (h - n),), (join(r, z, n, h_n),)


def gru_pull(weights, g_state, g_saved, saved, state, previous):
    (g_h,), (h,) = g_state, previous
    r, z, n, h_n = chunks(saved[0], 4)
    g_r, g_z, g_n, g_h_n = chunks(g_saved[0], 4)
    g_n = (g_h * (1 - z) + g_n) * (1 - n * n)
    g_r = (g_n * h_n + g_r) * r * (1 - r)
    g_z = (g_h * (h - n) + g_z) * z * (1 - z)
    g_hidden = join(g_r, g_z, g_n * r + g_h_n)
    return join(g_r, g_z, g_n), (product(g_hidden, weights[0]) + g_h * z,), (g_hidden,)


# ---- over time


def forward_body(step):
    """One time step; sequences whose mask is False keep their state."""

    def body(weights, state, now):
        x, mask = now
        new, saved = step(weights, state, x)
        if mask is not None:
            new = tuple([where(mask, a, b) for a, b in zip(new, state)])
        return new, (new, saved)

    return body


def backward_body(pull):
    def body(weights, g_later, now):
        state, previous, saved, g_state, g_saved, mask = now
        g_state = tuple([sum_of(a, b) for a, b in zip(g_later, g_state)])
        g_saved = tuple([zeros_like(x) if g is None else g for g, x in zip(g_saved, saved)])
        active = g_state if mask is None else tuple([keep(g, mask) for g in g_state])
        g_x, g_previous, rest = pull(weights, active, g_saved, saved, state, previous)
        if mask is not None:
            g_previous = tuple([where(mask, a, b) for a, b in zip(g_previous, g_state)])
        return g_previous, (g_x, *rest)

    return body


def scan(body, weights, carry, xs, reverse):
    """The engine's ``scan``; on tensors every operation is recorded."""
    if isinstance(carry[0], Tensor):
        with recurrent_layer():
            return NUMPY.scan(body, weights, carry, xs, reverse, lambda parts: stack(*parts, axis=0))
    return engine_of(carry[0]).scan(body, weights, carry, xs, reverse)


def run(k, body, weights, start, x, mask, reverse):
    """The results of a layer's op: the hidden states, a second copy for backward, other states, and saved values."""
    _, (states, saved) = k.scan(body, weights, start, (x, mask), reverse)
    return (k.copy(states[0]), *states, *saved)


def with_copy(k, results):
    """The results of a sequence kernel, in the form of a layer's results; backward needs its own states."""
    return (k.copy(results[0]) if modes.grad else results[0], *results)


def kernels_for(w, *special):
    """The engine, if it may have a kernel for the backward of a sequence; None for recorded or special cases."""
    return None if isinstance(w, Tensor) or any([x is not None for x in special]) else engine_of(w)


def sum_of(a, b):
    """The sum of two gradients, each of which may be None."""
    return b if a is None else a if b is None else a + b


def conjugates(xs):
    return tuple([x if x is None else cj(x) for x in xs])


def run_back(body, g, weights, start, states, saved, mask, reverse):
    """(previous hidden states, gradients of the initial states, of x, and other results of ``pull``)."""
    previous = tuple([states_before(s, first, reverse) for s, first in zip(states, start)])
    g_states, g_saved = (sum_of(*g[:2]), *g[2:1 + len(states)]), tuple(g[1 + len(states):])
    carry = tuple([zeros_like(s) for s in start])
    values = [conjugates(xs) for xs in (states, previous, saved)]
    g_start, given = scan(body, conjugates(weights), carry, (*values, g_states, g_saved, mask), not reverse)
    return previous[0], g_start, *given


def states_before(states, start, reverse):
    """The state before each time step."""
    return cat(states[1:], start[None], axis=0) if reverse else cat(start[None], states[:-1], axis=0)


def weight_grad(g, x):
    """The gradient of ``weight`` in ``x @ weight.T``, over all time steps."""
    with recurrent_layer():
        if len(g.shape) < 3 or not SHORT < g.shape[0] * g.shape[1] <= LONG:
            return product(mT(rows(g)), cj(rows(x)))
        step = max(SHORT // g.shape[1], 1)
        parts = [product(mT(rows(g[i:i + step])), rows(x[i:i + step])) for i in range(0, g.shape[0], step)]
        return sum(parts[1:], parts[0])


# ---- ops


@op(node=linear_node, opmath=True, check=check_linear, row_major=True, product=True)
def input_product(k, x, weight, bias):
    """``linear``, for the input of a recurrent layer."""
    with recurrent_layer():
        return k.linear(x, weight, bias)


@input_product.joint_vjp
def _(g, x, weight, needs):
    with recurrent_layer():
        return linear_gradients(g, x, weight, needs)


input_product.presents(**LINEAR_STEPS)


def rnn_ops(name, node, step, pull):
    forward, backward, is_relu = forward_body(step), backward_body(pull), step is relu_step

    @op(name=f"{name}_layer", node="StackBackward0", opmath=True, row_major=True, takes_undefined=True)
    def layer(k, x, h, w, mask, *, reverse):
        whole = k.rnn_sequence(x, h, w, is_relu, reverse) if mask is None else None
        return run(k, forward, (w,), (h,), x, mask, reverse) if whole is None else with_copy(k, whole)

    @layer.joint_vjp
    def _(g, h, w, mask, out_1, reverse, needs):
        k = kernels_for(w, mask)
        whole = k and k.rnn_sequence_pull(sum_of(*g), out_1, w, is_relu, reverse)
        if whole:
            g_x, *g_start = whole
            previous = states_before(out_1, h, reverse)
        else:
            previous, g_start, g_x = run_back(backward, g, (w,), (h,), (out_1,), (), mask, reverse)
        return g_x, g_start[0], weight_grad(g_x, previous) if needs[2] else None, None

    @op(name=f"{name}_cell", node=node, opmath=True, row_major=True)
    def cell(k, x, h, w):
        return step((w,), (h,), x)[0][0]

    @cell.joint_vjp
    def _(g, h, w, out, needs):
        g_x, g_previous, _ = pull((cj(w),), (g,), (), (), (cj(out),), (cj(h),))
        return g_x, g_previous[0], weight_grad(g_x, h) if needs[2] else None

    return layer, cell


rnn_tanh_layer, rnn_tanh_cell = rnn_ops("rnn_tanh", "TanhBackward0", tanh_step, tanh_pull)
rnn_relu_layer, rnn_relu_cell = rnn_ops("rnn_relu", "ReluBackward0", relu_step, relu_pull)


def lstm_node(x, projection):
    """The node name: PyTorch has its own layers and those of oneDNN."""
    return "MkldnnRnnLayerBackward0" if projection is None and x.dtype == "float32" else "StackBackward0"


lstm_forward, lstm_backward = forward_body(lstm_step), backward_body(lstm_pull)


@op(node=lstm_node, opmath=True, row_major=True, takes_undefined=True)
def lstm_layer(k, x, h, c, w, projection, mask, *, reverse):
    whole = k.lstm_sequence(x, h, c, w, reverse) if projection is None and mask is None else None
    return run(k, lstm_forward, (w, projection), (h, c), x, mask, reverse) if whole is None else with_copy(k, whole)


@lstm_layer.joint_vjp
def _(g, h, c, w, projection, mask, out_1, out_2, out_3, reverse, needs):
    k = kernels_for(w, projection, mask)
    whole = k and k.lstm_sequence_pull(sum_of(*g[:2]), *g[2:], out_3, out_2, c, w, reverse)
    if whole:
        return *whole, weight_grad(whole[0], states_before(out_1, h, reverse)) if needs[3] else None, None, None
    previous, g_start, g_x, *g_projected = run_back(
        lstm_backward, g, (w, projection), (h, c), (out_1, out_2), (out_3,), mask, reverse
    )
    g_projection = None
    if needs[4] and not (g[0] is g[1] is None and len(out_1) == 1):  # only the next step would need it
        g_projection = weight_grad(g_projected[0], chunks(out_3, 4)[3] * tanh(out_2))
    return g_x, *g_start, weight_grad(g_x, previous) if needs[3] else None, g_projection, None


@op(node="MulBackward0", opmath=True, row_major=True, takes_undefined=True)
def lstm_cell(k, x, h, c, w):
    state, saved = lstm_step((w, None), (h, c), x)
    return *state, *saved


@lstm_cell.joint_vjp
def _(g, h, c, w, out_1, out_2, needs):
    like = (out_1, out_1, out_2)
    g_h, g_c, g_gates = [zeros_like(x) if part is None else part for part, x in zip(g, like, strict=True)]
    shown = zeros_like(out_1) if g[0] is None else out_1
    weights, saved, state, previous = (cj(w), None), (cj(out_2),), (None, cj(shown)), (None, cj(c))
    g_x, g_previous, _ = lstm_pull(weights, (g_h, g_c), (g_gates,), saved, state, previous)
    if g[0] is None and g[2] is None:  # nothing goes through the output gate, whatever it is
        g_x = join(*chunks(g_x, 4)[:3], zeros_like(out_1))
    return g_x, *g_previous, weight_grad(g_x, h) if needs[3] else None


gru_forward, gru_backward = forward_body(gru_step), backward_body(gru_pull)


@op(node="StackBackward0", opmath=True, row_major=True, takes_undefined=True)
def gru_layer(k, x, h, w, b, mask, *, reverse):
    whole = k.gru_sequence(x, h, w, b, reverse) if mask is None else None
    return run(k, gru_forward, (w, b), (h,), x, mask, reverse) if whole is None else with_copy(k, whole)


@gru_layer.joint_vjp
def _(g, h, w, b, mask, out_1, out_2, reverse, needs):
    k = kernels_for(w, mask)
    whole = k and k.gru_sequence_pull(sum_of(*g[:2]), g[2], out_2, out_1, h, w, reverse)
    if whole:
        g_x, g_hidden, *g_start = whole
        previous = states_before(out_1, h, reverse)
    else:
        previous, g_start, g_x, g_hidden = run_back(gru_backward, g, (w, b), (h,), (out_1,), (out_2,), mask, reverse)
    return (
        g_x,
        g_start[0],
        weight_grad(g_hidden, previous) if needs[2] else None,
        sum_(rows(g_hidden), axis=(0,), keepdims=False) if needs[3] else None,
        None,
    )


@op(node="AddBackward0", opmath=True, row_major=True)
def gru_cell(k, x, h, w, b):
    state, saved = gru_step((w, b), (h,), x)
    return *state, *saved


@gru_cell.joint_vjp
def _(g, h, w, b, out_1, needs):
    g_x, g_previous, (g_hidden,) = gru_pull((cj(w), b), g[:1], g[1:], (cj(out_1),), (None,), (cj(h),))
    return (
        g_x,
        g_previous[0],
        weight_grad(g_hidden, h) if needs[2] else None,
        sum_(g_hidden, axis=(0,), keepdims=False) if needs[3] else None,
    )
