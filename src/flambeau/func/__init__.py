"""Function transforms: gradients, Jacobians, ``vmap``, and functional calls of modules."""

from ._grad import grad, grad_and_value, vjp
from ._jacobian import hessian, jacfwd, jacrev
from ._jvp import jvp, linearize
from ._vmap import vmap
from .modules import functional_call, replace_all_batch_norm_modules_, stack_module_state

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
           "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap"]
