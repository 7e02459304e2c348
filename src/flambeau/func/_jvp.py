"""Forward mode: ``jvp`` and ``linearize``."""

from .._dtypes import is_inexact
from .._modes import enable_grad
from .._tensor import Tensor
from ..autograd._gradients import pull_back
from ..functions.like import ones_like
from ..ops.shape import zeros_like
from ..transforms.dual import SIZES, DualLevel
from ..utils._pytree import tree_flatten, tree_map, tree_unflatten
from ._grad import NO_TENSORS, Pullback, outside, split_aux, track, transform

NO_TUPLE = "jvp(f, primals, tangents): Expected {what} to be a tuple. E.g. it should be valid to call f(*primals)."
STRUCTURES = (
    "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For example, if "
    "primals is a tuple of 3 tensors, tangents also must be. Got primals with structure {primals} and tangents with "
    "structure {tangents}"
)
INDEPENDENT = (
    "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with "
    "strict=True."
)
EMPTY = "jvp(f, primals, tangents): Expected primals to contain at least one Tensor."
NOT_ALL = "jvp(f, primals, tangents): Expected {what} to only contain Tensors, got {kind}"
FLOATING = "Expected primal to be floating point or complex, but got: {dtype}"
LINEAR_STRUCTURE = "Expected the tangents {tangents} to have the same argspec as the primals {primals}"
LINEAR_FIT = (
    "tangent:{i} with {what} {got} in flattened pytree doesn't match the {what} {own} of the corresponding primal."
)


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """``(func(*primals), its tangent)``, for the primals' `tangents`.

    Args:
        primals: a tuple of arguments: tensors or pytrees of them.
        tangents: their tangents: a tuple of the same structure.
        strict: raises for an output that does not depend on the primals; otherwise its tangent is zero.
        has_aux: `func` returns ``(output, aux)``, and ``jvp`` then ``(output, tangent, aux)``.

    Example::

        >>> jvp(flambeau.sin, (flambeau.zeros(2),), (flambeau.tensor([1.0, 2.0]),))
        (tensor([0., 0.]), tensor([1., 2.]))
    """
    leaves, moves, spec = check_tangents(primals, tangents)
    with transform(), DualLevel() as level:
        inputs = [level.make(t, move) for t, move in zip(leaves, moves, strict=True)]
        output, aux = split_aux(func(*tree_unflatten(inputs, spec)), has_aux, "jvp(f, primals, tangents)")
        outputs, output_spec = tree_flatten(output)
        found = []
        for t in outputs:
            if not isinstance(t, Tensor):
                raise RuntimeError(NO_TENSORS.format(name="jvp(f, primals, tangents)", kind=type(t)))
            move = level.tangent(t)
            if move is None and strict:
                raise RuntimeError(INDEPENDENT)
            found.append(zeros_like(level.primal(t)) if move is None else move)
        value = tree_unflatten([level.primal(t) for t in outputs], output_spec)
        result = value, tree_unflatten(found, output_spec)
        return (*result, tree_map(level.primal, aux)) if has_aux else result


def check_tangents(primals, tangents):
    """(primals, tangents, their structure), flattened."""
    if not isinstance(primals, tuple):
        raise RuntimeError(NO_TUPLE.format(what="primals"))
    leaves, spec = tree_flatten(primals)
    moves, other = tree_flatten(tangents)
    if spec != other:
        raise RuntimeError(STRUCTURES.format(primals=spec, tangents=other))
    if not leaves:
        raise RuntimeError(EMPTY)
    for t, move in zip(leaves, moves, strict=True):
        for what, x in (("primals", t), ("tangents", move)):
            if not isinstance(x, Tensor):
                raise RuntimeError(NOT_ALL.format(what=what, kind=type(x)))
        if not is_inexact(t._a.dtype):
            raise ValueError(FLOATING.format(dtype=t.dtype))
        if t._a.shape != move._a.shape:
            raise RuntimeError(SIZES.format(own=list(t.shape), tangent=list(move.shape)))
    return leaves, moves, spec


def linearize(func, *primals):
    """``(func(*primals), jvp_fn)``: ``jvp_fn(*tangents)`` is the tangent of the output. `func` runs only once.

    Example::

        >>> value, push = linearize(lambda x: x**2, flambeau.tensor([1.0, 2.0]))
        >>> push(flambeau.ones(2))
        tensor([2., 4.])
    """
    leaves, spec = tree_flatten(primals)
    with transform(), enable_grad():
        inputs = [track(t) for t in leaves]
        output = func(*tree_unflatten(inputs, spec))
        outputs, output_spec = tree_flatten(output)
        # The vjp is linear in the cotangents: differentiating it with respect to them gives the jvp. Not at zero, where
        # vjps that depend on the sign of the cotangent are not differentiable.
        cotangents = [track(ones_like(outside(t))) for t in outputs]
        pull = Pullback(outputs, inputs)
        pulled = pull(cotangents, create_graph=True)

    def jvp_fn(*tangents):
        moves, other = tree_flatten(tangents)
        check_moves(leaves, moves, spec, other)
        pairs = [(t, move) for t, move in zip(pulled, moves, strict=True) if t.requires_grad]
        if not pairs:
            return tree_unflatten([zeros_like(outside(t)) for t in outputs], output_spec)
        roots, weights = zip(*pairs, strict=True)
        found = pull_back(roots, cotangents, weights, True, any([pull.leads_on(t) for t in outputs]))
        return tree_unflatten([zeros_like(outside(t)) if g is None else g for t, g in zip(outputs, found, strict=True)],
                         output_spec)

    return tree_unflatten([pull.release(t) for t in outputs], output_spec), jvp_fn


def check_moves(leaves, moves, spec, other):
    if spec != other:
        raise RuntimeError(LINEAR_STRUCTURE.format(tangents=other, primals=spec))
    for i, (t, move) in enumerate(zip(leaves, moves, strict=True)):
        for what in ("shape", "dtype"):
            own, got = getattr(t, what), getattr(move, what)
            if own != got:
                raise RuntimeError(LINEAR_FIT.format(i=i, what=what, own=own, got=got))
