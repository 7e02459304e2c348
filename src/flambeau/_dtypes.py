"""Data types, their limits, and type promotion."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

BOOL, INT, FLOAT, COMPLEX = range(4)


class dtype:
    """The element type of a tensor, for example ``flambeau.float32``.

    Every dtype is one object: compare with ``is`` or ``==``. ``np`` is the NumPy dtype that holds the elements.
    """

    __module__ = "flambeau"
    __slots__ = ("category", "is_signed", "itemsize", "name", "np")

    category: int
    is_signed: bool
    itemsize: int
    name: str
    np: Any

    def __new__(cls, *args, **kwargs):
        raise TypeError("cannot create 'torch.dtype' instances: there is one for each type of elements")

    @property
    def is_floating_point(self):
        """Whether the elements are real floating-point numbers."""
        return self.category == FLOAT

    @property
    def is_complex(self):
        """Whether the elements are complex numbers."""
        return self.category == COMPLEX

    def to_real(self):
        """The dtype of the real part of a complex dtype; a real dtype returns itself."""
        return {complex64: float32, complex128: float64}.get(self, self)

    def to_complex(self):
        """The complex dtype that has this one as its parts."""
        return complex128 if self in (float64, complex128) else complex64

    def __repr__(self):
        return f"torch.{self.name}"

    def __reduce__(self):
        return self.name  # its public module


def _make(name, np_dtype, category, is_signed=True):
    d = object.__new__(dtype)
    d.name = name
    d.np = np.dtype(np_dtype)
    d.category = category
    d.is_signed = is_signed
    d.itemsize = d.np.itemsize
    return d


bool_ = _make("bool", np.bool_, BOOL, is_signed=False)
uint8 = _make("uint8", np.uint8, INT, is_signed=False)
uint16 = _make("uint16", np.uint16, INT, is_signed=False)
uint32 = _make("uint32", np.uint32, INT, is_signed=False)
uint64 = _make("uint64", np.uint64, INT, is_signed=False)
int8 = _make("int8", np.int8, INT)
int16 = _make("int16", np.int16, INT)
int32 = _make("int32", np.int32, INT)
int64 = _make("int64", np.int64, INT)
float8_e4m3fn = _make("float8_e4m3fn", ml_dtypes.float8_e4m3fn, FLOAT)
float8_e5m2 = _make("float8_e5m2", ml_dtypes.float8_e5m2, FLOAT)
float16 = _make("float16", np.float16, FLOAT)
bfloat16 = _make("bfloat16", ml_dtypes.bfloat16, FLOAT)
float32 = _make("float32", np.float32, FLOAT)
float64 = _make("float64", np.float64, FLOAT)
complex64 = _make("complex64", np.complex64, COMPLEX)
complex128 = _make("complex128", np.complex128, COMPLEX)

ALL = (bool_, uint8, uint16, uint32, uint64, int8, int16, int32, int64, float8_e4m3fn, float8_e5m2,
       float16, bfloat16, float32, float64, complex64, complex128)
ALIASES = {"half": float16, "float": float32, "double": float64, "short": int16, "int": int32,
           "long": int64, "cfloat": complex64, "cdouble": complex128, "bool": bool_}

_BY_NAME = {d.name: d for d in ALL}
_BY_NP = {d.np: d for d in ALL}
# By type number. Some C types are the same under two numbers.
BY_NUM = {t.num: _BY_NP[t] for t in map(np.dtype, "?bBhHiIlLqQefdFD")} | {d.np.num: d for d in ALL}

# Half-precision element types: arithmetic on them runs in float32 and is rounded once at the end.
HALF = frozenset((float16.np, bfloat16.np, float8_e4m3fn.np, float8_e5m2.np))


def narrow(array, np_dtype):
    """Prepares a NumPy array for a cast: as in PyTorch, float64 is converted to float16 through float32."""
    return array.astype(np.float32) if np_dtype is float16.np and array.dtype == float64.np else array


def from_np(np_dtype):
    """The flambeau dtype of a NumPy dtype."""
    try:
        return _BY_NP[np_dtype]
    except KeyError:
        native = np.dtype(np_dtype).newbyteorder("=")
        if native in _BY_NP:
            return _BY_NP[native]
        raise TypeError(
            f"can't convert np.ndarray of type {np_dtype}. The only supported types are: "
            + ", ".join(d.name for d in ALL) + "."
        ) from None


# NumPy's type numbers ascend: bool, integers, floats, complex numbers, then float16; registered types, such as those of
# ml_dtypes, are last.
BOOL_TYPE, FIRST_INTEGER = np.dtype(bool).num, np.dtype(np.int8).num
FIRST_FLOAT, LAST_FLOAT = np.dtype(np.float32).num, np.dtype(np.longdouble).num
FIRST_HALF = np.dtype(np.float16).num  # from here on, arithmetic runs in float32
FIRST_FOREIGN = 256
LAST_TYPE = 1 << 30


def is_inexact(np_dtype):
    """Whether a dtype is floating or complex (including ml_dtypes' types), and so can have a gradient."""
    return np_dtype.num >= FIRST_FLOAT


def is_foreign(np_dtype):
    """Whether a dtype is one of ml_dtypes', whose elements are not Python numbers."""
    return np_dtype.num >= FIRST_FOREIGN


_TYPE_WORDS = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
    "float16": "Half", "bfloat16": "BFloat16", "float32": "Float", "float64": "Double",
    "complex64": "ComplexFloat", "complex128": "ComplexDouble",
    "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64",
    "float8_e4m3fn": "Float8_e4m3fn", "float8_e5m2": "Float8_e5m2",
}


C_NAMES = {
    "float32": "float", "float64": "double", "int64": "long int", "int32": "int", "int16": "short int",
    "int8": "signed char", "uint8": "unsigned char", "float16": "c10::Half", "bfloat16": "c10::BFloat16",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # in PyTorch's messages from C++; bool is the same in both


def type_word(dtype):
    """The word for a dtype in PyTorch's messages and tensor type names: Float, Long, ..."""
    return _TYPE_WORDS.get(dtype.name, dtype.name)


# ---- the default dtype

_default = float32


def get_default_dtype():
    """The floating dtype of tensors made from Python floats."""
    return _default


def set_default_dtype(d, /):
    """Sets the dtype of tensors made from Python floats; only floating dtypes are taken."""
    global _default
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type, such as "
                        f"torch.float64, got {d!r}")
    if d.category != FLOAT:
        raise TypeError(f"only floating-point types are supported as the default type, got {d}")
    _default = d


# ---- promotion

_SIGNED_ABOVE_UINT8 = {int8: int16}
UNPROMOTED = frozenset((uint16, uint32, uint64))
NO_PROMOTION = (
    "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote {type1} and {type2}. Convert "
    "one of them first."
)


def promote_types(type1, type2):
    """The smallest dtype to which both dtypes can be converted, as in PyTorch."""
    a, b = type1, type2
    if not isinstance(a, dtype) or not isinstance(b, dtype):
        raise TypeError(f"promote_types(): arguments must be torch.dtype, not {a!r} and {b!r}")
    if a is b:
        return a
    if a.category <= INT >= b.category and not UNPROMOTED.isdisjoint((a, b)):
        raise RuntimeError(NO_PROMOTION.format(type1=type_word(a), type2=type_word(b)))
    if a.category < b.category:
        a, b = b, a  # a has the higher category
    if a.category != b.category:
        if a.category == COMPLEX:
            return complex128 if b is float64 else a
        return a
    if a.category == INT:
        return _promote_ints(a, b)
    if a.category == FLOAT and a.itemsize == b.itemsize:
        return float32
    return a if a.itemsize > b.itemsize else b


def _promote_ints(a, b):
    if a.is_signed == b.is_signed:
        return a if a.itemsize > b.itemsize else b
    signed = a if a.is_signed else b
    return _SIGNED_ABOVE_UINT8.get(signed, signed)


TOO_BIG = "int too big to convert: {value} is outside the range of int64. Compute with a float."


NO_INT = "an integer is required: the NumPy scalar {value} is outside the range of int64. Compute with a float."
LARGEST_INT = 2**63 - 1


def check_int(value):
    """Raises OverflowError for an int that does not fit any dtype."""
    if not -(2**63) <= value < 2**64:
        raise OverflowError(TOO_BIG.format(value=value))


def python_number(scalar):
    """Converts a NumPy scalar as PyTorch does: np.bool_ and np.complex64 become floats too."""
    if isinstance(scalar, np.integer):
        if scalar > LARGEST_INT:
            raise TypeError(NO_INT.format(value=scalar))
        return scalar.item()
    return complex(scalar) if isinstance(scalar, complex) else float(scalar)


def scalar_dtype(value):
    """The dtype of a Python number."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    if isinstance(value, float):
        return _default
    return _default.to_complex()


def operand_dtype(value):
    """Like ``scalar_dtype``, for an operand, which may exceed int64."""
    return uint64 if isinstance(value, int) and value > LARGEST_INT else scalar_dtype(value)


def combine(strong, weak):
    """The dtype of an expression whose higher-priority operands have dtype `strong`, and the others `weak`.

    Tensors with dimensions take priority over zero-dimensional ones, and these over Python numbers: the weaker side
    contributes its *category* but not its size.
    """
    if strong is None:
        return weak
    if weak is None or (weak.category <= strong.category and strong is not bool_):
        return strong
    if strong.category == FLOAT:  # a weak complex keeps the precision
        return strong.to_complex()
    return promote_types(strong, weak)


def can_cast(from_, to):
    """Whether an in-place result of dtype ``from_`` may be stored in ``to`` (the category must not be lowered)."""
    if not isinstance(from_, dtype) or not isinstance(to, dtype):
        raise TypeError(f"can_cast(): arguments must be torch.dtype, not {from_!r} and {to!r}")
    if from_.category == COMPLEX and to.category != COMPLEX:
        return False
    if from_.category == FLOAT and to.category in (INT, BOOL):
        return False
    return not (from_.category == INT and to.category == BOOL)


# ---- limits


class finfo:
    """Limits of a floating dtype (the default dtype when none is given)."""

    def __init__(self, type=None):
        d = type if type is not None else _default
        if not isinstance(d, dtype):
            raise TypeError(f"finfo(): expected a dtype, got {d!r}")
        if d.category not in (FLOAT, COMPLEX):
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{d.name}'")
        d = d.to_real()
        info = ml_dtypes.finfo(d.np)
        self.dtype = d.name
        self.bits = d.itemsize * 8
        self.eps = float(info.eps)
        self.max = float(info.max)
        self.min = float(info.min)
        self.tiny = self.smallest_normal = float(info.smallest_normal)
        self.resolution = float(f"1e-{int(-math.log10(self.eps))}")  # the number of reliable decimal digits

    def __repr__(self):
        r, lo, hi, e, t = (f"{v:.6g}" for v in (self.resolution, self.min, self.max, self.eps, self.tiny))
        return f"finfo(resolution={r}, min={lo}, max={hi}, eps={e}, smallest_normal={t}, tiny={t}, dtype={self.dtype})"

    def __eq__(self, other):
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self):
        return hash(self.dtype)


class iinfo:
    """Limits of an integer dtype."""

    def __init__(self, type=None):
        if not isinstance(type, dtype):
            raise TypeError(f"iinfo(): expected a dtype, got {type!r}")
        if type.category not in (INT, BOOL) or type is bool_:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type.name}'")
        info = np.iinfo(type.np)
        self.dtype = type.name
        self.bits = info.bits
        self.max = int(info.max)
        self.min = int(info.min)

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"

    def __eq__(self, other):
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self):
        return hash(self.dtype)
