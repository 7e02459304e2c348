"""Reverse-mode transforms: ``grad``, ``grad_and_value`` and ``vjp``.

They differentiate on the graph of the level they are called on; see ``transforms/_level.py``. The inputs become
leaves of that graph or, if already recorded there, a further node in it.
"""

import functools

from .._dtypes import is_inexact
from .._modes import enable_grad, in_use, modes
from .._tensor import LEAF, Tensor, edge_of, share, wrap
from ..autograd._gradients import pull_back
from ..engines.levels import LevelArray
from ..ops.shape import alias, zeros_like
from ..utils._pytree import tree_flatten, tree_map, tree_unflatten

NO_TENSOR = "Thing passed to transform API must be Tensor, got {kind}"
NO_FLOAT = "only Tensors of floating point dtype can require gradients"
NO_OUTPUT = "grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {kind}"
NO_SCALAR = (
    "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with {ndim} dims. Maybe you "
    "wanted to use the vjp or jacrev APIs instead?"
)
NO_AUX = "{name}: output of function f should be a tuple: (output, aux) if has_aux is True"
NO_AUX_TENSOR = "Expected tensors, got unsupported type {kind}"
NO_TENSORS = "{name}: expected f(*primals) to return only tensors, got unsupported type {kind}"
STRUCTURE = (
    "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
    "cotangents: {cotangents}, primal output: {outputs}"
)


class transform:
    """A context in which a function is transformed: it cannot call ``backward`` or ``requires_grad_``."""

    def __enter__(self):
        in_use.levels = True
        modes.transforms += 1

    def __exit__(self, *exc):
        modes.transforms -= 1


# ---- grad


def grad(func, argnums=0, has_aux=False):
    """Returns a function of the same arguments that computes the gradient of `func`, whose result is a scalar.

    Args:
        argnums: the position of the argument to differentiate with respect to, or a tuple of them.
        has_aux: `func` returns ``(output, aux)``; the new function then returns ``(gradient, aux)``.

    Example::

        >>> grad(flambeau.sin)(flambeau.zeros(()))
        tensor(1.)
        >>> grad(grad(lambda x: x**3))(flambeau.tensor(2.0))
        tensor(12.)
    """

    @functools.wraps(func)
    def gradient(*args, **kwargs):
        grads, value = differentiate(func, argnums, has_aux, args, kwargs)
        return (grads, value[1]) if has_aux else grads

    return gradient


def grad_and_value(func, argnums=0, has_aux=False):
    """Like ``grad``; the new function returns ``(gradient, value)``, or ``(gradient, (value, aux))``.

    Example::

        >>> grad_and_value(lambda x: x**2)(flambeau.tensor(3.0))
        (tensor(6.), tensor(9.))
    """

    @functools.wraps(func)
    def gradient(*args, **kwargs):
        return differentiate(func, argnums, has_aux, args, kwargs)

    return gradient


def differentiate(func, argnums, has_aux, args, kwargs):
    """(gradients, value); with `has_aux`, value is (value, aux)."""
    selected = select(args, argnums)
    leaves, spec = tree_flatten(selected)
    with transform(), enable_grad():
        inputs = [track(t) for t in leaves]
        args = replace(args, argnums, tree_unflatten(inputs, spec))
        output = func(*args, **kwargs)
        output, aux = split_aux(output, has_aux, "grad_and_value(f)(*args)")
        check_scalar(output)
    pull = Pullback([output], inputs)
    grads = tree_unflatten(pull([None]), spec)
    value = pull.release(output)
    return grads, ((value, tree_map(pull.release_aux, aux)) if has_aux else value)


def check_scalar(output):
    if not isinstance(output, Tensor):
        raise RuntimeError(NO_OUTPUT.format(kind=type(output)))
    if output.dim():
        raise RuntimeError(NO_SCALAR.format(ndim=output.dim()))


def split_aux(output, has_aux, name):
    """Splits what a function returned into (output, aux)."""
    if not has_aux:
        return output, None
    if not isinstance(output, tuple) or len(output) != 2:
        raise RuntimeError(NO_AUX.format(name=name))
    return output


# ---- arguments by number


def check_argnums(argnums, count):
    """Normalises the positions to a tuple."""
    if not isinstance(argnums, int | tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    wanted = (argnums,) if isinstance(argnums, int) else argnums
    if not wanted:
        raise RuntimeError("argnums must be non-empty")
    found = []
    for i in wanted:
        if not isinstance(i, int):
            raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {argnums}")
        if not -count <= i < count:
            raise RuntimeError(f"Got argnum={i}, but only {count} positional inputs")
        found.append(i % count)
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return tuple(found)


def select(args, argnums):
    """The argument at a position, or a tuple for several."""
    places = check_argnums(argnums, len(args))
    return args[places[0]] if isinstance(argnums, int) else tuple([args[i] for i in places])


def replace(args, argnums, values):
    """The arguments with the selected ones replaced."""
    places = check_argnums(argnums, len(args))
    values = (values,) if isinstance(argnums, int) else values
    new = list(args)
    for i, value in zip(places, values, strict=True):
        new[i] = value
    return tuple(new)


# ---- vjp


def vjp(func, *primals, has_aux=False):
    """``(func(*primals), vjp_fn)``, where ``vjp_fn`` maps cotangents of the output to those of the primals.

    With `has_aux`, `func` returns ``(output, aux)``, and so does ``vjp``: ``(output, vjp_fn, aux)``.

    Example::

        >>> value, pull = vjp(lambda x: x**2, flambeau.tensor([1.0, 2.0]))
        >>> pull(flambeau.ones(2))
        (tensor([2., 4.]),)
    """
    leaves, spec = tree_flatten(primals)
    with transform(), enable_grad():
        inputs = [track(t) for t in leaves]
        output = func(*tree_unflatten(inputs, spec))
        output, aux = split_aux(output, has_aux, "vjp(f, *primals)")
        outputs, output_spec = tree_flatten(output)
        for t in outputs:
            if not isinstance(t, Tensor):
                raise RuntimeError(NO_TENSORS.format(name="vjp(f, *primals)", kind=type(t)))
    pull = Pullback(outputs, inputs)

    def vjp_fn(cotangents, retain_graph=True, create_graph=None):
        flat, cotangent_spec = tree_flatten(cotangents)
        if cotangent_spec != output_spec:
            raise RuntimeError(STRUCTURE.format(cotangents=cotangent_spec, outputs=output_spec))
        return tree_unflatten(pull(flat, retain_graph, create_graph), spec)

    value = tree_unflatten([pull.release(t) for t in outputs], output_spec)
    return (value, vjp_fn, tree_map(pull.release_aux, aux)) if has_aux else (value, vjp_fn)


# ---- what they share


def track(t):
    """Turns an input into a tensor of the innermost level, where the graph of the transformed function starts."""
    if not isinstance(t, Tensor):
        raise ValueError(NO_TENSOR.format(kind=type(t)))
    if not is_inexact(t._a.dtype):
        raise RuntimeError(NO_FLOAT)
    level = modes.levels[-1] if modes.levels else None
    if level is not None and not (isinstance(t._a, LevelArray) and t._a.level is level):
        t = wrap(level.lift(t))
    if edge_of(t) is not None:
        return alias(t)
    leaf = outside(t)
    leaf._rg = True
    return leaf


def outside(t):
    """Detaches a tensor from the graph of its level, but not from those below."""
    return share(object.__new__(Tensor), t)


class Pullback:
    """Maps cotangents of outputs to cotangents of the tracked inputs."""

    def __init__(self, outputs, inputs):
        self.outputs = outputs
        self.inputs = inputs
        self.level = modes.levels[-1].depth if modes.levels else 0
        self.own = {id(t) for t in inputs if t._node is None}
        self.others = {}  # whether the graph of an output reaches leaves other than the inputs

    def __call__(self, cotangents, retain_graph=False, create_graph=None):
        pairs = [(t, g) for t, g in zip(self.outputs, cotangents, strict=True) if t.requires_grad]
        if not pairs:
            return [zeros_like(t) for t in self.inputs]
        if create_graph is None:
            create_graph = bool(modes.grad) and any(
                [self.leads_on(t) or (g is not None and g.requires_grad) for t, g in pairs])
        outputs, cotangents = zip(*pairs, strict=True)
        below = self.level if modes.grad else 0
        grads = pull_back(outputs, self.inputs, cotangents, retain_graph or create_graph, create_graph, below)
        return [zeros_like(t) if g is None else g for t, g in zip(self.inputs, grads, strict=True)]

    def release(self, t):
        """Detaches a result for the caller, unless its graph reaches leaves of the caller's."""
        if not isinstance(t, Tensor) or not t._rg or (modes.grad and self.leads_on(t)):
            return t
        return outside(t)

    def release_aux(self, t):
        if not isinstance(t, Tensor):
            raise RuntimeError(NO_AUX_TENSOR.format(kind=type(t)))
        return self.release(t)

    def leads_on(self, t):
        """Whether the graph of a tensor reaches leaves other than the inputs of this transform."""
        edge = edge_of(t)
        if edge not in self.others:
            self.others[edge] = edge is not None and self.walk(edge)
        return self.others[edge]

    def walk(self, edge):
        if edge[1] == LEAF:
            return id(edge[0]) not in self.own
        order, seen = [edge[0]], {edge[0]}
        for node in order:  # grows during iteration
            for following in node._edges:
                if following is None:
                    continue
                target, nr = following
                if nr == LEAF:
                    if id(target) not in self.own:
                        return True
                elif target not in seen:
                    seen.add(target)
                    order.append(target)
        return False
