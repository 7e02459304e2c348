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
_float32 = np.dtype(np.float32)
_int64 = np.dtype(np.int64)


def call_of(spec, kernel=None):
    """The function of an op; `kernel` names the kernel that is its whole forward."""
    if spec.several:
        return several_inputs(spec)
    if len(spec.inputs) == 2:
        return two_inputs(spec, kernel, spec.__call__)
    return one_input_with_settings(spec) if spec.settings else one_input(spec, kernel)


def bound(spec, kernel):
    """The forward with the NumPy engine in place."""
    if kernel is not None:
        return getattr(NUMPY, kernel)
    forward = spec.forward
    return (lambda a: forward(NUMPY, a)) if len(spec.inputs) == 1 else (lambda a, b: forward(NUMPY, a, b))


def one_input(spec, kernel):
    forward, lowest, highest = spec.forward, spec.lowest, spec.highest
    run = record = None

    def call(x):
        nonlocal run, record
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
            if ever.watched and modes.watched:
                spec.record((x,), (a,), r, t, None)
            else:
                if record is None:
                    record = spec.recorder((x,), 1)
                record(x, a, r, t, None)
        if ever.inference and modes.grad is None:
            storage_of(t).inference = True
        return t

    return call


def one_input_with_settings(spec):
    forward, lowest, highest, row_major = spec.forward, spec.lowest, spec.highest, spec.row_major
    record = None

    def call(x, **settings):
        nonlocal record
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
            if ever.watched and modes.watched:
                spec.record((x,), (a,), r, t, settings)
            else:
                if record is None:
                    record = spec.recorder((x,), 1)
                record(x, a, r, t, settings)
        if ever.inference and modes.grad is None:
            storage_of(t).inference = True
        return t

    return call


def two_inputs(spec, kernel, otherwise):
    """In line are arrays of one dtype, and an array with a number; `otherwise` takes the rest."""
    forward, lowest, highest = spec.forward, spec.lowest, spec.highest
    integers = lowest < 11
    run, is_ufunc = None, False
    recorders = spec.recorders
    constant = (None, None, None)  # the last number, a dtype, and the number as an array of it

    def call(input, other):  # by these names the users of the operators know them
        nonlocal run, is_ufunc, constant
        x, y = input, other
        if type(x) is _ndarray and not isinstance(y, Tensor):
            return forward(NUMPY, x, y)
        try:
            a = x._a
            dtype = a.dtype
            if type(y) is float or type(y) is int:
                if not 11 <= dtype.num <= 13 and not (integers and type(y) is int and dtype is _int64):
                    return otherwise(x, y)
                b, y_rg, is_number = y, False, True
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
                y_rg, is_number = y._rg, False
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
            if ever.watched and modes.watched:
                spec.record((x, y), (a, y if is_number else b), r, t, None)
            else:
                key = 4 if is_number else x_rg + 2 * y_rg
                record = recorders.get(key)
                if record is None:
                    record = spec.recorder((x, y), key)
                record(x, y, a, b, r, t, None)
        if ever.inference and modes.grad is None:
            storage_of(t).inference = True
        return t

    call.falling_back_to = lambda other: two_inputs(spec, kernel, other)
    return call


def several_inputs(spec):
    """In line are ops that leave dtypes alone, and others on float32."""
    forward, row_major = spec.forward, spec.row_major
    choosy = spec.promote is not None or spec.opmath or spec.refuses

    def call(*inputs, **settings):
        arrays, recording, tensors, key = [], False, False, 1
        for x in inputs:
            if isinstance(x, Tensor):
                a = x._a
                if type(a) is not _ndarray or (choosy and a.dtype is not _float32):
                    return spec.call(inputs, settings)
                if x._view is not None:
                    refresh(x)
                key *= 3
                if x._rg:
                    recording = True
                    key += 1
                tensors = True
                arrays.append(a)
            elif choosy and not (x is None or type(x) is float or type(x) is int):
                return spec.call(inputs, settings)
            else:
                key = 3 * key + 2
                arrays.append(x)
        if not tensors:
            return forward(engine_of(*inputs), *inputs, **settings)
        if spec.check is not None and not choosy:  # of float32 it can only complain where the forward fails
            spec.check(*arrays)
        try:
            r = silently(forward, NUMPY, *arrays, **settings) if settings else silently(forward, NUMPY, *arrays)
        except Exception as error:
            r = spec.failed(error, arrays, settings)
        if type(r) is not _ndarray:
            if type(r) is tuple:
                return spec.wrapped(inputs, arrays, r, settings, recording)
            r = _asarray(r)
        elif row_major and not r.flags.c_contiguous:
            r = _ascontiguousarray(r)
        t = _new(Tensor)
        t._a = r
        t._storage = t._view = t._grad = t._hooks = t._node = None
        t._nr = 0
        t._rg = False
        if recording and modes.grad:
            spec.note(key, inputs, arrays, r, t, settings)
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


def aliased(x, array, step, origin):
    """A tensor over `array`, as the view of x by `step`; why it may not be written to is its `origin`."""
    storage = x._storage
    if storage is None:
        storage = storage_of(x)
    view = View()
    view.step = step
    view.version = storage.version
    view.parent = above = x._view
    if above is None:
        view.base = x
        view.origin = origin
    else:
        view.base = above.base
        view.origin = origin or above.origin
    t = _new(Tensor)
    t._a = array
    t._storage = storage
    t._view = view
    t._grad = t._hooks = t._node = None
    t._nr = 0
    t._rg = False
    if type(array) is not _ndarray:
        share(t, x, step)
    return t


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
            raise translated(spec, error, (a,)) from error
        return made(x, a, r, settings)

    record = None

    def made(x, a, r, settings):
        """The tensors over `r`, what the forward made of `a`, the array of x."""
        nonlocal record
        grad = modes.grad
        if x._view is not None:
            refresh(x)
        if type(r) is tuple:
            return spec.wrapped((x,), (a,), r, settings, x._rg)
        t = aliased(x, r, (call, settings, None), None if grad else "no_grad" if grad is False else "inference")
        if grad and x._rg:
            if ever.watched and modes.watched:
                spec.record((x,), (a,), r, t, settings)
            else:
                if record is None:
                    record = spec.recorder((x,), 1)
                record(x, a, r, t, settings)
        return t

    call.made = made
    return call
