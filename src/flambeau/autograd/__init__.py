"""Automatic differentiation: backward, grad, and tools for the recorded graph."""

from .._lazy import lazy_submodules
from .._modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from . import functional, graph, hooks
from ._gradients import backward, grad
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .function import Function, NestedIOFunction
from .grad_mode import enforce_grad_layout_policy, set_multithreading_enabled
from .gradcheck import gradcheck, gradgradcheck
from .variable import Variable

variable = Variable

__all__ = ["Function", "NestedIOFunction", "Variable", "backward", "detect_anomaly", "enable_grad",
           "enforce_grad_layout_policy", "forward_ad", "functional", "grad", "gradcheck", "gradgradcheck", "graph",
           "inference_mode", "no_grad", "profiler", "set_detect_anomaly", "set_grad_enabled",
           "set_multithreading_enabled", "variable"]

__getattr__, __dir__ = lazy_submodules(__name__, ["forward_ad", "profiler", "profiler_util"])
