"""Convolutions over any number of spatial dimensions, and their transposes.

Three bilinear maps, each the transpose of the others: input and weight give the result; a gradient of the result and
the weight give that of the input (this is also the forward of a transposed convolution); input and gradient give that
of the weight. The gradient of each consists of the other two, so they can be differentiated any number of times.
"""

from ._format import in_format_of
from ._op import op
from .pointwise import cj
from .reduce import sum_


def _sum_of_channels(g):
    return sum_(g, axis=(0, *range(2, len(g.shape))), keepdims=False)


@op(opmath=True, image=True, product=True)
def convolution(k, x, weight, bias, *, stride, padding, dilation, groups, sizes=None):
    """`sizes`: those of the result, where it is to be shorter than it could be."""
    return k.in_format_of(k.conv(x, weight, stride, padding, dilation, groups, sizes, bias), x, weight)


@convolution.joint_vjp
def _(g, x, weight, stride, padding, dilation, groups, needs):
    how = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return (
        in_format_of(conv_input(g, cj(weight), spatial=tuple(x.shape[2:]), **how), x, weight) if needs[0] else None,
        conv_weight(cj(x), g, kernel=tuple(weight.shape[2:]), **how) if needs[1] else None,
        _sum_of_channels(g) if needs[2] else None,
    )


@op(opmath=True, node="ConvolutionBackward0", image=True, product=True)
def convolution_transposed(k, x, weight, bias, *, spatial, stride, padding, dilation, groups):
    """The result has the sizes `spatial`."""
    return k.in_format_of(k.conv_input(x, weight, spatial, stride, padding, dilation, groups, bias), x, weight)


@convolution_transposed.joint_vjp
def _(g, x, weight, stride, padding, dilation, groups, needs):
    how = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    sizes = tuple(x.shape[2:])
    return (
        in_format_of(convolution(g, cj(weight), None, sizes=sizes, **how), x, weight) if needs[0] else None,
        conv_weight(g, cj(x), kernel=tuple(weight.shape[2:]), **how) if needs[1] else None,
        _sum_of_channels(g) if needs[2] else None,
    )


def conv_input(g, weight, **settings):
    """The gradient of a convolution's input."""
    return convolution_transposed(g, weight, None, **settings)


@op(opmath=True, node="ConvolutionBackwardBackward0", image=True, product=True)
def conv_weight(k, x, g, *, kernel, stride, padding, dilation, groups):
    """The gradient of a convolution's weight."""
    return k.in_format_of(k.conv_weight(x, g, kernel, stride, padding, dilation, groups), x, g)


@conv_weight.joint_vjp
def _(h, x, g, stride, padding, dilation, groups, needs):
    how = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return (
        conv_input(cj(g), h, spatial=tuple(x.shape[2:]), **how) if needs[0] else None,
        convolution(cj(x), h, None, sizes=tuple(g.shape[2:]), **how) if needs[1] else None,
    )
