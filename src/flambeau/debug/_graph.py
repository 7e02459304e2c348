"""Prints the autograd graph of a tensor."""

from .._tape import AccumulateGrad, name_of
from ..nn.modules.module import Module

__all__ = ["explain_graph"]

NO_GRAPH = "this tensor has no graph: it was not computed from anything that requires a gradient{why}"


def explain_graph(tensor, model=None, max_nodes=200):
    """Describes the graph that ``tensor.backward()`` would traverse, one node per line.

    Nodes precede those they pass gradients to. At a leaf, a gradient is accumulated in ``.grad``.

    Args:
        tensor: the tensor, for example a loss.
        model: the module that provides names for parameters.
        max_nodes: the maximum number of nodes to print.

    Example::

        >>> x = flambeau.ones(2, requires_grad=True)
        >>> print(flambeau.debug.explain_graph((x.exp() * x).sum()))
        SumBackward0 → [] float32
        └─ MulBackward0 → [2] float32
           ├─ ExpBackward0 → [2] float32
           │  └─ a tensor: leaf [2] float32
           └─ a tensor, line 4
    """
    if tensor.grad_fn is None:
        why = "; it is a leaf that requires one itself" if tensor.requires_grad else ""
        return NO_GRAPH.format(why=why)
    names = {id(p): name for name, p in model.named_parameters()} if isinstance(model, Module) else {}
    lines, seen = [], {}
    todo = [(tensor.grad_fn, "", "")]
    while todo:
        if len(lines) == max_nodes:
            lines.append(f"… and more: {max_nodes} nodes are shown")
            break
        node, lead, indent = todo.pop()
        if node in seen:
            lines.append(f"{lead}{title(node, names)}, line {seen[node]}")
            continue
        seen[node] = len(lines) + 1
        lines.append(lead + describe_node(node, names))
        following = [target for target, _ in node.next_functions if target is not None]
        ends = [("├─ ", "│  ")] * (len(following) - 1) + [("└─ ", "   ")] * bool(following)
        for target, (branch, bar) in reversed(list(zip(following, ends))):
            todo.append((target, indent + branch, indent + bar))
    return "\n".join(lines)


def title(node, names):
    """The name of a node; for a leaf, the name of its tensor."""
    return names.get(id(node.variable), "a tensor") if isinstance(node, AccumulateGrad) else name_of(node)


def describe_node(node, names):
    """A short description of a node."""
    if isinstance(node, AccumulateGrad):
        leaf = node.variable
        hooks = f", {len(leaf._hooks.grad)} hooks" if leaf._hooks is not None and leaf._hooks.grad else ""
        return f"{title(node, names)}: leaf {list(leaf.shape)} {word(leaf.dtype)}{hooks}"
    outputs = [node._output(nr) for nr in range(node._count)]
    text = " and ".join(f"{list(shape)} {word(dtype)}" for shape, dtype in outputs if shape is not None)
    return f"{title(node, names)} → {text}"


def word(dtype):
    return str(dtype).removeprefix("torch.")
