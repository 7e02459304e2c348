"""Diagnoses a training setup by running a few steps."""

import copy
import itertools
import math
import time

from ..._tensor import Tensor
from ...random import fork_rng
from ...utils._pytree import tree_map
from ._checks import OBSERVED
from ._observer import Enough, TrainingObserver
from ._report import Finding, TrainingReport
from ._trials import TRIALS

__all__ = ["Enough", "Finding", "TrainingObserver", "TrainingReport", "check_observed", "check_training"]

SECONDS = 8.0  # time budget of the trials
WRONG_BATCH = (
    "check_training expects batches of the form (inputs, targets), got {kind}. Pass call=, a function of the model and "
    "a batch that returns (output, targets)."
)
EMPTY_LOADER = "check_training needs a batch, and the loader is empty"


def check_training(model, loss_fn, loader, optimizer, *, steps=5, call=None):
    """Runs a few training steps and reports problems in plain words.

    The model, the optimizer and the random state are unchanged: everything runs on copies.

    Args:
        model: the model.
        loss_fn: a function of the output and the targets.
        loader: yields batches ``(inputs, targets)``; ``inputs`` may be a tuple or a list of arguments.
        optimizer: the optimizer.
        steps: the number of steps to run.
        call: for other batch formats, a function of the model and a batch that returns ``(output, targets)``.

    Returns:
        a ``TrainingReport`` to print, which is true if nothing was found.

    Example::

        >>> model = nn.Sequential(nn.Linear(4, 3), nn.Softmax(1))
        >>> data = [(flambeau.randn(16, 4), flambeau.randint(3, (16,))) for _ in range(5)]
        >>> optimizer = flambeau.optim.SGD(model.parameters(), lr=0.1)
        >>> report = flambeau.check_training(model, nn.CrossEntropyLoss(), data, optimizer)
        >>> "softmax-twice" in report
        True
    """
    with fork_rng():
        batches = list(itertools.islice(loader, steps))
        if not batches:
            raise ValueError(EMPTY_LOADER)
        if call is None:
            check_form(batches[0])
        training = Training(model, loss_fn, loader, optimizer, batches, call)
        training.observe(steps)
        checks = OBSERVED if training.error or training.frozen_output else OBSERVED + TRIALS
        findings = [finding for check in checks for finding in check(training)]
    return TrainingReport(training.error + list(dict.fromkeys(findings)), len(training.steps), len(checks))


def check_observed(observer):
    """The report on steps that a script ran."""
    findings = [finding for check in OBSERVED for finding in check(Observed(observer))]
    return TrainingReport(list(dict.fromkeys(findings)), len(observer.steps), len(OBSERVED))


class Observed:
    """A training as seen by the checks: model, optimizer, and the recorded steps."""

    frozen_output = False

    def __init__(self, observer):
        self.observer, self.steps = observer, observer.steps
        self.model, self.optimizer = observer.model, observer.optimizer


class Training(Observed):
    """A training that can also be run, on copies."""

    def __init__(self, model, loss_fn, loader, optimizer, batches, call):
        self.original = model, optimizer
        self.loss_fn, self.loader, self.batches = loss_fn, loader, batches
        self.call = call or call_with_inputs
        self.error = []
        self.frozen_output = False
        self._end = time.monotonic() + SECONDS
        super().__init__(TrainingObserver(*copy.deepcopy((model, optimizer))))

    def out_of_time(self):
        """Whether the time budget is used up."""
        return time.monotonic() > self._end

    @property
    def arguments(self):
        """The arguments of the first call of the model."""
        return tuple(self.steps[0].inputs)

    def observe(self, steps):
        """Runs and records the steps."""
        with self.observer:
            for batch in itertools.islice(itertools.cycle(self.batches), steps):
                try:
                    loss = self.loss(self.model, batch)
                    if not loss.requires_grad:
                        self.frozen_output = True
                        return
                    self.optimizer.zero_grad()
                    loss.backward()
                except (RuntimeError, ValueError, TypeError, IndexError) as error:
                    self.error.append(describe_error(error))
                    return
                self.observer.loss = loss.item()
                self.optimizer.step()
                del loss

    def loss(self, model, batch):
        """The loss of a batch."""
        return self.loss_fn(*self.call(model, batch))

    def step(self, model, optimizer, batch):
        """Performs a step on copies; returns the loss before it."""
        optimizer.zero_grad()
        loss = self.loss(model, batch)
        loss.backward()
        optimizer.step()
        return loss.item()

    def losses_at(self, factor, steps):
        """The loss of the first batch before and after some steps at a multiple of the learning rate."""
        model, optimizer = copy.deepcopy(self.original)
        for group in optimizer.param_groups:
            group["lr"] = group["lr"] * factor
        losses = [self.step(model, optimizer, self.batches[0]) for _ in range(steps)]
        return losses[0], max(losses[-1], losses[-2]) if math.isfinite(losses[-1]) else math.inf

    def small_batch(self, size):
        """The first samples of the first batch."""
        cut = lambda x: x[:size] if isinstance(x, Tensor) and x.dim() else x  # noqa: E731
        return tree_map(cut, self.batches[0])


def call_with_inputs(model, batch):
    """(output, targets) of a batch in the standard format."""
    return model(*arguments_of(batch)), batch[1]


def arguments_of(batch):
    """The model's arguments in a batch ``(inputs, targets)``."""
    return tuple(batch[0]) if isinstance(batch[0], tuple | list) else (batch[0],)


def check_form(batch):
    """Raises for batches in another format."""
    if not isinstance(batch, tuple | list) or len(batch) != 2:
        size = f" of {len(batch)}" if isinstance(batch, tuple | list) else ""
        raise TypeError(WRONG_BATCH.format(kind=f"a {type(batch).__name__}{size}"))


def describe_error(error):
    """Reports an error in the model or the loss as a finding."""
    notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
    return Finding(
        "error", f"The step raises {type(error).__name__}: {error}{notes}",
        "the message names the cause: look at the shapes and dtypes of inputs, outputs and targets first.",
    )
