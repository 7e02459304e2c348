"""Attention by a kernel on a GPU. Here jax's formula stands for the kernel, which takes sequences of even length."""

import numpy as np
import pytest

pytestmark = pytest.mark.jax


@pytest.fixture
def attention(monkeypatch):
    from flambeau.engines.xla import attention

    monkeypatch.setattr(attention, "IMPLEMENTATION", "xla")
    return attention


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("lengths", [(6, 6), (7, 7), (4, 7), (7, 4)], ids=str)
def test_sequences_of_all_lengths(attention, lengths, causal):
    import jax
    import jax.numpy as jnp

    queries, keys = lengths
    shapes = [(2, 3, n, 8) for n in (queries, keys, keys, queries)]
    *inputs, g = [jax.random.normal(jax.random.key(i), s).astype(jnp.bfloat16) for i, s in enumerate(shapes)]
    got, pull = jax.vjp(lambda *x: attention.by_cudnn(*x, 0.3, causal), *inputs)
    want, pull_formula = jax.vjp(lambda *x: attention.formula(*x, None, None, 0.3, causal), *inputs)
    for a, b in zip((got, *pull(g)), (want, *pull_formula(g)), strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a.astype(np.float32), b.astype(np.float32), rtol=0.05, atol=0.05)
