"""The base class of schedulers: counting, setting learning rates, order warnings, saving and loading."""

from __future__ import annotations

import contextlib
import types
import warnings

from ..._tensor import Tensor
from ..optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Call "
    "`scheduler.step()` without it: the scheduler counts by itself. With it, learning rates are computed from the "
    "epoch alone, where there is a formula for that."
)
NO_INITIAL_LR = (
    "param 'initial_lr' is not specified in param_groups[{nr}] when resuming scheduler with last_epoch >= 0. Load the "
    "state dict of the optimizer first, which has it once a scheduler has been there; or begin anew with "
    "last_epoch=-1, and call load_state_dict of the scheduler."
)
OVERRIDDEN = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Make sure to call "
    "`optimizer.step()` before `lr_scheduler.step()`, or make the scheduler after the change."
)
WRONG_ORDER = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in the opposite order: the first "
    "value of the learning rate schedule is skipped otherwise."
)
NOT_IN_STEP = "To get the last learning rate computed by the scheduler, please use `get_last_lr()`."


class LRScheduler:
    """Base class of schedulers; subclasses compute the learning rates at ``last_epoch`` in ``get_lr``.

    Args:
        optimizer: the wrapped optimizer.
        last_epoch: the epoch to resume from; -1 to start.
    """

    _get_lr_called_within_step = False
    _is_initial = False
    _transient: tuple[str, ...] = ("optimizer",)  # attributes not in the state dict

    def __init__(self, optimizer, last_epoch=-1):
        check_optimizer(optimizer)
        for nr, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copy_of(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(NO_INITIAL_LR.format(nr=nr))
        self.optimizer = optimizer
        self.base_lrs = [copy_of(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        optimizer._await_step()
        self._initial_step()

    def _initial_step(self):
        """Sets the initial learning rates."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self):
        """Returns the state: everything except the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name not in self._transient}

    def load_state_dict(self, state_dict):
        """Loads the state of a scheduler."""
        self.__dict__.update(state_dict)

    def get_last_lr(self):
        """The most recently set learning rates, one per group."""
        return self._last_lr

    def get_lr(self):
        """The learning rates at ``last_epoch``, one per group. Must be implemented by subclasses."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_lr()")

    def step(self, epoch=None):
        """Sets the learning rates of the next epoch, or of `epoch`."""
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _check_order(self):
        if self.optimizer._was_step_replaced():
            warnings.warn(OVERRIDDEN, UserWarning, stacklevel=3)
        elif self.optimizer._opt_called is False:
            warnings.warn(WRONG_ORDER, UserWarning, stacklevel=3)

    def _update_lr(self, epoch=None):
        with self._within_step():
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                rates = self._get_closed_form_lr() if hasattr(self, "_get_closed_form_lr") else self.get_lr()
        self._set(rates)

    def _set(self, rates):
        for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
            set_value(group, "lr", lr)
        self._last_lr = self._rates()

    def _rates(self):
        """The optimizer's current learning rates."""
        return [copy_of(group["lr"]) for group in self.optimizer.param_groups]

    @contextlib.contextmanager
    def _within_step(self):
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

    def _warn_outside_step(self):
        if not self._get_lr_called_within_step:
            warnings.warn(NOT_IN_STEP, UserWarning, stacklevel=3)


def check_optimizer(optimizer):
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def copy_of(value):
    """The value, copied if it is a tensor, which will be written to."""
    return value.clone() if isinstance(value, Tensor) else value


def set_value(group, name, value):
    """Changes a setting; tensors are updated in place."""
    if isinstance(group[name], Tensor):
        group[name].fill_(value.squeeze() if isinstance(value, Tensor) else value)
    else:
        group[name] = value


def per_group(name, value, optimizer):
    """The values of an argument, one per group; a single value applies to all."""
    if not isinstance(value, (list, tuple)):
        return [value] * len(optimizer.param_groups)
    if len(value) != len(optimizer.param_groups):
        raise ValueError(f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
                         f"param_groups has {len(optimizer.param_groups)}.")
    return list(value)


def state_of(function):
    """The state dict entry of a callable: the attributes of an object, None for a function."""
    return None if isinstance(function, types.FunctionType) else function.__dict__.copy()
