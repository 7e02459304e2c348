"""Learning rates by a formula of the epoch."""

from __future__ import annotations

import math
import types
from bisect import bisect_right
from collections import Counter

from ._base import LRScheduler, state_of


class _LambdaScheduler(LRScheduler):
    """Schedulers with a function for each group."""

    _unsaved = ("optimizer", "lr_lambdas")

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        count = len(optimizer.param_groups)
        self.optimizer = optimizer
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * count
        if len(self.lr_lambdas) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self):
        """The state; of the functions only those that are objects, by their attributes."""
        return {**super().state_dict(), "lr_lambdas": [state_of(function) for function in self.lr_lambdas]}

    def load_state_dict(self, state_dict):
        """Takes the state of another scheduler."""
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "lr_lambdas"})
        for function, saved in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if saved is not None and not isinstance(function, types.FunctionType):
                function.__dict__.update(saved)


class LambdaLR(_LambdaScheduler):
    """The initial learning rate times a function of the epoch.

    Args:
        optimizer: whose learning rates are set.
        lr_lambda: the function, or a list with one for each group.
        last_epoch: where to go on; -1 to begin.
    """

    def get_lr(self):
        """The learning rates at ``last_epoch``, one a group."""
        self._warn_outside_step()
        return [base * function(self.last_epoch) for function, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_LambdaScheduler):
    """The last learning rate times a function of the epoch.

    Args:
        optimizer: whose learning rates are set.
        lr_lambda: the function, or a list with one for each group.
        last_epoch: where to go on; -1 to begin.
    """

    def get_lr(self):
        """The learning rates at ``last_epoch``, one a group."""
        self._warn_outside_step()
        groups = self.optimizer.param_groups
        if self._is_initial:
            return [group["lr"] for group in groups]
        return [group["lr"] * factor(self.last_epoch) for factor, group in zip(self.lr_lambdas, groups, strict=True)]


class _FactorScheduler(LRScheduler):
    """Schedulers that multiply all learning rates by one factor: from epoch to epoch, and from the beginning."""

    def get_lr(self):
        """The learning rates at ``last_epoch``, one a group."""
        self._warn_outside_step()
        factor = self._factor()
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self):
        factor = self._factor_from_start()
        return [base * factor for base in self.base_lrs]


class StepLR(_FactorScheduler):
    """Multiplies the learning rate by ``gamma`` every ``step_size`` epochs.

    Args:
        optimizer: whose learning rates are set.
        step_size: how many epochs a learning rate lasts.
        gamma: the factor.
        last_epoch: where to go on; -1 to begin.

    Example::

        >>> optimizer = flambeau.optim.SGD([flambeau.ones(1, requires_grad=True)], lr=0.5)
        >>> scheduler = flambeau.optim.lr_scheduler.StepLR(optimizer, step_size=2)
        >>> for epoch in range(4):
        ...     print(scheduler.get_last_lr())
        ...     optimizer.step()
        ...     scheduler.step()
        [0.5]
        [0.5]
        [0.05]
        [0.05]
    """

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self):
        return self.gamma if self.last_epoch != 0 and self.last_epoch % self.step_size == 0 else 1

    def _factor_from_start(self):
        return self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(_FactorScheduler):
    """Multiplies the learning rate by ``gamma`` at each of the milestones.

    Args:
        optimizer: whose learning rates are set.
        milestones: epochs; one that is there twice counts twice.
        gamma: the factor.
        last_epoch: where to go on; -1 to begin.
    """

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self):
        return self.gamma ** self.milestones[self.last_epoch] if self.last_epoch in self.milestones else 1

    def _factor_from_start(self):
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ConstantLR(_FactorScheduler):
    """Multiplies the learning rate by a factor for the first epochs.

    Args:
        optimizer: whose learning rates are set.
        factor: between 0 and 1.
        total_iters: how many epochs that lasts.
        last_epoch: where to go on; -1 to begin.
    """

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1):
        if factor < 0 or factor > 1.0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self):
        if self.last_epoch == 0:
            return self.factor
        return 1 if self.last_epoch != self.total_iters else 1.0 / self.factor

    def _factor_from_start(self):
        return self.factor if self.last_epoch < self.total_iters else 1


class LinearLR(_FactorScheduler):
    """Multiplies the learning rate by a factor that changes by the same amount each epoch.

    Args:
        optimizer: whose learning rates are set.
        start_factor: the factor at the beginning.
        end_factor: the factor after ``total_iters`` epochs.
        total_iters: how many epochs the factor changes.
        last_epoch: where to go on; -1 to begin.
    """

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        if start_factor <= 0 or start_factor > 1.0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor < 0 or end_factor > 1.0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self):
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1
        rise = self.end_factor - self.start_factor
        return 1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)

    def _factor_from_start(self):
        share = min(self.total_iters, self.last_epoch) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * share


class ExponentialLR(_FactorScheduler):
    """Multiplies the learning rate by ``gamma`` every epoch.

    Args:
        optimizer: whose learning rates are set.
        gamma: the factor.
        last_epoch: where to go on; -1 to begin.
    """

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self):
        return 1 if self._is_initial else self.gamma

    def _factor_from_start(self):
        return self.gamma**self.last_epoch


class PolynomialLR(_FactorScheduler):
    """Lets the learning rate fall to zero as a power of the epochs that are left.

    Args:
        optimizer: whose learning rates are set.
        total_iters: how many epochs that takes.
        power: of the polynomial.
        last_epoch: where to go on; -1 to begin.
    """

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _factor(self):
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1
        left, before = [1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1)]
        return (left / before) ** self.power

    def _factor_from_start(self):
        return (1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power


class CosineAnnealingLR(LRScheduler):
    """Lets the learning rate fall along half a wave of the cosine, and rise along the next.

    Args:
        optimizer: whose learning rates are set.
        T_max: how many epochs half a wave takes.
        eta_min: the lowest learning rate.
        last_epoch: where to go on; -1 to begin.
    """

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The learning rates at ``last_epoch``, one a group."""
        self._warn_outside_step()
        groups = self.optimizer.param_groups
        if self._is_initial:
            return [group["lr"] for group in groups]
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # it was at the bottom, whatever that is
            share = (1 - math.cos(math.pi / self.T_max)) / 2
            rises = [(base - self.eta_min) * share for base in self.base_lrs]
            return [group["lr"] + rise for group, rise in zip(groups, rises, strict=True)]
        now, before = [1 + math.cos(math.pi * epoch / self.T_max) for epoch in (self.last_epoch, self.last_epoch - 1)]
        return [now / before * (group["lr"] - self.eta_min) + self.eta_min for group in groups]

    def _get_closed_form_lr(self):
        height = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]
