"""Combinations of schedulers, in sequence or chained."""

from bisect import bisect_right

from ._base import LRScheduler, copy_of, set_value
from ._plateau import ReduceLROnPlateau

NEEDS_METRICS = (
    "{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be specified when "
    "calling `step`, but got one at index {nr} in the given schedulers sequence."
)
OTHER_OPTIMIZER = (
    "{name} expects all schedulers to belong to the same optimizer, but got scheduler {kind} at index {nr} has {own}, "
    "which is different from {optimizer}."
)
WRONG_COUNT = (
    "Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone points, "
    "but got number of schedulers {schedulers} and the number of milestones to be equal to {milestones}"
)


class _Combined(LRScheduler):
    """A scheduler that contains others, whose states are part of its own."""

    def state_dict(self):
        """Returns the state, including those of all schedulers."""
        state = {name: value for name, value in self.__dict__.items() if name not in ("optimizer", "_schedulers")}
        return {**state, "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict):
        """Loads the state of a scheduler of the same kind."""
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)


def check_schedulers(name, schedulers, optimizer):
    for nr, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise TypeError(f"{name} at index {nr} should have `optimizer` as its attribute.")
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ValueError(NEEDS_METRICS.format(name=name, nr=nr))
        if scheduler.optimizer != optimizer:
            raise ValueError(OTHER_OPTIMIZER.format(name=name, kind=type(scheduler).__name__, nr=nr,
                                                    own=scheduler.optimizer, optimizer=optimizer))


class SequentialLR(_Combined):
    """Runs schedulers in sequence.

    Args:
        optimizer: the wrapped optimizer.
        schedulers: the schedulers, in order.
        milestones: the epochs at which the second, third, ... scheduler takes over.
        last_epoch: the epoch to resume from; -1 to start.
    """

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        if len(schedulers) < 1:
            raise ValueError("SequentialLR expects at least one scheduler, but got no scheduler.")
        check_schedulers("SequentialLR", schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(WRONG_COUNT.format(schedulers=len(schedulers), milestones=len(milestones)))
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            set_value(group, "lr", copy_of(group["initial_lr"]))
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched=None):
        """Undoes the initial step that every scheduler performs on construction."""
        scheduler = self if sched is None else sched
        if hasattr(scheduler, "_schedulers"):
            for part in scheduler._schedulers:
                self.recursive_undo(part)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    def step(self):
        """Sets the learning rates of the next epoch."""
        self.last_epoch += 1
        nr = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[nr]
        if nr > 0 and self._milestones[nr - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Combined):
    """Applies several schedulers every epoch.

    Args:
        schedulers: the schedulers, in the order in which they are called.
        optimizer: the optimizer of the schedulers.
    """

    def __init__(self, schedulers, optimizer=None):
        if len(schedulers) < 1:
            raise ValueError("ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.")
        optimizer = optimizer or schedulers[0].optimizer
        check_schedulers("ChainedScheduler", schedulers, optimizer)
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = self._rates()

    def step(self):
        """Sets the learning rates of the next epoch."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._rates()
