"""Derivatives of functions: Jacobians, Hessians and their products with vectors."""

from .._modes import enable_grad
from .._tensor import Tensor, share
from ..ops.join import stack
from ._gradients import grad as _grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

FORWARD_VECTORIZED = (
    "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for `vectorize=True`."
)
FORWARD_ONLY = (
    "torch.autograd.functional.jacobian: `{option}=True` and `strategy=\"forward-mode\"` are not supported together. "
    "Either set `{option}=False` or `strategy=\"reverse-mode\"`."
)


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(inputs), vᵀJ): the product of a vector with the jacobian."""
    with enable_grad():
        ins, one_in = _inputs(inputs, create_graph, "vjp")
        outs, one_out = _outputs(func(*ins), "vjp")
        _check_graph(outs, "outputs", strict)
        v = _vector(v, outs, "vjp", "func(inputs)" if one_out else "outputs")
        products = _grads(outs, ins, v, create_graph, strict)
    return _shape(outs, one_out, create_graph), _shape(products, one_in, create_graph)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(inputs), Jv): the product of the jacobian with a vector, by differentiating vᵀJ in v."""
    with enable_grad():
        ins, _ = _inputs(inputs, create_graph, "jvp")
        v = _vector(v, ins, "jvp", "inputs")
        outs, one_out = _outputs(func(*ins), "jvp")
        _check_graph(outs, "outputs", strict)
        u = tuple(_cotangent(o) for o in outs)
        back = _grads(outs, ins, u, True, strict)
        products = _grads(back, u, v, create_graph, strict)
    return _shape(outs, one_out, create_graph), _shape(products, one_out, create_graph)


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """The matrix of all first derivatives: for each output and each input a tensor of shape (*output, *input)."""
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(f'Expected strategy to be either "forward-mode" or "reverse-mode". Got {strategy!r}')
    if strategy == "forward-mode":
        return _forward_jacobian(func, inputs, create_graph, strict, vectorize)
    with enable_grad():
        ins, one_in = _inputs(inputs, create_graph, "jacobian")
        outs, one_out = _outputs(func(*ins), "jacobian")
        _check_graph(outs, "outputs", strict)
        rows = tuple(_jacobian_of(o, ins, create_graph, strict) for o in outs)
        if not create_graph:
            rows = tuple(tuple(b.detach() for b in row) for row in rows)
    rows = tuple(row[0] if one_in else row for row in rows)
    return rows[0] if one_out else rows


def _forward_jacobian(func, inputs, create_graph, strict, vectorize):
    """``jacobian`` by forward mode: the tangents of the outputs for a batch of all unit tangents."""
    if strict:
        raise RuntimeError(FORWARD_ONLY.format(option="strict"))
    if create_graph:
        raise NotImplementedError(FORWARD_ONLY.format(option="create_graph"))
    if not vectorize:
        raise NotImplementedError(FORWARD_VECTORIZED)
    from ..transforms.dual import DualLevel
    from ..transforms.vmap import VmapLevel

    ins, one_in = _inputs(inputs, create_graph, "jacobian", track=False)
    sizes = [x.numel() for x in ins]
    with VmapLevel(sum(sizes)) as batch, DualLevel() as level:
        moves = [batch.batch(part) for part in _unit_tangents(ins, sizes)]
        outs, one_out = _outputs(func(*[level.make(x, t) for x, t in zip(ins, moves, strict=True)]), "jacobian")
        columns = [level.tangent(o) for o in outs]
        columns = [batch.stack_outputs(_zeros_like(level.primal(o)) if t is None else t, -1)
                   for o, t in zip(outs, columns, strict=True)]
    rows = []
    for column in columns:
        parts = column.split(sizes, dim=-1)
        row = tuple(p.reshape(column.shape[:-1] + x.shape) for p, x in zip(parts, ins, strict=True))
        rows.append(row[0] if one_in else row)
    return rows[0] if one_out else tuple(rows)


def _unit_tangents(ins, sizes):
    """For each input its part of all unit vectors, one below the other."""
    start = 0
    for x, n in zip(ins, sizes, strict=True):
        part = x.detach().new_zeros(sum(sizes), n)
        part.diagonal(-start).fill_(1)
        yield part.reshape(-1, *x.shape)
        start += n


def _jacobian_of(out, ins, create_graph, strict):
    flat = out.reshape(-1)
    columns = [[] for _ in ins]
    for i in range(flat.numel()):
        for column, g in zip(columns, _grads((flat[i],), ins, (None,), create_graph, strict, keep=True), strict=True):
            column.append(g)
    return tuple(
        stack(*column, axis=0).reshape(out.shape + x.shape) if column else _zeros_like(x).new_zeros(out.shape + x.shape)
        for column, x in zip(columns, ins, strict=True)
    )


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """The second derivatives of a function with a single scalar result."""
    ins, one_in = _inputs(inputs, create_graph, "hessian", track=False)

    def gradient(*xs):
        if outer_jacobian_strategy == "forward-mode":  # differentiated on the graph of the tensors with tangents
            xs = tuple(map(_leaf, xs))
        with enable_grad():
            out = _scalar(func(*xs), "hessian")
            return _grads((out,), xs, (None,), True, strict)

    rows = jacobian(gradient, ins, create_graph=create_graph, strict=strict, vectorize=vectorize,
                    strategy=outer_jacobian_strategy)
    return _pick(rows, one_in)


def _leaf(x):
    leaf = share(object.__new__(Tensor), x)
    leaf._rg = True
    return leaf


def _pick(rows, one_in):
    return rows[0][0] if one_in else rows


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(inputs), Hv): the product of the hessian with a vector."""
    with enable_grad():
        ins, one_in = _inputs(inputs, create_graph, "hvp")
        v = _vector(v, ins, "hvp", "inputs")
        out = _scalar(func(*ins), "hvp")
        first = _grads((out,), ins, (None,), True, strict)
        u = tuple(_cotangent(x) for x in ins)
        back = _grads(first, ins, u, True, strict)
        products = _grads(back, u, v, create_graph, strict)
    return _shape((out,), True, create_graph), _shape(products, one_in, create_graph)


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(inputs), vᵀH): the product of a vector with the hessian."""
    with enable_grad():
        ins, one_in = _inputs(inputs, create_graph, "vhp")
        v = _vector(v, ins, "vhp", "inputs")
        out = _scalar(func(*ins), "vhp")
        first = _grads((out,), ins, (None,), True, strict)
        products = _grads(first, ins, v, create_graph, strict)
    return _shape((out,), True, create_graph), _shape(products, one_in, create_graph)


# ---- what they share


def _inputs(inputs, create_graph, name, track=True):
    """The inputs as a tuple of differentiable tensors, and whether there was only one."""
    one = not isinstance(inputs, tuple)
    ins = _tensors((inputs,) if one else inputs, name, "inputs")
    if not track:
        return ins, one
    if create_graph:
        return tuple(x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in ins), one
    return tuple(x.detach().requires_grad_() for x in ins), one


def _outputs(outputs, name):
    one = not isinstance(outputs, tuple)
    return _tensors((outputs,) if one else outputs, name, "outputs of the user-provided function"), one


def _tensors(values, name, what):
    for i, t in enumerate(values):
        if not isinstance(t, Tensor):
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the value at index {i} "
                f"has type {type(t)}."
            )
    return tuple(values)


def _scalar(out, name):
    outs, _ = _outputs(out, name)
    if len(outs) != 1 or outs[0].numel() != 1 or outs[0].dim() > 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")
    return outs[0]


def _vector(v, like, name, what):
    """The checked vector of a product; defaults to ones for a single scalar."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(
                f"The vector v can only be None if the {what} of {name} is a single Tensor with a single element."
            )
        return tuple(x.new_ones(x.shape) for x in like)
    v = _tensors(v if isinstance(v, tuple) else (v,), name, "vector v")
    if len(v) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}.")
    for i, (a, b) in enumerate(zip(v, like, strict=True)):
        if a.shape != b.shape:
            raise RuntimeError(f"v has invalid size: should be {b.shape} but got {a.shape} (entry {i}).")
    return v


def _check_graph(outs, what, strict):
    for i, o in enumerate(outs):
        if strict and not o.requires_grad:
            raise RuntimeError(
                f"Output {i} of the user-provided function does not require gradients. The {what} must be computed in "
                "a differentiable manner from the input when running in strict mode."
            )


def _grads(outs, ins, v, create_graph, strict, keep=False):
    """Gradients, with zeros for independent inputs (an error with `strict`)."""
    pairs = [(o, g) for o, g in zip(outs, v, strict=True) if o is not None and o.requires_grad]
    if not pairs:
        found = (None,) * len(ins)
    else:
        used, weights = zip(*pairs, strict=True)
        keep = keep or create_graph
        found = _grad(used, ins, weights, retain_graph=keep, create_graph=create_graph, allow_unused=True)
    filled = []
    for i, (g, x) in enumerate(zip(found, ins, strict=True)):
        if g is None:
            if strict:
                raise RuntimeError(
                    f"The output of the user-provided function is independent of input {i}. This is not allowed in "
                    "strict mode."
                )
            g = _zeros_like(x)
        filled.append(g)
    return tuple(filled)


def _zeros_like(x):
    return x.new_zeros(x.shape)


def _cotangent(x):
    """The point at which a vjp, linear in its cotangent, is differentiated: not zero, where ``sign`` would matter."""
    return x.new_ones(x.shape).requires_grad_()


def _shape(values, one, create_graph):
    if not create_graph:
        values = tuple(v.detach() for v in values)
    return values[0] if one else tuple(values)
