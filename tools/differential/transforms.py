"""Programs of function transforms: a function of the family `ops` over a batch, and its derivatives in both modes."""

import math
import re

from . import autograd
from .cases import is_finite
from .compare import is_tensor
from .forms import forms
from .ops import TABLES
from .subjects import SUBJECTS
from .writer import Over

ROWS = [row for table in TABLES for row in table if "{x}" in row.template and "#" not in row.template]
BATCHED = "torch.func.vmap(lambda INPUTS: BODY, in_dims=DIMS{|, out_dims=-1|, chunk_size=1|, randomness='same'})(BATCH)"
DERIVATIVES = [
    "torch.func.jvp(lambda q: BODY, ({a},), ({t},))",
    "torch.func.vjp(lambda q: BODY, {a})[1]({y})",
    "torch.func.grad(lambda q: LOSS)({a})",
    "torch.func.grad_and_value(lambda q: LOSS)({a})",
    "torch.func.jacrev(lambda q: BODY)({a})",
    "torch.func.jacfwd(lambda q: BODY)({a})",
    "torch.func.hessian(lambda q: LOSS)({a})",
    "torch.func.vmap(torch.func.grad(lambda q: LOSS))(torch.stack([{a}, {t}]))",
    "torch.func.vmap(torch.func.jacfwd(lambda q: BODY))(torch.stack([{a}, {t}]))",
    "torch.func.vmap(lambda q, u: torch.func.jvp(lambda q: BODY, (q,), (u,)))(torch.stack([{a}, {t}]), torch.stack([{t}, {a}]))",
    "torch.func.jvp(torch.func.grad(lambda q: LOSS), ({a},), ({t},))",
    "torch.func.grad(lambda q: torch.func.grad(lambda q: LOSS)(q).square().abs().sum())({a})",
    "torch.func.jvp(lambda q: torch.func.jvp(lambda q: BODY, (q,), ({t},))[1], ({a},), ({t},))",
    "torch.autograd.functional.jacobian(lambda q: BODY, {a}{|, vectorize=True|, strategy='forward-mode', vectorize=True})",
    "torch.autograd.functional.hvp(lambda q: LOSS, {a}, {t})[1]",
]


def write(writer):
    """A function of a tensor, and a transform or two of it."""
    writer.special = False
    row = writer.pick(ROWS)
    if writer.seldom(3):
        row = writer.pick(forms(row))
    differentiable = not writer.seldom(2) and not set("fc").isdisjoint(row.kinds)
    if differentiable:
        row = row._replace(kinds="".join(kind for kind in "fc" if kind in row.kinds))
    a = SUBJECTS[row.x](writer, row) if row.x else writer.tensor(row.kinds, most=3)
    if row.x and writer.pair.oracle[a].numel() and differentiable:
        a = autograd.generic(writer, a, row)
    elif differentiable and not writer.seldom(4):
        a = writer.do(generic(tuple(writer.pair.oracle[a].shape), writer.pair.oracle[a].dtype))
    y = writer.apply(row, x=a)
    step = writer.pair.steps[-1]
    value = writer.pair.oracle[y]
    if not is_result(value) or re.search("out=|resize_", step.template):
        raise Over
    for _ in range(writer.integer(1, 2)):
        (differentiate if differentiable else batch)(writer, step, a, value)


def is_result(value):
    """Whether a transform may return it."""
    return is_tensor(value) or (isinstance(value, tuple) and len(value) > 0 and all(map(is_tensor, value)))


def batch(writer, step, a, value):
    """The function for each of several samples, of one argument or of two."""
    names = {"x": "q"}
    found = [field for field, name in step.arguments.items()
             if field != "x" and name in writer.pair.oracle and is_tensor(writer.pair.oracle[name])]
    if found and writer.seldom(2):
        names[writer.pick(found)] = "r"
    samples, dims = [], []
    for field in names:
        name = step.arguments[field]
        dims.append(writer.integer(-1, writer.pair.oracle[name].ndim))
        second = f"{{{field}}}.roll(1)" if "linalg" not in step.template and "cholesky" not in step.template else f"2 * {{{field}}}"
        samples.append(f"torch.stack([{{{field}}}, {second}], {dims[-1]})")
    if len(names) == 2 and writer.seldom(3):
        i = writer.integer(0, 1)
        dims[i], samples[i] = None, "{" + list(names)[i] + "}"
    text = nested(writer, len(names)) if writer.seldom(4) else BATCHED
    text = text.replace("INPUTS", ", ".join(names.values())).replace("DIMS", str(tuple(dims)) if len(dims) > 1 else str(dims[0]))
    apply(writer, text.replace("BATCH", ", ".join(samples)), step, names)


def nested(writer, width):
    outer = [writer.pick(("0", "None")) for _ in range(width)]
    if "0" not in outer:
        outer[0] = "0"
    stacked = "*[s if d is None else torch.stack([s, s.clone()]) for s, d in zip([BATCH], [OUTER])]".replace("OUTER", ", ".join(outer))
    return f"torch.func.vmap(torch.func.vmap(lambda INPUTS: BODY, in_dims=DIMS), in_dims=({', '.join(outer)},))({stacked})"


def differentiate(writer, step, a, value):
    """A derivative of the function, at a point at which it has one."""
    x = writer.pair.oracle[a]
    result = "BODY"
    while isinstance(value, tuple):
        i = writer.pick([i for i, each in enumerate(value)])
        result, value = f"({result})[{i}]", value[i]
    if not (value.is_floating_point() or value.is_complex()) or not 0 < x.numel() <= 24 or not is_finite([value]):
        raise Over
    text = writer.pick(DERIVATIVES)
    if "jac" in text and (value.numel() > 24 or x.is_complex() or value.is_complex()):
        raise Over
    text = text.replace("LOSS", writer.pick(autograd.SMOOTH).replace("Y", result)).replace("BODY", result)
    text = text.replace("{y}", f"torch.ones({tuple(value.shape)}, dtype={value.dtype})")
    given = {"t": tangent(writer, a, step)} if "{t}" in text else {}
    apply(writer, text.replace("{a}", "{x}"), step, {"x": "q"}, given)


def tangent(writer, a, step):
    """A direction; one of matrices that have a structure has it too."""
    x = writer.pair.oracle[a]
    if "linalg" in step.template or "cholesky" in step.template:
        return writer.do("2 * {x}", x=a)
    return writer.do(generic(tuple(x.shape), x.dtype, 50))


def generic(shape, dtype, start=1):
    """Numbers at which functions have derivatives, none like another."""
    text = f"(torch.arange({start}, {start + math.prod(shape)}, dtype=torch.float64).sin() * 0.45 + 0.5).reshape{shape}"
    return f"{text}.to({dtype})"


def apply(writer, text, step, names, given=None):
    """The transform {text} of the step, whose arguments of some fields have other names in it."""
    body = step.template.replace("{x}", "(q * 1)") if given is not None and re.search(r"\w_\(|\] = ", step.template) else step.template
    for field, name in names.items():
        body = body.replace(f"{{{field}}}", name)
    template, chosen = writer.choose(text)
    template = template.replace("BODY", body)
    given = {**step.arguments, **chosen, **(given or {})}
    writer.do(template, **{field: value for field, value in given.items() if f"{{{field}}}" in template})
