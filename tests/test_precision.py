"""float32 products use full precision on every device, unless the user allows TensorFloat-32, as in PyTorch."""

import functools
import itertools

import pytest

import flambeau as torch
from flambeau._precision import recurrent_layer
from flambeau.backends import cuda, cudnn


@pytest.fixture(autouse=True)
def _as_before():
    yield
    torch.set_float32_matmul_precision("highest")
    cuda.matmul.fp32_precision = "none"
    cudnn.allow_tf32 = True


def test_settings_are_one():
    assert not cuda.matmul.allow_tf32 and cuda.matmul.fp32_precision == "none" and cudnn.allow_tf32
    cuda.matmul.allow_tf32 = True
    assert torch.get_float32_matmul_precision() == "high" and cuda.matmul.fp32_precision == "tf32"
    cuda.matmul.allow_tf32 = False
    assert torch.get_float32_matmul_precision() == "highest" and cuda.matmul.fp32_precision == "ieee"
    torch.set_float32_matmul_precision("medium")
    assert cuda.matmul.allow_tf32 and cuda.matmul.fp32_precision == "tf32"
    torch.set_float32_matmul_precision("highest")
    assert not cuda.matmul.allow_tf32 and cuda.matmul.fp32_precision == "ieee"
    with cudnn.flags(enabled=True, allow_tf32=False):
        assert not cudnn.allow_tf32
    assert cudnn.allow_tf32


def test_unknown_settings_are_refused():
    with pytest.raises(ValueError, match="fp32_precision is 'ieee', 'tf32' or 'none'"):
        cuda.matmul.fp32_precision = "bf16x3"
    with pytest.raises(AttributeError):
        cuda.matmul.alow_tf32 = True


def gradients_of(layer, *shape):
    """A function that trains a layer on a device."""
    layer, x = layer.to("xla"), torch.ones(*shape, device="xla")

    def train():
        layer.zero_grad()
        out = layer(x)
        (out[0] if isinstance(out, tuple) else out).sum().backward()
        return [p.grad for p in layer.parameters()]

    return train


def second_gradients_of(layer, *shape):
    """A function that differentiates the gradients of a recurrent layer on a device."""
    layer, x = layer.to("xla"), torch.ones(*shape, device="xla")
    parameters = list(layer.parameters())

    def differentiate():
        first = torch.autograd.grad(layer(x)[0].square().sum(), parameters, create_graph=True)
        return torch.autograd.grad(sum([g.square().sum() for g in first]), parameters)

    return differentiate


PROGRAMS = {
    "matmul": lambda n: lambda: [torch.ones(n, n, device="xla") @ torch.ones(n, n, device="xla")],
    "linear": lambda n: gradients_of(torch.nn.Linear(n, 17), 11, n),
    "lstm": lambda n: gradients_of(torch.nn.LSTM(n, 17), 3, 11, n),
    "lstm, twice": lambda n: second_gradients_of(torch.nn.LSTM(n, 17, proj_size=5), 3, 11, n),
    "gru, twice": lambda n: second_gradients_of(torch.nn.GRU(n, 17), 3, 11, n),
    "rnn, twice": lambda n: second_gradients_of(torch.nn.RNN(n, 17), 3, 11, n),
    "conv": lambda n: gradients_of(torch.nn.Conv1d(n, 17, 2), 3, n, 5),
}


def allow_tf32():
    cuda.matmul.allow_tf32 = True


def forbid_cudnn():
    cudnn.allow_tf32 = False


CHANGES = pytest.mark.parametrize("name, change, before, after", [
    ("matmul", allow_tf32, "HIGHEST", "DEFAULT"),
    ("linear", allow_tf32, "HIGHEST", "DEFAULT"),
    ("lstm", forbid_cudnn, "DEFAULT", "HIGHEST"),
    ("lstm, twice", forbid_cudnn, "DEFAULT", "HIGHEST"),
    ("gru, twice", forbid_cudnn, "DEFAULT", "HIGHEST"),
    ("rnn, twice", forbid_cudnn, "DEFAULT", "HIGHEST"),
    ("conv", forbid_cudnn, "DEFAULT", "HIGHEST"),
])


@pytest.mark.jax
@CHANGES
def test_products_that_are_recorded(precisions, name, change, before, after):
    program = PROGRAMS[name](13)

    def trace():
        """The precisions of the products that two runs trace."""
        precisions.clear()
        for _ in range(2):
            for result in program():
                result.tolist()
        return set(precisions)

    assert trace() == {before}
    assert trace() == set()
    change()
    assert trace() == {after}


@pytest.mark.jax
def test_recorded_calls_keep_the_precision_of_their_time(precisions):
    x = torch.ones(29, 29, device="xla")
    exact = x @ x
    allow_tf32()
    rounded = x @ x
    assert (exact + rounded)[0, 0].item() == 58
    assert [name for name, _ in itertools.groupby(precisions)] == ["HIGHEST", "DEFAULT"]


@pytest.mark.jax
def test_products_of_a_recurrent_layer_are_not_those_of_others():
    """A program has both, of the same shapes."""
    x = torch.ones(31, 31, device="xla")

    @torch.compile
    def both():
        with recurrent_layer():
            inside = x @ x
        return inside, x @ x

    for _ in range(2):
        both()
    program = next(iter(both.programs.values()))[0]
    assert precisions_of(program) == ["DEFAULT", "DEFAULT", "HIGHEST", "HIGHEST"]


@pytest.mark.jax
def test_recorded_products_are_those_of_the_layer_they_were_recorded_in(precisions):
    """Also where the same calls are recorded elsewhere, and in backward, wherever that runs."""
    x = torch.ones(37, 37, device="xla", requires_grad=True)

    def trace(call):
        """The precisions of the products that are traced to read the results of a call."""
        precisions.clear()
        for result in call():
            result.tolist()
        return [name for name, _ in itertools.groupby(precisions)]

    def multiply():
        outside = x @ x
        with recurrent_layer():
            return outside, x @ x

    assert trace(multiply) == ["HIGHEST", "DEFAULT"]
    assert trace(multiply) == []
    outside, inside = multiply()
    assert trace(lambda: torch.autograd.grad(inside.sum(), x)) == ["DEFAULT"]
    with recurrent_layer():
        assert trace(lambda: torch.autograd.grad(outside.sum(), x)) == ["HIGHEST"]


@pytest.mark.jax
@pytest.mark.parametrize("size, is_shared", [(19, False), (23, True)])
@CHANGES
def test_products_of_a_program(name, change, before, after, size, is_shared):
    """Also where calls of the same kind were recorded before, of which a program takes what was traced."""
    recorded, program = PROGRAMS[name](size), torch.compile(PROGRAMS[name](size))

    def compile_one():
        """The precisions in the last program."""
        for run in [recorded, program, program] if is_shared else [program, program]:
            for result in run():
                result.tolist()
        return set(precisions_of([*program.programs.values()][-1][0]))

    assert compile_one() == {before}
    change()
    assert compile_one() == {after}
    assert program.count == 2


@pytest.fixture
def precisions(monkeypatch):
    """The names of the precisions of products that are traced."""
    from jax import lax

    from flambeau.engines.xla import conv, linalg

    names = []

    def note(function):
        def noting(*args, precision=None, **kwargs):
            names.append(lax.Precision(precision).name)
            return function(*args, precision=precision, **kwargs)

        return noting

    monkeypatch.setattr(linalg.jnp, "matmul", note(linalg.jnp.matmul))
    monkeypatch.setattr(conv.jax.lax, "conv_general_dilated", note(lax.conv_general_dilated))
    return names


F = torch.nn.functional
CALLS = {
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x),
    "bilinear": lambda x: F.bilinear(x, x, torch.ones(2, 5, 5, device="xla")),
    "addmm": lambda x: torch.addmm(x[:, :4], x, x.T),
    "tensordot": lambda x: torch.tensordot(x, x, 2),
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    "cdist": lambda x: torch.cdist(x, x * 2, compute_mode="use_mm_for_euclid_dist"),
    "grid_sample": lambda x: F.grid_sample(x[None, None], x.mean().expand(1, 3, 3, 2), align_corners=False),
    "det": lambda x: torch.linalg.det(x[:, :4]),
    "pinv": torch.linalg.pinv,
    "matrix_exp": lambda x: torch.linalg.matrix_exp(x[:, :4]),
    "cov": torch.cov,
}


@pytest.mark.jax
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_all_products_of_matrices_are_exact(call):
    x = (torch.arange(20.0, device="xla").reshape(4, 5) / 7).sin().requires_grad_()

    @torch.compile
    def step():
        x.grad = None
        call(x).square().sum().backward()

    for _ in range(2):
        step()
    program = next(iter(step.programs.values()))[0]
    found = precisions_of(program)
    assert found and set(found) == {"HIGHEST"}


def precisions_of(program):
    """The names of the precisions of all products in a compiled program: to evaluate its calls is to trace them."""
    import jax

    whole = program.partition.whole
    constants, inputs = [
        [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in each] for each in (whole.constvars, whole.invars)]
    evaluate = functools.partial(jax.core.eval_jaxpr, whole)
    return precisions_in(jax.make_jaxpr(evaluate)(constants, *inputs).jaxpr)


def precisions_in(jaxpr):
    """The names of the precisions of all products in what was traced."""
    found = []
    for equation in jaxpr.eqns:
        if equation.primitive.name in ("dot_general", "conv_general_dilated"):
            found += [p.name for p in equation.params["precision"] or ()] or ["DEFAULT"]
        for value in equation.params.values():
            for part in value if isinstance(value, tuple | list) else [value]:
                inner = getattr(part, "jaxpr", part)
                found += precisions_in(inner) if hasattr(inner, "eqns") else []
    return found
