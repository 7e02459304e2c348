"""Less usual calls: deprecated argument orders, numbers in tensors, sizes that do not fit in memory."""

import inspect
import warnings

import pytest

import flambeau
from _oracle import check_code
from flambeau.functions import _warn

TENSORS = """
m = torch.arange(1.0, 5.0).reshape(2, 2); n = m + 1; v = torch.tensor([1.0, 2.0]); w = v + 1
B = torch.arange(8.0).reshape(2, 2, 2); I = torch.tensor([[0, 1], [1, 0]]); half = torch.tensor(0.5)
"""
PRODUCTS = {"addmm": "m m n", "addmv": "v m w", "addr": "m v w", "addbmm": "m B B", "baddbmm": "B B B"}
DEPRECATED = [
    code
    for name, (x, a, b) in ((name, tensors.split()) for name, tensors in PRODUCTS.items())
    for code in (
        f"torch.{name}(2, {x}, {a}, {b})", f"torch.{name}(2, {x}, 3, {a}, {b})", f"{x}.{name}(2, {a}, {b})",
        f"{x}.{name}(2, 3, {a}, {b})", f"{x}.clone().{name}_(2, 3, {a}, {b})",
        f"torch.{name}(2, {x}, {a}, {b}, out=torch.empty(0))", f"torch.{name}(2, 3, 4, {a}, {b})",
    )
] + [
    code
    for name in ("addcmul", "addcdiv")
    for code in (f"torch.{name}(m, 2, m, n)", f"m.{name}(0.5, m, n)", f"m.clone().{name}_(half, m, n)",
                 f"torch.{name}(m, True, m, n)", f"torch.{name}(m, m, m, n)", f"torch.{name}(m, 'a', m, n)")
] + [
    code
    for name in ("add", "sub")
    for code in (f"torch.{name}(m, 2, n)", f"m.{name}(2, n)", f"m.clone().{name}_(2, n)", f"m.{name}(half, n)",
                 f"m.{name}(2, 3)")
]
NUMBERS = """
torch.lerp(m, n, half.double()); torch.lerp(m, n, torch.tensor(1)); torch.lerp(m.half(), n.half(), half)
m.clone().lerp_(n, half.double()); torch.lerp(m, n, n.double()); torch.lerp(m, n.double(), 0.5); torch.lerp(m, n, 1j)
torch.lerp(m + 0j, n + 0j, half); torch.lerp(I, I, 0.5); torch.isclose(m, n, rtol=half, atol=1.0)
torch.isclose(m, n, half); torch.isclose(m, n, rtol=1, atol=torch.tensor(1)); torch.isclose(m, n, torch.tensor([1.0]))
torch.isclose(m, n, v); torch.isclose(m, n, half.clone().requires_grad_()); torch.isclose(m, n, -half)
torch.allclose(m, n, half, half); m.isclose(n, half, half); torch.isclose(I, I + 1, 0.5, half)
torch.roll(m, 1, None); torch.roll(m, (1,), dims=None); torch.roll(m, (1, 2), dims=None); m.roll(1, None)
torch.cumsum(m, 0, dtype=torch.bool); torch.cumprod(m, 0, dtype=torch.bool); m.cumsum(0, dtype=torch.bool)
torch.arange(3, dtype=torch.complex64); torch.range(0, 3, dtype=torch.bool); torch.fft.fftfreq(4, dtype=torch.complex64)
torch.nansum(m, dtype=torch.complex64); torch.nansum(m + 0j); torch.lu_unpack(m, torch.tensor([5, 5], dtype=torch.int32))
""".replace("\n", "; ").strip("; ").split("; ")
HUGE = """
torch.bincount(I[0], minlength=2**45); torch.bincount(torch.tensor([2**45])); torch.randperm(2**46)
torch.histc(m, bins=2**46); torch.histogram(m, bins=2**46); torch.zeros(2**50); torch.full((2**50,), 1.0)
torch.rand(2**50); torch.randint(5, (2**50,)); torch.arange(2**50); torch.linspace(0, 1, 2**50); torch.eye(2**30)
torch.repeat_interleave(v, 2**50); torch.repeat_interleave(v, torch.tensor([2**50, 1])); v.expand(2**50, 2) + 1
torch.tril_indices(2**25, 2**25); torch.multinomial(v, 2**50, True); torch.nonzero_static(m, size=2**50)
torch.fft.fftfreq(2**50); torch.hann_window(2**50); v.expand(2**50, 2).contiguous(); m.new_empty(2**50)
torch.nn.functional.one_hot(I, 2**50); torch.zeros_like(v.expand(2**50, 2)); m.clone().resize_(2**50)
""".replace("\n", "; ").strip("; ").split("; ")


@pytest.fixture(autouse=True)
def forget_warnings():
    _warn.forget()


@pytest.mark.oracle
@pytest.mark.parametrize("code", DEPRECATED + [c for c in NUMBERS if "nansum(m, d" not in c])
def test_agrees_with_torch(code):
    check_code(TENSORS + code)


@pytest.mark.parametrize("code", HUGE)
def test_out_of_memory_is_a_runtime_error(code):
    names = {"torch": flambeau}
    exec(TENSORS, names)
    with pytest.raises(RuntimeError, match=r"can't allocate memory|tried to allocate") as error:
        eval(code, names)
    assert error.type is RuntimeError


def test_a_deprecated_overload_warns_once():
    m = flambeau.ones(2, 2)
    with pytest.warns(UserWarning, match="This overload of addcmul is deprecated"):
        assert flambeau.addcmul(m, 2, m, m).tolist() == [[3.0, 3.0]] * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert m.add(2, m).tolist() == [[3.0, 3.0]] * 2
        assert m.addmm(2, 3, m, m).tolist() == [[8.0, 8.0]] * 2


def test_deprecated_overloads_are_not_in_signatures():
    for name in (*PRODUCTS, "add", "sub", "addcmul", "addcdiv"):
        for function in (getattr(flambeau, name), getattr(flambeau.Tensor, name), getattr(flambeau.Tensor, name + "_")):
            assert "deprecated" not in inspect.signature(function).parameters
