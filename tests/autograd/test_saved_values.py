"""Gradients use the values that the forward saved: a later write raises an error, or changes nothing."""

import contextlib
import itertools
import re
import warnings

import numpy as np
import pytest

import flambeau as torch

CASES = {  # call of float64 x, y: whether a write to x, to y or to the result is refused
    "torch.mul(x, y)": (True, True, False),
    "torch.add(x, y)": (False, False, False),
    "torch.exp(x) + y": (False, False, False),
    "torch.exp(x)": (False, False, True),
    "torch.inner(x[0], y[0])": (True, True, False),
    "torch.inner(x, y)": (True, True, False),
    "torch.tensordot(x, y, 1)": (True, True, False),
    "torch.einsum('ij,jk->ik', x, y)": (True, True, False),
    "torch.einsum('i,j->ij', x[0], y[0])": (True, True, False),
    "torch.einsum('ii,j->ij', x, y[0])": (True, True, False),
    "x[0] @ y.reshape(1, 2, 2)": (True, True, False),
    "torch.kron(x, y)": (True, True, False),
    "torch.nn.functional.bilinear(x[0], y[0], torch.ones(1, 2, 2).double())": (False, True, False),
    "torch.aminmax(x[0, 0], dim=0)[0]": (True, False, True),
    "torch.linalg.solve(x, y[0])": (True, False, True),
    "torch.linalg.tensorsolve(x, y[0])": (True, False, True),
    "torch.linalg.tensorinv(x, ind=1)": (False, False, True),
    "torch.linalg.matrix_norm(x, 1)": (True, False, True),
    "torch.linalg.householder_product(x, y[0])": (False, True, False),
}


def gradients(call, inputs, write=lambda operands, results: ()):
    """The gradients of a call, after a write to what it was given or returned; None if they are refused."""
    leaves = [x.detach().clone().requires_grad_() if x.requires_grad else None for x in inputs]
    operands = [x.detach().clone() if leaf is None else leaf * 1 for x, leaf in zip(inputs, leaves)]
    torch.manual_seed(0)
    results = [t for t in tensors_in(call(*operands)) if t.requires_grad and t.layout is torch.strided]
    try:
        for t in write(operands, results):
            change(t.detach())
        torch.autograd.backward(results, [torch.ones_like(t) for t in results])
    except RuntimeError as error:
        if not re.search("modified by an inplace operation|modified inplace|more than one element of the written-to", str(error)):
            raise
        return None
    return [np.array(leaf.grad.tolist()) for leaf in leaves if leaf is not None and leaf.grad is not None]


def change(t):
    if t.is_floating_point() or t.is_complex():
        t.mul_(1.5).add_(0.25)
    elif t.dtype == torch.bool:
        t.logical_not_()
    else:
        t.zero_()


def tensors_in(value):
    if hasattr(value, "backward"):
        return [value]
    values = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return [t for v in values for t in tensors_in(v)]


def assert_equal(got, want):
    assert len(got) == len(want)
    for g, w in zip(got, want):
        np.testing.assert_allclose(g, w, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("code", CASES)
def test_write_is_noticed_where_the_gradient_needs_it(code):
    x = torch.tensor([[0.5, 0.25], [-0.75, 1.5]], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([[0.3, -0.6], [0.9, 0.1]], dtype=torch.float64, requires_grad=True)
    call = eval(f"lambda x, y: {code}", {"torch": torch})
    writes = [lambda operands, _: operands[:1], lambda operands, _: operands[1:], lambda _, results: results]
    plain = gradients(call, (x, y))
    for write, refused in zip(writes, CASES[code]):
        found = gradients(call, (x, y), write)
        assert (found is None) == refused
        if found is not None:
            assert_equal(found, plain)


MISSING = ("chalf", "max_pool2d_with_indices_backward", "sparse.mm")
SAMPLES = 2  # of an op
PARTS = 8
LARGEST = 2000  # elements


def dtype_of(op):
    """The dtype that its gradients are computed in; None if they are not."""
    names = [str(dtype).rpartition(".")[2] for dtype in op.dtypes]
    return next((name for name in ("float64", "complex128", "float32") if name in names), None)


@pytest.mark.oracle
@pytest.mark.parametrize("part", range(PARTS))
def test_write_is_refused_or_changes_nothing(part):
    from _op_db import op_db

    ops = [op for op in op_db if op.supports_autograd and dtype_of(op) and op.name not in MISSING]
    for op in ops[part::PARTS]:
        try:
            check_op(op)
        except Exception as error:
            error.add_note(f"in {op.name} {op.variant_test_name}")
            raise


def check_op(op):
    import torch as oracle

    from _op_db import Unavailable, carry, function_of

    with warnings.catch_warnings(), contextlib.suppress(Unavailable):
        warnings.simplefilter("ignore")
        function = function_of(op)
        for sample in itertools.islice(op.sample_inputs("cpu", getattr(oracle, dtype_of(op)), requires_grad=True), SAMPLES):
            inputs = (sample.input, *sample.args), sample.kwargs
            if sum(t.numel() for t in tensors_in(inputs)) < LARGEST:
                check_writes(function, *carry(inputs))


def check_writes(function, args, kwargs):
    """Writes to each operand and to each result in turn."""
    inputs = tensors_in([args, kwargs])

    def call(*operands):
        rest = iter(operands)
        return function(*filled(args, rest), **filled(kwargs, rest))

    plain = gradients(call, inputs)
    for i in range(3):
        part = slice(i, i + 1)
        for write in (lambda operands, _, part=part: operands[part], lambda _, results, part=part: results[part]):
            found = gradients(call, inputs, write)
            if found is not None:
                assert_equal(found, plain)


def filled(value, tensors):
    """The same arguments with other tensors."""
    if isinstance(value, torch.Tensor):
        return next(tensors)
    if isinstance(value, dict):
        return {key: filled(v, tensors) for key, v in value.items()}
    return type(value)([filled(v, tensors) for v in value]) if type(value) in (tuple, list) else value


SAVE_THEIR_RESULT = {name: getattr(torch.Tensor, name) for name in (
    "exp_", "exp2_", "expm1_", "sqrt_", "rsqrt_", "reciprocal_", "sigmoid_", "tanh_", "relu_", "tan_", "sgn_",
)} | {
    "pow_": lambda t: t.pow_(t.detach().clone().requires_grad_()),
    "hypot_": lambda t: t.hypot_(t.detach().clone()),
    "cumprod_": lambda t: t.cumprod_(0),
}


@pytest.mark.parametrize("place", ["whole", "view"])
@pytest.mark.parametrize("device", ["cpu", pytest.param("xla", marks=pytest.mark.jax)])
@pytest.mark.parametrize("name", SAVE_THEIR_RESULT)
def test_writes_to_what_an_inplace_operation_saved_are_refused(name, device, place):
    def run(write):
        x = torch.tensor([[0.3, 0.6], [0.2, 0.7]], device=device, requires_grad=True)
        whole = x * 1
        written = SAVE_THEIR_RESULT[name](whole[0] if place == "view" else whole)
        with torch.no_grad():
            write(whole, written)
        whole.sum().backward()

    run(lambda whole, written: None)
    for write in (lambda whole, written: whole.mul_(2), lambda whole, written: written[:1].zero_()):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            run(write)
