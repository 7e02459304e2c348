"""The functions affected by autocast, by device, and how their inputs are cast.

They are cast to the lower precision, to float32, to the widest dtype among them, or to that of an RNN's state. (``cat``
and ``stack`` are on PyTorch's lists too; they promote to the widest dtype anyway.)

The names are those of public functions: of ``flambeau`` and of its modules ``linalg``, ``fft`` and ``nn.functional``.
"""

LOWER = frozenset([
    "addbmm", "addmm", "baddbmm", "bmm", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", "linear", "linalg.vecdot", "lstm", "matmul", "mm", "prelu", "rnn_relu",
    "rnn_relu_cell", "rnn_tanh", "rnn_tanh_cell", "scaled_dot_product_attention",
])

_LOSSES = frozenset([
    "cosine_embedding_loss", "cross_entropy", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss",
    "margin_ranking_loss", "mse_loss", "multi_margin_loss", "multilabel_margin_loss", "nll_loss", "poisson_nll_loss",
    "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss", "binary_cross_entropy_with_logits",
])

PADS = frozenset(["reflect_pad1d", "reflect_pad2d", "replicate_pad1d", "replicate_pad2d", "replicate_pad3d"])

CPU = {
    "lower": LOWER,
    "float32": _LOSSES | frozenset([
        "adaptive_avg_pool3d", "adaptive_max_pool3d", "avg_pool3d", "binary_cross_entropy", "cdist", "cholesky",
        "cholesky_inverse", "cholesky_solve", "ctc_loss", "fft.fft", "fft.fft2", "fft.fftn", "fft.hfft", "fft.ifft",
        "fft.ifft2", "fft.ifftn", "fft.ihfft", "fft.irfft", "fft.irfft2", "fft.irfftn", "fft.rfft", "fft.rfft2",
        "fft.rfftn", "fractional_max_pool2d", "fractional_max_pool3d", "geqrf", "grid_sample", "inverse",
        "linalg.cholesky", "linalg.cholesky_ex", "linalg.cond", "linalg.eig", "linalg.eigh", "linalg.eigvals",
        "linalg.eigvalsh", "linalg.householder_product", "linalg.inv", "linalg.inv_ex", "linalg.lstsq",
        "linalg.matrix_rank", "linalg.qr", "linalg.solve", "linalg.svd", "linalg.svdvals", "linalg.tensorinv",
        "linalg.tensorsolve", "lu_solve", "max_pool3d", "max_unpool2d", "max_unpool3d", "nanquantile", "orgqr", "ormqr",
        "pinverse", "polar", "prod", "qr", "quantile", *PADS, "stft", "svd", "trace", "triangular_solve",
        "view_as_complex",
    ]),
    "widest": frozenset(["index_copy"]),
    "state": frozenset(["gru", "gru_cell", "lstm_cell"]),
}

ACCELERATOR = {
    "lower": LOWER | frozenset([
        "addmv", "addr", "chain_matmul", "gru", "gru_cell", "linalg.multi_dot", "lstm_cell", "mv",
    ]),
    "float32": _LOSSES | frozenset([
        "acos", "asin", "cdist", "cosh", "cosine_similarity", "cumprod", "cumsum", "dist", "erfinv", "exp", "expm1",
        "group_norm", "interpolate", "layer_norm", "linalg.matrix_norm", "linalg.norm", "linalg.vector_norm", "log",
        "log10", "log1p", "log2", "log_softmax", "logsumexp", "norm", "normalize", "nuclear_norm", "pdist", "pow",
        "prod", "reciprocal", "renorm", "rms_norm", "rsqrt", "sinh", "softmax", "softmin", "softplus", "sum", "tan",
    ]),
    "widest": frozenset([
        "addcdiv", "addcmul", "atan2", "bilinear", "cross", "dot", "grid_sample", "index_put", "scatter_add",
        "tensordot", "vdot",
    ]),
    "refuse": frozenset(["binary_cross_entropy"]),
}

# Functions on PyTorch's lists that inspect their inputs before they compute, and so call autocast themselves.
ASK_THEMSELVES = frozenset([
    "addbmm", "addmm", "baddbmm", "bmm", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "cross_entropy", "linear", "matmul", "mm", "scaled_dot_product_attention", *PADS,
])

OPERATORS = {"pow": ("__pow__", "__rpow__"), "reciprocal": ("__rtruediv__",)}  # methods with other names

_POLICIES = [{name: policy for policy, names in lists.items() for name in names} for lists in (CPU, ACCELERATOR)]


def policies_of(device_type):
    """How the inputs of functions on a device are cast: {name: "lower", "float32", ...}."""
    return _POLICIES[device_type != "cpu"]
