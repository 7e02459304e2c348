"""The few names of PyTorch's C extension that programs use."""

import contextlib
import enum

import flambeau

from .._generator import Generator
from .._lazy import lazy_submodules
from .._tensor import Tensor
from ..overrides import DisableTorchFunctionSubclass
from ..overrides import give_plain_results as _disabled_torch_function_impl

__all__ = ["DispatchKey", "DispatchKeySet", "DisableTorchFunctionSubclass", "Generator",
           "_disabled_torch_function_impl"]


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
    from ..amp.autocast_mode import autocast

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


class _Functions:
    """The functions of ``torch``, where pickles of PyTorch's name them."""

    def __getattr__(self, name):
        return getattr(flambeau, name)


_VariableFunctions = _VariableFunctionsClass = _Functions()

__getattr__, __dir__ = lazy_submodules(__name__, ["_nn"])
