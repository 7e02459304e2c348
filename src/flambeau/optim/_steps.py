"""The step over lists of parameters: step counts are incremented, then one kernel call updates parameters and state.

The formulas are in ``engines/_updates.py``. Kernels apply them in place; a ``differentiable`` step applies them to
tensors and records them.
"""

from types import SimpleNamespace

from .._dtypes import float32, float64, get_default_dtype
from .._modes import modes
from .._tensor import Tensor, engine_for, wrap
from ..autograd._writes import assign, check_writable, snapshot, write, write_all
from ..engines import engine_of
from ..engines._updates import FORMULAS
from ..functions.complex import view_as_real
from ..functions.creation import zeros, zeros_like
from ..functions.elementary import sqrt  # type: ignore[attr-defined]  # made in a loop
from ..functions.pointwise import abs, clamp, maximum, sign, where

TENSORS = SimpleNamespace(abs=abs, clip=clamp, maximum=maximum, sign=sign, sqrt=sqrt, where=where)


# ---- numbers


def number_of(x):
    """The value of a setting as a number, or the tensor itself in a trace."""
    return engine_for(x).number(x._a) if isinstance(x, Tensor) else x


def numbers_of(differentiable, *settings):
    """Settings as numbers, or as tensors if the step is recorded."""
    return settings if differentiable else [number_of(x) for x in settings]


def is_nonzero(x):
    """Whether a setting is nonzero; assumed for tensors."""
    return isinstance(x, Tensor) or x != 0


def larger(x, y):
    """The maximum of two numbers, either of which may be traced."""
    if isinstance(x, (int, float)) and isinstance(y, (int, float)):
        return max(x, y)
    k = engine_of(x, y)
    return k.maximum(k.operand(x), k.operand(y))


def smaller(x, y):
    """The minimum of two numbers, either of which may be traced."""
    return -larger(-x, -y)


def as_factor(x, device=None):
    """A number in a form that tensors on `device` can be multiplied by."""
    return x if isinstance(x, (int, float)) else wrap(x, device)


def choose(holds, x, y):
    """x if `holds`, otherwise y; for a traced condition too."""
    if isinstance(holds, bool):
        return x if holds else y
    k = engine_of(holds)
    return k.where(holds, k.operand(x), k.operand(y))


def put_number(t, value):
    """Stores `value` in a one-element tensor."""
    check_writable(t)
    write(t, "fill_", engine_for(t).fill, value)


def scale_number(t, factor):
    """Scales a one-element tensor, in its precision."""
    t.mul_(as_factor(factor, t.device))


def advance(steps):
    """Increments step counts and returns them as numbers. In a trace, equal counts share one number."""
    counts, known = [], {}
    for step in steps:
        number = modes.tracer.common_number(step)
        if number is None:
            count = number_of(step) + 1
        else:
            if id(number) not in known:
                known[id(number)] = number, number + 1
            _, count = known[id(number)]
        put_number(step, count)
        counts.append(count)
    return counts


def per_step(counts, compute):
    """``compute(count)``, a tuple of numbers, for each count; equal counts share one call."""
    known, rows = {}, []
    for count in counts:
        key = count if isinstance(count, float) else id(count)
        if key not in known:
            known[key] = compute(count)
        rows.append(known[key])
    return rows


# ---- state


def new_count(p=None):
    """A zero step count, on the parameter's device if given: a tensor, so that compiled steps take it as an input."""
    dtype = float64 if get_default_dtype() is float64 else float32
    return zeros((), dtype=dtype, device=None if p is None else p.device)


def new_like(p):
    """Zeros with the memory layout of the parameter."""
    return zeros_like(p)


def as_real(t):
    """The tensor; a complex one is viewed as pairs of reals."""
    return view_as_real(t) if t.is_complex() else t


# ---- the step


def unscale(grads, grad_scale, found_inf):
    """Divides the gradients by `grad_scale`; returns None if the step is skipped because of `found_inf`."""
    if found_inf is not None and found_inf.item():
        return None
    return grads if grad_scale is None else [g / grad_scale for g in grads]


def apply(name, lists, grads, numbers, flags, differentiable=False):
    """Applies a formula to parameters and their state.

    Args:
        name: the kernel.
        lists: the parameters, then each kind of state of the formula.
        grads: the gradients.
        numbers: the numbers of the formula, per parameter.
        flags: which optional parts of the formula apply.
        differentiable: whether to record the step.
    """
    if not grads:
        return
    if any([p.is_complex() for p in lists[0]]):
        lists, grads = [[as_real(t) for t in tensors] for tensors in lists], [as_real(g) for g in grads]
    if differentiable:
        record(FORMULAS[name], lists, grads, numbers, flags)
        return
    for tensors in lists:
        for t in tensors:
            check_writable(t)
    for engine, places in by_engine(lists[0]):
        chosen = lists if places is None else [[tensors[i] for i in places] for tensors in lists]
        own_grads = [g._a for g in grads] if places is None else [grads[i]._a for i in places]
        rows = numbers if places is None else [numbers[i] for i in places]
        write_all(chosen, name, getattr(engine, name), own_grads, rows, flags)


def by_engine(params):
    """Groups parameters by engine: (engine, their indices in the list); None means all."""
    engines = [engine_for(p) for p in params]
    found = set(engines)
    if len(found) == 1:
        return [(engines[0], None)]
    return [(engine, [i for i, own in enumerate(engines) if own is engine]) for engine in found]


def record(formula, lists, grads, numbers, flags):
    """Applies a formula to tensors, recorded by autograd."""
    for own, g, row in zip(zip(*lists, strict=True), grads, numbers, strict=True):
        row = [x if isinstance(x, Tensor) else as_factor(x) for x in row]
        new = formula(TENSORS, g, row, flags, *[snapshot(t) for t in own])
        for t, value in zip(own, new, strict=True):
            check_writable(t)
            assign(t, value, "copy_")
