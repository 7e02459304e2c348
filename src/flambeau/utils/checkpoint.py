"""Activation checkpointing: saved tensors are dropped and recomputed in backward."""

from __future__ import annotations

import contextlib
import warnings
import weakref

from .._modes import enable_grad, modes, no_grad
from .._tensor import Tensor
from ..autograd import Function, backward
from ..autograd.graph import saved_tensors_hooks
from ..functions.creation import empty
from ..nn.modules.container import Sequential
from ..random import fork_rng, get_all_states, set_all_states

__all__ = ["CheckpointError", "CheckpointFunction", "check_backward_validity", "checkpoint", "checkpoint_sequential",
           "detach_variable", "noop_context_fn", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop"]

SAY_IT = (
    "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. use_reentrant=False is "
    "recommended; if you need the other variant, pass use_reentrant=True."
)
UNEXPECTED = "Unexpected keyword arguments: {names}"
NOT_REENTRANT = "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
NO_GRADIENTS = "None of the inputs have requires_grad=True. Gradients will be None"
NOT_NECESSARY = "none of output has requires_grad=True, this checkpoint() is not necessary"
NO_CAPTURES = (
    "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
    ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing "
    "the `inputs` argument."
)
CHECKS = ("default", "none")
UNKNOWN_CHECK = "determinism_check should be one of ['default', 'none'], but got {name}"
FEWER = (
    "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
    "Number of tensors saved during forward: {saved}\n"
    "Number of tensors saved during recomputation: {recomputed}.\n"
    "The function must do the same when it is called again: it must not depend on what changes in between."
)
MORE = (
    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original forward pass.\n"
    "The function must do the same when it is called again: it must not depend on what changes in between."
)
OTHER_METADATA = (
    "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
    "forward pass.\n{tensors}"
)
OTHER_TENSOR = "tensor at position {i}:\nsaved metadata: {saved}\nrecomputed metadata: {recomputed}\n"
SEGMENTS = "checkpoint_sequential(): segments must be from 1 to the number of functions, {count}, but got {segments}"

_early_stop = True
_debug: bool | None = None


class CheckpointError(RuntimeError):
    """The recomputation did not do the same as the original call."""


def noop_context_fn():
    """Two null contexts: for the forward and for the recomputation."""
    return contextlib.nullcontext(), contextlib.nullcontext()


@contextlib.contextmanager
def set_checkpoint_early_stop(enable):
    """Sets whether checkpoints made in this context stop recomputing at the last tensor that backward needs."""
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled):
    """Sets ``debug`` for all checkpoints in this context; None leaves it to them."""
    global _debug
    before, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = before


def checkpoint(function, *args, use_reentrant=None, context_fn=noop_context_fn, determinism_check="default",
               debug=False, early_stop=True, **kwargs):
    """Calls ``function(*args, **kwargs)`` and saves only its inputs; backward calls it again.

    Args:
        use_reentrant: False keeps the graph of the call and recomputes saved tensors when backward needs them. True
            records a single node, whose backward calls the function again and runs a nested backward; it supports
            neither keyword arguments nor ``autograd.grad``.
        context_fn: returns two context managers, for the call and for its recomputation.
        determinism_check: ``"default"`` compares shapes, dtypes and devices of recomputed and original tensors;
            ``"none"`` skips the check.
        debug: lists in errors the tensors saved both times.
        early_stop: whether recomputation stops at the last tensor that backward needs.
        preserve_rng_state: whether to restore the random state of the call; True by default.

    A compiled function always recomputes without reentrance, behind a barrier that keeps XLA from merging both
    computations. (XLA's CPU compiler may still merge them.)

    Example::

        >>> x = flambeau.tensor([1.0, 2.0], requires_grad=True)
        >>> y = flambeau.utils.checkpoint.checkpoint(lambda x: x.exp().log(), x, use_reentrant=False)
        >>> y.sum().backward()
        >>> x.grad
        tensor([1., 1.])
    """
    if use_reentrant is None:
        warnings.warn(SAY_IT, stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError(UNEXPECTED.format(names=",".join(kwargs)))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError(NOT_REENTRANT)
        check_backward_validity(args)
        if not modes.tracer.active:  # a compiled program has a single backward
            return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in CHECKS:
        raise ValueError(UNKNOWN_CHECK.format(name=determinism_check))
    during, again = context_fn()
    if not modes.grad:
        with during:
            return function(*args, **kwargs)
    call = _Call(function, args, kwargs, preserve, again)
    frame = _Frame(call, early_stop and _early_stop, determinism_check, debug if _debug is None else _debug)
    with saved_tensors_hooks(frame.pack, frame.unpack), during:
        return function(*args, **kwargs)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """Runs functions in sequence, in `segments` checkpoints; the last segment is not checkpointed.

    Example::

        >>> model = nn.Sequential(*[nn.Linear(2, 2) for _ in range(4)])
        >>> x = flambeau.ones(1, 2)
        >>> y = flambeau.utils.checkpoint.checkpoint_sequential(model, 2, x, use_reentrant=False)
        >>> flambeau.equal(y, model(x))
        True
    """
    if use_reentrant is None:
        warnings.warn(SAY_IT.replace("checkpoint:", "checkpoint.checkpoint_sequential:"), stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(UNEXPECTED.format(names=",".join(kwargs)))
    functions = list(functions.children()) if isinstance(functions, Sequential) else list(functions)
    if not 1 <= segments <= len(functions):
        raise ValueError(SEGMENTS.format(count=len(functions), segments=segments))
    size = len(functions) // segments
    for start in range(0, size * (segments - 1), size):
        run = _run_in_turn(functions[start : start + size])
        input = checkpoint(run, input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return _run_in_turn(functions[size * (segments - 1) :])(input)


def _run_in_turn(functions):
    def run(input):
        for function in functions:
            input = function(input)
        return input

    return run


# ---- calling again


class _Call:
    """A repeatable call of the user's function, with its random state and autocast settings."""

    def __init__(self, function, args, kwargs, preserve_rng, context):
        self.function = function
        self.keys = tuple(kwargs)
        self.inputs = _SavedInputs.save(*args, *kwargs.values())
        self.count = len(args)
        self.context = context
        self.random_state = _random_state() if preserve_rng else None
        self.casts = modes.autocast

    def __call__(self):
        values = self.inputs.values()
        args, kwargs = values[: self.count], dict(zip(self.keys, values[self.count :], strict=True))
        with _restored_state(self.random_state, self.casts), enable_grad(), self.context:
            return self.function(*args, **kwargs)


def _random_state():
    """The state from which ``_random_numbers`` repeats subsequent draws."""
    return modes.tracer.mark_draws() if modes.tracer.active else get_all_states()


@contextlib.contextmanager
def _random_numbers(state):
    """Repeats the random numbers of an earlier state; None leaves the generator alone."""
    if modes.tracer.active:
        with modes.tracer.draws_again(state) if state is not None else contextlib.nullcontext():
            yield
        return
    with fork_rng(enabled=state is not None):
        if state is not None:
            set_all_states(state)
        yield


@contextlib.contextmanager
def _restored_state(random_state, casts):
    """Restores the random state and autocast settings of a call."""
    now = modes.autocast
    with _random_numbers(random_state):
        modes.set_autocast(casts and casts.with_empty_cache())
        try:
            yield
        finally:
            modes.set_autocast(now)


class _SavedInputs(Function):
    """Saves tensors on a graph node, so that in-place writes are detected and an outer checkpoint can drop them."""

    @staticmethod
    def forward(ctx, _, *tensors):
        ctx.save_for_backward(*tensors)
        return empty(0)

    @staticmethod
    def backward(ctx, *grads):
        raise AssertionError("nothing depends on this node")

    @staticmethod
    def save(*values):
        """Saves `values`, tensors detached; the ``values()`` of the returned object restores them."""
        places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
        with enable_grad():
            node = _SavedInputs.apply(empty(0, requires_grad=True), *[values[i] for i in places]).grad_fn
        rest = [None if isinstance(value, Tensor) else value for value in values]
        return _SavedValues(node, places, rest)


class _SavedValues:
    def __init__(self, node, places, rest):
        self.node, self.places, self.rest = node, places, rest

    def values(self):
        found = list(self.rest)
        for i, t in zip(self.places, self.node.saved_tensors, strict=True):
            found[i] = modes.tracer.begin_recomputation(t.detach().requires_grad_(t.requires_grad))
        return found


# ---- without reentering backward


class _Holder:
    """Replaces a saved tensor on a node."""

    __slots__ = ("__weakref__",)


class _Stop(BaseException):
    """Ends a recomputation early; a BaseException, so that no ``except Exception`` of the user's catches it."""


class _Frame:
    """A checkpoint: the holders of the tensors its call saved, and the recomputed tensors of each backward pass.

    Nodes own the holders. Recomputed tensors live as long as both their holder and the backward pass.
    """

    def __init__(self, call, early_stop, determinism_check, debug):
        self.call = call
        self.early_stop = early_stop
        self.determinism_check = determinism_check
        self.debug = debug
        self.holders = []  # weak references, in the order of saving
        self.saved = []  # metadata of the tensors
        self.passes = weakref.WeakKeyDictionary()  # backward pass -> {holder: tensor}

    def pack(self, t):
        holder = _Holder()
        self.holders.append(weakref.ref(holder))
        self.saved.append(_metadata(t))
        return holder

    def unpack(self, holder):
        running = modes.running
        if running is None:  # a saved tensor is read outside backward
            return self.recompute()[holder]
        if running not in self.passes:
            self.passes[running] = self.recompute()
        return self.passes[running][holder]

    def recompute(self):
        """Calls the function again; returns the recomputed tensors by holder."""
        found, metadata = weakref.WeakKeyDictionary(), []

        def pack(t):
            i = len(metadata)
            metadata.append(_metadata(t))
            if i >= len(self.holders):
                raise CheckpointError(MORE)
            holder = self.holders[i]()
            if holder is not None:
                found[holder] = t.detach()
            if self.early_stop and i + 1 == len(self.holders):
                raise _Stop
            return t.detach()

        with contextlib.suppress(_Stop), saved_tensors_hooks(pack, lambda t: t):
            self.call()
        self.check(metadata)
        return found

    def check(self, metadata):
        """Raises unless the recomputed tensors match the saved ones in number and metadata."""
        if len(metadata) != len(self.saved):
            raise CheckpointError(self.with_details(
                FEWER.format(saved=len(self.saved), recomputed=len(metadata)), metadata,
            ))
        if self.determinism_check == "none":
            return
        pairs = enumerate(zip(self.saved, metadata, strict=True))
        wrong = [OTHER_TENSOR.format(i=i, saved=a, recomputed=b) for i, (a, b) in pairs if a != b]
        if wrong:
            raise CheckpointError(self.with_details(OTHER_METADATA.format(tensors="".join(wrong)), metadata))

    def with_details(self, message, metadata):
        if not self.debug:
            return message
        lists = "\n".join(
            f"{when}:\n" + "".join(f"  {i}: {entry}\n" for i, entry in enumerate(entries))
            for when, entries in (("Saved in the forward", self.saved), ("Saved in the recomputation", metadata))
        )
        return f"{message}\n{lists}"


def _metadata(t):
    return {"shape": t.shape, "dtype": t.dtype, "device": t.device}


# ---- by a backward inside of backward


def detach_variable(inputs):
    """The values with tensors detached, keeping ``requires_grad``."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple([
        value.detach().requires_grad_(value.requires_grad) if isinstance(value, Tensor) else value for value in inputs
    ])


def check_backward_validity(inputs):
    """Warns if no input requires grad."""
    if not any(t.requires_grad for t in inputs if isinstance(t, Tensor)):
        warnings.warn(NO_GRADIENTS, stacklevel=3)


class CheckpointFunction(Function):
    """A single node for a call, whose backward repeats the call and runs a nested backward."""

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        ctx.run_function = run_function
        ctx.random_state = _random_state() if preserve_rng_state else None
        ctx.casts = modes.autocast
        ctx.places = [i for i, value in enumerate(args) if isinstance(value, Tensor)]
        ctx.rest = [None if isinstance(value, Tensor) else value for value in args]
        ctx.save_for_backward(*[args[i] for i in ctx.places])
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx, *grads):
        if modes.running.captures is not None:
            raise RuntimeError(NO_CAPTURES)
        args = list(ctx.rest)
        for i, t in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[i] = t
        args = detach_variable(tuple(args))
        with _restored_state(ctx.random_state, ctx.casts), enable_grad():
            outputs = ctx.run_function(*args)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        pairs = [(o, g) for o, g in zip(outputs, grads, strict=True) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError(NOT_NECESSARY)
        backward(*zip(*pairs, strict=True))
        return None, None, *[value.grad if isinstance(value, Tensor) else None for value in args]
