"""Checks that run trials, on copies of the model and the optimizer."""

import copy
import math
import random

import numpy as np

from ...functions.random import rand
from ...nn.modules.dropout import _DropoutNd
from ...optim.adam import Adam
from ...utils.data import DataLoader, Dataset, SequentialSampler
from .._values import tensors_in
from ._report import Finding

__all__ = ["TRIALS"]

RANGE = (0.01, 0.1, 1.0, 10.0, 100.0)  # of the learning rate
STEPS_OF_RANGE = 8
SAMPLES_TO_OVERFIT = 8
STEPS_TO_OVERFIT = 60


# ---- the order of the data


def data_order(training):
    """Training data that is not shuffled."""
    sampler = getattr(training.loader, "sampler", None)
    if isinstance(sampler, SequentialSampler) and len(training.loader) > 1:
        yield Finding(
            "not-shuffled", "The loader gives the training data in the same order every epoch.",
            "DataLoader(..., shuffle=True).",
        )


class Draws(Dataset):
    """What a worker draws first from each random number generator."""

    def __len__(self):
        return 64

    def __getitem__(self, index):
        return rand(1).item(), float(np.random.rand()), random.random()


def worker_seeds(training):
    """Workers that draw identical random numbers."""
    loader = training.loader
    if not isinstance(loader, DataLoader) or loader.num_workers < 2:
        return
    probe = DataLoader(
        Draws(), batch_size=1, num_workers=loader.num_workers, worker_init_fn=loader.worker_init_fn,
        multiprocessing_context=loader.multiprocessing_context,
    )
    draws = [[source.item() for source in batch] for batch, _ in zip(probe, range(2))]
    sources = ("torch", "numpy.random", "random")
    if same := [name for name, first, second in zip(sources, *draws) if first == second]:
        yield Finding(
            "worker-seeds", f"The workers of the loader draw the same numbers from {' and '.join(same)}.",
            "do not seed with a constant in worker_init_fn; derive the seed from get_worker_info().seed.",
        )


# ---- what outputs depend on


def dependence(training):
    """Outputs that depend on nothing, or on other samples of the batch."""
    model, args = copy.deepcopy(training.model).eval(), training.arguments
    floats = [t for t in tensors_in(args) if t.is_floating_point() and t.dim() > 0 and len(t) > 1]
    if not floats:
        return
    leaves = [t.detach().clone().requires_grad_() for t in floats]
    swap = {id(t): leaf for t, leaf in zip(floats, leaves)}
    output = next((t for t in tensors_in(model(*replace(args, swap))) if t.requires_grad), None)
    if output is None or output.dim() == 0 or any(len(leaf) != len(output) for leaf in leaves):
        return
    (output[0] * rand(output[0].shape)).sum().backward()  # a plain sum of probabilities would be constant
    grads = [leaf.grad for leaf in leaves]
    if all(grad is None or not grad.count_nonzero() for grad in grads) and model_has_weights(model):
        yield Finding(
            "ignores-input", "The output does not depend on the input.",
            "does forward() use its argument? A detach(), a rounding or a dead layer on the way cuts it off too.",
        )
    elif any(grad is not None and grad[1:].count_nonzero() for grad in grads):
        yield Finding(
            "mixes-samples", "The output for one sample depends on the other samples of its batch, in eval mode too.",
            "a reshape, view or transpose mixes the batch into another dimension (keep dimension 0: "
            "x.flatten(1), not x.view(n, -1) after a transpose), or a softmax or mean runs over dim=0.",
        )


def replace(value, swap):
    """A value with some of its tensors replaced."""
    if isinstance(value, dict):
        return {key: replace(part, swap) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return type(value)([replace(part, swap) for part in value])
    return swap.get(id(value), value)


def model_has_weights(model):
    return any(True for _ in model.parameters())


# ---- the learning rate


def learning_rate(training):
    """A range test: a few steps on one batch at different learning rates."""
    results = {}
    for factor in RANGE:
        if training.out_of_time():
            return
        results[factor] = training.losses_at(factor, STEPS_OF_RANGE)
    start, end = results[1.0]
    rate = training.optimizer.param_groups[0]["lr"]
    gain = {factor: (a - b) / abs(a) if math.isfinite(b) and a else -math.inf for factor, (a, b) in results.items()}
    if gain[1.0] < -0.2 and max(gain[0.01], gain[0.1]) > 0.005:
        yield Finding(
            "lr-too-high", f"At lr={rate:g} the loss of one batch goes from {start:.3g} to {end:.3g} in "
            f"{STEPS_OF_RANGE} steps; at {rate / 10:g} or less it falls.",
            f"try lr={rate / 10:g} or lr={rate / 100:g}.",
        )
    elif 0 <= gain[1.0] < 0.002 and gain[10.0] > 3 * gain[1.0] and gain[100.0] > 3 * gain[10.0]:
        yield Finding(
            "lr-too-low", f"At lr={rate:g} the loss of one batch hardly moves ({gain[1.0]:.2g} of it in "
            f"{STEPS_OF_RANGE} steps); at {rate * 100:g} it falls by {gain[100.0]:.2g} of it.",
            f"try lr={rate * 10:g} or lr={rate * 100:g}.",
        )


def overfitting(training):
    """A model that cannot overfit one small batch."""
    best = math.inf
    for rate in (1e-2, 1e-3):
        if training.out_of_time():
            return
        model = copy.deepcopy(training.model)
        for module in model.modules():
            if isinstance(module, _DropoutNd):
                module.eval()
        trainable = [p for p in model.parameters() if p.requires_grad]
        if not trainable:
            return
        batch = training.small_batch(SAMPLES_TO_OVERFIT)
        optimizer = Adam(trainable, lr=rate)
        losses = [training.step(model, optimizer, batch) for _ in range(STEPS_TO_OVERFIT)]
        first, best = losses[0], min([best, *filter(math.isfinite, losses)])
        if best < 0.5 * first:
            return
    yield Finding(
        "cannot-overfit", f"In {STEPS_TO_OVERFIT} steps of Adam on {SAMPLES_TO_OVERFIT} samples the loss only went "
        f"from {first:.3g} to {best:.3g}: the model cannot even memorize these.",
        "do inputs and targets belong together (shuffled apart?), does a gradient reach the layers, is the loss the "
        "intended one?",
    )


TRIALS = [data_order, worker_seeds, dependence, learning_rate, overfitting]
