"""Activations that overwrite their input: the kernel writes to memory itself where it can."""

import pytest

import flambeau as t
from flambeau.nn import functional as F

CASES = [
    (F.relu, ()), (F.relu6, ()), (F.hardtanh, (-0.5, 0.25)), (F.hardtanh, (-1, 2)), (F.leaky_relu, (0.3,)), (F.elu, (1.5,)),
    (F.silu, ()), (F.mish, ()), (F.hardswish, ()), (F.hardsigmoid, ()),
]
MEMORY = {
    "contiguous": lambda x: x,
    "large": lambda x: x.repeat(40, 50),
    "strided": lambda x: x.repeat(2, 2)[::2, ::2],
    "transposed": lambda x: x.t(),
    "a row of others": lambda x: x.clone()[3],
    "empty": lambda x: x[:0],
    "a number": lambda x: x[0, 0].clone(),
    "double": lambda x: x.double(),
    "half": lambda x: x.half(),
}


@pytest.mark.parametrize("memory", MEMORY.values(), ids=MEMORY)
@pytest.mark.parametrize(("function", "arguments"), CASES)
def test_results(function, arguments, memory):
    x = memory(t.linspace(-5, 8, 30 * 41).reshape(30, 41).clone())
    right, array, version = function(x, *arguments), x.data_ptr(), x._version
    strides = x.stride()
    assert function(x, *arguments, inplace=True) is x
    assert t.allclose(x, right, rtol=1e-6, atol=1e-6)
    assert (x.data_ptr(), x.stride(), x._version) == (array, strides, version + 1)


@pytest.mark.parametrize(("function", "arguments"), CASES)
def test_recorded(function, arguments):
    leaf = t.linspace(-5, 8, 50).requires_grad_()
    (right,) = t.autograd.grad(function(leaf * 1, *arguments).sum(), leaf)
    (ours,) = t.autograd.grad(function(leaf * 1, *arguments, inplace=True).sum(), leaf)
    assert t.equal(ours, right)


def test_a_saved_tensor_that_is_overwritten_is_noticed():
    x = t.ones(3, requires_grad=True)
    y = x.exp()
    F.relu(y.detach(), inplace=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize(("call", "error"), [
    (lambda x: F.hardtanh(x, 2.0, 1.0, inplace=True), ValueError),
    (lambda x: F.leaky_relu(x, "0.1", inplace=True), TypeError),
    (lambda x: F.leaky_relu(x, 1e300, inplace=True), RuntimeError),
    (lambda x: F.relu_(x.expand(2, 3)), RuntimeError),
    (lambda x: F.relu_(x, 1), TypeError),
    (lambda x: F.relu_([1.0]), TypeError),
    (lambda x: F.relu_(t.ones(3, requires_grad=True)), RuntimeError),
])
def test_what_is_wrong_is_refused(call, error):
    x = t.full((1, 3), -1.0)
    with pytest.raises(error):
        call(x)
    assert (x == -1).all()
