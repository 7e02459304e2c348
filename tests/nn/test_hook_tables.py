"""The hook dicts under PyTorch's names: as attributes, in ``__dict__``, read and written by other code."""

import copy
import pickle
import warnings
from collections import OrderedDict

import pytest

import flambeau
from _programs import Programs
from flambeau import nn

programs = Programs("nn_hook_tables.json")

TABLES = ["_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_pre_hooks", "_state_dict_hooks",
          "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
          "_forward_hooks_with_kwargs", "_forward_hooks_always_called", "_forward_pre_hooks_with_kwargs"]


def noting(seen, word):
    return lambda *args: seen.append(word)


def described(m):
    """What a ``__dict__`` shows: names in order, the sizes of tables, other values as they are."""
    return [[name, len(value) if isinstance(value, dict | set) or name in TABLES else value]
            for name, value in vars(m).items() if name != "_hook_registry"]


@programs
def dict_of_a_module_without_hooks(t):
    class Net(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = t.nn.Parameter(t.ones(1))
            self.child = t.nn.Identity()
            self.number = 7

    m = Net()
    before = described(m)
    return [before, [repr(m.__dict__[name]) for name in TABLES],
            [repr(getattr(m, name)) for name in TABLES], described(m),
            [isinstance(getattr(m, name), OrderedDict) for name in TABLES[:8]]]


@programs
def dict_of_a_module_with_hooks(t):
    m = t.nn.Identity()

    def hook(*args):
        pass

    handles = [m.register_forward_hook(hook, with_kwargs=True, always_call=True), m.register_forward_pre_hook(hook),
               m.register_forward_pre_hook(hook, with_kwargs=True), m.register_full_backward_hook(hook),
               m.register_full_backward_pre_hook(hook), m.register_state_dict_post_hook(hook),
               m._register_load_state_dict_pre_hook(hook), m.register_load_state_dict_post_hook(hook)]
    first = described(m)
    handles.pop(0).remove()
    second = described(m)
    [handle.remove() for handle in handles]
    return [first, second, described(m), [getattr(m, name) is m.__dict__[name] for name in TABLES]]


@programs
def old_backward_hook_in_the_dict(t):
    m = t.nn.Identity()
    m.register_backward_hook(lambda *args: None)
    return described(m)


@programs
def others_write_to_the_tables(t):
    m, seen = t.nn.Identity(), []
    m._forward_hooks[70] = noting(seen, "forward")
    m._forward_pre_hooks[71] = noting(seen, "pre")
    m(1)
    m._forward_hooks[72] = lambda module, args, kwargs, out: seen.append(sorted(kwargs))
    m._forward_hooks_with_kwargs[72] = True
    m(input=1)
    flags = [72 in m._forward_hooks_with_kwargs, m._forward_hooks_with_kwargs.get(70), dict(m._forward_hooks_with_kwargs)]
    del m._forward_hooks[72]
    m._forward_hooks.move_to_end(70)
    m._forward_hooks.update({73: noting(seen, "later")})
    m._forward_hooks.move_to_end(73, last=False)
    m(1)
    popped = m._forward_hooks.popitem(last=False)[0]
    m._forward_pre_hooks.clear()
    m(1)
    return [seen, flags, popped, list(m._forward_hooks), len(m._forward_pre_hooks)]


@programs
def a_flag_is_taken_away(t):
    m, seen = t.nn.Identity(), []
    handle = m.register_forward_hook(lambda *args: seen.append(len(args)), with_kwargs=True)
    m(1)
    del m._forward_hooks_with_kwargs[handle.id]
    m(1)
    return seen


@programs
def tables_are_replaced(t):
    m, n, seen = t.nn.Identity(), t.nn.Identity(), []
    handle = m.register_forward_hook(noting(seen, "m"))
    n._forward_hooks = m._forward_hooks
    n(1)
    m._forward_hooks = OrderedDict()
    m(1)
    handle.remove()
    n(1)
    n._forward_hooks = OrderedDict([(1, noting(seen, "n"))])
    n(1)
    return [seen, vars(m)["_forward_hooks"] is m._forward_hooks, list(n._forward_hooks), list(m._forward_hooks)]


@programs
def copies(t):
    m, seen = t.nn.Identity(), []
    plain = copy.deepcopy(m)
    m.register_forward_hook(noting(seen, "hook"))
    deep, shallow = copy.deepcopy(m), copy.copy(m)
    deep._forward_hooks[90] = noting(seen, "deep")
    shallow._forward_hooks[91] = noting(seen, "shallow")
    for module in (m, plain, deep, shallow):
        module(1)
        seen.append(described(module))
    return seen


@programs
def a_replica_of_the_dict(t):
    m, seen = t.nn.Identity(), []
    m.register_forward_hook(noting(seen, "hook"))
    replica = m.__new__(type(m))
    replica.__dict__ = m.__dict__.copy()
    replica(1)
    return [seen, len(replica._forward_hooks)]


def hook_for_pickle(module, args, kwargs, out):
    return sorted(kwargs)


@programs
def state_with_tables(t):
    """As a whole module that was pickled brings it: hooks by name, flags beside them."""
    m = t.nn.Identity()
    state = dict(m.__dict__, training=False, extra=3)
    state.update(_forward_hooks=OrderedDict({5: hook_for_pickle}), _forward_hooks_with_kwargs=OrderedDict({5: True}),
                 _backward_hooks=OrderedDict(), _is_full_backward_hook=False)
    m.__setstate__(state)
    return [m(input=1), m.extra, m.training, m._is_full_backward_hook, described(m)]


@programs
def flags_are_ordered_dicts(t):
    m = t.nn.Identity()
    handle = m.register_forward_hook(noting([], ""), with_kwargs=True)
    flags = m._forward_hooks_with_kwargs
    seen = [isinstance(getattr(m, name), OrderedDict) for name in TABLES]
    seen += [flags.get(handle.id), flags == {handle.id: True}, len(dict(flags)), len(copy.deepcopy(m)._forward_hooks_with_kwargs)]
    del flags[handle.id]
    return [*seen, len(flags), len(m._forward_hooks)]


@programs
def flags_written_beside_hooks(t):
    seen = []

    class Fails(t.nn.Module):
        def forward(self, x, y=1):
            raise ValueError

    m = Fails()
    m._forward_hooks[5] = lambda module, args, kwargs, out: seen.append([sorted(kwargs), out])
    m._forward_hooks_with_kwargs[5] = True
    m._forward_hooks_always_called[5] = True
    m._forward_pre_hooks[6] = lambda module, args, kwargs: seen.append(len(kwargs))
    m._forward_pre_hooks_with_kwargs[6] = True
    with pytest.raises(ValueError):
        m(1, y=2)
    return seen


@programs
def backward_hooks_written_to_the_tables(t):
    seen = []

    def shapes(gradients):
        return [None if g is None else list(g.shape) for g in gradients]

    for full in (True, False):
        m = t.nn.Linear(2, 3)
        m._backward_hooks[3] = lambda module, inputs, outputs: seen.append([shapes(inputs), shapes(outputs)])
        m._is_full_backward_hook = full
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the old kind: it sees one node only
            m(t.ones(4, 2, requires_grad=True)).sum().backward()
    m = t.nn.Linear(2, 3)
    m._backward_pre_hooks[3] = lambda module, outputs: seen.append(shapes(outputs))
    m(t.ones(4, 2, requires_grad=True)).sum().backward()
    return seen


@programs
def tables_of_all_modules(t):
    module, seen = t.nn.modules.module, []
    names = ["forward_hooks", "forward_pre_hooks", "backward_hooks", "backward_pre_hooks", "forward_hooks_with_kwargs",
             "forward_hooks_always_called", "module_registration_hooks"]
    tables = [getattr(module, f"_global_{name}") for name in names]
    tables[0][7] = lambda module, args, out: seen.append(type(module).__name__)
    t.nn.Identity()(1)
    del tables[0][7]
    t.nn.Identity()(1)
    return [seen, [isinstance(table, OrderedDict) for table in tables], module._global_is_full_backward_hook,
            hasattr(module, "_global_nothing")]


@programs
def tables_of_tensors_and_optimizers(t):
    x, y = t.ones(1, requires_grad=True), t.ones(1, requires_grad=True)
    seen = [x._backward_hooks, x._post_accumulate_grad_hooks]
    handle, _ = x.register_hook(noting([], "")), y.register_post_accumulate_grad_hook(noting([], ""))
    seen += [isinstance(table, OrderedDict) for table in (x._backward_hooks, y._post_accumulate_grad_hooks)]
    seen.append(list(x._backward_hooks) == [handle.id])
    optimizer, steps = t.optim.SGD([x], 0.1), []
    optimizer._optimizer_step_pre_hooks[1] = noting(steps, "before")
    optimizer._optimizer_step_post_hooks[1] = noting(steps, "after")
    optimizer.step()
    return [*seen, steps]


test_programs, test_recording = programs.tests()


def test_reading_a_dict_keeps_the_fast_path():
    m = nn.Linear(1, 1)
    str(vars(m)), list(m.__dict__.items())
    assert "_hook_registry" not in m.__dict__


def test_the_dict_of_a_module_without_hooks_refuses_them():
    m = nn.Identity()
    for write in (lambda table: table.__setitem__(1, print), lambda table: table.update({1: print}),
                  lambda table: table.setdefault(1, print)):
        with pytest.raises(TypeError, match=r"use module\.register_forward_hook .*module\._forward_hooks\[key\] = hook"):
            write(m.__dict__["_forward_hooks"])
    assert not nn.Identity()._forward_hooks


def test_pickled():
    m = nn.Identity()
    m.register_forward_hook(hook_for_pickle, with_kwargs=True)
    for module, tables in ((m, 1), (nn.Identity(), 0)):
        again = pickle.loads(pickle.dumps(module))
        assert described(again) == described(module)
        assert len(again._forward_hooks_with_kwargs) == tables
    assert pickle.loads(pickle.dumps(m))(input=flambeau.ones(1)) == ["input"]
    assert type(pickle.loads(pickle.dumps(dict(nn.Identity().__dict__)))["_forward_hooks"]) is OrderedDict
