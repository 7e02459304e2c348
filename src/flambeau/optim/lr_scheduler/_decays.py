"""Schedulers with a closed form."""

import math
import types
from bisect import bisect_right
from collections import Counter

from ._base import LRScheduler, state_of


class _LambdaScheduler(LRScheduler):
    """Base class of schedulers with a function per group."""

    _transient = ("optimizer", "lr_lambdas")

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        count = len(optimizer.param_groups)
        self.optimizer = optimizer
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * count
        if len(self.lr_lambdas) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self):
        """Returns the state; functions are saved only if they are objects, by their attributes."""
        return {**super().state_dict(), "lr_lambdas": [state_of(function) for function in self.lr_lambdas]}

    def load_state_dict(self, state_dict):
        """Loads the state of a scheduler."""
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "lr_lambdas"})
        for function, saved in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if saved is not None and not isinstance(function, types.FunctionType):
                function.__dict__.update(saved)


class LambdaLR(_LambdaScheduler):
    """The initial learning rate times a function of the epoch.

    Args:
        optimizer: the wrapped optimizer.
        lr_lambda: the function, or a list with one per group.
        last_epoch: the epoch to resume from; -1 to start.
    """

    def get_lr(self):
        """The learning rates at ``last_epoch``, one per group."""
        self._warn_outside_step()
        return [base * function(self.last_epoch) for function, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_LambdaScheduler):
    """The last learning rate times a function of the epoch.

    Args:
        optimizer: the wrapped optimizer.
        lr_lambda: the function, or a list with one per group.
        last_epoch: the epoch to resume from; -1 to start.
    """

    def get_lr(self):
        """The learning rates at ``last_epoch``, one per group."""
        self._warn_outside_step()
        groups = self.optimizer.param_groups
        if self._is_initial:
            return [group["lr"] for group in groups]
        return [group["lr"] * factor(self.last_epoch) for factor, group in zip(self.lr_lambdas, groups, strict=True)]


class _FactorScheduler(LRScheduler):
    """Base class of schedulers that multiply all learning rates by a factor, recursively or in closed form."""

    def get_lr(self):
        """The learning rates at ``last_epoch``, one per group."""
        self._warn_outside_step()
        factor = self._factor()
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self):
        factor = self._factor_from_start()
        return [base * factor for base in self.base_lrs]


class StepLR(_FactorScheduler):
    """Multiplies the learning rate by ``gamma`` every ``step_size`` epochs.

    Args:
        optimizer: the wrapped optimizer.
        step_size: the period of decay, in epochs.
        gamma: the factor.
        last_epoch: the epoch to resume from; -1 to start.

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
        optimizer: the wrapped optimizer.
        milestones: epochs; repeated ones count repeatedly.
        gamma: the factor.
        last_epoch: the epoch to resume from; -1 to start.
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
    """Multiplies the learning rate by a factor for the first ``total_iters`` epochs.

    Args:
        optimizer: the wrapped optimizer.
        factor: between 0 and 1.
        total_iters: the number of epochs it applies.
        last_epoch: the epoch to resume from; -1 to start.
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
    """Multiplies the learning rate by a linearly changing factor.

    Args:
        optimizer: the wrapped optimizer.
        start_factor: the initial factor.
        end_factor: the factor after ``total_iters`` epochs.
        total_iters: the number of epochs over which it changes.
        last_epoch: the epoch to resume from; -1 to start.
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
        optimizer: the wrapped optimizer.
        gamma: the factor.
        last_epoch: the epoch to resume from; -1 to start.
    """

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self):
        return 1 if self._is_initial else self.gamma

    def _factor_from_start(self):
        return self.gamma**self.last_epoch


class PolynomialLR(_FactorScheduler):
    """Decays the learning rate polynomially to zero.

    Args:
        optimizer: the wrapped optimizer.
        total_iters: the number of epochs until it is zero.
        power: the degree of the polynomial.
        last_epoch: the epoch to resume from; -1 to start.
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
    """Cosine annealing of the learning rate; after ``T_max`` epochs it rises again.

    Args:
        optimizer: the wrapped optimizer.
        T_max: the number of epochs until the minimum.
        eta_min: the lowest learning rate.
        last_epoch: the epoch to resume from; -1 to start.
    """

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The learning rates at ``last_epoch``, one per group."""
        self._warn_outside_step()
        groups = self.optimizer.param_groups
        if self._is_initial:
            return [group["lr"] for group in groups]
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # from the minimum, the recursion divides by 0
            share = (1 - math.cos(math.pi / self.T_max)) / 2
            rises = [(base - self.eta_min) * share for base in self.base_lrs]
            return [group["lr"] + rise for group, rise in zip(groups, rises, strict=True)]
        now, before = [1 + math.cos(math.pi * epoch / self.T_max) for epoch in (self.last_epoch, self.last_epoch - 1)]
        return [now / before * (group["lr"] - self.eta_min) + self.eta_min for group in groups]

    def _get_closed_form_lr(self):
        height = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]
