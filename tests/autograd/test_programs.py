"""Autograd behaves as PyTorch's: the same programs, the same results."""

import threading
import weakref

import pytest

import flambeau
from _programs import Programs, differences, raised

programs = Programs("autograd_programs.json")


def leaf(t, *values, dtype=None):
    return t.tensor(list(values), dtype=dtype or t.float32, requires_grad=True)


def names(node):
    """The names of the graph below a node, depth first."""
    return [type(node).__name__, [names(n) for n, _ in node.next_functions if n is not None]]


# ---- the graph


@programs
def node_names(t):
    x, w = leaf(t, 1.0, 2.0), leaf(t, 3.0, 4.0)
    outs = [x + w, x - w, x * w, x / w, -x, x.exp(), x.sum(), x.mean(), x.tanh(), x.sigmoid(), x.relu(), x.view(2, 1),
            x[0], x[0:1], x.clone(), x.reshape(2, 1), x.unsqueeze(0), x.expand(2, 2), t.cat((x, w)), t.stack((x, w)),
            x.unsqueeze(0) @ w.unsqueeze(1), x.dot(w), x**2, x.sqrt(), x.abs(), x.max(), x.max(0).values, x.var(),
            x.std(), x.prod(), t.where(x > 1, x, w), x.softmax(0), x.log_softmax(0), x.cumsum(0), x.sort().values,
            x.gather(0, t.tensor([0])), x.index_select(0, t.tensor([1])), x.masked_fill(x > 1, 0.0), x.double()]
    return [o.grad_fn.name() for o in outs]


@programs
def graph_shape(t):
    x, y = leaf(t, 1.0), leaf(t, 2.0)
    return names(((x * y + x) * 2 - y).sum().grad_fn)


@programs
def leaves(t):
    x = leaf(t, 1.0)
    y = x * 2
    z = t.tensor([1.0])
    return [x.is_leaf, y.is_leaf, z.is_leaf, x.grad_fn is None, y.requires_grad, z.requires_grad, x.output_nr]


@programs
def accumulate_node(t):
    x = leaf(t, 1.0)
    y = x * 2
    node, nr = y.grad_fn.next_functions[0]
    return [type(node).__name__, nr, node.variable is x, node is (x * 3).grad_fn.next_functions[0][0]]


@programs
def requires_grad_errors(t):
    x = leaf(t, 1.0)
    y = x * 2

    def unset():
        y.requires_grad = False

    def on_ints():
        t.tensor([1, 2], requires_grad=True)

    def ints_later():
        t.tensor([1]).requires_grad_()

    return [raised(unset), raised(on_ints), raised(ints_later), y.requires_grad_() is y]


# ---- backward


@programs
def accumulation(t):
    x = leaf(t, 1.0, 2.0)
    for _ in range(3):
        (x * x).sum().backward()
    return x.grad


@programs
def grads_are_separate(t):
    x, y = leaf(t, 1.0), leaf(t, 2.0)
    (x + y).sum().backward()
    x.grad.add_(10)
    return [x.grad, y.grad]


@programs
def grad_identity_is_kept(t):
    x = leaf(t, 1.0)
    x.sum().backward()
    first = x.grad
    x.sum().backward()
    return [x.grad is first, first]


@programs
def broadcasting(t):
    a = t.ones(2, 3, requires_grad=True)
    b = t.ones(3, requires_grad=True)
    c = t.ones(2, 1, requires_grad=True)
    d = t.tensor(2.0, requires_grad=True)
    ((a * b + c) / d).sum().backward()
    return [a.grad, b.grad, c.grad, d.grad]


@programs
def mixed_dtypes(t):
    a = t.ones(2, requires_grad=True)
    b = t.ones(2, dtype=t.float64, requires_grad=True)
    out = a * b
    out.sum().backward()
    return [out, a.grad, b.grad]


@programs
def gradient_argument(t):
    x = leaf(t, 1.0, 2.0)
    (x * 3).backward(t.tensor([1.0, 10.0]))
    return [x.grad, raised(lambda: (x * 3).backward()), raised(lambda: (x * 3).backward(t.ones(3))),
            raised(lambda: t.ones(1).backward()), raised(lambda: (x * 3).backward(2.0))]


@programs
def twice_through(t):
    x = leaf(t, 1.0)
    y = (x * x).sum()
    y.backward()
    z = (x * x).sum()
    z.backward(retain_graph=True)
    z.backward()
    w = (x + 1).sum()
    w.backward()
    return [raised(y.backward), x.grad, raised(w.backward), raised(z.backward)]


@programs
def several_roots(t):
    x = leaf(t, 1.0, 2.0)
    a = x * 2
    b = a.sum()
    t.autograd.backward([a, b], [t.ones(2), None])
    return x.grad


@programs
def backward_inputs(t):
    x, y = leaf(t, 1.0), leaf(t, 2.0)
    z = x * y
    (z * z).backward(inputs=[x])
    return [x.grad, y.grad, raised(lambda: (x * y).backward(inputs=[]))]


@programs
def diamond(t):
    x = leaf(t, 0.5)
    a = x * 2
    b = a.exp()
    c = a.tanh()
    (b * c + a).sum().backward()
    return x.grad


# ---- grad


@programs
def grad_function(t):
    x, y = leaf(t, 1.0, 2.0), leaf(t, 3.0, 4.0)
    out = (x * x * y).sum()
    gx, gy = t.autograd.grad(out, (x, y), retain_graph=True)
    unused = t.autograd.grad(out, (x, leaf(t, 0.0)), allow_unused=True, retain_graph=True)
    filled = t.autograd.grad(out, (x, leaf(t, 0.0)), materialize_grads=True, retain_graph=True)
    return [gx, gy, unused, filled, x.grad,
            raised(lambda: t.autograd.grad(out, leaf(t, 0.0), retain_graph=True)),
            raised(lambda: t.autograd.grad(out, t.ones(1), retain_graph=True)),
            raised(lambda: t.autograd.grad(out, x, allow_unused=False, materialize_grads=True))]


@programs
def grad_of_intermediate(t):
    x = leaf(t, 1.0, 2.0)
    y = x * 2
    z = (y * y).sum()
    return t.autograd.grad(z, (y, x))


@programs
def same_input_twice(t):
    x = leaf(t, 2.0)
    return t.autograd.grad(x * x, (x, x))


@programs
def higher_order(t):
    x = leaf(t, 0.7, dtype=t.float64)
    found, y = [], x.sin() * x.exp()
    for _ in range(4):
        (y,) = t.autograd.grad(y.sum(), x, create_graph=True)
        found.append(y)
    return found


@programs
def create_graph_into_grad(t):
    x = leaf(t, 2.0)
    (x**3).sum().backward(create_graph=True)
    first = x.grad
    second = t.autograd.grad(first.sum(), x)[0]
    return [first, second, first.requires_grad]


@programs
def gradient_penalty(t):
    w, x = leaf(t, 0.5, -1.0), leaf(t, 1.0, 2.0)
    out = (w * x).tanh().sum()
    (g,) = t.autograd.grad(out, x, create_graph=True)
    (g.pow(2).sum() + out).backward()
    return [w.grad, x.grad]


# ---- modes


@programs
def modes(t):
    x = leaf(t, 1.0)
    seen = []
    with t.no_grad():
        seen.append((x * 2).requires_grad)
        with t.enable_grad():
            seen.append((x * 2).requires_grad)
        seen.append(t.is_grad_enabled())

    @t.no_grad()
    def f(v):
        return v * 2

    @t.enable_grad()
    def g(v):
        return v * 2

    seen.append(f(x).requires_grad)
    with t.set_grad_enabled(False):
        seen.append(g(x).requires_grad)
        seen.append(t.is_grad_enabled())
    t.set_grad_enabled(False)
    seen.append(t.is_grad_enabled())
    t.set_grad_enabled(True)
    with t.inference_mode():
        y = x * 2
        seen += [y.requires_grad, y.is_inference(), t.is_inference_mode_enabled()]
    seen += [raised(lambda: y * x), raised(lambda: y.add_(1)), (y + 1).requires_grad, y.clone().is_inference()]
    return seen


@programs
def no_grad_generator(t):
    @t.no_grad()
    def numbers():
        for _ in range(2):
            yield t.is_grad_enabled()

    return [[inside, t.is_grad_enabled()] for inside in numbers()]


@programs
def mode_per_thread(t):
    seen = []
    with t.no_grad():
        thread = threading.Thread(target=lambda: seen.append(t.is_grad_enabled()))
        thread.start()
        thread.join()
        seen.append(t.is_grad_enabled())
    return seen


# ---- hooks


@programs
def tensor_hooks(t):
    x = leaf(t, 1.0, 2.0)
    seen = []
    y = x * 2
    y.register_hook(lambda g: seen.append(g.clone()))
    handle = y.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: g + 1)
    (y * 3).sum().backward()
    first = x.grad.clone()
    handle.remove()
    x.grad = None
    (x * 2).sum().backward()
    return [seen, first, x.grad, raised(lambda: t.ones(1).register_hook(print))]


@programs
def hook_sees_whole_gradient(t):
    x = leaf(t, 1.0)
    calls = []
    x.register_hook(lambda g: calls.append(g.clone()))
    (x * 2 + x * 3).sum().backward()
    return calls


@programs
def hook_order(t):
    x = leaf(t, 1.0)
    order = []
    a = x * 2
    b = a * 3
    c = a + b
    for name, v in {"a": a, "b": b, "c": c, "x": x}.items():
        v.register_hook(lambda g, name=name: order.append(name))
    c.sum().backward()
    return order


@programs
def hook_errors(t):
    x = leaf(t, 1.0, 2.0)
    y = x * 2
    y.register_hook(lambda g: g.sum())
    z = x * 2
    z.register_hook(lambda g: 1)
    return [raised(lambda: y.sum().backward()), raised(lambda: z.sum().backward())]


@programs
def retain_grad(t):
    x = leaf(t, 1.0, 2.0)
    y = x * 2
    y.retain_grad()
    y.retain_grad()
    (y * y).sum().backward()
    x.retain_grad()
    return [y.grad, y.retains_grad, x.retains_grad, raised(lambda: t.ones(1).retain_grad())]


@programs
def retain_grad_after_hook(t):
    x = leaf(t, 1.0)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 5)
    y.sum().backward()
    return [y.grad, x.grad]


@programs
def post_accumulate_hooks(t):
    x = leaf(t, 1.0, 2.0)
    seen = []

    def step(p):
        seen.append(p.grad.clone())
        p.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * 2).sum().backward()
    y, z = x * 2, leaf(t, 1.0)
    z.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(2))  # returns what it should not
    return [seen, x.grad, raised(lambda: y.register_post_accumulate_grad_hook(step)), raised((z * 2).sum().backward)]


@programs
def node_hooks(t):
    x = leaf(t, 1.0)
    y = x * 2
    seen = []
    y.grad_fn.register_prehook(lambda gs: (gs[0] * 10,))
    y.grad_fn.register_hook(lambda gi, go: seen.append([gi[0], go[0]]))
    y.sum().backward()
    z = x + t.ones(3, 2)
    z.grad_fn.register_hook(lambda gi, go: seen.append([gi[0], go[0]]))
    z.sum().backward()
    return [seen, x.grad]


@programs
def node_hooks_that_return_odd_things(t):
    def outcome(kind, returned):
        x = leaf(t, 1.0)
        y = x.exp()
        getattr(y.grad_fn, kind)(lambda *_: returned)
        return [raised(lambda: y.sum().backward()), x.grad]

    odd = (0, [], "a", (), (1,), (None,), t.ones(1), [t.ones(1)], (t.ones(1), t.ones(1)), (t.ones(1),), (t.ones(3),),
           (t.ones(3, 1),), (t.ones(()),), (t.ones(1).double(),))
    return [[outcome(kind, returned) for returned in odd] for kind in ("register_hook", "register_prehook")]


@programs
def multi_grad_hook(t):
    x, y = leaf(t, 1.0), leaf(t, 2.0)
    seen = []
    handle = t.autograd.graph.register_multi_grad_hook([x, y], lambda gs: seen.append(list(gs)))
    (x * y).sum().backward()
    handle.remove()
    (x * y).sum().backward()
    return seen


@programs
def saved_tensor_hooks(t):
    x = leaf(t, 2.0)
    packed = []

    def pack(v):
        packed.append(list(v.shape))
        return v * 3

    with t.autograd.graph.saved_tensors_hooks(pack, lambda v: v):
        y = x.exp()
    y.backward()
    return [len(packed), x.grad]


@programs
def gradient_edge(t):
    x = leaf(t, 1.0)
    y = x * 2
    edge = t.autograd.graph.get_gradient_edge(y)
    return [edge.node is y.grad_fn, edge.output_nr, raised(lambda: t.autograd.graph.get_gradient_edge(t.ones(1)))]


# ---- in place


@programs
def inplace_on_nonleaf(t):
    x = leaf(t, 1.0, 2.0)
    y = x * 3
    y.mul_(x)
    y.add_(1)
    y.exp_()
    y.sum().backward()
    return [y, x.grad, y.grad_fn.name()]


@programs
def inplace_on_leaf(t):
    x = leaf(t, 1.0)
    v = x[0:1]

    def on_view():
        v.add_(1)

    with t.no_grad():
        x.add_(1)
    return [raised(lambda: x.add_(1)), raised(on_view), x]


@programs
def inplace_through_view(t):
    x = leaf(t, 1.0, 2.0, 3.0)
    base = x * 1
    base[1:].mul_(x[:2])
    base[0] = x[2] * 5
    (base * t.tensor([1.0, 10.0, 100.0])).sum().backward()
    return [base, x.grad, base.grad_fn.name()]


@programs
def view_follows_base(t):
    x = leaf(t, 1.0, 2.0)
    base = x * 1
    v = base[0]
    base.mul_(4)
    v.backward()
    return [v, x.grad]


@programs
def inplace_makes_constant_differentiable(t):
    x = leaf(t, 3.0)
    buffer = t.zeros(3)
    view = buffer[1:2]
    view.copy_(x * 2)
    buffer.sum().backward()
    return [buffer, buffer.requires_grad, view.requires_grad, x.grad]


@programs
def changed_saved_tensor(t):
    x = leaf(t, 1.0, 2.0)
    y = x * 2
    z = y * y
    y.add_(1)
    w = x * 2
    u = w.exp()
    u.add_(1)
    p = x * 2
    q = p + p
    p.add_(1)
    q.sum().backward()
    return [raised(lambda: z.sum().backward()), raised(lambda: u.sum().backward()), x.grad]


@programs
def versions(t):
    x = t.zeros(3)
    seen = [x._version]
    x.add_(1)
    seen.append(x._version)
    v = x[0]
    v.add_(1)
    seen += [x._version, v._version]
    d = x.detach()
    d.add_(1)
    seen += [x._version, d._version]
    x.data.add_(1)
    seen.append(x._version)
    return [seen, x]


@programs
def views_refuse(t):
    x = leaf(t, 1.0, 2.0)
    y = x * 1
    a, _ = y.split(1)
    with t.no_grad():
        v = y[0:1]
    return [raised(lambda: a.add_(1)), raised(lambda: v.add_(1))]


@programs
def detach_and_data(t):
    x = leaf(t, 1.0, 2.0)
    y = x * 2
    d = y.detach()
    d[0] = 100
    return [y, d.requires_grad, d.grad_fn is None, y.data.requires_grad, x.detach().is_leaf]


# ---- custom functions


def square(t):
    class Square(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x * 2

    return Square


@programs
def custom_function(t):
    x = leaf(t, 3.0)
    y = square(t).apply(x)
    y.backward()
    z = square(t).apply(x)
    (g,) = t.autograd.grad(z, x, create_graph=True)
    (h,) = t.autograd.grad(g, x)
    return [y, y.grad_fn.name(), x.grad, h, raised(y.backward)]


@programs
def custom_setup_context(t):
    class Scale(t.autograd.Function):
        @staticmethod
        def forward(x, factor):
            return x * factor, x + factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            _, ctx.factor = inputs
            ctx.set_materialize_grads(False)

        @staticmethod
        def backward(ctx, g, h):
            return None if g is None else g * ctx.factor, None

    x = leaf(t, 3.0)
    y, z = Scale.apply(x, 4)
    y.sum().backward()
    return [y, z, x.grad, z.requires_grad]


@programs
def custom_saves_output(t):
    class Exp(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * y

    x = leaf(t, 0.5)
    (g,) = t.autograd.grad(Exp.apply(x), x, create_graph=True)
    (h,) = t.autograd.grad(g, x)
    return [g, h]


@programs
def custom_dirty(t):
    class AddOne(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.add_(1)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 7

    x = leaf(t, 1.0)
    y = x * 1
    z = AddOne.apply(y)
    z.sum().backward()
    return [z is y, y, x.grad, y.grad_fn.name(), raised(lambda: AddOne.apply(leaf(t, 1.0)))]


@programs
def custom_non_differentiable(t):
    class Sort(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            values, index = x.sort()
            ctx.mark_non_differentiable(index)
            ctx.save_for_backward(index)
            return values, index

        @staticmethod
        def backward(ctx, g, _):
            (index,) = ctx.saved_tensors
            return t.zeros_like(g).scatter(0, index, g)

    x = leaf(t, 3.0, 1.0, 2.0)
    values, index = Sort.apply(x)
    (values * t.tensor([1.0, 2.0, 3.0])).sum().backward()
    return [values, index, index.requires_grad, x.grad]


@programs
def custom_errors(t):
    class Wrong(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, n):
            return x * n

        @staticmethod
        def backward(ctx, g):
            return g

    class Shape(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return t.ones(5)

    class Nothing(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    class Saves(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(3)
            return x * 2

    x = leaf(t, 1.0, 2.0)
    return [raised(lambda: Wrong.apply(x, 2).sum().backward()), raised(lambda: Shape.apply(x).sum().backward()),
            raised(lambda: Nothing.apply(x).sum().backward()), raised(lambda: Saves.apply(x)),
            raised(lambda: square(t)()(x))]


@programs
def custom_returns_input(t):
    class Same(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(t, 1.0)
    y = Same.apply(x)
    y.sum().backward()
    return [y is x, y.requires_grad, y.is_leaf, x.grad]


@programs
def once_differentiable(t):
    class Once(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @t.autograd.function.once_differentiable
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * g * x

    x = leaf(t, 3.0)
    (g,) = t.autograd.grad(Once.apply(x), x, create_graph=True)
    return [g, raised(lambda: t.autograd.grad(g, x))]


@programs
def needs_input_grad(t):
    seen = []

    class Mul(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, n):
            ctx.save_for_backward(x, y)
            return x * y * n

        @staticmethod
        def backward(ctx, g):
            seen.append(list(ctx.needs_input_grad))
            _, y = ctx.saved_tensors
            return g * y, None, None

    Mul.apply(leaf(t, 1.0), t.ones(1), 3).backward()
    return seen


# ---- functional


@programs
def jacobians(t):
    f = t.autograd.functional
    x = t.tensor([1.0, 2.0])
    y = t.tensor([3.0, 4.0])
    both = lambda a, b: ((a * b).sum(), a.exp())  # noqa: E731
    return [f.jacobian(t.exp, x), f.jacobian(both, (x, y)), f.hessian(lambda a: (a**3).sum(), x),
            f.hessian(lambda a, b: (a * a * b).sum(), (x, y)), f.vjp(t.exp, x, y), f.jvp(t.exp, x, y),
            f.hvp(lambda a: (a**3).sum(), x, y), f.vhp(lambda a: (a**3).sum(), x, y),
            raised(lambda: f.hessian(t.exp, x)), raised(lambda: f.vjp(t.exp, x, t.ones(3))),
            raised(lambda: f.jacobian(lambda a: t.ones(2), x, strict=True))]


# ---- corners that real programs turn


@programs
def second_derivatives_of_kinked_functions(t):
    """They are zero, not missing; and at the kink of a smooth function they are those of the flat side."""
    x = leaf(t, -2.0, -1.0, 0.0, 0.5, 1.0, 3.0)
    f = t.nn.functional
    results = []
    for function in (t.relu, f.leaky_relu, f.hardtanh, f.relu6, f.softshrink, f.hardshrink, f.elu, f.selu, f.celu,
                     lambda x: f.threshold(x, 0.1, 20.0), lambda x: f.prelu(x, t.tensor([0.25])),
                     lambda x: f.max_pool1d(x[None], 2), lambda x: f.smooth_l1_loss(x, t.zeros(6)),
                     lambda x: f.huber_loss(x, t.zeros(6))):
        g, = t.autograd.grad(function(x).sum(), x, create_graph=True)
        results.append([g.requires_grad, t.autograd.grad(g.sum(), x)[0]])
    return results


@programs
def a_number_is_saved_too(t):
    x = leaf(t, 1.0, 2.0)
    outcomes = []
    for y in (x * 3, x / 3, 3 / x, x + 3, x - 3):
        y.sum().backward()
        outcomes.append(raised(y.sum().backward))
    return [outcomes, x.grad]


@programs
def gradients_lie_forwards(t):
    x = leaf(t, 1.0, 2.0, 3.0)
    seen = []
    y = x * 1
    y.register_hook(lambda g: seen.append(g.stride()))
    g, = t.autograd.grad((y.cumsum(0) ** 2).sum(), x)
    return [g, g.stride(), seen]


@programs
def saved_tensor_hooks_see_the_tensors(t):
    weight = t.nn.Parameter(t.ones(2, 2))
    x = t.ones(2, 2, requires_grad=True)
    seen = []

    def pack(saved):
        seen.append([saved is weight, saved is x, isinstance(saved, t.nn.Parameter), saved.requires_grad])
        return saved.detach().clone()

    with t.autograd.graph.saved_tensors_hooks(pack, lambda saved: saved):
        y = (x @ weight).sum()
    with t.no_grad():
        weight.add_(1)  # nobody can notice it: what was saved is in the hands of the hooks
    y.backward()
    return [sorted(seen), x.grad, weight.grad]


@programs
def saved_tensor_hooks_on_several_results(t):
    """What comes back from the hooks counts, also where an op saves several of its results."""
    x = t.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
    with t.autograd.graph.saved_tensors_hooks(lambda saved: saved, lambda saved: saved * 2):
        values, vectors = t.linalg.eigh(x)
    (values.sum() + vectors.abs().sum()).backward()
    return x.grad


@programs
def mutation_of_saved_tensors(t):
    x = leaf(t, 1.0, 2.0)
    with t.autograd.graph.allow_mutation_on_saved_tensors():
        y = x * 1
        z = y * y
        y.mul_(3)
        z.sum().backward()
    return x.grad


@programs
def function_without_staticmethod(t):
    class Twice(t.autograd.Function):
        def forward(ctx, x):
            return x * 2

        def backward(ctx, g):
            return g * 2

    x = leaf(t, 1.0)
    Twice.apply(x).backward()
    return x.grad


@programs
def mark_dirty_counts(t):
    class Double(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x.mul_(2))
            return x

        @staticmethod
        def backward(ctx, g):
            return 2.0

    y = leaf(t, 1.0) * 1
    Double.apply(y)
    return [y._version, raised(y.backward)]


@programs
def multi_grad_hooks_know_what_a_pass_reaches(t):
    x, y, z = leaf(t, 1.0), leaf(t, 2.0), leaf(t, 3.0)
    w = x * y
    log = []
    t.autograd.graph.register_multi_grad_hook((x, y, z, w), lambda grads: log.append([g is None for g in grads]))
    t.autograd.graph.register_multi_grad_hook((x, z), lambda grad: log.append("any"), mode="any")
    (w * 1).backward(retain_graph=True)
    (w * z).backward(retain_graph=True)
    (z * 2).backward()
    return log


@programs
def gradient_edges(t):
    x = leaf(t, 1.0, 2.0)
    y = x * 2
    edge, end = t.autograd.graph.get_gradient_edge(y), t.autograd.graph.get_gradient_edge(x)
    z = (y * y).sum()
    found = [t.autograd.grad(z, edge, retain_graph=True), t.autograd.grad(z, [end, edge], retain_graph=True)]
    found.append(t.autograd.grad(edge, x, t.ones(2), retain_graph=True))
    t.autograd.backward(edge, t.ones(2))
    return [found, x.grad]


@programs
def gradients_made_of_nothing(t):
    x, y = leaf(t, 1.0), leaf(t, float("inf"), float("nan"))
    return t.autograd.grad(x * 2, [x, y], materialize_grads=True)


@programs
def retained_gradients_are_those_of_the_latest_value(t):
    x = leaf(t, 1.0, 2.0, 3.0)
    y = x * 1
    y.retain_grad()
    y.register_hook(lambda g: g * 10)  # stays with the value it was put on
    y.neg_()
    v = y[1:]
    v.retain_grad()
    y.exp_()
    w = x * 2
    w.retain_grad()
    w[:2].mul_(3)
    (y.sum() + v.sum() + w.sum()).backward()
    return [y.grad, v.grad, w.grad, x.grad]


@pytest.mark.parametrize("name", programs.names())
def test_as_recorded(name):
    assert differences(programs.run(name, flambeau), programs.recorded(name)) == []


@pytest.mark.oracle
@pytest.mark.parametrize("name", programs.names())
def test_recording_is_what_torch_does(name):
    torch = pytest.importorskip("torch")
    assert differences(programs.run(name, torch), programs.recorded(name)) == []


# ---- what is Flambeau's own


def test_graph_is_freed_without_the_cycle_collector(no_cycle_collector):
    x = flambeau.ones(3, requires_grad=True)
    y = square(flambeau).apply((x * x).exp()).tanh()
    node, value = weakref.ref(y.grad_fn), weakref.ref(y)
    y.sum().backward()
    del y
    assert node() is None
    assert value() is None


def test_unused_graph_is_freed_without_the_cycle_collector(no_cycle_collector):
    x = flambeau.ones(3, requires_grad=True)
    base = x * 1
    base[0].mul_(2)
    base.register_hook(lambda g: g)
    base.retain_grad()
    node = weakref.ref(base.grad_fn)
    del base
    assert node() is None


def test_what_a_function_marked_and_hooks_on_many_are_freed_without_the_cycle_collector(no_cycle_collector):
    class Double(flambeau.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            flag = x > 0
            ctx.mark_dirty(x)
            ctx.mark_non_differentiable(flag)
            return x, flag

        @staticmethod
        def backward(ctx, g, _):
            return g * 2

    x = flambeau.ones(3, requires_grad=True)
    y = x * 1
    flambeau.autograd.graph.register_multi_grad_hook((x, y), lambda grads: None)
    Double.apply(y)
    y.sum().backward()
    value = weakref.ref(y)
    del y
    assert value() is None


def test_a_hundred_thousand_nodes():
    x = flambeau.ones(2, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y + x
    y.sum().backward()
    assert x.grad.tolist() == [100_001.0, 100_001.0]


def test_changed_tensor_error_names_saver_and_writer():
    x = flambeau.ones(2, requires_grad=True)
    y = x * 2
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"saved by MulBackward0.*last changed by add_"):
        z.sum().backward()


def test_anomaly_mode_names_the_forward_line():
    x = flambeau.zeros(1, requires_grad=True)
    with flambeau.autograd.detect_anomaly():
        y = x * 0 / (x * 0)  # the culprit
        with pytest.raises(RuntimeError, match="returned nan values") as caught:
            y.sum().backward()
    assert any("the culprit" in note for note in caught.value.__notes__)


def test_error_in_backward_names_the_node():
    class Broken(flambeau.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise ValueError("broken on purpose")

    with pytest.raises(ValueError, match="broken on purpose") as caught:
        Broken.apply(flambeau.ones(1, requires_grad=True)).backward()
    assert "in the backward of BrokenBackward" in caught.value.__notes__
