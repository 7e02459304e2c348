"""The functions that ops are: each op's call, with its common case in line.

In line is the call on NumPy arrays that need no promotion: for a small tensor the way to the kernel costs more than the
kernel. Everything else goes to ``Op.call``, which knows all cases and gives the same results.
"""

from __future__ import annotations

import numpy as np

from .._cells import share
from .._modes import ever, modes
from .._tensor import Tensor, View, refresh, storage_of
from ..engines import NUMPY, engine_of
from ..engines.numpy.base import silently
from ._errors import translated

_ndarray = np.ndarray
_asarray = np.asarray
_ascontiguousarray = np.ascontiguousarray
_new = object.__new__
_ONE = (True,)
_float32 = np.dtype(np.float32)
_int64 = np.dtype(np.int64)


def call_of(spec, kernel=None):
    """The function of an op; `kernel` names the kernel that is its whole forward."""
    inputs = len(spec.inputs) if spec.variadic is None else 0
    if inputs == 1 and not spec.settings:
        return one_input(spec, kernel)
    if inputs == 1:
        return one_input_with_settings(spec)
    if inputs == 2 and not spec.settings and spec.promote is not None:
        return two_inputs(spec, kernel, spec.__call__)
    return lambda *inputs, **settings: spec.call(inputs, settings)


def bound(spec, kernel):
    """The forward with the NumPy engine in place."""
    if kernel is not None:
        return getattr(NUMPY, kernel)
    forward = spec.forward
    return lambda *arrays: forward(NUMPY, *arrays)


def one_input(spec, kernel):
    forward, lowest, highest = spec.forward, spec.lowest, spec.highest
    run = plan = None

    def call(x):
        nonlocal run, plan
        if not isinstance(x, Tensor):
            return forward(NUMPY if type(x) is _ndarray else engine_of(x), x)
        a = x._a
        if type(a) is not _ndarray or not (a.dtype is _float32 or lowest <= a.dtype.num <= highest):
            return spec.call((x,), {})
        if x._view is not None:
            refresh(x)
        if run is None:
            run = bound(spec, kernel)
        try:
            r = silently(run, a)
        except Exception as error:
            r = spec.failed(error, (a,), {})
        if type(r) is not _ndarray:
            if type(r) is tuple:
                return spec.wrapped((x,), (a,), r, {}, x._rg)
            r = _asarray(r)
        t = _new(Tensor)
        t._a = r
        t._storage = t._view = t._grad = t._hooks = t._node = None
        t._nr = 0
        t._rg = False
        if x._rg and modes.grad:
            if plan is None:
                plan = spec.plan(_ONE)
            plan.record_one(x, a, r, t, None)
        if ever.inference and modes.grad is None:
            storage_of(t).inference = True
        return t

    return call


def one_input_with_settings(spec):
    forward, lowest, highest, row_major = spec.forward, spec.lowest, spec.highest, spec.row_major
    plan = None

    def call(x, **settings):
        nonlocal plan
        if not isinstance(x, Tensor):
            return forward(NUMPY if type(x) is _ndarray else engine_of(x), x, **settings)
        a = x._a
        if type(a) is not _ndarray or not (a.dtype is _float32 or lowest <= a.dtype.num <= highest):
            return spec.call((x,), settings)
        if x._view is not None:
            refresh(x)
        try:
            r = silently(forward, NUMPY, a, **settings)
        except Exception as error:
            r = spec.failed(error, (a,), settings)
        if type(r) is not _ndarray:
            if type(r) is tuple:
                return spec.wrapped((x,), (a,), r, settings, x._rg)
            r = _asarray(r)
        elif row_major and not r.flags.c_contiguous:
            r = _ascontiguousarray(r)
        t = _new(Tensor)
        t._a = r
        t._storage = t._view = t._grad = t._hooks = t._node = None
        t._nr = 0
        t._rg = False
        if x._rg and modes.grad:
            if plan is None:
                plan = spec.plan(_ONE)
            plan.record_one(x, a, r, t, settings)
        if ever.inference and modes.grad is None:
            storage_of(t).inference = True
        return t

    return call


def two_inputs(spec, kernel, otherwise):
    """In line are arrays of one dtype, and an array with a number; `otherwise` takes the rest."""
    lowest, highest = spec.lowest, spec.highest
    integers = lowest < 11
    run, is_ufunc = None, False
    plans = [None] * 4
    constant = (None, None, None)  # the last number, a dtype, and the number as an array of it

    def call(x, y):
        nonlocal run, is_ufunc, constant
        try:
            a = x._a
            dtype = a.dtype
            if type(y) is float or type(y) is int:
                if not 11 <= dtype.num <= 13 and not (integers and type(y) is int and dtype is _int64):
                    return otherwise(x, y)
                b, y_rg = y, False
                if is_ufunc:  # which takes its time to convert a number
                    number, its_dtype, b = constant
                    if number is not y or its_dtype is not dtype:
                        b = as_constant(y, dtype)
                        constant = (y, dtype, b)
            else:
                b = y._a
                if dtype is not b.dtype or type(b) is not _ndarray:
                    return otherwise(x, y)
                if dtype is not _float32 and not lowest <= dtype.num <= highest:
                    return otherwise(x, y)
                if y._view is not None:
                    refresh(y)
                y_rg = y._rg
            if type(a) is not _ndarray:
                return otherwise(x, y)
        except AttributeError:
            return otherwise(x, y)
        if x._view is not None:
            refresh(x)
        if run is None:
            run = bound(spec, kernel)
            is_ufunc = isinstance(run, np.ufunc)
        try:
            r = silently(run, a, b)
        except OverflowError:  # an int beyond int64
            return otherwise(x, y)
        except Exception as error:
            r = spec.failed(error, (a, b), {})
        if type(r) is not _ndarray:
            r = _asarray(r)
        t = _new(Tensor)
        t._a = r
        t._storage = t._view = t._grad = t._hooks = t._node = None
        t._nr = 0
        t._rg = False
        x_rg = x._rg
        if (x_rg or y_rg) and modes.grad:
            plan = plans[x_rg + 2 * y_rg]
            if plan is None:
                plan = plans[x_rg + 2 * y_rg] = spec.plan((x_rg, y_rg))
            plan.record_two(x, y, a, b, r, t)
        if ever.inference and modes.grad is None:
            storage_of(t).inference = True
        return t

    return call


def as_constant(number, dtype):
    """A number as a 0-dimensional array; as it is where it does not fit."""
    try:
        return silently(np.array, number, dtype)
    except (OverflowError, RuntimeError):
        return number


def view_of(spec):
    """The call of an op whose result aliases its input."""
    forward = spec.forward

    def call(x, **settings):
        if not isinstance(x, Tensor):
            return forward(NUMPY if type(x) is _ndarray else engine_of(x), x, **settings)
        a = x._a
        try:
            r = forward(NUMPY if type(a) is _ndarray else engine_of(a), a, **settings)
        except Exception as error:
            raise translated(spec, error, (a,), settings) from error
        return made(x, a, r, settings)

    plan = None

    def made(x, a, r, settings):
        """The tensors over `r`, what the forward made of `a`, the array of x."""
        nonlocal plan
        above, grad = x._view, modes.grad
        if above is not None:
            refresh(x)
        if type(r) is tuple:
            return spec.wrapped((x,), (a,), r, settings, x._rg)
        storage = x._storage
        if storage is None:
            storage = storage_of(x)
        view = View()
        view.step = (call, settings, None)
        view.version = storage.version
        view.parent = above
        if above is None:
            view.base = x
            view.origin = None if grad else "no_grad" if grad is False else "inference"
        else:
            view.base = above.base
            view.origin = above.origin if grad else "no_grad" if grad is False else "inference"
        t = _new(Tensor)
        t._a = r
        t._storage = storage
        t._view = view
        t._grad = t._hooks = t._node = None
        t._nr = 0
        t._rg = False
        if type(r) is not _ndarray:
            share(t, x, view.step)
        if grad and x._rg:
            if plan is None:
                plan = spec.plan(_ONE)
            plan.record_one(x, a, r, t, settings)
        return t

    call.made = made
    return call
