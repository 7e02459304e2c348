"""Gradient scaling: scales the loss so that small gradients do not underflow in float16."""

import enum
import warnings
from collections import defaultdict

from .._dtypes import float16, float32, int32
from .._modes import modes, no_grad
from .._tensor import Tensor
from ..functions.creation import full
from ..functions.join import stack
from ..functions.linalg.norm import vector_norm
from ..functions.pointwise import where

__all__ = ["GradScaler", "OptState"]

NO_CUDA = "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling."
OUTPUTS = "outputs must be a Tensor or an iterable of Tensors"
FLOAT16_GRADS = "Attempting to unscale FP16 gradients. Keep parameters in float32: autocast casts them where it pays."
UNSCALED = "unscale_() has already been called on this optimizer since the last update()."
UNSCALED_LATE = "unscale_() is being called after step()."
STEPPED = "step() has already been called since the last update()."
CLOSURE = "Closure use is not currently supported if GradScaler is enabled."
NO_SCALE = (
    "Attempted {name} but _scale is None.  This may indicate your script did not use scaler.scale(loss or outputs) "
    "earlier in the iteration."
)
NO_GRADS = "No inf checks were recorded for this optimizer: none of its parameters has a gradient."
NO_CHECKS = "No inf checks were recorded prior to update: call step() first."
EMPTY_STATE = "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
AFTER_STEP = (
    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after scaler.update()."
)
NEW_SCALE = "new_scale should be a float or a 1-element torch.{device}.FloatTensor with requires_grad=False."


NO_STATE = (
    "GradScaler.step() cannot be compiled before the optimizer ({name}) has made its first step, which creates its "
    "state, and the function has done what cannot be done again eagerly. Make the first step before it is compiled."
)


class OptState(enum.Enum):
    """The progress of an optimizer since the last update."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _fresh_state():
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Multiplies the loss by a scale, divides the gradients by it before a step, and skips steps whose gradients are
    not finite. The scale is then reduced; it grows after ``growth_interval`` successful steps.

    Example::

        >>> m = nn.Linear(2, 1)
        >>> optimizer = flambeau.optim.SGD(m.parameters(), lr=0.1)
        >>> scaler = flambeau.amp.GradScaler("cpu", init_scale=1024.0)
        >>> with flambeau.autocast("cpu", dtype=flambeau.float16):
        ...     loss = m(flambeau.ones(1, 2)).sum()
        >>> scaler.scale(loss).backward()
        >>> m.bias.grad
        tensor([1024.])
        >>> scaler.step(optimizer)
        >>> scaler.update()
        >>> m.bias.grad
        tensor([1.])
    """

    def __init__(self, device="cuda", init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000,
                 enabled=True):
        self._device = device
        self._enabled = enabled
        if device == "cuda" and enabled and not _has_cuda():
            warnings.warn(NO_CUDA, stacklevel=2)
            self._enabled = False
        if not self._enabled:
            return
        if not growth_factor > 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if not backoff_factor < 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale = None  # a tensor, created on first use
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker = None
        self._per_optimizer_states = defaultdict(_fresh_state)

    def _lazy_init_scale_growth_tracker(self, device):
        self._scale = full((), self._init_scale, dtype=float32, device=device)
        self._growth_tracker = full((), self._init_growth_tracker, dtype=int32, device=device)

    def scale(self, outputs):
        """Multiplies a tensor, or all in a nested structure, by the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._lazy_init_scale_growth_tracker(outputs.device)
            return outputs * self._scale.to(outputs.device)
        if not hasattr(outputs, "__iter__") or isinstance(outputs, str):
            raise ValueError(OUTPUTS)
        scaled = map(self.scale, outputs)
        return type(outputs)(scaled) if isinstance(outputs, list | tuple) else scaled

    # ---- before a step

    @no_grad()
    def unscale_(self, optimizer):
        """Divides the gradients of an optimizer by the scale, for example to clip them; at most once per step."""
        if not self._enabled:
            return
        self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(UNSCALED)
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError(UNSCALED_LATE)
        inverse = self._scale.double().reciprocal().float()
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inverse, allow_fp16=False)
        state["stage"] = OptState.UNSCALED

    def _unscale_grads_(self, optimizer, inv_scale, allow_fp16):
        """Multiplies the gradients; returns for each device whether a gradient is not finite, as 1.0 or 0.0."""
        by_device = defaultdict(list)
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    if not allow_fp16 and p.grad.dtype is float16:
                        raise ValueError(FLOAT16_GRADS)
                    by_device[p.grad.device].append(p.grad)
        found = {}
        for device, grads in by_device.items():
            largest = stack([_largest(g) for g in grads])
            found[device] = (~largest.isfinite().all()).float()
            factor = inv_scale.to(device)
            for g in grads:
                g.mul_(factor)
        return found

    def step(self, optimizer, *args, **kwargs):
        """Unscales the gradients unless done before, and steps unless a gradient is not finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError(CLOSURE)
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError(STEPPED)
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not state["found_inf_per_device"]:
            raise AssertionError(NO_GRADS)
        result = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _maybe_opt_step(self, optimizer, optimizer_state, *args, **kwargs):
        found = _any(optimizer_state["found_inf_per_device"].values())
        if modes.tracer.active:
            return _step_unless(found, optimizer, *args, **kwargs)
        return None if found.item() else optimizer.step(*args, **kwargs)

    # ---- after it

    def update(self, new_scale=None):
        """Reduces the scale after a skipped step, increases it after enough successful ones, or sets it."""
        if not self._enabled:
            return
        self._check_scale_growth_tracker("update")
        if new_scale is not None:
            self._scale.fill_(self._checked_scale(new_scale))
        else:
            states = self._per_optimizer_states.values()
            found = [found for state in states for found in state["found_inf_per_device"].values()]
            if not found:
                raise AssertionError(NO_CHECKS)
            self._adapt(_any(found))
        self._per_optimizer_states.clear()

    def _checked_scale(self, new_scale):
        if isinstance(new_scale, float):
            return new_scale
        if not isinstance(new_scale, Tensor) or new_scale.numel() != 1 or new_scale.requires_grad:
            raise AssertionError(NEW_SCALE.format(device=self._device))
        return new_scale.reshape(())

    @no_grad()
    def _adapt(self, found_inf):
        scale, good_steps = self._scale, self._growth_tracker + 1
        found_inf, grown = found_inf.to(scale.device), scale * self._growth_factor
        rises = good_steps == self._growth_interval
        scale.copy_(where(found_inf, scale * self._backoff_factor, where(rises & grown.isfinite(), grown, scale)))
        self._growth_tracker.copy_(good_steps.masked_fill(found_inf | rises, 0))

    def _check_scale_growth_tracker(self, name):
        if self._scale is None:
            raise AssertionError(NO_SCALE.format(name=name))

    # ---- reading and setting

    def get_scale(self):
        """The scale; 1.0 if disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self):
        """The factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        """Sets the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        """The factor by which the scale is reduced."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        """Sets the factor by which the scale is reduced."""
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        """The number of successful steps after which the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        """Sets the number of successful steps after which the scale grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self):
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else self._growth_tracker.item()

    def is_enabled(self):
        """Whether scaling is enabled."""
        return self._enabled

    # ---- saving

    def state_dict(self):
        """The scale and its settings; empty if disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval, "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict):
        """Loads a saved state."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(EMPTY_STATE)
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])

    def __getstate__(self):
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(AFTER_STEP)
            state["_init_scale"], state["_init_growth_tracker"] = self.get_scale(), self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)


def _largest(grad):
    """The largest magnitude in a gradient: not finite if an element is not; 0 if there are none."""
    values = grad._values() if grad.is_sparse else grad
    if not values.numel():
        return full((), 0.0, dtype=float32, device=grad.device)
    return vector_norm(values, float("inf")).float()


def _any(found):
    """Whether one of the tensors (1.0 or 0.0 each) is 1, as a tensor."""
    first, *others = found
    return sum([f.to(first.device) for f in others], first) > 0


def _step_unless(found_inf, optimizer, *args, **kwargs):
    """A step that the compiled program undoes if `found_inf` holds."""

    def step():
        before = _progress(optimizer)
        result = optimizer.step(*args, **kwargs)
        if _progress(optimizer) != before:
            raise modes.tracer.postpone(RuntimeError(NO_STATE.format(name=type(optimizer).__name__)))
        return result

    return modes.tracer.do_unless(found_inf, step)


def _progress(optimizer):
    """What the first step of an optimizer changes: the number of parameters with state, and a flag."""
    return len([state for state in optimizer.state.values() if state]), optimizer._opt_called


def _has_cuda():
    from ..cuda import is_available

    return is_available()
