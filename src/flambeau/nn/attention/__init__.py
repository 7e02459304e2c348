"""Selection of attention backends: PyTorch's API, with a single implementation behind it."""

import contextlib
import enum

from . import bias as bias

__all__ = ["WARN_FOR_UNFUSED_KERNELS", "SDPBackend", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(enum.Enum):
    """PyTorch's implementations of ``scaled_dot_product_attention``."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self):
        return self.value


_PRIORITY = (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH,
             SDPBackend.OVERRIDEABLE)
_enabled = list(_PRIORITY)


@contextlib.contextmanager
def sdpa_kernel(backends, set_priority=False):
    """A context or decorator that selects attention backends.

    The selection is recorded but has no effect: there is one implementation of attention.

    Example::

        >>> with nn.attention.sdpa_kernel(nn.attention.SDPBackend.FLASH_ATTENTION):
        ...     out = F.scaled_dot_product_attention(*randn(3, 2, 5, 8))
        >>> out.shape
        torch.Size([2, 5, 8])
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    wanted = backends if isinstance(backends, list) else [backends]
    before = list(_enabled)
    first = [b for b in wanted if b in _PRIORITY] if set_priority else []
    _enabled[:] = dict.fromkeys([*first, *[b for b in _PRIORITY if b in wanted]])
    try:
        yield
    finally:
        _enabled[:] = before


def _cur_sdpa_kernel_backends(with_priority=False):
    """The backends of the innermost ``sdpa_kernel``, in their order if `with_priority`."""
    return list(_enabled) if with_priority else [b for b in _PRIORITY if b in _enabled]
