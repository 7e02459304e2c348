"""Functions of layers: first and second derivatives by finite differences, graph nodes, and half precision."""

import pytest

import flambeau
import flambeau.nn.functional as F
from _layers import wave
from flambeau.autograd import gradcheck, gradgradcheck


def x(*shape, start=0.3):
    return wave(flambeau, *shape, start=start).double().requires_grad_()


def probabilities(*shape):
    return (wave(flambeau, *shape).double().abs() * 0.8 + 0.1).requires_grad_()


def constant(*shape):
    return (wave(flambeau, *shape, start=1.1).double().abs() * 0.8 + 0.1).detach()


CLASSES = flambeau.tensor([0, 2, 1])
WEIGHTS = flambeau.tensor([0.2, 1.0, 0.5], dtype=flambeau.float64)

CASES = {
    "conv1d": lambda: (lambda x, w, b: F.conv1d(x, w, b, padding=1), x(2, 2, 4), x(2, 2, 3), x(2)),
    "conv2d strided": lambda: (lambda x, w, b: F.conv2d(x, w, b, 2, (1, 0), (1, 2), 2),
                               x(2, 2, 4, 5), x(4, 1, 2, 2), x(4)),
    "conv2d by channel": lambda: (lambda x, w: F.conv2d(x, w, None, 1, 1, 1, 2), x(1, 2, 3, 3), x(2, 1, 2, 2)),
    "conv3d": lambda: (F.conv3d, x(1, 1, 2, 3, 2), x(2, 1, 2, 2, 1), x(2)),
    "conv_transpose1d": lambda: (lambda x, w, b: F.conv_transpose1d(x, w, b, 2, 1, 1), x(2, 2, 3), x(2, 2, 3), x(2)),
    "conv_transpose2d longer by dilation": lambda: (
        lambda x, w: F.conv_transpose2d(x, w, None, 1, 0, 1, 1, 2), x(1, 2, 2, 2), x(2, 1, 2, 2)),
    "max_pool2d": lambda: (lambda x: F.max_pool2d(x, 3, 2, 1), x(1, 2, 5, 4)),
    "max_pool1d apart": lambda: (lambda x: F.max_pool1d(x, 2), x(1, 2, 5)),
    "avg_pool2d": lambda: (lambda x: F.avg_pool2d(x, 3, 2, 1, True, False), x(1, 2, 4, 5)),
    "adaptive_avg_pool2d": lambda: (lambda x: F.adaptive_avg_pool2d(x, (2, 3)), x(1, 2, 4, 5)),
    "adaptive_max_pool1d": lambda: (lambda x: F.adaptive_max_pool1d(x, 3), x(1, 2, 5)),
    "interpolate, nearest": lambda: (lambda x: F.interpolate(x, scale_factor=1.6), x(1, 2, 4)),
    "interpolate, bilinear": lambda: (lambda x: F.interpolate(x, (5, 2), mode="bilinear"), x(1, 2, 3, 4)),
    "interpolate, bicubic": lambda: (lambda x: F.interpolate(x, 40, mode="bicubic", align_corners=True), x(1, 1, 2, 3)),
    "interpolate, antialias": lambda: (
        lambda x: F.interpolate(x, (2, 3), mode="bicubic", antialias=True), x(1, 1, 7, 5)),
    "grid_sample": lambda: (
        lambda x, y: F.grid_sample(x, y, align_corners=False), x(2, 2, 3, 4), x(2, 3, 2, 2, start=0.9)),
    "grid_sample, bicubic": lambda: (
        lambda x, y: F.grid_sample(x, y * 2, "bicubic", "reflection", False), x(1, 2, 3, 4), x(1, 2, 2, 2, start=0.9)),
    "grid_sample of volumes": lambda: (
        lambda x, y: F.grid_sample(x, y, "bilinear", "border", True), x(1, 1, 3, 2, 4), x(1, 2, 2, 1, 3, start=0.9)),
    "affine_grid": lambda: (lambda x: F.affine_grid(x, (2, 1, 2, 3), False), x(2, 2, 3)),
    "unfold": lambda: (lambda x: F.unfold(x, (2, 3), (1, 2), 1, 2), x(2, 1, 4, 5)),
    "fold": lambda: (lambda x: F.fold(x, (4, 5), (2, 3), (1, 2), 1, 2), x(2, 6, 6)),
    "pixel_shuffle": lambda: (lambda x: F.pixel_shuffle(x, 2), x(1, 4, 2, 1)),
    "pixel_unshuffle": lambda: (lambda x: F.pixel_unshuffle(x, 2), x(1, 2, 4)),
    "channel_shuffle": lambda: (lambda x: F.channel_shuffle(x, 3), x(1, 6, 2)),
    "fractional_max_pool2d": lambda: (
        lambda x: F.fractional_max_pool2d(x, 2, 3, _random_samples=constant(1, 2, 2)), x(1, 2, 6, 5)),
    "lp_pool1d": lambda: (lambda x: F.lp_pool1d(x, 2, 2), x(1, 2, 4)),
    "batch_norm": lambda: (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), x(3, 2, 2), x(2), x(2)),
    "batch_norm given": lambda: (lambda x, w, b: F.batch_norm(x, constant(2), constant(2), w, b), x(3, 2), x(2), x(2)),
    "instance_norm": lambda: (lambda x, w, b: F.instance_norm(x, None, None, w, b), x(2, 2, 3), x(2), x(2)),
    "layer_norm": lambda: (lambda x, w, b: F.layer_norm(x, (3,), w, b), x(2, 3), x(3), x(3)),
    "layer_norm plain": lambda: (lambda x: F.layer_norm(x, (2, 3)), x(2, 2, 3)),
    "group_norm": lambda: (lambda x, w, b: F.group_norm(x, 2, w, b), x(2, 4, 2), x(4), x(4)),
    "rms_norm": lambda: (lambda x, w: F.rms_norm(x, (3,), w, 0.1), x(2, 3), x(3)),
    "local_response_norm": lambda: (lambda x: F.local_response_norm(x, 2, 0.5), x(1, 3, 2)),
    "attention": lambda: (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
                          x(2, 3, 2), x(2, 4, 2, start=1), x(2, 4, 3)),
    "attention with a mask": lambda: (F.scaled_dot_product_attention, x(2, 1, 3, 2), x(2, 3, 2, start=1), x(3, 2), x(3, 3)),
    "embedding": lambda: (lambda w: F.embedding(flambeau.tensor([[0, 2], [2, 1]]), w), x(3, 2)),
    "embedding_bag": lambda: (lambda w: F.embedding_bag(flambeau.tensor([0, 2, 2]), w, flambeau.tensor([0, 2])), x(3, 2)),
    "mse_loss": lambda: (F.mse_loss, x(2, 3), x(2, 3, start=1)),
    "smooth_l1_loss": lambda: (lambda x, y: F.smooth_l1_loss(x, y, reduction="none", beta=0.7), x(2, 3), x(2, 3, start=1)),
    "huber_loss": lambda: (lambda x, y: F.huber_loss(x, y, "sum", 0.7), x(2, 3), x(2, 3, start=1)),
    "binary_cross_entropy": lambda: (lambda x: F.binary_cross_entropy(x, constant(2, 3), WEIGHTS), probabilities(2, 3)),
    "binary_cross_entropy_with_logits": lambda: (
        lambda x, y: F.binary_cross_entropy_with_logits(x, y, pos_weight=WEIGHTS), x(2, 3), x(2, 3, start=1)),
    "kl_div": lambda: (lambda x, y: F.kl_div(x, y, reduction="batchmean"), x(2, 3), probabilities(2, 3)),
    "nll_loss": lambda: (lambda x: F.nll_loss(x, CLASSES, WEIGHTS, ignore_index=2), x(3, 3)),
    "cross_entropy": lambda: (lambda x: F.cross_entropy(x, CLASSES, WEIGHTS, label_smoothing=0.1), x(3, 3)),
    "cross_entropy of probabilities": lambda: (F.cross_entropy, x(3, 3), probabilities(3, 3)),
}


@pytest.mark.parametrize("name", CASES)
def test_gradient(name):
    function, *inputs = CASES[name]()
    assert gradcheck(function, tuple(inputs))


@pytest.mark.parametrize("name", CASES)
def test_second_gradient(name):
    function, *inputs = CASES[name]()
    assert gradgradcheck(function, tuple(inputs), atol=1e-4)


NORMS = {
    "layer_norm": lambda x: F.layer_norm(x, (7,), eps=1e-40),
    "layer_norm, weighed": lambda x: F.layer_norm(x, (7,), x.detach()[0, 0].sign(), x.detach()[0, 1].sign(), 1e-40),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True, eps=1e-40),
    "batch_norm of rows": lambda x: F.batch_norm(x[:, 0], None, None, training=True, eps=1e-40),
    "batch_norm, relu": lambda x: flambeau.nn.Sequential(
        flambeau.nn.BatchNorm1d(4, eps=1e-40, dtype=x.dtype), flambeau.nn.ReLU())(x),
    "instance_norm": lambda x: F.instance_norm(x, eps=1e-40),
    "group_norm": lambda x: F.group_norm(x, 2, eps=1e-40),
    "rms_norm": lambda x: F.rms_norm(x, (7,), eps=1e-40),
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("size", [1e-17, 1e17])
@pytest.mark.parametrize("name", NORMS)
def test_gradients_of_norms_at_any_size_of_the_input(name, size, create_graph):
    """The third power of a deviation cannot be represented in float32."""
    values, weights = wave(flambeau, 5, 4, 7), wave(flambeau, 5, 4, 7, start=1.3)
    gradients = []
    for dtype in (flambeau.float32, flambeau.float64):
        x = (values.to(dtype) * size).requires_grad_()
        y = NORMS[name](x)
        loss = (y * weights.flatten()[: y.numel()].reshape(y.shape).to(dtype)).sum()
        gradients.append(flambeau.autograd.grad(loss, x, create_graph=create_graph)[0].double() * size)
    flambeau.testing.assert_close(*gradients, rtol=1e-4, atol=1e-5)


NODES = {
    "ConvolutionBackward0": lambda x: F.conv1d(x, flambeau.ones(1, 2, 2)),
    "SqueezeBackward1": lambda x: F.max_pool1d(x, 2),
    "NativeBatchNormBackward0": lambda x: F.batch_norm(x, None, None, training=True),
    "NativeLayerNormBackward0": lambda x: F.layer_norm(x, (4,)),
    "NativeGroupNormBackward0": lambda x: F.group_norm(x, 1),
    "ScaledDotProductFlashAttentionForCpuBackward0": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    "UnsafeViewBackward0": lambda x: F.scaled_dot_product_attention(x, x, x),
    "MmBackward0": lambda x: F.scaled_dot_product_attention(x[0], x[0], x[0]),
    "MaxPool2DWithIndicesBackward0": lambda x: F.max_pool2d(x[None], 2),
    "AvgPool2DBackward0": lambda x: F.avg_pool2d(x[None], 2),
    "AdaptiveAvgPool2DBackward0": lambda x: F.adaptive_avg_pool2d(x[None], 3),
    "MeanBackward1": lambda x: F.adaptive_avg_pool2d(x[None], 1),
    "UpsampleNearest1DBackward0": lambda x: F.interpolate(x, 3),
    "UpsampleNearestExact1DBackward0": lambda x: F.interpolate(x, 3, mode="nearest-exact"),
    "UpsampleLinear1DBackward0": lambda x: F.interpolate(x, 3, mode="linear"),
    "UpsampleBilinear2DBackward0": lambda x: F.interpolate(x[None], 3, mode="bilinear"),
    "UpsampleBicubic2DBackward0": lambda x: F.interpolate(x[None], 3, mode="bicubic"),
    "UpsampleBicubic2DAaBackward0": lambda x: F.interpolate(x[None], 3, mode="bicubic", antialias=True),
    "UpsampleTrilinear3DBackward0": lambda x: F.interpolate(x[None, None], 3, mode="trilinear"),
    "GridSampler2DBackward0": lambda x: F.grid_sample(x[None], x[None, :, :, :2], align_corners=False),
    "AffineGridGeneratorBackward0": lambda x: F.affine_grid(x[:, :, 1:], (2, 1, 2, 2), False),
    "Im2ColBackward0": lambda x: F.unfold(x[None], 2),
    "Col2ImBackward0": lambda x: F.fold(x.reshape(1, 4, 4), 4, 2, stride=2),
    "PixelShuffleBackward0": lambda x: F.pixel_shuffle(x.reshape(4, 2, 2), 2),
    "PixelUnshuffleBackward0": lambda x: F.pixel_unshuffle(x, 2),
    "ChannelShuffleBackward0": lambda x: F.channel_shuffle(x, 2),
    "FractionalMaxPool2DBackward0": lambda x: F.fractional_max_pool2d(x[None], 1, 2),
    "CrossMapLRN2dBackward": lambda x: flambeau.nn.CrossMapLRN2d(3)(x[None]),
    "EmbeddingBackward0": lambda x: F.embedding(flambeau.tensor([1]), x[0]),
    "MseLossBackward0": lambda x: F.mse_loss(x, x.detach()),
    "NllLossBackward0": lambda x: F.cross_entropy(x[0], flambeau.tensor([1, 0])),
    "NllLoss2DBackward0": lambda x: F.nll_loss(x, flambeau.zeros(2, 4, dtype=flambeau.int64)),
}


@pytest.mark.parametrize("name", NODES)
def test_graph_node(name):
    assert NODES[name](flambeau.randn(2, 2, 4, requires_grad=True)).grad_fn.name() == name


HALF = {
    "conv2d": lambda x: F.conv2d(x, flambeau.ones(2, 2, 2, 2, dtype=x.dtype)),
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "grid_sample": lambda x: F.grid_sample(x, x[:, :, :, :2], align_corners=True),
    "interpolate": lambda x: F.interpolate(x, (4, 5), mode="bilinear"),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "layer_norm": lambda x: F.layer_norm(x, (3,)),
    "rms_norm": lambda x: F.rms_norm(x, (3,)),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x),
    "mse_loss": lambda x: F.mse_loss(x, x.detach() * 0.5),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", HALF)
def test_half_precision_is_computed_in_single(name, dtype):
    dtype = getattr(flambeau, dtype)
    half = wave(flambeau, 2, 2, 3, 3).to(dtype).requires_grad_()
    single = half.detach().float().requires_grad_()
    got, want = HALF[name](half), HALF[name](single)
    assert got.dtype is dtype
    flambeau.autograd.backward([got.sum(), want.sum()])
    step = flambeau.finfo(dtype).eps
    assert ((got.float() - want).abs() <= 4 * step * want.abs().clamp(min=1)).all()
    assert half.grad.dtype is dtype and (half.grad.float() - single.grad).abs().max() <= 8 * step


SUMMED = {  # calls that pass every element of w on 4096 times
    "batch_norm": lambda x, w: F.batch_norm(x, None, None, w * 0 + 1, w, training=True),
    "batch_norm, relu": lambda x, w: flambeau.nn.Sequential(norm_with_bias(w), flambeau.nn.ReLU())(x),
    "group_norm": lambda x, w: F.group_norm(x, 2, None, w),
    "layer_norm": lambda x, w: F.layer_norm(x.transpose(1, 2), (4,), None, w),
    "instance_norm": lambda x, w: F.instance_norm(x, None, None, None, w),
    "nearest": lambda x, w: F.interpolate(w.view(1, 4, 1), size=4096),
    "linear": lambda x, w: F.interpolate(w.view(1, 4, 1), size=4096, mode="linear"),
    "pad": lambda x, w: F.pad(w.view(1, 4, 1), (4095, 0), mode="replicate"),
    "avg_pool": lambda x, w: F.avg_pool1d(w.view(1, 1, 4).expand(1, 4096, 4), 1),
}


def norm_with_bias(w):
    norm = flambeau.nn.BatchNorm1d(4, dtype=w.dtype)
    norm.bias = flambeau.nn.Parameter(w.detach() + 100)  # above the bend of the activation
    norm.bias.register_hook(lambda g: w.backward(g))
    return norm


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", SUMMED)
def test_gradients_in_half_precision_are_summed_in_single(name, dtype):
    dtype = getattr(flambeau, dtype)
    w = flambeau.zeros(4, dtype=dtype, requires_grad=True)
    SUMMED[name](wave(flambeau, 1, 4, 4096).to(dtype), w).sum().backward()
    assert w.grad.tolist() == [4096] * 4


def test_a_network_on_the_meta_device():
    nn = flambeau.nn
    net = nn.Sequential(
        nn.Conv2d(3, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(64, 64, 3, groups=64),
        nn.GroupNorm(4, 64), nn.AvgPool2d(2), nn.ConvTranspose2d(64, 8, 2, 2), nn.AdaptiveAvgPool2d(7), nn.Flatten(),
        nn.LayerNorm(392),
    ).to("meta")
    x = flambeau.empty(64, 3, 128, 128, device="meta", requires_grad=True)
    loss = nn.CrossEntropyLoss()(net(x), flambeau.zeros(64, dtype=flambeau.int64, device="meta"))
    loss.backward()
    assert loss.shape == () and x.grad.shape == x.shape
    assert all(p.grad.device.type == "meta" and p.grad.shape == p.shape for p in net.parameters())
