"""Layers of neural networks."""

import numpy as np

from engines.xla_row import P, R, V, fixed, row, rows

CLASSES = V([2, 0, -100, 3])
HIT = V(np.eye(4)[[1, 0, 3]])
VISIBLE = V(np.array([[1, 0, 1, 1], [0, 0, 0, 0], [0, 1, 0, 0]], bool))
RUNNING = V(np.arange(4)[:, None, None] < np.array([4, 3, 1])[:, None])  # sequences of different lengths
LABELS = V([2, 0, 3])
ROW_LABELS = V([2, 0, 3, 1, 1])
PHRASES = V([[1, 2, 2], [3, 0, 0], [2, 1, 3]])
TIMES, LENGTHS = V([5, 3, 4]), V([3, 1, 3])
LOOKED_UP = V([[0, 2, 2], [4, 1, 0]])
PART = np.linspace(0.1, 0.9, 12).reshape(2, 2, 3)  # of the way to the next window
WINDOWS = {"kernel": (2, 2), "dilation": (1, 2), "padding": (0, 1), "stride": (2, 2)}
PLACES = V([[[0, 4, 4, 1], [3, 2, 3, 3]], [[1, 1, 0, 2], [4, 4, 4, 0]]])
BIG = {"kernel": (3, 2), "stride": (2, 1), "padding": (1, 1)}
SPREAD = {"stride": (2,), "padding": (1,), "dilation": (2,), "groups": 2}
FLAT = {"stride": (1, 2), "padding": (1, 0), "dilation": (1, 1), "groups": 1}
CUBE = {"stride": (1, 1, 1), "padding": (0, 1, 0), "dilation": (1, 1, 1), "groups": 2}


def windows(n, size, stride, padding):
    return {"kernel": (size,) * n, "stride": (stride,) * n, "padding": (padding,) * n}


def sized(n, size):
    return {"sizes": (size,) * n}


LAYERS = [
    row("convolution", R(2, 4, 7), R(6, 2, 3), R(6), **SPREAD),
    row("convolution", R(2, 3, 5, 6), R(4, 3, 3, 2), None, **FLAT),
    row("convolution", R(1, 2, 4, 3, 3), R(2, 1, 2, 2, 2), R(2), **CUBE),
    row("convolution_transposed", R(2, 6, 4), R(6, 2, 3), R(4), spatial=(9,), **SPREAD),
    row("convolution_transposed", R(1, 4, 3, 3), R(4, 3, 3, 2), None, spatial=(3, 6), **FLAT),
    row("conv_weight", R(2, 3, 5, 6), R(2, 4, 5, 3), kernel=(3, 2), **FLAT),
    # pools
    *[row("max_pool", R(2, 2, *[5] * n), **windows(n, 2, 2, 0), dilation=(1,) * n, **sized(n, 2)) for n in (1, 2, 3)],
    row("max_pool", R(2, 1, 5, 4), **BIG, dilation=(1, 2), sizes=(3, 4)),
    *[row("avg_pool", R(2, 2, *[5] * n), **windows(n, 2, 2, 0), **sized(n, 2), include_pad=True, override=None)
      for n in (1, 2, 3)],
    row("avg_pool", R(2, 1, 5, 4), **BIG, sizes=(3, 5), include_pad=False, override=None),
    row("avg_pool", R(2, 1, 5, 4), **BIG, sizes=(3, 5), include_pad=False, override=5),
    *[row("avg_pool_pull", R(2, 1, *[3] * n), **windows(n, 3, 2, 1), spatial=(5,) * n, include_pad=False,
          override=None) for n in (1, 2, 3)],
    *[row(f"adaptive_{how}_pool", R(2, 2, *[5] * n), **sized(n, m))
      for how in ("avg", "max") for n in (1, 2, 3) for m in (1, 3)],
    *[row("adaptive_avg_pool_pull", R(2, 1, *[3] * n), spatial=(5,) * n) for n in (1, 2, 3)],
    row("max_unpool", R(1, 1, 3), V([[[0, 3, 5]]]), spatial=(6,)),
    row("max_unpool", R(1, 1, 1, 3), V([[[[0, 3, 5]]]]), spatial=(2, 3)),
    row("max_unpool", R(1, 1, 1, 1, 3), V([[[[[0, 3, 5]]]]]), spatial=(1, 2, 3)),
    row("fractional_max_pool", R(2, 2, 6, 7), fixed(V(PART[..., :2])), kernel=(2, 3), sizes=(3, 4)),
    row("fractional_max_pool", R(1, 2, 5, 6, 4), fixed(V(PART[:1])), kernel=(2, 2, 1), sizes=(3, 1, 2)),
    # windows, pixels and channels
    row("im2col", R(2, 3, 4, 5), **WINDOWS),
    row("col2im", R(2, 12, 6), sizes=(4, 5), **WINDOWS),
    row("pixel_shuffle", R(2, 8, 2, 3), factor=2),
    row("pixel_unshuffle", R(2, 4, 6), factor=2),
    row("channel_shuffle", R(2, 6, 2), groups=2),
    # images at another size
    *[row("upsample", R(2, 2, *[4] * n), sizes=(7, 3, 5)[:n], mode=mode, align=align, scales=scales[:n])
      for mode, n in (("nearest", 1), ("nearest-exact", 3), ("linear", 1), ("bilinear", 2), ("trilinear", 3),
                      ("bicubic", 2), ("bilinear-aa", 2), ("bicubic-aa", 2), ("lanczos-aa", 2))
      for align, scales in ((False, (None, 0.8, 1.3)), *([(True, (None,) * 3)] if "linear" in mode else []))],
    row("upsample", V(np.arange(24, dtype=np.uint8).reshape(1, 2, 4, 3) * 10), sizes=(7, 5), mode="bicubic",
        align=False, scales=(None, None)),
    row("upsample_pull", R(2, 1, 40, 7), spatial=(3, 4), mode="bilinear", align=False, scales=(None, None)),
    row("upsample_pull", R(2, 1, 6, 4), spatial=(3, 4), mode="nearest", align=False, scales=(None, None)),
    # images at given places
    *[row("grid_sample", R(2, 3, *(4, 5, 3)[:n]), R(2, 3, *[2] * (n - 1), n), mode=mode, padding=padding, align=align)
      for mode, n, padding, align in (
          ("bilinear", 2, "zeros", False), ("bilinear", 2, "border", True), ("bilinear", 3, "reflection", False),
          ("nearest", 2, "reflection", True), ("bicubic", 2, "border", False))],
    row("sum_places", R(2, 3, 5), R(2, 2, 4), PLACES),
    row("spread_places", R(2, 3, 4), R(2, 2, 4), PLACES, size=5),
    row("dot_places", R(2, 3, 4), R(2, 3, 5), PLACES),
    row("confine", R(2, 3), n=2, padding="reflection", align=True),
    row("confine", R(2, 3), n=1, padding="reflection", align=True),
    row("confine", R(2, 3), n=2, padding="border", align=False),
    row("tap_places", V([[-3.0, 0.0, 2.0, 5.0]]), offset=1, n=4, padding="zeros", align=False),
    row("tap_places", V([[-3.0, 0.0, 2.0, 9.0]]), offset=-1, n=4, padding="reflection", align=True),
    row("affine_grid_generator", R(2, 2, 3), spatial=(3, 4), align=False),
    row("affine_grid_generator", R(2, 3, 4), spatial=(3, 1, 2), align=True),
    row("affine_grid_pull", R(2, 3, 4, 2), align=True),
    # normalisation
    row("native_batch_norm", R(3, 2, 4), R(2), R(2), eps=1e-5, how=None),
    row("native_batch_norm", R(5, 2), None, None, eps=1e-5, how=None),
    row("batch_norm_act", R(3, 2, 4), R(2), R(2), eps=1e-5, activation="relu", numbers=(), weight_then=None),
    row("batch_norm_act", R(3, 2, 4), R(2), R(2), eps=1e-5, activation="hardtanh", numbers=(-0.5, 0.25), weight_then=None),
    row("batch_norm_act", R(3, 2, 4), R(2), R(2), eps=1e-5, activation="leaky_relu", numbers=(0.1,), weight_then=None),
    row("native_layer_norm", R(3, 2, 4), R(2, 4), R(2, 4), eps=1e-5, how=2),
    row("native_layer_norm", R(3, 4), None, None, eps=1e-5, how=1),
    row("native_group_norm", R(3, 4, 5), R(4), R(4), eps=1e-5, how=2),
    row("batch_norm_inference", R(3, 2, 4), R(2), R(2), fixed(R(2)), fixed(P(2)), eps=1e-5),
    row("batch_norm_inference", R(3, 2), None, None, fixed(R(2)), fixed(P(2)), eps=1e-5),
    row("rms_norm", R(3, 4), R(4), how=1, eps=1e-5),
    row("rms_norm", R(2, 3, 4), None, how=2, eps=1e-5),
    row("cross_map_norm", R(2, 5, 2, 2), size=3, alpha=0.5, beta=0.75, bias=1.0),
    # tables
    row("embedding", R(5, 3), LOOKED_UP, padding=None, by_frequency=False, sparse=False),
    row("embedding", R(5, 3), LOOKED_UP, padding=2, by_frequency=True, sparse=False),
    row("row_factors", LOOKED_UP, rows=5, padding=None, by_frequency=True, dtype=np.dtype(np.float32)),
    row("unembedding", R(2, 3, 4), LOOKED_UP, shape=(5, 4)),
    # recurrence
    *[row(f"rnn_{kind}_layer", R(4, 3, 2), R(3, 2), R(2, 2), None, reverse=reverse)
      for kind in ("tanh", "relu") for reverse in (False, True)],
    row("rnn_tanh_layer", R(4, 3, 2), R(3, 2), R(2, 2), RUNNING, reverse=True),
    *[row(f"rnn_{kind}_cell", R(3, 2), R(3, 2), R(2, 2)) for kind in ("tanh", "relu")],
    row("lstm_layer", R(4, 3, 8), R(3, 2), R(3, 2), R(8, 2), None, None, reverse=False),
    row("lstm_layer", R(4, 3, 12), R(3, 2), R(3, 3), R(12, 2), R(2, 3), RUNNING, reverse=True),
    row("lstm_cell", R(3, 8), R(3, 2), R(3, 2), R(8, 2)),
    row("gru_layer", R(4, 3, 6), R(3, 2), R(6, 2), None, None, reverse=True),
    row("gru_layer", R(4, 3, 6), R(3, 2), R(6, 2), R(6), RUNNING, reverse=False),
    row("gru_cell", R(3, 6), R(3, 2), R(6, 2), R(6)),
    *rows("rrelu_train rrelu_train_in_place", R(2, 3), fixed(P(2, 3))),
    # attention
    row("masked_softmax", R(2, 3, 4), None, causal=False),
    row("masked_softmax", R(2, 3, 4), None, causal=True),
    row("masked_softmax", R(2, 3, 4), R(3, 4), causal=False),
    row("masked_softmax", R(2, 3, 4), VISIBLE, causal=False),
    row("attention", R(2, 3, 4), R(2, 5, 4), R(2, 5, 2), None, None, scale=0.5, causal=True),
    row("attention", R(2, 1, 3, 4), R(3, 4, 4), R(2, 1, 4, 4), R(3, 3, 4), fixed(P(2, 3, 3, 4)), scale=2.0,
        causal=False),
    row("split_heads", R(3, 2, 12), parts=3, heads=2),
    row("split_heads", R(3, 2, 4), parts=1, heads=2),
    row("merge_heads", R(2, 3, 4, 2)),
    row("attention", R(3, 4), R(4, 4), R(4, 2), VISIBLE, None, scale=0.5, causal=False),
    # losses
    *[row("multi_margin_loss", R(3, 4), LABELS, weight, p=p, margin=0.5) for p in (1, 2) for weight in (None, P(4))],
    *[row("multi_margin_slopes", R(3, 4), LABELS, None, p=p, margin=0.5) for p in (2, 1)],
    row("multilabel_margin_loss", R(3, 4), V([[1, 3, -1, 0], [-1, 0, 0, 0], [0, 1, 2, 3]])),
    row("ctc_loss", R(5, 3, 4), PHRASES, TIMES, LENGTHS, blank=0, zero_infinity=False).once(),
    row("ctc_loss_pull", R(3), R(5, 3, 4), PHRASES, TIMES, LENGTHS, fixed(P(3)), fixed(R(5, 3, 7)), blank=0,
        zero_infinity=False).without_gradient(),
    row("linear_cross_entropy", R(5, 3), R(4, 3), R(4), ROW_LABELS, P(4), ignore=1, size=2).once(),
    row("linear_cross_entropy", R(5, 3), R(4, 3), None, ROW_LABELS, None, ignore=-100, size=5).once(),
    row("linear_cross_entropy_pull", R(5), R(5, 3), R(4, 3), R(4), ROW_LABELS, fixed(P(5)), ignore=1, size=2).without_gradient(),
    *[row("mse_loss", R(2, 3), R(2, 3), reduction=how) for how in ("none", "mean", "sum")],
    *[row("soft_margin_loss", R(2, 3), R(2, 3), reduction=how) for how in ("none", "mean", "sum")],
    row("smooth_l1_loss", R(2, 3), R(2, 3), reduction="mean", beta=0.5),
    row("smooth_l1_slope", R(2, 3), R(2, 3), beta=0.5),
    row("huber_slope", R(2, 3), R(2, 3), delta=0.5),
    row("huber_loss", R(2, 3), R(2, 3), reduction="sum", delta=0.5),
    row("binary_cross_entropy", V([[0.1, 0.5, 0.9]]), V([[0.0, 1.0, 0.3]]), None, reduction="mean"),
    row("binary_cross_entropy", V([[0.1, 0.5, 0.9]]), V([[0.0, 1.0, 0.3]]), fixed(P(3)), reduction="none"),
    row("binary_cross_entropy_with_logits", R(3, 4), HIT, None, None, reduction="mean"),
    row("binary_cross_entropy_with_logits", R(3, 4), HIT, fixed(P(4)), fixed(P(4)), reduction="sum"),
    *[row("nll_loss", R(4, 5), CLASSES, fixed(P(5)), ignore=-100, reduction=how) for how in ("none", "mean", "sum")],
    row("nll_loss", R(4, 5), CLASSES, None, ignore=-100, reduction="mean"),
    row("nll_loss", R(2, 3, 2, 2), V([[[0, 1], [2, -1]], [[1, 1], [0, 2]]]), None, ignore=-1, reduction="mean"),
    row("nll_slopes", CLASSES, fixed(P(5)), ignore=-100, reduction="mean", classes=5, dtype=np.dtype(np.float64)),
]
