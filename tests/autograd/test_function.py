"""autograd.Function: how the results of forward join the graph, and what backward receives and may return."""

import contextlib
import gc
import itertools
import weakref

import pytest

import flambeau
from _programs import Programs, differences, plain, raised

programs = Programs("autograd_function.json")


def make(t, forward, backward=lambda ctx, *grads: grads[0], setup_context=None, **attributes):
    """A Function of the given methods."""
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward), **attributes}
    if setup_context is not None:
        methods["setup_context"] = staticmethod(setup_context)
    return type("Own", (t.autograd.Function,), methods)


def leaf(t, *values):
    return t.tensor(list(values), requires_grad=True)


# ---- every kind of input, of output, and of what happens to the output


def with_base(view):
    return lambda t: (lambda x: (x, view(x)))(leaf(t, 1.0, 2.0, 3.0, 4.0))


INPUTS = {
    "a leaf": with_base(lambda x: x),
    "a non-leaf": with_base(lambda x: x * 2),
    "a view of a leaf": with_base(lambda x: x.view(2, 2)),
    "a view of a non-leaf": with_base(lambda x: (x * 2).view(2, 2)),
    "a part of a non-leaf": with_base(lambda x: (x * 2)[1:3]),
    "one of several views": with_base(lambda x: (x * 2).chunk(2)[0]),
    "a detached tensor": with_base(lambda x: (x * 2).detach()),
    "a constant": lambda t: (t.ones(4), t.ones(4)),
    "a view of a constant": lambda t: (lambda x: (x, x[1:3]))(t.ones(4)),
}


def write(ctx, x):
    x.add_(1)
    ctx.mark_dirty(x)
    return x


def then(*steps):
    """A forward of several steps; what the last one gives is returned."""
    return lambda ctx, x: [step(ctx, x) for step in steps][-1]


def marked(mark, values):
    """A forward that marks some of what it returns."""
    def forward(ctx, x):
        out = values(x)
        mark(ctx, out)
        return out

    return forward


FORWARDS = {
    "written": write,
    "written and not returned": then(write, lambda ctx, x: x.clone()),
    "written and not marked": lambda ctx, x: x.add_(1),
    "marked and not written": then(lambda ctx, x: ctx.mark_dirty(x), lambda ctx, x: x),
    "marked, no input": marked(lambda ctx, out: ctx.mark_dirty(out), lambda x: x.clone()),
    "marked, no tensor": then(lambda ctx, x: ctx.mark_dirty(3), lambda ctx, x: x.clone()),
    "written, and a view of it": then(write, lambda ctx, x: (x, x.view(-1))),
    "written, and a clone": then(write, lambda ctx, x: (x, x.clone())),
    "written, twice": then(write, lambda ctx, x: (x, x)),
    "written, without gradient": then(write, lambda ctx, x: ctx.mark_non_differentiable(x), lambda ctx, x: x),
    "as it came": lambda ctx, x: x,
    "as it came, twice": lambda ctx, x: (x, x),
    "as it came, without gradient": then(lambda ctx, x: ctx.mark_non_differentiable(x), lambda ctx, x: x),
    "a view": lambda ctx, x: x.view(-1),
    "a part": lambda ctx, x: x.view(-1)[:2],
    "two parts": lambda ctx, x: (x.view(-1)[:1], x.view(-1)[1:]),
    "a view of a clone": lambda ctx, x: x.clone().view(-1),
    "a part of a clone": lambda ctx, x: x.clone().view(-1)[:2],
    "parts of a clone": lambda ctx, x: tuple(x.clone().view(-1).split(1)[:2]),
    "a clone and its view": lambda ctx, x: (lambda c: (c, c.view(-1)))(x.clone()),
    "one thing twice": lambda ctx, x: (lambda y: (y, y))(x * 2),
    "detached": lambda ctx, x: x.detach(),
    "without gradient": marked(lambda ctx, out: ctx.mark_non_differentiable(out), lambda x: x.clone()),
    "one without gradient": marked(lambda ctx, out: ctx.mark_non_differentiable(out[1]), lambda x: (x * 2, x * 3)),
    "no tensors beside": lambda ctx, x: (x * 2, 5, None, "a"),
    "integers beside": lambda ctx, x: (x * 2, x > 0, x.long()),
    "no tensor": lambda ctx, x: 3,
    "a list": lambda ctx, x: [x * 2, x * 3],
    "nothing": lambda ctx, x: (),
    "a leaf of its own": lambda ctx, x: x.new_ones(2).requires_grad_(),
}
AFTERWARDS = {
    "used": lambda out: None,
    "written to": lambda out: out.mul_(2),
    "written to in part": lambda out: out.view(-1)[:1].mul_(2),
    "hooked": lambda out: out.register_hook(lambda g: g * 3),
    "retained": lambda out: out.retain_grad(),
    "detached": lambda out: out.detach_(),
}


def describe(out):
    name = out.grad_fn.name() if out.grad_fn is not None and not (out._is_view() and out._version) else None
    return [out.requires_grad, out.is_leaf, out._is_view(), name, out.output_nr]


def differentiate(t, log, x, outs):
    """Describes outputs, goes back from them, and notes what reached `x`."""
    outs = [o for o in outs if isinstance(o, t.Tensor)]
    for out in outs:
        log.append(attempt(log, lambda out=out: describe(out)))
    weighted = [(o * (k + 2.0) * t.arange(1.0, o.numel() + 1).view(o.shape)).sum()
                for k, o in enumerate(outs) if o.requires_grad and o.is_floating_point()]
    if weighted:
        attempt(log, lambda: sum(weighted).backward())
    log.extend([x.grad, x.detach().clone(), x._version])


def attempt(log, function):
    try:
        return function()
    except (RuntimeError, TypeError, ValueError) as error:
        log.append(type(error).__name__)
        return None


def outcome(t, inputs, forward, afterwards, materialize):
    """What becomes of one combination, step by step."""
    log = []
    x, given = INPUTS[inputs](t)

    def backward(ctx, *grads):
        log.append(list(grads))
        first = next((g for g in grads if g is not None), None)
        return None if first is None else first.new_ones(ctx.shape) * first.sum()

    def recorded_forward(ctx, a):
        ctx.shape = a.shape
        ctx.set_materialize_grads(materialize)
        return FORWARDS[forward](ctx, a)

    out = attempt(log, lambda: make(t, recorded_forward, backward).apply(given))
    log.append(type(out).__name__)
    if out is not None:
        outs = out if isinstance(out, tuple) else (out,)
        log.append([o is given for o in outs])
        if outs and isinstance(outs[0], t.Tensor):
            attempt(log, lambda: AFTERWARDS[afterwards](outs[0]) and None)
        attempt(log, lambda: differentiate(t, log, x, outs))
    log.append(given.detach().clone())
    return plain(log)


def test_forwards_without_torch():
    """What the table means, in a few of its cells."""
    refused = [("a leaf", "written"), ("a view of a leaf", "written"), ("one of several views", "written"),
               ("a non-leaf", "written and not returned"), ("a view of a non-leaf", "written, and a clone"),
               ("a non-leaf", "marked, no tensor")]
    for inputs, forward in refused:
        assert outcome(flambeau, inputs, forward, "used", True)[0] == "RuntimeError", (inputs, forward)
    accepted = [("a non-leaf", "written"), ("a part of a non-leaf", "written"), ("a leaf", "a view of a clone")]
    for inputs, forward in accepted:
        assert outcome(flambeau, inputs, forward, "used", True)[0] == "Tensor", (inputs, forward)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:.*received a tensor that was not an input")
@pytest.mark.parametrize("forward", FORWARDS)
@pytest.mark.parametrize("inputs", INPUTS)
def test_forwards(inputs, forward):
    torch = pytest.importorskip("torch")
    for afterwards, materialize in itertools.product(AFTERWARDS, (True, False)):
        got, want = (outcome(t, inputs, forward, afterwards, materialize) for t in (flambeau, torch))
        assert differences(got, want) == [], (afterwards, materialize)


# ---- arguments


def arguments(t, separate, *args, **kwargs):
    """What forward and backward of ``f(x, y=2, z=5)`` see, and the gradients, for a call by `args` and `kwargs`."""
    seen = []

    def forward(ctx, x, y=2, z=5):
        seen.append([list(ctx.needs_input_grad), [type(a).__name__ for a in (x, y, z)]])
        return x * y * z

    def setup_context(ctx, inputs, output):
        seen.append([list(ctx.needs_input_grad), len(inputs)])

    def backward(ctx, g):
        return tuple(g * (i + 1) if needed else None for i, needed in enumerate(ctx.needs_input_grad))

    own = make(t, forward, backward)
    if separate:
        own = make(t, lambda x, y=2, z=5: x * y * z, backward, setup_context)
    leaves = [a for a in (*args, *kwargs.values()) if isinstance(a, t.Tensor)]

    def call():
        out = own.apply(*args, **kwargs)
        seen.append([node and node.name() for node, _ in out.grad_fn.next_functions])
        out.sum().backward()

    return [raised(call), seen, [v.grad for v in leaves]]


@programs
def keyword_arguments_and_defaults(t):
    def one():
        return leaf(t, 1.0, 2.0)

    table = {}
    for separate in (False, True):
        calls = {"positions": [(one(), one()), {}], "a name": [(), {"x": one()}], "a default": [(one(),), {}],
                 "both": [(one(),), {"y": one()}], "names": [(), {"y": one(), "x": one()}],
                 "a number": [(one(),), {"y": 3}], "three": [(one(),), {"z": one(), "y": one()}],
                 "a gap": [(one(),), {"z": one()}], "constant": [(), {"x": one().detach(), "y": one()}],
                 "unknown": [(one(),), {"w": 1}], "twice": [(one(),), {"x": one()}], "too many": [(one(), 1, 2, 3), {}]}
        for name, (args, kwargs) in calls.items():
            table[f"{name}, setup_context: {separate}"] = arguments(t, separate, *args, **kwargs)
    return table


@programs
def attributes_of_any_name(t):
    """ctx is the node of the graph, and still free for the user."""
    names = ["shape", "dtype", "count", "next", "seq", "output", "inputs", "out", "hooks", "trace", "name", "free", "pull",
             "hooked", "backward", "guards", "settings", "op", "edges", "variable", "metadata_", "saved", "dim"]

    def forward(ctx, x):
        for name in names:
            setattr(ctx, name, 7)
        return x * 2, x * 3

    def backward(ctx, a, b):
        seen.extend(getattr(ctx, name) for name in names)
        return a * 2 + b * 3

    seen = []
    x = leaf(t, 1.0, 2.0)
    first, _ = make(t, forward, backward).apply(x)
    first.register_hook(lambda g: g * 2)
    first.sum().backward()
    return [seen, x.grad, raised(lambda: make(t, lambda ctx, x: setattr(ctx, "name", 1) or x * 2,
                                              lambda ctx, g: 3).apply(x).sum().backward())]


# ---- backward


@programs
def what_backward_may_return(t):
    one = t.ones(2)
    values = {"a number": 3, "text": "a", "a list": [one], "a dict": {}, "nothing": None, "an empty tuple": (),
              "a tuple": (one,), "too many": (one, one), "None beside": (one, None, None), "float64": one.double(),
              "int64": one.long(), "bool": one.bool(), "to be summed": t.ones(3, 2), "too small": t.ones(1),
              "of another shape": t.ones(3)}
    table = {}
    for name, value in values.items():
        x = leaf(t, 1.0, 2.0)
        y = make(t, lambda ctx, x: x * 2, lambda ctx, g, value=value: value).apply(x)
        table[name] = [raised(y.sum().backward), x.grad]
    x = leaf(t, 1.0, 2.0)
    beside = make(t, lambda ctx, x, k: x * k, lambda ctx, g: (g, g)).apply(x, 3)
    return [table, raised(beside.sum().backward)]


@programs
def boxed_gradients(t):
    log = []

    def backward(ctx, grads):
        log.append([type(grads).__name__, [g if g is None else g.clone() for g in grads]])
        return grads.pop(0), grads.pop(0)

    x, y = leaf(t, 1.0, 2.0), leaf(t, 3.0, 4.0)
    own = make(t, lambda ctx, x, y: (x * 2, y * 3, 5), backward, boxed_grads_call=True)
    out, _, _ = own.apply(x, y)
    out.sum().backward()
    node = own.apply(x, y)[0].grad_fn
    one = t.ones(2)
    return [log, x.grad, y.grad, node.apply(one, one), node.apply_boxed([one, one]),
            raised(lambda: node.apply_boxed(one, one))]


@programs
def saved_tensors_once(t):
    seen = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx, g):
        seen.append([len(ctx.saved_tensors), raised(lambda: ctx.saved_tensors)])
        return g

    for once in (False, True):
        x = leaf(t, 1.0, 2.0)
        make(t, forward, backward, clear_saved_tensors_on_access=once).apply(x).sum().backward()
    return seen


@programs
def which_backward(t):
    x = leaf(t, 1.0, 2.0)

    def run(**methods):
        own = type("Own", (t.autograd.Function,), {"forward": staticmethod(lambda ctx, x: x * 2), **methods})
        return raised(own.apply(x).sum().backward)

    times = staticmethod(lambda ctx, g: g * 2)
    return [run(backward=times), run(vjp=times), run(backward=times, vjp=times), run(), x.grad]


@programs
def returned_and_saved(t):
    """An input that setup_context saves must not be an output as well."""
    x = leaf(t, 1.0, 2.0)

    def save(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    def in_forward(ctx, x):
        ctx.save_for_backward(x)
        return x

    def saved(ctx, g):
        same.append(ctx.saved_tensors[0] is x)
        return g

    same = []
    separate = make(t, lambda x: x, setup_context=save)
    make(t, in_forward, saved).apply(x).sum().backward()
    viewed = make(t, lambda x: x.view_as(x), saved, save).apply(x)
    viewed.sum().backward()
    return [raised(lambda: separate.apply(x)), raised(lambda: separate.apply(t.ones(2))), same, x.grad]


@programs
def differentiated_once(t):
    once = t.autograd.function.once_differentiable
    own = make(t, lambda ctx, x: x * 2, once(lambda ctx, g: g * 2))
    x = leaf(t, 1.0, 2.0)
    plain_grad, = t.autograd.grad(own.apply(x).sum(), x, create_graph=True)
    weights = t.ones(2, requires_grad=True)
    grad, = t.autograd.grad(own.apply(x), x, weights, create_graph=True)
    return [plain_grad.requires_grad, grad.requires_grad, type(grad.grad_fn).__name__, raised(grad.sum().backward)]


@programs
def second_derivatives_under_saved_tensor_hooks(t):
    def forward(ctx, x):
        y = x * x * x
        ctx.save_for_backward(x, y)
        return y

    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * 3 * x * x + 0 * y

    results = []
    for hooks in (contextlib.nullcontext(), t.autograd.graph.saved_tensors_hooks(lambda v: v.clone(), lambda v: v)):
        for x in (leaf(t, 1.0, 2.0), leaf(t, 1.0, 2.0) * 2):
            with hooks:
                y = make(t, forward, backward).apply(x)
            grad, = t.autograd.grad(y.sum(), x, create_graph=True)
            results.extend([grad, t.autograd.grad(grad.sum(), x)])
    return results


test_functions, test_recording_of_functions = programs.tests()


def test_saved_results_do_not_keep_themselves_alive():
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    y = make(flambeau, forward).apply(leaf(flambeau, 1.0))
    alive = weakref.ref(y)
    gc.disable()
    try:
        del y
        assert alive() is None
    finally:
        gc.enable()


MISFITS = {  # what backward returns for an input of three real numbers, and words of the error
    "shape": (lambda t, g: g[:2], r"returned an invalid gradient at index 0 - got \[2\] but expected shape compatible with"),
    "complex": (lambda t, g: g * 1j, "invalid gradient at index 0 - expected a real gradient but got torch.complex64"),
    "device": (lambda t, g: g.to("meta"), "invalid gradient at index 0 - expected device cpu but got meta"),
    "number": (lambda t, g: 3, "expected Variable or None"),
    "count": (lambda t, g: (g, g), "incorrect number of gradients"),
}


@pytest.mark.parametrize("library", ["flambeau", pytest.param("torch", marks=pytest.mark.oracle)])
@pytest.mark.parametrize("case", MISFITS)
@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_that_do_not_fit_are_refused(library, case, create_graph):
    t = flambeau if library == "flambeau" else pytest.importorskip("torch")
    result, words = MISFITS[case]
    x = leaf(t, 1.0, 2.0, 3.0)
    y = make(t, lambda ctx, x: x * 2, lambda ctx, g: result(t, g)).apply(x)
    with pytest.raises(RuntimeError, match=words if t is flambeau else None):
        t.autograd.grad(y.sum(), x, create_graph=create_graph)


def test_only_tensors_are_marked_as_not_differentiable():
    with pytest.raises(RuntimeError, match="mark_non_differentiable only accepts variable arguments, got int"):
        make(flambeau, lambda ctx, x: ctx.mark_non_differentiable(3)).apply(leaf(flambeau, 1.0))
