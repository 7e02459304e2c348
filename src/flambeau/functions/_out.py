"""``out=``: functions that store their result in a given tensor.

A function computes and returns; the decorator adds the keyword and the variant that checks and stores::

    @out_variant(dtype=same)
    def index_select(input, dim, index): ...

The decorator's arguments are the rules that differ from function to function.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import warnings
from collections.abc import Callable

from .. import _dtypes
from .._dtypes import type_word
from .._modes import in_use, modes
from .._signatures import by_position, parameters_of, with_parameters
from .._tensor import Tensor, engine_for, storage_of
from ..autograd._writes import check_cast, check_writable, write, write_at
from ..engines import NUMPY, engine_of
from ._args import dense_order, resize
from ._autocast import without_autocast

OUT_TYPE = "{name}(): argument 'out' must be {wanted}, not {got}"
OUT_NEEDS = (
    "{name}() received an invalid combination of arguments: out= requires {argument}=. Pass that too, or copy the "
    "result into the tensor."
)
OUT_GRAD = (
    "{name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
    "requires grad. Call it without out=, or under no_grad()."
)
OUT_DEVICE = "{name}(): expected out on device {result}, but got {out}"
OUT_DTYPE = "{name}(): Expected out tensor to have dtype {result}, but got {out} instead"
OUT_MISMATCH = "{name}(): dtype {asked} does not match dtype of out parameter ({out}): leave dtype= out"
OUT_REAL = "{name}() expects a floating point output tensor, but got {out}"
OUT_RESIZED = (
    "An output with one or more elements was resized since it had shape {old}, which does not match the required "
    "output shape {new}. This behavior is deprecated: pass an empty out tensor, or one of the right shape."
)
OUT_REFILLED = (
    "The number of elements in the out tensor of shape {shape} is {own} which does not match the computed number of "
    "elements {count}. The out tensor will be resized to a tensor of shape ({count},): pass an empty one."
)
OUT_IS_INPUT = (
    "{name}(): output with shape {own} doesn't match the broadcast shape {new}: out= is an input as well, which is not "
    "resized"
)
OUT_OVERLAP = (
    "{name}(): unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
    "memory location. Please clone() the tensor before performing the operation."
)
TEMPLATE = """
def bind(body, store):
    def variant({parameters}):
        if out is None:
            return body({call})
        return store(out, compute, ({values}))
    def compute({values}):
        return body({call})
    return variant
"""


MEMORYLESS = frozenset((bool, complex, float, int, str, type(None), _dtypes.dtype))  # types of arguments without memory


# ---- which dtypes a result may be stored in


def castable(result, out, name, args):
    """Allows dtypes of the result's category (bool, integer, floating, complex) and higher ones."""
    check_cast(result, out)


def same(result, out, name, args):
    """Allows the result's dtype only."""
    if result is not out:
        raise RuntimeError(OUT_DTYPE.format(name=name, result=result, out=out))


def same_as_input(result, out, name, args):
    """Allows the result's dtype only, which is the input's: PyTorch checks it before the other arguments."""
    same(result, out, name, args)


def real(result, out, name, args):
    """Like ``castable``, but rejects complex dtypes for a real result."""
    if out.is_complex and not result.is_complex:
        raise RuntimeError(OUT_REAL.format(name=name, out=out))
    castable(result, out, name, args)


def same_width(result, out, name, args):
    """Like ``castable``, but a non-complex input can only be stored in a complex dtype of its own width."""
    if result is not out and out.is_complex and not args[0].is_complex():
        raise RuntimeError(f"Found dtype {type_word(out)} but expected {type_word(result)}: give {name} such an out=")
    castable(result, out, name, args)


def anything(result, out, name, args):
    """Allows every dtype; the elements are converted."""


def own(result, out, name, args):
    """Allows every dtype; the function computes in the dtype of ``out``, which ``dtype=`` must match."""


def own_of_inexact(result, out, name, args):
    """Like ``own``, but without ``dtype=`` the function rejects inputs that are neither floating nor complex."""


def real_unless_counted(result, out, name, args):
    """Allows every dtype for integers, and those of ``real`` for others."""
    if result.is_floating_point or result.is_complex:
        real(result, out, name, args)


RULES = frozenset(  # that always allow storing a result in its own dtype
    (castable, same, same_as_input, real, anything, own, own_of_inexact, real_unless_counted, same_width)
)


# ---- how a tensor is resized to the result's shape


def resize_with_warning(out, result):
    """Resizes, with PyTorch's warning unless the tensor is empty."""
    if out._a.shape != result._a.shape:
        if out._a.size:
            message = OUT_RESIZED.format(old=list(out.shape), new=list(result.shape))
            warnings.warn(message, UserWarning, stacklevel=6)
        resize(out, result._a.shape, dense_order(result))
    return result._a


def resize_without_warning(out, result):
    """Resizes without a warning."""
    if out._a.shape != result._a.shape:
        resize(out, result._a.shape)
    return result._a


def refill(out, result):
    """Keeps the shape of a tensor with the right number of elements and fills it in index order; resizes others."""
    if out._a.size != result._a.size:
        resize(out, result._a.shape)
    return engine_of(result._a).reshape(result._a, out._a.shape)


def refill_with_warning(out, result):
    """Like ``refill``, with PyTorch's warning when a non-empty tensor must be resized."""
    if 0 != out._a.size != result._a.size:
        message = OUT_REFILLED.format(shape=list(out.shape), own=out._a.size, count=result._a.size)
        warnings.warn(message, UserWarning, stacklevel=6)
    return refill(out, result)


# ---- the decorator


def out_variant(function=None, **rules):
    """Decorator that adds the keyword ``out=`` to a function. The original becomes the variant's ``method``.

    The `rules` are the fields of ``Writer``. If the function has a parameter ``out`` itself, it receives the tensor and
    may compute in its dtype or memory order.
    """
    if function is None:
        return functools.partial(out_variant, **rules)
    target = inspect.unwrap(function)
    positional, starred, keywords = parameters_of(target)
    is_wrapped, values = target is not function, tuple(positional + keywords)
    takes_out = "out" in values
    names = values if takes_out else (*values, "out")
    passed_by_name = tuple(keywords) if is_wrapped else None
    bind = binder(len(names), names.index("out"), takes_out, starred is not None, passed_by_name)
    body = function if is_wrapped else by_position(function)
    variant = bind(body, Writer(function, values, "out" in keywords, **rules))
    code = variant.__code__.replace(co_name=function.__name__)
    variant.__code__ = with_parameters(code, positional, names[len(positional):], starred)
    variant.__defaults__ = target.__defaults__
    variant.__kwdefaults__ = {**(target.__kwdefaults__ or {}), **({} if "out" in positional else {"out": None})}
    for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(variant, attribute, getattr(function, attribute))
    variant.method = function
    return variant


@functools.cache
def binder(count, out, takes_out, starred, keywords):
    """Builds functions of `count` positional parameters: the one at `out` is the tensor to store in, or a tuple if
    `starred`. They call a function ``by_position``, or pass the last parameters by name, as listed in `keywords`.
    """
    names, rest = [f"x{i}" for i in range(count)], ["rest"] * starred
    names[out] = "out"
    passed = names if takes_out else names[:out] + names[out + 1 :]
    if keywords is None:
        call = passed + rest
    else:
        first = len(passed) - len(keywords)
        call = [*passed[:first], *["*rest"] * starred, *map("{}={}".format, keywords, passed[first:])]
    scope = {"__name__": __name__}
    exec(TEMPLATE.format(
        parameters=", ".join(names + rest), call=", ".join(call), values="".join(f"{x}, " for x in passed + rest),
    ), scope)
    return scope["bind"]


@dataclasses.dataclass
class Writer:
    """Runs a function and stores its result in ``out``, according to its rules.

    Args:
        body: the function.
        names: its parameters without ``*args``, whose values come last.
        one_tensor: whether ``out`` must be a single tensor because the function uses it.
        dtype: which dtypes a result may be stored in, one of the rules above.
        fit: how ``out`` is brought to the shape of the result.
        aliases: which inputs ``out`` may share memory with: "equal" ones with the same elements at the same indices,
            "none", or "any", for functions where PyTorch does not check.
        differentiable: whether PyTorch has a gradient for it; if not, ``out`` may require grad.
        needs: an argument that PyTorch's ``out=`` overload requires.
    """

    body: Callable
    names: tuple[str, ...]
    one_tensor: bool
    dtype: Callable = castable
    fit: Callable = resize_with_warning
    aliases: str = "equal"
    differentiable: bool = True
    needs: str | None = None

    @property
    def name(self):
        return self.body.__name__

    def __call__(self, out, compute, values):
        if self.needs is not None:
            self.check_needs(values)
        outs = (out,) if type(out) is Tensor else self.tensors(out)
        if self.dtype is own or self.dtype is own_of_inexact:
            values = self.in_dtype_of(outs[0], values)
        if self.dtype is same_as_input and isinstance(values[0], Tensor):
            same(values[0].dtype, outs[0].dtype, self.name, values)
        if in_use.autocast:
            compute = without_autocast(compute)  # the storing function is not on autocast's lists
        result = compute(*values)
        if type(out) is type(result) is Tensor:
            if self.fits(out, result, values):
                return write_at(out, self.body.__name__, ..., result._a)
            self.check(out, result, values)
            return self.write(out, result)
        results = result if isinstance(result, tuple) else (result,)
        if isinstance(result, tuple) is isinstance(out, Tensor) or len(outs) != len(results):
            wanted = f"tuple of {len(results)} Tensors" if isinstance(result, tuple) else "Tensor"
            raise TypeError(OUT_TYPE.format(name=self.name, wanted=wanted, got=type(out).__name__))
        for o, r in zip(outs, results, strict=True):
            self.check(o, r, values)
        for o, r in zip(outs, results, strict=True):
            self.write(o, r)
        if not isinstance(result, tuple):
            return out
        return type(result)(*outs) if hasattr(result, "_fields") else tuple(outs)

    def fits(self, out, result, values):
        """Fast path: whether `result` can be stored in `out` as it is and passes ``check`` and ``fit``."""
        storage, own, new = storage_of(out), out._a, result._a
        if (self.dtype not in RULES or storage.engine is not NUMPY or result._storage is not None or in_use.traced
                or own.dtype is not new.dtype or own.shape != new.shape or not own.flags.carray
                or result._rg or out._rg or out._view is not None):
            return False
        for x in values:
            kind = type(x)
            if x._storage is storage if kind is Tensor else kind not in MEMORYLESS and (kind is not tuple or x):
                return False
        return True

    def check_needs(self, values):
        """Raises if the argument that ``out=`` requires is missing, under its own name and NumPy's."""
        found = [value for name, value in zip(self.names, values) if name in (self.needs, "axis")]
        if all(value is None or value is ... for value in found):
            raise TypeError(OUT_NEEDS.format(name=self.name, argument=self.needs))

    def tensors(self, out):
        """The tensors passed as ``out=``, as a tuple."""
        outs = tuple(out) if isinstance(out, (tuple, list)) and not self.one_tensor else (out,)
        if not all(isinstance(o, Tensor) for o in outs):
            raise TypeError(OUT_TYPE.format(name=self.name, wanted="Tensor", got=type(out).__name__))
        return outs

    def in_dtype_of(self, out, values):
        """The values with dtype (and device, for a factory) taken from ``out``, so that the function computes in it."""
        values, place = list(values), self.names.index("dtype")
        asked = values[place]
        if asked is None:
            if self.dtype is own or (isinstance(values[0], Tensor) and _dtypes.is_inexact(values[0]._a.dtype)):
                values[place] = out.dtype
        elif asked is not out.dtype:
            asked = type_word(asked) if isinstance(asked, _dtypes.dtype) else asked
            raise RuntimeError(OUT_MISMATCH.format(name=self.name, asked=asked, out=type_word(out.dtype)))
        if "device" in self.names:
            place = self.names.index("device")
            values[place] = out.device if values[place] is None else values[place]
        return values

    def check(self, out, result, values):
        """Raises unless `result` can be stored in `out`."""
        if modes.grad and (result._rg or (self.differentiable and out.requires_grad)):
            raise RuntimeError(OUT_GRAD.format(name=self.name))
        if out.device is not result.device:
            raise RuntimeError(OUT_DEVICE.format(name=self.name, result=result.device, out=out.device))
        if self.dtype is not castable or out._a.dtype is not result._a.dtype:
            self.dtype(result.dtype, out.dtype, self.name, values)
        check_writable(out)
        if self.aliases != "any":
            self.check_memory(out, storage_of(out), values)
        if self.aliases == "equal" and out._a.shape != result._a.shape and self.is_input(out, values):
            raise RuntimeError(OUT_IS_INPUT.format(name=self.name, own=list(out.shape), new=list(result.shape)))

    def check_memory(self, out, storage, values):
        """Raises if `out` overlaps an input in a way that is not allowed."""
        for x in values:
            if isinstance(x, Tensor):
                if x._storage is storage and overlap(out, x) in ("partial", self.aliases != "equal" and "full"):
                    raise RuntimeError(OUT_OVERLAP.format(name=self.name))
            elif isinstance(x, (tuple, list)):
                self.check_memory(out, storage, x)

    def is_input(self, out, values):
        """Whether ``out`` is also an argument of another name."""
        return any([x is out and name != "out" for name, x in zip(self.names, values)])

    def write(self, out, result):
        return write(out, self.body.__name__, engine_for(out).write, self.fit(out, result))


def overlap(out, x):
    """How two tensors of one storage overlap: "full" if all elements coincide index by index, "partial", or None.

    As in PyTorch, None also for tensors with gaps between their elements, where overlap is hard to determine.
    """
    if x is out:
        return "full"
    if not x._a.size or not out._a.size or dense_order(out) is None or dense_order(x) is None:
        return None
    a, b = out.storage_offset() * out.itemsize, x.storage_offset() * x.itemsize
    if a == b and out.nbytes == x.nbytes:
        return "full" if out.stride() == x.stride() else "partial"
    return "partial" if a < b + x.nbytes and b < a + out.nbytes else None
