"""Automatic differentiation: backward, grad, and the tools around the recorded graph."""

from .._modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from . import functional, graph, hooks
from ._gradients import backward, grad
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .function import Function, NestedIOFunction
from .grad_mode import set_multithreading_enabled
from .gradcheck import gradcheck, gradgradcheck
from .variable import Variable

variable = Variable

__all__ = ["Function", "NestedIOFunction", "Variable", "backward", "detect_anomaly", "enable_grad", "functional",
           "grad", "gradcheck", "gradgradcheck", "graph", "inference_mode", "no_grad", "set_detect_anomaly",
           "set_grad_enabled", "set_multithreading_enabled", "variable"]
