"""The XLA twins of the kernels in ``engines/numpy/conv.py``: one convolution, and its two transposes by jax."""

import jax

from ..._precision import precision
from . import engine

SPATIAL = {1: "H", 2: "HW", 3: "DHW"}


@engine.kernel
def conv(x, weight, stride, padding, dilation, groups, out=None, bias=None):
    s = SPATIAL[len(stride)]
    y = jax.lax.conv_general_dilated(
        x, weight, stride, [(p, p) for p in padding], rhs_dilation=dilation, feature_group_count=groups,
        dimension_numbers=(f"NC{s}", f"OI{s}", f"NC{s}"),
        precision=jax.lax.Precision.DEFAULT if precision.cudnn else jax.lax.Precision.HIGHEST,
    )
    y = y if out is None else y[(..., *[slice(n) for n in out])]
    return y if bias is None else add_to_channels(y, bias)


def add_to_channels(y, bias):
    return y + bias.reshape(-1, *[1] * (y.ndim - 2))


@engine.kernel
def conv_input(g, weight, spatial, stride, padding, dilation, groups, bias=None):
    x = jax.ShapeDtypeStruct((g.shape[0], weight.shape[1] * groups, *spatial), g.dtype)
    y = jax.linear_transpose(lambda x: conv(x, weight, stride, padding, dilation, groups, g.shape[2:]), x)(g)[0]
    return y if bias is None else add_to_channels(y, bias)


@engine.kernel
def conv_weight(x, g, kernel, stride, padding, dilation, groups):
    weight = jax.ShapeDtypeStruct((g.shape[1], x.shape[1] // groups, *kernel), g.dtype)
    return jax.linear_transpose(lambda w: conv(x, w, stride, padding, dilation, groups, g.shape[2:]), weight)(g)[0]
