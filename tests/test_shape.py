"""Shapes, joins and moves: values, strides, dtypes, graph nodes and exceptions, against PyTorch and by hand."""

import numpy as np
import pytest

import flambeau
from _oracle import check_code, outcome
from flambeau.functions.padding import pad

X = "x = torch.arange(24.).reshape(2, 3, 4); "
M = "m = torch.arange(12.).reshape(3, 4); "
V = "v = torch.arange(6.); "
C = "c = torch.arange(6).to(torch.complex64).reshape(2, 3) * (1 + 2j); "

AGREEING = [
    # view and reshape
    X + "x.view(6, 4)", X + "x.view((4, -1))", X + "x.view(size=(24,))", X + "x.view(-1)", X + "x.view(1, 24, 1)",
    X + "x.transpose(0, 1).view(3, 8)", X + "x.transpose(1, 2).view(2, 2, 2, 3)", X + "x.view(5, 5)",
    X + "x.view(-1, 5)", X + "x.view(-1, -1)", X + "x.view(-2, 12)", X + "x.view(2.0, 12)", X + "x.view()",
    "torch.zeros(0, 3).view(-1, 3)", "torch.zeros(0, 3).view(0, -1)", "torch.zeros(()).view(1, 1)",
    M + "m.t()[:1].view(3)", M + "m.t()[1:2].view(1, 3, 1)", M + "m[:, :1].view(3)", M + "m.t().view(4, 1, 3)",
    X + "x.view(torch.int32)", X + "x.view(torch.float64)", X + "x.view(torch.uint8)",
    M + "m.t().view(torch.float16)",
    "torch.zeros(3).view(torch.float64)", "torch.tensor(1.).view(torch.int32)", "torch.tensor(1.).view(torch.int8)",
    "torch.zeros(2, 3).view(dtype=torch.int32)",
    X + "x.reshape(6, 4)", X + "x.permute(2, 1, 0).reshape(-1)", X + "x.reshape(shape=(4, 6))", X + "x.reshape(7)",
    X + "torch.reshape(x, (8, 3))", X + "torch.reshape(x, (-1,))", X + "x.reshape_as(torch.zeros(4, 6))",
    X + "x.flatten()", X + "x.flatten(1)", X + "x.flatten(0, 1)", X + "x.flatten(2, 1)", X + "x.flatten(3)",
    "torch.tensor(1.).flatten()", X + "x.permute(2, 0, 1).flatten(1)", X + "x.ravel()", X + "x[..., 1].ravel()",
    X + "x.unflatten(2, (2, 2))", X + "x.unflatten(-1, (-1, 2))", X + "x.unflatten(1, (2, 2))",
    X + "x.unflatten(1, ())",
    # dimensions
    "torch.zeros(1, 2, 1).squeeze()", "torch.zeros(1, 2, 1).squeeze(0)", "torch.zeros(1, 2, 1).squeeze(1)",
    "torch.zeros(1, 2, 1).squeeze((0, 2))", "torch.zeros(1, 2, 1).squeeze(0, 2)",
    "torch.zeros(1, 2, 1).squeeze(dim=-1)",
    "torch.zeros(1, 2).squeeze(2)", "torch.zeros(1, 2).squeeze((0, 0))", "torch.zeros(()).squeeze(0)",
    X + "x.unsqueeze(0)", X + "x.unsqueeze(-1)", X + "x.transpose(0, 1).unsqueeze(1)", X + "x.unsqueeze(4)",
    X + "x.transpose(0, 2)", X + "x.transpose(-1, 0)", X + "x.transpose(0, 3)", "torch.zeros(()).transpose(0, -1)",
    X + "x.swapaxes(0, 1)", X + "x.swapdims(0, 1)", M + "m.t()", V + "v.t()", X + "x.t()", M + "m.T", X + "x.mT",
    V + "v.mT", M + "m.H", V + "v.H", X + "x.H", X + "x.mH", X + "x.adjoint()", V + "v.adjoint()", C + "c.H",
    C + "c.mH",
    X + "x.permute(2, 0, 1)", X + "x.permute((0, -1, 1))", X + "x.permute(dims=(2, 1, 0))", X + "x.permute(0, 1)",
    X + "x.permute(0, 0, 1)", X + "x.permute(0, 1, 3)", X + "torch.permute(x, [1, 0, 2])",
    X + "x.movedim(0, 2)", X + "x.movedim((0, 1), (1, 2))", X + "x.moveaxis(2, 0)", X + "x.movedim((0, 0), (1, 2))",
    X + "x.movedim((0, 1), (1,))", X + "x.movedim(0, 5)",
    # broadcasting
    V + "v.expand(2, 6)", V + "v.expand((3, -1))", V + "v.expand(1, 6)", V + "v.expand(size=(2, 6))",
    V + "v.expand(5)",
    V + "v.expand(-1, 6)", M + "m.expand(4)", M + "m[:, :1].expand(3, 5)", M + "m[:, :1].expand(-1, 5)",
    "torch.tensor(2.).expand(2, 2)", M + "m[:1].expand_as(m)",
    V + "v.broadcast_to(2, 6)", V + "torch.broadcast_to(v, (2, 6))", "torch.broadcast_shapes((2, 1), (3,), 1)",
    "torch.broadcast_shapes((2,), (3,))", V + M + "torch.broadcast_tensors(m, v[:4])",
    V + M + "torch.broadcast_tensors(m, v)",
    # parts
    X + "x.select(1, 2)", X + "x.select(-1, -1)", X + "x.select(1, 3)", "torch.tensor(1.).select(0, 0)",
    X + "x.narrow(1, 1, 2)", X + "x.narrow(0, -1, 1)", X + "x.narrow(0, torch.tensor(1), 1)", X + "x.narrow(1, 2, 2)",
    X + "x.narrow(1, 4, 0)", X + "x.narrow(1, 0, -1)", "torch.tensor(1.).narrow(0, 0, 1)",
    X + "x.unbind()", X + "x.unbind(-1)", "torch.tensor(1.).unbind()", "torch.zeros(0, 2).unbind()",
    X + "x.split(2, 1)", X + "x.split([1, 3], 2)", X + "x.split(5)", X + "x.split(0)", X + "x.split(-1)",
    X + "x.split([1, 2], 2)", X + "x.split([5, -1], 2)", X + "x.split(1.5)", "torch.zeros(0, 2).split(0)",
    X + "torch.split(x, 3, dim=-1)", X + "x.split_with_sizes((1, 1))", X + "x.chunk(2, -1)", X + "x.chunk(3, 2)",
    X + "x.chunk(0)", "torch.zeros(0, 2).chunk(3)", "torch.tensor(1.).chunk(1)",
    X + "x.tensor_split(2)", X + "x.tensor_split(3, dim=2)", X + "x.tensor_split((1, 2), 2)",
    X + "x.tensor_split([3, 1, -1], 2)",
    X + "x.tensor_split(torch.tensor([1]), 2)", X + "x.tensor_split(0)", X + "x.tensor_split(torch.tensor([1.]))",
    M + "m.hsplit(2)", M + "m.hsplit([1, 3])", M + "m.hsplit(1, 3)", M + "m.hsplit(3)", V + "v.hsplit(3)",
    M + "m.vsplit(3)",
    V + "v.vsplit(1)", X + "x.dsplit(2)", M + "m.dsplit(1)", M + "torch.hsplit(m, sections=2)",
    M + "m.diagonal()", M + "m.diagonal(1)", M + "m.diagonal(-2)", X + "x.diagonal(0, 1, 2)",
    X + "x.diagonal(1, -1, 0)", M + "m.diagonal(0, 0, 0)", V + "v.diagonal()", M + "m.t()[1:].diagonal(-1)",
    V + "v.unfold(0, 3, 2)", X + "x.unfold(-1, 2, 1)", X + "x.unfold(1, 4, 1)", X + "x.unfold(1, 1, 0)",
    "torch.tensor(1.).unfold(0, 1, 1)", V + "v.as_strided((2, 2), (1, 2))", V + "v.as_strided((3, 3), (1, 1), 1)",
    V + "v[2:].as_strided((2,), (1,))", V + "v[2:].as_strided((2,), (1,), 0)", V + "v.as_strided((2,), (9,))",
    V + "v.as_strided((2, 2), (1,))", V + "v.as_strided((2,), (-1,))", V + "v.as_strided((2,), (1,), -1)",
    V + "v.as_strided((-1,), (1,))", V + "v.as_strided((0,), (1,))",
    C + "torch.view_as_real(c)", C + "torch.view_as_real(c.t())", C + "c.real", C + "c.imag", V + "v.real",
    V + "v.imag",
    V + "torch.view_as_complex(v.view(3, 2))", V + "torch.view_as_complex(v.view(2, 3))", V + "torch.view_as_real(v)",
    *[f"torch.view_as_complex({code})" for code in (
        "torch.ones(2, 1).t()", "torch.ones(1, 2).as_strided((1, 2), (1, 1))", "torch.ones(1, 2).as_strided((1, 2), (3, 1))",
        "torch.ones(4).as_strided((1, 1, 2), (1, 3, 1))", "torch.ones(4).as_strided((2, 2), (1, 1))",
        "torch.ones(4).as_strided((1, 2), (2, 1), 1)", "torch.ones(2, 1, 2).expand(2, 3, 2)", "torch.ones(3, 0, 2)",
    )],
    "torch.view_as_complex(torch.ones(0, 2)).storage_offset()",
    "torch.view_as_complex(torch.zeros(2, 2).t())", "torch.view_as_complex(torch.zeros(2, 3)[:, :2])",
    "torch.view_as_complex(torch.zeros(2, dtype=torch.int32))", "torch.view_as_complex(torch.tensor(1.))",
    # joins
    X + "torch.cat([x, x])", X + "torch.cat((x, x), -1)", X + "torch.cat([x.mT, x.mT], 1)",
    X + "torch.cat([x, x], 3)",
    X + "torch.cat([x, x.int()])", X + "torch.cat([x, torch.zeros(0)], 1)", "torch.cat([])", "torch.cat([1, 2])",
    X + V + "torch.cat([x, v])", X + "torch.cat([x, x[:, :2]])", X + "torch.cat(x)", "torch.cat([torch.tensor(1.)])",
    X + "torch.cat([torch.zeros(0, dtype=torch.float64), x])", "torch.cat([torch.zeros(0), torch.zeros(0)])",
    X + "torch.cat([x.half(), x.bfloat16()])", X + "torch.cat([x, x], dim=torch.tensor(1))",
    X + "torch.concat([x, x], 1)", X + "torch.concatenate((x, x), dim=2)",
    X + "torch.stack([x, x])", X + "torch.stack([x.mT, x.mT], -1)", X + "torch.stack([x, x.int()], 1)",
    "torch.stack([])",
    X + "torch.stack([x, x[0]])", X + "torch.stack([x], 4)", "torch.stack([torch.tensor(1.), torch.tensor(2)])",
    V + "torch.hstack([v, v])", M + "torch.hstack([m, m])", M + "torch.hstack(m)", V + "torch.vstack([v, v])",
    M + "torch.row_stack((m, m))", V + "torch.dstack([v, v])", M + "torch.dstack([m, m])", "torch.hstack([])",
    V + M + "torch.column_stack([v[:3], m, torch.zeros(3)])",
    "torch.column_stack([torch.tensor(1.), torch.tensor(2.)])",
    M + V + "torch.block_diag(m, v, torch.tensor(3))", X + "torch.block_diag(x)", "torch.block_diag()",
    V + "torch.meshgrid(v, v[:2], indexing='ij')", V + "torch.meshgrid([v, v[:2], v[:3]], indexing='xy')",
    V + "torch.meshgrid(v, v[0], indexing='ij')", M + "torch.meshgrid(m, indexing='ij')",
    V + "torch.meshgrid(v, indexing='zz')",
    V + "torch.meshgrid(v, v.int(), indexing='ij')", V + "torch.cartesian_prod(v, v[:2])",
    V + "torch.cartesian_prod(v)",
    V + "torch.combinations(v)", V + "torch.combinations(v, 3)", V + "torch.combinations(v, 2, True)",
    V + "torch.combinations(v, 0)", M + "torch.combinations(m)", V + "torch.combinations(v, -1)",
    V + "torch.atleast_1d(v[0])", V + "torch.atleast_2d(v, v[0])", M + "torch.atleast_3d(m)",
    V + "torch.atleast_3d([v, v[0]])",
    M + "torch.kron(m, m[:2])", M + V + "torch.kron(m, v)", V + "v.kron(v)", V + "torch.kron(v, v.int())",
    V + "torch.vander(v)", V + "torch.vander(v, 3)", V + "torch.vander(v.int(), 4, increasing=True)",
    M + "torch.vander(m)",
    V + "torch.vander(v, 0)", V + "torch.vander(v, -1)",
    # moves
    V + "v.repeat(2)", M + "m.repeat(2, 1, 3)", M + "m.repeat((1, 0))", M + "m.repeat(2)", M + "m.repeat(1, -1)",
    "torch.tensor(1.).repeat(2, 2)", M + "m.repeat(repeats=(1, 2))", M + "m.tile(2)", M + "torch.tile(m, (2, 1, 1))",
    V + "v.repeat_interleave(2)", M + "m.repeat_interleave(2, 1)",
    M + "m.repeat_interleave(torch.tensor([1, 0, 2]), 0)",
    M + "m.repeat_interleave(torch.tensor([1, 2]), 0)", M + "m.repeat_interleave(-1)",
    "torch.repeat_interleave(torch.tensor([2, 0, 1]))",
    M + "m.repeat_interleave(2, 0, output_size=6)", M + "m.repeat_interleave(torch.tensor(2.))",
    V + "v.roll(2)", M + "m.roll(1)", M + "m.roll((1, -1), (0, 1))", M + "m.roll(5, 1)", M + "m.roll((1, 2))",
    M + "m.roll(1, 2)",
    "torch.tensor(1.).roll(1, 0)", "torch.tensor(1.).roll(1)", M + "m.roll(0, 0)", "torch.zeros(0, 2).roll(1, 0)",
    "torch.zeros(0, 2).roll(1, 5)", "torch.zeros(0, 2).roll((1, 2), (0, 7))", "torch.zeros(0, 2).roll((1, 2), (0,))",
    X + "x.flip(0)", X + "x.flip(0, -1)", X + "x.flip(dims=[1])", X + "torch.flip(x, (2,))", X + "x.flip(0, 0)",
    X + "x.flip(3)",
    M + "m.fliplr()", M + "m.flipud()", V + "v.fliplr()", "torch.tensor(1.).flipud()", "torch.tensor(1.).flip(0)",
    M + "m.rot90()", X + "x.rot90(3, (1, 2))", X + "x.rot90(-2, [0, -1])", X + "x.rot90(4)",
    M + "m.rot90(1, (0, 0))", V + "v.rot90()",
    M + "m.rot90(1, (0, 5))", M + "m.rot90(1, (0,))",
    M + "m.tril()", X + "x.triu(1)", M + "m.tril(-1)", M + "m.triu(diagonal=9)", V + "v.tril()", M + "(m > 3).tril()",
    M + "m.bfloat16().triu()", "torch.zeros(2, 0).tril()", "torch.full((2, 2), float('nan')).tril()",
    V + "v.diag()", V + "v.diag(-2)", M + "m.diag()", M + "m.diag(1)", X + "x.diag()", M + "m.diag_embed()",
    M + "m.diag_embed(1, 0, 2)", V + "v.diag_embed(-1)", M + "m.diag_embed(0, 1, 1)", M + "m.diagflat(1)",
    M + "m.trace()", M + "m.int().trace()", V + "v.trace()",
    M + "m.select_scatter(torch.ones(4), 0, 1)", M + "m.select_scatter(torch.ones(3), 0, 1)",
    M + "m.slice_scatter(torch.ones(2, 4), 0, 1)", M + "m.slice_scatter(torch.ones(3, 2), 1, 0, None, 2)",
    M + "m.slice_scatter(torch.ones(1, 4), 0, 1)", M + "m.slice_scatter(torch.ones(3, 4), step=0)",
    M + "m.diagonal_scatter(torch.ones(3), 1)", M + "m.diagonal_scatter(torch.ones(2), 1)",
    M + "m.as_strided_scatter(torch.ones(2, 2), (2, 2), (1, 5), 1)",
    M + "m.t().as_strided_scatter(torch.ones(2), (2,), (3,)).contiguous()",
    M + "m.sum_to_size(1, 4)", M + "m.sum_to_size(3, 1)", M + "m.sum_to_size(4)", M + "m.sum_to_size((3, 4)) is m",
    M + "m.sum_to_size(2, 4)",
    "torch.unravel_index(torch.tensor([3, 7]), (2, 4))", "torch.unravel_index(torch.tensor(5), 6)",
    "torch.unravel_index(torch.tensor([1.]), (2,))", "torch.unravel_index(torch.tensor([1]), (-2,))",
    # in place
    M + "m.t_(); m", M + "m.transpose_(0, 1); (m, m._version)", M + "m.unsqueeze_(1); m",
    "y = torch.zeros(1, 2); y.squeeze_(); y",
    "y = torch.zeros(1, 2, 1); y.squeeze_((0, 2)); y", M + "m.swapaxes_(0, 1); m", M + "m.swapdims_(0, 1); m",
    M + "m.as_strided_((2, 2), (1, 4), 1); m", M + "m.tril_(); m", M + "m.t().triu_(1); m",
    M + "w = m[1:]; w.t_(); w.add_(1); m",
    M + "w = m.t(); w.unsqueeze_(0); w.mul_(2); m", M + "m.requires_grad_(); m.t_()",
    M + "torch.as_strided_(m, (2,), (1,))",
    M + "m.expand(2, 3, 4).add_(1)", M + "m.expand(2, 3, 4)[0].add_(1); m", M + "m.real.add_(1); m",
    C + "c.imag.zero_(); c",
    C + "c.real = torch.ones(2, 3); c",
    # out=
    X + "o = torch.empty(4, 3, 4); r = torch.cat([x, x], out=o); (o, r is o)",
    V + "torch.stack([v, v], out=torch.empty(0))",
    V + "torch.hstack([v, v], out=torch.empty(12))", M + "torch.tril(m, out=torch.empty(3, 4))",
    V + "torch.diag(v, out=torch.empty(6, 6))",
    V + "torch.cat([v, v], out=torch.empty(12, dtype=torch.int32))",
]


@pytest.mark.oracle
@pytest.mark.parametrize("code", AGREEING, ids=lambda code: code.partition("; ")[2] or code)
def test_agrees_with_torch(code):
    pytest.importorskip("torch")
    check_code(code)


ABOUT_NODES = [
    "x.view(6, 4)", "x.reshape(6, 4)", "x.permute(2, 0, 1).reshape(-1)", "x.flatten()", "x.unflatten(2, (2, 2))",
    "x.unsqueeze(0)", "x.unsqueeze(0).squeeze()", "x.unsqueeze(0).squeeze(0)", "x.unsqueeze(0).squeeze((0, 1))",
    "x.transpose(0, 1)", "x[0].t()", "x[0].T", "x.mT", "x.permute(2, 0, 1)", "x.movedim(0, 1)",
    "x.expand(2, 2, 3, 4)", "x.narrow(0, 0, 1)", "x.select(0, 0)", "x.unbind()[0]", "x.split(1)[0]",
    "x.split([1, 1])[0]", "x.chunk(2)[0]", "x.tensor_split(2)[0]", "x.diagonal()", "x.unfold(0, 1, 1)",
    "x.as_strided((2,), (1,))", "torch.cat([x, x])", "torch.stack([x, x])", "torch.block_diag(x[0], x[1])",
    "x.repeat(1, 2, 1)", "x.tile(2)", "x.roll(1)", "x.flip(0)", "x.rot90()", "x.tril()", "x.triu()",
    "x[0].trace()", "x[0].diag_embed()", "x.select_scatter(x[0], 0, 0)", "x.slice_scatter(x[:1], 0, 0, 1)",
    "x[0].diagonal_scatter(x[0, :, 0])", "x.as_strided_scatter(x[0, 0, :2], (2,), (1,))", "torch.atleast_3d(x[0])",
    "torch.meshgrid(x[0, 0], x[0, 1], indexing='ij')[0]", "torch.view_as_complex(x.view(12, 2))",
    "torch.kron(x[0], x[0])", "x.repeat_interleave(2)", "x.repeat_interleave(2, 1)",
    "x.repeat_interleave(torch.tensor([2]), 0)", "x.repeat_interleave(torch.tensor([2, 1]), 0)",
    "x.transpose_(0, 1)", "x.swapaxes_(0, 1)", "(x[0] * 1).t_()", "x.unsqueeze_(0)", "x.squeeze_()", "x.squeeze_(0)",
    "x.squeeze_(0, 1)", "x.as_strided_((2,), (1,))",
]


@pytest.mark.oracle
@pytest.mark.parametrize("code", ABOUT_NODES)
def test_graph_nodes_have_torchs_names(code):
    torch = pytest.importorskip("torch")
    make = "x = torch.arange(24.).reshape(2, 3, 4).requires_grad_() * 1; "
    (want, _), (got, error) = outcome(make + code, torch), outcome(make + code, flambeau)
    assert error is None
    assert got.grad_fn.name() == want.grad_fn.name()


PADS = [
    ((2, 3, 4), (1, 2), "constant"), ((2, 3, 4), (1, 2, 0, 1, 2, 0), "constant"), ((2, 3, 4),
    (-1, 2, 1, -2), "constant"),
    ((3,), (-1, -2), "constant"), ((3,), (-2, -2), "constant"), ((2, 3), (1, 1, 1), "constant"), ((2,),
    (1, 1, 1, 1), "constant"),
    *[(shape, amounts, mode) for mode in ("reflect", "replicate", "circular") for shape, amounts in [
        ((2, 4), (1, 3)), ((2, 3, 4), (3, 2)), ((2, 3, 4), (1, 2, 2, 0)), ((1, 2, 3, 4), (0, 1, 2, 1)),
        ((1, 2, 3, 4), (-1, 1, 1, -1)),
        ((1, 2, 3, 3, 4), (1, 1, 2, 1, 0, 2)), ((2, 3, 4), (5, 0)), ((4,), (1, 1)), ((2, 3, 4), (1, 1, 1, 1, 1, 1)),
    ]],
]


@pytest.mark.oracle
@pytest.mark.parametrize(("shape", "amounts", "mode"), PADS, ids=str)
def test_padding_agrees_with_torch(shape, amounts, mode):
    torch = pytest.importorskip("torch")
    values = np.random.default_rng(0).normal(size=shape)
    a, b = torch.from_numpy(values).requires_grad_(), flambeau.from_numpy(values.copy()).requires_grad_()
    try:
        want = torch.nn.functional.pad(a, amounts, mode)
    except Exception as error:
        with pytest.raises(type(error)):
            pad(b, amounts, mode)
        return
    got = pad(b, amounts, mode)
    np.testing.assert_array_equal(got.detach().numpy(), want.detach().numpy())
    if mode != "circular":  # which torch composes of slices
        assert got.grad_fn.name() == want.grad_fn.name()
    weights = np.random.default_rng(1).normal(size=tuple(want.shape))
    (want**2 * torch.from_numpy(weights)).sum().backward()
    (got**2 * flambeau.from_numpy(weights)).sum().backward()
    np.testing.assert_allclose(b.grad.numpy(), a.grad.numpy())


# ---- without torch


def numbers(*shape):
    return flambeau.from_numpy(np.arange(np.prod(shape), dtype=np.float32).reshape(shape))


NUMPY_CASES = [
    (lambda x: x.reshape(4, 6), lambda a: a.reshape(4, 6)),
    (lambda x: x.permute(2, 0, 1), lambda a: a.transpose(2, 0, 1)),
    (lambda x: flambeau.cat([x, x], 1), lambda a: np.concatenate([a, a], 1)),
    (lambda x: flambeau.stack([x, x], -1), lambda a: np.stack([a, a], -1)),
    (lambda x: x.roll((1, -2), (0, 2)), lambda a: np.roll(a, (1, -2), (0, 2))),
    (lambda x: x.roll(5), lambda a: np.roll(a, 5)),
    (lambda x: x.flip(0, 2), lambda a: np.flip(a, (0, 2))),
    (lambda x: x.rot90(1, (1, 2)), lambda a: np.rot90(a, 1, (1, 2))),
    (lambda x: x.tril(-1), lambda a: np.tril(a, -1)),
    (lambda x: x.triu(2), lambda a: np.triu(a, 2)),
    (lambda x: x.tile(2, 1, 2), lambda a: np.tile(a, (2, 1, 2))),
    (lambda x: x.repeat_interleave(2, 1), lambda a: np.repeat(a, 2, 1)),
    (lambda x: x.diagonal(1, 1, 2), lambda a: np.diagonal(a, 1, 1, 2)),
    (lambda x: x.unfold(2, 2, 1), lambda a: np.lib.stride_tricks.sliding_window_view(a, 2, 2)),
    (lambda x: flambeau.kron(x[0], x[1]), lambda a: np.kron(a[0], a[1])),
    (lambda x: flambeau.vander(x[0, 0]), lambda a: np.vander(a[0, 0])),
    (lambda x: pad(x, (1, 1, 2, 0)), lambda a: np.pad(a, ((0, 0), (2, 0), (1, 1)))),
    (lambda x: pad(x, (1, 2), "reflect"), lambda a: np.pad(a, ((0, 0), (0, 0), (1, 2)), "reflect")),
    (lambda x: pad(x, (1, 2), "replicate"), lambda a: np.pad(a, ((0, 0), (0, 0), (1, 2)), "edge")),
    (lambda x: pad(x, (1, 2), "circular"), lambda a: np.pad(a, ((0, 0), (0, 0), (1, 2)), "wrap")),
]


@pytest.mark.parametrize("ours, numpys", NUMPY_CASES)
def test_agrees_with_numpy(ours, numpys):
    x = numbers(2, 3, 4)
    np.testing.assert_array_equal(ours(x).numpy(), numpys(x.numpy()))


MESSAGES = [
    (lambda: numbers(3, 4).t().view(12), RuntimeError, "Use .reshape"),
    (lambda: numbers(3, 4).view(5, 5), RuntimeError, r"shape '\[5, 5\]' is invalid for input of size 12"),
    (lambda: numbers(3, 4).expand(2, 4), RuntimeError, r"Target sizes: \[2, 4\].  Tensor sizes: \[3, 4\]"),
    (lambda: flambeau.cat([numbers(3, 4), numbers(3, 3)]),
     RuntimeError, "Expected size 4 but got size 3 for tensor number 1"),
    (lambda: flambeau.cat([]), ValueError, "non-empty list of Tensors"),
    (lambda: flambeau.cat(numbers(2)), TypeError, "must be tuple of Tensors, not Tensor"),
    (lambda: flambeau.stack([numbers(2), numbers(3)]), RuntimeError, r"got \[2\] at entry 0 and \[3\] at entry 1"),
    (lambda: numbers(3).select(0, 3), IndexError, "index 3 out of range"),
    (lambda: numbers(3).as_strided((4,), (1,)), RuntimeError, "out of bounds for storage of size 12"),
    (lambda: pad(numbers(2, 3), (3, 0), "reflect"), RuntimeError, "Padding size should be less than"),
    (lambda: pad(numbers(2, 3), (1, 1), "mirror"), NotImplementedError, "Unrecognised padding mode mirror"),
]


@pytest.mark.parametrize("call, kind, message", MESSAGES)
def test_messages(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_reversing_more_dimensions_than_two_warns():
    with pytest.warns(UserWarning, match=r"x\.T"):
        assert numbers(2, 3, 4).T.shape == (4, 3, 2)


def test_meshgrid_without_indexing_warns():
    with pytest.warns(UserWarning, match="indexing"):
        flambeau.meshgrid(numbers(2), numbers(3))


def test_as_strided_sums_the_gradients_of_overlapping_elements():
    x = numbers(4).requires_grad_()
    x.as_strided((3, 2), (1, 1)).sum().backward()
    assert x.grad.tolist() == [1, 2, 2, 1]


def test_as_strided_scatter_gives_no_gradient_to_what_it_replaces():
    x, src = numbers(4).requires_grad_(), numbers(2).requires_grad_()
    (x.as_strided_scatter(src, (2,), (2,), 1) * numbers(4)).sum().backward()
    assert x.grad.tolist() == [0, 0, 2, 0]
    assert src.grad.tolist() == [1, 3]


def test_a_node_of_cat_does_not_keep_the_memory_of_its_inputs():
    x = numbers(2, 3).requires_grad_()
    node = flambeau.cat([x * 1, x * 1]).grad_fn
    assert node.inputs == ()
    assert node.shapes == ((2, 3), (2, 3))


DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.oracle
@pytest.mark.parametrize("first", DTYPES)
def test_cat_promotes_as_torch_does(first):
    torch = pytest.importorskip("torch")
    for second in DTYPES:
        got, want = (lib.cat([lib.ones(1, dtype=getattr(lib, d)) for d in (first, second)]) for lib in (flambeau, torch))
        assert str(got.dtype) == str(want.dtype), (first, second)
