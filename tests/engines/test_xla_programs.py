"""Whole programs, run eagerly on NumPy and compiled by jax: the tape runs inside the trace."""

import copy

import numpy as np
import pytest

import flambeau
from flambeau._tensor import wrap
from flambeau.autograd import Function, grad
from flambeau.engines._views import value_of

pytestmark = pytest.mark.jax


def inputs(*shapes):
    rng = np.random.default_rng(3)
    return [rng.normal(size=shape) for shape in shapes]


def leaf(array):
    t = wrap(array)
    t._rg = True
    return t


def assert_both_ways(jax, program, *arrays):
    """`program` takes leaves and returns tensors; their elements and the gradients are the same compiled."""

    def run(*arrays):
        leaves = list(map(leaf, arrays))
        out = program(*leaves)
        return [value_of(t._a) for t in (out if isinstance(out, tuple) else (out,))], [
            None if t._grad is None else value_of(t._grad._a) for t in leaves
        ]

    want, got = run(*map(np.copy, arrays)), jax.jit(run)(*arrays)
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for g, w in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(np.asarray(g), w, rtol=1e-10, atol=1e-12)


def test_a_step_of_a_perceptron(jax):
    """Forward, backward and the update of the weights, in one program."""

    def step(x, w1, b1, w2):
        hidden = (x.detach() @ w1 + b1).relu()
        loss = ((hidden @ w2).log_softmax(1)[:, 0] * -1).mean()
        loss.backward()
        with flambeau.no_grad():
            for w in (w1, b1, w2):
                w -= 0.1 * w.grad
        return loss, w1, b1, w2

    assert_both_ways(jax, step, *inputs((5, 4), (4, 6), (6,), (6, 3)))


def test_writes_through_views(jax):
    def program(x, y):
        z = x * 2
        z[0].add_(y)
        z.t()[1].mul_(3)
        z[:, ::2] = y[0]
        z.view(-1)[4:].sub_(1)
        z.diagonal().zero_()
        row = z[1]
        z.mul_(2)
        (row.sum() * z).sum().backward()
        return z, row

    assert_both_ways(jax, program, *inputs((3, 4), (4,)))


def test_writes_without_history(jax):
    def program(x):
        z = x.detach().clone()
        z[1] = 7
        z[:, 0] += z[:, 1]
        view = z[2]
        z.neg_()
        return z, view

    assert_both_ways(jax, program, *inputs((3, 4)))


def through_data(x):
    x.data[0].fill_(7)
    x.data.mul_(2)


def through_detached(x):
    x[1].detach().fill_(1)


def through_a_parameter(x):
    p = flambeau.nn.Parameter(x[:2])
    p.data.neg_()
    p.detach()[0].zero_()


def through_pieces(x):
    a, b = x.split(2, 1)
    a.add_(b)
    b.t().copy_(a.t() * 2)


def through_turned_memory(x):
    y = x.view(-1)
    y[3] = 9
    z = x.detach()
    z.t_()
    z[0] = 5
    z.unsqueeze_(0)[0, 1].add_(1)


def by_index_and_mask(x):
    x[1].index_fill_(0, flambeau.tensor([0, 2]), 3)
    x.t()[0].masked_fill_(x.t()[0] > 0, 8)
    x[:, 1:].scatter_add_(1, flambeau.tensor([[0, 0]]), x[:1, :2].clone())
    x.diagonal().clamp_(-0.1, 0.1)


def through_complex_parts(x):
    z = flambeau.view_as_complex(x.view(3, 2, 2))
    z.real.fill_(1)
    z.imag[0].mul_(3)
    flambeau.view_as_real(z)[2, 1, 0] = 4


def by_out(x):
    flambeau.add(x[0], 1, out=x[1])


def through_strides(x):
    x.as_strided((2, 2), (1, 4), 5).add_(10)
    x.unfold(0, 2, 1)[0].zero_()
    x[:, None, 1:3].squeeze(1).sub_(1)


@pytest.mark.parametrize("write", [
    through_data, through_detached, through_a_parameter, through_pieces, through_turned_memory, by_index_and_mask,
    through_complex_parts, by_out, through_strides,
])
def test_what_shares_memory_sees_writes(jax, write):
    """jax's arrays cannot be written to: the tensors that share elements are made anew together."""

    def program(x):
        x = x.detach().clone()
        row, turned = x[1], x.t()
        with flambeau.no_grad():
            write(x)
        return x, row, turned

    assert_both_ways(jax, program, *inputs((3, 4)))


def test_memory_looks_like_numpys(jax):
    """Strides, and with them what is a view and what a copy, are those that NumPy's memory would have."""

    def looks(x):
        turned, part = x.t(), x[1:, ::2]
        flat = turned.reshape(-1)
        flat.add_(1)
        whole = turned.contiguous()
        whole.zero_()
        return [turned.stride(), part.stride(), part.storage_offset(), flat.is_contiguous(), turned.is_contiguous(),
                x.tolist(), flat.tolist(), part.as_strided((2,), (2,), 1).tolist()]

    (a,) = inputs((3, 4))
    assert looks(wrap(jax.numpy.asarray(a))) == looks(wrap(a.copy()))
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        wrap(jax.numpy.asarray(a)).t().view(-1)


def test_writes_to_repeated_elements_are_refused(jax):
    with pytest.raises(RuntimeError, match="refers to a single memory location"):
        wrap(jax.numpy.ones((3, 1))).expand(3, 4).add_(1)


def test_tensors_that_share_elements_can_go(jax):
    x = wrap(jax.numpy.ones(3))
    for _ in range(10):
        x[0].add_(1)
    assert x.tolist() == [11, 1, 1]


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x * x


def test_custom_function(jax):
    def program(x):
        y = Cube.apply(x).sum()
        (first,) = grad(y, [x], create_graph=True)
        (first * first).sum().backward()
        return y, first

    assert_both_ways(jax, program, *inputs((3,)))


def test_hooks_and_retained_gradients(jax):
    def program(x):
        y = x.tanh()
        y.retain_grad()
        y.register_hook(lambda g: g * 2)
        x.register_hook(lambda g: g + 1)
        (y * y).sum().backward()
        return y.grad

    assert_both_ways(jax, program, *inputs((3,)))


def test_gradients_accumulate(jax):
    def program(x):
        for _ in range(3):
            (x * x).sum().backward()
        return x.grad

    assert_both_ways(jax, program, *inputs((3,)))


def test_a_traced_gradient_of_an_unused_output(jax):
    """Zeros stand for the gradient of an output that nothing came back to."""

    def program(x):
        values, _ = x.sort()
        a, b = values.split(2)
        a.sum().backward()
        return b

    assert_both_ways(jax, program, *inputs((4,)))


@pytest.mark.parametrize("function", [
    lambda x: flambeau.linalg.inv(x), lambda x: flambeau.linalg.solve(x, x[0]), lambda x: flambeau.linalg.cholesky(x),
    lambda x: flambeau.linalg.lu_solve(*flambeau.linalg.lu_factor(x), x), lambda x: flambeau.linalg.matrix_rank(x),
    lambda x: flambeau.linalg.lstsq(x[:, :2], x)[1], lambda x: flambeau.ones(3, 3) * x, lambda x: flambeau.arange(3) - x,
    lambda x: flambeau.zeros_like(x) + x, lambda x: x.new_full((3,), 2) * x, lambda x: flambeau.quantile(x, 0.3),
    lambda x: flambeau.searchsorted(flambeau.tensor([0.0, 1.0], dtype=flambeau.float64), x),
    lambda x: flambeau.nn.functional.cross_entropy(x, flambeau.tensor([0, 2, 1])),
    lambda x: flambeau.nn.functional.embedding(flambeau.tensor([[0, 2], [2, 1]]), x),
    lambda x: copy.deepcopy(x.detach()) + x, lambda x: flambeau.einsum("ij,kj->ik", x, x),
])
def test_public_functions(jax, function):
    """What checks its arguments by their elements, or brings constants along, can be compiled too."""

    def program(x):
        y = function(x)
        if y.requires_grad:
            (y * y).sum().backward()
        return y

    assert_both_ways(jax, program, 3 * np.eye(3) + 0.1 * np.arange(9).reshape(3, 3) @ np.ones((3, 3)))


@pytest.mark.parametrize("asks, named", [
    (lambda x: x.sum().item(), r"item\(\)"),
    (lambda x: 1 if x.sum() > 0 else 2, "if"),
    (lambda x: float(x[0]), r"float\(\)"),
    (lambda x: int(x[0]), r"int\(\)"),
    (lambda x: x.tolist(), r"tolist\(\)"),
    (lambda x: x.detach().numpy(), r"numpy\(\)"),
    (repr, "printing"),
    (lambda x: f"{x.sum():.2f}", "printing"),
    (lambda x: x.nonzero(), "nonzero"),
    (lambda x: x[x > 0], "index"),
    (lambda x: x.masked_select(x > 0), "masked_select"),
])
def test_reading_elements_in_a_trace_is_refused(jax, asks, named):
    def program(a):
        asks(wrap(a))
        return a

    with pytest.raises(RuntimeError, match=f"{named}.*not known while a program is traced"):
        jax.jit(program)(np.ones(3))


def test_a_concrete_tensor_has_elements(jax):
    x = wrap(jax.numpy.asarray([1.0, -2.0]))
    assert x[0].item() == 1 and bool(x[0] > 0) and x.tolist() == [1, -2] and x[x > 0].tolist() == [1]
    assert "1., -2." in repr(x) and f"{x[1]:.1f}" == "-2.0"
    np.testing.assert_array_equal(x.numpy(), [1, -2])


def test_a_recurrent_layer_trains_in_the_memory_of_its_gates(jax):
    """What a layer saves takes the memory of its input's product, and the gradient that of what was saved."""
    lstm = flambeau.nn.LSTM(8, 64)
    names, states = zip(*[(name, value_of(p._a)) for name, p in lstm.named_parameters()], strict=True)

    def train(x, start, states):
        parameters = dict(zip(names, map(leaf, states), strict=True))
        out, _ = flambeau.func.functional_call(lstm, parameters, (wrap(x), (wrap(start), wrap(start))))
        out.sum().backward()
        return [value_of(p._grad._a) for p in parameters.values()]

    program = jax.jit(train).lower(np.ones((50, 4, 8), "float32"), np.zeros((1, 4, 64), "float32"), states).compile()
    gates = 50 * 4 * 4 * 64 * 4
    assert program.memory_analysis().temp_size_in_bytes < 4 * gates
