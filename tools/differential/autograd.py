"""Programs of autograd: gradients of functions; of chains with views and writes, graphs of them, hooks, grad modes."""

import math
import re

from . import cases
from .fft import FFT
from .indexing import INDEXING
from .linalg import LINALG
from .pointwise import POINTWISE
from .reduce import REDUCE
from .shapes import SHAPES
from .subjects import SUBJECTS
from .writer import Over, rows

FUNCTIONS = [
    *rows("fc", "{x} NAME {other}", "* + - /"),
    *rows("fc", "torch.NAME({x})", """exp sin cos tanh sqrt log sigmoid square reciprocal abs asinh atan expm1 log1p
          sinh rsqrt neg"""),
    *rows("f", "torch.NAME({x})", "relu erf lgamma sinc sgn floor trunc"),
    *rows("f", "torch.nn.functional.NAME({x})", """gelu silu softplus elu leaky_relu hardswish mish
          logsigmoid selu hardtanh"""),
    *rows("fc", "{x} ** {number}"),
    *rows("f", "torch.NAME({x}, {peer})", "maximum minimum atan2 hypot fmax logaddexp xlogy"),
    *rows("fc", "torch.NAME({x}, {peer})", "mul add div pow"),
    *rows("fc", "torch.NAME({x})", "sum mean prod"),
    *rows("fc", "torch.NAME({x}, dim={dim}, keepdim={flag})", "sum mean prod"),
    *rows("f", "torch.NAME({x}, dim={dim}, keepdim={flag})", "var std"),
    *rows("f", "torch.NAME({x}, dim={dim})", "logsumexp softmax log_softmax amax amin cumsum cumprod cummax"),
    *rows("f", "torch.NAME({x}, dim={dim}).values", "max min median sort"),
    *rows("f", "torch.NAME({x})", "max min amax"),
    *rows("fc", "{x} @ {right}"),
    *rows("fc", "torch.NAME([{x}, {same}])", "cat stack"),
    *rows("f", "torch.where({mask}, {x}, {peer})"),
    *rows("fc", "{x}.masked_fill({mask}, 2.0)"),
    *rows("f", "torch.clamp({x}, -1.0, 1.0)"),
    *rows("f", "torch.clamp({x}, min={peer})"),
    *rows("fc", "torch.lerp({x}, {same}, 0.25)"),
    *rows("fc", "torch.addcmul({x}, {peer1}, {peer2}, value=2)"),
    *rows("fc", "{x}[{key}]"),
    *rows("fc", "torch.index_select({x}, 0, {positions})"),
    *rows("fc", "torch.roll({x}, 1, 0)"),
    *rows("fc", "torch.flip({x}, (0,))"),
    *rows("fc", "torch.tril({x})"),
    *rows("f", "torch.linalg.vector_norm({x}, {positive}, dim={dim})"),
    *rows("f", "torch.nn.functional.layer_norm({x}, ({x}.shape[-1],))"),
    *rows("f", "torch.nn.functional.NAME({x}, {same})", """mse_loss l1_loss smooth_l1_loss kl_div soft_margin_loss
          binary_cross_entropy_with_logits cross_entropy cosine_similarity pairwise_distance"""),
    *rows("f", "torch.NAME({x}, {same})", "cdist outer dot inner kron dist"),
    *rows("f", "torch.nn.functional.NAME({x}, 2)", "max_pool1d avg_pool1d adaptive_avg_pool1d"),
    *rows("f", "torch.nn.functional.batch_norm({x}, None, None, training=True)"),
    *rows("f", "torch.nn.functional.pad({x}, (1, -1))"),
    *rows("fc", "torch.NAME({x}, {dim}, torch.zeros_like({x}, dtype=torch.int64))", "gather"),
    *rows("fc", "torch.scatter_add({x}, {dim}, torch.zeros({x}.shape, dtype=torch.int64), {same})"),
    *rows("f", "torch.NAME({x}, {dim})", "nansum"),
    *rows("f", "torch.sort({x}, dim={dim}, stable=True, descending={flag})[0]"),
    *rows("f", "{x}.unique()"),
    *rows("fc", "torch.NAME({x}, {index})", "triu diagonal diag_embed diff"),
    *rows("f", "torch.nn.functional.NAME({x}, {positive})", "elu celu leaky_relu softplus hardshrink softshrink"),
    *rows("f", "torch.nn.functional.glu({x}, {dim})"),
    *rows("fc", "torch.einsum('i...,i...->...', {x}, {same})"),
    *rows("fc", "torch.repeat_interleave({x}, 2, {dim})"),
    *rows("f", "{x}.to(torch.NAME)", "float64 float32 complex64"),
    *rows("c", "{x}.NAME", "real imag"),
    *rows("c", "torch.NAME({x})", "abs angle view_as_real"),
]
VIEWS = [
    *rows("fc", "{x}[{basic_key}]"),
    *rows("fc", "{x}.transpose({dim1}, {dim2})"),
    *rows("fc", "{x}.reshape({shape})"),
    *rows("fc", "{x}.expand({larger})"),
    *rows("fc", "{x}.NAME()", "clone detach flatten squeeze diagonal contiguous"),
    *rows("fc", "{x}.unsqueeze({dim})"),
    *rows("fc", "{x}.unbind({dim})"),
    *rows("fc", "{x}.unfold({dim}, 2, 1)"),
    *rows("fc", "torch.chunk({x}, 2, dim={dim})"),
]
WRITES = [
    *rows("fc", "{x}.NAME_({other})", "mul add copy"),
    *rows("f", "{x}.NAME_()", "exp sigmoid relu tanh neg zero"),
    *rows("fc", "{x}[{key}] = {number}"),
    *rows("fc", "{x}[{key}] = {peer}"),
    *rows("fc", "{x}[{key}] *= {number}"),
    *rows("fc", "{x}.masked_fill_({mask}, 0.5)"),
    *rows("f", "{x}.clamp_(-1, 1)"),
    *rows("fc", "{x}.detach_()"),
    *rows("fc", "{x}.detach().mul_(2)"),
]
GRAPH = [
    *rows("fc", "{x}.NAME", "requires_grad_() retain_grad() detach_()"),
    *rows("fc", "{x}.register_hook(lambda g: g * 2)"),
    *rows("fc", "{x}.register_hook(lambda g: log.append(('hook', g)))"),
    *rows("fc", "{x}.register_post_accumulate_grad_hook(lambda p: log.append(('post', p.grad.clone())))"),
    *rows("fc", "{x}.grad = None"),
    *rows("fc", "with torch.no_grad(): {x}.mul_({number})"),
    *rows("fc", "with torch.no_grad(): {x}.grad.zero_()"),
]
BACKWARD = [
    *rows("f", "{x}.sum().backward()"),
    *rows("fc", "{x}.abs().sum().backward(retain_graph=True)"),
    *rows("f", "({x} * {x}).sum().backward(retain_graph={flag})"),
    *rows("fc", "{x}.backward({same}, retain_graph={flag})"),
    *rows("f", "{x}.sum().backward(inputs=[{leaf}])"),
    *rows("f", "{x}.sum().backward(create_graph=True)"),
]
GRADIENTS = [
    *rows("f", "torch.autograd.grad({x}.sum(), {leaf}, retain_graph={flag}, allow_unused=True)"),
    *rows("f", "torch.autograd.grad({x}.sum(), {leaf}, create_graph=True, allow_unused=True)"),
    *rows("f", "torch.autograd.grad(({x} * {x}).sum(), [{leaf1}, {leaf2}], create_graph=True, allow_unused=True)"),
    *rows("fc", "torch.autograd.grad({x}, {leaf}, {same}, allow_unused=True, materialize_grads=True)"),
]
OPS = [row._replace(kinds="".join(kind for kind in "fc" if kind in row.kinds))
       for table in (FFT, LINALG, INDEXING, REDUCE, SHAPES, POINTWISE) for row in table
       if {*row.kinds} & {*"fc"} and "{x}" in row.template]

# Without a kink at zero, where the sign of rounding would count.
SMOOTH = ("(Y * Y).abs().sum()", "((Y + 3) * (Y + 3)).abs().mean()")


def write(writer):
    """A graph, or the gradients of one function of the family `ops`."""
    writer.special = False
    write_op(writer) if writer.seldom(2) else write_graph(writer)


def write_op(writer):
    """A function of a leaf, and a gradient or two of its result."""
    row = writer.pick(OPS)
    x = SUBJECTS[row.x](writer, row) if row.x else writer.tensor(row.kinds)
    if row.x and writer.pair.oracle[x].numel():
        x = generic(writer, x, row)
    if writer.pair.oracle[x].is_leaf and writer.tensors("fc").get(x) is not None:
        writer.do("{x}.requires_grad_()", target="", x=x)
    y = writer.apply(row, x=x)
    cases.differentiate(writer, y, re.sub("[{}]", "", row.template), inputs={"x": x}, losses=SMOOTH)


def generic(writer, x, row):
    """A tensor of the shape of x without equal or zero singular values, at which gradients have no limit."""
    shape, dtype = tuple(writer.pair.oracle[x].shape), writer.pair.oracle[x].dtype
    text = f"(torch.arange({math.prod(shape)}, dtype=torch.float64) ** 2).sin().reshape{shape}.to({dtype})"
    if row.x == "positive_definite":
        root = writer.do(f"{text}.tril() + 2 * torch.arange(1, {shape[-1] + 1}).diag()")
        return writer.do("{root} @ {root}.mH", root=root)
    return writer.do(f"{text} + 2 * torch.eye({shape[-2]}, {shape[-1]}, dtype={dtype})" if len(shape) > 1 else text)


def write_graph(writer):
    """A leaf or two, functions of them, and gradients in the midst of it."""
    for _ in range(writer.integer(1, 2)):
        writer.new(writer.shape(most=3), "fc" if writer.seldom(5) else "f", suffix=".requires_grad_()")
    writer.do("[]", target="log")
    while not writer.seldom(7):
        table = writer.pick((FUNCTIONS, BACKWARD, VIEWS, GRADIENTS, FUNCTIONS, WRITES, GRAPH))
        row = writer.pick(table)
        if "{leaf" in row.template or table is BACKWARD:
            differentiate(writer, row, table)
        else:
            writer.apply(row, target="" if table in (WRITES, GRAPH) else None)
        unpack(writer)
        if len(writer.pair.steps) > 11:
            break
    differentiate(writer, BACKWARD[0], BACKWARD)


def differentiate(writer, row, table):
    """Gradients of a tensor of the graph with respect to others."""
    leaves = {f"leaf{i}": recorded(writer) for i in ("", "1", "2") if "{leaf" + i + "}" in row.template}
    writer.apply(row, target="" if table is BACKWARD else None, x=recorded(writer, row.kinds), **leaves)


def recorded(writer, kinds="fc"):
    """A tensor that requires a gradient; the youngest is the simplest choice."""
    found = [name for name, v in writer.tensors(kinds).items() if v.requires_grad]
    if not found:
        raise Over
    return writer.pick(found[::-1])


def unpack(writer):
    """Gives one of several results a name of its own."""
    name, value = list(writer.pair.oracle.items())[-1]
    if isinstance(value, (tuple, list)) and value and name != "log":
        i = writer.integer(0, len(value) - 1)
        if value[i] is not None:
            writer.do("{several}[{i}]", several=name, i=str(i))
