"""Floating-point operation counts as in PyTorch: only products count, two operations per multiply-add."""

from math import prod

BACKWARD = "aten.convolution_backward"
CONVOLUTIONS = ("convolution", "convolution_transposed", "conv_weight")
FUSED_ATTENTION = "aten._scaled_dot_product_flash_attention"


def _product(name, left=0):
    """The count for an op that multiplies the operand `left` by the next one."""
    return lambda shapes, out: (name, 2 * prod(out) * shapes[left][-1])


def _matmul(shapes, out):
    return "aten.mm" if len(out) == 2 else "aten.bmm", 2 * prod(out) * shapes[0][-1]


def _linear(shapes, out):
    return "aten.mm" if shapes[2] is None else "aten.addmm", 2 * prod(out) * shapes[0][-1]


def _convolution(shapes, out):
    return "aten.convolution", 2 * prod(out) * prod(shapes[1][1:])


def _transposed_convolution(shapes, out):
    return "aten.convolution", 2 * prod(shapes[0]) * prod(shapes[1][1:])


def _of_weight(shapes, out):
    """The count for the gradient of a convolution weight; as in PyTorch, groups are ignored."""
    x, g = shapes
    return "aten.convolution", 2 * prod(g) * x[1] * prod(out[2:])


def _attention(shapes, out):
    query, key, value = shapes[:3]
    fused = len(query) == 4 and query[-1] == value[-1] and shapes[4] is None
    count = 2 * prod(out[:-1]) * key[-2] * (query[-1] + value[-1])
    return FUSED_ATTENTION if fused else "aten.bmm", count


def _attention_backward(node):
    """The count for attention's backward: the fused kernel recomputes the scores."""
    name, count = _attention([shape_of(x) for x in node.inputs], node._shape)
    return (f"{name}_backward", count * 5 // 2) if name == FUSED_ATTENTION else (name, count * 2)


def _recurrent(w, projection=None):
    """The count for the hidden states of a layer or cell; the inputs are counted as a separate product."""
    def count(shapes, out):
        weights = [shapes[i] for i in (w, projection) if i is not None and shapes[i] is not None]
        return "aten.addmm", 2 * prod(out[:-1]) * sum(map(prod, weights))

    return count


def _recurrent_backward(w, projection=None):
    """The count per step for the gradients of the weights and of the previous state (of the first only if needed)."""
    forward = _recurrent(w, projection)

    def count(node):
        shape = node._output(0)[0]
        steps = shape[0] if len(shape) == 3 else 1
        total = forward([shape_of(x) for x in node.inputs], shape)[1]
        return "aten.mm", total // steps * (steps * (node._edges[w] is not None) + steps - (node._edges[1] is None))

    return count


RECURRENT = {  # operand indices of the weight and of the projection
    "lstm_layer": (3, 4), "lstm_cell": (3,), "gru_layer": (2,), "gru_cell": (2,), "rnn_tanh_layer": (2,),
    "rnn_relu_layer": (2,), "rnn_tanh_cell": (2,), "rnn_relu_cell": (2,),
}
# Counts by op: functions from the shapes of operands and (first) result to (PyTorch's name, operations).
FORMULAS = {
    "mm": _product("aten.mm"), "bmm": _product("aten.bmm"), "matmul_batched": _matmul,
    "matmul_folded": _product("aten.mm"), "vecmat": lambda shapes, out: ("aten.mm", 2 * prod(shapes[1])),
    "addmm": _product("aten.addmm", 1), "baddbmm": _product("aten.baddbmm", 1),
    "linear": _linear, "input_product": _linear,
    "convolution": _convolution, "convolution_transposed": _transposed_convolution, "conv_weight": _of_weight,
    "attention": _attention, **{name: _recurrent(*places) for name, places in RECURRENT.items()},
}
# Backward nodes that are counted as a whole, by functions of the node; in others, ops are counted individually.
BACKWARD_FORMULAS = {
    "attention": _attention_backward,
    **{name: _recurrent_backward(*places) for name, places in RECURRENT.items()},
    "mv": lambda node: ("aten.mv", 0),  # PyTorch does not count what has a vector
    "addmv": lambda node: ("aten.addmv", 0),
}


def flops_of(call, result, outer):
    """(PyTorch's name of an op, its floating-point operations) for a call that has ended, (None, None) for others.

    `outer` are the enclosing calls: if one of them is counted as a whole, this one is not.
    """
    formula = formula_of(call)
    if formula is None or result is None or any(formula_of(c) is not None for c in outer):
        return None, None
    if call.op is None:
        return formula(call.node)
    first = result[0] if isinstance(result, tuple) else result
    name, count = formula([shape_of(x) for x in call.operands], shape_of(first))
    nodes = [c.node for c in outer if c.node is not None]
    if name == "aten.convolution" and nodes and nodes[-1].op.name in CONVOLUTIONS:
        name = BACKWARD
    return name, count


def formula_of(call):
    """The function that counts a call as a whole, or None."""
    if call.op is not None:
        return FORMULAS.get(call.op.name)
    return BACKWARD_FORMULAS.get(call.node.op.name) if call.node is not None else None


def shape_of(x):
    """The shape of a tensor or array, or None."""
    return tuple(x.shape) if hasattr(x, "shape") else None
