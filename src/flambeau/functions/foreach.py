"""Functions on lists of tensors, such as ``_foreach_add`` and ``_foreach_exp_``, as used by optimizers."""

from .._tensor import Tensor
from .linalg.norm import vector_norm

EMPTY = "Tensor list must have at least one tensor."
LENGTHS = "Tensor lists must have the same number of tensors, got {count} and {other}"

_UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round "
    "rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
)
_BINARY = "add clamp_max clamp_min div maximum minimum mul pow sub"
_TERNARY = "addcdiv addcmul lerp"
_KEYWORDS = ("other", "others", "scalar", "scalars", "exponent", "tensor1", "tensor2", "tensors1", "weight", "weights",
             "value")  # PyTorch's names of operands that may be lists


def _spread(values, count):
    """One value per tensor: those of a list, or a single one repeated."""
    if not isinstance(values, (list, tuple)):
        return [values] * count
    if len(values) != count:
        raise RuntimeError(LENGTHS.format(count=count, other=len(values)))
    return values


def _results(name, tensors, operands, settings):
    """Calls the method `name` of each tensor with its operands."""
    if not tensors:
        raise RuntimeError(EMPTY)
    operands = [*operands, *(settings.pop(key) for key in _KEYWORDS if key in settings)]
    if name.startswith("addc") and len(operands) == 3:
        value = operands.pop()
        settings["value"] = value.tolist() if isinstance(value, Tensor) and value.dim() else value
    rows = zip(*(_spread(each, len(tensors)) for each in operands), strict=True) if operands else [()] * len(tensors)
    values = _spread(settings.pop("value", None), len(tensors))
    method = getattr(Tensor, name)
    return [
        method(t, *row, **settings) if value is None else method(t, *row, value=value, **settings)
        for t, row, value in zip(tensors, rows, values, strict=True)
    ]


def _define(name):
    method = {"maximum": "clamp_min", "minimum": "clamp_max"}.get(name, name)

    def function(self, *operands, **settings):
        return tuple(_results(method, self, operands, settings))

    def in_place(self, *operands, **settings):
        _results(f"{method}_", self, operands, settings)
        return self

    for each, suffix in ((function, ""), (in_place, "_")):
        each.__name__ = each.__qualname__ = f"_foreach_{name}{suffix}"
        each.__doc__ = f"``{name}{suffix}`` of each tensor of a list."
        globals()[each.__name__] = each
        __all__.append(each.__name__)


__all__ = ["_foreach_clone", "_foreach_copy_", "_foreach_max", "_foreach_norm", "_foreach_zero_"]
for _name in f"{_UNARY} {_BINARY} {_TERNARY}".split():
    _define(_name)


def _foreach_clone(self, *, memory_format=None):
    """A copy of each tensor of a list."""
    return tuple(_results("clone", self, (), {"memory_format": memory_format} if memory_format else {}))


def _foreach_copy_(self, src, non_blocking=False):
    """Copies the tensors of one list into those of another."""
    _results("copy_", self, (src,), {})
    return self


def _foreach_max(self):
    """The largest element of each tensor of a list."""
    return tuple(_results("max", self, (), {}))


def _foreach_norm(self, ord=2, dtype=None):
    """The norm of each tensor of a list."""
    if not self:
        raise RuntimeError(EMPTY)
    return tuple(vector_norm(t, ord, dtype=dtype) for t in self)


def _foreach_pow(self, exponent):
    """``pow`` of each tensor of a list, or of a number by each exponent of a list."""
    if isinstance(self, (list, tuple)):
        return tuple(_results("pow", self, (exponent,), {}))
    return tuple(_results("__rpow__", exponent, (self,), {}))


def _foreach_zero_(self):
    """Sets the elements of each tensor of a list to zero."""
    _results("zero_", self, (), {})
    return self
