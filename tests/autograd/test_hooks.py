"""Hooks on tensors and nodes: which ones run, their order, arguments and allowed results."""

import pytest

import flambeau
from _programs import Programs, differences, plain, raised

programs = Programs("autograd_hooks.json")


def values(grad):
    return None if grad is None else grad.detach().tolist()


def watch(t, log, name, x):
    """Puts every kind of hook on a tensor; each notes its call."""
    x.register_hook(lambda g: log.append([name, "tensor", values(g)]))
    node = t.autograd.graph.get_gradient_edge(x).node
    node.register_prehook(lambda gs: log.append([name, "pre", [values(g) for g in gs]]))
    node.register_hook(lambda ins, outs: log.append([name, "post", [values(g) for g in ins], [values(g) for g in outs]]))
    if x.is_leaf:
        x.register_post_accumulate_grad_hook(lambda p: log.append([name, "accumulated", values(p.grad)]))
    else:
        x.retain_grad()
    return node


def function(t, backward, materialize=True):
    class Doubled(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            return x * 2

    Doubled.backward = staticmethod(backward)
    return Doubled.apply


def without_gradient(ctx, grad):
    return None


WAYS = {
    "backward": lambda t, x, y, z: z.sum().backward(),
    "grad of the leaf": lambda t, x, y, z: t.autograd.grad(z.sum(), x, allow_unused=True),
    "grad of the middle": lambda t, x, y, z: t.autograd.grad(z.sum(), y, allow_unused=True),
    "backward into the leaf": lambda t, x, y, z: z.sum().backward(inputs=[x]),
    "backward into the middle": lambda t, x, y, z: z.sum().backward(inputs=[y]),
    "backward at an edge": lambda t, x, y, z: z.sum().backward(inputs=t.autograd.graph.get_gradient_edge(x)),
}
MIDDLES = {
    "an op": lambda t: lambda x: x * 3,
    "a Function": lambda t: function(t, lambda ctx, g: g),
    "a Function that sees None": lambda t: function(t, lambda ctx, g: g, materialize=False),
}


def order(t, way, middle, undefined):
    log = []
    x = t.ones(2, requires_grad=True)
    nodes = [watch(t, log, "x", x)]
    y = MIDDLES[middle](t)(x)
    nodes.append(watch(t, log, "y", y))
    z = function(t, without_gradient)(y) if undefined else y * 2
    nodes.append(watch(t, log, "z", z))
    result = WAYS[way](t, x, y, z)
    return [log, [values(g) for g in result or ()], values(x.grad), values(y.grad), values(z.grad)]


@programs
def order_of_hooks(t):
    """Tensor hooks, then hooks on the node; on a leaf what waits for the sum stands between those of the node."""
    return {f"{way}, through {middle}, undefined: {undefined}": order(t, way, middle, undefined)
            for way in WAYS for middle in MIDDLES for undefined in (False, True)}


def replacements(t):
    one = t.ones(2)
    return {"nothing": None, "a tensor": one, "a tuple": (one,), "two": (one, one), "None": (None,), "half": (one, None),
            "no tuple": (), "a list": [one], "another dtype": (one.double(),), "a sum": (one.sum(),), "text": ("a",),
            "a wrong dtype": one.double(), "a wrong shape": one.sum(), "a number": 3}


def put(t, kind, x, y, value):
    """Puts a hook that returns `value` where `kind` says; returns what must be kept alive."""
    if kind == "tensor":
        y.register_hook(lambda g: value)
    elif kind == "leaf":
        x.register_hook(lambda g: value)
    else:
        target, when = kind.split()
        node = t.autograd.graph.get_gradient_edge(x if target == "leaf" else y).node
        if when == "pre":
            node.register_prehook(lambda gs: value)
        else:
            node.register_hook(lambda ins, outs: value)
        return node
    return None


@programs
def what_hooks_may_return(t):
    table = {}
    for kind in ("tensor", "leaf", "node pre", "node post", "leaf pre", "leaf post"):
        for undefined in (False, True):
            for name, value in replacements(t).items():
                x = t.ones(2, requires_grad=True)
                y = x * t.ones(2)
                node = put(t, kind, x, y, value)
                z = function(t, without_gradient)(y) if undefined else y
                table[f"{kind}, {name}, undefined: {undefined}"] = [raised(z.sum().backward), values(x.grad), node is None]
    return table


@programs
def hooks_on_results_that_get_no_gradient(t):
    log = []
    x = t.ones(4, requires_grad=True)
    first, second = x.chunk(2)
    second.register_hook(lambda g: log.append(["second", values(g)]))
    first.register_hook(lambda g: log.append(["first", values(g)]))
    first.sum().backward()
    return log


@programs
def indices_are_no_business_of_hooks(t):
    log = []
    x = t.tensor([[1.0, 3.0], [2.0, 0.0]], requires_grad=True)
    for result in (x.sort(0), x.max(1), x.topk(1), x.cummax(0)):
        node = result.values.grad_fn
        node.register_prehook(lambda gs: log.append(len(gs)))
        node.register_hook(lambda ins, outs: log.append([len(ins), len(outs)]))
        result.values.sum().backward()
    return log


@programs
def statistics_are_no_business_of_hooks(t):
    log = []
    x = t.arange(48.0).reshape(2, 4, 6).sin().requires_grad_()
    for norm in (t.nn.BatchNorm1d(4), t.nn.LayerNorm(6), t.nn.GroupNorm(2, 4)):
        for model in (norm, t.nn.Sequential(norm, t.nn.ReLU())):
            y = model(x)
            node = y.grad_fn if model is norm else y.grad_fn.next_functions[0][0]
            node.register_prehook(lambda gs: log.append(len(gs)))
            node.register_hook(lambda ins, outs: log.append([len(ins), len(outs)]))
            y.sum().backward()
    return log


@programs
def edges_lead_to_what_has_gradients(t):
    x, y = t.ones(2, requires_grad=True), t.ones(2)
    results = [t.where(x > 0, x, y), x.gather(0, t.tensor([0])), x[t.tensor([1])],
               x.index_select(0, t.tensor([0])), x * 2, x * y]
    return [[node and node.name() for node, _ in r.grad_fn.next_functions] for r in results]


@programs
def the_graph_holds_the_nodes_of_leaves(t):
    log = []
    x = t.ones(2, requires_grad=True)
    y = x * 2
    y.grad_fn.next_functions[0][0].register_hook(lambda ins, outs: log.append("while the graph lives"))
    y.sum().backward()
    del y
    (x * 2).sum().backward()
    return log


@programs
def a_root_that_is_not_wanted(t):
    log = []
    x, y = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
    x.register_hook(lambda g: log.append(values(g)))
    z = x * 2
    z.register_hook(lambda g: log.append(values(g)))
    t.autograd.grad(x.sum(), y, allow_unused=True)
    t.autograd.grad(z, y, t.ones(2), allow_unused=True)
    t.autograd.grad([z, x], y, [t.ones(2), t.ones(2)], allow_unused=True)
    return log


@programs
def captures_before_and_after_hooks(t):
    """A gradient that is captured on the way has not been through the hooks; one at the end has."""
    x = t.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: g * 100)
    z = (y * 3).sum()
    return [t.autograd.grad(z, wanted, retain_graph=True) for wanted in ([y], [x, y], [y, x], [x])]


@programs
def views_through_which_nothing_flows(t):
    x = t.ones(2, requires_grad=True)
    with t.no_grad():
        view = x.view(2, 1)
    x.sum().backward(inputs=[view])
    return [x.grad is None, t.autograd.grad(x.sum(), [view], allow_unused=True)]


@programs
def leaves_that_stopped_requiring_grad(t):
    log = []
    x, y = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
    for leaf in (x, y):
        leaf.register_hook(lambda g: log.append(["tensor", values(g)]))
        leaf.register_post_accumulate_grad_hook(lambda p: log.append(["accumulated", values(p.grad)]))
    z = x * y
    x.requires_grad_(False)
    y.detach_()
    z.sum().backward()
    return [log, x.grad is None, y.grad is None]


@programs
def several_gradients_at_once(t):
    log = []

    def run(mode, choose, call):
        x, y = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
        a, b = x * 2, y * 3
        tensors = choose(x, y, a, b)
        handle = t.autograd.graph.register_multi_grad_hook(tensors, lambda g: log.append(
            [values(v) for v in g] if mode == "all" else values(g)), mode=mode)
        call(a, b)
        call(a, b)
        handle.remove()
        call(a, b)
        log.append("next")

    both = lambda a, b: (a * b).sum().backward(retain_graph=True)  # noqa: E731
    only = lambda a, b: a.sum().backward(retain_graph=True)  # noqa: E731
    for mode in ("all", "any"):
        for call in (both, only):
            run(mode, lambda x, y, a, b: [a, b], call)
            run(mode, lambda x, y, a, b: [x, y], call)
            run(mode, lambda x, y, a, b: [a, a, x], call)
            run(mode, lambda x, y, a, b: [x], call)
    x = t.ones(2, requires_grad=True)
    hook = t.autograd.graph.register_multi_grad_hook
    return [log, raised(lambda: hook([t.ones(1)], print)), raised(lambda: hook([t.ones(1), x], print, mode="any")),
            raised(lambda: hook([x], print, mode="some"))]


test_hooks, test_recording_of_hooks = programs.tests()


# ---- any combination


def leaf_program(t, hooks, way, twice):
    """Two leaves with the `hooks` that a random choice gave them; `way` of going back, perhaps twice."""
    log, kept = [], []
    x, y = t.tensor([1.0, 2.0], requires_grad=True), t.tensor([3.0, -1.0], requires_grad=True)
    product = x * y
    tensors = [x, y, product]
    for number, (which, kind, factor) in enumerate(hooks):
        tensor = tensors[which]
        kept.append(add_hook(t, log, number, tensor, kind, factor))
    for _ in range(1 + twice):
        try:
            result = way_back(t, way, x, y, product)
            log.append([values(g) for g in result or ()])
        except RuntimeError:
            log.append("RuntimeError")
    return plain([log, [values(v.grad) for v in tensors if v.is_leaf or v.retains_grad]])


def add_hook(t, log, number, tensor, kind, factor):
    def tensor_hook(g):
        log.append([number, kind, values(g)])
        return None if factor is None else g * factor

    def pre_hook(gs):
        log.append([number, kind, [values(g) for g in gs]])
        return None if factor is None else scaled(gs, factor)

    def post_hook(ins, outs):
        log.append([number, kind, [values(g) for g in ins], [values(g) for g in outs]])
        return None if factor is None else scaled(ins, factor)

    if kind == "accumulated":
        if tensor.is_leaf:
            tensor.register_post_accumulate_grad_hook(lambda p: log.append([number, kind, values(p.grad)]))
        return None
    if kind == "retain":
        tensor.retain_grad()
        return None
    if kind == "tensor":
        return tensor.register_hook(tensor_hook)
    node = t.autograd.graph.get_gradient_edge(tensor).node
    if kind == "pre":
        node.register_prehook(pre_hook)
    else:
        node.register_hook(post_hook)
    return node


def scaled(grads, factor):
    return tuple(None if g is None else g * factor for g in grads)


def way_back(t, way, x, y, product):
    loss = (product * product + x).sum()
    if way == "backward":
        return loss.backward(retain_graph=True)
    if way == "inputs":
        return loss.backward(inputs=[x], retain_graph=True)
    if way == "middle":
        return loss.backward(inputs=[product], retain_graph=True)
    if way == "recorded":
        return t.autograd.grad(loss, [x, product], create_graph=True)
    return t.autograd.grad(loss, [y], retain_graph=True)


@pytest.mark.oracle
def test_any_combination_of_hooks():
    torch = pytest.importorskip("torch")
    hypothesis = pytest.importorskip("hypothesis")
    st = hypothesis.strategies
    hook = st.tuples(st.integers(0, 2), st.sampled_from(["tensor", "pre", "post", "accumulated", "retain"]),
                     st.sampled_from([None, None, 2.0, -1.0]))

    @hypothesis.settings(max_examples=150, deadline=None, derandomize=True)
    @hypothesis.given(st.lists(hook, max_size=6),
                      st.sampled_from(["backward", "inputs", "middle", "grad", "recorded"]), st.booleans())
    def check(hooks, way, twice):
        want = leaf_program(torch, hooks, way, twice)
        assert differences(leaf_program(flambeau, hooks, way, twice), want) == []

    check()


@pytest.mark.parametrize("result, error", [(3, TypeError), (flambeau.ones(2), RuntimeError)], ids=["number", "tensor"])
def test_a_hook_after_accumulation_returns_nothing(result, error):
    x = flambeau.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda p: result)
    with pytest.raises(error, match=r"expected Variable|should return None"):
        x.sum().backward()
