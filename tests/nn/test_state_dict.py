"""state_dict and load_state_dict, compared with PyTorch: keys, metadata, hooks, strictness, assignment, errors."""
# ruff: noqa: B023  (the functions made in loops are called at once)

import copy
from collections import OrderedDict, UserDict

import pytest

import flambeau
from _programs import Programs, raised, warned
from flambeau import nn

programs = Programs("nn_state_dict.json")


def net(t, fill=1.0):
    """Nested modules with parameters, buffers of both kinds, empty places and a shared Linear."""

    class Block(t.nn.Module):
        _version = 3

        def __init__(self, linear):
            super().__init__()
            self.linear = linear
            self.scale = t.nn.Parameter(t.full((2,), fill))
            self.register_buffer("mean", t.full((2,), fill))
            self.register_buffer("steps", t.tensor(int(fill)))
            self.register_buffer("cache", t.zeros(1), persistent=False)
            self.register_parameter("absent", None)
            self.register_buffer("nothing", None)

    linear = t.nn.Linear(2, 2)
    with t.no_grad():
        linear.weight.fill_(fill)
        linear.bias.fill_(fill)
    return t.nn.Sequential(OrderedDict(first=Block(linear), second=Block(linear), none=None))


def entries(state):
    return [[k, v] for k, v in state.items()]


def keys_of(result):
    return [list(result.missing_keys), list(result.unexpected_keys)]


# ---- saving


@programs
def a_state_dict(t):
    state = net(t).state_dict()
    return [entries(state), type(state), [[k, dict(v)] for k, v in state._metadata.items()], type(state._metadata)]


@programs
def it_shares_memory(t):
    m = net(t)
    state = m.state_dict()
    state["first.scale"].fill_(5.0)
    return [m.first.scale, state["first.scale"].requires_grad, type(state["first.scale"]).__name__, state["first.scale"] is m.first.scale,
            state["first.scale"].data_ptr() == m.first.scale.data_ptr(), m.first.scale._version]


@programs
def keep_vars(t):
    m = net(t)
    state = m.state_dict(keep_vars=True)
    return [state["first.scale"] is m.first.scale, state["first.mean"] is m.first.mean, state["first.scale"].requires_grad]


@programs
def prefix_and_destination(t):
    m = net(t)
    mine = OrderedDict(other=1)
    same = m.state_dict(destination=mine, prefix="root.")
    with_metadata = OrderedDict()
    with_metadata._metadata = OrderedDict()
    m.first.state_dict(destination=with_metadata, prefix="a.b.")
    plain = {}
    m.first.state_dict(destination=plain)
    return [same is mine, list(mine), hasattr(mine, "_metadata"), list(m.state_dict(prefix="x")), list(with_metadata),
            list(with_metadata._metadata), list(plain), list(m.state_dict(prefix="p.")._metadata)]


@programs
def positional_arguments_are_deprecated(t):
    m = t.nn.Linear(1, 1)
    made = []
    categories = warned(lambda: made.append(m.state_dict(OrderedDict(), "p.", True)))
    return [categories, list(made[0]), made[0]["p.weight"] is m.weight, warned(lambda: made.append(m.state_dict(None, "q."))), list(made[1])]


@programs
def overridden_methods_are_called(t):
    class Own(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.p = t.nn.Parameter(t.ones(1))

        def _save_to_state_dict(self, destination, prefix, keep_vars):
            super()._save_to_state_dict(destination, prefix, keep_vars)
            destination[prefix + "note"] = "written"

        def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
            self.read = [state_dict.pop(prefix + "note"), dict(local_metadata), strict]
            super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)

    class Whole(t.nn.Module):
        def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
            destination[prefix + "whole"] = t.ones(1)
            return destination

    m = t.nn.Sequential(Own(), Whole())
    state = m.state_dict()
    return [entries(state), keys_of(m.load_state_dict(state, strict=False)), m[0].read]


@programs
def extra_state(t):
    class Extra(t.nn.Module):
        def __init__(self, state):
            super().__init__()
            self.state = state

        def get_extra_state(self):
            return self.state

        def set_extra_state(self, state):
            self.state = state

    a, b = t.nn.Sequential(Extra({"n": 1})), t.nn.Sequential(Extra(None))
    state = a.state_dict()
    b.load_state_dict(state)
    without = t.nn.Sequential(t.nn.Identity())
    return [entries(state), b[0].state, raised(lambda: b.load_state_dict({})), keys_of(b.load_state_dict({}, strict=False)),
            raised(lambda: without.load_state_dict(state)), keys_of(without.load_state_dict(state, strict=False))]


@programs
def only_get_extra_state(t):
    class Half(t.nn.Module):
        def get_extra_state(self):
            return 1

    m = Half()
    return [entries(m.state_dict()), raised(lambda: m.load_state_dict(m.state_dict()))]


# ---- loading


@programs
def loading_copies(t):
    m, other = net(t, 1.0), net(t, 2.0)
    held = m.first.scale
    state = other.state_dict()
    result = m.load_state_dict(state)
    state["first.scale"].fill_(9.0)
    return [repr(result), keys_of(result), m.first.scale is held, entries(m.state_dict()), m.first.cache, held.requires_grad]


@programs
def loading_keeps_the_dtype(t):
    m = t.nn.Linear(2, 1)
    m.load_state_dict({k: v.double() + 1 for k, v in t.nn.Linear(2, 1).state_dict().items()})
    half = t.nn.Linear(2, 1).half()
    half.load_state_dict(m.state_dict())
    return [str(m.weight.dtype), str(half.weight.dtype)]


@programs
def what_is_accepted_as_a_state_dict(t):
    m = t.nn.Linear(1, 1)
    state = m.state_dict()
    return [raised(lambda: m.load_state_dict(v)) for v in (dict(state), UserDict(state), OrderedDict(state), list(state.items()), None, 3, m, "x")]


@programs
def missing_and_unexpected(t):
    m = net(t)
    state = m.state_dict()
    del state["first.scale"], state["second.linear.bias"]
    state["first.more"] = t.ones(1)
    state["third.deep.key"] = t.ones(1)
    state["top"] = t.ones(1)
    result = m.load_state_dict(state, strict=False)
    return [keys_of(result), raised(lambda: m.load_state_dict(state)), repr(result) == str(result)]


@programs
def keys_of_places_that_are_empty(t):
    m = net(t)
    state = m.state_dict()
    state["first.absent"] = t.ones(1)
    state["first.cache"] = t.full((1,), 8.0)
    state["none.x"] = t.ones(1)
    state["first.nothing"] = t.ones(1)
    return [keys_of(m.load_state_dict(state, strict=False)), m.first.cache, m.first.absent]


@programs
def unusual_keys(t):
    m = t.nn.Linear(1, 1, bias=False)
    keys = ["weight.x", "weight.", ".weight", "", ".", "Weight", "weight "]
    return [keys_of(m.load_state_dict({"weight": t.ones(1, 1), key: t.ones(1)}, strict=False)) for key in keys]


@programs
def a_child_with_a_dot_in_its_name(t):
    """Assignment does not look at names, and the keys of such a child are both found and unexpected."""
    m = t.nn.Module()
    setattr(m, "a.b", t.nn.Linear(1, 1))
    state = {"a.b.weight": t.ones(1, 1), "a.b.bias": t.ones(1)}
    return [list(m.state_dict()), list(m.load_state_dict(state, strict=False)), m.state_dict()]


@programs
def sizes_that_differ(t):
    m = net(t)
    held = m.first.scale.detach().clone()
    state = net(t, 2.0).state_dict()
    state["first.scale"] = t.ones(3)
    state["second.mean"] = t.ones(2, 1)
    return [raised(lambda: m.load_state_dict(state)), raised(lambda: m.load_state_dict(state, strict=False)), m.first.scale, held,
            m.second.scale]


@programs
def no_dimensions_and_one(t):
    m = t.nn.Module()
    m.p = t.nn.Parameter(t.tensor(1.0))
    m.q = t.nn.Parameter(t.ones(1))
    one = raised(lambda: m.load_state_dict({"p": t.full((1,), 5.0), "q": t.ones(1)}))
    return [one, m.p, raised(lambda: m.load_state_dict({"p": t.tensor(1.0), "q": t.tensor(1.0)})),
            raised(lambda: m.load_state_dict({"p": t.ones(1, 1), "q": t.ones(1)}))]


@programs
def values_that_are_not_tensors(t):
    m = t.nn.Linear(1, 1)
    return [[raised(lambda: m.load_state_dict({"weight": v, "bias": t.ones(1)}, strict=s)) for v in (3, None, [[1.0]], "x")] for s in (True, False)]


@programs
def all_errors_are_collected(t):
    m = net(t)
    state = m.state_dict()
    state["first.scale"], state["first.mean"] = t.ones(5), 3
    state["new"] = t.ones(1)
    del state["second.scale"]
    try:
        m.load_state_dict(state)
    except RuntimeError as error:
        text = str(error)
        return [word in text for word in ("size mismatch for first.scale", "first.mean", '"new"', '"second.scale"', "Sequential")]


@programs
def loading_is_not_recorded(t):
    m = t.nn.Linear(1, 1)
    source = {"weight": t.ones(1, 1, requires_grad=True), "bias": t.ones(1, requires_grad=True) * 2}
    m.load_state_dict(source)
    return [m.weight.is_leaf, m.weight.requires_grad, m.bias, m.weight._version]


@programs
def assign(t):
    m = net(t)
    held, state = m.first.scale, net(t, 2.0).double().state_dict()
    m.first.scale.requires_grad_(False)
    m.load_state_dict(state, assign=True)
    return [m.first.scale is held, str(m.first.scale.dtype), m.first.scale.requires_grad, m.second.scale.requires_grad, type(m.first.scale).__name__,
            m.first.scale.data_ptr() == state["first.scale"].data_ptr(), m.first.mean is state["first.mean"],
            m.first.linear is m.second.linear, [n for n, _ in m.named_parameters()]]


@programs
def assign_parameters(t):
    m, other = t.nn.Linear(1, 1), t.nn.Linear(1, 1)
    other.weight.requires_grad_(False)
    m.load_state_dict(other.state_dict(keep_vars=True), assign=True)
    return [m.weight is other.weight, m.weight.requires_grad, raised(lambda: m.load_state_dict({"weight": t.ones(2, 2), "bias": t.ones(1)}, assign=True))]


@programs
def assign_to_meta(t):
    with t.device("meta"):
        m = t.nn.Linear(2, 1)
    state = t.nn.Linear(2, 1).state_dict()
    no_use = warned(lambda: m.load_state_dict(state))
    before = str(m.weight.device)
    m.load_state_dict(state, assign=True)
    return [no_use, before, str(m.weight.device), m.weight.requires_grad]


@programs
def assigning_does_not_mark_the_metadata(t):
    m = t.nn.Linear(1, 1)
    state = t.nn.Linear(1, 1).state_dict()
    m.load_state_dict(state)
    return [m.weight.data_ptr() == state["weight"].data_ptr(), {k: dict(v) for k, v in state._metadata.items()}]


@programs
def shared_entries(t):
    m, other = net(t, 1.0), net(t, 2.0)
    state = other.state_dict()
    state["second.linear.weight"] = t.full((2, 2), 7.0)
    m.load_state_dict(state)
    return [m.first.linear.weight, m.second.linear is m.first.linear]


@programs
def versions(t):
    seen = []

    class Versioned(t.nn.Module):
        _version = 2

        def __init__(self):
            super().__init__()
            self.p = t.nn.Parameter(t.ones(1))

        def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
            seen.append(local_metadata.get("version"))
            super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    m = t.nn.Sequential(Versioned())
    state = m.state_dict()
    m.load_state_dict(state)
    m.load_state_dict(dict(state))
    state._metadata["0"]["version"] = 1
    m.load_state_dict(state)
    m.load_state_dict(copy.deepcopy(state))
    return seen


# ---- hooks


@programs
def saving_hooks(t):
    m, seen = net(t), []
    m.register_state_dict_pre_hook(lambda mod, prefix, keep: seen.append(["pre", type(mod), prefix, keep]))
    m.first.register_state_dict_pre_hook(lambda mod, prefix, keep: seen.append(["pre", type(mod), prefix, keep]))
    m.first.register_state_dict_post_hook(lambda mod, state, prefix, meta: seen.append(["post", type(mod), prefix, dict(meta), len(state)]))
    m.first._register_state_dict_hook(lambda mod, state, prefix, meta: seen.append(["private", prefix, len(state)]))
    m.first.linear.register_state_dict_post_hook(lambda mod, state, prefix, meta: state.__delitem__(prefix + "bias"))
    state = m.state_dict(keep_vars=True)
    return [seen, list(state)]


@programs
def saving_hooks_that_return(t):
    def with_hook(register, where, value):
        m = net(t)
        target = m if where == "root" else m.first
        getattr(target, register)(lambda mod, state, prefix, meta: value)
        result = m.state_dict()
        return [list(result), result is value]

    other = OrderedDict(other=1)
    return [with_hook("_register_state_dict_hook", "root", other), with_hook("_register_state_dict_hook", "first", other),
            with_hook("_register_state_dict_hook", "root", None), with_hook("register_state_dict_post_hook", "root", None),
            raised(lambda: with_hook("register_state_dict_post_hook", "root", other)),
            raised(lambda: with_hook("register_state_dict_post_hook", "first", 3))]


@programs
def loading_hooks(t):
    m, seen = net(t), []

    def pre(mod, state, prefix, meta, strict, missing, unexpected, errors):
        seen.append(["pre", type(mod), prefix, dict(meta), strict, len(state), len(missing), len(unexpected), len(errors)])

    def private(state, prefix, meta, strict, missing, unexpected, errors):
        seen.append(["private", prefix, len(state)])

    def post(mod, incompatible):
        seen.append(["post", type(mod), keys_of(incompatible)])

    for module in (m, m.first, m.second):
        module.register_load_state_dict_pre_hook(pre)
        module._register_load_state_dict_pre_hook(private)
        module._register_load_state_dict_pre_hook(pre, with_module=True)
        module.register_load_state_dict_post_hook(post)
    state = m.state_dict()
    del state["first.mean"]
    state["x"] = t.ones(1)
    m.load_state_dict(state, strict=False)
    return seen


@programs
def loading_hooks_change_the_state(t):
    m = net(t)

    def rename(mod, state, prefix, *rest):
        for key in list(state):
            if "old" in key:
                state[key.replace("old", "scale")] = state.pop(key)

    m.register_load_state_dict_pre_hook(rename)
    state = net(t, 2.0).state_dict()
    given = OrderedDict((k.replace("scale", "old"), v) for k, v in state.items())
    keys = list(given)
    result = m.load_state_dict(given)
    return [keys_of(result), m.first.scale, list(given) == keys]


@programs
def loading_hooks_in_a_child_change_the_state(t):
    m = net(t)
    m.first.register_load_state_dict_pre_hook(lambda mod, state, prefix, *rest: state.update({prefix + "scale": state.pop(prefix + "old")}))
    state = net(t, 2.0).state_dict()
    state["first.old"] = state.pop("first.scale")
    return [keys_of(m.load_state_dict(state, strict=False)), m.first.scale, "first.old" in state]


@programs
def post_hooks_change_the_keys(t):
    m = net(t)
    m.register_load_state_dict_post_hook(lambda mod, keys: keys.missing_keys.clear())
    fine = keys_of(m.load_state_dict({}))
    m.register_load_state_dict_post_hook(lambda mod, keys: keys.unexpected_keys.append("made up"))
    bad = t.nn.Linear(1, 1)
    bad.register_load_state_dict_post_hook(lambda mod, keys: keys)
    return [fine, raised(lambda: m.load_state_dict({})), raised(lambda: bad.load_state_dict(bad.state_dict()))]


@programs
def loading_hooks_add_errors(t):
    m = t.nn.Linear(1, 1)
    m.register_load_state_dict_pre_hook(lambda mod, state, prefix, meta, strict, missing, unexpected, errors: errors.append("no good"))
    return [raised(lambda: m.load_state_dict(m.state_dict())), raised(lambda: m.load_state_dict(m.state_dict(), strict=False))]


@programs
def hooks_that_raise(t):
    def raising(register, call):
        m = net(t)

        def bad(*args):
            raise ValueError

        handle = getattr(m.first, register)(bad)
        failed = raised(lambda: call(m))
        handle.remove()
        return [failed, raised(lambda: call(m))]

    def save(m):
        m.state_dict()

    def load(m):
        m.load_state_dict(net(t).state_dict())

    return [raising("register_state_dict_pre_hook", save), raising("register_state_dict_post_hook", save),
            raising("register_load_state_dict_pre_hook", load), raising("register_load_state_dict_post_hook", load)]


@programs
def handles_of_hooks(t):
    m, seen = t.nn.Linear(1, 1), []
    with (m.register_state_dict_pre_hook(lambda *a: seen.append(1)), m.register_state_dict_post_hook(lambda *a: seen.append(2)),
          m.register_load_state_dict_pre_hook(lambda *a: seen.append(3)), m.register_load_state_dict_post_hook(lambda *a: seen.append(4))):
        m.load_state_dict(m.state_dict())
    m.load_state_dict(m.state_dict())
    return seen


test_as_recorded, test_recording_is_what_torch_does = programs.tests()


# ---- what only Flambeau shows


def test_assign_does_not_stick_to_the_state_dict():
    """In PyTorch a state dict that was once assigned is assigned ever after: its metadata remembers."""
    state = nn.Linear(1, 1).state_dict()
    nn.Linear(1, 1).load_state_dict(state, assign=True)
    m = nn.Linear(1, 1)
    held = m.weight
    m.load_state_dict(state)
    assert m.weight is held


def test_a_longer_tensor_is_not_taken_for_a_number():
    """PyTorch loads the first element without a word."""
    m = nn.Module()
    m.p = nn.Parameter(flambeau.tensor(1.0))
    with pytest.raises(RuntimeError, match="size mismatch for p"):
        m.load_state_dict({"p": flambeau.ones(3)})


def test_nothing_is_loaded_into_what_was_refused():
    m = nn.Linear(2, 2)
    before = m.snapshot()
    with pytest.raises(TypeError, match="dict-like"):
        m.load_state_dict([("weight", flambeau.ones(2, 2))])
    assert all(flambeau.equal(v, before[k]) for k, v in m.state_dict().items())
