"""Weight normalization by a hook: a weight as direction and norm, computed before each call."""

import warnings

from ...functions.linalg.norm import vector_norm
from ..parameter import Parameter, UninitializedParameter

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]

DEPRECATED = "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`."
TWICE = "Cannot register two weight_norm hooks on the same parameter {name}"
UNINITIALIZED = (
    "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the dummy forward before "
    "applying weight normalization"
)

WHOLE = -1  # the dim for one norm of the whole tensor


def norm_except_dim(v, dim):
    """The norms of the slices of `v` along `dim`, shaped to broadcast; for WHOLE the norm of `v`."""
    if dim == WHOLE:
        return vector_norm(v)
    v.size(dim)  # raises if dim is out of range
    dim %= v.dim()
    others = [d for d in range(v.dim()) if d != dim]
    return vector_norm(v, dim=others, keepdim=True) if others else v.abs()


def with_length(v, g, dim):
    """The direction of `v` with the norm `g`."""
    return v * (g / norm_except_dim(v, dim))


class WeightNorm:
    """The hook that computes the parameter `name` from ``<name>_g`` and ``<name>_v``."""

    def __init__(self, name, dim):
        self.name = name
        self.dim = WHOLE if dim is None else dim

    def compute_weight(self, module):
        """The weight, from its norm and direction."""
        return with_length(getattr(module, f"{self.name}_v"), getattr(module, f"{self.name}_g"), self.dim)

    @staticmethod
    def apply(module, name, dim):
        """Replaces a parameter by its norm and direction."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(TWICE.format(name=name))
        self = WeightNorm(name, dim)
        weight = getattr(module, name)
        if isinstance(weight, UninitializedParameter):
            raise ValueError(UNINITIALIZED)
        length = norm_except_dim(weight, self.dim)
        del module._parameters[name]
        module.register_parameter(f"{name}_g", Parameter(length.data))
        module.register_parameter(f"{name}_v", Parameter(weight.data))
        setattr(module, name, self.compute_weight(module))
        module.register_forward_pre_hook(self)
        return self

    def remove(self, module):
        """Makes the weight a parameter again, with its current value."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[f"{self.name}_g"]
        del module._parameters[f"{self.name}_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module, name="weight", dim=0):
    """Replaces a parameter by its norms ``<name>_g`` along `dim` and its direction ``<name>_v``.

    Deprecated: :func:`flambeau.nn.utils.parametrizations.weight_norm` does the same by a parametrization.
    """
    warnings.warn(DEPRECATED, FutureWarning, stacklevel=2)
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module, name="weight"):
    """Undoes :func:`weight_norm`: the weight becomes a parameter again."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
