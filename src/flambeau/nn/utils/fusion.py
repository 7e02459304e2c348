"""Folding batch norms in eval mode into the preceding layer."""

import copy

from ...functions.elementary import rsqrt  # type: ignore[attr-defined]  # made in a loop
from ...functions.like import ones_like, zeros_like
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]

NOT_EVAL = "Fusion only for eval! Call .eval() on both layers first: in training a batch norm has no fixed statistics."
NO_STATISTICS = (
    "bn.running_mean and bn.running_var must not be None: a batch norm without running statistics cannot be fused"
)
FEATURES = (
    "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, "
    "got linear.out_features={out_features} and bn.num_features={num_features}"
)


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A copy of a convolution with the following batch norm folded in, both in eval mode.

    Set ``transpose`` for a transposed convolution.

    Example::

        >>> conv, bn = nn.Conv2d(2, 4, 3).eval(), nn.BatchNorm2d(4).eval()
        >>> x = flambeau.randn(1, 2, 8, 8)
        >>> flambeau.allclose(nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-6)
        True
    """
    _check_eval(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """The weight and bias of a convolution with a batch norm folded in."""
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    return _fuse(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_linear_bn_eval(linear, bn):
    """A copy of a linear layer with the following batch norm folded in, both in eval mode."""
    _check_eval(linear, bn)
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError(FEATURES.format(out_features=linear.out_features, num_features=bn.num_features))
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """The weight and bias of a linear layer with a batch norm folded in."""
    return _fuse(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _check_eval(layer, bn):
    if layer.training or bn.training:
        raise AssertionError(NOT_EVAL)
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError(NO_STATISTICS)


def _fuse(weight, bias, mean, var, eps, scale, shift, shape):
    """The affine map of a linear one and the following batch norm; `shape` places the channels in the weight's
    dimensions."""
    old_bias = zeros_like(mean) if bias is None else bias
    scale = ones_like(mean) if scale is None else scale
    shift = zeros_like(mean) if shift is None else shift
    factor = scale * rsqrt(var + eps)
    new_weight = (weight * factor.reshape(shape)).to(weight.dtype)
    new_bias = ((old_bias - mean) * factor + shift).to(weight.dtype if bias is None else bias.dtype)
    return Parameter(new_weight, weight.requires_grad), Parameter(new_bias, bias is not None and bias.requires_grad)
