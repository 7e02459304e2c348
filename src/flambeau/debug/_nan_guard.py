"""Finds the origin of the first non-finite value, in forward or backward."""

from __future__ import annotations

import numpy as np

from .._modes import modes, no_grad
from .._tape import frames_of, name_of
from .._tensor import LEAF, Tensor, wrap
from ..random import get_all_states, set_all_states
from ._module_calls import ModuleCalls
from ._observer import OpObserver, user_line_of
from ._values import array_is_finite, describe, is_finite, tensors_in

__all__ = ["NonFiniteError", "nan_guard"]

_looking: list[nan_guard] = []  # the active guards; the last one checks gradients
_before: list = []  # the settings from before the first of them

IN_FORWARD = "a non-finite value appears in the forward of {module}"
IN_BACKWARD = "a non-finite gradient appears in the backward of {module}"
FROM_OUTSIDE = "the model is called with a non-finite input: {input}"
NOT_AGAIN = IN_FORWARD + (
    ": its output is {output}. When repeated to find the op, the forward was finite: it is not deterministic"
)


class NonFiniteError(RuntimeError):
    """A NaN or an infinity was found.

    Attributes:
        module: the path of the module it occurred in; ``""`` is the model itself, None is outside of it.
        op: the op, or in backward the node.
        parameter: the name of the parameter that, or whose gradient, is not finite.
        line: the user's line of code, as a ``traceback.FrameSummary``.
    """

    def __init__(self, message, module=None, op=None, parameter=None, line=None):
        super().__init__(message)
        self.module, self.op, self.parameter, self.line = module, op, parameter, line


class nan_guard:
    """Raises at the first NaN or infinity that a model computes, and reports its origin.

    It is active from construction until ``remove()``, the end of its ``with`` block, or an error. The outputs of all
    modules are checked, and all gradients. If one is not finite, the forward is repeated with the same random numbers
    while every op is checked, which also repeats its side effects, such as counters.

    Args:
        model: the model to watch.
        backward: whether to check gradients. A ``GradScaler`` makes gradients overflow on purpose.

    Example::

        >>> net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        >>> _ = nn.init.constant_(net[0].weight, float("inf"))
        >>> with flambeau.debug.nan_guard(net):
        ...     net(flambeau.ones(1, 2))
        Traceback (most recent call last):
        flambeau.debug.NonFiniteError: a non-finite value appears in the forward of 0 = Linear(...)...
    """

    def __init__(self, model, backward=True):
        self._model = model
        self._paths = {module: path for path, module in model.named_modules()}
        self._calls = ModuleCalls()
        self._first_bad = None  # the first bad op, while the forward is repeated
        self._again = False
        self._handles = []
        for module in self._paths:
            self._handles += [
                module.register_forward_pre_hook(self._enter, with_kwargs=True),
                module.register_forward_hook(self._leave, always_call=True),
            ]
        if backward:
            self._look_at_gradients()

    def remove(self):
        """Removes the guard from the model."""
        handles, self._handles = self._handles, []
        for handle in handles:
            handle.remove()
        if self in _looking:
            self._look_away()

    def _look_at_gradients(self):
        if not _looking:
            _before[:] = modes.anomaly, modes.anomaly_check_nan, modes.gradient_check
        _looking.append(self)
        modes.set_anomaly(True, False)
        modes.gradient_check = self._check_gradients

    def _look_away(self):
        """Deactivates the guard; guards may be removed in any order."""
        _looking.remove(self)
        if _looking:
            modes.gradient_check = _looking[-1]._check_gradients
        else:
            *anomaly, modes.gradient_check = _before
            modes.set_anomaly(*anomaly)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()

    # ---- forward

    def _enter(self, module, args, kwargs):
        if not self._calls.open and not self._again:
            self._root = module, args, kwargs, get_all_states()
        self._calls.enter(self._paths[module])

    def _leave(self, module, args, output):
        self._calls.leave()
        if not self._again and output is not None and not all(map(is_finite, tensors_in(output))):
            raise self._fail(self._forward_error(module, output))

    def _fail(self, error):
        self.remove()
        return error

    def _forward_error(self, module, output):
        root, args, kwargs, state = self._root
        for t in tensors_in((args, kwargs)):
            if not is_finite(t):
                return NonFiniteError(FROM_OUTSIDE.format(input=describe(t)), self._paths[root])
        self._run_again(root, args, kwargs, state)
        if self._first_bad is None:
            path = self._paths[module]
            bad = next(t for t in tensors_in(output) if not is_finite(t))
            return NonFiniteError(NOT_AGAIN.format(module=self._name(path), output=describe(bad)), path)
        path, call = self._first_bad
        parameter = self._bad_parameter(call.inputs)
        lines = [IN_FORWARD.format(module=self._name(path)), f"op: {call.name}", *place(call.line)]
        lines += [f"input {i}: {describe(t)}" for i, t in enumerate(call.inputs)]
        lines += [f"output: {describe(t)}" for t in tensors_in(call.result)]
        if parameter is not None:
            lines.append(f"the parameter {parameter} is not finite itself")
        return NonFiniteError("\n  ".join(lines), path, call.name, parameter, call.line)

    def _run_again(self, root, args, kwargs, state):
        """Repeats a forward while checking every op, then restores buffers and random state."""
        buffers = [(b, b.clone()) for b in root.buffers()]
        now = get_all_states()
        set_all_states(state)
        self._again, self._calls = True, ModuleCalls()
        try:
            with no_grad(), OpObserver(self._look):
                root(*args, **kwargs)
        finally:
            self._again = False
            set_all_states(now)
            with no_grad():
                for buffer, value in buffers:
                    buffer.copy_(value)

    def _look(self, call):
        if self._first_bad is None and not all(map(is_finite, tensors_in(call.result))):
            self._first_bad = self._calls.innermost(), call

    def _bad_parameter(self, inputs):
        names = {id(p): name for name, p in self._model.named_parameters()}
        return next((names[id(t)] for t in inputs if id(t) in names and not is_finite(t)), None)

    # ---- backward

    def _check_gradients(self, node, results):
        for grad, edge in zip(results, node._edges):
            if grad is not None and edge is not None:
                array = grad._a if isinstance(grad, Tensor) else grad
                array = np.asarray(array) if isinstance(array, np.generic) else array
                if not array_is_finite(array):
                    raise self._fail(self._backward_error(node, wrap(array), edge))

    def _backward_error(self, node, grad, edge):
        path = self._calls.at(node._seq)
        names = {id(p): name for name, p in self._model.named_parameters()}
        parameter = names.get(id(edge[0])) if edge[1] == LEAF else None
        line = user_line_of(frames_of(node._trace)) if node._trace else None
        lines = [IN_BACKWARD.format(module=self._name(path)), f"node: {name_of(node)}", *place(line)]
        lines.append(f"gradient{'' if parameter is None else ' of ' + parameter}: {describe(grad)}")
        return NonFiniteError("\n  ".join(lines), path, name_of(node), parameter, line)

    def _name(self, path):
        if path is None:
            return "a function outside of the model"
        module = self._model.get_submodule(path)
        text = f"{type(module).__name__}({module.extra_repr()})"
        return f"{path} = {text}" if path else f"the model itself, {type(module).__name__}"


def place(line):
    """The part of a message that quotes the code of a call."""
    if line is None:
        return []
    return [f"line: {line.filename}:{line.lineno} in {line.name}: {line.line}"]
