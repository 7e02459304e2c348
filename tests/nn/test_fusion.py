"""Fused batch norms and the memory formats of convolution weights, as PyTorch has them."""

import pytest

import flambeau
from _programs import Programs, raised
from flambeau import nn

programs = Programs("nn_fusion.json")


def settled(t, bn, seed=2):
    """A batch norm with statistics and an affine map that are not the initial ones, in eval mode."""
    t.manual_seed(seed)
    with t.no_grad():
        bn.running_mean.normal_()
        bn.running_var.uniform_(0.5, 2)
        if bn.affine:
            bn.weight.uniform_(0.5, 2)
            bn.bias.normal_()
    return bn.eval()


@programs
def convolutions(t):
    def one(kind, n, bias, affine):
        t.manual_seed(4)
        conv = getattr(t.nn, f"{kind}{n}d")(2, 4, 2, bias=bias).eval()
        bn = settled(t, getattr(t.nn, f"BatchNorm{n}d")(4, affine=affine))
        fused = t.nn.utils.fuse_conv_bn_eval(conv, bn, transpose=kind != "Conv")
        x = t.linspace(-1, 1, 2 * 3**n).reshape(1, 2, *[3] * n)
        return [type(fused).__name__, fused is conv, fused.weight, fused.bias, fused(x) - bn(conv(x)), [p.requires_grad for p in fused.parameters()]]

    return [one(kind, n, bias, affine) for kind in ("Conv", "ConvTranspose") for n in (1, 2, 3) for bias in (True, False) for affine in (True, False)]


@programs
def linear_layers(t):
    def one(bias, features):
        t.manual_seed(4)
        linear = t.nn.Linear(3, 4, bias=bias).eval()
        fused = t.nn.utils.fuse_linear_bn_eval(linear, settled(t, t.nn.BatchNorm1d(features)))
        return [fused.weight, fused.bias, [p.requires_grad for p in fused.parameters()]]

    return [one(bias, features) for bias in (True, False) for features in (4, 1)]


@programs
def dtypes(t):
    w, m = t.ones(4, 3), t.zeros(4)
    return [[str(p.dtype) for p in fuse(w.to(wt), None if bt is None else m.to(bt), m, m + 1, 1e-5, m + 2, m)]
            for fuse in (t.nn.utils.fuse_conv_bn_weights, t.nn.utils.fuse_linear_bn_weights) for wt in (t.float32, t.float16) for bt in (t.float32, t.float16, t.float64, None)]


@programs
def refusals(t):
    u = t.nn.utils
    conv, bn = t.nn.Conv2d(2, 4, 2), t.nn.BatchNorm2d(4)
    linear, bn1 = t.nn.Linear(3, 2), t.nn.BatchNorm1d(4)
    untracked = t.nn.BatchNorm2d(4, track_running_stats=False).eval()
    return [raised(lambda: u.fuse_conv_bn_eval(conv, bn)), raised(lambda: u.fuse_conv_bn_eval(conv.eval(), untracked)),
            raised(lambda: u.fuse_linear_bn_eval(linear, bn1)), raised(lambda: u.fuse_linear_bn_eval(linear.eval(), bn1.eval()))]


@programs
def memory_formats(t):
    u = t.nn.utils

    def net():
        return t.nn.Sequential(t.nn.Conv2d(2, 3, 3), t.nn.Linear(2, 2), t.nn.Sequential(t.nn.ConvTranspose2d(2, 3, 3)), t.nn.Conv3d(2, 3, 3), t.nn.ConvTranspose3d(2, 3, 2))

    def strides(m):
        return [list(p.stride()) for p in m.parameters()]

    a, b, one = net(), net(), t.nn.Conv2d(2, 3, 3)
    held = [a[0].weight, a[0].weight.clone()]
    return [u.convert_conv2d_weight_memory_format(a, t.channels_last) is a, strides(a), a[0].weight is held[0], t.equal(*held),
            strides(u.convert_conv3d_weight_memory_format(b, t.channels_last_3d)), strides(u.convert_conv2d_weight_memory_format(one, t.channels_last)),
            strides(u.convert_conv2d_weight_memory_format(a, t.contiguous_format))]


test_as_recorded, test_recording_is_what_torch_does = programs.tests()


def test_converted_weights_compute_the_same():
    m = nn.Conv2d(2, 3, 3)
    x = flambeau.randn(1, 2, 5, 5)
    want = m(x)
    flambeau.testing.assert_close(nn.utils.convert_conv2d_weight_memory_format(m, flambeau.channels_last)(x), want)


def test_the_message_in_training():
    with pytest.raises(AssertionError, match=r"Fusion only for eval! Call \.eval\(\)"):
        nn.utils.fuse_conv_bn_eval(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1))
