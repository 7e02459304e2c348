"""Random trees with random hooks, and random registrations, behave as in PyTorch."""

import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flambeau
from _programs import differences

pytestmark = pytest.mark.oracle


# ---- hooks of all kinds at once
#
# A tree is a nested description: a leaf kind, or a list of trees. The same description is built in both libraries, the
# same hooks are put on the same modules, and everything that happens is written down: which hook, on which module, with
# what. The two records must be equal.

LEAVES = ("linear", "tanh", "twice", "both", "half", "frozen", "detached", "again")
ACTIONS = ("note", "replace")
KINDS = ("forward_pre", "forward_pre_kwargs", "forward", "forward_kwargs", "forward_always", "backward", "backward_pre", "tensor")
GLOBAL_KINDS = ("forward_pre", "forward", "forward_kwargs", "backward", "backward_pre")

trees = st.recursive(st.sampled_from(LEAVES), lambda inner: st.lists(inner, min_size=1, max_size=3), max_leaves=6)
hooks = st.lists(st.tuples(st.integers(0, 30), st.sampled_from(KINDS), st.sampled_from(ACTIONS), st.booleans(), st.booleans()), max_size=10)
global_hooks = st.lists(st.tuples(st.sampled_from(GLOBAL_KINDS), st.sampled_from(ACTIONS)), max_size=2)


def make(t, tree, made):
    """The module of a description. Leaves take and return one tensor of shape (2, 2), or a tuple on the way."""
    nn = t.nn
    if isinstance(tree, list):
        return nn.Sequential(*[make(t, child, made) for child in tree])
    if tree == "again" and made:
        return made[-1]

    class Leaf(nn.Module):
        def forward(self, x):
            x = x[0] if isinstance(x, tuple) else x
            if tree in ("twice", "again"):
                return x + x * 2
            if tree == "both":
                return x * 2, x * 3
            if tree == "half":
                return x * 2, x.detach(), 7
            if tree == "detached":
                return x.detach() * 1
            return self.inner(x)

    leaf = Leaf()
    made.append(leaf)
    if tree in ("linear", "frozen"):
        leaf.inner = nn.Linear(2, 2)
        with t.no_grad():
            leaf.inner.weight.copy_(t.tensor([[1.0, -0.5], [0.25 * len(made), 0.5]]))
            leaf.inner.bias.fill_(0.125)
        if tree == "frozen":
            leaf.requires_grad_(False)
    elif tree == "tanh":
        leaf.inner = nn.Tanh()
    return leaf


def plain(value):
    """Shapes and values, as nested lists."""
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return [[k, plain(v)] for k, v in sorted(value.items())]
    if hasattr(value, "detach"):
        return [list(value.shape), value.detach().reshape(-1).tolist()]
    return value


def scaled(value, by):
    """The value with its tensors scaled: what a hook gives back."""
    if isinstance(value, tuple):
        return tuple(scaled(v, by) for v in value)
    return value * by if hasattr(value, "detach") else value


class Record:
    """Puts hooks on modules, and writes down what they see."""

    def __init__(self, t):
        self.t = t
        self.lines = []
        self.handles = []
        self.paths = {}

    def hook(self, index, kind, action):
        """A function for a hook of a kind."""
        by = 1.0 + 0.5 * (action == "replace")

        def forward_pre(module, args):
            self.write(index, kind, module, args)
            return scaled(args, by) if action == "replace" else None

        def forward_pre_kwargs(module, args, kwargs):
            self.write(index, kind, module, args, kwargs)
            return (scaled(args, by), kwargs) if action == "replace" else None

        def forward(module, args, out):
            self.write(index, kind, module, args, out)
            return scaled(out, by) if action == "replace" else None

        def forward_kwargs(module, args, kwargs, out):
            self.write(index, kind, module, args, kwargs, out)
            return scaled(out, by) if action == "replace" else None

        def backward(module, grad_input, grad_output):
            self.write(index, kind, module, grad_input, grad_output)
            some = any(g is not None for g in grad_input)
            return scaled(grad_input, by) if action == "replace" and some else None

        def backward_pre(module, grad_output):
            self.write(index, kind, module, grad_output)
            return scaled(grad_output, by) if action == "replace" else None

        def tensor(module, args, out):
            first = out[0] if isinstance(out, tuple) else out
            if first.requires_grad:
                first.register_hook(lambda g: self.write(index, kind, module, g))

        return {"forward_pre": forward_pre, "forward_pre_kwargs": forward_pre_kwargs, "forward": forward, "forward_kwargs": forward_kwargs,
                "forward_always": forward, "backward": backward, "backward_pre": backward_pre, "tensor": tensor}[kind]

    def write(self, index, kind, module, *seen):
        self.lines.append([index, kind, self.paths.get(module, "?"), plain(seen)])

    def put(self, module, index, kind, action, prepend):
        function = self.hook(index, kind, action)
        if kind in ("forward_pre", "forward_pre_kwargs"):
            return module.register_forward_pre_hook(function, prepend=prepend, with_kwargs=kind == "forward_pre_kwargs")
        if kind == "backward":
            return module.register_full_backward_hook(function, prepend=prepend)
        if kind == "backward_pre":
            return module.register_full_backward_pre_hook(function, prepend=prepend)
        return module.register_forward_hook(function, prepend=prepend, with_kwargs=kind == "forward_kwargs", always_call=kind == "forward_always")

    def put_globally(self, index, kind, action):
        g = self.t.nn.modules.module
        function = self.hook(index, kind, action)
        if kind == "forward_kwargs":
            return g.register_module_forward_hook(function, with_kwargs=True)
        name = {"forward_pre": "forward_pre", "forward": "forward", "backward": "full_backward", "backward_pre": "full_backward_pre"}[kind]
        return getattr(g, f"register_module_{name}_hook")(function)


def story(t, tree, local, globally, needs_grad):
    """Everything that happens in two forward and backward passes; the second after some hooks were removed."""
    record = Record(t)
    model = make(t, [tree], []).double()
    record.paths = {module: path for path, module in model.named_modules()}
    modules = list(model.modules())
    some = []
    for index, (where, kind, action, prepend, goes) in enumerate(local):
        handle = record.put(modules[where % len(modules)], index, kind, action, prepend)
        if goes:
            some.append(handle)
    everywhere = [record.put_globally(100 + i, kind, action) for i, (kind, action) in enumerate(globally)]
    try:
        for turn in range(2):
            x = t.tensor([[1.0, -2.0], [0.5, 0.25]], dtype=t.float64, requires_grad=needs_grad)
            out = model(x)
            record.lines.append(["output", plain(out)])
            total = sum(o.sum() for o in (out if isinstance(out, tuple) else (out,)) if hasattr(o, "sum"))
            if total.requires_grad:
                total.backward()
            record.lines.append(["gradients", plain(x.grad), [plain(p.grad) for p in model.parameters()]])
            for handle in some if turn == 0 else ():
                handle.remove()
    finally:
        for handle in everywhere:
            handle.remove()
    return record.lines


@settings(max_examples=300)
@given(tree=trees, local=hooks, globally=global_hooks, needs_grad=st.booleans())
def test_hooks_of_all_kinds_at_once(tree, local, globally, needs_grad):
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = story(torch, tree, local, globally, needs_grad)
    ours = story(flambeau, tree, local, globally, needs_grad)
    assert differences(ours, theirs) == []


# ---- errors in the middle


@settings(max_examples=100)
@given(tree=trees, local=hooks, fails=st.tuples(st.integers(0, 30), st.sampled_from(["forward_pre", "forward", "backward", "backward_pre"])))
def test_hooks_when_one_raises(tree, local, fails):
    """The hooks that ran before the error, the always-called ones after it, and a clean pass afterwards."""
    import torch

    def run(t):
        record = Record(t)
        model = make(t, [tree], []).double()
        record.paths = {module: path for path, module in model.named_modules()}
        modules = list(model.modules())
        for index, (where, kind, action, prepend, _) in enumerate(local):
            record.put(modules[where % len(modules)], index, kind, action, prepend)

        def bad(*args):
            record.lines.append("raises")
            raise ValueError("on purpose")

        register = {"forward_pre": "register_forward_pre_hook", "forward": "register_forward_hook", "backward": "register_full_backward_hook",
                    "backward_pre": "register_full_backward_pre_hook"}[fails[1]]
        handle = getattr(modules[fails[0] % len(modules)], register)(bad)
        for turn in range(2):
            x = t.tensor([[1.0, -2.0], [0.5, 0.25]], dtype=t.float64, requires_grad=True)
            try:
                out = model(x)
                out = out[0] if isinstance(out, tuple) else out
                if out.requires_grad:
                    out.sum().backward()
                record.lines.append(plain(x.grad))
            except ValueError as error:
                record.lines.append(["caught", str(error), turn])
            handle.remove()
        return record.lines

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = run(torch)
    assert differences(run(flambeau), theirs) == []


# ---- registration

NAMES = ("a", "b", "c", "training", "forward", "x.y", "")
VALUES = ("parameter", "buffer", "transient", "module", "tensor", "none", "number", "shared parameter", "shared module")
OPERATIONS = ("set", "delete", "register_parameter", "register_buffer", "register_transient", "add_module")

operations = st.lists(st.tuples(st.sampled_from(OPERATIONS), st.sampled_from(NAMES), st.sampled_from(VALUES), st.booleans()), max_size=25)


def registered(t, steps):
    """Does the steps on a module or on its child; the errors and the tables after each."""
    root = t.nn.Module()
    root.child = t.nn.Module()
    shared = {"shared parameter": t.nn.Parameter(t.ones(1)), "shared module": t.nn.Linear(1, 1)}
    makers = {"parameter": lambda: t.nn.Parameter(t.ones(2)), "buffer": lambda: t.nn.Buffer(t.ones(3)), "tensor": lambda: t.ones(4),
              "transient": lambda: t.nn.Buffer(t.ones(3), persistent=False), "module": lambda: t.nn.Linear(1, 1, bias=False),
              "none": lambda: None, "number": lambda: 3}
    lines = []
    for operation, name, value, deep in steps:
        target = root.child if deep and isinstance(root._modules.get("child"), t.nn.Module) else root
        thing = shared[value] if value in shared else makers[value]()
        try:
            if operation == "set":
                setattr(target, name, thing)
            elif operation == "delete":
                delattr(target, name)
            elif operation == "register_transient":
                target.register_buffer(name, thing, persistent=False)
            else:
                getattr(target, operation)(name, thing)
            lines.append([operation, name, value, "done"])
        except Exception as error:
            lines.append([operation, name, value, type(error).__name__])
        lines.append(state_of(root))
    return lines


def state_of(root):
    """All tables of a tree, and all ways to go over it."""
    return [
        [[path, list(m._parameters), list(m._buffers), list(m._modules), sorted(m._non_persistent_buffers_set),
          sorted(k for k in m.__dict__ if k in NAMES)] for path, m in root.named_modules()],
        list(root.state_dict()), [n for n, _ in root.named_parameters()], [n for n, _ in root.named_parameters(remove_duplicate=False)],
        [n for n, _ in root.named_buffers()], [n for n, _ in root.named_children()], [n for n, _ in root.named_modules(remove_duplicate=False)],
        [list(p.shape) for p in root.parameters()],
    ]


@settings(max_examples=200)
@given(steps=operations)
def test_registration(steps):
    import torch

    for mine, other in zip(registered(flambeau, steps), registered(torch, steps), strict=True):
        assert mine == other
