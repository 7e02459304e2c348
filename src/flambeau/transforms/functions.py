"""User-defined Functions under transforms: by their ``vmap`` and ``jvp``, or sample by sample."""

from __future__ import annotations

from typing import NamedTuple

from .._tensor import Tensor
from ..autograd.function import Function
from ..ops.join import stack
from ..ops.shape import zeros_like
from .vmap import move_axis, sample

NO_VMAP = (
    "You tried to vmap over {name}, but it does not have vmap support. Please override and implement the vmap "
    "staticmethod or set generate_vmap_rule=True."
)
BOTH = (
    "You tried to vmap over {name}, but it has both generate_vmap_rule=True and an overridden vmap staticmethod. "
    "Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity."
)
NO_PAIR = "Expected the vmap staticmethod of {name} to have two returns: output and out_dims, got {kind}"


class VmapInfo(NamedTuple):
    """The ``info`` argument of a Function's ``vmap``."""

    batch_size: int
    randomness: str


# ---- vmap


def map_function(level, cls, args):
    """Applies a Function to tensors of a vmap level."""
    entered = [level.enter(a) if isinstance(a, Tensor) else a for a in args]
    own = cls.vmap is not Function.vmap
    if own and cls.generate_vmap_rule:
        raise RuntimeError(BOTH.format(name=cls.__name__))
    if own:
        return by_rule(level, cls, args, entered)
    if not cls.generate_vmap_rule:
        raise RuntimeError(NO_VMAP.format(name=cls.__name__))
    singles = [cls.apply(*[sample(a, i) for a in entered]) for i in range(level.size)]
    if isinstance(singles[0], tuple):
        return tuple([level.batch(stack(*parts, axis=0)) for parts in zip(*singles, strict=True)])
    return level.batch(stack(*singles, axis=0))


def by_rule(level, cls, args, entered):
    """Calls the ``vmap`` of the Function with the tensors of the lower level and their batch dimensions."""
    dims = tuple([0 if isinstance(a, Tensor) and e.batched else None for a, e in zip(args, entered, strict=True)])
    values = [e.value if isinstance(a, Tensor) else a for a, e in zip(args, entered, strict=True)]
    with level.suspend():
        found = cls.vmap(VmapInfo(level.size, level.randomness), dims, *values)
    if not isinstance(found, tuple) or len(found) != 2:
        raise RuntimeError(NO_PAIR.format(name=cls.__name__, kind=type(found)))
    output, out_dims = found
    if not isinstance(output, tuple):
        return with_samples(level, output, out_dims)
    out_dims = out_dims if isinstance(out_dims, tuple | list) else (out_dims,) * len(output)
    return tuple([with_samples(level, t, dim) for t, dim in zip(output, out_dims, strict=True)])


def with_samples(level, t, dim):
    return t if dim is None else level.batch(move_axis(t, dim, 0) if dim else t)


# ---- forward mode


class JvpContext:
    """The ctx that ``jvp`` receives: that of the call, plus what ``save_for_forward`` saved."""

    def __init__(self, ctx):
        self._ctx = ctx

    @property
    def saved_tensors(self):
        return getattr(self._ctx, "saved_for_forward", ())

    def __getattr__(self, name):
        return getattr(self._ctx, name)


def push_function(level, cls, args):
    """Applies a Function to dual tensors, using its ``jvp``."""
    primals = [level.primal(a) for a in args]
    ctx, output = cls.call(primals)
    tangents = [level.tangent(a) if isinstance(a, Tensor) else None for a in args]
    if all([t is None for t in tangents]):
        return output
    if ctx.materialize_grads:
        tangents = [zeros_like(p) if t is None and isinstance(p, Tensor) else t
                    for p, t in zip(primals, tangents, strict=True)]
    moves = cls.jvp(JvpContext(ctx), *tangents)
    if not isinstance(output, tuple):
        return level.make(output, moves)
    return tuple([level.make(t, move) for t, move in zip(output, moves, strict=True)])
