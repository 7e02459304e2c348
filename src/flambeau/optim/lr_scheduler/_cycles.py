"""Schedulers that cycle learning rates and momenta."""

import math
import types

from ._base import LRScheduler, per_group, set_value

NO_MOMENTUM = "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"


def set_momentum(group, momentum):
    """Sets the momentum of a group (for Adam and relatives, the first of the betas)."""
    if "betas" in group:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


def cosine(start, end, share):
    """Cosine interpolation between two values."""
    return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)


def linear(start, end, share):
    """Linear interpolation between two values."""
    return (end - start) * share + start


ANNEALING = {"cos": cosine, "linear": linear}


def check_annealing(strategy):
    if strategy not in ANNEALING:
        raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {strategy}")


class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosine annealing of the learning rate, with warm restarts.

    Args:
        optimizer: the wrapped optimizer.
        T_0: the number of epochs until the first restart.
        T_mult: the factor by which this period grows at each restart.
        eta_min: the lowest learning rate.
        last_epoch: the epoch to resume from; -1 to start.
    """

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The learning rates at ``last_epoch``, one per group."""
        self._warn_outside_step()
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch=None):
        """Sets the learning rates of the next epoch, or of `epoch`, which may be a fraction."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i  # last_epoch=... may be several periods in
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            self._find_fall(epoch)
        self.last_epoch = math.floor(epoch)
        with self._within_step():
            rates = self.get_lr()
        self._set(rates)

    def _find_fall(self, epoch):
        """The period of an epoch, and its position in it."""
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n


class _MomentumScheduler(LRScheduler):
    """Base of schedulers that also move the momentum, or beta1."""

    def _set_momenta(self, optimizer, base_momentum, max_momentum, last_epoch):
        """The least and the largest momentum of each group; sets the latter, unless a run is resumed."""
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError(NO_MOMENTUM)
        self.use_beta1 = "betas" in optimizer.defaults
        lowest = per_group("base_momentum", base_momentum, optimizer)
        highest = per_group("max_momentum", max_momentum, optimizer)
        if last_epoch == -1:
            for low, high, group in zip(lowest, highest, optimizer.param_groups, strict=True):
                set_momentum(group, high)
                group["max_momentum"] = high
                group["base_momentum"] = low
        return lowest, highest


class CyclicLR(_MomentumScheduler):
    """Cycles the learning rate between ``base_lr`` and ``max_lr``, stepping every batch.

    Args:
        optimizer: the wrapped optimizer.
        base_lr: the lowest learning rate; or a list with one per group.
        max_lr: the highest one.
        step_size_up: the number of batches in the increasing half.
        step_size_down: the number in the decreasing half; by default the same.
        mode: ``"triangular"``; ``"triangular2"``, which halves the amplitude every cycle; ``"exp_range"``, which
            multiplies it by ``gamma`` every batch.
        gamma: see ``mode``.
        scale_fn: the amplitude as a function, overriding ``mode``.
        scale_mode: the argument of ``scale_fn``: ``"cycle"`` or ``"iterations"``.
        cycle_momentum: cycles the momentum inversely to the learning rate.
        base_momentum: the lowest momentum; or a list with one per group.
        max_momentum: the highest one.
        last_epoch: the batch to resume from; -1 to start.
    """

    _transient = ("optimizer", "_scale_fn_ref")

    def __init__(self, optimizer, base_lr, max_lr, step_size_up=2000, step_size_down=None, mode="triangular", gamma=1.0,
                 scale_fn=None, scale_mode="cycle", cycle_momentum=True, base_momentum=0.8, max_momentum=0.9,
                 last_epoch=-1):
        base_lrs = per_group("base_lr", base_lr, optimizer)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_value(group, "lr", lr)
        self.max_lrs = per_group("max_lr", max_lr, optimizer)
        down = float(step_size_up if step_size_down is None else step_size_down)
        self.total_size = float(step_size_up) + down
        self.step_ratio = float(step_size_up) / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._set_momenta(
                optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x):
        """The amplitude at cycle or batch ``x``."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 1 / (2.0 ** (x - 1)) if self.mode == "triangular2" else self.gamma**x

    def get_lr(self):
        """The learning rates at ``last_epoch``, one per group; also sets the momenta."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for low, high, group in zip(self.base_momentums, self.max_momentums, self.optimizer.param_groups,
                                        strict=True):
                set_momentum(group, high - (high - low) * height)
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self):
        """Returns the state; a custom ``scale_fn`` is saved only if it is an object, by its attributes."""
        state = super().state_dict()
        function = state.pop("_scale_fn_custom")
        is_object = function is not None and not isinstance(function, types.FunctionType)
        return {**state, "_scale_fn_custom": function.__dict__.copy() if is_object else None}

    def load_state_dict(self, state_dict):
        """Loads the state of a scheduler."""
        state = dict(state_dict)
        function = state.pop("_scale_fn_custom")
        if function is not None:
            self._scale_fn_custom.__dict__.update(function)
        super().load_state_dict(state)


class OneCycleLR(_MomentumScheduler):
    """The 1cycle policy: anneals the learning rate up to its maximum and then far below its initial value.

    Args:
        optimizer: the wrapped optimizer.
        max_lr: the highest learning rate; or a list with one per group.
        total_steps: the number of batches.
        epochs, steps_per_epoch: alternatively, the number of epochs and of batches in each.
        pct_start: the fraction of steps with increasing learning rate.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        cycle_momentum: cycles the momentum inversely to the learning rate.
        base_momentum: the lowest momentum; or a list with one per group.
        max_momentum: the highest one.
        div_factor: the highest learning rate divided by the initial one.
        final_div_factor: the initial learning rate divided by the last one.
        three_phase: decreases symmetrically to the increase first, then down to the last learning rate.
        last_epoch: the batch to resume from; -1 to start.
    """

    def __init__(self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3,
                 anneal_strategy="cos", cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25.0,
                 final_div_factor=1e4, three_phase=False, last_epoch=-1):
        self.total_steps = count_steps(total_steps, epochs, steps_per_epoch)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        self._schedule_phases = phases(self.total_steps, pct_start, three_phase)
        check_annealing(anneal_strategy)
        self._anneal_func_type = anneal_strategy
        highest = per_group("max_lr", max_lr, optimizer)
        if last_epoch == -1:
            for lr, group in zip(highest, optimizer.param_groups, strict=True):
                group["initial_lr"] = lr / div_factor
                group["max_lr"] = lr
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._set_momenta(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The learning rates at ``last_epoch``, one per group; also sets the momenta."""
        self._warn_outside_step()
        if self.last_epoch > self.total_steps:
            raise ValueError(f"Tried to step {self.last_epoch} times. The specified number of total steps is "
                             f"{self.total_steps}")
        phase, share = self._place()
        anneal = ANNEALING[self._anneal_func_type]
        groups = self.optimizer.param_groups
        for group in groups if self.cycle_momentum else ():
            set_momentum(group, anneal(group[phase["start_momentum"]], group[phase["end_momentum"]], share))
        return [anneal(group[phase["start_lr"]], group[phase["end_lr"]], share) for group in groups]

    def _place(self):
        """The phase of the current batch, and the elapsed fraction of it."""
        start = 0.0
        for phase in self._schedule_phases:
            end = float(phase["end_step"])
            if self.last_epoch <= end or phase is self._schedule_phases[-1]:
                return phase, (self.last_epoch - start) / (end - start)
            start = end
        raise AssertionError("a schedule has at least one phase")


def count_steps(total_steps, epochs, steps_per_epoch):
    """The total number of batches, given in either way."""
    if total_steps is not None:
        if total_steps <= 0 or not isinstance(total_steps, int):
            raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
        return total_steps
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    for name, value in (("epochs", epochs), ("steps_per_epoch", steps_per_epoch)):
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return epochs * steps_per_epoch


def phases(total_steps, pct_start, three_phase):
    """The end of each phase, and the group settings it interpolates between."""
    rise = float(pct_start * total_steps)
    ways = [("initial_lr", "max_lr", "max_momentum", "base_momentum")]
    if three_phase:
        ends = [rise - 1, 2 * rise - 2, total_steps - 1]
        ways += [("max_lr", "initial_lr", "base_momentum", "max_momentum"),
                 ("initial_lr", "min_lr", "max_momentum", "max_momentum")]
    else:
        ends = [rise - 1, total_steps - 1]
        ways += [("max_lr", "min_lr", "base_momentum", "max_momentum")]
    names = ("start_lr", "end_lr", "start_momentum", "end_momentum")
    return [{"end_step": end, **dict(zip(names, way, strict=True))} for end, way in zip(ends, ways, strict=True)]
