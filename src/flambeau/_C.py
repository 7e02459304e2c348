"""The few names of PyTorch's C extension that programs use."""

import contextlib
import enum

from ._tensor import Tensor
from .overrides import DisableTorchFunctionSubclass
from .overrides import disabled as _disabled_torch_function_impl

__all__ = ["DispatchKey", "DispatchKeySet", "DisableTorchFunctionSubclass", "_disabled_torch_function_impl"]


class DispatchKey(enum.Enum):
    """What PyTorch's dispatcher asks for; libraries name them when they register operators."""

    CPU, CUDA, XPU, Meta = "CPU", "CUDA", "XPU", "Meta"
    AutocastCPU, AutocastCUDA, AutocastXPU = "AutocastCPU", "AutocastCUDA", "AutocastXPU"
    Autograd, AutogradCPU, AutogradCUDA = "Autograd", "AutogradCPU", "AutogradCUDA"
    CompositeImplicitAutograd, CompositeExplicitAutograd = "CompositeImplicitAutograd", "CompositeExplicitAutograd"


class DispatchKeySet(frozenset):
    """A set of keys."""

    def __new__(cls, *keys):
        return super().__new__(cls, keys)

    def __or__(self, other):
        return DispatchKeySet(*super().__or__(other))

    def has(self, key):
        """Whether a key is in the set."""
        return key in self


@contextlib.contextmanager
def _ExcludeDispatchKeyGuard(keys):
    """A context in which autocast is off, if its keys are among `keys`: there are no others to leave out."""
    from .amp.autocast_mode import autocast

    if keys & {DispatchKey.AutocastCPU, DispatchKey.AutocastCUDA}:
        with autocast("cpu", enabled=False):
            yield
    else:
        yield


def _get_tracing_state():
    """What torch.jit.trace is doing: nothing."""
    return None


def _log_api_usage_once(*args):
    """Nothing is logged."""


_TensorMeta = type(Tensor)


class _distributed_rpc:
    """The names of PyTorch's C extension for calls to other processes."""

    @staticmethod
    def _is_current_rpc_agent_set():
        """Whether ``init_rpc`` was called: it cannot be."""
        return False


class _nn:
    """The names of PyTorch's C extension for layers."""

    @staticmethod
    def _parse_to(*args, **kwargs):
        """(device, dtype, non_blocking, memory_format) from the arguments of ``Module.to``."""
        from .nn.modules._moves import parse_to

        device, dtype, memory_format = parse_to(args, kwargs)
        return device, dtype, bool(kwargs.get("non_blocking", False)), memory_format
