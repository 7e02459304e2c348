"""Layer fusion: folds batch norms into preceding convolutions."""

import copy

from ...nn import BatchNorm1d, BatchNorm2d, BatchNorm3d, Conv1d, Conv2d, Conv3d
from ...nn.utils.fusion import fuse_conv_bn_eval
from .._symbolic_trace import symbolic_trace

__all__ = ["fuse"]

_PAIRS = ((Conv1d, BatchNorm1d), (Conv2d, BatchNorm2d), (Conv3d, BatchNorm3d))


def fuse(model, inplace=False, no_trace=False):
    """Fuses every batch norm that follows a convolution into it, for inference."""
    model = model if inplace else copy.deepcopy(model)
    traced = model if no_trace else symbolic_trace(model)
    modules = dict(traced.named_modules())
    for node in list(traced.graph.nodes):
        if _can_fuse(node, modules):
            before = node.args[0]
            _set_module(traced, before.target, fuse_conv_bn_eval(modules[before.target], modules[node.target]))
            node.replace_all_uses_with(before)
            traced.graph.erase_node(node)
    traced.delete_all_unused_submodules()
    traced.recompile()
    return traced


def _can_fuse(node, modules):
    """Whether a node is a batch norm and the only user of a convolution."""
    if node.op != "call_module" or not node.args or getattr(node.args[0], "op", None) != "call_module":
        return False
    pair = type(modules[node.args[0].target]), type(modules[node.target])
    return pair in _PAIRS and len(node.args[0].users) == 1 and modules[node.target].track_running_stats


def _set_module(root, path, module):
    parent, _, name = path.rpartition(".")
    setattr(root.get_submodule(parent), name, module)
