"""Elementwise arithmetic, rounding and selection, and the rules of type promotion."""

import functools

import numpy as np

from .. import _dtypes
from .._dtypes import BOOL_TYPE, FIRST_FLOAT, LAST_FLOAT, check_int, type_word
from .._modes import modes
from .._tensor import Tensor
from ..ops import pointwise as ops
from ..ops._op import result_dtype
from ..ops.shape import cast
from ._args import as_float, as_int, as_number, need_tensor
from ._attach import inplace_methods, methods
from ._binary import alias, binary, need_operand, operands
from ._data import scalar_for
from ._deprecated import hide, old_order
from ._inplace import inplace_arithmetic
from ._out import castable, out_variant, same
from ._unary import unary

__all__ = [
    "abs", "abs_", "absolute", "add", "addcdiv", "addcmul", "ceil", "ceil_", "clamp", "clamp_", "clamp_max",
    "clamp_max_", "clamp_min", "clamp_min_", "clip", "clip_", "copysign", "div", "divide", "fix", "fix_",
    "floor", "floor_", "floor_divide", "fmax", "fmin", "fmod", "frac", "frac_", "gcd", "gcd_", "heaviside",
    "lcm", "lcm_", "lerp", "maximum", "minimum", "mul", "multiply", "nan_to_num", "nan_to_num_", "neg",
    "neg_", "negative", "negative_", "nextafter", "positive", "remainder", "result_type", "round", "round_",
    "rsub", "sgn", "sign", "signbit", "sub", "subtract", "true_divide", "trunc", "trunc_", "where",
]

ALPHA_BOOL = "Boolean alpha only supported for Boolean results."
ALPHA_COMPLEX = "For non-complex input tensors, argument alpha must not be a complex number."
ALPHA_FLOAT = "For integral input tensors, argument alpha must not be a floating point number."
ROUNDING_MODE = "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found {mode!r}"
NOT_A_MASK = "where expected condition to be a boolean tensor, but got a tensor with dtype {word}"
MIXED_BOUNDS = (
    "clamp() received an invalid combination of arguments: 'min' and 'max' must both be numbers or both be Tensors, "
    "but got {min} and {max}"
)
NO_BOUND = "torch.clamp: At least one of 'min' or 'max' must not be None"
INTEGER_ADDCDIV = (
    "Integer division with addcdiv is no longer supported: convert the tensors to a floating dtype first, or "
    "use (input + value * trunc(tensor1 / tensor2)).to(input.dtype)."
)
ABS_COMPLEX = "In-place abs is not supported for complex tensors. Use abs(), whose result is real."
NO_COMPLEX_NAN_TO_NUM = (
    "nan_to_num does not support automatic differentiation for outputs with complex dtype. Detach the input, or treat "
    "its real and imaginary parts on their own."
)


def result_type(*operands, **named):
    """The dtype of an operation on two operands, tensors or numbers."""
    operands += tuple(named.values())
    if len(operands) != 2:
        raise TypeError(f"result_type() takes 2 operands but {len(operands)} were given")
    for position, value in enumerate(operands, 1):
        need_operand(value, "result_type", f"tensor{position}", position, numbers=True)
    return result_dtype(operands)


# ---- sums, products, quotients


def factor(input, other, alpha, name):
    """``alpha`` as a Python number that fits a sum of dtype result_type(input, other)."""
    alpha = as_number(alpha, name, "alpha")
    kind = result_dtype((input, other))
    if isinstance(alpha, bool) and kind is not _dtypes.bool_:
        raise RuntimeError(ALPHA_BOOL)
    if isinstance(alpha, complex) and kind.category < _dtypes.COMPLEX:
        raise RuntimeError(ALPHA_COMPLEX)
    if not isinstance(alpha, int) and kind.category < _dtypes.FLOAT:
        raise RuntimeError(ALPHA_FLOAT)
    alpha = scalar_for(alpha, kind.np)
    return float(np.asarray(alpha).astype(kind.np)) if kind.np in _dtypes.HALF else alpha  # rounded as in PyTorch


def number_for(value, *operands):
    """Converts ``value`` to a Python number that fits the dtype in which the operands are computed."""
    dtype = result_dtype(operands).np
    dtype = np.dtype(np.float32) if dtype in _dtypes.HALF else dtype
    return scalar_for(value, dtype)


def is_unrecorded(input, other):
    """Whether both are float32 or float64 and nothing is recorded: two plain ops are then faster."""
    if not isinstance(input, Tensor) or not isinstance(other, Tensor) or (modes.grad and (input._rg or other._rg)):
        return False
    return input._a.dtype is other._a.dtype and FIRST_FLOAT <= input._a.dtype.num <= LAST_FLOAT


@out_variant
def add(input, other, *deprecated, alpha=1):
    """``input + alpha * other``, with broadcasting and type promotion."""
    if deprecated:
        (input, other), (alpha,) = old_order("add", 2, input, other, *deprecated)
    if not isinstance(input, Tensor) or not isinstance(other, Tensor):
        input, other = operands(input, other, "add", either=True)
    if type(alpha) is int and alpha == 1:
        result = ops.add(input, other)
    elif type(alpha) is float and is_unrecorded(input, other):
        result = ops.add(input, ops.mul(other, alpha))
    else:
        result = ops.add_scaled(input, other, alpha=factor(input, other, alpha, "add"))
    return result


@out_variant
def sub(input, other, *deprecated, alpha=1):
    """``input - alpha * other``, with broadcasting and type promotion."""
    if deprecated:
        (input, other), (alpha,) = old_order("sub", 2, input, other, *deprecated)
    if not isinstance(input, Tensor) or not isinstance(other, Tensor):
        input, other = operands(input, other, "sub", either=True)
    if type(alpha) is int and alpha == 1:
        result = ops.sub(input, other)
    else:
        ops.no_bools(getattr(input, "_a", input), getattr(other, "_a", other))
        result = ops.sub_scaled(input, other, alpha=factor(input, other, alpha, "sub"))
    return result


def rsub(input, other, *, alpha=1):
    """``other - alpha * input``."""
    if not isinstance(input, Tensor) or not isinstance(other, Tensor):
        input, other = operands(input, other, "rsub")
    if type(alpha) is not int or alpha != 1:
        ops.no_bools(getattr(input, "_a", input), getattr(other, "_a", other))
        input = input * factor(other, input, alpha, "rsub")
    return ops.rsub(input, other)


mul = binary(ops.mul, "mul", "The product of each pair of elements.", either=True)
_ROUNDED = {None: ops.div, "floor": ops.div_floor, "trunc": ops.div_trunc}


@out_variant
def div(input, other, *, rounding_mode=None):
    """The quotient of each pair of elements; ``rounding_mode`` "floor" or "trunc" rounds it."""
    if not isinstance(input, Tensor) or not isinstance(other, Tensor):
        input, other = operands(input, other, "div", either=True)
    if rounding_mode is None:
        result = ops.div(input, other)
    elif rounding_mode in _ROUNDED:
        result = _ROUNDED[rounding_mode](input, other)
    else:
        raise RuntimeError(ROUNDING_MODE.format(mode=rounding_mode))
    return result


true_divide = binary(ops.div, "true_divide", "The quotient of each pair of elements.", either=True)
floor_divide = binary(ops.floor_divide, "floor_divide", "The quotient rounded down to a whole number.", either=True)
remainder = binary(ops.remainder, "remainder", "Python's ``%``: the remainder with the sign of ``other``.", either=True)
fmod = binary(ops.fmod, "fmod", "C's ``fmod``: the remainder with the sign of ``input``.")
multiply, divide, subtract = alias(mul, "multiply"), alias(div, "divide"), alias(sub, "subtract")

maximum = binary(ops.maximum, "maximum", "The larger of each pair; nan where one is nan.", numbers=False)
minimum = binary(ops.minimum, "minimum", "The smaller of each pair; nan where one is nan.", numbers=False)
fmax = binary(ops.fmax, "fmax", "The larger of each pair, of a number and nan the number.", numbers=False)
fmin = binary(ops.fmin, "fmin", "The smaller of each pair, of a number and nan the number.", numbers=False)
copysign = binary(ops.copysign, "copysign", "The magnitude of ``input`` with the sign of ``other``.")
nextafter = binary(
    ops.nextafter, "nextafter", "The next floating number after ``input`` towards ``other``.",
    numbers=False,
)
gcd = binary(ops.gcd, "gcd", "The greatest common divisor of each pair of integers.", numbers=False)
lcm = binary(ops.lcm, "lcm", "The least common multiple of each pair of integers.", numbers=False)


@out_variant(dtype=same)
def heaviside(input, values):
    """0 for negative elements, 1 for positive ones, ``values`` for zeros."""
    operands(input, values, "heaviside", numbers=False, second="values")
    complex_ = "c" in (input._a.dtype.kind, values._a.dtype.kind)
    if complex_ or input.dtype is not values.dtype:
        what = "complex tensors" if complex_ else "tensors with different dtypes"
        raise RuntimeError(f"heaviside is not yet implemented for {what}: {input.dtype} and {values.dtype}")
    return ops.heaviside(input, values)


@out_variant
def addcmul(input, tensor1, tensor2, *deprecated, value=1):
    """``input + value * tensor1 * tensor2``."""
    if deprecated:
        (input, tensor1, tensor2), (value,) = old_order("addcmul", 3, input, tensor1, tensor2, *deprecated)
    for position, t in enumerate((input, tensor1, tensor2), 1):
        need_tensor(t, "addcmul", ("input", "tensor1", "tensor2")[position - 1], position)
    value = as_number(value, "addcmul", "value")
    return ops.addcmul(input, tensor1, tensor2, value=number_for(value, input, tensor1, tensor2))


@out_variant
def addcdiv(input, tensor1, tensor2, *deprecated, value=1):
    """``input + value * tensor1 / tensor2``."""
    if deprecated:
        (input, tensor1, tensor2), (value,) = old_order("addcdiv", 3, input, tensor1, tensor2, *deprecated)
    for position, t in enumerate((input, tensor1, tensor2), 1):
        need_tensor(t, "addcdiv", ("input", "tensor1", "tensor2")[position - 1], position)
    if result_dtype((tensor1, tensor2)).category < _dtypes.FLOAT:
        raise RuntimeError(INTEGER_ADDCDIV)
    value = as_number(value, "addcdiv", "value")
    return ops.addcdiv(input, tensor1, tensor2, value=number_for(value, input, tensor1, tensor2))


def weight_rule(result, out, name, args):
    """Castable dtypes if the weight is a number (or 0-dim tensor), else only the result's dtype."""
    rule = same if isinstance(args[2], Tensor) and args[2].ndim else castable
    rule(result, out, name, args)


@out_variant(dtype=weight_rule)
def lerp(input, end, weight):
    """``input + weight * (end - input)``."""
    operands(input, end, "lerp", numbers=False, second="end")
    weight = need_operand(weight, "lerp", "weight", 3, numbers=True)
    if isinstance(weight, complex) and not input.is_complex():
        raise RuntimeError(f"lerp(): value cannot be converted to type float without overflow (weight={weight})")
    if isinstance(weight, Tensor) and not weight._a.ndim:
        weight = in_dtype(weight, input._a.dtype)  # treated like a number
    for name, t in (("end", end), ("weight", weight)):
        if isinstance(t, Tensor) and t.dtype is not input.dtype:
            raise RuntimeError(f"lerp(): expected dtype {input.dtype} for `{name}` but got dtype {t.dtype}")
    if isinstance(weight, (complex, float)) and input.dtype.category >= _dtypes.FLOAT:
        weight = number_for(weight, input)
    return ops.lerp(input, end, weight)


# ---- signs and rounding


def magnitude(result, out, name, args):
    """The result's dtype only; castable ones for a complex input."""
    rule = castable if args[0].is_complex() else same
    rule(result, out, name, args)


abs = unary(ops.abs_, "abs", "The absolute value of each element.", dtype=magnitude)
neg = unary(ops.neg, "neg", "The negative of each element.", dtype=same)
sign = unary(ops.sign, "sign", "-1, 0 or 1: the sign of each element; 0 for nan.", dtype=same)
sgn = unary(ops.sgn, "sgn", "The sign of each element; a complex one divided by its absolute value.", dtype=same)
signbit = unary(ops.signbit, "signbit", "Whether the sign bit of each element is set; it is for -0.0.", dtype=same)
ceil = unary(ops.ceil, "ceil", "Each element rounded up to a whole number.", dtype=same)
floor = unary(ops.floor, "floor", "Each element rounded down to a whole number.", dtype=same)
trunc = unary(ops.trunc, "trunc", "Each element rounded towards zero.", dtype=same)
frac = unary(ops.frac, "frac", "The part of each element behind the point, with its sign.", dtype=same)
absolute, negative, fix = alias(abs, "absolute"), alias(neg, "negative"), alias(trunc, "fix")


def positive(input):
    """The tensor itself; rejects bool tensors, since ``+`` is arithmetic."""
    need_tensor(input, "positive")
    if input._a.dtype.num == BOOL_TYPE:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@out_variant(dtype=same)
def round(input, *, decimals=0):
    """Rounds each element to an integer (or to ``decimals`` places), half to even."""
    need_tensor(input, "round")
    decimals = decimals and as_int(decimals, "round", "decimals")
    return ops.round_(input) if decimals == 0 else ops.round_decimals(input, decimals=decimals)


# ---- choice


_PLAIN = (int, float, type(None))


def bounds_rule(result, out, name, args):
    """Castable dtypes if the bounds are tensors, only the result's dtype if they are numbers."""
    rule = castable if any(isinstance(bound, Tensor) for bound in args[1:]) else same
    rule(result, out, name, args)


@out_variant(dtype=bounds_rule)
def clamp(input, min=None, max=None):
    """Clamps each element to [``min``, ``max``]: both numbers, or both tensors; one may be None."""
    if not isinstance(input, Tensor):
        need_tensor(input, "clamp")
    if isinstance(min, Tensor) is not isinstance(max, Tensor) and min is not None and max is not None:
        min, max = _as_number(min), _as_number(max)
        if isinstance(min, Tensor) or isinstance(max, Tensor):
            raise TypeError(MIXED_BOUNDS.format(min=type(min).__name__, max=type(max).__name__))
    has_nan = (type(min) is float and min != min) or (type(max) is float and max != max)  # the result is then all NaN
    for bound in (min, max):
        if type(bound) is int:
            check_int(bound)
        elif type(bound) is float and input._a.dtype.kind != "c" and not has_nan:
            own = input._a.dtype
            scalar_for(bound, own if own.kind == "f" else result_dtype((input, bound)).np)
    numbers = type(min) in _PLAIN and type(max) in _PLAIN and min is not max
    if numbers and FIRST_FLOAT <= input._a.dtype.num <= LAST_FLOAT:
        return ops.clamp_numbers(input, low=min, high=max)
    if min is None and max is None:
        raise RuntimeError(NO_BOUND)
    low = min if min is None else need_operand(min, "clamp", "min", 2, numbers=True)
    high = max if max is None else need_operand(max, "clamp", "max", 3, numbers=True)
    return ops.clamp(input, low, high)


def _as_number(bound):
    """Converts a 0-dim tensor that does not require grad to its number."""
    return bound.item() if isinstance(bound, Tensor) and not bound._a.ndim and not bound.requires_grad else bound


@out_variant(dtype=bounds_rule)
def clamp_min(input, min):
    """The elementwise maximum with ``min``."""
    return ops.clamp_min(*operands(input, min, "clamp_min", second="min"))


@out_variant(dtype=bounds_rule)
def clamp_max(input, max):
    """The elementwise minimum with ``max``."""
    return ops.clamp_max(*operands(input, max, "clamp_max", second="max"))


clip = alias(clamp, "clip")


def choice_rule(result, out, name, args):
    """The result's dtype only; PyTorch supports ``out=`` only with tensor operands."""
    for position, value in enumerate(args[1:3], 2):
        need_tensor(value, name, ("input", "other")[position - 2], position)
    same(result, out, name, args)


@out_variant(dtype=choice_rule)
def where(condition, input=None, other=None, *, self=None):
    """``input`` where the condition holds, ``other`` elsewhere; with the condition alone, its nonzero indices."""
    if not isinstance(condition, Tensor):
        need_tensor(condition, "where", "condition")
    input = self if input is None else input  # PyTorch accepts both names
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if not isinstance(input, Tensor):
        input = need_operand(input, "where", "input", 2, numbers=True)
    if not isinstance(other, Tensor):
        other = need_operand(other, "where", "other", 3, numbers=True)
    if condition._a.dtype.num != BOOL_TYPE:
        if condition.dtype is not _dtypes.uint8:
            raise RuntimeError(NOT_A_MASK.format(word=type_word(condition.dtype)))
        condition = cast(condition, dtype=np.dtype(bool))
    if not (isinstance(input, Tensor) and isinstance(other, Tensor) and input._a.dtype is other._a.dtype):
        kind = result_dtype((input, other)).np
        input, other = in_dtype(input, kind), in_dtype(other, kind)
    return ops.where(condition, input, other)


def in_dtype(value, kind):
    """Casts an operand to a NumPy dtype."""
    if isinstance(value, Tensor):
        return value if value._a.dtype == kind else cast(value, dtype=kind)
    return np.asarray(scalar_for(value, kind, halves=False), kind)


@out_variant(dtype=same)
def nan_to_num(input, nan=None, posinf=None, neginf=None):
    """Replaces NaN and infinities, by default with 0 and the largest and smallest finite numbers."""
    need_tensor(input, "nan_to_num")
    nan, posinf, neginf = (None if value is None else as_float(value, "nan_to_num", argument)
                           for value, argument in ((nan, "nan"), (posinf, "posinf"), (neginf, "neginf")))
    if input.dtype.category < _dtypes.FLOAT:
        result = input.clone()
    elif input.dtype.is_complex and modes.grad and input.requires_grad:
        raise RuntimeError(NO_COMPLEX_NAN_TO_NUM)
    else:
        limits = _limits(input.dtype)
        result = ops.nan_to_num(
            input, nan=0.0 if nan is None else nan, posinf=limits.max if posinf is None else posinf,
            neginf=limits.min if neginf is None else neginf,
        )
    return result


_limits = functools.lru_cache(_dtypes.finfo)


# ---- methods

hide(add, sub, addcmul, addcdiv)
methods(
    abs, absolute, add, addcdiv, addcmul, ceil, clamp, clamp_max, clamp_min, clip, copysign, div, divide, fix,
    floor, floor_divide, fmax, fmin, fmod, frac, gcd, heaviside, lcm, lerp, maximum, minimum, mul, multiply,
    nan_to_num, neg, negative, nextafter, positive, remainder, round, sgn, sign, signbit, sub, subtract,
    true_divide, trunc,
)
globals().update(inplace_methods(
    add, addcdiv, addcmul, ceil, clamp, clamp_max, clamp_min, clip, copysign, div, divide, fix,
    floor, floor_divide, fmod, frac, gcd, heaviside, lcm, lerp, mul, multiply, nan_to_num, neg, negative,
    nextafter, remainder, round, sgn, sign, sub, subtract, true_divide, trunc, elementwise=True,
))


def _abs_of_real(input):
    if input.is_complex():
        raise RuntimeError(ABS_COMPLEX)
    return abs(input)


globals().update(inplace_methods(elementwise=True, abs=_abs_of_real, absolute=_abs_of_real))


def _where(self, condition, other):
    """``self`` where the condition holds, ``other`` elsewhere."""
    return where(condition, self, other)


methods(where=_where)
for _name, _ufunc in {"add_": np.add, "sub_": np.subtract, "mul_": np.multiply, "div_": np.divide}.items():
    setattr(Tensor, _name, inplace_arithmetic(_ufunc, _name))
