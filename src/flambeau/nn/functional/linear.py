"""Linear and bilinear maps, normalization, and one-hot encoding."""

from ..._modes import in_use
from ..._tensor import Tensor
from ...engines.levels import LevelArray
from ...functions._args import need_tensor
from ...functions._autocast import autocast, call_cast
from ...functions._out import out_variant
from ...functions._types import typed
from ...functions.creation import arange, eye
from ...functions.distance import cosine_similarity
from ...functions.einsum import einsum
from ...functions.matmul import addmm
from ...ops import matmul as ops

__all__ = ["bilinear", "cosine_similarity", "linear", "normalize", "one_hot"]

_FEW_CLASSES = 64  # up to which indexing an identity matrix is faster than writing to zeros

BATCHES = (
    "bilinear(): input dimensions do not match: all but the last must be the same, got input1 of shape {input1} and "
    "input2 of shape {input2}"
)
WEIGHT = (
    "bilinear(): input size does not match weight size: inputs of shape {input1} and {input2} need a weight of shape "
    "{want}, got {weight}"
)

BIASED_VECTOR = (
    "linear(): mat2 must be a matrix, got 1-D tensor: with a bias, weight needs the shape (out_features, in_features); "
    "got {weight}"
)
BIAS = (
    "linear(): output with shape {out} doesn't match the broadcast shape {sum}: bias needs the shape (out_features,), "
    "got {bias}"
)


def linear(input, weight, bias=None):
    """``input @ weight.T + bias`` over the last dimension.

    Shape:
        - input: ``(*, in_features)``
        - weight: ``(out_features, in_features)`` or ``(in_features)``
        - Output: ``(*, out_features)`` or ``(*)``
    """
    if not isinstance(input, Tensor):
        need_tensor(input, "linear")
    if not isinstance(weight, Tensor):
        need_tensor(weight, "linear", "weight", 2)
    if len(input._a.shape) > 1 and len(weight._a.shape) == 2 and (bias is None or len(bias._a.shape) == 1):
        return call_cast("linear", ops.linear, input, weight, bias) if in_use.autocast else ops.linear(
            input, weight, bias)
    if in_use.autocast:
        input, weight, bias = autocast("linear", input, weight, bias)
    if bias is None:
        _need_dimensions(input, weight)
        return input @ weight.t()
    if len(weight._a.shape) == 2 and input._a.shape:
        if len(input._a.shape) == 2:
            return addmm(bias, input, weight.t())
        *batch, features = input._a.shape
        n = weight._a.shape[0]
        if bias._a.shape in ((n,), (1,), (1, n)) and input.is_contiguous():
            return addmm(bias, input.view(-1, features), weight.t()).view(*batch, n)
    return _with_bias(input, weight, bias)


def _need_dimensions(input, weight):
    n, m = input._a.ndim, weight._a.ndim
    if not n or not m:
        raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are {n}D and {m}D")


def _with_bias(input, weight, bias):
    """Adds a bias of an unusual shape; it must not enlarge the result."""
    _need_dimensions(input, weight)
    if weight._a.ndim == 1 and (input._a.ndim == 2 or bias._a.ndim == 1):
        raise RuntimeError(BIASED_VECTOR.format(weight=list(weight.shape)))
    product = input @ weight.t()
    out = product + bias
    if out.shape != product.shape:
        raise RuntimeError(BIAS.format(out=list(product.shape), sum=list(out.shape), bias=list(bias.shape)))
    return out


def bilinear(input1, input2, weight, bias=None):
    """``input1ᵀ · weight[o] · input2 + bias[o]`` for each output feature.

    Shape:
        - input1: ``(*, in1_features)``
        - input2: ``(*, in2_features)``
        - weight: ``(out_features, in1_features, in2_features)``
        - Output: ``(*, out_features)``
    """
    for position, (name, t) in enumerate((("input1", input1), ("input2", input2), ("weight", weight)), 1):
        need_tensor(t, "bilinear", name, position)
    if input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(BATCHES.format(input1=list(input1.shape), input2=list(input2.shape)))
    want = (*weight.shape[:1], *input1.shape[-1:], *input2.shape[-1:])
    if weight.shape != want:
        raise RuntimeError(WEIGHT.format(
            input1=list(input1.shape), input2=list(input2.shape), weight=list(weight.shape), want=list(want)
        ))
    if bias is not None and bias.shape != want[:1]:
        raise RuntimeError(f"bilinear(): bias size does not match weight size: got {list(bias.shape)} but expected "
                           f"{list(want[:1])}")
    out = einsum("...i,oij,...j->...o", input1, weight, input2).to(input1.dtype)  # autocast may have changed it
    return out if bias is None else out + bias


@out_variant
def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """Divides by the p-norm along `dim`, clamped to at least `eps`."""
    norm = input.norm(p, dim, keepdim=True).clamp_min(eps)
    return input.div(norm.expand_as(input))


@typed(num_classes=int)
def one_hot(tensor, num_classes=-1):
    """One-hot encoding of integers."""
    need_tensor(tensor, "one_hot")
    if tensor._a.dtype.name != "int64":
        raise RuntimeError(f"one_hot is only applicable to index tensor of type LongTensor, got {tensor.dtype}.")
    if tensor.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return tensor.new_empty((*tensor.shape, num_classes))
    if num_classes > 0 and isinstance(tensor._a, LevelArray):  # whose elements are not available in vmap
        return (tensor.unsqueeze(-1) == arange(num_classes, device=tensor.device)).to(tensor.dtype)
    known = not tensor.is_meta
    if known and int(tensor.min()) < 0:
        raise RuntimeError("Class values must be non-negative.")
    highest = int(tensor.max()) if known or num_classes == -1 else -1
    if num_classes == -1:
        num_classes = highest + 1
    if num_classes < 1:
        raise RuntimeError("num_classes should be positive")
    if num_classes <= highest:
        raise RuntimeError("Class values must be smaller than num_classes.")
    if known and tensor._a.ndim and num_classes <= _FEW_CLASSES:
        return eye(num_classes, dtype=tensor.dtype, device=tensor.device)[tensor]
    out = tensor.new_zeros((*tensor.shape, num_classes))
    return out.scatter_(-1, tensor.unsqueeze(-1), 1)
