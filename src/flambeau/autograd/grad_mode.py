"""The grad modes under their PyTorch address."""

from .._modes import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]


class set_multithreading_enabled:
    """Accepted for old code: backward runs in the calling thread, always."""

    def __init__(self, mode):
        self.mode = mode

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        pass
