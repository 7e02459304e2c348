"""Python's operators on tensors."""

import fractions
import operator

import numpy as np
import pytest

import flambeau
from _oracle import check_code

BINARY = ["+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">="]
OTHERS = [
    "x", "2", "2.5", "True", "1j", "None", "'a'", "[1, 2]", "i", "b", "np.float32(2)", "np.int64(2)", "np.float64(2)",
    "torch.tensor(3)", "object()",
]
OPERANDS = """
x = torch.tensor([1.5, -2.]); i = torch.tensor([5, -3]); b = torch.tensor([True, False])
"""


@pytest.mark.oracle
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("symbol", BINARY)
def test_operator_agrees_with_torch(symbol, other):
    for own in ("x", "i", "b"):
        if (own, symbol, other) != ("b", "**", "True"):  # PyTorch keeps bool there
            check_code(f"{OPERANDS}{own} {symbol} {other}")


@pytest.mark.oracle
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("symbol", BINARY[:12])
def test_reflected_operator_agrees_with_torch(symbol, other):
    for own in ("x", "i"):
        check_code(f"{OPERANDS}{other} {symbol} {own}")


# What is neither a tensor nor a number: Python asks it, and NumPy's arrays answer for themselves when on the right.
FOREIGN = [
    "None", "'a'", "[1, 2]", "(1, 2)", "{}", "object()", "Answers()", "np.array([1.0, 2.0])", "np.array([1, 2])",
    "np.array([1.0, 2.0], np.float32)", "np.array([True, False])", "np.array(2.0)", "np.array([1j, 2])", "np.ones((2, 2))",
    "np.ones(3)", "np.array([None, 1], object)", "fractions.Fraction(1, 2)", "b'a'",
]


class Answers:
    """Knows every operator, with itself on the right."""

    def answer(self, other):
        return "answered"

    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = answer
    __rand__ = __ror__ = __rxor__ = __rlshift__ = __rrshift__ = __rmatmul__ = answer


@pytest.mark.oracle
@pytest.mark.parametrize("other", FOREIGN)
def test_operators_defer_to_foreign_operands(other):
    tensors = ("torch.tensor([3.0, 4.0])", "torch.tensor([3, 4])", "torch.tensor([True, False])", "torch.tensor(3.0)",
               "torch.tensor([3.0, 4.0], requires_grad=True)")
    for own in tensors:
        for symbol in (*BINARY, "@"):
            names = {"Answers": Answers, "fractions": fractions}
            check_code(f"{own} {symbol} {other}", **names)
            if symbol not in BINARY[12:]:
                check_code(f"{other} {symbol} {own}", **names)
                check_code(f"x = y = {own}\nx {symbol}= {other}\n(x, x is y)", **names)
                check_code(f"x = y = {other}\nx {symbol}= {own}\nx", **names)


def test_operators_defer_to_foreign_operands_without_torch():
    x = flambeau.ones(2, requires_grad=True)
    for name in IN_PLACE:
        assert getattr(flambeau.Tensor, f"__{name}__")(x, None) is NotImplemented
    assert x.detach() + Answers() == "answered"
    y = flambeau.ones(2)
    y += np.array([1.0, 2.0])
    assert y.tolist() == [2.0, 3.0] and y.dtype is flambeau.float64
    with pytest.raises(TypeError):
        np.ones(2) + y


# Bitwise operators have no floats beside them: there PyTorch complains of the result's dtype before the operands'.
IN_PLACE_PAIRS = [(symbol, other) for symbol in BINARY[:12] for other in ("x", "2", "2.5", "i", "None")
                  if symbol not in BINARY[7:12] or other not in ("x", "2.5")]


@pytest.mark.oracle
@pytest.mark.parametrize(("symbol", "other"), IN_PLACE_PAIRS)
def test_in_place_operator_agrees_with_torch(symbol, other):
    for own in ("x", "i"):
        check_code(f"{OPERANDS}z = {own}.clone()\nsame = z\nz {symbol}= {other}\n(z, z is same)")


@pytest.mark.oracle
@pytest.mark.parametrize("code", ["-x", "+x", "abs(x)", "~i", "~b", "~x", "-b", "+b", "abs(b)"])
def test_unary_operator_agrees_with_torch(code):
    check_code(OPERANDS + code)


IN_PLACE = {"iadd": [3.0, 4.0], "isub": [-1.0, 0.0], "imul": [2.0, 4.0], "itruediv": [0.5, 1.0], "ipow": [1.0, 4.0],
            "imod": [1.0, 0.0], "ifloordiv": [0.0, 1.0]}


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_operator_returns_its_tensor(name):
    x = flambeau.tensor([1.0, 2.0])
    assert getattr(operator, name)(x, 2) is x
    np.testing.assert_array_equal(x.numpy(), IN_PLACE[name])


def test_comparison_with_something_else():
    x = flambeau.ones(2)
    assert (x == None) is False and (x != None) is True  # noqa: E711
    assert x not in [None, "a"]
    with pytest.raises(TypeError, match="'<' not supported"):
        assert x < None
    with pytest.raises(TypeError, match="unsupported operand"):
        x + "a"


@pytest.mark.oracle
@pytest.mark.parametrize("symbol", BINARY[:7])
def test_arithmetic_with_an_array(symbol):
    check_code(f"{OPERANDS}x {symbol} np.array([1.0, 2.0])")


@pytest.mark.parametrize(("name", "error"), [
    ("__add__", TypeError), ("__radd__", TypeError), ("__rmul__", TypeError), ("__rand__", TypeError),
    ("__rtruediv__", AttributeError), ("__rdiv__", AttributeError),
])
def test_the_operand_on_the_left_is_a_tensor(name, error):
    with pytest.raises(error, match="'int' object"):
        getattr(flambeau.Tensor, name)(1, flambeau.ones(2))


def test_tensors_stay_hashable():
    x = flambeau.ones(2)
    assert len({x, x, flambeau.ones(2)}) == 2


def test_a_chain_of_operators_is_differentiated():
    x = flambeau.tensor([2.0, 3.0], requires_grad=True)
    y = 1 - 6 / x + x**2 * 2 - (x % 2) + abs(-x)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 6 / np.array([4, 9]) + 4 * np.array([2, 3]), rtol=1e-6)
