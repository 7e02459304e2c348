"""Containers behave like PyTorch's: every method, every error, every repr."""
# ruff: noqa: B023, RUF005  (functions made in loops are called at once; containers are added on purpose)

import copy
import pickle
from collections import OrderedDict, UserDict

import pytest

import flambeau
from _programs import Programs, raised, warned
from flambeau import nn

programs = Programs("nn_containers.json")


def relus(t, n):
    """Modules that can be told apart by their repr."""
    return [t.nn.Softmax(dim=i) for i in range(n)]


def told(m):
    """The names of the children, and which they are."""
    return [[name, child if child is None else getattr(child, "dim", repr(child))] for name, child in m._modules.items()]


# ---- Sequential


@programs
def sequential_is_made(t):
    a, b = relus(t, 2)
    made = [t.nn.Sequential(), t.nn.Sequential(a), t.nn.Sequential(a, b), t.nn.Sequential(OrderedDict(first=a, second=b)),
            t.nn.Sequential(*[a, b, a])]
    return [[told(m), repr(m), len(m)] for m in made] + [
        raised(lambda: t.nn.Sequential(1)), raised(lambda: t.nn.Sequential([a, b])), raised(lambda: t.nn.Sequential({"a": a})),
        raised(lambda: t.nn.Sequential(OrderedDict({"a.b": a}))), raised(lambda: t.nn.Sequential(OrderedDict({1: a}))),
        raised(lambda: t.nn.Sequential(a, OrderedDict(b=b))), raised(lambda: t.nn.Sequential(a, lambda x: x)),
        raised(lambda: t.nn.Sequential(modules=[a])), told(t.nn.Sequential(a, None))]


@programs
def sequential_is_called(t):
    class Double(t.nn.Module):
        def forward(self, x):
            return x * 2

    class Both(t.nn.Module):
        def forward(self, x):
            return x, x

    m = t.nn.Sequential(Double(), Double())
    return [m(3), t.nn.Sequential()(3), m(input=3), raised(lambda: m()), raised(lambda: m(1, 2)), raised(lambda: m(1, a=2)),
            raised(lambda: t.nn.Sequential(None)(1)), raised(lambda: t.nn.Sequential(Both(), Double())(t.ones(1)))]


@programs
def sequential_is_indexed(t):
    m = t.nn.Sequential(*relus(t, 4))
    named = t.nn.Sequential(OrderedDict(a=t.nn.ReLU(), b=t.nn.Tanh()))
    return [m[0].dim, m[-1].dim, m[3].dim, [raised(lambda: m[i]) for i in (4, -5, 1.0, "0", None, t.tensor(5))], m[t.tensor(1)].dim,
            told(m[1:3]), told(m[::2]), told(m[::-1]), told(m[5:]), type(m[1:]), repr(named[1]), told(named[:1]), m[1:][0] is m[1],
            m[True].dim]


@programs
def sequential_items_are_set(t):
    m = t.nn.Sequential(*relus(t, 3))
    m[0] = t.nn.ReLU()
    m[-1] = t.nn.Tanh()
    named = t.nn.Sequential(OrderedDict(a=t.nn.ReLU(), b=t.nn.Tanh()))
    named[1] = t.nn.Sigmoid()

    def put(index, value):
        def run():
            m[index] = value

        return raised(run)

    return [told(m), told(named), put(3, t.nn.ReLU()), put(-4, t.nn.ReLU()), put(0, 3), put(0, None), put("0", t.nn.ReLU()),
            put(slice(0, 1), t.nn.ReLU()), told(m)]


@programs
def sequential_items_are_deleted(t):
    def without(index, named=False):
        children = relus(t, 4)
        m = t.nn.Sequential(OrderedDict(zip("abcd", children))) if named else t.nn.Sequential(*children)

        def run():
            del m[index]

        return [raised(run), told(m)]

    return [without(0), without(-1), without(slice(1, 3)), without(slice(None, None, 2)), without(slice(None)), without(4), without(-5),
            without("0"), without(1, named=True), without(slice(0, 2), named=True)]


@programs
def sequential_grows(t):
    m = t.nn.Sequential()
    results = [m.append(t.nn.Softmax(dim=7)) is m, m.extend(relus(t, 2)) is m, m.extend(t.nn.Sequential(*relus(t, 1))) is m,
               m.insert(0, t.nn.ReLU()) is m, m.insert(2, t.nn.Tanh()) is m, m.insert(-1, t.nn.Sigmoid()) is m,
               m.insert(len(m), t.nn.ReLU()) is m]
    return [results, told(m), [raised(lambda: m.insert(i, t.nn.ReLU())) for i in (99, -99)], raised(lambda: m.insert(0, 3)),
            raised(lambda: m.append(3)), raised(lambda: m.extend([3])), raised(lambda: m.extend(3)), told(m),
            m.append(None) is m, len(m)]


@programs
def sequential_inserts_among_names(t):
    """Only entries that are numbered move up; names are never changed silently."""

    def after(names, index):
        m = t.nn.Sequential(OrderedDict((name, t.nn.ReLU()) for name in names))
        return raised(lambda: m.insert(index, t.nn.Tanh())), told(m)

    everywhere = [after(names, index) for names in ("abc", "0b1", "01c", "012", "") for index in range(-4, 5)]
    return everywhere + [after("a12", index) for index in (1, 2, 3, -1, -2)]


@programs
def sequential_pops(t):
    m = t.nn.Sequential(*relus(t, 4))
    return [m.pop(1).dim, told(m), m.pop(-1).dim, told(m), raised(lambda: m.pop(9)), told(m.pop(slice(0, 1))), told(m)]


@programs
def sequential_arithmetic(t):
    a, b = t.nn.Sequential(*relus(t, 2)), t.nn.Sequential(t.nn.ReLU())
    joined, repeated = a + b, a * 2
    again = 3 * b
    a += b
    b *= 3
    small = t.nn.Sequential(t.nn.ReLU())
    return [told(joined), told(repeated), told(again), told(a), told(b), joined[0] is a[0], repeated[0] is repeated[2], type(joined),
            [raised(lambda: small + other) for other in (3, [t.nn.ReLU()], t.nn.ReLU(), t.nn.ModuleList([t.nn.ReLU()]))],
            [raised(lambda: small * n) for n in (0, -1, 1.5, "a")], [raised(lambda: n * small) for n in (0, 1.5)],
            [raised(lambda: small.__imul__(n)) for n in (0, 1.5)], raised(lambda: small.__iadd__([t.nn.ReLU()])), told(small)]


@programs
def sequential_is_a_collection(t):
    m = t.nn.Sequential(*relus(t, 3))
    return [len(m), [c.dim for c in m], m[0] in m, t.nn.ReLU() in m, bool(t.nn.Sequential()), "0" in dir(m), "forward" in dir(m),
            [c.dim for c in reversed(m)] if hasattr(m, "__reversed__") else "no"]


@programs
def sequential_with_gaps(t):
    m = t.nn.Sequential(*relus(t, 3))
    del m._modules["1"]
    m.add_module("x", t.nn.ReLU())
    before = told(m)
    m.append(t.nn.Tanh())
    return [before, told(m), m[1].dim, m(t.ones(2, 2, 2)).shape == (2, 2, 2)]


@programs
def sequential_subclasses(t):
    class Named(t.nn.Sequential):
        def __init__(self, *args):
            super().__init__(*args)
            self.note = 1

    m = Named(*relus(t, 3))
    return [type(m[1:]), type(m + m), type(m * 2), repr(m), told(m[:1])]


# ---- ModuleList


@programs
def module_list_is_made(t):
    children = relus(t, 2)
    made = [t.nn.ModuleList(), t.nn.ModuleList(children), t.nn.ModuleList(iter(children)), t.nn.ModuleList(t.nn.ModuleList(children)),
            t.nn.ModuleList(modules=children), t.nn.ModuleList(t.nn.Sequential(*children)), t.nn.ModuleList([None, children[0]])]
    return [[told(m), len(m)] for m in made] + [raised(lambda: t.nn.ModuleList(v)) for v in (3, [3], children[0], {"a": 1})]


@programs
def module_list_is_not_called(t):
    m = t.nn.ModuleList(relus(t, 2))
    return [raised(lambda: m(t.ones(1))), raised(lambda: t.nn.ModuleList()(1)), raised(lambda: m.forward(1))]


@programs
def module_list_is_indexed(t):
    m = t.nn.ModuleList(relus(t, 4))
    return [m[0].dim, m[-1].dim, [raised(lambda: m[i]) for i in (4, -5, 1.0, "0", None)], told(m[1:3]), told(m[::-1]), told(m[:0]),
            type(m[1:]), m[t.tensor(2)].dim, m[:2][0] is m[0]]


@programs
def module_list_items_are_set_and_deleted(t):
    def after(change):
        m = t.nn.ModuleList(relus(t, 4))
        return [raised(lambda: change(m)), told(m)]

    relu = t.nn.ReLU()
    return [after(lambda m: m.__setitem__(0, relu)), after(lambda m: m.__setitem__(-1, relu)), after(lambda m: m.__setitem__(4, relu)),
            after(lambda m: m.__setitem__(-5, relu)), after(lambda m: m.__setitem__(0, 3)), after(lambda m: m.__setitem__(0, None)),
            after(lambda m: m.__setitem__(slice(0, 2), relu)), after(lambda m: m.__delitem__(0)), after(lambda m: m.__delitem__(-1)),
            after(lambda m: m.__delitem__(slice(1, 3))), after(lambda m: m.__delitem__(slice(None, None, -2))), after(lambda m: m.__delitem__(9)),
            after(lambda m: m.__delitem__("0"))]


@programs
def module_list_grows(t):
    m = t.nn.ModuleList()
    results = [m.append(t.nn.ReLU()) is m, m.extend(relus(t, 2)) is m, m.insert(0, t.nn.Tanh()), m.insert(1, t.nn.Sigmoid()),
               m.insert(len(m), t.nn.ReLU())]
    m += relus(t, 1)
    return [results, told(m), [raised(lambda: m.extend(v)) for v in (3, [3], None, t.nn.ReLU(), "ab")], raised(lambda: m.append(3)),
            raised(lambda: m.append("x")), told(m), m.append(None) is m, len(m), raised(lambda: m.extend({"a": 1}))]


@programs
def module_list_inserts_anything(t):
    m = t.nn.ModuleList(relus(t, 1))
    m.insert(0, None)
    return [told(m), len(m)]


@programs
def module_list_pops_and_adds(t):
    m = t.nn.ModuleList(relus(t, 4))
    popped = [m.pop(1).dim, told(m), m.pop(-1).dim, told(m.pop(slice(0, 1))), told(m), raised(lambda: m.pop(9))]
    joined = m + t.nn.ModuleList([t.nn.ReLU()])
    return [popped, told(joined), told(m), told(m + [t.nn.Tanh()]), told(m + t.nn.Sequential(t.nn.ReLU())), raised(lambda: m + 3),
            raised(lambda: m * 2), raised(lambda: m + [3])]


@programs
def module_list_is_a_collection(t):
    m = t.nn.ModuleList(relus(t, 3))
    return [len(m), [c.dim for c in m], m[0] in m, t.nn.ReLU() in m, bool(t.nn.ModuleList()), "0" in dir(m), "append" in dir(m),
            [n for n, _ in m.named_children()]]


@programs
def reprs_of_deep_nests(t):
    nn = t.nn
    texts = []
    for wrap in (nn.Sequential, lambda m: nn.ModuleDict({"a": m}), lambda m: nn.ModuleList([m])):
        module = nn.Linear(2, 3)
        for _ in range(200):
            module = wrap(module)
        lines = repr(module).split("\n")
        texts.append([len(lines), lines[0], lines[1], lines[200], lines[-1]])
    return texts


@programs
def reprs_of_shared_and_own(t):
    nn = t.nn

    class Own(nn.Module):
        def __repr__(self):
            return "own\nlines"

    class Decorated(nn.Sequential):
        def __repr__(self):
            return "<" + super().__repr__() + ">"

    shared = nn.ReLU()
    holder = nn.Module()
    holder.add_module("nothing", None)
    return [repr(nn.Sequential(shared, nn.Sequential(shared, Own()), Decorated(Own(), shared))), repr(holder),
            repr(nn.ModuleList([Own(), Own(), Decorated(shared)]))]


@programs
def module_list_reprs(t):
    nn = t.nn

    def block():
        return nn.Sequential(nn.Linear(2, 2), nn.ReLU())

    lists = [[], [nn.ReLU()], [nn.ReLU(), nn.ReLU()], [nn.ReLU()] * 12, [nn.ReLU(), nn.Tanh(), nn.Tanh(), nn.ReLU()],
             [block(), block(), block()], [block(), nn.ReLU(), nn.ReLU(), block(), block()],
             [nn.ModuleList([nn.ReLU()] * 2), nn.ModuleList([nn.ReLU()] * 2)], [None, None, nn.ReLU()],
             [nn.Linear(1, 1), nn.Linear(1, 2), nn.Linear(1, 2)]]
    return [repr(nn.ModuleList(children)) for children in lists] + [repr(nn.Sequential(nn.ModuleList([nn.ReLU()] * 3)))]


@programs
def module_list_subclasses(t):
    class Stack(t.nn.ModuleList):
        def forward(self, x):
            for child in self:
                x = child(x)
            return x

    m = Stack([t.nn.ReLU(), t.nn.Identity()])
    return [m(t.tensor([-1.0, 1.0])), repr(m), type(m[:1]), type(m + m)]


# ---- ModuleDict


@programs
def module_dict_is_made(t):
    a, b = relus(t, 2)
    made = [t.nn.ModuleDict(), t.nn.ModuleDict({"a": a, "b": b}), t.nn.ModuleDict([("a", a), ["b", b]]), t.nn.ModuleDict(OrderedDict(b=b, a=a)),
            t.nn.ModuleDict(t.nn.ModuleDict({"a": a})), t.nn.ModuleDict(UserDict(a=a)), t.nn.ModuleDict({"a": None}), t.nn.ModuleDict((k, a) for k in "xy")]
    return [[told(m), len(m), repr(m)] for m in made] + [
        raised(lambda: t.nn.ModuleDict(v)) for v in (3, [3], [("a",)], [("a", a, b)], ["ab"], {"a": 3}, {1: a}, {"a.b": a}, {"": a}, a)]


@programs
def module_dict_methods(t):
    a, b = relus(t, 2)
    m = t.nn.ModuleDict({"a": a, "b": b})
    first = [list(m), list(m.keys()), [v.dim for v in m.values()], [[k, v.dim] for k, v in m.items()], "a" in m, "z" in m, len(m), m["a"] is a,
             raised(lambda: m["z"]), raised(lambda: m[0])]
    m["c"] = t.nn.ReLU()
    m["a"] = t.nn.Tanh()
    m.update({"d": t.nn.ReLU(), "b": t.nn.Sigmoid()})
    m.update([("e", t.nn.ReLU())])
    second = told(m)
    popped = m.pop("b")
    del m["c"]
    third = [told(m), popped.dim if hasattr(popped, "dim") else repr(popped), raised(lambda: m.pop("z")), raised(lambda: m.__delitem__("z")),
             raised(lambda: m.pop("z", 1))]
    m.clear()
    return [first, second, third, told(m), len(m), bool(m), raised(lambda: m(1))]


@programs
def module_dict_update_errors(t):
    m = t.nn.ModuleDict()
    values = [3, None, [3], [("a",)], [("a", t.nn.ReLU(), 1)], {"a": 3}, ["ab"], [("x", t.nn.ReLU()), 3], {"keys": t.nn.ReLU()},
              {"training": t.nn.ReLU()}, {"forward": t.nn.ReLU()}]
    return [[raised(lambda: m.update(v)), told(m)] for v in values]


@programs
def module_dict_attributes(t):
    m = t.nn.ModuleDict({"a": t.nn.ReLU()})
    m.b = t.nn.Tanh()
    return [told(m), m.a is m["a"], "b" in m, [n for n, _ in m.named_modules()], repr(m)]


# ---- ParameterList


def values(m):
    return [v.detach() if hasattr(v, "detach") else v for v in m]


@programs
def parameter_list_is_made(t):
    p = t.nn.Parameter(t.ones(1))
    made = [t.nn.ParameterList(), t.nn.ParameterList([p]), t.nn.ParameterList([p, t.zeros(2), 3, "x", None]), t.nn.ParameterList(iter([p])),
            t.nn.ParameterList(t.nn.ParameterList([p])), t.nn.ParameterList(values=[p])]
    return [[len(m), values(m), [n for n, _ in m.named_parameters()], list(m.state_dict())] for m in made] + [
        raised(lambda: t.nn.ParameterList(v)) for v in (3, None, p, t.ones(2))]


@programs
def parameter_list_items(t):
    m = t.nn.ParameterList([t.full((1,), float(i)) for i in range(4)])
    first = [m[0], m[-1], [raised(lambda: m[i]) for i in (4, -5, "0", 1.0)], values(m[1:3]), values(m[::-1]), type(m[1:]), m[1:][0] is m[1]]
    m[0] = t.nn.Parameter(t.full((2,), 7.0))
    m[-1] = t.full((2,), 8.0)

    def put(index, value):
        return raised(lambda: m.__setitem__(index, value))

    return [first, values(m), type(m[-1]).__name__, put(4, t.ones(1)), put(-5, t.ones(1)), put(1, 3), put(1, None), put("0", t.ones(1)),
            raised(lambda: m.__delitem__(0)), len(m), [n for n, _ in m.named_parameters()]]


@programs
def parameter_list_grows(t):
    m = t.nn.ParameterList()
    p = t.nn.Parameter(t.ones(1))
    results = [m.append(p) is m, m.append(t.zeros(1)) is m, m.extend([p, t.ones(2)]) is m, m.append("word") is m]
    m += [t.ones(3)]
    return [results, values(m), m[0] is p, type(m[1]).__name__, [n for n, _ in m.named_parameters()], [raised(lambda: m.extend(v)) for v in (3, t.ones(2), None)],
            len(m), raised(lambda: m + m), p in list(m)]


@programs
def parameter_list_is_a_collection(t):
    m = t.nn.ParameterList([t.ones(1), t.ones(2)])
    return [len(m), [list(p.shape) for p in m], bool(t.nn.ParameterList()), "0" in dir(m), raised(lambda: m(1)), raised(lambda: m()),
            m.double()[0].dtype == t.float64]


@programs
def parameter_list_reprs(t):
    p = t.nn.Parameter
    return [repr(t.nn.ParameterList(v)) for v in ([], [p(t.ones(2, 3))], [p(t.ones(1)), p(t.tensor(1.0)), p(t.ones(1, dtype=t.float64))],
                                                 [p(t.ones(2)), 3, "x", None], [p(t.ones(0))])]


@programs
def parameter_list_load(t):
    m, n = t.nn.ParameterList([t.ones(1), t.ones(2)]), t.nn.ParameterList([t.zeros(1), t.zeros(2)])
    n.load_state_dict(m.state_dict())
    return values(n)


# ---- ParameterDict


def items(m):
    return [[k, v.detach() if hasattr(v, "detach") else v] for k, v in m.items()]


@programs
def parameter_dict_is_made(t):
    p = t.nn.Parameter(t.ones(1))
    made = [t.nn.ParameterDict(), t.nn.ParameterDict({"a": p, "b": t.zeros(2), "c": 3}), t.nn.ParameterDict([("b", p), ["a", p]]),
            t.nn.ParameterDict(OrderedDict(z=p, a=p)), t.nn.ParameterDict(t.nn.ParameterDict({"a": p})), t.nn.ParameterDict(parameters={"a": p}),
            t.nn.ParameterDict({"b": p, "a": p})]
    return [[len(m), items(m), [n for n, _ in m.named_parameters()], list(m.state_dict())] for m in made] + [
        raised(lambda: t.nn.ParameterDict(v)) for v in (3, [3], [("a",)], [("a", p, p)], {1: p}, ["ab"], {"a.b": p})]


@programs
def parameter_dict_methods(t):
    p = t.nn.Parameter(t.ones(1))
    m = t.nn.ParameterDict({"a": p, "b": t.zeros(1)})
    first = [list(m), list(m.keys()), [list(v.shape) for v in m.values()], items(m), "a" in m, "z" in m, len(m), m["a"] is p, raised(lambda: m["z"]),
             m.get("a") is p, m.get("z"), m.get("z", 3), list(reversed(m)), raised(lambda: m[0]), raised(lambda: m(1))]
    m["c"] = t.ones(2)
    m["a"] = t.full((1,), 5.0)
    set_ = [m.setdefault("a"), m.setdefault("d", t.zeros(3)), m.setdefault("e"), items(m)]
    removed = [m.pop("c"), raised(lambda: m.pop("z")), m.popitem()[0], items(m)]
    del m["a"]
    left = [items(m), raised(lambda: m.__delitem__("z")), [n for n, _ in m.named_parameters()]]
    m.clear()
    return [first, set_, removed, left, len(m), list(m.state_dict()), raised(lambda: m.popitem())]


@programs
def parameter_dict_copies_and_unions(t):
    a, b = t.nn.ParameterDict({"x": t.ones(1), "y": t.zeros(1)}), t.nn.ParameterDict({"y": t.ones(2), "z": t.zeros(2)})
    c = a.copy()
    c["x"] = t.full((1,), 9.0)
    union = a | b
    made = [items(a), items(c), items(union), type(union), c["y"] is a["y"], items(b | a)]
    a |= b
    keys = a.fromkeys(["k", "l"], 3)
    return [made, items(a), items(keys), items(t.nn.ParameterDict().fromkeys("ab")), raised(lambda: a | 3)]


@programs
def parameter_dict_updates(t):
    m = t.nn.ParameterDict({"b": t.ones(1)})
    m.update({"d": t.ones(1), "c": t.ones(1)})
    m.update([("a", t.ones(1))])
    m.update(t.nn.ParameterDict({"e": t.ones(1)}))
    m.update(OrderedDict(z=t.ones(1), y=t.ones(1)))
    return [list(m), [raised(lambda: m.update(v)) for v in (3, [3], [("a",)], None, ["ab"])], len(m)]


@programs
def parameter_dict_reprs(t):
    p = t.nn.Parameter
    return [repr(t.nn.ParameterDict(v)) for v in ({}, {"a": p(t.ones(2, 3))}, {"a": p(t.ones(1)), "bb": p(t.tensor(1.0)), "c": 3, "d": None})]


@programs
def parameter_dict_keys(t):
    p = t.nn.Parameter(t.ones(1))

    def put(key):
        m = t.nn.ParameterDict()
        return [raised(lambda: m.__setitem__(key, p)), len(m), list(m)]

    return [put(key) for key in (1, None, "a.b", "", "training", "ok", "forward", "keys")]


# ---- all of them


@programs
def containers_copy(t):
    made = [t.nn.Sequential(*relus(t, 2)), t.nn.ModuleList(relus(t, 2)), t.nn.ModuleDict({"a": t.nn.ReLU()}),
            t.nn.ParameterList([t.ones(1), 3]), t.nn.ParameterDict({"a": t.ones(1), "b": 3})]
    return [[repr(copy.deepcopy(m)) == repr(m), type(copy.deepcopy(m)), len(copy.deepcopy(m))] for m in made]


@programs
def no_warnings(t):
    def run():
        for m in (t.nn.ParameterList([t.ones(1)]), t.nn.ParameterDict({"a": t.ones(1)}), t.nn.ModuleList(relus(t, 1)), t.nn.ModuleDict()):
            list(m.parameters())
            m.state_dict()
            m.train()

    return warned(run)


@programs
def members_of_containers_are_registered(t):
    class Net(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.stack = t.nn.ModuleList([t.nn.Linear(1, 1), t.nn.Sequential(t.nn.Linear(1, 1, bias=False))])
            self.table = t.nn.ModuleDict({"a": t.nn.Linear(1, 1)})
            self.weights = t.nn.ParameterList([t.ones(1), t.ones(2)])
            self.scales = t.nn.ParameterDict({"x": t.ones(1)})

    m = Net()
    return [[n for n, _ in m.named_parameters()], [n for n, _ in m.named_modules()], list(m.state_dict()), repr(m)]


test_as_recorded, test_recording_is_what_torch_does = programs.tests()


# ---- what only Flambeau shows


@pytest.mark.parametrize("container", [
    nn.Sequential(nn.Linear(2, 3), nn.ReLU()), nn.ModuleList([nn.Linear(1, 1)]), nn.ModuleDict({"a": nn.Linear(1, 1)}),
    nn.ParameterList([flambeau.ones(1), 3]), nn.ParameterDict({"a": flambeau.ones(1)}),
], ids=lambda m: type(m).__name__)
def test_containers_pickle(container):
    back = pickle.loads(pickle.dumps(container))
    assert repr(back) == repr(container)
    assert len(back) == len(container)
    assert list(back.state_dict()) == list(container.state_dict())


def test_module_list_says_why_it_cannot_be_called():
    with pytest.raises(NotImplementedError, match=r"ModuleList.*forward"):
        nn.ModuleList([nn.ReLU()])(1)


def test_sequential_extends_itself():
    """PyTorch loses its way here: the dictionary changes while it is read."""
    m = nn.Sequential(nn.ReLU(), nn.Tanh())
    assert repr(m.extend(m)) == repr(nn.Sequential(nn.ReLU(), nn.Tanh(), nn.ReLU(), nn.Tanh()))


def test_module_list_inserts_as_a_list_does():
    """PyTorch leaves gaps in the numbers here."""
    m = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    m.insert(99, nn.Sigmoid())
    m.insert(-1, nn.GELU())
    assert [type(c).__name__ for c in m] == ["ReLU", "Tanh", "GELU", "Sigmoid"]
    assert list(m._modules) == ["0", "1", "2", "3"]


@pytest.mark.parametrize("name", nn.modules.container.__all__)
def test_pickles_name_containers_where_pytorch_has_them(name):
    assert getattr(nn, name).__module__ == "flambeau.nn.modules.container"
