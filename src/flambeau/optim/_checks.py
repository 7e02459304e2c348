"""Validation of optimizer settings, devices and gradients."""

from .._modes import modes
from .._tensor import Tensor

CAPTURABLE_DEVICES = ("cuda", "tpu", "xla")
FUSED_DEVICES = ("cpu", *CAPTURABLE_DEVICES)

NOT_CAPTURABLE = (
    "If capturable=True, {what} must be on supported devices: {devices}. On the CPU there is nothing to capture: leave "
    "the setting out; steps compile without it."
)
NOT_FUSED = (
    "`fused=True` requires all the params to be floating point Tensors of supported devices: {devices} but {dtype} and "
    "{device}. Leave the setting out: the steps are as fast without it."
)
FUSED_DIFFERENTIABLE = "`fused` does not support `differentiable`"
FUSED_FOREACH = "`fused` and `foreach` cannot be `True` together."
TENSOR_WITH_FOREACH = "{name} as a Tensor is not supported for capturable=False and foreach=True"
STEPS_ARE_TENSORS = "API has changed, `state_steps` argument must contain a list of singleton tensors"


def check_settings(**settings):
    """Raises for a negative setting, and for one of ``betas`` that is not below 1."""
    for name, value in settings.items():
        if name == "lr":
            check_lr_size(value)
            check_range("learning rate", value)
        elif name == "betas":
            for nr in range(2):
                check_range(f"beta parameter at index {nr}", value[nr], high=1.0)
        else:
            check_range(f"{'epsilon' if name == 'eps' else name} value", value)


def check_range(name, value, high=None):
    if not (value >= 0.0 if high is None else 0.0 <= value < high):
        raise ValueError(f"Invalid {name}: {value}")


def check_lr_size(lr):
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")


def check_tensor_lr(lr, foreach, capturable):
    """Raises if the settings do not allow the learning rate to be a tensor."""
    if isinstance(lr, Tensor) and foreach and not capturable:
        raise ValueError(TENSOR_WITH_FOREACH.format(name="lr"))


def check_fused(fused, foreach, differentiable):
    if fused and differentiable:
        raise RuntimeError(FUSED_DIFFERENTIABLE)
    if fused and foreach:
        raise RuntimeError(FUSED_FOREACH)


def check_fused_params(params):
    """Raises for parameters that fused steps do not support."""
    for p in params:
        if not p.is_floating_point() or p.device.type not in FUSED_DEVICES:
            devices = list(FUSED_DEVICES)
            raise RuntimeError(NOT_FUSED.format(devices=devices, dtype=p.dtype, device=p.device.type))


def check_capturable(capturable, params, what="params and state_steps"):
    """Raises for parameters on devices without capturable steps; inside a compiled step, all are allowed."""
    if capturable and not modes.tracer.active and any([p.device.type not in CAPTURABLE_DEVICES for p in params]):
        raise AssertionError(NOT_CAPTURABLE.format(what=what, devices=list(CAPTURABLE_DEVICES)))


def check_counts(state_steps):
    if not all([isinstance(step, Tensor) for step in state_steps]):
        raise RuntimeError(STEPS_ARE_TENSORS)
