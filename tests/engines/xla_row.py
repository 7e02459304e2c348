"""One row of the tables in ``xla_rows_*.py``: an op, its arguments, and how results are compared.

    row("mul", R(2, 3), R(3))
    row("cumsum", R(2, 3), axis=1, reverse=True)

Inputs: ``R`` random reals, ``P`` positive ones, ``U`` inside (-1, 1), ``C`` complex ones, each of a shape; ``V`` given
values, of which the integers and bools get no gradient; anything else goes to the op as it is. Keywords are settings.
"""

import zlib

import numpy as np

from flambeau._tensor import Tensor, wrap
from flambeau.autograd import backward, grad
from flambeau.engines._views import value_of
from flambeau.ops._op import OPS


class Given:
    """An input still to be drawn. ``fixed`` ones get no gradient; ``known`` ones stay constants in a traced program."""

    fixed = known = False

    def __init__(self, draw):
        self.draw = draw


def R(*shape):
    return Given(lambda rng: rng.normal(size=shape))


def P(*shape):
    return Given(lambda rng: rng.uniform(0.2, 2, shape))


def U(*shape):
    return Given(lambda rng: rng.uniform(-0.9, 0.9, shape))


def C(*shape):
    return Given(lambda rng: rng.normal(size=shape) + 1j * rng.normal(size=shape))


def V(values):
    return Given(lambda rng: np.asarray(values))


def made(function, *givens):
    """An input computed from drawn ones: a positive definite matrix, say."""
    return Given(lambda rng: function(*[g.draw(rng) for g in givens]))


def fixed(given):
    given.fixed = True
    return given


def known(given):
    """For what decides the shape of a result, which must be known when a program is traced."""
    given.fixed = given.known = True
    return given


class Row:
    def __init__(self, name, inputs, settings):
        self.name = name
        self.given = inputs
        self.settings = settings
        self.post = None
        self.rtol = 1e-10
        self.refuses = False
        self.differentiable_twice = True

    def __repr__(self):
        inputs = ["..." if isinstance(g, Given) else repr(g) for g in self.given]
        return f"{self.name}({', '.join([*inputs, *[f'{k}={v}' for k, v in self.settings.items()]])})"

    def through(self, function):
        """Compares what `function` makes of the results: for what is determined up to a sign or a phase only."""
        self.post = function
        return self

    def within(self, rtol):
        self.rtol = rtol
        return self

    def without_gradient(self):
        """PyTorch records the op but has no derivative of it: backward raises."""
        self.refuses = True
        return self

    def once(self):
        """Its gradient has no derivative: the second backward raises."""
        self.differentiable_twice = False
        return self

    def draw(self, dtype=None):
        """The inputs as NumPy arrays, the same ones every time; floating ones in `dtype`."""
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        values = [g.draw(rng) if isinstance(g, Given) else g for g in self.given]
        if dtype is None:
            return values
        return [v.astype(dtype) if isinstance(v, np.ndarray) and v.dtype.kind == "f" else v for v in values]

    def variable(self, values):
        """The inputs that are arguments of a traced program."""
        return [v for g, v in zip(self.given, values, strict=True) if isinstance(g, Given) and not g.known]

    def with_variable(self, values, arrays):
        """`values` with other arrays in the place of those."""
        arrays = iter(arrays)
        return [
            next(arrays) if isinstance(g, Given) and not g.known else v for g, v in zip(self.given, values, strict=True)
        ]

    def has_gradient(self):
        return any(isinstance(t, Tensor) and t._rg for t in self.tensors(self.draw()))

    def tensors(self, values):
        return [self.tensor(g, v) for g, v in zip(self.given, values, strict=True)]

    def tensor(self, given, value):
        if not isinstance(given, Given):
            return value
        t = wrap(value)
        t._rg = not given.fixed and value.dtype.num >= 11
        return t

    def apply(self, tensors):
        out = OPS[self.name](*tensors, **self.settings)
        if self.post is not None:
            out = self.post(*out) if isinstance(out, tuple) else self.post(out)
        return out if isinstance(out, tuple) else (out,)

    def cotangents(self, values):
        """A random gradient for each result that has one."""
        rng = np.random.default_rng(7)
        drawn = []
        for out in self.apply(self.tensors(values)):
            if out._rg:
                g = rng.normal(size=out._a.shape)
                g = g + 1j * rng.normal(size=np.shape(g)) if out._a.dtype.kind == "c" else g
                drawn.append(np.asarray(g).astype(out._a.dtype))
        return drawn

    def run(self, values, cotangents):
        """(results, gradients of the inputs), as arrays."""
        tensors = self.tensors(values)
        outs = self.apply(tensors)
        roots = [out for out in outs if out._rg]
        if roots:
            backward(roots, list(map(wrap, cotangents)))
        wanted = [t for t in tensors if isinstance(t, Tensor) and t._rg]
        return [value_of(t._a) for t in outs], [None if t._grad is None else value_of(t._grad._a) for t in wanted]

    def run_twice(self, values, cotangents):
        """The gradients of half the sum of the gradients' squares, also by the cotangents: second order."""
        tensors = self.tensors(values)
        wanted = [t for t in tensors if isinstance(t, Tensor) and t._rg]
        seeds = list(map(wrap, cotangents))
        for seed in seeds:
            seed._rg = True
        roots = [out for out in self.apply(tensors) if out._rg]
        first = grad(roots, wanted, seeds, create_graph=True, allow_unused=True)
        first = [g for g in first if g is not None and g._rg]
        second = grad(first, wanted + seeds, [g.detach() for g in first], allow_unused=True) if first else ()
        return ([None if g is None else value_of(g._a) for g in second],)


def row(name, *inputs, **settings):
    return Row(name, inputs, settings)


def rows(names, *inputs, **settings):
    """The same row for several ops."""
    return [Row(name, inputs, settings) for name in names.split()]
