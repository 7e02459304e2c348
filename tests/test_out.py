"""``out=``: every function that has it, with every kind of tensor."""

import inspect
import warnings

import numpy as np
import pytest

import flambeau
from _outs import ALIASES, CALLS, GRADS, KINDS, WITHOUT_OUT, Asked

# Where Flambeau is not like PyTorch, and why: {what: calls}, each by the start of the call.
STRICTER = {  # PyTorch lets memory overlap where it does not look, computes rubbish, or records a copy into `out`
    "expanded": tuple(CALLS),
    "meta": ("amax(i)", "lu(m)", "mean(x)", "linalg.solve_triangular"),
    "overlaps the input": ("special.ndtr",),
}
RECORDED = (  # composed functions, which PyTorch records although there is an out=
    "conj_physical", "diag(", "fft.ifft(", "fft.ihfft(", "floor_divide", "heaviside", "inner", "linalg.cond",
    "linalg.eigvals(", "linalg.matrix_norm", "linalg.tensor", "linalg.norm", "log_softmax", "lu(", "nanquantile",
    "quantile", 'scatter(x, 1, k, y, reduce="add")', "slice_scatter", "softmax", "special.ndtr(", "tensordot",
    # of which only a copy into an out= that requires grad is recorded
    "arange", "bitwise", "eye", "fft.fftfreq", "fft.rfftfreq", "full", "gcd", "lcm", "histogram", "linalg.ldl_",
    "linspace", "logspace", "normal(0.0, 1.0", "ones", "rand", "range", "zeros", "linalg.matrix_rank",
    "kron", "take_along_dim", "isin", "mvlgamma", "special.multigammaln", "outer", "ger", "geqrf",
)
LOOSER = {  # PyTorch has no such overload, or refuses by an internal error
    "ldexp(x, i)": ("float16", "float64", "complex64"), "geqrf": GRADS[:1],
    "argsort(x, stable=True)": GRADS[:1], "normal(x, 1.0)": ("empty", "wrong_size", "growing"),
    "matmul(B, m)": ("transposed",),
}
ROWS = ("qr", "svd", "inverse", "triangular_solve", "lu_solve", "linalg.", "cholesky_inverse", "geqrf", "orgqr", "ormqr")
OTHER_TYPES = {("NotImplementedError", "RuntimeError"), ("AttributeError", "TypeError")}
NOT_SUPPORTED = ("lu(m)", "nan", "var", "std", "geqrf", "masked_select", "histogram")  # refusals of another type


@pytest.fixture(scope="module")
def both():
    torch = pytest.importorskip("torch")
    return Asked(torch), Asked(flambeau)


@pytest.mark.oracle
@pytest.mark.parametrize("kind", [*KINDS, *GRADS, *ALIASES])
def test_every_function_takes_out_as_pytorch_does(both, kind):
    wrong = []
    for call in CALLS:
        want, got = both[0].outcome(call, kind), both[1].outcome(call, kind)
        if want is not None and (difference := disagreement(call, kind, want, got)):
            wrong.append(f"{call} with {kind}: {difference}")
    assert not wrong, "\n".join(wrong)


def disagreement(call, kind, want, got):
    """What is not as in PyTorch, in words; None if nothing is."""
    refused, refuses = isinstance(want[0], str), isinstance(got[0], str)
    if refused and refuses:
        pair = want[0], got[0]
        same = pair[0] == pair[1] or (pair in OTHER_TYPES and call.startswith(NOT_SUPPORTED))
        return None if same else f"{got} for PyTorch's {want}"
    if refuses:
        recorded = kind in ("in_graph", *GRADS) and call.startswith(RECORDED)
        return None if recorded or call.startswith(STRICTER.get(kind, ())) else f"refused: {got}"
    if refused:
        allowed = next((kinds for start, kinds in LOOSER.items() if call.startswith(start)), ())
        return None if kind in allowed else f"accepted, but PyTorch raises {want}"
    return next((f"{key}: {b}, not {a}" for (key, a), (_, b) in zip(want, got) if not alike(call, kind, key, a, b)), None)


def alike(call, kind, key, want, got):
    if key == "layout" and kind in ("empty", "growing", "wrong_size", "wrong_view") and call.startswith(ROWS):
        return [o[:2] for o in got] == [o[:2] for o in want]  # decompositions give rows
    if key in ("values", "around"):
        if kind in ALIASES or (kind == "growing" and call == "normal(x, 1.0)") or (key == "around" and kind == "wrong_view" and call.startswith(ROWS)):
            return True  # of an out= that is an input only the refusals are compared: PyTorch may compute rubbish
        if (call, kind) == ("fft.fftfreq(4)", "strided") or (kind == "uint8" and call.startswith(("all(x", "any(x"))):
            return True  # PyTorch's fftfreq writes between the elements; its all and any truncate to uint8 first
        tolerance = 2e-3 if kind == "float16" else 1e-4
        return all(a.shape == b.shape and np.allclose(a, b, tolerance, 1e-5, equal_nan=True) for a, b in zip(want, got))
    if key == "warnings" and call.startswith("normal(0.0, 1.0"):
        return True
    return (want == got) or (call.startswith("normal(x, 1.0)") and kind == "growing")


@pytest.mark.oracle
@pytest.mark.parametrize("call", WITHOUT_OUT)
def test_pytorch_has_no_out_for(both, call):
    assert [asked.outcome(call, "same")[0] for asked in both] == ["TypeError", "TypeError"]


# ---- without PyTorch


@pytest.mark.parametrize("call", CALLS)
def test_the_result_is_in_out(call):
    """Right in a tensor of the right kind, in every second element of one (and nowhere else), and in an empty one."""
    asked = Asked(flambeau)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [r.tolist() for r in asked.result(call)]
    for kind in ("same", "strided", "empty"):
        outcome = dict(asked.outcome(call, kind))
        assert all(outcome["same objects"]) and not outcome["warnings"]
        for got, want in zip(outcome["values"], expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6)
        if kind == "strided":
            for whole in outcome["around"]:
                np.testing.assert_array_equal(whole[..., 0::2] if whole.ndim != 1 or len(whole) != 3 else whole[[0, 2]],
                                              np.full_like(whole, 1 if whole.dtype == bool else 7)[..., 0::2])


def test_every_function_with_out_is_in_the_table():
    names = {call.partition("(")[0] for call in CALLS}
    for path in ("", "linalg.", "fft.", "special.", "nn.functional."):
        module = eval(f"flambeau.{path}"[:-1])
        for name in getattr(module, "__all__", dir(module)):
            function = getattr(module, name)
            if inspect.isfunction(function) and "out" in inspect.signature(function).parameters and name != "empty":
                assert path + name in names or (path == "nn.functional." and name in names), path + name


def test_methods_have_no_out():
    for name in dir(flambeau.Tensor):
        method = getattr(flambeau.Tensor, name)
        if inspect.isfunction(method):
            assert "out" not in inspect.signature(method).parameters, name


def test_no_function_writes_for_itself():
    for call in ("add(x, y)", "cat([x, y])", "linspace(0, 1, 4)", "linalg.inv(m)"):
        asked = Asked(flambeau)
        (result,) = asked.result(call)
        out = flambeau.zeros_like(result)
        asked.run(call, asked.tensors(call), out=out)
        assert out._version == 1


def test_a_range_fills_a_view_of_as_many_elements():
    base = flambeau.zeros(4, 6)
    for function in (lambda out: flambeau.arange(6, out=out), lambda out: flambeau.linspace(0, 5, 6, out=out)):
        base.zero_()
        view = base[::2, ::2]
        assert function(view) is view
        assert base.tolist() == [[0, 0, 1, 0, 2, 0], [0] * 6, [3, 0, 4, 0, 5, 0], [0] * 6]
