"""Programs of functions: dtypes, broadcasting, layouts, special values, ``out=``, in-place twins."""

from .factories import FACTORIES
from .fft import FFT
from .forms import forms
from .indexing import INDEXING
from .linalg import LINALG
from .pointwise import POINTWISE
from .reduce import REDUCE
from .shapes import SHAPES
from .writer import Over, rows

LAYERS = [
    *rows("f", "torch.nn.functional.NAME({x})", """gelu silu mish softplus softsign elu selu leaky_relu hardtanh relu6
          hardsigmoid hardswish logsigmoid tanhshrink softshrink celu"""),
    *rows("f", "torch.nn.functional.NAME({x}, {same})", """mse_loss l1_loss smooth_l1_loss huber_loss soft_margin_loss
          kl_div hinge_embedding_loss poisson_nll_loss binary_cross_entropy_with_logits cosine_similarity
          pairwise_distance""", mild=True),
    *rows("f", "torch.nn.functional.NAME({x}, {same}, reduction='none')", "mse_loss huber_loss kl_div", mild=True),
    *rows("f", "torch.nn.functional.cross_entropy({x}, {same}, label_smoothing=0.25)", mild=True),
    *rows("f", "torch.nn.functional.NAME({x}, {number})", "elu celu leaky_relu softplus hardshrink", mild=True),
    *rows("f", "torch.nn.functional.hardtanh({x}, -1, {positive})"),
    *rows("f", "torch.nn.functional.NAME({x}, dim={dim})", "glu softmin", mild=True),
    *rows("f", "torch.nn.functional.batch_norm({x}, None, None, training=True)", mild=True),
    *rows("f", "torch.nn.functional.instance_norm({x})", mild=True),
    *rows("f", "torch.nn.functional.group_norm({x}, {positive})", mild=True),
    *rows("f", "torch.nn.functional.layer_norm({x}, ({x}.shape[-1],))", mild=True),
    *rows("f", "torch.nn.functional.normalize({x}, dim={dim})", mild=True),
    *rows("fibc", "torch.nn.functional.pad({x}, ({count}, {index}), value={count2})"),
    *rows("f", "torch.nn.functional.pad({x}, (1, 0), mode='NAME')", "reflect replicate circular"),
    *rows("f", "torch.nn.functional.NAME({x}, 2)", """max_pool1d avg_pool1d max_pool2d avg_pool2d
          adaptive_avg_pool2d""", mild=True),
]
WRITES = [
    *rows("fibc", "{x}.copy_({other})"),
    *rows("fibc", "{x}.NAME_({number})", "fill", mild=True),
    *rows("fibc", "{x}.zero_()"),
    *rows("fibc", "{x}.clone().resize_({x}.numel())"),
]
TABLES = (POINTWISE, REDUCE, SHAPES, INDEXING, LINALG, LAYERS, FFT, FACTORIES, POINTWISE, WRITES)


def write(writer):
    """A few functions of a few tensors."""
    while not writer.seldom(4):
        row = writer.pick(writer.pick(TABLES))
        writer.apply(writer.pick(forms(row)) if writer.seldom(2) else row)
        if len(writer.pair.steps) > 12:
            raise Over
