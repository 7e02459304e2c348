"""Records the steps of a training loop."""

from __future__ import annotations

import dataclasses
import weakref

from ..._modes import modes, no_grad
from ..._tape import name_of
from ..._tensor import Tensor
from ...nn.modules.activation import ReLU, ReLU6
from ...nn.modules.batchnorm import _BatchNorm
from ...nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from ...optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from .._values import tensors_in

__all__ = ["Enough", "Step", "TrainingObserver"]

PASS_THROUGH = {"ViewBackward0", "UnsafeViewBackward0", "ReshapeAliasBackward0", "TransposeBackward0",
                "PermuteBackward0", "SqueezeBackward0", "SqueezeBackward1", "UnsqueezeBackward0", "CloneBackward0",
                "SliceBackward0", "SelectBackward0", "ToCopyBackward0"}


class Enough(SystemExit):
    """Ends a script once enough steps were observed."""


@dataclasses.dataclass
class Step:
    """What happened in one optimizer step.

    ``heads`` are the names of the nodes that compute the loss, and of their inputs.
    """

    inputs: list[Tensor]
    outputs: list[Tensor]
    in_training_mode: bool
    loss: float | None
    heads: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    stale_gradients: bool = False
    grads: dict[str, float | None] = dataclasses.field(default_factory=dict)
    weights: dict[str, float] = dataclasses.field(default_factory=dict)
    updates: dict[str, float] = dataclasses.field(default_factory=dict)


class TrainingObserver:
    """A context manager that records steps.

    Args:
        model: the model; None: the outermost module that has parameters of the optimizer.
        optimizer: the optimizer; None: the first one that takes a step.
        enough: the number of steps after which to raise ``Enough``; None: never.
    """

    def __init__(self, model=None, optimizer=None, enough=None):
        self.model, self.optimizer = model, optimizer
        self.steps: list[Step] = []
        self.active = {}  # by ReLU, which units were ever active
        self.values_per_channel = {}  # by BatchNorm, the number of values per channel
        self.roots = []  # weak references to the roots of backward
        self.loss = None  # the last scalar output of an outermost module, or set by a caller
        self._enough = enough
        self._open = []  # modules being called
        self._call = None  # (module, inputs, output) of the last call of an outermost module
        self._backward = None  # (heads, stale gradients) of the first backward pass since the last step
        self._pass = None
        self._old = {}

    def __enter__(self):
        self._handles = [
            register_module_forward_pre_hook(self._begin),
            register_module_forward_hook(self._end, always_call=True),
            register_optimizer_step_pre_hook(self._before_step),
            register_optimizer_step_post_hook(self._after_step),
        ]
        self._check, modes.gradient_check = modes.gradient_check, self._node
        return self

    def __exit__(self, *exc):
        modes.gradient_check = self._check
        for handle in self._handles:
            handle.remove()

    # ---- forward

    def _begin(self, module, args):
        self._open.append(module)

    def _end(self, module, args, output):
        self._open.pop()
        if output is None:
            return
        if isinstance(module, ReLU | ReLU6):
            self._note_active(module, output)
        elif isinstance(module, _BatchNorm) and module.training:
            per_channel = args[0].numel() // max(args[0].shape[1], 1)
            self.values_per_channel[module] = min(per_channel, self.values_per_channel.get(module, per_channel))
        if not self._open and self._is_model(module):
            self._call = module, tensors_in(args), tensors_in(output)
        elif not self._open and isinstance(output, Tensor) and output.dim() == 0:
            self.loss = output.item()

    def _is_model(self, module):
        if self.model is not None:
            return module is self.model
        return any(p.requires_grad for p in module.parameters())

    @no_grad()
    def _note_active(self, module, output):
        units = output.transpose(0, 1).flatten(1) if output.dim() > 2 else output.reshape(-1, output.shape[-1]).t()
        above = (units > 0).any(1)
        before = self.active.get(module)
        self.active[module] = above if before is None or before.shape != above.shape else before | above

    # ---- backward

    def _node(self, node, results):
        if modes.running is self._pass and self._pass is not None:
            return
        self._pass = modes.running
        self.roots.append(weakref.ref(node))
        heads, stale = self._backward or (heads_of(node), self.optimizer is not None)
        # One backward per step without stale gradients suffices: another may belong to another optimizer.
        stale = stale and any(p.grad is not None and p.grad.count_nonzero() for p in parameters_of(self.optimizer))
        self._backward = heads, stale

    # ---- the optimizer

    def _before_step(self, optimizer, args, kwargs):
        self.optimizer = self.optimizer or optimizer
        if optimizer is not self.optimizer or self._call is None:
            return
        module, inputs, outputs = self._call
        self.model = self.model or module
        step = Step(inputs, outputs, module.training, self.loss)
        if self._backward is not None:
            step.heads, step.stale_gradients = self._backward
        with no_grad():
            for name, p in self.model.named_parameters():
                step.grads[name] = None if p.grad is None else p.grad.norm().item()
                step.weights[name] = p.norm().item()
            self._old = {name: p.detach().clone() for name, p in self.model.named_parameters()}
        self.steps.append(step)
        self._backward = self._pass = None

    @no_grad()
    def _after_step(self, optimizer, args, kwargs):
        if optimizer is not self.optimizer or not self._old:
            return
        now = dict(self.model.named_parameters())
        self.steps[-1].updates = {n: (now[n] - old).norm().item() for n, old in self._old.items() if n in now}
        self._old = {}
        if self._enough is not None and len(self.steps) >= self._enough:
            raise Enough


def parameters_of(optimizer):
    """The parameters of an optimizer."""
    return [p for group in optimizer.param_groups for p in group["params"]]


def heads_of(root, depth=6):
    """(node, its inputs) for the nodes near a loss, skipping those that only reshape."""
    found, level = [], [root]
    for _ in range(depth):
        edges = [(node, follow(target)) for node in level for target, _ in node.next_functions if target is not None]
        found += [(name_of(node), name_of(target)) for node, target in edges]
        level = [target for _, target in edges]
    return found


def follow(node):
    """The first node from here on that does more than reshape."""
    while name_of(node) in PASS_THROUGH and node.next_functions and node.next_functions[0][0] is not None:
        node = node.next_functions[0][0]
    return node
