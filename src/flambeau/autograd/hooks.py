"""Tensor hooks, and retained gradients."""

import weakref

from .._hooks import add_hook, hooks_of
from .._tensor import Tensor


def check_hookable(t):
    """Raises unless the tensor requires a gradient."""
    _ = t._a  # uninitialized tensors raise here
    if not t.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")


def register_hook(self, hook):
    """Calls ``hook(grad)`` when the gradient of this tensor is computed; its result, if any, replaces the gradient.

    Returns a handle whose ``remove()`` removes the hook.
    """
    check_hookable(self)
    return add_hook(hooks_of(self).grad, hook)


def register_post_accumulate_grad_hook(self, hook):
    """Calls ``hook(tensor)`` each time a gradient has been accumulated into this leaf's ``.grad``."""
    check_hookable(self)
    if self.grad_fn is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    return add_hook(hooks_of(self).post_accumulate, hook)


def retain_grad(self):
    """Keeps the gradient of this non-leaf in ``.grad``, as leaves do."""
    _ = self._a
    if not self.requires_grad:
        raise RuntimeError(f"can't retain_grad on Tensor that has requires_grad=False (of shape {list(self.shape)})")
    if self.grad_fn is not None:
        hooks_of(self).retain = weakref.ref(self)


Tensor.register_hook = register_hook
Tensor.register_post_accumulate_grad_hook = register_post_accumulate_grad_hook
Tensor.retain_grad = retain_grad
