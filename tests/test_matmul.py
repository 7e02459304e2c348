"""Products of vectors and matrices, contractions: against PyTorch, and by hand."""

import numpy as np
import pytest

import flambeau
from _matrices import SETUP, check_derivatives, check_value, lines
from _oracle import outcome
from flambeau.ops.matmul import linear

# ---- against PyTorch

VALUES = lines("""
i @ i.T
i @ i[0]
h @ h.T
bf @ bf.T
bf[0] @ bf[0]
torch.matmul(e.T, e)
torch.matmul(e, torch.zeros(3, 0))
torch.matmul(torch.zeros(4, 0, 3), torch.zeros(3, 2))
torch.matmul(x.transpose(0, 1), b)
torch.matmul(a[:, ::2], b[::2])
v.mv(v)
torch.tensor(1.).mv(v)
a @ a
a @ v[:2]
v @ a
x @ a
x @ y[:4]
x @ y.transpose(1, 2)
v @ u[:2]
torch.tensor(2.) @ v
a @ f.T
v @ v.float()
a @ v.float()
x @ y.float()
o @ o
torch.mm(v, a)
torch.mm(a, v)
torch.bmm(a, y)
torch.bmm(x, y[:4])
torch.bmm(x, x)
torch.mv(a, a)
torch.dot(a, v)
torch.dot(v, u[:2])
torch.dot(v, u.float())
torch.dot(o[0], o[0])
torch.outer(a, v)
torch.outer(v, a)
torch.ger(v, u)
torch.inner(v, u[:2])
torch.inner(torch.tensor(2.), f)
torch.inner(x, a)
torch.matmul(a, 3)
torch.mm([1], a)
torch.addmm(i[:, :2], i, i.T, beta=2, alpha=3)
torch.addmm(i[:, :2], i, i.T, beta=0.5, alpha=1.5)
torch.addmm(h[:, :2], h, h.T, alpha=0.5)
torch.addmm(bf[:, :2], bf, bf.T, beta=0.25)
torch.addmm(torch.full((2, 2), nan, dtype=torch.float64), a, a.T, beta=0)
torch.addmm(torch.tensor(1.), f, f.T)
torch.addmm(a, a, b)
torch.addmm(a, a, a)
torch.addmm(f[:, :2], a, a.T)
torch.addmm(a[:, :2], a, f.T)
torch.addmm(a[:, :2], a, a.T, alpha='1')
torch.addmm(a[:, :2], a, a.T, alpha=1j)
torch.addmv(v[:1], a, v)
torch.addmv(v, a, v)
torch.addmv(v[:2], a, a)
torch.addmv(v[:2].float(), a, v)
torch.addr(i[:, :2], i[0, :2], i[1, :2], beta=2)
torch.addr(i[:, :2], i[0, :2], i[1, :2], alpha=0.5)
torch.addr(o, o[0], o[1])
torch.addr(f[:, :2].double(), f[0, :2], f[1, :2])
torch.addr(a, a, v)
torch.addr(v, v[:2], v[:2])
torch.addbmm(a[:, :2], x, x)
torch.addbmm(v[:2], x, x.transpose(1, 2), beta=2)
torch.baddbmm(torch.zeros(2, 2, dtype=torch.float64), x, x.transpose(1, 2), alpha=2)
torch.baddbmm(v, x, x.transpose(1, 2))
torch.tensordot(x, y, dims=([0, 2], [0, 1]))
torch.tensordot(a, b, 1)
torch.tensordot(v, u, 0)
torch.tensordot(x[:, :1], y[:, :1], ([1], [1]))
torch.tensordot(a, a, 3)
torch.tensordot(a, a, -1)
torch.tensordot(a, b, ([0, 1], [0]))
torch.tensordot(a, b, ([0], [0]))
torch.tensordot(a, f, 2)
torch.tensordot(a, a, ([0, 0], [0, 0]))
torch.cross(v, u, dim=0)
torch.cross(a, a[:1], dim=1)
torch.linalg.cross(a, a, dim=0)
torch.linalg.cross(a, v)
torch.linalg.cross(a, f)
torch.chain_matmul(a, b, b.T)
torch.linalg.multi_dot([v, a.T, a, v])
torch.linalg.multi_dot([a, b, b.T, a.T])
torch.linalg.multi_dot([a])
torch.linalg.multi_dot([a, a])
torch.linalg.multi_dot([a, x])
torch.linalg.vecdot(x, a, dim=1)
torch.linalg.vecdot(a, f)
torch.linalg.vander(v)
torch.linalg.vander(i, N=4)
torch.linalg.vander(v, N=1)
torch.vdot(c[0], c[1])
c @ d
torch.mm(a, b, out=torch.empty(0, dtype=torch.float64))
torch.mm(a, b, out=torch.empty(0))
a.requires_grad_(); torch.mm(a, b, out=torch.empty(0, dtype=torch.float64))
torch.addmv_(v[:2], a, v)
v[:2].clone().addmv_(a, v, beta=0.5)
a[:, :2].clone().addmm_(a, a.T)
x[:, :2, :2].clone().baddbmm_(x, x.transpose(1, 2), alpha=2)
a[:, :2].clone().addr_(v[:2], u[:2])
w = s.clone(); w @= s; w
""")

EINSUM = lines("""
'ij,jk->ik', a, b
'ij,jk', a, b
'ij,kj', a, a
'bij,bjk->bik', x, y
'bij,bjk->ik', x, y
'bij,bjk->kib', x, y
'i,j->ij', v, u
'i,i->i', v, u
'i,i', v, u
'ii', s
'ii->i', s
'bii->b', t
'iii->i', wave(3, 3, 3)
'ij->ji', a
'ij->', a
'ij->j', a
'...ij,...jk->...ik', x, y
'...ij,jk', x, b
'b...,b...->...', x, x
'...', a
'...,...', a, v
'i...->...', x
'...i,...j->ij', a, a
'ij,jk,kl->il', a, b, b.T
'i,j,k->kji', v, u, v
'ba,dc', a, b
'aB,Bc', a, b
' i j , j k -> i k ', a, b
'ij,ij->ij', a, a[:1]
'ij,ij', a, a[:, :1]
'ij,ij->i', a[:, :1], a
'bn,anm,bm->ba', wave(2, 3), wave(4, 3, 5), wave(2, 5)
'abc,cde,eab->d', wave(2, 3, 4), wave(4, 5, 2), wave(2, 2, 3)
'', torch.tensor(2.)
'ij,jk', i, i.T
'ij,kj', h, h
a, [0, 1], b, [1, 2], [0, 2]
a, [0, 1], b, [1, 2]
b, [1, 2], a, [0, 1]
x, [..., 1, 2], b, [2, 3], [..., 3, 1]
'ij,jk', [a, b]
a
'ij'
'ij,jk', a
'ij', a, b
'ij,jk->iz', a, b
'ij->ii', s
'i', a
'ijk', a
'ijk...', a
'i,i', v, u[:2]
'ii', a
'i.j', a
'i..j', a
'...i...', a
'i1', a
'i->i->i', v
'i-i', v
'i->...,', v
'ij,jk', a, f.T
'i', 3
5, a
a, [0, 60]
'ij,jk', o, o
""")

DERIVATIVES = lines("""
v, u: v @ u
a, v: a @ v
v, b: v @ b
a, b: a @ b
x, v: x @ v
v, y: v @ y
x, b: x @ b
a, y: a @ y
x, y: x @ y
x, y: x[:, None] @ y
c, d: c @ d
c, d: d[:, 0] @ c @ d[:, 1]
c, d: torch.vdot(c[0], d[:, 0])
v, u: torch.vdot(v, u)
v, u: torch.outer(v, u)
x, a: torch.inner(x, a)
s, a, b: torch.addmm(s[:2, :1], a, b, beta=2, alpha=3)
v, a, u: torch.addmv(v[:2], a, u, beta=2, alpha=3)
a, v, u: torch.addr(a, v[:2], u, beta=2, alpha=3)
s, x, y: torch.addbmm(s[:2, :1], x, y, beta=2, alpha=3)
s, x, y: torch.baddbmm(s[:2, :1], x, y, beta=2, alpha=3)
x, y: torch.tensordot(x, y, ([0, 2], [0, 1]))
x, y: torch.tensordot(x[:, :, :1], y, ([0, 2], [0, 1]))
a, s: torch.linalg.cross(a, s[:1])
a, b: torch.linalg.multi_dot([a[0], b, b.T])
v: torch.linalg.vander(v, N=4)
x, y, b: torch.einsum('bij,bjk,lk->bil', x, y, b)
t, s: torch.einsum('bii,...i->b...', t, s)
v, u: torch.einsum('i,j->ij', v, u)
x, a: torch.einsum('b...j,...j->b', x, a)
a, b: (w := torch.mm(a, b)).addmm_(a, b, beta=2)
""")

NODES = {
    "v @ u": "DotBackward0", "a @ v": "MvBackward0", "v @ b": "SqueezeBackward4", "a @ b": "MmBackward0",
    "x @ v": "UnsafeViewBackward0", "x @ b": "UnsafeViewBackward0", "x @ y": "UnsafeViewBackward0",
    "torch.bmm(x, y)": "BmmBackward0", "torch.addmm(b[0], a, b)": "AddmmBackward0",
    "torch.addmv(v[:2], a, v)": "AddmvBackward0", "torch.addr(a, v[:2], v)": "AddrBackward0",
    "torch.addbmm(b[0], x, y)": "AddbmmBackward0", "torch.baddbmm(b[0], x, y)": "BaddbmmBackward0",
    "torch.vdot(v, u)": "VdotBackward0", "torch.linalg.cross(v, u)": "LinalgCrossBackward0",
    "torch.nn.functional.linear(a, b.T, b[0])": "AddmmBackward0", "torch.nn.functional.linear(a, b.T)": "MmBackward0",
    "torch.nn.functional.linear(x, b.T, b[0])": "ViewBackward0",
    "torch.nn.functional.linear(x, b.T)": "UnsafeViewBackward0",
}


@pytest.mark.oracle
@pytest.mark.parametrize("expression", VALUES)
def test_value(expression):
    check_value(expression.replace("; ", "\n"))


@pytest.mark.oracle
@pytest.mark.parametrize("arguments", EINSUM)
def test_einsum(arguments):
    check_value(f"torch.einsum({arguments})")


@pytest.mark.oracle
@pytest.mark.parametrize("case", DERIVATIVES)
def test_derivatives(case):
    check_derivatives(case)


@pytest.mark.parametrize("expression", NODES)
def test_node_names(expression):
    code = SETUP + "for n in (v, u, a, b, x, y):\n    n.requires_grad_()\n" + expression
    value, error = outcome(code, flambeau)
    assert error is None
    assert value.grad_fn.name() == NODES[expression]


# ---- by hand


MESSAGES = [
    (lambda: flambeau.ones(2, 3) @ flambeau.ones(4, 5), "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"),
    (lambda: flambeau.ones(6, 2, 3) @ flambeau.ones(4, 5), "mat1 and mat2 shapes cannot be multiplied (12x3 and 4x5)"),
    (lambda: flambeau.ones(2, 3) @ flambeau.ones(3, 2).double(),
     "expected m1 and m2 to have the same dtype, but got: float != double"),
    (lambda: flambeau.ones(2, 3) @ flambeau.ones(4), "size mismatch, got input (2), mat (2x3), vec (4)"),
    (lambda: flambeau.ones(5, 2, 3) @ flambeau.ones(6, 3, 2),
     "The size of tensor a (5) must match the size of tensor b (6) at non-singleton dimension 0"),
    (lambda: flambeau.ones(5, 2, 3) @ flambeau.ones(5, 4, 2),
     "Expected size for first two dimensions of batch2 tensor to be: [5, 3] but got: [5, 4]."),
    (lambda: flambeau.ones(3).dot(flambeau.ones(4)), "expected tensor [3] and src [4]"),
    (lambda: flambeau.addmm(flambeau.ones(3, 3), flambeau.ones(2, 2), flambeau.ones(2, 2)),
     "The expanded size of the tensor (2) must match the existing size (3) at non-singleton dimension 1."),
    (lambda: flambeau.einsum("ij,jk->iz", flambeau.ones(2, 2), flambeau.ones(2, 2)),
     "output subscript z does not appear in the equation"),
    (lambda: linear(flambeau.ones(2, 3), flambeau.ones(5, 4), None),
     "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"),
    (lambda: linear(flambeau.ones(2, 3), flambeau.ones(5, 3).double(), None),
     "mat1 and mat2 must have the same dtype, but got Float and Double"),
]


@pytest.mark.parametrize("call, message", MESSAGES, ids=[m for _, m in MESSAGES])
def test_messages(call, message):
    with pytest.raises(RuntimeError) as caught:
        call()
    assert message in str(caught.value)


@pytest.mark.parametrize("other", [3, 2.5, [1.0], "x", None])
def test_operator_refuses_what_is_no_tensor(other):
    with pytest.raises(TypeError):
        flambeau.ones(1) @ other
    with pytest.raises(TypeError):
        other @ flambeau.ones(1)


SHAPES = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3,)), ((3,), (5, 3, 4)),
          ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 1, 2, 3), (6, 3, 4)), ((0, 3), (3, 4)), ((2, 0), (0, 4))]


@pytest.mark.parametrize("left, right", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "float16", "complex64"])
def test_matmul_is_numpys(left, right, dtype):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, shape).astype(dtype) for shape in (left, right))
    got = flambeau.from_numpy(a) @ flambeau.from_numpy(b)
    want = np.matmul(a.astype("complex128"), b.astype("complex128"))
    assert got.numpy().dtype == dtype
    np.testing.assert_array_equal(got.numpy(), want.astype(dtype) if dtype == "complex64" else want.real.astype(dtype))


@pytest.mark.parametrize("left, right", SHAPES, ids=str)
def test_gradient_of_the_sum(left, right):
    """The sum of a product is bilinear: each gradient, times its operand, sums to it."""
    rng = np.random.default_rng(1)
    a, b = (flambeau.from_numpy(rng.standard_normal(shape)).requires_grad_() for shape in (left, right))
    total = (a @ b).sum()
    total.backward()
    for operand in (a, b):
        assert operand.grad.shape == operand.shape
        np.testing.assert_allclose((operand.grad * operand).sum().item(), total.item(), atol=1e-12)


@pytest.mark.parametrize("shape", [(2, 3), (4, 2, 3), (0, 3)], ids=str)
@pytest.mark.parametrize("bias", [True, False])
def test_linear(shape, bias):
    rng = np.random.default_rng(2)
    x, w, b = (rng.standard_normal(s) for s in (shape, (5, 3), (5,)))
    X, W, B = (flambeau.from_numpy(n).requires_grad_() for n in (x, w, b))
    y = linear(X, W, B if bias else None)
    np.testing.assert_allclose(y.detach().numpy(), x @ w.T + (b if bias else 0))
    g = rng.standard_normal(y.shape)
    y.backward(flambeau.from_numpy(g))
    flat = g.reshape(-1, 5)
    np.testing.assert_allclose(X.grad.numpy(), g @ w)
    np.testing.assert_allclose(W.grad.numpy(), flat.T @ x.reshape(-1, 3), atol=1e-12)
    if bias:
        np.testing.assert_allclose(B.grad.numpy(), flat.sum(0))


def test_linear_with_views_and_no_grad():
    w = flambeau.ones(6, 3, requires_grad=True)
    y = linear(flambeau.ones(2, 3), w[:4], None)
    y.sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), [[2] * 3] * 4 + [[0] * 3] * 2)
    with flambeau.no_grad():
        assert linear(flambeau.ones(2, 3), w, None).grad_fn is None
    with flambeau.inference_mode():
        assert linear(flambeau.ones(2, 3), w, None).is_inference()


def test_linear_notices_a_changed_weight():
    w = flambeau.ones(4, 3, requires_grad=True)
    x = flambeau.ones(2, 3, requires_grad=True)
    y = linear(x, w, None)
    with flambeau.no_grad():
        w.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_bfloat16_products_round_once():
    a = flambeau.full((1, 300), 1.0).bfloat16()
    assert (a @ a.T).item() == 300  # adding up in bfloat16 would stop at 256
    assert flambeau.addmm(flambeau.ones(1, 1).bfloat16(), a, a.T, alpha=0.5).item() == 151


def test_out_dtype():
    a = flambeau.ones(2, 3).half()
    assert flambeau.mm(a, a.T, flambeau.float32).dtype is flambeau.float32
    with pytest.raises(RuntimeError, match="out_dtype"):
        flambeau.mm(a, a.T, flambeau.float64)


def test_cross_warns_without_dim():
    with pytest.warns(UserWarning, match="without specifying the dim"):
        got = flambeau.cross(flambeau.tensor([1.0, 0, 0]), flambeau.tensor([0.0, 1, 0]))
    assert got.tolist() == [0, 0, 1]
    with pytest.raises(RuntimeError, match="no dimension of size 3"):
        flambeau.cross(flambeau.ones(2), flambeau.ones(2))


def test_einsum_by_hand():
    a = flambeau.arange(6).reshape(2, 3)
    assert flambeau.einsum("ij->ji", a).tolist() == [[0, 3], [1, 4], [2, 5]]
    assert flambeau.einsum("ij,kj->ik", a, a).tolist() == [[5, 14], [14, 50]]
    assert flambeau.einsum("ij,j", a, flambeau.tensor([1, 0, 2])).tolist() == [4, 13]
    assert flambeau.einsum(a, [0, 1], [0]).tolist() == [3, 12]


def test_inplace_products_change_the_tensor():
    a = flambeau.ones(2, 2)
    same = a.addmm_(a, a, beta=2, alpha=3)
    assert same is a and a.tolist() == [[8, 8], [8, 8]]
    b = flambeau.zeros(2)
    view = b[:]
    view.addmv_(a, flambeau.ones(2))
    assert b.tolist() == [16, 16]
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        flambeau.ones(2, 2, requires_grad=True).addmm_(a, a)
