"""Reduces the learning rate when a metric stops improving."""

import math
import warnings

from ._base import EPOCH_DEPRECATION_WARNING, LRScheduler, check_optimizer, set_value

NEW_GROUPS = (
    "param_groups and min_lrs differ in length: {groups} and {rates}. Groups were added to the optimizer; make the "
    "scheduler with one min_lr for all of them, or set min_lrs."
)


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the learning rate by a factor when a metric has stopped improving for some epochs.

    Args:
        optimizer: the wrapped optimizer.
        mode: whether ``"min"`` or ``"max"`` is better.
        factor: below 1.
        patience: the number of epochs without improvement that are tolerated.
        threshold: what counts as an improvement.
        threshold_mode: whether that is relative (``"rel"``) to the best value, or absolute (``"abs"``).
        cooldown: the number of epochs after a reduction in which the metric is ignored.
        min_lr: the lowest learning rate; or a list with one per group.
        eps: the smallest reduction that is applied.

    Example::

        >>> optimizer = flambeau.optim.SGD([flambeau.ones(1, requires_grad=True)], lr=0.5)
        >>> scheduler = flambeau.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
        >>> for loss in (3.0, 2.0, 2.0, 2.0):
        ...     optimizer.step()
        ...     scheduler.step(loss)
        >>> scheduler.get_last_lr()
        [0.05]
    """

    def __init__(self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel", cooldown=0,
                 min_lr=0, eps=1e-8):
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        check_optimizer(optimizer)
        self.factor = factor
        self.optimizer = optimizer
        self._set_min_lrs(min_lr)
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = self._rates()
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self._reset()

    def _set_min_lrs(self, min_lr):
        groups = len(self.optimizer.param_groups)
        if isinstance(min_lr, (list, tuple)):
            if len(min_lr) != groups:
                raise ValueError(f"expected {groups} min_lrs, got {len(min_lr)}")
            self.default_min_lr = None
            self.min_lrs = list(min_lr)
        else:
            self.default_min_lr = min_lr
            self.min_lrs = [min_lr] * groups

    def _reset(self):
        """Resets the best value and the counters."""
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(self, metrics, epoch=None):
        """Takes the metric of an epoch, and reduces the learning rates if due."""
        current = float(metrics)
        if epoch is None:
            epoch = self.last_epoch + 1
        else:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = self._rates()

    def _reduce_lr(self):
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(NEW_GROUPS.format(groups=len(groups), rates=len(self.min_lrs)))
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, lowest in zip(groups, self.min_lrs, strict=True):
            before = float(group["lr"])
            after = max(before * self.factor, lowest)
            if before - after > self.eps:
                set_value(group, "lr", after)

    @property
    def in_cooldown(self):
        """Whether metrics are still ignored after the last reduction."""
        return self.cooldown_counter > 0

    def _is_better(self, a, best):
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "rel":
            return (a - best * (1 + sign * self.threshold)) * sign > 0
        return (a - (best + sign * self.threshold)) * sign > 0

    def get_lr(self):
        """Not available: the learning rates depend on the metrics."""
        raise NotImplementedError("the learning rates of ReduceLROnPlateau depend on metrics; see get_last_lr()")
