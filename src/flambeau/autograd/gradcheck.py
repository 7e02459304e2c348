"""Checking gradients against finite differences.

Every tensor is treated as a vector of real numbers (two for a complex element), so one rule covers all cases: for the
cotangent v the gradient is the row vᵀJ of the real Jacobian.
"""

import warnings

import numpy as np

from .. import _tape as tape
from .._dtypes import is_inexact
from .._generator import Generator
from .._modes import enable_grad, no_grad
from .._tensor import Tensor, wrap
from ..engines import NUMPY
from ..ops.shape import zeros_like
from ._gradients import grad as _grad
from .function import BackwardCFunction

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

NOT_DOUBLE = (
    "Input #{i} requires gradient and is not a double precision floating point or complex. This check will likely "
    "fail if all the inputs are not of double precision floating point or complex."
)
NOT_REENTRANT = (
    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
    "values, although analytical gradient matches numerical gradient. The tolerance for nondeterminism was {tol}."
)
NOT_MULTIPLIED = (
    "backward not multiplied by grad_output: the gradient of input {i} is not zero where that of every output is."
)
UNDEFINED_RAISES = (
    "Expected backward function to handle undefined output grads: it raised {error!r} where the gradient of an output "
    "was None. Check for None in backward(), or leave set_materialize_grads(True) on."
)
UNDEFINED_NOT_ZERO = (
    "Expected all input grads to be undefined or zero when all output grads are undefined or zero, but that of input "
    "{i} is neither."
)
OVERLAPS = (
    "The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping: a step in "
    "one element would move others. Call .contiguous() on the input before passing it to gradcheck."
)
NOT_BATCHED = (
    "gradcheck or gradgradcheck failed while testing batched gradient computation of output {nr} with respect to input "
    "{i}: a batch of cotangents gives other gradients than the cotangents one by one."
)
NOT_BATCHED_FORWARD = (
    "gradcheck failed while testing batched forward gradient computation of output {nr} with respect to input {i}: a "
    "batch of tangents gives other tangents than the tangents one by one."
)
MISMATCH = (
    "Jacobian {how}mismatch for output {nr} with respect to input {i},\nnumerical:{numerical}\n"
    "analytical:{analytical}\n"
)


class GradcheckError(RuntimeError):
    """A gradient that does not agree with finite differences."""


def gradcheck(func, inputs, *, eps=1e-06, atol=1e-05, rtol=0.001, raise_exception=True, nondet_tol=0.0,
              check_undefined_grad=True, check_grad_dtypes=False, check_batched_grad=False,
              check_batched_forward_grad=False, check_forward_ad=False, check_backward_ad=True, fast_mode=False,
              masked=None):
    """Compares the gradients of `func` at `inputs` with central differences; True if they agree.

    With ``fast_mode`` one random projection is compared instead of the full Jacobian. ``raise_exception=False``
    returns False instead of raising ``GradcheckError``. With ``check_forward_ad`` forward-mode derivatives are compared
    too, or exclusively without ``check_backward_ad``. Differences below ``atol + rtol * abs(numerical)`` are tolerated:
    a gradient that is rounded to float32 somewhere passes, unless ``rtol`` and ``atol`` are smaller.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    check = _Check(func, _tuple(inputs), eps, atol, rtol, nondet_tol, check_grad_dtypes)
    try:
        check.run(fast_mode, check_backward_ad, check_batched_grad, check_undefined_grad)
        if check_forward_ad:
            check.run_forward(fast_mode, check_batched_forward_grad)
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
        generator = Generator()
        grad_outputs = tuple(wrap(_random(o._a, generator)).requires_grad_() for o in _differentiable(func(*inputs)))

    def first(*args):
        ins, weights = args[:n], args[n:]
        wanted = [x for x in ins if isinstance(x, Tensor) and x.requires_grad]
        with enable_grad():
            outs = _differentiable(func(*ins))
            found = _grad(outs, wanted, weights, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None and g.requires_grad)

    return gradcheck(first, inputs + _tuple(grad_outputs), eps=eps, atol=atol, rtol=rtol,
                     raise_exception=raise_exception, nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad,
                     check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad, fast_mode=fast_mode,
                     check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev)


class _Check:
    """A function with its inputs, and the tolerances."""

    def __init__(self, func, inputs, eps, atol, rtol, nondet_tol, check_dtypes):
        self.func, self.inputs, self.eps = func, inputs, eps
        self.atol, self.rtol, self.nondet_tol, self.check_dtypes = atol, rtol, nondet_tol, check_dtypes
        self.places = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]

    def run(self, fast, backward, batched, undefined):
        self.check_inputs()
        if not backward:
            return
        outs = _floating(self.func(*self.inputs))
        if not any(o.requires_grad for o in outs):
            self.check_no_gradient(outs)
            return
        self.compare_all(outs, fast)
        if batched:
            self.check_batched(outs)
        self.check_multiplied(outs)
        if undefined:
            self.check_undefined(outs)

    def check_inputs(self):
        if not self.places:
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of the them have "
                "requires_grad=True."
            )
        for i in self.places:
            a = self.inputs[i]._a
            if a.dtype not in (np.float64, np.complex128):
                warnings.warn(NOT_DOUBLE.format(i=i), UserWarning, stacklevel=4)
            if a.size and any(step == 0 and size > 1 for step, size in zip(a.strides, a.shape, strict=True)):
                raise RuntimeError(OVERLAPS.format(i=i))

    def check_no_gradient(self, outs):
        generator = Generator()
        for i in self.places:
            direction = _random(self.inputs[i]._a, generator)
            for nr in range(len(outs)):
                if np.any(self.numerical(i, nr, direction)):
                    raise GradcheckError("Numerical gradient for function expected to be zero")

    def compare_all(self, outs, fast):
        generator = Generator()
        directions = {i: _directions(self.inputs[i]._a, generator, fast) for i in self.places}
        cotangents = [_directions(out._a, generator, fast) if out.requires_grad else None for out in outs]
        for i in self.places:
            for nr, out in enumerate(outs):
                if out.requires_grad:
                    self.compare(i, nr, out, directions[i], cotangents[nr], fast)

    def compare(self, i, nr, out, directions, cotangents, fast):
        rows = [self.analytical(i, out, v) for v in cotangents]
        columns = [self.numerical(i, nr, u) for u in directions]
        analytical = np.array([[_dot(row, u) for u in directions] for row in rows])
        numerical = np.array([[_dot(v, column) for column in columns] for v in cotangents])
        self.compare_jacobians(i, nr, analytical, numerical, directions, cotangents, fast)
        for row, v in zip(rows, cotangents, strict=True):
            if np.abs(row - self.analytical(i, out, v)).max(initial=0) > self.nondet_tol:
                raise GradcheckError(NOT_REENTRANT.format(tol=self.nondet_tol))

    def compare_jacobians(self, i, nr, analytical, numerical, directions, cotangents, fast, how=""):
        # a projection sums the errors of its components
        atol = self.atol * _total(directions[0]) * _total(cotangents[0]) if fast else self.atol
        if not np.allclose(analytical, numerical, rtol=self.rtol, atol=atol):
            raise GradcheckError(MISMATCH.format(how=how, nr=nr, i=i, numerical=numerical.T, analytical=analytical.T))

    def run_forward(self, fast, batched):
        """Compares the tangents of the outputs with central differences."""
        generator = Generator()
        for i in self.places:
            directions = _directions(self.inputs[i]._a, generator, fast)
            tangents = [[t._a for t in self.tangents(i, wrap(u))] for u in directions]
            for nr in range(len(tangents[0]) if tangents else 0):
                columns = [self.numerical(i, nr, u) for u in directions]
                cotangents = _directions(columns[0], generator, fast)
                analytical, numerical = (
                    np.array([[_dot(v, column) for column in found] for v in cotangents])
                    for found in ([t[nr] for t in tangents], columns)
                )
                how = "computed with forward mode "
                self.compare_jacobians(i, nr, analytical, numerical, directions, cotangents, fast, how)
            if batched:
                self.check_batched_forward(i, generator)

    def tangents(self, i, direction):
        """The tangents of the outputs for a direction of input i, or for a batch of directions."""
        from .forward_ad import dual_level, make_dual, unpack_dual

        with dual_level():
            inputs = [x if x is not self.inputs[i] else make_dual(x, direction) for x in self.inputs]
            found = [unpack_dual(t) for t in _floating(self.func(*inputs))]
        return [zeros_like(primal) if tangent is None else tangent for primal, tangent in found]

    def check_batched_forward(self, i, generator):
        """Checks that a batch of tangents gives the same results as its members."""
        from ..transforms.vmap import VmapLevel

        pair = [_random(self.inputs[i]._a, generator) for _ in range(2)]
        with VmapLevel(2) as level:
            found = [level.stack_outputs(t, 0) for t in self.tangents(i, level.batch(wrap(np.stack(pair))))]
        singles = [self.tangents(i, wrap(u)) for u in pair]
        for nr, batch in enumerate(found):
            if not np.allclose(batch._a, np.stack([s[nr]._a for s in singles]), rtol=self.rtol, atol=self.atol):
                raise GradcheckError(NOT_BATCHED_FORWARD.format(nr=nr, i=i))

    def analytical(self, i, out, v):
        """The gradient of input i for a cotangent of `out`."""
        x = self.inputs[i]
        (g,) = _grad(out, x, wrap(v.copy()), retain_graph=True, allow_unused=True)
        if g is None:
            return np.zeros(x._a.shape, x._a.dtype)
        if g._a.shape != x._a.shape:
            raise GradcheckError("Analytical gradient has incorrect size")
        if self.check_dtypes and g._a.dtype != x._a.dtype:
            raise GradcheckError("Analytical gradient has dtype which is different from the input's")
        return g._a

    def numerical(self, i, nr, direction):
        """The derivative of output `nr` along a direction of input i, by central differences."""
        a = self.inputs[i]._a
        before = a.copy()
        values = []
        try:
            for sign in (1, -1):
                np.copyto(a, before + sign * self.eps * direction)
                with no_grad():
                    values.append(np.array(_floating(self.func(*self.inputs))[nr]._a))
        finally:
            np.copyto(a, before)
        return (values[0] - values[1]) / (2 * self.eps)

    def check_batched(self, outs):
        """Checks that a batch of cotangents gives the same gradients as its members."""
        generator = Generator()
        for nr, out in enumerate(outs):
            if not out.requires_grad:
                continue
            pair = [_random(out._a, generator) for _ in range(2)]
            for i in self.places:
                (batch,) = _grad(out, self.inputs[i], wrap(np.stack(pair)), retain_graph=True, allow_unused=True,
                                 is_grads_batched=True)
                if batch is None:
                    continue
                single = np.stack([self.analytical(i, out, v) for v in pair])
                if not np.allclose(batch._a, single, rtol=self.rtol, atol=self.atol):
                    raise GradcheckError(NOT_BATCHED.format(nr=nr, i=i))

    def check_multiplied(self, outs):
        """Checks that zero gradients of the outputs give zero gradients of the inputs."""
        for i, g in self.gradients_for_zeros([o for o in outs if o.requires_grad]):
            if np.any(g._a):
                raise GradcheckError(NOT_MULTIPLIED.format(i=i))

    def check_undefined(self, outs):
        """Checks Functions that get None for undefined gradients: they must handle only Nones, and return no others."""
        for node in _functions_of(outs):
            if node.materialize_grads:
                continue
            for missing in [set(range(node._count)), *({nr} for nr in range(node._count) if node._count > 1)]:
                self.check_missing(node, missing)

    def check_missing(self, node, missing):
        grads = [None if nr in missing else tape.zeros_for(node, nr, False, None) for nr in range(node._count)]
        try:
            found = node._pull(grads, False)
        except RuntimeError as error:
            raise GradcheckError(UNDEFINED_RAISES.format(error=error)) from error
        for i, g in enumerate(found):
            if g is not None and np.any(g):
                raise GradcheckError(UNDEFINED_NOT_ZERO.format(i=i))

    def gradients_for_zeros(self, outs):
        """(index, gradient) of the inputs that have one, for zero gradients of `outs`."""
        zeros = [wrap(np.zeros(o._a.shape, o._a.dtype)) for o in outs]
        wanted = [self.inputs[i] for i in self.places]
        found = _grad(outs, wanted, zeros, retain_graph=True, allow_unused=True)
        return [(i, g) for i, g in zip(self.places, found, strict=True) if g is not None]


def _functions_of(outs):
    """The nodes of user-defined Functions in the history of `outs`."""
    pending, seen = [o.grad_fn for o in outs if o.grad_fn is not None], set()
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, BackwardCFunction):
            yield node
        pending.extend(target for target, _ in node.next_functions if target is not None)


def _directions(array, generator, fast):
    """The unit vectors of the real space of `array`, or one random vector."""
    if fast:
        return [_random(array, generator)]
    found = []
    for index in np.ndindex(array.shape):
        for unit in (1, 1j) if array.dtype.kind == "c" else (1,):
            e = np.zeros(array.shape, array.dtype)
            e[index] = unit
            found.append(e)
    return found


def _random(array, generator):
    """A random vector of length 1, in the shape of `array`."""
    v = NUMPY.fill_uniform(generator, np.empty(array.shape, np.complex128 if array.dtype.kind == "c" else np.float64))
    return np.asarray(v / max(np.linalg.norm(v), 1e-300)).astype(array.dtype)


def _total(v):
    """The sum of the components, those of imaginary parts too."""
    return float(np.sum(v.real) + np.sum(v.imag))


def _dot(a, b):
    """The real inner product."""
    return float(np.real(np.vdot(a, b)))


def _tuple(values):
    return tuple(values) if isinstance(values, (tuple, list)) else (values,)


def _floating(outputs):
    return [o for o in _tuple(outputs) if isinstance(o, Tensor) and is_inexact(o._a.dtype)]


def _differentiable(outputs):
    return tuple(o for o in _tuple(outputs) if isinstance(o, Tensor) and o.requires_grad)
