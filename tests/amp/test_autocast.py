"""autocast as PyTorch's: the lists of functions, nesting, the casts of parameters, gradients, users' Functions."""

import contextlib
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import flambeau
from _oracle import dtype_name, to_array
from _programs import Programs, raised, warned
from flambeau import nn

programs = Programs("amp_autocast.json")


def numbers(t, *shape):
    return t.linspace(-1, 1, t.Size(shape).numel()).reshape(shape)


# ---- the lists: a call in terms of float32 tensors, which is made on float32, bfloat16 and (lists permitting) mixed ones

CALLS = {
    "matmul": "x @ y", "matmul_batched": "torch.matmul(b, b.mT)", "matmul_folded": "torch.matmul(b, y)", "matmul_vector": "x @ y[:, 0]", "mm": "torch.mm(x, y)",
    "bmm": "torch.bmm(b, b.mT)", "mv": "torch.mv(x, y[:, 0])", "addmm": "torch.addmm(x[:, :1], x, y)", "addbmm": "torch.addbmm(x[:, :1], b, b.mT)[:1]",
    "baddbmm": "torch.baddbmm(b[:, :, :1], b, b.mT)", "method": "x.mm(y)", "linear": "F.linear(x, y.t(), y[0])", "linear_vector": "F.linear(x[0], y.t())",
    "einsum": "torch.einsum('ij,jk->ik', x, y)", "tensordot": "torch.tensordot(x, y, 1)", "conv1d": "F.conv1d(b, b)", "conv2d": "F.conv2d(i, i[:, :, :2, :2])",
    "conv_transpose2d": "F.conv_transpose2d(i, i.transpose(0, 1))", "prelu": "F.prelu(x, x[0, :1])", "sdpa": "F.scaled_dot_product_attention(b, b, b)",
    "softmax": "F.softmax(x, 1)", "layer_norm": "F.layer_norm(x, (3,))", "relu": "F.relu(x)", "exp": "x.exp()", "add": "x + x", "sum": "x.sum()", "mean": "x.mean()",
    "prod": "x.prod()", "trace": "torch.trace(x)", "cdist": "torch.cdist(x, x + 1)", "mse_loss": "F.mse_loss(x, x + 1)", "l1_loss": "F.l1_loss(x, x + 1)",
    "smooth_l1_loss": "F.smooth_l1_loss(x, x + 1)", "huber_loss": "F.huber_loss(x, x + 1)", "kl_div": "F.kl_div(x, x.abs(), reduction='sum')",
    "bce": "F.binary_cross_entropy(x.abs(), x.abs())", "bce_logits": "F.binary_cross_entropy_with_logits(x, x.abs())",
    "nll_loss": "F.nll_loss(x, torch.tensor([0, 2, 1, 0]))", "cross_entropy": "F.cross_entropy(x, torch.tensor([0, 2, 1, 0]))",
    "cross_entropy_of_probabilities": "F.cross_entropy(x, x.abs())", "avg_pool2d": "F.avg_pool2d(i, 2)", "avg_pool3d": "F.avg_pool3d(i, 2)",
    "max_pool3d": "F.max_pool3d(i, 2)", "fft": "torch.fft.rfft(x).real", "inv": "torch.linalg.inv(torch.eye(3) * 2 + 0 * x[:3])",
    "svdvals": "torch.linalg.svdvals(x)", "quantile": "torch.quantile(x.abs(), 0.3)", "stack": "torch.stack([x, x])", "cat": "torch.cat([x, x])", "batch_norm": "F.batch_norm(x, None, None, training=True)",
    "bilinear": "F.bilinear(x, x, x[None, :3])", "cov": "torch.cov(x)", "corrcoef": "torch.corrcoef(x)", "local_response_norm": "F.local_response_norm(i, 2)",
    "reflect_pad": "F.pad(i, (1, 1, 1, 1), mode='reflect')", "replicate_pad": "F.pad(i, (1, 1), mode='replicate')", "circular_pad": "F.pad(i, (1, 1, 1, 1), mode='circular')",
    "reflect_pad_of_volumes": "F.pad(i, (1, 1, 1, 1, 1, 1), mode='reflect')", "replicate_pad_of_volumes": "F.pad(i, (1, 1, 1, 1, 1, 1), mode='replicate')",
}
MIXED = {
    "matmul": "x @ h", "mm": "torch.mm(x, h)", "addmm": "torch.addmm(x[:, :1], x, h)", "linear": "F.linear(x, h.t(), h[0].float())", "einsum": "torch.einsum('ij,jk->ik', x, h)",
    "conv1d": "F.conv1d(b, b.bfloat16())", "sdpa": "F.scaled_dot_product_attention(b, b.bfloat16(), b)", "cat": "torch.cat([x, x.bfloat16()])", "index_copy": "x.index_copy(0, torch.tensor([0]), x[:1].bfloat16())",
    "mse_loss": "F.mse_loss(x, x.bfloat16())", "float64": "torch.mm(x.double(), y.double())", "integers": "torch.mm(x.long(), y.long())", "out": "torch.mm(x, y, out=torch.empty(4, 2))",
    "in_place": "torch.ones(4, 2).addmm_(x, y)", "float64_and_float32": "torch.mm(x.double(), y)",
}


def outcome(t, code, dtype, region=None):
    """The result of a call inside a region, or the name of its error."""
    scope = {"torch": t, "F": t.nn.functional, "x": numbers(t, 4, 3), "y": numbers(t, 3, 2) + 0.3, "b": numbers(t, 2, 2, 4), "i": numbers(t, 1, 3, 4, 4), "h": numbers(t, 3, 2).bfloat16()}
    scope.update({name: scope[name].to(getattr(t, dtype)) for name in "xybi"})
    with warnings.catch_warnings(), region or t.autocast("cpu"):
        warnings.simplefilter("ignore")
        try:
            return eval(code, scope)
        except (RuntimeError, NotImplementedError) as error:
            return type(error).__name__


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", CALLS)
def test_functions_compute_in_pytorchs_precision(name, dtype):
    import torch

    agree(outcome(flambeau, CALLS[name], dtype), outcome(torch, CALLS[name], dtype))


@pytest.mark.oracle
@pytest.mark.parametrize("name", MIXED)
def test_mixed_inputs(name):
    import torch

    agree(outcome(flambeau, MIXED[name], "float32"), outcome(torch, MIXED[name], "float32"))


def agree(got, want):
    if isinstance(want, str):
        assert got == want
        return
    assert dtype_name(got) == dtype_name(want)
    exact = dtype_name(want) == "float32"
    np.testing.assert_allclose(to_array(got), to_array(want), rtol=2e-5 if exact else 3e-2, atol=1e-5 if exact else 2e-2)


FIXED = [("x @ y", "bfloat16"), ("F.linear(x, y.t())", "bfloat16"), ("F.conv2d(i, i)", "bfloat16"), ("F.mse_loss(x.bfloat16(), x)", "float32"), ("x.bfloat16().prod()", "float32"),
         ("F.cross_entropy(x.bfloat16(), torch.tensor([0, 2, 1, 0]))", "float32"), ("x + 1", "float32"), ("x.double() @ y.double()", "float64"), ("F.softmax(x.bfloat16(), 1)", "bfloat16")]


@pytest.mark.parametrize(("code", "dtype"), FIXED)
def test_dtypes(code, dtype):
    assert dtype_name(outcome(flambeau, code, "float32")) == dtype


GPU_LISTS = [("x @ y", "float16"), ("torch.mv(x, y[:, 0])", "float16"), ("x.half().exp()", "float32"), ("x.half() ** 2", "float32"), ("F.softmax(x.half(), 1)", "float32"), ("x.half().sum()", "float32"),
             ("F.layer_norm(x.half(), (3,))", "float32"), ("F.relu(x.half())", "float16"), ("torch.dot(x[0], x[0].half())", "float32"), ("F.mse_loss(x.half(), x.half())", "float32"),
             ("1 / x.half()", "float32")]


@pytest.mark.jax
@pytest.mark.parametrize(("code", "dtype"), GPU_LISTS)
def test_lists_of_accelerators(code, dtype):
    with flambeau.device("xla"):
        scope = {"torch": flambeau, "F": nn.functional, "x": numbers(flambeau, 4, 3).to("xla"), "y": numbers(flambeau, 3, 2).to("xla")}
    with flambeau.autocast("xla", dtype=flambeau.float16):
        assert dtype_name(eval(code, scope)) == dtype


@pytest.mark.jax
def test_binary_cross_entropy_is_refused_on_accelerators():
    x = flambeau.full((2,), 0.5, device="xla")
    with flambeau.autocast("xla"), pytest.raises(RuntimeError, match="unsafe to autocast"):
        nn.functional.binary_cross_entropy(x, x)


@pytest.mark.jax
def test_a_region_acts_on_its_device_only():
    x = flambeau.ones(2, 2)
    with flambeau.autocast("xla"):
        assert (x @ x).dtype is flambeau.float32
        assert (x.to("xla") @ x.to("xla")).dtype is flambeau.bfloat16


# ---- layers, nesting, state


@programs
def layers(t):
    def dtypes(out):
        return str(out.dtype) if isinstance(out, t.Tensor) else [dtypes(o) for o in out if o is not None]

    x, i, q = numbers(t, 4, 3), numbers(t, 1, 1, 8, 8), numbers(t, 3, 1, 4)
    cnn = t.nn.Sequential(t.nn.Conv2d(1, 2, 3), t.nn.BatchNorm2d(2), t.nn.ReLU(), t.nn.MaxPool2d(2), t.nn.Flatten(), t.nn.Linear(18, 2))
    with t.autocast("cpu"):
        mha = t.nn.MultiheadAttention(4, 2)
        return [dtypes(cnn(i)), dtypes(t.nn.GRU(3, 2)(x)), dtypes(t.nn.RNN(3, 2)(x)), dtypes(t.nn.LSTMCell(3, 2)(x)), dtypes(t.nn.GRUCell(3, 2)(x)), dtypes(t.nn.RNNCell(3, 2)(x)),
                dtypes(t.nn.GRU(3, 2)(x.bfloat16())), dtypes(t.nn.LSTM(3, 2)(x.bfloat16())), dtypes(mha(q, q, q)), dtypes(mha(q, q, q, need_weights=False)),
                dtypes(t.nn.TransformerEncoderLayer(4, 2, 8)(q)), dtypes(t.nn.Embedding(3, 2)(t.tensor([1]))), dtypes(t.nn.LayerNorm(3)(x)), [str(p.dtype) for p in cnn.parameters()]]


@programs
def nesting(t):
    x = t.ones(2, 2)
    seen = []

    def look():
        seen.append([str((x @ x).dtype), t.is_autocast_enabled("cpu"), t.is_autocast_enabled(), str(t.get_autocast_dtype("cpu")), t.is_autocast_cache_enabled()])

    look()
    with t.autocast("cpu"):
        look()
        with t.autocast("cpu", enabled=False):
            look()
            with t.autocast("cpu", dtype=t.float16, cache_enabled=False):
                look()
        with t.autocast("cpu", dtype=t.float16):
            look()
        look()
    look()
    region = t.autocast("cpu")
    with region, region:
        look()
    with t.autocast("cpu"), t.autocast("xla"):
        look()
    return seen


@programs
def decorators(t):
    @t.autocast("cpu")
    def product(x):
        """Doc."""
        return x @ x

    return [str(product(t.ones(2, 2)).dtype), product.__name__, product.__doc__, t.is_autocast_enabled("cpu")]


@programs
def refusals(t):
    return [raised(lambda: t.autocast(5)), raised(lambda: t.autocast("nonsense")), raised(lambda: t.autocast()), warned(lambda: t.autocast("cuda")),
            warned(lambda: t.autocast("cpu", dtype=t.float32)), warned(lambda: t.autocast("cpu", dtype=t.float64, enabled=False)), warned(lambda: t.autocast("cpu", dtype=t.int32)),
            [t.amp.is_autocast_available(d) for d in ("cpu", "cuda", "xla")], raised(lambda: t.amp.is_autocast_available("nonsense"))]


@programs
def after_an_error(t):
    with contextlib.suppress(ValueError), t.autocast("cpu"):
        raise ValueError
    return [t.is_autocast_enabled("cpu"), str((t.ones(2, 2) @ t.ones(2, 2)).dtype)]


@programs
def settings(t):
    before = [str(t.get_autocast_dtype("cpu")), str(t.get_autocast_dtype("cuda")), t.is_autocast_cache_enabled()]
    t.set_autocast_dtype("cpu", t.float16)
    t.set_autocast_cache_enabled(False)
    with t.autocast("cpu"):
        inside = [str((t.ones(2, 2) @ t.ones(2, 2)).dtype), t.is_autocast_cache_enabled()]
    t.set_autocast_dtype("cpu", t.bfloat16)
    t.set_autocast_cache_enabled(True)
    t.set_autocast_enabled("cpu", True)
    by_hand = str((t.ones(2, 2) @ t.ones(2, 2)).dtype)
    t.set_autocast_enabled("cpu", False)
    t.clear_autocast_cache()
    return [before, inside, by_hand, t.is_autocast_enabled("cpu")]


@programs
def gradients(t):
    t.manual_seed(0)
    m = t.nn.Linear(2, 2)
    x = t.tensor([[1.0, 2.0]], requires_grad=True)
    with t.no_grad():
        m.weight.copy_(t.tensor([[1.0, 0.5], [0.25, 2.0]]))
        m.bias.zero_()
    with t.autocast("cpu"):
        loss = (m(x) + m(x)).sum()
    loss.backward()
    return [str(loss.dtype), x.grad, m.weight.grad, m.bias.grad]


@programs
def users_functions(t):
    class Product(t.autograd.Function):
        @staticmethod
        @t.amp.custom_fwd(device_type="cpu")
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x @ y

        @staticmethod
        @t.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            seen.append([str((g.float() @ g.float().mT).dtype), t.is_autocast_enabled("cpu")])
            return (g @ y.mT).float(), (x.mT @ g).float()

    class InFloat32(t.autograd.Function):
        @staticmethod
        @t.amp.custom_fwd(device_type="cpu", cast_inputs=t.float32)
        def forward(ctx, x, scale):
            seen.append([str(x.dtype), t.is_autocast_enabled("cpu"), str((x @ x).dtype)])
            return x * scale

        @staticmethod
        @t.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            seen.append([str(g.dtype), t.is_autocast_enabled("cpu")])
            return g, None

    seen = []
    x = t.eye(2, requires_grad=True)
    with t.autocast("cpu"):
        a = Product.apply(x, x)
        b = InFloat32.apply(x.bfloat16(), 2)
    (a.sum() + b.sum()).backward()
    outside = InFloat32.apply(x.bfloat16(), 2)
    return [seen, str(a.dtype), str(b.dtype), str(outside.dtype), x.grad, raised(lambda: t.amp.custom_fwd(len)), raised(lambda: t.amp.custom_fwd(len, device_type=5))]


test_as_recorded, test_recording_is_what_torch_does = programs.tests()


# ---- what only Flambeau shows


def cast_of_weight(out):
    """The node of the cast of the weight, in the graph of a linear layer's result."""
    transposed, _ = out.grad_fn.next_functions[1]
    return transposed.next_functions[0][0]


def test_casts_of_parameters_are_kept_until_the_region_is_left():
    m, x = nn.Linear(2, 2, bias=False), flambeau.ones(1, 2)
    with flambeau.autocast("cpu"):
        assert cast_of_weight(m(x)) is cast_of_weight(m(x))
        with flambeau.no_grad():
            m(x)
        with flambeau.autocast("cpu", dtype=flambeau.float16):
            assert m(x).dtype is flambeau.float16  # PyTorch takes the cast to bfloat16 here
        assert m(x).requires_grad
    with flambeau.autocast("cpu", cache_enabled=False):
        first, second = m(x), m(x)
        assert cast_of_weight(first) is not cast_of_weight(second)


def test_a_parameter_that_is_written_to_is_cast_anew():
    """PyTorch goes on with the old cast."""
    m, x = nn.Linear(2, 1, bias=False), flambeau.ones(1, 2)
    with flambeau.autocast("cpu"):
        m(x)
        with flambeau.no_grad():
            m.weight.fill_(3.0)
        assert m(x).item() == 6.0


def test_casts_do_not_keep_parameters_alive(no_cycle_collector):
    import weakref

    m = nn.Linear(2, 1)
    reference = weakref.ref(m.weight)
    with flambeau.autocast("cpu"):
        m(flambeau.ones(1, 2))
    del m
    assert reference() is None


def test_other_threads_are_left_alone():
    x, seen = flambeau.ones(2, 2), []
    with flambeau.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append((x @ x).dtype))
        thread.start()
        thread.join()
    assert seen == [flambeau.float32]


def test_functions_are_unchanged_until_autocast_is_entered():
    """So that programs without autocast pay nothing for it. Who took a function before has the one that casts."""
    program = """
import flambeau
from flambeau.nn.functional import mse_loss
prod, code = flambeau.Tensor.prod, mse_loss.__code__
assert "flambeau.amp" not in __import__("sys").modules
flambeau.autocast("cpu")
assert mse_loss.__code__ is code
x = flambeau.ones(2, dtype=flambeau.bfloat16)
with flambeau.autocast("cpu"):
    assert mse_loss(x, x).dtype is prod(x).dtype is flambeau.float32
assert mse_loss.__code__ is not code
assert (mse_loss, prod) == (flambeau.nn.functional.mse_loss, flambeau.Tensor.prod)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.jax
def test_a_compiled_function_is_compiled_anew_for_a_region():
    x = flambeau.ones(2, 2)
    product = flambeau.compile(lambda x: x @ x)
    seen = []
    for _ in range(3):
        seen.append(product(x).dtype)
        with flambeau.autocast("cpu"):
            seen.append(product(x).dtype)
    assert seen == [flambeau.float32, flambeau.bfloat16] * 3


@pytest.mark.jax
def test_a_region_inside_a_compiled_step():
    def step(m, x):
        with flambeau.autocast("cpu"):
            loss = nn.functional.cross_entropy(m(x), flambeau.tensor([0, 1]))
        loss.backward()
        return loss

    m, x = nn.Linear(3, 2), numbers(flambeau, 2, 3)
    eager = step(m, x)
    want, m.weight.grad, m.bias.grad = m.weight.grad.clone(), None, None
    compiled = flambeau.compile(step)
    for _ in range(3):
        loss = compiled(m, x)
        flambeau.testing.assert_close(loss, eager, rtol=2e-2, atol=2e-2)
        flambeau.testing.assert_close(m.weight.grad, want, rtol=3e-2, atol=2e-2)
        m.weight.grad = m.bias.grad = None


def test_the_older_names():
    from flambeau.cpu import amp as cpu_amp
    from flambeau.cuda import amp

    for old in (amp.autocast, amp.GradScaler, cpu_amp.autocast, cpu_amp.GradScaler):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            old(enabled=False)
        assert [w.category for w in caught] == [FutureWarning]
    with pytest.warns(FutureWarning, match=r"torch\.cuda\.amp\.custom_fwd"):
        amp.custom_fwd(lambda ctx, x: x)
    with pytest.warns(FutureWarning, match=r"torch\.cpu\.amp\.autocast"), flambeau.cpu.amp.autocast():
        assert (flambeau.ones(2, 2) @ flambeau.ones(2, 2)).dtype is flambeau.bfloat16
