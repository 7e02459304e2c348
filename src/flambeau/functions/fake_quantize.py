"""Quantization during training: numbers are rounded to steps of a scale, and gradients pass as if they were not."""

from .._dtypes import FLOAT, bfloat16, float16, float32, int32, promote_types, type_word
from .._modes import no_grad
from .._tensor import Tensor
from ._args import as_float, as_int, dim_in_range, need_constant, need_tensor
from ._results import rename_node
from .from_data import tensor
from .pointwise import fmax, fmin, round, where

__all__ = ["fake_quantize_per_channel_affine", "fake_quantize_per_tensor_affine"]

BOUNDS = "`quant_min` should be less than or equal to `quant_max`, got {low} and {high}."
ZERO_RANGE = "`zero_point` must be between `quant_min` and `quant_max`, {low} and {high}."
AXIS_RANGE = "`axis` must be between 0 and number of dimensions of input, got {axis} of {ndim}"
NOT_IMPLEMENTED = "\"fake_quantize_tensor_cachemask_kernel_type_handling\" not implemented for '{word}'"
SAME_DIMS = "scale and zero-point need to have the same dimensions, got {scale} and {zero}"
CHANNELS = "dimensions of scale and zero-point are not consistent with input tensor: {scale} of {size} channels"
SCALE_DTYPE = "Scale must be Float or BFloat16, found {word}"
ZERO_DTYPE = "Zero-point must be Int32, Float or Half, found {word}"


def fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max):
    """Rounds to multiples of ``scale`` that a quantized tensor could hold, and passes gradients where it did not clamp.

    Args:
        scale, zero_point: a float and an integer, or tensors of one element.
        quant_min, quant_max: the least and the largest quantized integer.

    Example::

        >>> fake_quantize_per_tensor_affine(flambeau.tensor([-9.0, 0.26, 9.0]), 0.1, 0, -8, 7)
        tensor([-0.8000,  0.3000,  0.7000])
    """
    need_tensor(input, "fake_quantize_per_tensor_affine")
    if isinstance(scale, Tensor) and isinstance(zero_point, Tensor):
        need_constant(scale, "fake_quantize_per_tensor_affine", "scale")
        scale, zero_point, kind = scale.reshape(()), zero_point.reshape(()), "TensorQparams"
    else:
        scale = as_float(scale, "fake_quantize_per_tensor_affine", "scale")
        zero_point = as_int(zero_point, "fake_quantize_per_tensor_affine", "zero_point")
        _check_zero(quant_min <= zero_point <= quant_max, quant_min, quant_max)
        scale, kind = tensor(scale, dtype=float32, device=input.device), ""
    out = _fake_quantize(input, scale, zero_point, quant_min, quant_max)
    return rename_node(out, f"FakeQuantizePerTensorAffineCachemask{kind}Backward0")


def fake_quantize_per_channel_affine(input, scale, zero_point, axis, quant_min, quant_max):
    """The same, with a scale and a zero point for each element along ``axis``.

    Example::

        >>> scale = flambeau.tensor([0.3, 0.4])
        >>> fake_quantize_per_channel_affine(flambeau.ones(1, 2), scale, flambeau.zeros(2), 1, 0, 9)
        tensor([[0.9000, 0.8000]])
    """
    for name, value in (("input", input), ("scale", scale), ("zero_point", zero_point)):
        need_tensor(value, "fake_quantize_per_channel_affine", name)
    need_constant(scale, "fake_quantize_per_channel_affine", "scale")
    if scale.dtype not in (float32, bfloat16):
        raise RuntimeError(SCALE_DTYPE.format(word=type_word(scale.dtype)))
    if zero_point.dtype not in (int32, float32, float16):
        raise RuntimeError(ZERO_DTYPE.format(word=type_word(zero_point.dtype)))
    if scale.shape != zero_point.shape or scale.ndim != 1:
        raise RuntimeError(SAME_DIMS.format(scale=list(scale.shape), zero=list(zero_point.shape)))
    dim_in_range(axis, input.ndim)
    if axis < 0:
        raise RuntimeError(AXIS_RANGE.format(axis=axis, ndim=input.ndim))
    if input.shape[axis] != len(scale):
        raise RuntimeError(CHANNELS.format(scale=len(scale), size=input.shape[axis]))
    if zero_point.dtype == int32:
        _check_zero(((zero_point >= quant_min) & (zero_point <= quant_max)).all(), quant_min, quant_max)
    shape = [-1 if d == axis else 1 for d in range(input.ndim)]
    out = _fake_quantize(input, scale.reshape(shape), zero_point.reshape(shape), quant_min, quant_max)
    return rename_node(out, "FakeQuantizePerChannelAffineCachemaskBackward0")


def _check_zero(holds, low, high):
    if low <= high and not holds:
        raise RuntimeError(ZERO_RANGE.format(low=low, high=high))


def _fake_quantize(input, scale, zero_point, low, high):
    if low > high:
        raise RuntimeError(BOUNDS.format(low=low, high=high))
    if input.dtype.category != FLOAT:
        raise NotImplementedError(NOT_IMPLEMENTED.format(word=type_word(input.dtype)))
    with no_grad():
        steps = (round(input.to(promote_types(input.dtype, float32)) * (1 / scale)) + zero_point).float()
        kept = (steps >= low) & (steps <= high)
        steps = fmin(fmax(steps, steps.new_tensor(low)), steps.new_tensor(high))
        quantized = ((steps - zero_point) * scale).to(input.dtype)
    passed = where(kept, input, input.new_zeros(()))
    return quantized - (passed.detach() - passed)  # minus nothing: a negative zero stays one
