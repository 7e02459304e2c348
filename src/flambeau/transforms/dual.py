"""The levels of forward mode: tensors with a tangent."""

from .._tensor import Tensor, device_storage, share, storage_of, take_place, wrap
from ..engines import engine_of
from ..engines._views import replay
from ..engines.levels import LevelArray
from ..ops.shape import zeros_like
from ._level import Level

SIZES = (
    "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
    "supported. Tensor is of size {own} while the given forward gradient is of size {tangent}."
)


class Dual(LevelArray):
    """A tensor and its `tangent`, or None if it has no tangent."""

    __slots__ = ("tangent",)

    def __init__(self, level, value, tangent=None):
        super().__init__(level, value)
        self.tangent = tangent


class DualLevel(Level):
    """A computation on dual numbers. Afterwards, its tensors are reduced to their primals."""

    def lift(self, t):
        return Dual(self, t)

    def apply_function(self, cls, args):
        from .functions import push_function

        return push_function(self, cls, args)

    def call(self, op, inputs, settings):
        if self.depth:
            return super().call(op, inputs, settings)
        return op.function(*map(self.primal, inputs), **settings)

    def compute(self, op, inputs, settings):
        if self.depth:
            return super().compute(op, inputs, settings)
        return op.function(*[x.value if isinstance(x, Dual) and x.level is self else x for x in inputs], **settings)._a

    def apply(self, op, operands, settings):
        primals = [x.value if isinstance(x, Dual) else x for x in operands]
        tangents = [x.tangent if isinstance(x, Dual) else None for x in operands]
        out = op.function(*primals, **settings)
        moving = op.differentiable and any([t is not None for t in tangents])
        if not isinstance(out, tuple):
            return Dual(self, out, push(op, primals, tangents, out, settings) if moving else None)
        moves = push(op, primals, tangents, out, settings) if moving else (None,) * len(out)
        return tuple([Dual(self, t, move) for t, move in zip(out, moves, strict=True)])

    # ---- from outside, and back

    def make(self, primal, tangent):
        """Creates a dual tensor of this level."""
        return wrap(Dual(self, primal, tangent), primal.device)

    def primal(self, t):
        """A tensor without its tangent at this level."""
        return t._a.value if self.has(t) else t

    def tangent(self, t):
        """The tangent of a tensor at this level, or None."""
        return t._a.tangent if self.has(t) else None

    def has(self, t):
        return isinstance(t, Tensor) and isinstance(t._a, Dual) and t._a.level is self

    def describe(self, array, text_of):
        moves = array.tangent is not None and self.depth
        return text_of(array.value, extra=(f"tangent={array.tangent!r}",)) if moves else text_of(array.value)

    # ---- writes

    def write(self, into, x):
        x = self.enter(x)
        if not (isinstance(into, LevelArray) and into.level is self):  # a plain tensor: see prepare_write
            return engine_of(into, x.value._a).write(into, x.value._a)
        super().write(into, x)
        if into.tangent is not None:
            moved = x.tangent if x.tangent is not None else zeros_like(x.value)
            super().write(Dual(self, into.tangent), Dual(self, moved))
        return into

    def fill(self, into, value):
        super().fill(into, value)
        if into.tangent is not None:
            super().fill(Dual(self, into.tangent), 0)

    def prepare_write(self, t, arrays):
        """Gives a tensor without tangent a zero tangent if the value written to it has one; for a view, gives it to the
        base."""
        moves = [a.tangent for a in arrays if isinstance(a, Dual) and a.level is self and a.tangent is not None]
        if not moves:
            return
        base = t if t._view is None else t._view.base
        own = base._a.value if self.has(base) else plain(base)
        before = self.tangent(base)
        tangent = zeros_like(own) if before is None else before
        for move in moves:  # may be batched where the tensor is not
            if isinstance(move._a, LevelArray):
                tangent = move._a.level.like(move._a, tangent)
        if tangent is before:
            return
        base._a = Dual(self, own, tangent)
        base._storage = storage = storage_like(base)
        if t is not base:
            t._a = replay(base._a, t._view.chain)
            t._storage = storage


def plain(t):
    """A tensor with the memory of another, at the same position in the graph."""
    other = share(object.__new__(Tensor), t)
    take_place(other, t)
    return other


def storage_like(t):
    before = storage_of(t)
    return device_storage(t._a, before.device, before.version)


def push(op, primals, tangents, out, settings):
    """The tangents of an op's results; None for those without."""
    from .jvps import jvp

    return jvp(op, primals, tangents, out, settings)
