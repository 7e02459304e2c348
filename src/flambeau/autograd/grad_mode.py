"""The grad modes, in PyTorch's module."""

from .._modes import _ModeContext, enable_grad, inference_mode, modes, no_grad, set_grad_enabled

__all__ = ["enable_grad", "enforce_grad_layout_policy", "inference_mode", "no_grad", "set_grad_enabled",
           "set_multithreading_enabled"]


class enforce_grad_layout_policy(_ModeContext):
    """Sets whether gradients get the strides of their leaf, which is the default.

    If not, a gradient without other references becomes ``.grad`` unchanged. Takes effect at once; as a context manager
    it is undone at the end.
    """

    def __init__(self, enable=True):
        self.enable = bool(enable)
        self._before = modes.grad_layout
        self.__enter__()

    def __call__(self, func):
        modes.grad_layout = self._before
        return super().__call__(func)

    def __enter__(self):
        modes.grad_layout = self.enable

    def __exit__(self, *exc):
        modes.grad_layout = self._before

    def clone(self):
        """A copy of the context, for another use."""
        return type(self)(self.enable)


class set_multithreading_enabled:
    """Accepted for compatibility: backward always runs in the calling thread."""

    def __init__(self, mode):
        self.mode = mode

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        pass
