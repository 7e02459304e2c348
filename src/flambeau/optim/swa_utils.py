"""Model averaging over training: equal (SWA) or exponential moving (EMA)."""

from __future__ import annotations

import math
from copy import deepcopy
from itertools import chain

from .._dtypes import int64
from .._modes import modes, no_grad
from .._tensor import Tensor
from ..functions.from_data import tensor
from ..functions.pointwise import where
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from .lr_scheduler._base import LRScheduler, per_group
from .lr_scheduler._cycles import check_annealing

__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
    "update_bn",
]


# ---- averages


def check_decay(decay):
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def is_averaged(t):
    return t.is_floating_point() or t.is_complex()


def get_ema_multi_avg_fn(decay=0.999):
    """The exponential moving average, as a function that updates lists of tensors."""
    check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list, current_param_list, num_averaged):
        for own, current in zip(ema_param_list, current_param_list, strict=True):
            own.copy_(own.lerp(current, 1 - decay) if is_averaged(own) else own * decay + current * (1 - decay))

    return ema_update


def weight_of_next(num_averaged, own):
    """The weight of the next model in an equal average: a number, or a tensor in a compiled function."""
    if not modes.tracer.active:
        return 1 / (int(num_averaged) + 1)
    return (1 / (num_averaged + 1)).to(own.device, own.dtype if is_averaged(own) else None)


def get_swa_multi_avg_fn():
    """The equal average of all models, as a function that updates lists of tensors."""

    @no_grad()
    def swa_update(averaged_param_list, current_param_list, num_averaged):
        for own, current in zip(averaged_param_list, current_param_list, strict=True):
            weight = weight_of_next(num_averaged, own)
            own.copy_(own.lerp(current, weight) if is_averaged(own) else own + (current - own) * weight)

    return swa_update


def get_ema_avg_fn(decay=0.999):
    """The exponential moving average, as a function of two tensors."""
    check_decay(decay)

    @no_grad()
    def ema_update(ema_param, current_param, num_averaged):
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn():
    """The equal average of all models, as a function of two tensors."""

    @no_grad()
    def swa_update(averaged_param, current_param, num_averaged):
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's at each update.

    Args:
        model: the model to average.
        device: the device of the copy; by default the model's.
        avg_fn: computes the new average of a parameter from the old one, the parameter and the number of updates.
        multi_avg_fn: updates lists of averages; only one of the two functions can be given. By default, all models are
            weighted equally.
        use_buffers: averages buffers too, instead of copying the model's.

    Example::

        >>> from flambeau.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
        >>> model = flambeau.nn.Linear(1, 1)
        >>> average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
        >>> average.update_parameters(model)
        >>> average.n_averaged
        tensor(1)
    """

    n_averaged: Tensor

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args, **kwargs):
        """Runs the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model):
        """Updates the average with the parameters of a model."""
        own, current = [list(self._tensors(module)) for module in (self.module, model)]
        current = [c.detach().to(o.device) for o, c in zip(own, current, strict=True)]
        own = [o.detach() for o in own]
        is_first = self.n_averaged == 0
        if modes.tracer.active:  # the count is a traced value
            self._average(own, current)
            copy_all(own, [where(is_first.to(o.device), c, o) for o, c in zip(own, current, strict=True)])
        elif is_first:
            copy_all(own, current)
        else:
            self._average(own, current)
        if not self.use_buffers:
            copy_all([b.detach() for b in self.module.buffers()], [b.detach() for b in model.buffers()])
        self.n_averaged += 1

    def _average(self, own, current):
        if self.avg_fn is not None:
            copy_all(own, [self.avg_fn(o, c, self.n_averaged.to(o.device)) for o, c in zip(own, current, strict=True)])
        else:
            (self.multi_avg_fn or get_swa_multi_avg_fn())(own, current, self.n_averaged)

    def _tensors(self, module):
        return chain(module.parameters(), module.buffers()) if self.use_buffers else module.parameters()


def copy_all(targets, sources):
    for target, source in zip(targets, sources, strict=True):
        target.copy_(source)


@no_grad()
def update_bn(loader, model, device=None):
    """Recomputes the statistics of all batch-norm layers from the batches of a loader.

    Args:
        loader: yields batches of inputs, or tuples that begin with them.
        model: the model with batch-norm layers.
        device: the device to move inputs to.
    """
    momenta = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.momentum = None  # a cumulative average over all batches
    for batch in loader:
        inputs = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(inputs if device is None else inputs.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


# ---- the learning rate


class SWALR(LRScheduler):
    """Anneals the learning rate to a fixed value and keeps it there while models are averaged.

    Args:
        optimizer: the wrapped optimizer.
        swa_lr: the value; or a list with one per group.
        anneal_epochs: the number of epochs of annealing.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        last_epoch: the epoch to resume from; -1 to start.
    """

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        for group, lr in zip(optimizer.param_groups, per_group("swa_lr", swa_lr, optimizer), strict=True):
            group["swa_lr"] = lr
        check_annealing(anneal_strategy)
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The learning rates at ``last_epoch``, one per group."""
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        return [group["swa_lr"] * now + start_of(group["lr"], group["swa_lr"], before) * (1 - now)
                for group in self.optimizer.param_groups]

    def _share(self, step):
        """The elapsed fraction of annealing at a step."""
        t = max(0, min(1, step / max(1, self.anneal_epochs)))
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2


def start_of(lr, swa_lr, share):
    """The initial learning rate, given the current one and the elapsed fraction."""
    return swa_lr if share == 1 else (lr - share * swa_lr) / (1 - share)
