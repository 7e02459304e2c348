"""Hooks on modules behave like PyTorch's: when and in which order they run, their arguments and results."""


import copy
import gc
import pickle
import weakref

import pytest

import flambeau
from _programs import Programs, raised, warned
from flambeau import nn

programs = Programs("nn_hooks.json")


def ones_linear(t, n=2, m=2):
    """A Linear with weight 1 and bias 0."""
    linear = t.nn.Linear(n, m)
    with t.no_grad():
        linear.weight.fill_(1.0)
        linear.bias.fill_(0.0)
    return linear


def shapes(values):
    """The shapes of tensors in nested tuples; other values as they are."""
    if isinstance(values, tuple | list):
        return [shapes(v) for v in values]
    if isinstance(values, dict):
        return {k: shapes(v) for k, v in values.items()}
    return list(values.shape) if hasattr(values, "shape") else values


# ---- before and after forward


@programs
def forward_hooks_see_arguments_and_results(t):
    m, seen = ones_linear(t), []
    m.register_forward_pre_hook(lambda mod, args: seen.append(["pre", mod is m, args]))
    m.register_forward_hook(lambda mod, args, out: seen.append(["post", mod is m, args, out]))
    out = m(t.ones(1, 2))
    return [seen, out]


@programs
def forward_hooks_replace(t):
    def with_hooks(pre=None, post=None):
        m = ones_linear(t)
        if pre:
            m.register_forward_pre_hook(pre)
        if post:
            m.register_forward_hook(post)
        return m(t.ones(1, 2))

    return [with_hooks(pre=lambda m, args: (args[0] * 2,)), with_hooks(pre=lambda m, args: args[0] * 3),
            with_hooks(pre=lambda m, args: None), with_hooks(post=lambda m, args, out: out * 2),
            with_hooks(post=lambda m, args, out: (out, 1)), with_hooks(post=lambda m, args, out: None),
            with_hooks(post=lambda m, args, out: False), with_hooks(post=lambda m, args, out: "text"),
            raised(lambda: with_hooks(pre=lambda m, args: (args[0], args[0]))), raised(lambda: with_hooks(pre=lambda m, args: ())),
            raised(lambda: with_hooks(pre=lambda m, args: [args[0]]))]


@programs
def hooks_with_kwargs(t):
    class Scale(t.nn.Module):
        def forward(self, x, by=1.0, *, plus=0.0):
            return x * by + plus

    m, seen = Scale(), []

    def pre(mod, args, kwargs):
        seen.append(["pre", shapes(args), sorted(kwargs)])
        return args, {**kwargs, "plus": 5.0}

    def post(mod, args, kwargs, out):
        seen.append(["post", shapes(args), sorted(kwargs), out])
        return out + 1

    m.register_forward_pre_hook(pre, with_kwargs=True)
    m.register_forward_hook(post, with_kwargs=True)
    m.register_forward_hook(lambda mod, args, out: seen.append(["plain", shapes(args), out]))
    m.register_forward_pre_hook(lambda mod, args: seen.append(["plain pre", shapes(args)]))
    return [m(t.ones(2), by=2.0), m(t.ones(2), 3.0), m(x=t.ones(2)), seen]


@programs
def pre_hooks_with_kwargs_return(t):
    class Same(t.nn.Module):
        def forward(self, *args, **kwargs):
            return [list(args), sorted(kwargs.items())]

    def result(value):
        m = Same()
        m.register_forward_pre_hook(lambda mod, args, kwargs: value, with_kwargs=True)
        return m(1, a=2)

    return [result(None), result(((3, 4), {"b": 5})), raised(lambda: result(((1,),))), raised(lambda: result(3)),
            raised(lambda: result([(1,), {}])), raised(lambda: result(((1,), {}, 3)))]


@programs
def order_and_prepend(t):
    m, seen = t.nn.Identity(), []

    def note(word):
        return lambda *args: seen.append(word)

    for word, prepend in (("a", False), ("b", True), ("c", False), ("d", True)):
        m.register_forward_pre_hook(note("pre " + word), prepend=prepend)
        m.register_forward_hook(note("post " + word), prepend=prepend)
        m.register_full_backward_hook(note("back " + word), prepend=prepend)
        m.register_full_backward_pre_hook(note("back pre " + word), prepend=prepend)
    m(t.ones(1, requires_grad=True)).sum().backward()
    return seen


@programs
def order_of_global_and_own(t):
    g = t.nn.modules.module
    m, seen = t.nn.Sequential(t.nn.Identity()), []

    def note(word):
        return lambda mod, *args: seen.append([word, type(mod)])

    m[0].register_forward_pre_hook(note("own pre"), prepend=True)
    m[0].register_forward_hook(note("own"), prepend=True)
    m[0].register_full_backward_hook(note("own back"))
    m[0].register_full_backward_pre_hook(note("own back pre"))
    handles = [g.register_module_forward_pre_hook(note("pre")), g.register_module_forward_hook(note("post")),
               g.register_module_full_backward_hook(note("back")), g.register_module_full_backward_pre_hook(note("back pre"))]
    m(t.ones(1, requires_grad=True)).sum().backward()
    first = list(seen)
    for handle in handles:
        handle.remove()
    seen.clear()
    m(t.ones(1, requires_grad=True)).sum().backward()
    return [first, seen]


@programs
def global_hooks_replace(t):
    g = t.nn.modules.module
    m = ones_linear(t)
    with g.register_module_forward_pre_hook(lambda mod, args: (args[0] * 2,)):
        a = m(t.ones(2))
        with g.register_module_forward_hook(lambda mod, args, out: out + 1):
            b = m(t.ones(2))
    with g.register_module_forward_hook(lambda mod, args, kwargs, out: out + len(kwargs), with_kwargs=True):
        c = m(input=t.ones(2))
    return [a, b, c, m(t.ones(2))]


@programs
def handles(t):
    m, seen = t.nn.Identity(), []
    handle = m.register_forward_hook(lambda *a: seen.append("a"))
    m(1)
    handle.remove()
    m(1)
    handle.remove()
    with m.register_forward_hook(lambda *a: seen.append("b")) as held:
        m(1)
    m(1)
    other = m.register_forward_hook(lambda *a: None)
    return [seen, len(m._forward_hooks), other.id > held.id, other.id in m._forward_hooks, type(handle)]


@programs
def the_same_function_twice(t):
    m, seen = t.nn.Identity(), []

    def note(*args):
        seen.append(1)

    first = m.register_forward_hook(note)
    m.register_forward_hook(note)
    m(1)
    first.remove()
    m(1)
    return len(seen)


@programs
def tables_of_hooks(t):
    m = t.nn.Identity()

    def note(*args):
        pass

    m.register_forward_hook(note)
    m.register_forward_pre_hook(note)
    m.register_full_backward_hook(note)
    m.register_full_backward_pre_hook(note)
    m._register_load_state_dict_pre_hook(note)
    m.register_load_state_dict_post_hook(note)
    m.register_state_dict_post_hook(note)
    m.register_state_dict_pre_hook(note)
    found = [len(table) for table in (m._forward_hooks, m._forward_pre_hooks, m._backward_hooks, m._backward_pre_hooks,
                                      m._load_state_dict_pre_hooks, m._load_state_dict_post_hooks, m._state_dict_hooks,
                                      m._state_dict_pre_hooks)]
    kept = m.register_forward_hook(note, with_kwargs=True), m.register_forward_pre_hook(note, with_kwargs=True)
    found += [list(m._forward_hooks_with_kwargs) == [kept[0].id], list(m._forward_pre_hooks_with_kwargs) == [kept[1].id]]
    found.append(len(m._forward_hooks_always_called))
    [handle.remove() for handle in kept]
    is_function = next(iter(m._forward_hooks.values())) is note
    m._forward_hooks = m._forward_hooks
    found.append(len(m._forward_hooks))
    m._forward_hooks.clear()
    del m._forward_pre_hooks[next(iter(m._forward_pre_hooks))]
    m(t.ones(1))
    return [found, is_function, m._is_full_backward_hook, len(m._forward_hooks), len(m._forward_pre_hooks)]


@programs
def hooks_taken_from_a_table(t):
    m, n, seen = t.nn.Identity(), t.nn.Identity(), []
    m.register_forward_hook(lambda module, args, kwargs, output: seen.append([sorted(kwargs), output]), with_kwargs=True)
    (hook,) = m._forward_hooks.values()
    hook(m, (), {"by": 1}, "hand")
    n.register_forward_hook(hook, with_kwargs=True)
    n("call")
    return seen


@programs
def removal_during_a_call(t):
    m, seen, handles = t.nn.Identity(), [], []

    def remover(word, which):
        def run(*args):
            seen.append(word)
            for i in which:
                handles[i].remove()

        return run

    handles.append(m.register_forward_hook(remover("a", [1])))
    handles.append(m.register_forward_hook(remover("b", [])))
    handles.append(m.register_forward_hook(remover("c", [2])))
    m(1)
    seen.append("|")
    m(1)
    return seen


@programs
def registration_during_a_call(t):
    m, seen = t.nn.Identity(), []

    def first(*args):
        seen.append("first")
        m.register_forward_hook(lambda *a: seen.append("new"))

    m.register_forward_pre_hook(lambda *a: m.register_forward_hook(lambda *b: seen.append("from pre")) and None)
    m.register_forward_hook(first)
    m(1)
    seen.append("|")
    m(1)
    return seen


@programs
def own_hooks_registered_by_global_ones(t):
    g = t.nn.modules.module
    m, seen = t.nn.Identity(), []

    def add(mod, args):
        mod.register_forward_hook(lambda *a: seen.append("own"))
        mod.register_forward_pre_hook(lambda *a: seen.append("own pre"))

    with g.register_module_forward_pre_hook(add):
        m(1)
    seen.append("|")
    m(1)
    return seen


@programs
def hooks_registered_in_forward(t):
    g = t.nn.modules.module
    seen = []

    class Adds(t.nn.Module):
        def forward(self, x):
            self.register_forward_hook(lambda *a: seen.append("added"))
            return x

    Adds()(1)
    seen.append("|")
    with g.register_module_forward_hook(lambda *a: seen.append("global")):
        Adds()(1)
    return seen


@programs
def hooks_that_raise(t):
    def run(**which):
        m, seen = t.nn.Sequential(t.nn.Identity(), t.nn.Identity()), []

        def bad(word):
            def hook(*args):
                seen.append(word)
                raise ValueError(word)

            return hook

        m[0].register_forward_pre_hook(lambda *a: seen.append("pre"))
        m[0].register_forward_hook(lambda *a: seen.append("post"))
        if "pre" in which:
            m[0].register_forward_pre_hook(bad("bad pre"), prepend=which["pre"])
        if "post" in which:
            m[0].register_forward_hook(bad("bad post"), prepend=which["post"])
        m[1].register_forward_hook(lambda *a: seen.append("next"))
        error = raised(lambda: m(1))
        again = raised(lambda: m(1))
        return [error, again, seen, len(m[0]._forward_hooks), len(m[0]._forward_pre_hooks)]

    return [run(pre=True), run(pre=False), run(post=True), run(post=False)]


@programs
def always_called(t):
    class Broken(t.nn.Module):
        def forward(self, x, bad=True):
            if bad:
                raise ValueError("broken")
            return x

    m, seen = Broken(), []

    def note(word):
        def hook(mod, args, out):
            seen.append([word, shapes(args), shapes(out)])

        return hook

    m.register_forward_pre_hook(lambda mod, args: (args[0].reshape(2, 1), *args[1:]))
    m.register_forward_hook(note("plain"))
    m.register_forward_hook(note("always"), always_call=True)
    m.register_forward_hook(lambda mod, args, kwargs, out: seen.append(["kwargs", sorted(kwargs), shapes(out)]),
                            always_call=True, with_kwargs=True)
    failed = raised(lambda: m(t.ones(2), bad=True))
    m(t.ones(2), bad=False)
    return [failed, seen]


@programs
def always_called_after_a_hook_raised(t):
    m, seen = t.nn.Identity(), []

    def bad(*args):
        seen.append("bad")
        raise ValueError

    m.register_forward_hook(lambda mod, args, out: seen.append("first") or out + 1, always_call=True)
    m.register_forward_hook(bad)
    m.register_forward_hook(lambda mod, args, out: seen.append(out), always_call=True)
    m.register_forward_hook(lambda mod, args, out: seen.append("never"))
    g = t.nn.modules.module
    with g.register_module_forward_hook(lambda mod, args, out: seen.append("global"), always_call=True):
        failed = raised(lambda: m(1))
    return [failed, seen]


@programs
def always_called_after_a_pre_hook_raised(t):
    m, seen = t.nn.Identity(), []

    def bad(*args):
        raise ValueError

    m.register_forward_pre_hook(bad)
    m.register_forward_hook(lambda mod, args, out: seen.append([list(args), out]), always_call=True)
    return [raised(lambda: m(1)), seen]


@programs
def always_called_hooks_that_raise(t):
    class Broken(t.nn.Module):
        def forward(self, x):
            raise ValueError("broken")

    m, seen = Broken(), []

    def bad(*args):
        raise KeyError("silenced")

    m.register_forward_hook(bad, always_call=True)
    m.register_forward_hook(lambda *a: seen.append("still"), always_call=True)

    def run():
        try:
            m(1)
        except Exception as error:
            seen.append(type(error))

    return [warned(run), seen]


@programs
def registration_hooks(t):
    g = t.nn.modules.module
    seen = []

    def note(kind):
        return lambda mod, name, value: seen.append([kind, type(mod), name, value is None])

    with (g.register_module_module_registration_hook(note("module")), g.register_module_parameter_registration_hook(note("parameter")),
          g.register_module_buffer_registration_hook(note("buffer"))):
        m = t.nn.Sequential(t.nn.Linear(1, 1, bias=False))
        m.register_buffer("b", t.ones(1))
        m.b = t.zeros(1)
        m.b = None
        m.add_module("x", None)
        m.y = t.nn.ReLU()
        m.y = None
        m.p = t.nn.Parameter(t.ones(1))
        m.p = None
        del m.p
    t.nn.Linear(1, 1)
    return seen


@programs
def registration_hooks_replace(t):
    g = t.nn.modules.module
    m = t.nn.Module()
    with g.register_module_module_registration_hook(lambda mod, name, value: t.nn.Tanh()):
        m.a = t.nn.ReLU()
        m.add_module("b", t.nn.ReLU())
    with g.register_module_parameter_registration_hook(lambda mod, name, value: t.nn.Parameter(value + 1)):
        m.p = t.nn.Parameter(t.ones(1))
    with g.register_module_buffer_registration_hook(lambda mod, name, value: value * 2):
        m.register_buffer("c", t.ones(1))
    return [repr(m), m.p, m.c]


# ---- backward


@programs
def full_backward_hooks(t):
    m, seen = ones_linear(t, 2, 3), []
    m.register_full_backward_pre_hook(lambda mod, grad_out: seen.append(["pre", mod is m, grad_out]))
    m.register_full_backward_hook(lambda mod, grad_in, grad_out: seen.append(["full", mod is m, grad_in, grad_out]))
    x = t.ones(1, 2, requires_grad=True)
    (m(x) * t.tensor([[1.0, 2.0, 3.0]])).sum().backward()
    return [seen, x.grad, m.weight.grad]


@programs
def full_backward_hooks_replace(t):
    def grads(pre=None, full=None):
        m = ones_linear(t)
        if pre:
            m.register_full_backward_pre_hook(pre)
        if full:
            m.register_full_backward_hook(full)
        x = t.ones(1, 2, requires_grad=True)
        m(x).sum().backward()
        return [x.grad, m.weight.grad, m.bias.grad]

    return [grads(pre=lambda m, g: (g[0] * 2,)), grads(full=lambda m, gi, go: (gi[0] * 3,)),
            grads(pre=lambda m, g: (g[0] * 2,), full=lambda m, gi, go: (gi[0] + go[0],)), grads(pre=lambda m, g: None),
            raised(lambda: grads(pre=lambda m, g: (g[0], g[0]))), raised(lambda: grads(full=lambda m, gi, go: (gi[0], gi[0])))]


@programs
def several_full_backward_hooks(t):
    m, seen = t.nn.Identity(), []
    m.register_full_backward_pre_hook(lambda mod, g: (g[0] * 2,))
    m.register_full_backward_pre_hook(lambda mod, g: (g[0] + 1,))
    m.register_full_backward_hook(lambda mod, gi, go: (gi[0] * 10,))
    m.register_full_backward_hook(lambda mod, gi, go: seen.append([gi, go]))
    x = t.ones(2, requires_grad=True)
    m(x).sum().backward()
    return [seen, x.grad]


@programs
def backward_hooks_added_by_a_pre_hook(t):
    """They are for the next call."""
    calls = []

    def add(m, args):
        handle.remove()
        m.register_full_backward_hook(lambda *_: calls.append("backward"))
        m.register_forward_hook(lambda *_: calls.append("forward"))

    linear = t.nn.Linear(2, 2)
    handle = linear.register_forward_pre_hook(add)
    for _ in range(2):
        linear(t.ones(1, 2, requires_grad=True)).sum().backward()
        calls.append("next")
    return calls


@programs
def backward_hooks_that_return_odd_things(t):
    def outcome(register, returned):
        linear = t.nn.Linear(2, 2)
        getattr(linear, register)(lambda *_: returned)
        return raised(lambda: linear(t.ones(1, 2, requires_grad=True)).sum().backward())

    odd = (0, False, "a", (), (1,), "ab", (t.ones(1, 2), t.ones(1, 2)), {}, [t.ones(1, 2)])
    return [[outcome(register, returned) for returned in odd]
            for register in ("register_full_backward_hook", "register_full_backward_pre_hook")]


@programs
def outputs_that_backward_hooks_do_not_see(t):
    def outcome(result):
        identity = t.nn.Identity()
        identity.register_full_backward_hook(lambda *_: None)
        return warned(lambda: identity(result))

    x = t.ones(1, requires_grad=True)
    return [outcome(x), outcome((x,)), outcome({"x": x}), outcome(3), outcome(None)]


@programs
def backward_hooks_without_input_gradient(t):
    m, seen = ones_linear(t), []
    m.register_full_backward_hook(lambda mod, gi, go: seen.append([gi, go]))
    m(t.ones(1, 2)).sum().backward()
    bad = ones_linear(t)
    bad.register_full_backward_hook(lambda mod, gi, go: (go[0],))
    fine = ones_linear(t)
    fine.register_full_backward_hook(lambda mod, gi, go: (None,))
    return [seen, raised(lambda: bad(t.ones(1, 2)).sum().backward()), raised(lambda: fine(t.ones(1, 2)).sum().backward()),
            m.weight.grad]


@programs
def backward_hooks_of_a_call_by_keyword(t):
    m, seen = ones_linear(t), []
    m.register_full_backward_hook(lambda mod, gi, go: seen.append([gi, go]))
    x = t.ones(1, 2, requires_grad=True)
    m(input=x).sum().backward()
    return [seen, x.grad]


@programs
def backward_hooks_in_no_grad(t):
    m, seen = ones_linear(t), []
    m.register_full_backward_hook(lambda mod, gi, go: seen.append(1))
    x = t.ones(1, 2, requires_grad=True)
    with t.no_grad():
        out = m(x)
    frozen = ones_linear(t).requires_grad_(False)
    frozen.register_full_backward_hook(lambda mod, gi, go: seen.append([gi, go]))
    frozen(x).sum().backward()
    return [out.requires_grad, seen, frozen(t.ones(1, 2)).requires_grad]


def many(t):
    class Many(t.nn.Module):
        """Takes and returns several things, some without gradients."""

        def forward(self, a, b, n, c=None):
            return a * 2, b.detach(), n, a + (0 if c is None else c)

    return Many()


@programs
def backward_hooks_with_several_inputs_and_outputs(t):
    def run(use):
        m, seen = many(t), []
        m.register_full_backward_pre_hook(lambda mod, go: seen.append(["pre", go]))
        m.register_full_backward_hook(lambda mod, gi, go: seen.append([gi, go]))
        a, b, c = (t.ones(2, requires_grad=True) for _ in range(3))
        out = m(a, b, 3, c)
        use(out).sum().backward()
        return [seen, a.grad, b.grad, c.grad, [type(o).__name__ for o in out], out[2]]

    return [run(lambda o: o[0]), run(lambda o: o[3]), run(lambda o: o[0] * 2 + o[3])]


@programs
def backward_hooks_with_inputs_that_are_not_used(t):
    class First(t.nn.Module):
        def forward(self, a, b):
            return a * 2

    m, seen = First(), []
    m.register_full_backward_hook(lambda mod, gi, go: seen.append([gi, go]))
    a, b = t.ones(1, requires_grad=True), t.ones(1, requires_grad=True)
    m(a, b).sum().backward()
    m(a, t.ones(1)).sum().backward()
    return [seen, a.grad, b.grad]


@programs
def backward_hooks_with_named_tuples(t):
    from collections import namedtuple

    Pair = namedtuple("Pair", "left right")

    class Both(t.nn.Module):
        def forward(self, x):
            return Pair(x * 2, x * 3)

    m, seen = Both(), []
    m.register_full_backward_hook(lambda mod, gi, go: seen.append([gi, go]))
    x = t.ones(1, requires_grad=True)
    out = m(x)
    (out.left + out.right).sum().backward()
    return [seen, type(out)]


@programs
def backward_hooks_with_dicts(t):
    class Both(t.nn.Module):
        def forward(self, x):
            return {"a": x * 2, "b": [x * 3]}

    m, seen = Both(), []
    m.register_full_backward_hook(lambda mod, gi, go: seen.append([gi, go]))
    x = t.ones(1, requires_grad=True)
    out = {}
    told = warned(lambda: out.update(m(x)))
    (out["a"] + out["b"][0]).sum().backward()
    return [seen, x.grad, told]


@programs
def backward_hooks_with_nested_tuples(t):
    class Nested(t.nn.Module):
        def forward(self, x, pair):
            return x * 2, (pair[0] * 3, 1)

    m, seen = Nested(), []
    m.register_full_backward_hook(lambda mod, gi, go: seen.append([gi, go]))
    x, y = t.ones(1, requires_grad=True), t.ones(1, requires_grad=True)
    a, (b, _) = m(x, (y, y))
    (a + b).sum().backward()
    return [seen, x.grad, y.grad]


@programs
def backward_hooks_in_a_chain(t):
    m, seen = t.nn.Sequential(ones_linear(t), t.nn.Tanh(), ones_linear(t)), []
    for name, child in m.named_modules():
        child.register_full_backward_hook(lambda mod, gi, go, n=name: seen.append([n, gi, go]))
        child.register_full_backward_pre_hook(lambda mod, go, n=name: seen.append([n + " pre", go]))
    m(t.zeros(1, 2, requires_grad=True)).sum().backward()
    return seen


@programs
def a_module_called_twice(t):
    m, seen = ones_linear(t), []
    m.register_full_backward_hook(lambda mod, gi, go: seen.append([gi, go]))
    x = t.ones(1, 2, requires_grad=True)
    (m(m(x)) + m(x)).sum().backward()
    return [seen, x.grad]


@programs
def backward_hooks_and_retain_graph(t):
    m, seen = t.nn.Identity(), []
    m.register_full_backward_hook(lambda mod, gi, go: seen.append(go))
    x = t.ones(1, requires_grad=True)
    out = m(x * 2)
    out.sum().backward(retain_graph=True)
    out.sum().backward()
    return [seen, x.grad]


@programs
def backward_hooks_and_double_backward(t):
    m, seen = t.nn.Tanh(), []
    m.register_full_backward_hook(lambda mod, gi, go: seen.append([gi, go]))
    x = t.ones(1, requires_grad=True)
    (g,) = t.autograd.grad(m(x).sum(), x, create_graph=True)
    g.sum().backward()
    return [seen, x.grad]


@programs
def backward_hooks_and_autograd_grad(t):
    m, seen = ones_linear(t), []
    m.register_full_backward_hook(lambda mod, gi, go: seen.append([gi, go]))
    x = t.ones(1, 2, requires_grad=True)
    grads = t.autograd.grad(m(x).sum(), [m.weight])
    return [grads, len(seen), t.autograd.grad(m(x).sum(), [x]), seen]


@programs
def hook_on_the_output_node(t):
    m = ones_linear(t)
    m.register_full_backward_hook(lambda *a: None)
    out = m(t.ones(1, 2, requires_grad=True))
    return [out.grad_fn.name(), out.grad_fn.next_functions[0][0].name()]


@programs
def in_place_after_the_module(t):
    m, seen = ones_linear(t), []
    m.register_forward_hook(lambda mod, args, out: seen.append("f"))
    out = m(t.ones(1, 2, requires_grad=True))
    out.mul_(2)
    out.sum().backward()
    return [seen, m.weight.grad]


@programs
def tensor_hooks_through_a_module(t):
    m, seen = t.nn.Sequential(ones_linear(t), ones_linear(t)), []
    m[0].weight.register_hook(lambda g: seen.append(["weight", g]))
    m[0].register_forward_hook(lambda mod, args, out: out.register_hook(lambda g: g * 2) and None)
    m(t.ones(1, 2)).sum().backward()
    return [seen, m[0].weight.grad, m[1].weight.grad]


# ---- the old backward hook


@programs
def old_backward_hooks(t):
    m, seen = t.nn.Tanh(), []
    handle = m.register_backward_hook(lambda mod, gi, go: seen.append([mod is m, gi, go]))
    x = t.zeros(2, requires_grad=True)
    m(x * 1).sum().backward()
    handle.remove()
    m(x * 1).sum().backward()
    return [seen, m._is_full_backward_hook, x.grad]


@programs
def old_backward_hooks_replace(t):
    m = t.nn.Tanh()
    m.register_backward_hook(lambda mod, gi, go: (gi[0] * 5,))
    x = t.zeros(2, requires_grad=True)
    m(x * 1).sum().backward()
    return x.grad


@programs
def old_backward_hooks_warn(t):
    class Several(t.nn.Module):
        def __init__(self, make):
            super().__init__()
            self.make = make

        def forward(self, x):
            return self.make(x)

    def warnings_of(make, *args):
        m = Several(make)
        m.register_backward_hook(lambda *a: None)
        return warned(lambda: m(*args))

    x = t.ones(2, requires_grad=True) * 1
    return [warnings_of(lambda v: v * 2, x), warnings_of(lambda v: (v * 2).tanh(), x), warnings_of(lambda v: (v * 2, v * 3), x),
            warnings_of(lambda v: [v * 2], x), warnings_of(lambda v: {"a": v * 2}, x), warnings_of(lambda v: v[0] * 2, [x]),
            warnings_of(lambda v: v.unbind(), x), warnings_of(lambda v: v.detach(), x), warnings_of(lambda v: (v * 2, v.detach()), x)]


@programs
def old_and_full_do_not_mix(t):
    def both(first, second, remove):
        m = t.nn.Identity()
        handle = getattr(m, first)(lambda *a: None)
        if remove:
            handle.remove()
        return [raised(lambda: getattr(m, second)(lambda *a: None)), m._is_full_backward_hook]

    old, full, pre = "register_backward_hook", "register_full_backward_hook", "register_full_backward_pre_hook"
    pairs = [(old, full), (full, old), (old, old), (full, full), (old, pre), (pre, old)]
    return [[both(a, b, remove) for a, b in pairs] for remove in (False, True)]


# ---- copies


@programs
def deepcopy_takes_hooks_along(t):
    seen = []

    class Noted(t.nn.Module):
        def __init__(self, name):
            super().__init__()
            self.name = name
            self.handle = self.register_forward_hook(self.note)

        def note(self, mod, args, out):
            seen.append([self.name, mod is self])

        def forward(self, x):
            return x

    m = Noted("original")
    m.register_forward_pre_hook(lambda mod, args: seen.append("shared"))
    m.register_forward_hook(lambda mod, args, kwargs, out: seen.append("kwargs"), with_kwargs=True)
    c = copy.deepcopy(m)
    c.name = "copy"
    m(1)
    c(1)
    c.handle.remove()
    seen.append("|")
    c(1)
    m(1)
    return seen


@programs
def deepcopy_shares_nothing_with_the_original(t):
    m = t.nn.Identity()
    handle = m.register_forward_hook(lambda mod, args, out: out + 1)
    c = copy.deepcopy(m)
    handle.remove()
    before = [m(1), c(1)]
    c.register_forward_hook(lambda mod, args, out: out * 10)
    return [before, m(1), c(1)]


test_as_recorded, test_recording_is_what_torch_does = programs.tests()


# ---- what only Flambeau shows


class Seen(nn.Module):
    """A module that counts the calls of its own hook."""

    def __init__(self):
        super().__init__()
        self.count = 0
        self.handle = self.register_forward_hook(Seen.note)

    def note(self, args, out):
        self.count += 1

    def forward(self, x):
        return x


def test_pickle_takes_hooks_along():
    back = pickle.loads(pickle.dumps(Seen()))
    back(1)
    assert back.count == 1
    back.handle.remove()
    back(1)
    assert back.count == 1


def test_full_backward_hooks_with_in_place_modules():
    """PyTorch refuses these with "a view and is being modified inplace"."""
    m, seen = nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True), nn.Dropout(0.0, inplace=True), nn.Linear(2, 1)), []
    reference = copy.deepcopy(m)
    for name, child in m.named_modules():
        child.register_full_backward_hook(lambda mod, gi, go, n=name: seen.append((n, gi[0], go[0])))
    x, y = (flambeau.randn(3, 2, generator=flambeau.Generator().manual_seed(1)).requires_grad_() for _ in range(2))
    m(x * 1).sum().backward()
    reference(y * 1).sum().backward()
    assert flambeau.equal(x.grad, y.grad)
    for p, q in zip(m.parameters(), reference.parameters(), strict=True):
        assert flambeau.equal(p.grad, q.grad)
    assert [n for n, _, _ in seen] == ["3", "2", "1", "0", ""]


def test_output_of_a_watched_module_may_be_written_to():
    m = nn.Linear(2, 2)
    m.register_full_backward_hook(lambda *a: None)
    out = m(flambeau.ones(1, 2, requires_grad=True))
    out.mul_(3)
    out.sum().backward()
    assert flambeau.equal(m.bias.grad, flambeau.full((2,), 3.0))


def test_full_backward_hooks_see_lists():
    """PyTorch calls no full backward hook for a module that returns a list."""

    class Listed(nn.Module):
        def forward(self, x):
            return [x * 2, 1]

    m, seen = Listed(), []
    m.register_full_backward_hook(lambda mod, gi, go: seen.append((gi, go)))
    m(flambeau.ones(1, requires_grad=True))[0].sum().backward()
    assert [[g.tolist() for g in gs if g is not None] for gs in seen[0]] == [[[2.0]], [[1.0]]]


def test_a_hook_may_return_a_tensor_for_a_single_gradient():
    m = nn.Identity()
    m.register_full_backward_hook(lambda mod, gi, go: gi[0] * 2)
    x = flambeau.ones(3, requires_grad=True)
    m(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_hooks_are_freed_with_the_module(no_cycle_collector):
    m = nn.Linear(1, 1)
    m.register_full_backward_hook(lambda *a: None)
    m.register_forward_hook(lambda *a: None)
    m(flambeau.ones(1, requires_grad=True)).sum().backward()
    gone = weakref.ref(m)
    del m
    assert gone() is None


def test_a_handle_outlives_its_module():
    handle = nn.Identity().register_forward_hook(lambda *a: None)
    gc.collect()
    handle.remove()


def test_flags_are_in_the_record_only():
    m = nn.Identity()

    def note(*args):
        pass

    m.register_forward_hook(note, always_call=True)
    (record,) = m._forward_hooks.values()
    assert record.function is note
    assert record.always
    assert not record.with_kwargs


def test_old_backward_hook_warns_of_missing_gradients():
    m = nn.Sequential(nn.Linear(1, 1), nn.Tanh())
    m.register_backward_hook(lambda *a: None)
    with pytest.warns(FutureWarning, match="runs several nodes: some of grad_input .* register_full_backward_hook"):
        m(flambeau.ones(1))
