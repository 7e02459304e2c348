"""Reductions: sums, products, moments, extrema, any and all."""

import functools
import warnings

from .. import _dtypes
from .._dtypes import FIRST_FLOAT, type_word
from .._signatures import set_name
from .._tensor import Tensor
from ..ops import pointwise as pw
from ..ops import reduce as ops
from ..ops import softmax as soft
from ..ops.shape import cast
from ._args import as_number, axis_of, need_tensor, np_dtype_of
from ._attach import methods
from ._folds import (
    EMPTY_DIM,
    INT64,
    NO_DIM_GIVEN,
    along,
    by_numpy_names,
    need_flag,
    numpy_names,
    one_dim,
    with_sum_dtype,
)
from ._out import castable, out_variant, own, own_of_inexact, real, real_unless_counted, same, same_as_input
from ._results import result, selections
from ._wrong_type import wrong_type

__all__ = [
    "all", "amax", "amin", "aminmax", "any", "argmax", "argmin", "count_nonzero", "log_softmax", "logsumexp",
    "max", "mean", "min", "nanmean", "nansum", "prod", "softmax", "std", "std_mean", "sum", "var", "var_mean",
]

REAL_MOMENT = '"std_cpu" not implemented for {word}: out= of {name}() is complex; use a real tensor'
NO_MEAN = (
    "{name}(): could not infer output dtype. {which} dtype must be either a floating point or complex dtype. "
    "Got: {word}. Convert it first, or pass dtype=, for example dtype=torch.float32."
)
NO_VAR = "std and var only support floating point and complex dtypes, not {word}; use .float()"
FREEDOM = (
    "{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
    "(input numel divided by output numel)."
)

_SEQUENCES = (tuple, list)
_RESULTS = selections("max", "min")
_AMINMAX = result("aminmax", "min", "max")


# ---- sums and means


@out_variant(dtype=own, aliases="any", needs="dim")
def sum(input, dim=None, keepdim=False, *, dtype=None, axis=None, keepdims=None):
    """The sum of all elements, or along ``dim``. Integers and booleans accumulate in int64."""
    if not isinstance(input, Tensor):
        need_tensor(input, "sum")
    if dim is None is dtype is axis and not keepdim and not keepdims:
        return ops.whole_sum(input)
    if axis is not None or keepdims is not None:
        dim, keepdim = by_numpy_names(dim, keepdim, axis, keepdims)
    if dtype is None:
        dtype = INT64 if input._a.dtype.num < FIRST_FLOAT else None
    else:
        input, dtype = with_sum_dtype(input, dtype)
    return ops.sum_(input, axis=_listed_axes(dim, input, "sum", keepdim), keepdims=keepdim, dtype=dtype)


@numpy_names
@out_variant(dtype=real_unless_counted, aliases="any")
def nansum(input, dim=None, keepdim=False, *, dtype=None):
    """The sum, with NaN counted as zero."""
    need_tensor(input, "nansum")
    if "c" in (input._a.dtype.kind, dtype is not None and np_dtype_of(dtype).kind):
        raise RuntimeError("nansum on CPU does not support complex inputs; sum the real and imaginary parts")
    input, dtype = with_sum_dtype(input, dtype)
    return ops.nansum(input, axis=_axes(dim, input, "nansum", keepdim), keepdims=keepdim, dtype=dtype)


@out_variant(dtype=own_of_inexact, aliases="any")
def mean(input, dim=None, keepdim=False, *, dtype=None, axis=None, keepdims=None):
    """The mean of all elements, or along ``dim``."""
    if not isinstance(input, Tensor):
        need_tensor(input, "mean")
    if axis is not None or keepdims is not None:
        dim, keepdim = by_numpy_names(dim, keepdim, axis, keepdims)
    if dtype is not None:
        dtype = np_dtype_of(dtype)
    if (dtype or input._a.dtype).num < FIRST_FLOAT:
        which = "Input" if dtype is None else "Optional"
        wrong = _dtypes.from_np(dtype or input._a.dtype)
        raise RuntimeError(NO_MEAN.format(name="mean", which=which, word=type_word(wrong)))
    return ops.mean(input, axis=_listed_axes(dim, input, "mean", keepdim), keepdims=keepdim, dtype=dtype)


@numpy_names
@out_variant(dtype=real, aliases="any")
def nanmean(input, dim=None, keepdim=False, *, dtype=None):
    """The mean of the elements that are not NaN."""
    need_tensor(input, "nanmean")
    if input._a.dtype.num < FIRST_FLOAT:
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{type_word(input.dtype)}"
        )
    if dtype is not None and np_dtype_of(dtype).num < FIRST_FLOAT:
        raise RuntimeError(NO_MEAN.format(name="nanmean", which="Optional", word=type_word(dtype)))
    numbers = ops.sum_(~pw.isnan(input), axis=_axes(dim, input, "nanmean", keepdim), keepdims=keepdim, dtype=INT64)
    return nansum(input, dim, keepdim, dtype=dtype) / numbers


@numpy_names
@out_variant(dtype=own, aliases="any", needs="dim")
def prod(input, dim=None, keepdim=False, *, dtype=None):
    """The product of all elements, or along one ``dim``. Integers multiply in int64."""
    need_tensor(input, "prod")
    input, dtype = with_sum_dtype(input, dtype)
    return ops.prod(input, axis=_axes(dim, input, "prod", keepdim, False), keepdims=keepdim, dtype=dtype)


def _listed_axes(dim, input, name, keepdim):
    """Like ``_axes``, but an empty ``dim`` means all, which PyTorch distinguishes from a missing ``dim``."""
    axis = _axes(dim, input, name, keepdim)
    return axis if dim is None or axis is not None else tuple(range(input._a.ndim))


def _axes(dim, input, name, keepdim=False, many=True):
    """The axis or axes to reduce: None for all, () for a scalar's one; also checks `keepdim`."""
    n, kind = input._a.ndim, type(dim)
    if keepdim is not False and keepdim is not True:
        need_flag(keepdim, name)
    if kind is int and -n <= dim < n:
        return dim if dim >= 0 else dim + n
    if dim is None:
        return None
    if many and isinstance(dim, _SEQUENCES):
        return axis_of(dim, n)
    if isinstance(dim, (bool, str)) or not hasattr(dim, "__index__"):
        raise wrong_type(dim, "int or tuple of ints" if many else "int", name, "dim")
    return axis_of(dim, n)


# ---- moments


def _moment(op, input, dim, unbiased, keepdim, correction, name):
    """var and its relatives; the argument after the input may be ``unbiased``, as in ``x.var(False)``."""
    need_tensor(input, name)
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None and not isinstance(unbiased, bool):
        raise TypeError(f"{name}(): argument 'unbiased' must be bool, not {type(unbiased).__name__}")
    if unbiased is not None and correction is not None:
        raise TypeError(f"{name}() takes unbiased={unbiased} or correction={correction}, not both")
    if input._a.dtype.num < FIRST_FLOAT:
        raise RuntimeError(NO_VAR.format(word=type_word(input.dtype)))
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    correction = as_number(correction, name, "correction")
    axis = _axes(dim, input, name, keepdim)
    if correction >= ops.count_reduced(input._a.shape, axis):
        warnings.warn(FREEDOM.format(name=name), UserWarning, stacklevel=4)
    return op(input, axis=axis, keepdims=keepdim, correction=correction)


def deviation(result, out, name, args):
    """Castable dtypes; for several real numbers no complex one."""
    input, dim = args[:2]
    if out.is_complex and not input.is_complex() and not isinstance(dim, bool):
        shape = input._a.shape
        if ops.count_reduced(shape, _axes(dim, input, name)) != input._a.size:
            raise NotImplementedError(REAL_MOMENT.format(word=type_word(out), name=name))
    castable(result, out, name, args)


@numpy_names
@out_variant(dtype=deviation, aliases="any")
def var(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The variance: the sum of squared distances from the mean over ``n - correction`` (default 1)."""
    return _moment(ops.var, input, dim, unbiased, keepdim, correction, "var")


@numpy_names
@out_variant(dtype=deviation, aliases="any")
def std(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The standard deviation; see ``var``."""
    return _moment(ops.std, input, dim, unbiased, keepdim, correction, "std")


@numpy_names
def var_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The variance and the mean; see ``var``."""
    return _moment(ops.var_mean, input, dim, unbiased, keepdim, correction, "var_mean")


@numpy_names
def std_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The standard deviation and the mean; see ``var``."""
    return _moment(ops.std_mean, input, dim, unbiased, keepdim, correction, "std_mean")


# ---- extrema


@numpy_names
@out_variant(dtype=same_as_input, aliases="any")
def amax(input, dim=(), keepdim=False):
    """The largest element, of all or along ``dim``; ties share the gradient."""
    return _extreme(ops.amax, input, dim, keepdim, "amax")


@numpy_names
@out_variant(dtype=same_as_input, aliases="any")
def amin(input, dim=(), keepdim=False):
    """The smallest element, of all or along ``dim``; ties share the gradient."""
    return _extreme(ops.amin, input, dim, keepdim, "amin")


@numpy_names
@out_variant(dtype=same, aliases="any")
def aminmax(input, *, dim=None, keepdim=False):
    """The smallest and the largest element as ``(min, max)``, of all or along one ``dim``."""
    need_tensor(input, "aminmax")
    if dim is None and not input._a.size:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    axis = None if dim is None else one_dim(input, dim, "aminmax", keepdim)
    return _AMINMAX(ops.aminmax(input, axis=axis if input._a.ndim else None, keepdims=keepdim))


def _extreme(op, input, dim, keepdim, name):
    if not isinstance(input, Tensor):
        need_tensor(input, name)
    a, axis = input._a, _axes(dim, input, name, keepdim)
    if not a.size:
        if axis is None:
            raise RuntimeError(NO_DIM_GIVEN.format(name=name))
        for i in (axis,) if isinstance(axis, int) else axis:
            if a.shape[i] == 0:
                raise IndexError(EMPTY_DIM.format(name=name, dim=i, shape=list(a.shape)))
    return op(input, axis=axis, keepdims=keepdim)


def selection_rule(result, out, name, args):
    """With ``dim``, the dtypes of the values and indices; else castable ones."""
    rule = castable if args[1] is None or isinstance(args[1], Tensor) else same
    rule(result, out, name, args)


@out_variant(dtype=selection_rule)
def max(input, dim=None, keepdim=False, *, other=None, axis=None, keepdims=None):
    """The largest element; with ``dim``, along it with the indices; with a tensor, the elementwise maximum."""
    if axis is not None or keepdims is not None:
        dim, keepdim = by_numpy_names(dim, keepdim, axis, keepdims)
    if dim is None is other and keepdim is False and isinstance(input, Tensor) and input._a.size:
        return ops.max_all(input, axis=None, keepdims=False)
    return _max_or_min(input, dim, keepdim, other, "max")


@out_variant(dtype=selection_rule)
def min(input, dim=None, keepdim=False, *, other=None, axis=None, keepdims=None):
    """The smallest element; with ``dim``, along it with the indices; with a tensor, the elementwise minimum."""
    if axis is not None or keepdims is not None:
        dim, keepdim = by_numpy_names(dim, keepdim, axis, keepdims)
    if dim is None is other and keepdim is False and isinstance(input, Tensor) and input._a.size:
        return ops.min_all(input, axis=None, keepdims=False)
    return _max_or_min(input, dim, keepdim, other, "min")


def _max_or_min(input, dim, keepdim, other, name):
    if not isinstance(input, Tensor):
        need_tensor(input, name)
    whole, select, pair = _EXTREMA[name]
    if isinstance(keepdim, Tensor):
        raise TypeError(f"{name}(): argument 'keepdim' (position 2) must be bool, not Tensor")
    if isinstance(dim, Tensor) or other is not None:
        if keepdim or (dim is not None and other is not None):
            raise TypeError(f"{name}() takes (input, other) or (input, dim, keepdim), not both")
        return pair(input, dim if other is None else other)
    if dim is None:
        if keepdim:
            raise TypeError(f"{name}() takes keepdim only together with dim; use amax or amin to keep all dimensions")
        return _extreme(whole, input, None, False, name)
    axis = one_dim(input, dim, name, keepdim)
    call = select if input._a.ndim else functools.partial(along, select)
    return _RESULTS[name](call(input, axis=axis, keepdims=keepdim))


_EXTREMA = {"max": (ops.max_all, ops.max_dim, pw.maximum), "min": (ops.min_all, ops.min_dim, pw.minimum)}


def _along_one_or_all(fold, op, name, doc, dtype):
    """``name(input, dim=None, keepdim=False)``: `op` over all elements or along ``dim``, as `fold` calls it."""

    def function(input, dim=None, keepdim=False, *, axis=None, keepdims=None):
        if axis is not None or keepdims is not None:
            dim, keepdim = by_numpy_names(dim, keepdim, axis, keepdims)
        return fold(op, input, dim, keepdim, name)

    return out_variant(set_name(function, name, doc), dtype=dtype, aliases="any")


def _arg(op, input, dim, keepdim, name):
    if not isinstance(input, Tensor):
        need_tensor(input, name)
    kind = input._a.dtype.kind
    if kind in "bc":
        raise RuntimeError(f"{name}(): does not support {'bool' if kind == 'b' else 'complex'} input")
    if dim is None:
        if not input._a.size:
            raise IndexError(NO_DIM_GIVEN.format(name=name))
        return op(input, axis=None, keepdims=keepdim)
    axis = one_dim(input, dim, name, keepdim)
    return op(input, axis=axis, keepdims=keepdim) if input._a.ndim else along(op, input, axis=axis, keepdims=keepdim)


_INDEX_OF = "The index of the {} element (the first of several) in the flattened input or along ``dim``."
argmax = _along_one_or_all(_arg, ops.argmax, "argmax", _INDEX_OF.format("largest"), same)
argmin = _along_one_or_all(_arg, ops.argmin, "argmin", _INDEX_OF.format("smallest"), same)


# ---- truth


def boolean(result, out, name, args):
    """bool, or uint8, PyTorch's former bool."""
    if out not in (_dtypes.bool_, _dtypes.uint8):
        raise RuntimeError(f"{name} only supports bool tensor for result, got: {type_word(out)}")


def _truth(op, input, dim, keepdim, name):
    if not isinstance(input, Tensor):
        need_tensor(input, name)
    axis = () if isinstance(dim, _SEQUENCES) and not dim else _axes(dim, input, name, keepdim)
    found = op(input, axis=axis, keepdims=keepdim)
    # As PyTorch's former bool, uint8 still returns its own dtype.
    return cast(found, dtype=input._a.dtype) if input._a.dtype.char == "B" else found


_WHETHER = "Whether {} nonzero, altogether or along ``dim``."
all = _along_one_or_all(_truth, ops.all_, "all", _WHETHER.format("all elements are"), boolean)
any = _along_one_or_all(_truth, ops.any_, "any", _WHETHER.format("any element is"), boolean)


@numpy_names
def count_nonzero(input, dim=None):
    """The number of nonzero elements, in total or along ``dim``."""
    need_tensor(input, "count_nonzero")
    return ops.count_nonzero(input, axis=_axes(dim, input, "count_nonzero"))


@numpy_names
def _count_nonzero(self, *dims, dim=None):
    """The number of nonzero elements, in total or along the given dimensions."""
    return count_nonzero(self, dims[0] if len(dims) == 1 else dims or dim)


# ---- exponentials


@numpy_names
@out_variant
def logsumexp(input, dim, keepdim=False):
    """The logarithm of the sum of the exponentials along ``dim``, without overflow."""
    need_tensor(input, "logsumexp")
    return soft.logsumexp(input, axis=_axes(dim, input, "logsumexp", keepdim), keepdims=keepdim)


@numpy_names
@out_variant(dtype=same, aliases="any")
def softmax(input, dim, dtype=None):
    """The exponentials along ``dim``, normalised to sum to one."""
    return _soft(soft.softmax, input, dim, dtype, "softmax")


@numpy_names
@out_variant(dtype=same, aliases="any")
def log_softmax(input, dim, dtype=None):
    """The logarithm of ``softmax``."""
    return _soft(soft.log_softmax, input, dim, dtype, "log_softmax")


def _soft(op, input, dim, dtype, name):
    if dim is None or not isinstance(input, Tensor):
        need_tensor(input, name)
        raise wrong_type(dim, "int", name, "dim", 2)
    input = input if dtype is None else cast(input, dtype=np_dtype_of(dtype))
    return op(input, axis=_axes(dim, input, name, many=False))


methods(
    all, amax, amin, aminmax, any, argmax, argmin, log_softmax, logsumexp, max, mean, min, nanmean, nansum,
    prod, softmax, std, sum, var, count_nonzero=_count_nonzero,
)
