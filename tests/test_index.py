"""index_*, gather and scatter, take and put, masks, nonzero: against PyTorch, and by hand."""

import numpy as np
import pytest

import flambeau
from _oracle import check_code, outcome

SETUP = """\
x = torch.tensor([[0.5, -1., 2.], [3., 0., -2.]])
xi = torch.arange(6).reshape(2, 3)
g = x.clone().requires_grad_()
v = torch.tensor([[1., 2., 0.], [4., 0., 6.]]).requires_grad_()
n = torch.tensor(1.5).requires_grad_()
z = torch.tensor(2.)
zi = torch.tensor(0)
i = torch.tensor([0, 1])
r = torch.tensor([1, 1])
m = torch.tensor([[True, False, True], [False, False, True]])
gi = torch.tensor([[0, 1, 1], [1, 1, 0]])
"""

REDUCED = [
    f"g.{function}(0, {index}, {'v + 0.25' if how in ('amax', 'amin') else 'v'}, '{how}', include_self={include})"
    for function, index, hows in (
        ("scatter_reduce", "gi", ("sum", "prod", "mean", "amax", "amin")),
        ("index_reduce", "r", ("prod", "mean", "amax", "amin")),
    )
    for how in hows
    for include in (True, False)
]

# Each gives a tensor that may depend on g, v and n.
CASES = """
x.masked_fill(m, 1 + 0j)
x.long().masked_fill(m, 2 + 0j)
x.bool().masked_fill(m, 1 + 1j)
x.to(torch.uint8).masked_fill(m, -255)
g.index_select(0, r)
g.index_select(-1, torch.tensor([2, 0], dtype=torch.int32))
g.index_select(0, zi)
z.index_select(0, zi)
g.mT.index_select(0, r)
g.index_add(0, r, v)
g.index_add(1, torch.tensor([0, 2, 2]), v, alpha=3)
g.index_add(0, zi, v[:1])
z.index_add(0, zi, z)
xi.index_add(0, i, xi, alpha=2.5)
g.index_copy(0, torch.tensor([1, 0]), v)
g.index_copy(1, torch.tensor([2]), v[:, :1])
z.index_copy(0, zi, z)
g.index_fill(0, torch.tensor([-1]), 9)
g.index_fill(1, torch.tensor([0, 2, 2]), n)
xi.index_fill(0, i, 1.5)
z.index_fill(0, zi, 9)
g.index_put((i, r), v[0, :2])
g.index_put((i, r), v[0, :2], accumulate=True)
g.index_put((r,), v, True)
g.index_put((torch.tensor([-1]),), n)
g.index_put((m,), n)
g.index_put((m,), v[0], True)
g.gather(0, gi)
g.gather(1, torch.tensor([[2], [0]]))
g.gather(0, torch.tensor([[1]], dtype=torch.int32))
g.mT.gather(0, torch.tensor([[2]]))
g.gather(0, torch.empty(0, 0, dtype=torch.long))
z.gather(0, zi)
z.gather(0, torch.tensor([0, 0]))
g.scatter(0, torch.tensor([[0, 1, 1]]), v[:1])
g.scatter(1, torch.tensor([[0, 2], [1, 0]]), v[:, 1:])
x.scatter(1, torch.tensor([[0, 2], [1, 0]]), x)
g.scatter(0, torch.tensor([[0, 1, 1]]), 7.)
g.scatter(0, torch.tensor([[0, 1, 1]]), value=7)
x.scatter(0, torch.tensor([[0], [0]]), x, reduce='add')
x.scatter(0, torch.tensor([[0], [0]]), 2, reduce='multiply')
xi.scatter(0, torch.tensor([[0]]), 1.5)
g.scatter_add(0, gi, v)
g.scatter_add(1, torch.tensor([[0, 0]]), v[:1, :2])
g.scatter_add(0, r[:, None].expand(2, 3), v)
g.mT.scatter_add(0, torch.tensor([[0, 0]]), v.mT[:1])
z.scatter_add(0, zi, z)
xi.scatter_reduce(0, gi, xi, 'mean')
xi.scatter_reduce(0, gi, xi, 'amin', include_self=False)
xi.index_reduce(0, r, xi, 'amax', include_self=False)
g.take(torch.tensor([[0, -1], [3, 3]]))
g.mT.take(torch.tensor([1]))
x.take(zi)
torch.empty(0).take(torch.empty(0, dtype=torch.long))
g.put(torch.tensor([[0], [5]]), v[0, :2])
g.put(torch.tensor([1, 1]), v[0, :2], accumulate=True)
g.mT.put(torch.tensor([1, -1]), v[0, :2])
g.take_along_dim(torch.tensor([0, 4]))
g.take_along_dim(torch.tensor([[0, -1]]), 1)
g.take_along_dim(torch.tensor([[1], [0]]), dim=1)
g.masked_fill(m, 3)
g.masked_fill(m, n)
g[0].masked_fill(m, 1)
g.masked_fill(m[0], -float('inf'))
xi.masked_fill(m, 1.5)
x.masked_fill(m, torch.tensor(1., dtype=torch.float64))
x.masked_fill(m, True)
g.masked_select(m)
g.masked_select(m[0])
g[0].masked_select(m)
g.masked_select(torch.tensor(True))
g.masked_scatter(m, v)
g.masked_scatter(m[0], v)
g[0].masked_scatter(m, v)
torch.nonzero(x)
torch.nonzero(z)
torch.argwhere(x > 0)
torch.nonzero_static(x, size=6)
torch.nonzero_static(x, size=2, fill_value=3)
torch.nonzero_static(z, size=2)
torch.where(m)
torch.nonzero(x, as_tuple=True)
x.nonzero(as_tuple=True)
torch.nonzero(z, as_tuple=True)
torch.index_put(x, [i], z, accumulate=True)
torch.index_select(x, 0, r)
torch.take(x, r)
""".strip().splitlines() + REDUCED

# Each changes t, a copy of x that depends on g.
INPLACE = """
t.index_add_(0, r, v)
t.index_copy_(0, i, v)
t.index_fill_(0, r, n)
t.index_put_((i, r), n)
t.index_put_((r,), v, accumulate=True)
t.index_reduce_(0, r, v, 'mean')
t.scatter_(0, gi[:1], v[:1])
t.scatter_(0, gi[:1], 4.)
t.scatter_add_(0, gi, v)
t.scatter_reduce_(0, gi, v, 'amax', include_self=False)
t.put_(torch.tensor([1, 4]), v[0, :2])
t.masked_fill_(m, n)
t.masked_fill_(m, 0.)
t.masked_scatter_(m, v)
t.fill_diagonal_(5)
t[0].masked_fill_(m[0], 0.)
t[:, 1:].index_add_(0, r, v[:, 1:])
t.mT.index_fill_(0, r, 0.)
""".strip().splitlines()

REFUSED = """
x.to(torch.uint8).masked_fill(m, -256)
x.index_fill(0, i, 1 + 0j)
x.masked_fill(m, 1 + 1j)
x.index_select(0, torch.tensor([0.]))
x.index_select(0, torch.tensor([5]))
x.index_select(0, torch.tensor([-1]))
x.index_select(0, torch.tensor([[0]]))
x.index_select(5, i)
x.index_select(0., i)
x.index_select(0, [0])
z.index_select(0, i)
x.index_add(0, i, torch.ones(1, 3))
x.index_add(0, torch.tensor([0, 7]), x)
x.index_add(0, torch.tensor([-1, 0]), x)
x.index_add(0, torch.tensor([0., 1]), x)
x.index_add(0, i, x.double())
x.index_add(0, i, x[:, :2])
x.index_add(0, i, x[0])
x.index_copy(0, torch.tensor([0, 7]), x)
x.index_copy(0, i, x.double())
x.index_copy(0, i, x[:, :2])
x.index_copy(0, i, x[0])
x.index_copy(0, i.int(), x)
x.index_copy(0, torch.tensor([[0]]), x)
x.index_fill(0, torch.tensor([0, 7]), 1)
x.index_fill(0, torch.tensor([-3]), 1)
x.index_fill(0, i.int(), 1)
x.index_fill(0, i, torch.ones(2))
x.index_fill(0, i, 1j)
x.index_put((torch.tensor([0]),), z.double())
x.index_put((torch.tensor([0]),), torch.ones(7))
x.index_put((torch.tensor([0]),), 1.)
x.index_put(torch.tensor([0]), z)
x.index_put((i, None), z)
x.index_put((torch.tensor([0.]),), z)
x.index_put((i, i, i), z)
x.index_put((), z)
x.index_reduce(0, i, x, 'sum')
x.index_reduce(0, i, x, 'foo')
x.gather(0, torch.tensor([0]))
x.gather(0, torch.tensor([[7]]))
x.gather(0, torch.tensor([[-1]]))
x.gather(0, torch.zeros(1, 5, dtype=torch.long))
x.gather(0, torch.tensor([[0.]]))
x.gather(0, [0])
x.scatter(0, torch.tensor([[9]]), 1.)
x.scatter(0, torch.tensor([[0]]), x.double())
x.scatter(0, torch.tensor([[0]]), x, reduce='foo')
x.scatter(0, torch.tensor([[0, 0, 0, 0]]), x)
x.scatter(0, torch.tensor([[0], [0], [0]]), x)
x.scatter(0, torch.tensor([[0.]]), x)
x.scatter(0, torch.tensor([[0]]), z)
x.scatter_add(0, torch.tensor([[0]]), x.double())
x.scatter_reduce(0, torch.tensor([[0]]), x, 'foo')
x.scatter_reduce(0, torch.tensor([[0]]), x.double(), 'sum')
x.take(torch.tensor([99]))
x.take(torch.tensor([-7]))
x.take(torch.tensor([0.]))
x.take(i.int())
torch.empty(0).take(zi)
x.put(torch.tensor([99]), torch.tensor([1.]))
x.put(i, torch.tensor([1.]))
x.put(i, x[0, :2].double())
x.put(i.int(), x[0, :2])
x.take_along_dim(i, 1)
x.take_along_dim(torch.tensor([0, -1]))
x.take_along_dim(torch.tensor([[0.]]), 1)
x.masked_fill(torch.tensor([0]), 1)
x.masked_fill(torch.ones(5, dtype=torch.bool), 1)
x.masked_fill(m, torch.ones(2))
x.masked_fill(m, 1j)
x.masked_fill(m, 'a')
x.masked_fill([True], 1)
xi.masked_fill(m, float('nan'))
x[0].clone().masked_fill_(m, 1)
x.masked_select(torch.ones(3))
x.masked_scatter(m, torch.ones(2))
x.masked_scatter(m, torch.ones(3).double())
x.masked_scatter(m.byte(), torch.ones(3))
torch.nonzero_static(x, size=-2)
torch.zeros(3).fill_diagonal_(1)
torch.zeros(3, 3, 4).fill_diagonal_(1)
g.index_add_(0, r, v)
g.masked_fill_(m, 0)
g.scatter_(0, gi, v)
""".strip().splitlines()

NAMED = """
g.index_select(0, r)
g.index_add(0, r, v)
g.index_copy(0, i, v)
g.index_fill(0, i, 1.)
g.index_put((i,), v)
g.index_reduce(0, i, v, 'mean')
g.gather(0, gi)
g.scatter(0, gi, v)
g.scatter_add(0, gi, v)
g.scatter_reduce(0, gi, v, 'sum')
g.take(i)
g.put(i, v[0, :2])
g.masked_fill(m, 1.)
g.masked_select(m)
g.masked_scatter(m, v)
""".strip().splitlines()


@pytest.mark.oracle
@pytest.mark.parametrize("code", CASES)
def test_agrees_with_torch(code):
    """Values and strides, then the gradients of everything that went in."""
    check_code(SETUP + code, strides="mT" not in code)
    if "g." in code or "g[" in code:
        weigh = "(y * torch.arange(1., y.numel() + 1).reshape(y.shape)).sum().backward()"
        check_code(f"{SETUP}y = {code}\n{weigh}\n(g.grad, v.grad, n.grad)")


@pytest.mark.oracle
@pytest.mark.parametrize("code", INPLACE)
def test_inplace_agrees_with_torch(code):
    """The tensor itself comes back, written to, with the gradients of the recorded write."""
    check_code(f"{SETUP}t = x.clone()\nwith torch.no_grad():\n    y = {code}\n(t, t._version, y.requires_grad)")
    weigh = "(t * torch.arange(1., 7).reshape(2, 3)).sum().backward()"
    check_code(f"{SETUP}t = g * 1\n{code}\n{weigh}\n(t, g.grad, v.grad, n.grad)")
    check_code(f"{SETUP}t = x.clone()\n{code}\nt.requires_grad")


@pytest.mark.oracle
@pytest.mark.parametrize("code", REFUSED)
def test_refusal_agrees_with_torch(code):
    check_code(SETUP + code)
    assert outcome(SETUP + code, flambeau)[1] is not None


@pytest.mark.oracle
@pytest.mark.parametrize("code", NAMED)
def test_node_has_torchs_name(code):
    check_code(f"{SETUP}({code}).grad_fn.name()")


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "complex64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("code", [
    "a[[1, 1]]", "a.index_select(0, r)", "a.gather(0, gi)", "a.scatter(0, gi[:1], a)", "a.take(gi)",
    "a.masked_fill(m, 1)", "a.masked_select(m)", "a.index_fill(0, r, 1)", "a.index_add(0, r, a)",
    "a.scatter_add(0, gi, a)", "a.index_put((r,), a, accumulate=True)", "a.put(r, a[0, :2])", "torch.nonzero(a)",
])
def test_every_dtype(code, dtype):
    check_code(f"{SETUP}a = torch.tensor([[1, 0, 2], [3, 4, 0]]).to(torch.{dtype})\n{code}")


@pytest.mark.oracle
@pytest.mark.parametrize("code", [
    "torch.index_select(x, 0, r, out=o)", "torch.gather(x, 0, gi, out=o)", "torch.scatter(x, 0, gi, x, out=o)",
    "torch.index_add(x, 0, r, x, out=o)", "torch.take(x, gi, out=o)", "torch.take_along_dim(x, gi, 0, out=o)",
    "torch.scatter_reduce(x, 0, gi, x, 'sum', out=o)", "torch.index_copy(x, 0, i, x, out=o)",
])
def test_out(code):
    check_code(f"{SETUP}o = torch.empty(2, 3)\ny = {code}\n(y is o, o)")
    check_code(f"{SETUP}o = torch.empty(2, 3, dtype=torch.int64)\n{code}")
    check_code(f"{SETUP}o = torch.empty(2, 3)\n{code.replace('(x', '(g', 1)}")


# ---- without the oracle


def doubles(*shape, seed=0):
    return flambeau.from_numpy(np.random.default_rng(seed).standard_normal(shape)).requires_grad_()


ROWS = flambeau.tensor([0, 2, 2])
DISTINCT = flambeau.tensor([0, 3, 1])
PLACES = flambeau.tensor([[0, 1, 3], [3, 3, 2], [1, 0, 0]])
MASK = flambeau.tensor([[True, False, True]] * 3 + [[False, True, False]])

TWICE = {
    "getitem": lambda x, v: x[ROWS] * v,
    "index_put": lambda x, v: x.index_put((DISTINCT,), v),
    "index_put accumulate": lambda x, v: x.index_put((ROWS,), v, accumulate=True) * x,
    "index_add": lambda x, v: x.index_add(0, ROWS, v * v, alpha=2),
    "index_copy": lambda x, v: x.index_copy(0, DISTINCT, v) * x,
    "index_fill": lambda x, v: x.index_fill(0, ROWS, v[0, 0]) * x,
    "gather": lambda x, v: x.gather(0, PLACES) * v,
    "scatter": lambda x, v: x.scatter(1, flambeau.tensor([[2, 0]]), v) * x,
    "scatter_add": lambda x, v: x.scatter_add(0, PLACES, v * v),
    "take": lambda x, v: x.take(PLACES) * v,
    "put": lambda x, v: x.put(PLACES, v * v, accumulate=True),
    "masked_fill": lambda x, v: x.masked_fill(MASK, v[0, 0]) * x,
    "masked_select": lambda x, v: (x * x).masked_select(MASK) * v[0, 0],
    "masked_scatter": lambda x, v: x.masked_scatter(MASK, v * v),
    **{
        f"scatter_reduce {how}": lambda x, v, how=how: x.scatter_reduce(0, PLACES, v, how) * x
        for how in ("sum", "mean", "prod", "amax", "amin")
    },
    **{
        f"index_reduce {how}": lambda x, v, how=how: x.index_reduce(0, ROWS, v, how, include_self=False)
        for how in ("mean", "prod", "amax", "amin")
    },
}


@pytest.mark.parametrize("name", TWICE)
def test_first_and_second_derivatives(name):
    inputs = doubles(4, 3), doubles(3, 3, seed=1)
    assert flambeau.autograd.gradcheck(TWICE[name], inputs)
    assert flambeau.autograd.gradgradcheck(TWICE[name], inputs)


def test_gradient_of_a_product_with_zeros():
    x = flambeau.tensor([0.0, 2.0, 3.0], requires_grad=True)
    src = flambeau.tensor([5.0, 0.0, 0.0, 4.0], requires_grad=True)
    out = x.scatter_reduce(0, flambeau.tensor([0, 1, 1, 2]), src, "prod")
    out.sum().backward()
    assert out.tolist() == [0, 0, 12]
    assert x.grad.tolist() == [5, 0, 4]
    assert src.grad.tolist() == [0, 0, 0, 3]


def test_ties_share_the_gradient_of_an_extreme():
    x = flambeau.tensor([1.0, 7.0], requires_grad=True)
    src = flambeau.tensor([1.0, 1.0, 0.0], requires_grad=True)
    x.scatter_reduce(0, flambeau.tensor([0, 0, 0]), src, "amax").sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [1 / 3, 1], rtol=1e-6)
    np.testing.assert_allclose(src.grad.numpy(), [1 / 3, 1 / 3, 0], rtol=1e-6)


def test_what_was_replaced_takes_no_share():
    """Without include_self the old element has no part, also where it happens to equal the extreme."""
    x = flambeau.tensor([0.0, 2.0], requires_grad=True)
    src = flambeau.tensor([0.0, 1.0], requires_grad=True)
    x.scatter_reduce(0, flambeau.tensor([0, 0]), src, "amin", include_self=False).sum().backward()
    assert x.grad.tolist() == [0, 1]
    assert src.grad.tolist() == [1, 0]


def test_part_of_the_source():
    """An index smaller than the source uses its first elements; only they get a gradient."""
    src = flambeau.ones(2, 3, requires_grad=True)
    flambeau.zeros(2, 3).scatter_add(0, flambeau.tensor([[0, 1]]), src * 2).sum().backward()
    assert src.grad.tolist() == [[2, 2, 0], [0, 0, 0]]


@pytest.mark.parametrize("n, width, distinct", [
    (5, 3, False), (900, 1, False), (900, 7, False), (900, 8, False), (90, 600, False), (90, 600, True),
])
@pytest.mark.parametrize("axis", [0, 1])
def test_index_add_by_every_way_of_adding(n, width, distinct, axis):
    rng = np.random.default_rng(1)
    index = rng.permutation(100)[:n] if distinct else rng.integers(0, 100, n)
    x, source = rng.standard_normal((100, width)), rng.standard_normal((n, width))
    want = x.copy()
    np.add.at(want, index, source)
    x, source = (flambeau.from_numpy(a).transpose(0, axis) for a in (x, source))
    got = x.index_add(axis, flambeau.from_numpy(index), source)
    np.testing.assert_allclose(got.transpose(0, axis).numpy(), want)
    x.index_add_(axis, flambeau.from_numpy(index), source)
    np.testing.assert_allclose(x.transpose(0, axis).numpy(), want)


def test_inplace_writes_only_what_it_must():
    """Big tensors are not copied: the memory stays the same, views of it see the write."""
    x = flambeau.zeros(3, 2)
    place, view = x.data_ptr(), x[1]
    x.index_fill_(0, flambeau.tensor([1]), 4).masked_fill_(x == 0, 1)
    assert x.data_ptr() == place
    assert view.tolist() == [4, 4]
    assert x._version == 2


WRITES_BY_INDEX = {
    "setitem": lambda x, index, values: x.__setitem__(index, values),
    "index_put_": lambda x, index, values: x.index_put_((index,), values, accumulate=True),
    "put_": lambda x, index, values: x.put_(index, values, accumulate=True),
    "index_add_": lambda x, index, values: x.index_add_(0, index, values),
    "index_copy_": lambda x, index, values: x.index_copy_(0, index, values),
    "index_fill_": lambda x, index, values: x.index_fill_(0, index, 2.0),
    "index_reduce_": lambda x, index, values: x.index_reduce_(0, index, values, "prod"),
    "scatter_": lambda x, index, values: x.scatter_(0, index, values),
    "scatter_add_": lambda x, index, values: x.scatter_add_(0, index, values),
    "scatter_reduce_": lambda x, index, values: x.scatter_reduce_(0, index, values, "amax"),
    "masked_fill_": lambda x, index, values: x[:1].masked_fill_(index.view(flambeau.bool)[:1], 2.0),
}


@pytest.mark.parametrize("write", WRITES_BY_INDEX.values(), ids=WRITES_BY_INDEX)
def test_operands_in_the_memory_that_is_written_to_are_read_before(write):
    """An index that is read again behind a write to it names a place far outside."""
    index = flambeau.tensor([1, 3, 2, 0, 5, 5, 7, 6])
    x = index.clone().view(flambeau.float64)
    right, values = x.clone(), flambeau.arange(1.0, 9.0, dtype=flambeau.float64)
    write(right, index.clone(), values)
    write(x, x.view(flambeau.int64), values)
    assert flambeau.equal(x.view(flambeau.int64), right.view(flambeau.int64))


def test_fill_diagonal():
    x = flambeau.zeros(5, 2)
    assert x.fill_diagonal_(1).tolist() == [[1, 0], [0, 1], [0, 0], [0, 0], [0, 0]]
    assert x.fill_diagonal_(2, wrap=True).tolist() == [[2, 0], [0, 2], [0, 0], [2, 0], [0, 2]]
    assert flambeau.zeros(2, 2, 2).fill_diagonal_(1).sum().item() == 2


@pytest.mark.parametrize("error, message, act", [
    (IndexError, "index 5 is out of bounds for dimension 0 with size 2", lambda x, i: x.index_select(0, i + 5)),
    (RuntimeError, "index 5 is out of bounds for dimension 1 with size 3", lambda x, i: x.gather(1, i[None] + 5)),
    (IndexError, "tried to access index 9 on a tensor of 6 elements", lambda x, i: x.take(i + 9)),
    (RuntimeError, "take.*Expected dtype int64 for index, but got torch.float32", lambda x, i: x.take(x)),
    (RuntimeError, r"expected index \[1, 4\] to be no larger than self \[2, 3\]",
     lambda x, i: x.gather(0, flambeau.zeros(1, 4).long())),
    (RuntimeError, r"self.shape = \[2, 3\] source.shape = \[1, 2\]",
     lambda x, i: x.index_add(0, i, flambeau.zeros(1, 2))),
    (RuntimeError, "boolean mask", lambda x, i: x.masked_fill(i, 0)),
    (RuntimeError, "source < number of ones in mask: 1 < 6",
     lambda x, i: x.masked_scatter(x == 0, flambeau.ones(1))),
    (RuntimeError, "use scatter_reduce",
     lambda x, i: x.requires_grad_().scatter(0, i[None], 2, reduce="multiply").sum().backward()),
])
def test_messages(error, message, act):
    with pytest.raises(error, match=message):
        act(flambeau.zeros(2, 3), flambeau.tensor([0]))


@pytest.mark.jax
@pytest.mark.parametrize("name", [n for n in TWICE if n not in ("masked_select",)])
def test_kernels_agree_with_jax(name, monkeypatch):
    """The same ops on jax arrays, gradients included."""
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        def run(device):
            inputs = doubles(4, 3), doubles(3, 3, seed=1)
            x, v = (t.detach().to(device).requires_grad_() for t in inputs)
            for index in ("ROWS", "DISTINCT", "PLACES", "MASK"):
                monkeypatch.setitem(globals(), index, globals()[index].to(device))
            with flambeau.device(device):
                y = TWICE[name](x, v)
            y.sum().backward()
            return [t.detach().cpu().numpy() for t in (y, x.grad, v.grad)]

        for got, want in zip(run("xla"), run("cpu"), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-9)
