"""Attention by a kernel on a GPU. Elsewhere jax's formula stands for the kernel, which takes sequences of even length."""

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.nn import functional as F

pytestmark = pytest.mark.jax

MASKS = ["full", "of_heads", "of_samples", "keys", "of_all"]
INF = float("inf")


@pytest.fixture
def attention(monkeypatch):
    import jax

    from flambeau.engines.xla import attention

    if jax.default_backend() != "gpu":
        monkeypatch.setattr(attention, "IMPLEMENTATION", "xla")
    return attention


def draw(*shapes, dtype="bfloat16"):
    import jax

    return [jax.random.normal(jax.random.key(i), shape).astype(dtype) for i, shape in enumerate(shapes)]


def mask_of(kind, queries, keys, is_bool, seed=9):
    """A mask of some shape that hides a third of the keys, and all of them from the second query."""
    import jax
    import jax.numpy as jnp

    shape = {"full": (2, 3, queries, keys), "of_heads": (3, queries, keys), "of_samples": (2, 1, queries, keys),
             "keys": (2, 1, 1, keys), "of_all": (queries, keys)}[kind]
    visible = jax.random.uniform(jax.random.key(seed), shape) < 0.7
    if shape[-2] > 1:
        visible = visible.at[..., 1, :].set(False)
    return visible if is_bool else jnp.where(visible, jax.random.normal(jax.random.key(seed + 1), shape), -jnp.inf)


def compare(ours, formula, inputs, g, tolerance=0.05):
    """The results of two functions, and their gradients."""
    import jax

    got, pull = jax.vjp(ours, *inputs)
    want, pull_formula = jax.vjp(formula, *inputs)
    for a, b in zip((got, *pull(g)), (want, *pull_formula(g)), strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a.astype(np.float32), b.astype(np.float32), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("lengths", [(6, 6), (7, 7), (4, 7), (7, 4)], ids=str)
def test_sequences_of_all_lengths(attention, lengths, causal):
    queries, keys = lengths
    *inputs, g = draw(*[(2, 3, n, 8) for n in (queries, keys, keys, queries)])
    compare(lambda *x: attention.by_cudnn(*x, None, 0.3, causal),
            lambda *x: attention.formula(*x, None, None, 0.3, causal), inputs, g)


@pytest.mark.parametrize(("dtype", "queries", "keys"), [("bfloat16", 6, 6), ("float16", 7, 5)])
@pytest.mark.parametrize("is_bool", [True, False])
@pytest.mark.parametrize("kind", MASKS)
def test_masks(attention, kind, is_bool, dtype, queries, keys):
    *inputs, g = draw(*[(2, 3, n, 8) for n in (queries, keys, keys, queries)], dtype=dtype)
    mask = mask_of(kind, queries, keys, is_bool)
    compare(lambda *x: attention.by_cudnn(*x, mask, 0.3, False),
            lambda *x: attention.formula(*x, mask, None, 0.3, False), inputs, g)


def test_a_query_that_may_look_nowhere_gets_zeros(attention):
    q, k, v = draw(*[(2, 3, 6, 8)] * 3)
    mask = mask_of("full", 6, 6, True)
    assert not attention.by_cudnn(q, k, v, mask, 0.3, False)[:, :, 1].any()


# ---- as it is called


def half(*shape, seed, device):
    flambeau.manual_seed(seed)
    return flambeau.randn(*shape).bfloat16().to(device).requires_grad_()


def attend(device, mask, way=lambda f: f, **settings):
    """The result and the gradients of query, key, value (and of a mask that requires one) on a device, in float32."""
    inputs = [half(2, 4, n, 16, seed=i, device=device) for i, n in enumerate((10, 12, 12))]
    mask = None if mask is None else mask.to(device).detach().requires_grad_(mask.requires_grad)
    wanted = [*inputs, mask] if mask is not None and mask.requires_grad else inputs

    def run(*inputs):
        out = F.scaled_dot_product_attention(*inputs, mask, **settings)
        return out, *flambeau.autograd.grad((out * out).sum(), wanted)

    return [t.detach().float().cpu().numpy() for t in way(run)(*inputs)]


def hides(*shape):
    flambeau.manual_seed(7)
    mask = flambeau.rand(shape) < 0.7
    mask[..., 3, :] = False
    return mask


ATTENDED = {
    "no mask": (None, {}),
    "causal": (None, {"is_causal": True}),
    "bool": (hides(10, 12), {}),
    "bool and causal": (hides(2, 1, 10, 12), {"is_causal": True}),
    "float": (flambeau.zeros(2, 4, 10, 12).masked_fill(~hides(2, 4, 10, 12), -INF), {"scale": 0.7}),
    "bfloat16": (flambeau.zeros(10, 12, dtype=flambeau.bfloat16).masked_fill(~hides(10, 12), -INF), {}),
    "keys": (flambeau.rand(2, 1, 1, 12) < 0.6, {}),
    "with a gradient": (flambeau.linspace(-1, 1, 120).view(10, 12).requires_grad_(), {}),
}


@pytest.mark.parametrize("way", ["lazy", "compiled"])
@pytest.mark.parametrize("case", ATTENDED)
def test_devices_agree_with_the_cpu(case, way):
    device = "cuda" if flambeau.cuda.is_available() else "xla"
    mask, settings = ATTENDED[case]

    def call_twice(f):
        compiled = flambeau.compile(f)
        return lambda *x: (compiled(*x), compiled(*x))[1]

    want = attend("cpu", mask, **settings)
    got = attend(device, mask, call_twice if way == "compiled" else lambda f: f, **settings)
    for a, b in zip(got, want, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=0.05, atol=0.05)


def test_encoder_layers_with_masks_agree_with_the_cpu():
    device = "cuda" if flambeau.cuda.is_available() else "xla"
    flambeau.manual_seed(0)
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, dtype=flambeau.bfloat16)
    x = flambeau.randn(2, 10, 32).bfloat16()
    causal = nn.Transformer.generate_square_subsequent_mask(10, dtype=flambeau.bfloat16)
    padding = flambeau.zeros(2, 10, dtype=flambeau.bfloat16)
    padding[1, 7:] = -INF
    want = layer(x, src_mask=causal, src_key_padding_mask=padding)
    got = layer.to(device)(x.to(device), src_mask=causal.to(device), src_key_padding_mask=padding.to(device))
    np.testing.assert_allclose(got.detach().float().cpu().numpy(), want.detach().float().numpy(), rtol=0.1, atol=0.1)


@pytest.mark.skipif(not flambeau.cuda.is_available(), reason="only a GPU has cuDNN's kernel")
@pytest.mark.parametrize("case", [case for case in ATTENDED if case != "with a gradient"])
def test_cudnn_runs_the_forward_once(case):
    import jax

    from flambeau.engines.xla.attention import fused_attention, fused_attention_pull

    mask, settings = ATTENDED[case]
    mask = None if mask is None else jax.numpy.asarray(mask.float().numpy())
    q, k, v = draw(*[(2, 4, n, 16) for n in (10, 12, 12)])
    rest = mask, None, 0.25, "is_causal" in settings and mask is None

    def both(q, k, v):
        out = fused_attention(q, k, v, *rest)
        return out, fused_attention_pull(out, q, k, v, *rest)[:3]

    text = jax.jit(both).lower(q, k, v).compile().as_text()
    calls = [line for line in text.splitlines() if "custom_call_target=\"__cudnn$fmha" in line]
    assert len(calls) == 2


# ---- with dropout


@pytest.fixture
def kernels(monkeypatch):
    """The kernels of attention with dropout, interpreted where there is no GPU, in small blocks."""
    from flambeau.engines.xla import _flash_attention, attention

    monkeypatch.setattr(_flash_attention, "BLOCK", 16)
    if not flambeau.cuda.is_available():
        monkeypatch.setattr(_flash_attention, "INTERPRETED", True)
        monkeypatch.setattr(attention, "is_on_gpu", lambda: True)
    return _flash_attention


@pytest.mark.parametrize("kind", [None, "causal", "keys", "full"])
def test_kernels_with_dropout_agree_with_the_formula(kernels, attention, kind):
    import jax.numpy as jnp

    *inputs, g = draw((2, 3, 20, 16), (2, 3, 17, 16), (2, 3, 17, 16), (2, 3, 20, 16))
    key = kernels.key_of(jnp.asarray([123, 456], jnp.uint32), 0.25)
    mask = None if kind in (None, "causal") else mask_of(kind, 20, 17, kind == "keys")
    rest = mask, key, 0.3, kind == "causal"
    compare(lambda *x: attention.by_flash(*x, *rest), lambda *x: attention.formula(*x, *rest), inputs, g)


def test_without_kernels_attention_with_dropout_is_a_formula(kernels, attention, monkeypatch):
    """As once jax has no Triton: it says that it will go."""
    monkeypatch.setattr(kernels, "INTERPRETED", False)
    monkeypatch.setattr(kernels, "triton", None)
    monkeypatch.setattr(kernels, "are_supported", kernels.are_supported.__wrapped__)
    monkeypatch.setattr(attention, "by_flash", None)
    x = flambeau.ones(2, 2, 64, 16, device="xla", dtype=flambeau.bfloat16)
    out = flambeau.nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.5).float()
    assert 0.8 < out.mean().item() < 1.2
    assert out.std().item() > 0


def test_factors_of_dropout(kernels):
    import jax.numpy as jnp

    key = kernels.key_of(jnp.asarray([123, 456], jnp.uint32), 0.25)
    factors = np.asarray(kernels.all_factors(key, (2, 3, 200, 100)))
    assert set(np.unique(factors)) == {np.float32(0), np.float32(1 / 0.75)}
    dropped = factors == 0
    for axes in [(2, 3), (0, 1, 3), (0, 1, 2)]:  # of heads, rows, columns
        share = dropped.mean(axes)
        spread = (0.25 * 0.75 / (dropped.size / share.size)) ** 0.5
        assert abs(share - 0.25).max() < 5 * spread
    flat = dropped.reshape(6, -1)
    assert abs(np.corrcoef(flat) - np.eye(6)).max() < 0.05
    assert abs(np.corrcoef(flat[:, :-1].ravel(), flat[:, 1:].ravel())[0, 1]) < 0.02


@pytest.mark.parametrize("way", ["lazy", "compiled"])
def test_dropout_follows_the_seed(kernels, way):
    device = "cuda" if flambeau.cuda.is_available() else "xla"
    query, key, value = [half(1, 2, n, 16, seed=i, device=device) for i, n in enumerate((12, 20, 20))]

    def attend(query, key, value):
        out = F.scaled_dot_product_attention(query, key, value, dropout_p=0.5)
        return out, *flambeau.autograd.grad(out.float().sum(), (query, key, value))

    run = flambeau.compile(attend) if way == "compiled" else attend
    run(query, key, value)

    def draw_from(seed):
        flambeau.manual_seed(seed)
        return [t.detach().float().cpu().numpy() for t in run(query, key, value)]

    first, again, other = draw_from(1), draw_from(1), draw_from(2)
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert (first[0] != other[0]).any() and (first[1] != other[1]).any()


def test_dropout_keeps_the_mean(kernels):
    device = "cuda" if flambeau.cuda.is_available() else "xla"
    query, ones = half(2, 2, 48, 16, seed=0, device=device), flambeau.ones(2, 2, 40, 16, dtype=flambeau.bfloat16)
    flambeau.manual_seed(0)
    out = F.scaled_dot_product_attention(query, query[:, :, :40], ones.to(device), dropout_p=0.25).detach().float()
    assert abs(out.mean().item() - 1) < 0.05
    assert out.std().item() > 0.02
