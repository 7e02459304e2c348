"""The order in which elements get their random numbers is PyTorch's, for every memory layout."""

import warnings

import numpy as np
import pytest

import flambeau
from _oracle import to_array

# Names of layouts and what makes a tensor of ones that lies so.
LAYOUTS = {
    "channels_last": "t.ones(2, 3, 4, 5).contiguous(memory_format=t.channels_last)",
    "channels_last_narrow": "t.ones(2, 6, 4, 4).contiguous(memory_format=t.channels_last)[:, 1:4]",
    "channels_last_1x1": "t.ones(6, 3, 1, 1).contiguous(memory_format=t.channels_last)",
    "channels_last_3d": "t.ones(2, 3, 4, 5, 2).contiguous(memory_format=t.channels_last_3d)",
    "transposed": "t.ones(30, 6).t()",
    "permuted": "t.ones(2, 3, 4, 5).permute(2, 0, 3, 1)",
    "every_other": "t.ones(6, 8)[:, ::2]",
    "every_other_transposed": "t.ones(6, 8)[:, ::2].t()",
    "expanded": "t.ones(1, 4).expand(6, 4)",
}

DRAWS = """
    t.rand_like(x); t.randn_like(x); t.randint_like(x, 10)
    t.rand(x.shape, out=y); t.randn(x.shape, out=y); t.randint(5, x.shape, out=y); t.normal(0.0, 1.0, x.shape, out=y)
    t.normal(x, x, out=y); t.bernoulli(x * 0.5, out=y); t.rand(x.shape, out=y.clone()); t.normal(x, x, out=y.clone())
    t.normal(x, x); t.normal(x, 2.0); t.normal(1.0, x); t.bernoulli(x * 0.5); t.bernoulli(x, 0.3); t.poisson(x * 3)
    t.binomial(x * 4, x * 0.5); t.multinomial(x.reshape(-1, x.shape[-1]), 2); t.multinomial(x[(0,) * (x.ndim - 2)].t(), 2)
    y.uniform_(); y.uniform_(-1, 2); y.normal_(); y.normal_(1, 2); y.bernoulli_(); y.bernoulli_(0.3); y.bernoulli_(x * 0.5)
    y.random_(); y.random_(10); y.random_(-5, 7); y.exponential_(); y.cauchy_(); y.log_normal_(); y.geometric_(0.3)
    (y.requires_grad_() * 1).normal_(); (y.requires_grad_() * 1)[..., ::2].normal_()
    t.dropout(x, 0.5, True); t.nn.functional.alpha_dropout(x, 0.5, True); t.feature_dropout(x, 0.5, True)
    t.nn.functional.rrelu(-x, training=True); t.nn.functional.gumbel_softmax(x)
    t.nn.init.kaiming_normal_(y); t.nn.init.kaiming_uniform_(y); t.nn.init.xavier_normal_(y); t.nn.init.orthogonal_(y)
    t.nn.init.trunc_normal_(y); t.nn.init.trunc_normal_(y, 0.0, 1.0, 1.0, 2.0); t.nn.init.sparse_(y, 0.3)
"""
DRAWS = [d.strip() for line in DRAWS.strip().splitlines() for d in line.split(";")]


def run(t, layout, draw, dtype="float32"):
    """(what is drawn, what the generator gives next), or the type of the error."""
    lay = lambda: eval(layout, {"t": t}).to(getattr(t, dtype))  # noqa: E731
    t.manual_seed(5)
    try:
        with t.no_grad() if "requires_grad_" not in draw else t.enable_grad():
            x = lay()
            y = lay() if "expand" not in layout else t.ones(6, 4)
            drawn = eval(draw, {"t": t, "x": x, "y": y})
    except Exception as error:
        return type(error).__name__, None
    return to_array(drawn), t.rand(1).item()


@pytest.mark.oracle
@pytest.mark.parametrize("layout", LAYOUTS)
def test_draws_in_pytorchs_order(layout):
    torch = pytest.importorskip("torch")
    wrong = []
    for draw in DRAWS:
        (want, next_there), (got, next_here) = (run(t, LAYOUTS[layout], draw) for t in (torch, flambeau))
        if isinstance(want, str):
            same = isinstance(got, str)
        else:
            same = not isinstance(got, str) and np.allclose(got, want, 1e-4, 1e-5) and next_here == next_there
        if not same:
            wrong.append(draw)
    assert wrong == []


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int64", "uint8", "bool"])
def test_fills_of_other_dtypes_in_pytorchs_order(dtype):
    torch = pytest.importorskip("torch")
    fills = [draw for draw in DRAWS if draw.startswith("y.") and "x" not in draw.replace("exp", "")]
    wrong = []
    for layout in ("channels_last", "transposed", "every_other"):
        for fill in fills:
            want, got = (run(t, LAYOUTS[layout], fill, dtype) for t in (torch, flambeau))
            same = got == want if isinstance(want[0], str) else np.allclose(got[0], want[0], 1e-5) and got[1] == want[1]
            if not same:
                wrong.append((layout, fill))
    assert len(fills) > 10 and wrong == []


def test_channels_last_parameters_are_drawn_in_memory_order():
    y = flambeau.empty(2, 3, 4, 5).contiguous(memory_format=flambeau.channels_last)
    flambeau.manual_seed(0)
    flat = flambeau.empty(120).uniform_()
    flambeau.manual_seed(0)
    assert y.uniform_().permute(0, 2, 3, 1).flatten().equal(flat)


# ---- channels: what is a batch, what a single sample


@pytest.mark.oracle
@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", ["dropout1d", "dropout2d", "dropout3d"])
def test_channel_dropout_of_every_number_of_dimensions(name, training, inplace):
    torch = pytest.importorskip("torch")

    def ask(t, dims):
        x = t.ones((3,) * dims)
        t.manual_seed(5)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                out = getattr(t.nn.functional, name)(x, 0.5, training, inplace)
            except Exception as error:
                return type(error).__name__, str(error)[:50], len(caught)
        return out.tolist(), out is x, tuple(x.shape), [str(w.message)[:60] for w in caught]

    for dims in range(8):
        assert ask(flambeau, dims) == ask(torch, dims), dims


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_dropout_scales_as_torch_does(dtype):
    """To the last bit: neither the probability nor what is multiplied by is rounded otherwise."""
    torch = pytest.importorskip("torch")

    def ask(t, p):
        x, f = t.arange(50, dtype=getattr(t, dtype)) / 7, t.nn.functional
        t.manual_seed(5)
        outs = f.dropout(x, p), f.dropout2d(x.view(5, 10, 1, 1), p), f.alpha_dropout(x, p, True), \
            f.feature_alpha_dropout(x.view(5, 10, 1), p, True)
        return [out.flatten().tolist() for out in outs]

    for p in (*np.linspace(0.01, 0.99, 99).tolist(), 0.99999):
        assert ask(flambeau, p) == ask(torch, p), p


@pytest.mark.parametrize("dtype", ["int64", "bool"])
@pytest.mark.parametrize("name", ["dropout", "feature_dropout", "alpha_dropout"])
def test_dropout_of_integers_is_refused(name, dtype):
    x = flambeau.ones(4, 2, dtype=getattr(flambeau, dtype))
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type"):
        getattr(flambeau, name)(x, 0.5, True)
    assert getattr(flambeau, name)(x, 0.5, False) is x


def test_a_single_sample_loses_whole_channels():
    flambeau.manual_seed(0)
    for name, shape in (("dropout1d", (64, 2)), ("dropout3d", (64, 2, 1, 2))):
        sums = getattr(flambeau.nn.functional, name)(flambeau.ones(shape)).flatten(1).mean(1).tolist()
        assert set(sums) == {0.0, 2.0}
    with pytest.raises(RuntimeError, match="Expected 2D or 3D input"):
        flambeau.nn.functional.dropout1d(flambeau.ones(1, 2, 3, 4))
