"""Hook calls during backward. Hooks receive Tensors, also in a pass that is not recorded and computes on arrays."""

from .._device import contiguous_format
from .._tensor import Tensor, wrap
from ..engines import NUMPY, engine_of
from ..ops.convert import clone_as


def as_hook_argument(grad, graph):
    """Converts a gradient to a hook's argument."""
    return grad if grad is None or graph else wrap(with_positive_strides(grad))


def as_gradient(grad, graph):
    """Converts a hook's result to a gradient of the pass."""
    return grad if grad is None or graph else grad._a


def with_positive_strides(grad):
    """A gradient to pass to users: arrays may have negative strides, tensors may not."""
    is_array = not isinstance(grad, Tensor) and engine_of(grad) is NUMPY
    return grad.copy() if is_array and min(grad.strides, default=0) < 0 else grad


def call_tensor_hooks(hooks, grad, graph):
    """Passes a gradient (None if it is undefined) through the hooks of a tensor; each may replace it."""
    for hook in list(hooks.values()):
        before = as_hook_argument(grad, graph)
        after = hook(before)
        if after is not None:
            check_replacement(hook, before, after)
            grad = as_gradient(after, graph)
    return grad


def call_output_hooks(node, grads, graph):
    """Calls the hooks of a node's output tensors, then retains gradients for ``retain_grad``."""
    several = node._count != 1
    grads = list(grads or [None] * node._count) if several else [grads]
    for nr, hooks in node._out_hooks:
        if hooks.grad:
            grads[nr] = call_tensor_hooks(hooks.grad, grads[nr], graph)
    for nr, hooks in node._out_hooks:
        if hooks.retain is not None and grads[nr] is not None:
            retain(hooks.retain(), grads[nr], graph)
    return drop_undefined(grads) if several else grads[0]


def drop_undefined(grads):
    """The gradients of several outputs; None if all are undefined."""
    return None if all(g is None for g in grads) else grads


def retain(tensor, grad, graph):
    """Accumulates a gradient into the ``.grad`` of a non-leaf, if it still exists."""
    if tensor is None:
        return
    grad = clone_as(grad, format=contiguous_format)
    grad = grad if graph else wrap(grad)
    tensor._grad = grad if tensor._grad is None else tensor._grad + grad


def call_pre_hooks(node, grads, graph):
    """Calls a node's hooks before it runs."""
    several = node._count != 1
    grads = list(grads or [None] * node._count) if several else [grads]
    places = node._output_places
    for hook in list(node._pre_hooks.values()):
        before = tuple([as_hook_argument(grads[nr], graph) for nr in places])
        after = hook(before)
        if after is not None:
            replace(hook, grads, places, before, after, graph)
    return drop_undefined(grads) if several else grads[0]


def call_post_hooks(node, grads, results, graph):
    """Calls a node's hooks after it has run."""
    grads = grads if type(grads) is list else [grads] * node._count
    grads = tuple([as_hook_argument(grads[nr], graph) for nr in node._output_places])
    places = node._input_places
    for hook in list(node._post_hooks.values()):
        before = tuple([as_hook_argument(results[i], graph) for i in places])
        after = hook(before, grads)
        if after is not None:
            replace(hook, results, places, before, after, graph)
    return results


def replace(hook, grads, places, before, after, graph):
    """Replaces the gradients at `places` by what a node hook returned for `before`."""
    check_replacements(hook, before, after)
    for i, g in zip(places, after, strict=True):
        grads[i] = as_gradient(g, graph)


# ---- what hooks may return


def check_replacements(hook, before, after):
    """Raises unless a node hook's results can replace the gradients it received."""
    if not isinstance(after, tuple):
        raise TypeError(f"expected tuple, but {describe(hook)} returned {type(after).__name__!r}")
    if len(after) != len(before):
        raise RuntimeError(
            f"{describe(hook)} has returned an incorrect number of values (got {len(after)}, but expected "
            f"{len(before)})"
        )
    for b, a in zip(before, after, strict=True):
        if a is not None:
            check_replacement(hook, b, a)


def check_replacement(hook, before, after):
    """Raises unless a hook's result can replace the gradient it received."""
    if before is None:
        raise RuntimeError(f"can't replace a None gradient with a non-None value, as {describe(hook)} does")
    check_is_tensor(hook, after)
    if after._a.shape != before._a.shape:
        raise RuntimeError(
            f"{describe(hook)} has changed the size of value: {list(before.shape)} became {list(after.shape)}"
        )
    if after._a.dtype != before._a.dtype:
        raise RuntimeError(f"{describe(hook)} has changed the type of value: {before.dtype} became {after.dtype}")


def check_is_tensor(hook, result):
    if not isinstance(result, Tensor):
        raise TypeError(f"expected Variable, but {describe(hook)} returned {type(result).__name__!r}")


def describe(hook):
    """A hook's name for messages."""
    return f"hook {getattr(hook, '__name__', hook)!r}"
