"""Checks based on the observed steps. Each check yields findings."""

import itertools
import math

from ..._modes import no_grad
from ...nn.modules.batchnorm import _BatchNorm
from ._observer import parameters_of
from ._report import Finding

__all__ = ["OBSERVED"]

FEW = 8  # values per channel below which BatchNorm statistics are noisy
LARGE = 20.0  # mean or deviation of probably unnormalized inputs
SMALL_SHARE = 1e-6  # of a layer's gradient, relative to the largest
HUGE_GRADIENT = 1e4


def join_names(names, most=4):
    """Lists names in a sentence."""
    names = list(names)
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


# ---- parameters and optimizer


def missing_parameters(training):
    """Parameters missing from the optimizer."""
    held = {id(p) for p in parameters_of(training.optimizer)}
    names = [name for name, p in training.model.named_parameters() if p.requires_grad and id(p) not in held]
    if names:
        yield Finding(
            "not-in-optimizer", f"The optimizer does not hold {join_names(names)}: they will never change.",
            "create the optimizer with model.parameters() after the model is complete, or call add_param_group(); if "
            "they should not be trained, call requires_grad_(False).",
        )


def replaced_parameters(training):
    """Parameters of the optimizer that are no longer in the model."""
    own = {id(p) for p in training.model.parameters()}
    count = sum(id(p) not in own for p in parameters_of(training.optimizer))
    if count:
        yield Finding(
            "replaced-parameters", f"The optimizer holds {count} parameters that are not (any more) in the model.",
            "create the optimizer after layers are replaced, and after the model is moved or loaded with assign=True.",
        )


def unused_parameters(training):
    """Parameters that never receive a gradient."""
    trainable = [name for name, p in training.model.named_parameters() if p.requires_grad]
    names = [n for n in trainable if all(step.grads.get(n) is None for step in training.steps)]
    if training.steps and names and not training.frozen_output:
        yield Finding(
            "no-gradient", f"No step computed a gradient of {join_names(names)}.",
            "they do not affect the loss: is the layer called in forward(), or is its result detached (.detach(), "
            ".data, .item(), numpy(), no_grad)?",
        )


def frozen_output(training):
    """A loss that does not require grad."""
    if training.frozen_output:
        yield Finding(
            "no-grad", "The loss does not require a gradient, so backward cannot run.",
            "is the forward inside no_grad() or inference_mode(), is its result detached, or are all parameters "
            "frozen?",
        )


def stale_gradients(training):
    """A forgotten zero_grad."""
    if any(step.stale_gradients for step in training.steps):
        yield Finding(
            "zero-grad", "Backward adds to the gradients of the step before: they were not cleared.",
            "call optimizer.zero_grad() once a step, before backward().",
        )


def evaluation_mode(training):
    """Training a model in eval mode."""
    if training.steps and not any(step.in_training_mode for step in training.steps):
        yield Finding(
            "eval-mode", "The model is trained in eval mode: Dropout does nothing, and BatchNorm learns no statistics.",
            "call model.train() before the training loop, and again after every evaluation.",
        )


# ---- loss


def wrong_head(training):
    """A loss function that does not fit the model's output."""
    for node, source in dict.fromkeys(head for step in training.steps for head in step.heads):
        if node == "LogSoftmaxBackward0" and source in ("SoftmaxBackward0", "LogSoftmaxBackward0"):
            yield Finding(
                "softmax-twice", "The model ends with a softmax, and cross_entropy applies another one.",
                "give cross_entropy the logits: remove the softmax from the model (apply it when predicting).",
            )
        elif node == "LogSoftmaxBackward0" and source in ("SigmoidBackward0", "ReluBackward0"):
            word = source.removesuffix("Backward0")
            yield Finding(
                "bounded-logits", f"The logits that go into cross_entropy come out of a {word}, which cuts them off.",
                "end the model with its last linear layer.",
            )
        elif node == "BinaryCrossEntropyWithLogitsBackward0" and source == "SigmoidBackward0":
            yield Finding(
                "sigmoid-twice", "The model ends with a sigmoid, and binary_cross_entropy_with_logits applies another.",
                "give it the logits: remove the sigmoid, or use binary_cross_entropy.",
            )
        elif node.startswith("NllLoss") and not source.startswith(("LogSoftmax", "Log")):
            yield Finding(
                "nll-of-logits", f"nll_loss takes log-probabilities, and gets the result of {source}.",
                "use cross_entropy on the logits, or log_softmax before nll_loss.",
            )


def first_loss(training):
    """An initial loss far above chance level."""
    if not training.steps or training.steps[0].loss is None:
        return
    step = training.steps[0]
    if not math.isfinite(step.loss):
        yield Finding(
            "loss-not-finite", f"The first loss is {step.loss}.",
            "run the step inside flambeau.debug.nan_guard(model): it names the place.",
        )
        return
    names = {node for head in step.heads for node in head}
    output = step.outputs[0] if step.outputs else None
    if {"NllLossBackward0", "LogSoftmaxBackward0"} <= names and output is not None and output.dim() >= 2:
        guess = math.log(output.shape[1])
        if step.loss > 2 * guess + 1:
            yield Finding(
                "first-loss", f"The first loss is {step.loss:.2f}; guessing among {output.shape[1]} classes costs "
                f"{guess:.2f}. The outputs are far too large at the start.",
                "normalise the inputs, and look at the initial weights of the last layers.",
            )


# ---- data


def input_range(training):
    """Inputs that are constant or not normalized."""
    for step in training.steps[:1]:
        for t in step.inputs:
            if not t.is_floating_point() or t.numel() < 2 or t.is_meta:
                continue
            with no_grad():
                mean, deviation = t.float().mean().item(), t.float().std().item()
            if deviation == 0:
                yield Finding(
                    "constant-input", f"All elements of an input {list(t.shape)} are {mean:g}.",
                    "look at what the dataset returns: is the image read, the column filled, the transform right?",
                )
            elif abs(mean) > LARGE or deviation > LARGE:
                yield Finding(
                    "input-range", f"An input has mean {mean:.3g} and standard deviation {deviation:.3g}.",
                    "bring inputs to about mean 0 and deviation 1 (pixels: divide by 255, then Normalize).",
                )


def same_batches(training):
    """The same batch every time."""
    firsts = [step.inputs[0] for step in training.steps if step.inputs]
    pairs = list(itertools.pairwise(firsts))
    if len(pairs) >= 2 and all(a is not b and a.shape == b.shape and bool((a == b).all()) for a, b in pairs):
        yield Finding(
            "same-batch", "Every step got the same inputs.",
            "take the next batch inside the loop; do the workers draw from equal seeds?",
        )


# ---- layers


def small_batches(training):
    """BatchNorm over too few values."""
    names = {m: name for name, m in training.model.named_modules() if isinstance(m, _BatchNorm)}
    small = [names[m] for m, n in training.observer.values_per_channel.items() if n < FEW and m in names]
    if small:
        yield Finding(
            "batch-norm",
            f"The statistics of {join_names(small)} are taken over fewer than {FEW} values a channel: noise.",
            "use larger batches, or GroupNorm or LayerNorm, or put these layers in eval mode.",
        )


def dead_units(training):
    """ReLUs that are never active."""
    names = {m: name for name, m in training.model.named_modules()}
    for module, active in training.observer.active.items():
        share = 1 - active.float().mean().item()
        if share > 0.8 and module in names:
            yield Finding(
                "dead-relu", f"{share:.0%} of the units of {names[module]} were 0 for every sample of every step.",
                "lower the learning rate, look at the biases before it, or use LeakyReLU or GELU.",
            )


def gradients_by_layer(training):
    """Vanishing or exploding gradients."""
    if not training.steps:
        return
    grads, weights = training.steps[-1].grads, training.steps[-1].weights
    if any(g is not None and not math.isfinite(g) for g in grads.values()):
        bad = [n for n, g in grads.items() if g is not None and not math.isfinite(g)]
        yield Finding("gradient-not-finite", f"The gradients of {join_names(bad)} are not finite.",
                      "run the step inside flambeau.debug.nan_guard(model): it names the place.")
        return
    total = math.sqrt(sum(g * g for g in grads.values() if g is not None))
    if total > HUGE_GRADIENT:
        yield Finding(
            "exploding-gradient", f"The gradient's norm is {total:.2g}.",
            "use clip_grad_norm_, a lower learning rate, normalisation, smaller initial weights.",
        )
    matrices = [name for name, p in training.model.named_parameters() if p.dim() > 1 and grads.get(name)]
    relative = {name: grads[name] / (weights[name] or 1.0) for name in matrices}
    if vanished := [name for name, r in relative.items() if r < SMALL_SHARE * max(relative.values())]:
        yield Finding(
            "vanishing-gradient", f"The gradients of {join_names(vanished)} are a millionth of those of other layers.",
            "use residual connections, normalisation, ReLU instead of sigmoid or tanh, and Kaiming initial weights.",
        )


# ---- memory


def retained_graphs(training):
    """References to losses of earlier steps, which keep their graphs alive."""
    alive = sum(root() is not None for root in training.observer.roots[:-2])
    if len(training.observer.roots) >= 4 and alive >= len(training.observer.roots) - 2:
        yield Finding(
            "kept-graph", f"The graphs of {alive} earlier steps are still held: memory grows with every step.",
            "keep loss.item() or loss.detach() instead of loss in sums and lists.",
        )


OBSERVED = [
    frozen_output, missing_parameters, replaced_parameters, unused_parameters, stale_gradients, evaluation_mode,
    wrong_head, first_loss, input_range, same_batches, small_batches, dead_units, gradients_by_layer, retained_graphs,
]
