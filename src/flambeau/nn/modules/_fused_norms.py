"""Batch norms in training, fused with the following activation and recorded as one op.

Results and the visible graph are those of both modules. But a piecewise linear activation then needs no pass over
memory of its own, neither forward nor backward; and its result need not be kept for a following convolution, which can
recompute it from what the batch norm saves.
"""

import functools
import math
import weakref

from ... import _tape as tape
from ..._fp_errors import call_without_fp_warnings
from ..._modes import in_use, modes
from ..._tensor import storage_of, wrap
from ...autograd._writes import count_write
from ...engines import NUMPY
from ...ops.conv import convolution, convolution_transposed
from ...ops.normalization import batch_norm_act, pieces_of
from ..functional.normalization import _batch_norm
from . import activation


def _bounds(module):
    low, high = float(module.min_val), float(module.max_val)
    return ("hardtanh", (low, high)) if low <= high else None


# (name, numbers) of each activation; None if it rejects its settings.
ACTIVATIONS = {
    activation.ReLU: lambda m: ("relu", ()),
    activation.ReLU6: _bounds,
    activation.Hardtanh: _bounds,
    activation.LeakyReLU: lambda m: (
        "leaky_relu_" if m.inplace else "leaky_relu", (float(m.negative_slope),)) if m.negative_slope > 0 else None,
}
_SAVE_RESULT = ("relu", "leaky_relu_")  # their gradients use the result
_CONVOLUTIONS = (convolution.spec, convolution_transposed.spec)


def run_recorded(norm, module, input, is_plain, is_inner):
    """The result of a batch norm in training and an activation; None if they must run one by one.

    ``is_plain(tensor, dtype)`` tells whether a tensor is an ordinary one on the CPU. An input that `is_inner` is only
    referenced by the graph.
    """
    act = ACTIVATIONS[type(module)](module)
    if act is None or not _suits_kernels(norm, input, is_plain):
        return None
    output = norm._apply_norm(functools.partial(_batch_norm, act=act), input)
    node = output._node
    _hold_parameters(node)
    if module.inplace:
        count_write(output, act[0].rstrip("_") + "_")
    node.repeatable_version = output._version if is_inner else None
    if act[0] in _SAVE_RESULT:
        storage, version = tape.guard(output)
        node.guards = (*node.guards, (tape.weak_guard(storage), version))
    return output


def _suits_kernels(norm, input, is_plain):
    """Whether the batch norm would be recorded, unobserved, and the kernels support its operands."""
    x, channels = input._a, (norm.num_features,)
    if (not modes.grad or (in_use.watched and modes.watched) or x.ndim not in norm._ranks or x.ndim < 3 or not x.size
            or x.shape[1:2] != channels or math.prod(x.shape[2:]) < 2 or not x.flags.c_contiguous or norm.eps <= 0):
        return False
    for parameter in (norm.weight, norm.bias):
        if parameter is None or not is_plain(parameter, x.dtype) or parameter._a.shape != channels:
            return False
    for running in (norm.running_mean, norm.running_var):
        if running is not None and (running._rg or not is_plain(running, x.dtype) or running._a.shape != channels):
            return False
    return input._rg or norm.weight._rg or norm.bias._rg


def _hold_parameters(node):
    """Makes the node keep copies of weight and bias, so that the activation can be recomputed after these are written
    to.

    Backward still raises an error if the weight was written to; not for the bias, which PyTorch does not save.
    """
    x, weight, bias = node.inputs
    of_x, of_weight, _, *others = node.guards
    node.inputs, node.guards = (x, weight, bias.copy()), (of_x, of_weight, *others)
    node.settings = {**node.settings, "weight_then": weight.copy()}


def forget_input(output, input):
    """Lets a recorded convolution recompute its input in backward, if a fused batch norm created it.

    The batch norm keeps the necessary values as long as the convolution runs first in backward. Its own input, and what
    the convolution saves, must not have been written to.
    """
    node, source = output._node, input._node
    if (not isinstance(source, tape.OpNode) or source.op is not batch_norm_act.spec or not source.guards
            or source.packed or source.repeatable_version != input._version or not isinstance(node, tape.OpNode)
            or node.op not in _CONVOLUTIONS or not node.inputs or node.inputs[0] is not input._a):
        return
    own = storage_of(input)
    if own.has_uncounted_writes:
        return
    settings, (x, _, bias) = source.settings, source.inputs
    act = pieces_of(settings["activation"], settings["numbers"])
    made_of = (x, settings["weight_then"], bias, *source.out[1:], settings["eps"], act)
    node.inputs = (tape.Recomputed((weakref.ref(input._a), made_of), _compute_again), *node.inputs[1:])
    node.packed, node.shows_saved = True, False
    guards = [(tape.weak_guard(s), version) if s is own else (s, version) for s, version in node.guards]
    node.guards = (*guards, source.guards[0])


def _compute_again(saved):
    """The input: the original if it still exists, as it may have been written to without being counted."""
    array, made_of = saved
    own = array()
    return wrap(call_without_fp_warnings(NUMPY.normalize_act_again, *made_of) if own is None else own)
