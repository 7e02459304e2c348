"""Gradients against finite differences.

Every tensor is seen as a vector of real numbers (a complex element is two), so one rule covers all cases: for the
cotangent v the gradient is the row vᵀJ of the real jacobian.
"""

from __future__ import annotations

import warnings

import numpy as np

from .._dtypes import is_inexact
from .._modes import enable_grad, no_grad
from .._tensor import Tensor, wrap
from ._gradients import grad as _grad

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

NOT_DOUBLE = (
    "Input #{i} requires gradient and is not a double precision floating point or complex. This check will likely "
    "fail if all the inputs are not of double precision floating point or complex."
)


NOT_REENTRANT = (
    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
    "values, although analytical gradient matches numerical gradient."
)


class GradcheckError(RuntimeError):
    """A gradient that does not agree with finite differences."""


def gradcheck(func, inputs, *, eps=1e-06, atol=1e-05, rtol=0.001, raise_exception=True, nondet_tol=0.0,
              check_undefined_grad=True, check_grad_dtypes=False, check_batched_grad=False,
              check_batched_forward_grad=False, check_forward_ad=False, check_backward_ad=True, fast_mode=False,
              masked=None):
    """Compares the gradients of `func` at `inputs` with central differences; True if they agree.

    With ``fast_mode`` one random projection is compared instead of the whole jacobian. ``raise_exception=False``
    answers False instead of raising ``GradcheckError``.
    """
    unsupported = {"check_forward_ad": check_forward_ad, "check_batched_grad": check_batched_grad,
                   "check_batched_forward_grad": check_batched_forward_grad}
    for name, on in unsupported.items():
        if on:
            raise ValueError(f"gradcheck: {name}=True is not supported: such gradients do not exist here")
    try:
        _check(func, _tuple(inputs), eps, atol, rtol, nondet_tol, check_grad_dtypes, fast_mode)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-06, atol=1e-05, rtol=0.001,
                  gen_non_contig_grad_outputs=False, raise_exception=True, nondet_tol=0.0, check_undefined_grad=True,
                  check_grad_dtypes=False, check_batched_grad=False, check_fwd_over_rev=False, check_rev_over_rev=True,
                  fast_mode=False, masked=False):
    """``gradcheck`` of the gradients themselves: second derivatives against finite differences of first ones."""
    inputs = _tuple(inputs)
    n = len(inputs)
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        grad_outputs = tuple(
            wrap(_random(o._a, rng)).requires_grad_() for o in _differentiable(func(*inputs))
        )

    def first(*args):
        ins, weights = args[:n], args[n:]
        wanted = [x for x in ins if isinstance(x, Tensor) and x.requires_grad]
        with enable_grad():
            outs = _differentiable(func(*ins))
            found = _grad(outs, wanted, weights, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None and g.requires_grad)

    return gradcheck(first, inputs + _tuple(grad_outputs), eps=eps, atol=atol, rtol=rtol,
                     raise_exception=raise_exception, nondet_tol=nondet_tol, check_grad_dtypes=check_grad_dtypes,
                     fast_mode=fast_mode)


def _check(func, inputs, eps, atol, rtol, nondet_tol, check_dtypes, fast):
    places = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    if not places:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them have "
            "requires_grad=True."
        )
    for i in places:
        if inputs[i]._a.dtype not in (np.float64, np.complex128):
            warnings.warn(NOT_DOUBLE.format(i=i), UserWarning, stacklevel=4)
    outs = _floating(func(*inputs))
    if not any(o.requires_grad for o in outs):
        _check_no_gradient(func, inputs, places, eps)
        return
    rng = np.random.default_rng(0)
    for i in places:
        directions = _directions(inputs[i]._a, rng, fast)
        for nr, out in enumerate(outs):
            if out.requires_grad:
                _compare(func, inputs, i, nr, out, directions, rng, eps, atol, rtol, nondet_tol, check_dtypes, fast)


def _compare(func, inputs, i, nr, out, directions, rng, eps, atol, rtol, nondet_tol, check_dtypes, fast):
    x = inputs[i]
    cotangents = _directions(out._a, rng, fast)
    rows = [_analytic(out, x, v, check_dtypes) for v in cotangents]
    again = [_analytic(out, x, v, check_dtypes) for v in cotangents[:1]]
    for a, b in zip(rows, again, strict=False):
        if np.abs(a - b).max(initial=0) > nondet_tol:
            raise GradcheckError(NOT_REENTRANT)
    columns = [_numerical(func, inputs, i, nr, u, eps) for u in directions]
    analytical = np.array([[_dot(row, u) for u in directions] for row in rows])
    numerical = np.array([[_dot(v, column) for column in columns] for v in cotangents])
    if not np.allclose(analytical, numerical, rtol=rtol, atol=atol, equal_nan=True):
        raise GradcheckError(
            f"Jacobian mismatch for output {nr} with respect to input {i},\n"
            f"numerical:{numerical.T}\nanalytical:{analytical.T}\n"
        )


def _analytic(out, x, v, check_dtypes):
    (g,) = _grad(out, x, wrap(v), retain_graph=True, allow_unused=True)
    if g is None:
        return np.zeros(x._a.shape, x._a.dtype)
    if g._a.shape != x._a.shape:
        raise GradcheckError("Analytical gradient has incorrect size")
    if check_dtypes and g._a.dtype != x._a.dtype:
        raise GradcheckError("Analytical gradient has dtype which is different from the input's")
    return g._a


def _numerical(func, inputs, i, nr, direction, eps):
    """The derivative of output `nr` along a direction of input i, by central differences."""
    a = inputs[i]._a
    before = a.copy()
    values = []
    try:
        for sign in (1, -1):
            np.copyto(a, before + sign * eps * direction)
            with no_grad():
                values.append(np.array(_floating(func(*inputs))[nr]._a))
    finally:
        np.copyto(a, before)
    return (values[0] - values[1]) / (2 * eps)


def _check_no_gradient(func, inputs, places, eps):
    rng = np.random.default_rng(0)
    for i in places:
        for u in _directions(inputs[i]._a, rng, True):
            for nr in range(len(_floating(func(*inputs)))):
                if np.any(_numerical(func, inputs, i, nr, u, eps)):
                    raise GradcheckError("Numerical gradient for function expected to be zero")


def _directions(array, rng, fast):
    """Unit vectors of the real space of `array`, or one random one."""
    if fast:
        return [_random(array, rng)]
    found = []
    for index in np.ndindex(array.shape):
        for unit in (1, 1j) if array.dtype.kind == "c" else (1,):
            e = np.zeros(array.shape, array.dtype)
            e[index] = unit
            found.append(e)
    return found


def _random(array, rng):
    v = rng.uniform(-1, 1, array.shape)
    if array.dtype.kind == "c":
        v = v + 1j * rng.uniform(-1, 1, array.shape)
    return np.asarray(v).astype(array.dtype)


def _dot(a, b):
    """The real inner product."""
    return float(np.real(np.vdot(a, b)))


def _tuple(values):
    return tuple(values) if isinstance(values, tuple | list) else (values,)


def _floating(outputs):
    return [o for o in _tuple(outputs) if isinstance(o, Tensor) and is_inexact(o._a.dtype)]


def _differentiable(outputs):
    return tuple(o for o in _tuple(outputs) if isinstance(o, Tensor) and o.requires_grad)
