"""Forward mode: how ops propagate tangents (Jacobian-vector products).

Ops declare only vjps; see ``ops/``. Their jvps are derived by the class of the op:
- a linear op maps tangents as it maps values;
- a multilinear op contributes one term per input;
- the Jacobian of a pointwise op is diagonal, hence symmetric: its vjp is its jvp;
- any other vjp is linear in the gradient, so the vjp *of the vjp* is the jvp.
"""

from .._dtypes import is_inexact
from .._modes import modes
from .._tensor import Tensor, share
from ..autograd._gradients import pull_back
from ..engines.levels import level_of
from ..ops.pointwise import add
from ..ops.reduce import sum_to
from ..ops.shape import cast, expand, zeros_like
from .batching.classes import POINTWISE, names_in

LINEAR = names_in("""
    alias cast clone view reshape reshape_alias reshape_copy expand permute transpose t unsqueeze squeeze basic_index
    embed diagonal embed_diagonal unfold fold_windows as_strided as_strided_pull view_as_real view_as_complex as_complex
    to_copy clone_as move cat stack block_diag split split_with_sizes unbind copy_in_layout
    conj real imag neg add sub add_scaled sub_scaled rsub keep where complex piecewise_constant masked_keep
    deg2rad rad2deg
    sum mean whole_sum shift cumsum flip roll rot90 repeat sum_repeats repeat_interleave tril triu trace
    select_scatter slice_scatter diagonal_scatter as_strided_scatter copy_slices constant_pad pad_edges fold_edges
    index unindex index_put index_select index_add index_copy take untake put masked_fill masked_scatter masked_select
    masked_select_pull masked_pack gather ungather place scatter scatter_add fill_diagonal
    embedding unembedding avg_pool avg_pool_pull adaptive_avg_pool adaptive_avg_pool_pull max_unpool
    fft_c2c fft_r2c fft_c2r middle_scaled
""")
AT_ZERO = {"constant_pad": {"value": 0}, "shift": {"fill": 0}, "fill_diagonal": {"value": 0}}  # affine ops

# Ops that are linear in each input separately; the bias of the last three is an additive term.
MULTILINEAR = names_in("mul mm bmm matmul_batched matmul_folded mv vecmat dot vdot conv_weight linalg_cross")
WITH_BIAS = names_in("linear input_product convolution convolution_transposed")


def jvp(op, primals, tangents, out, settings):
    """The tangents of the results of ``op(*primals)``, `out`; None for results without tangent."""
    if not isinstance(out, tuple) and not is_inexact(out._a.dtype):
        return None
    if op.name in LINEAR:
        return linear(op, primals, tangents, settings)
    if op.name in MULTILINEAR:
        return total([op.function(*with_tangent(primals, i, t), **settings)
                      for i, t in enumerate(tangents) if t is not None])
    if op.name in WITH_BIAS:
        return affine(op, primals, tangents, out, settings)
    if (op.by_element or op.name in POINTWISE) and op.vjps and all(map(is_real, primals)) and is_real(out):
        return pointwise(op, primals, tangents, out, settings)
    return transpose_twice(op, primals, tangents, out, settings)


def linear(op, primals, tangents, settings):
    """Applies the op itself. Indices and masks are unchanged; missing tangents of other inputs are zero."""
    moved = []
    for i, (x, t) in enumerate(zip(primals, tangents, strict=True)):
        constant = i not in op.vjps if op.joint is None else op.variadic is None and not is_inexact(x._a.dtype)
        if t is not None or constant or x is None:
            moved.append(x if t is None else t)
        else:
            moved.append(zeros_like(x) if isinstance(x, Tensor) else 0)
    return op.function(*moved, **settings | AT_ZERO.get(op.name, {}))


def with_tangent(primals, i, tangent):
    return [tangent if j == i else x for j, x in enumerate(primals)]


def affine(op, primals, tangents, out, settings):
    x, weight, _ = primals
    x_moves, weight_moves, bias_moves = tangents
    terms = []
    if x_moves is not None:
        terms.append(op.function(x_moves, weight, None, **settings))
    if weight_moves is not None:
        terms.append(op.function(x, weight_moves, None, **settings))
    if bias_moves is not None:
        ones = [1] * (out._a.ndim - 2) if op.name not in ("linear", "input_product") else []
        shape = tuple(out._a.shape)
        terms.append(expand(bias_moves.reshape(-1, *ones), shape=shape))
    return total(terms)


def total(terms):
    result = terms[0]
    for term in terms[1:]:
        result = result + term
    return result


# ---- from vjps


def is_real(x):
    return not isinstance(x, complex) and not (isinstance(x, Tensor) and x._a.dtype.kind == "c")


def pointwise(op, primals, tangents, out, settings):
    shape, dtype, terms = tuple(out._a.shape), out._a.dtype, []
    for i, t in enumerate(tangents):
        if t is None or i not in op.vjps:
            continue
        function, getters = op.vjps[i]
        t = t if t._a.shape == shape else expand(t, shape=shape)
        term = function(t, *[argument(op, getter, primals, out, settings, ()) for getter in getters])
        terms.append(term if term._a.dtype is dtype else cast(term, dtype=dtype))
    return total(terms) if terms else None


def argument(op, getter, primals, out, settings, needs):
    """The value of a parameter of a vjp, by name."""
    kind, where = getter
    if kind == "setting":
        return settings[where] if where in settings else op.defaults[where]
    if kind == "input":
        return primals[where]
    if kind == "out":
        return out
    if kind == "part":
        return out[where]
    if kind == "needs":
        return needs
    if kind == "shape":
        return shape_of(primals[where])
    return tuple(primals[where:]) if kind == "inputs" else tuple([shape_of(x) for x in primals[where:]])


def shape_of(x):
    return tuple(x._a.shape) if isinstance(x, Tensor) else ()


def transpose_twice(op, primals, tangents, out, settings):
    """The vjp of the op's vjp, which is linear in the gradients of the results."""
    graph = bool(modes.grad) and any([isinstance(x, Tensor) and x._rg for x in (*primals, *tangents)])
    if not graph:
        primals = [detach_value(x) for x in primals]
    outs = out if isinstance(out, tuple) else (out,)
    grad, below, modes.grad = modes.grad, modes.grad, True
    try:
        gradients = [leaf_like(t) for t in outs]
        shown = tuple([t if graph else detach_value(t) for t in outs])
        pulled = pull(op, primals, shown if isinstance(out, tuple) else shown[0], settings, gradients, tangents)
        pairs = [(fit(g, x), t) for g, x, t in zip(pulled, primals, tangents, strict=True)
                 if t is not None and g is not None]
        pairs = [(g, t) for g, t in pairs if g._rg]
        leaves = [u for u in gradients if u._rg]
        if not pairs:
            found = [None] * len(leaves)
        else:
            roots, weights = zip(*pairs, strict=True)
            found = pull_back(roots, leaves, weights, graph, graph, level_depth(outs) if below else 0)
    finally:
        modes.grad = grad
    moves = iter(found)
    results = tuple([next(moves) if u._rg else None for u in gradients])
    return results if isinstance(out, tuple) else results[0]


def level_depth(tensors):
    """The level in whose graph tensors are recorded."""
    level = level_of([t._a for t in tensors])
    return 0 if level is None else level.depth


def detach_value(x):
    """Detaches a tensor from the graph of its level, but not from those below."""
    return share(object.__new__(Tensor), x) if isinstance(x, Tensor) else x


def leaf_like(t):
    """A gradient to differentiate with respect to; integer tensors have none."""
    t = detach_value(t)
    floating = is_inexact(t._a.dtype)
    u = add(zeros_like(t), 1) if floating else zeros_like(t)  # nonzero: some vjps have a kink at 0
    u._rg = floating
    return u


def pull(op, primals, out, settings, gradients, tangents):
    """Calls the vjps of an op on tensors, for the inputs that have tangents."""
    needs = tuple([t is not None for t in tangents])
    g = gradients if isinstance(out, tuple) and len(out) > 1 else gradients[0]
    if op.joint is not None:
        function, getters = op.joint
        return function(g, *[argument(op, getter, primals, out, settings, needs) for getter in getters])
    pulled = []
    for i, needed in enumerate(needs):
        function, getters = op.vjps.get(i, (None, ())) if needed else (None, ())
        arguments = [argument(op, getter, primals, out, settings, needs) for getter in getters]
        pulled.append(None if function is None else function(g, *arguments))
    return pulled


def fit(g, x):
    """Reduces a gradient to the shape and dtype of its input."""
    if g._a.shape != x._a.shape:
        g = sum_to(g, tuple(x._a.shape))
    return g if g._a.dtype == x._a.dtype else cast(g, dtype=x._a.dtype)
