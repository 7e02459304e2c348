"""The native kernel of attention against the ops that store all attention weights."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flambeau
from engines.test_native import arrays, needs_native, width  # noqa: F401
from flambeau._tensor import wrap
from flambeau.engines import NUMPY
from flambeau.ops.attention import attention

KERNELS = ("fused_attention", "fused_attention_pull")


def outcomes(operands, g, scale, causal):
    """The result and all gradients."""
    tensors = [wrap(x).requires_grad_() for x in operands]
    out = attention(*tensors, None, None, scale=scale, causal=causal)
    return [out.detach().numpy(), *[x.numpy() for x in flambeau.autograd.grad(out, tensors, wrap(g))]]


def both(*arguments):
    """With the kernels, and with those that say that there is none."""
    with np.errstate(all="ignore"), pytest.MonkeyPatch.context() as patch:
        ours = outcomes(*arguments)
        for name in KERNELS:
            patch.setattr(NUMPY, name, getattr(NUMPY, name).__wrapped__)
        return ours, outcomes(*arguments)


@st.composite
def operands(draw, elements):
    """Query, key, value, and a gradient of the result."""
    lead = tuple(draw(st.lists(st.integers(1, 3), max_size=2)))
    queries, keys, depth, columns = [draw(st.integers(1, most)) for most in (80, 80, 20, 40)]
    dtype = (draw(st.sampled_from((np.float32, np.float64))),)
    shapes = ((queries, depth), (keys, depth), (keys, columns), (queries, columns))
    return [draw(arrays(dtype, (*lead, *shape), elements)) for shape in shapes]


@needs_native
@given(operands(st.just(0.5)), st.booleans(), st.sampled_from([0.2, 1.0, -0.5]))
@settings(max_examples=80, deadline=None)
def test_attention(operands, causal, scale):
    *operands, g = operands
    tolerance = 1e-4 if g.dtype == np.float32 else 1e-10
    for a, b in zip(*both(operands, g, scale, causal), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@needs_native
@given(operands(st.sampled_from([np.inf, -np.inf, np.nan, 1e30])))
@settings(max_examples=40, deadline=None)
def test_what_is_not_finite_spreads_as_in_ops(operands):
    *operands, g = operands
    for a, b in zip(*both(operands, g, 0.3, False), strict=True):
        np.testing.assert_array_equal(np.isfinite(a), np.isfinite(b))


@needs_native
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("keys", [1, 5, 40])
@pytest.mark.parametrize("causal", [False, True])
def test_a_query_that_no_key_answers_gets_zeros(dtype, keys, causal):
    rng = np.random.default_rng(0)
    q, k, v, g = (rng.standard_normal((2, n, 3)).astype(dtype) for n in (40, keys, keys, 40))
    q[:, ::2] = -np.abs(q[:, ::2])
    k[0] = np.inf
    k[1, -1] = np.nan
    (ours, *_), (ops, *_) = both((q, k, v), g, 0.5, causal)
    assert not ours[0, ::2].any()
    np.testing.assert_allclose(ours, ops, rtol=1e-4, atol=1e-4)


@needs_native
def test_what_has_no_kernel_is_left_to_the_ops():
    x = np.ones((2, 3, 4), np.float32)
    mask = np.ones((3, 3), bool)
    for arguments in ((x, x, x, mask, None, 1.0, False), (x, x, x, None, x, 1.0, False), (x, x[0], x, None, None, 1.0, True),
                      (x, x, x.astype(np.float64), None, None, 1.0, False), (x[:, :0], x, x, None, None, 1.0, False)):
        assert NUMPY.fused_attention(*arguments) is None
        assert NUMPY.fused_attention_pull(x, *arguments) is None
