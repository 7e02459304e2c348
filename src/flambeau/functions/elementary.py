"""Powers, exponentials, logarithms, trigonometric and hyperbolic functions."""

import numpy as np

from .. import _dtypes
from .._dtypes import BOOL_TYPE, type_word
from .._tensor import Tensor
from ..ops import elementary as ops
from ..ops._op import result_dtype
from ..ops.pointwise import is_complex
from ..ops.shape import cast
from ._args import need_tensor
from ._attach import inplace_methods, methods
from ._binary import alias, binary, operands
from ._data import scalar_for
from ._out import out_variant, same
from ._results import result
from ._types import typed
from ._unary import unary

INTEGER_POWER = (
    "Integers to negative integer powers are not allowed. Convert the base to a floating dtype, got {base} "
    "** {exponent}."
)
FLOAT_POWER = "the base given to float_power_ has dtype {own} but the operation's result requires dtype {need}"

UNARY = {
    "acos": "The angle in [0, pi] whose cosine each element is.",
    "acosh": "The inverse of ``cosh``, the non-negative one.",
    "asin": "The angle in [-pi/2, pi/2] whose sine each element is.",
    "asinh": "The inverse of ``sinh``.",
    "atan": "The angle in (-pi/2, pi/2) whose tangent each element is.",
    "atanh": "The inverse of ``tanh``.",
    "cos": "The cosine of each element, in radians.",
    "cosh": "The hyperbolic cosine of each element.",
    "deg2rad": "Degrees as radians.",
    "exp": "e to the power of each element.",
    "exp2": "2 to the power of each element.",
    "expm1": "``exp(x) - 1``, exact for small x.",
    "log": "The natural logarithm of each element.",
    "log10": "The logarithm to base 10 of each element.",
    "log1p": "``log(1 + x)``, exact for small x.",
    "log2": "The logarithm to base 2 of each element.",
    "rad2deg": "Radians as degrees.",
    "reciprocal": "1 divided by each element.",
    "rsqrt": "1 divided by the square root of each element.",
    "sigmoid": "The logistic function ``1 / (1 + exp(-x))`` of each element.",
    "sin": "The sine of each element, in radians.",
    "sinc": "``sin(pi x) / (pi x)``, 1 at zero.",
    "sinh": "The hyperbolic sine of each element.",
    "sqrt": "The square root of each element.",
    "tan": "The tangent of each element, in radians.",
    "tanh": "The hyperbolic tangent of each element.",
}
ALIASES = {
    "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctanh": "atanh",
}
for _name, _doc in UNARY.items():
    globals()[_name] = unary(getattr(ops, _name), _name, _doc)
for _name, _other in ALIASES.items():
    globals()[_name] = alias(globals()[_other], _name)


@out_variant
def square(input):
    """The square of each element."""
    need_tensor(input, "square")
    if input._a.dtype.num == BOOL_TYPE:
        input = cast(input, dtype=np.dtype(np.int64))
    return ops.square(input)


def power(base, exponent):
    """The power of two checked operands, of which at least one is a tensor."""
    for operand in (base, exponent):
        if isinstance(operand, int):
            _dtypes.check_int(operand)
    if not isinstance(exponent, Tensor):
        if isinstance(exponent, int) and not _dtypes.is_inexact(base._a.dtype):
            if exponent < 0:
                raise RuntimeError(INTEGER_POWER.format(base=base.dtype, exponent=exponent))
            if type(exponent) is bool and base._a.dtype.kind == "b":
                return base | (not exponent)
        return ops.pow_scalar(base, exponent)
    if not isinstance(base, Tensor):
        return ops.rpow(exponent, base)
    return ops.pow_(base, exponent)


@out_variant
def pow(input, exponent):
    """``input ** exponent``; either may be a number."""
    if not isinstance(input, Tensor) or not isinstance(exponent, Tensor):
        input, exponent = operands(input, exponent, "pow", either=True, second="exponent")
    return power(input, exponent)


@out_variant(dtype=same)
def float_power(input, exponent):
    """``input ** exponent`` in double precision, whatever the dtypes of the operands."""
    input, exponent = operands(input, exponent, "float_power", either=True, second="exponent")
    wide = np.dtype(np.complex128 if is_complex(input) or is_complex(exponent) else np.float64)
    pair = [cast(v, dtype=wide) if isinstance(v, Tensor) else wide.type(v).item() for v in (input, exponent)]
    return power(*pair)


atan2 = binary(ops.atan2, "atan2", "The angle of the point (``other``, ``input``) in the plane.", numbers=False)
arctan2 = alias(atan2, "arctan2")
hypot = binary(ops.hypot, "hypot", "``sqrt(input**2 + other**2)`` without overflow on the way.", numbers=False)
ldexp = binary(ops.ldexp, "ldexp", "``input * 2**other``.", numbers=False)
logaddexp = binary(ops.logaddexp, "logaddexp", "``log(exp(input) + exp(other))``, without overflow.", numbers=False)
logaddexp2 = binary(ops.logaddexp2, "logaddexp2", "``log2(2**input + 2**other)``, without overflow.", numbers=False)
xlogy = binary(ops.xlogy, "xlogy", "``input * log(other)``, 0 where ``input`` is 0.", either=True)


@out_variant(dtype=same)
def frexp(input):
    """Each element as ``mantissa * 2**exponent`` with a mantissa in [0.5, 1)."""
    if need_tensor(input, "frexp").dtype.category != _dtypes.FLOAT:
        raise RuntimeError(f"torch.frexp() only supports floating-point dtypes, got {input.dtype}")
    return FREXP(*ops.frexp(input))


FREXP = result("frexp", "mantissa", "exponent")


@out_variant
@typed(eps=float)
def logit(input, eps=None):
    """``log(x / (1 - x))``; with ``eps``, x is first clamped to [eps, 1 - eps]."""
    need_tensor(input, "logit")
    if eps is not None and not is_complex(input):
        scalar_for(eps, result_dtype((input, 1.0)).np)
    return ops.logit(input, eps=eps)


_plain = [globals()[name] for name in (*UNARY, *ALIASES)]
methods(
    *_plain, arctan2, atan2, float_power, frexp, hypot, ldexp, logaddexp, logaddexp2, logit, pow, square,
    xlogy,
)
_in_place = inplace_methods(*_plain, arctan2, atan2, hypot, ldexp, logit, pow, square, xlogy, elementwise=True)
_only_methods = {"arctan2_", "atan2_", "hypot_", "pow_"}  # the others are also functions of ``torch``
globals().update({name: f for name, f in _in_place.items() if name not in _only_methods})


def _float_power_of_wide(input, exponent):
    """``float_power`` in place, for a tensor that is already in double precision."""
    result = float_power(input, exponent)
    if result.dtype is not input.dtype:
        raise RuntimeError(FLOAT_POWER.format(own=type_word(input.dtype), need=type_word(result.dtype)))
    return result


inplace_methods(float_power=_float_power_of_wide, elementwise=True)

__all__ = [
    *UNARY, *ALIASES, *(name for name in _in_place if name not in _only_methods), "arctan2", "atan2",
    "float_power", "frexp", "hypot", "ldexp", "logaddexp", "logaddexp2", "logit", "pow", "square", "xlogy",
]
