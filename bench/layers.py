"""Every family of layers, forward and forward with backward, at a small size and a typical one.

A row is the code of a layer and the shapes of its float inputs; ``ids(bound, ...)`` are integers below a bound.
Random layers are compared when they draw nothing; ``eager.py`` times them with drawing.
"""

from _harness import Suite

NOTES = (
    "If the load average above exceeds the number of cores, other programs were running: then only ratios far from 1 "
    "are meaningful, especially if best and median agree. Rows above 1.5 in only one of the two (embedding and RMS "
    "norm, usual) are such noise. The other rows above 1.5 have been profiled:",
    "Small sizes are dominated by calls in Python. One forward makes 361 of them in bilinear (an einsum, planned anew "
    "each time), 281 in local response norm, 205 in grid sample, 131 in cross entropy, 123 in instance norm, 120 in "
    "batch norm 1d, 112 in attention, 81 to 86 in fold and in reflection and replication padding, 75 in unfold and "
    "zero padding, 56 in average and maximum pooling.",
    "Max pool 1d, forward: without gradients PyTorch does not compute the indices of the maxima, and with them takes "
    "the time of the row with backward; Flambeau always computes them.",
    "Padding, usual: zero padding fills the whole result before it copies the input into it; in the other modes the "
    "margins of each row are a copy of a few elements, which is slow in NumPy (72 to 92 % of the forward).",
    "Grid sample, usual: half of the forward is the native sum over the corners; the other half is NumPy passes that "
    "compute the indices and weights of the corners, and are repeated in backward.",
    "Embedding bag, usual: the rows of a bag are gathered in memory before their mean is taken; PyTorch accumulates "
    "them directly.",
    "LSTM and GRU: a loop over time in Python, 1400 and 2400 calls per forward of 32 steps. The gates of an LSTM are "
    "native, those of a GRU are NumPy passes.",
    "Smooth L1, usual: seven NumPy passes, whose temporaries glibc returns to the system and allocates again in each "
    "call: 480 page faults, which take most of the time. With MALLOC_TRIM_THRESHOLD_ and MALLOC_MMAP_THRESHOLD_ set "
    "to 100 MB in the environment the forward takes a fifth to a tenth. These rows were measured in a separate "
    "process; after all the other rows, when the heap is larger, the ratio was 4.",
)
suite = Suite("layers", notes=NOTES)


class ids:
    """An input of integers."""

    def __init__(self, bound, *shape):
        self.bound, self.shape = bound, shape

    def make(self, t):
        return t.randint(self.bound, self.shape)


class floats:
    """An input of floats, differentiable unless it is a target."""

    def __init__(self, *shape, target=False):
        self.shape, self.target = shape, target

    def make(self, t):
        return t.rand(self.shape) if self.target else t.randn(self.shape, requires_grad=True)


# family, layer at a small size, its inputs, layer at a typical size, its inputs
ROWS = [
    ("linear", "Linear(8, 8)", [(4, 8)], "Linear(512, 512)", [(128, 512)]),
    ("bilinear", "Bilinear(4, 4, 4)", [(4, 4), (4, 4)], "Bilinear(64, 64, 32)", [(64, 64), (64, 64)]),
    ("embedding", "Embedding(16, 8)", [ids(16, 4)], "Embedding(10000, 256)", [ids(10000, 32, 64)]),
    ("embedding bag", "EmbeddingBag(16, 8)", [ids(16, 4, 3)], "EmbeddingBag(10000, 128)", [ids(10000, 128, 20)]),
    # convolutions
    ("conv1d", "Conv1d(4, 8, 3)", [(1, 4, 16)], "Conv1d(64, 64, 5, padding=2)", [(8, 64, 256)]),
    ("conv2d", "Conv2d(3, 4, 3)", [(1, 3, 8, 8)], "Conv2d(64, 64, 3, padding=1)", [(4, 64, 32, 32)]),
    ("conv2d, strided", "Conv2d(3, 4, 3, stride=2)", [(1, 3, 8, 8)],
     "Conv2d(3, 64, 7, stride=2, padding=3)", [(4, 3, 112, 112)]),
    ("conv2d, by channel", "Conv2d(4, 4, 3, groups=4)", [(1, 4, 8, 8)],
     "Conv2d(64, 64, 3, padding=1, groups=64)", [(4, 64, 32, 32)]),
    ("conv3d", "Conv3d(2, 4, 3)", [(1, 2, 5, 5, 5)], "Conv3d(16, 16, 3, padding=1)", [(1, 16, 16, 16, 16)]),
    ("transposed conv2d", "ConvTranspose2d(4, 4, 3, stride=2)", [(1, 4, 4, 4)],
     "ConvTranspose2d(64, 32, 4, stride=2, padding=1)", [(4, 64, 16, 16)]),
    ("transposed conv3d", "ConvTranspose3d(2, 2, 2)", [(1, 2, 3, 3, 3)],
     "ConvTranspose3d(16, 8, 2, stride=2)", [(1, 16, 8, 8, 8)]),
    # pooling
    ("max pool 1d", "MaxPool1d(2)", [(1, 4, 16)], "MaxPool1d(3, 2)", [(8, 64, 512)]),
    ("max pool 2d", "MaxPool2d(2)", [(1, 4, 8, 8)], "MaxPool2d(3, 2, 1)", [(4, 64, 56, 56)]),
    ("max pool 3d", "MaxPool3d(2)", [(1, 2, 4, 4, 4)], "MaxPool3d(2)", [(2, 16, 16, 32, 32)]),
    ("avg pool 2d", "AvgPool2d(2)", [(1, 4, 8, 8)], "AvgPool2d(3, 2, 1)", [(4, 64, 56, 56)]),
    ("adaptive avg pool 2d", "AdaptiveAvgPool2d(3)", [(1, 4, 8, 8)], "AdaptiveAvgPool2d(7)", [(8, 128, 24, 24)]),
    ("adaptive max pool 2d", "AdaptiveMaxPool2d(3)", [(1, 4, 8, 8)], "AdaptiveMaxPool2d(7)", [(8, 128, 24, 24)]),
    ("lp pool 2d", "LPPool2d(2, 2)", [(1, 4, 8, 8)], "LPPool2d(2, 2)", [(4, 64, 32, 32)]),
    ("fractional max pool 2d", "FractionalMaxPool2d(2, 3)", [(1, 4, 8, 8)], "FractionalMaxPool2d(2, 16)",
     [(4, 64, 32, 32)]),
    # normalisation
    ("batch norm 1d", "BatchNorm1d(8)", [(4, 8)], "BatchNorm1d(512)", [(256, 512)]),
    ("batch norm 2d", "BatchNorm2d(4)", [(2, 4, 8, 8)], "BatchNorm2d(64)", [(4, 64, 32, 32)]),
    ("batch norm 2d, eval", "BatchNorm2d(4).eval()", [(2, 4, 8, 8)], "BatchNorm2d(64).eval()", [(4, 64, 32, 32)]),
    ("instance norm 2d", "InstanceNorm2d(4)", [(2, 4, 8, 8)], "InstanceNorm2d(64)", [(4, 64, 32, 32)]),
    ("layer norm", "LayerNorm(8)", [(4, 8)], "LayerNorm(512)", [(512, 512)]),
    ("group norm", "GroupNorm(2, 4)", [(2, 4, 8, 8)], "GroupNorm(8, 64)", [(4, 64, 32, 32)]),
    ("rms norm", "RMSNorm(8)", [(4, 8)], "RMSNorm(512)", [(512, 512)]),
    ("local response norm", "LocalResponseNorm(3)", [(1, 4, 8, 8)], "LocalResponseNorm(5)", [(4, 64, 28, 28)]),
    # margins
    ("zero pad", "ZeroPad2d(1)", [(1, 4, 8, 8)], "ZeroPad2d(1)", [(4, 64, 32, 32)]),
    ("reflection pad", "ReflectionPad2d(1)", [(1, 4, 8, 8)], "ReflectionPad2d(3)", [(4, 64, 32, 32)]),
    ("replication pad", "ReplicationPad2d(1)", [(1, 4, 8, 8)], "ReplicationPad2d(3)", [(4, 64, 32, 32)]),
    ("circular pad", "CircularPad2d(1)", [(1, 4, 8, 8)], "CircularPad2d(3)", [(4, 64, 32, 32)]),
    # images
    ("upsample, nearest", "Upsample(scale_factor=2)", [(1, 4, 4, 4)], "Upsample(scale_factor=2)", [(4, 64, 28, 28)]),
    ("upsample, bilinear", "Upsample(scale_factor=2, mode='bilinear')", [(1, 4, 4, 4)],
     "Upsample(scale_factor=2, mode='bilinear')", [(4, 64, 28, 28)]),
    ("upsample, bicubic", "Upsample(scale_factor=2, mode='bicubic')", [(1, 4, 4, 4)],
     "Upsample(scale_factor=2, mode='bicubic')", [(4, 32, 28, 28)]),
    ("upsample, trilinear", "Upsample(scale_factor=2, mode='trilinear')", [(1, 2, 3, 3, 3)],
     "Upsample(scale_factor=2, mode='trilinear')", [(1, 16, 14, 14, 14)]),
    ("downsample, antialias", "F.interpolate(x, (3, 3), mode='bilinear', antialias=True)", [(1, 3, 8, 8)],
     "F.interpolate(x, (56, 56), mode='bilinear', antialias=True)", [(4, 3, 224, 224)]),
    ("grid sample", "F.grid_sample(x, y, align_corners=False)", [(1, 2, 4, 4), (1, 3, 3, 2)],
     "F.grid_sample(x, y, align_corners=False)", [(4, 16, 64, 64), (4, 64, 64, 2)]),
    ("affine grid", "F.affine_grid(x, (1, 1, 4, 4), False)", [(1, 2, 3)],
     "F.affine_grid(x, (8, 1, 128, 128), False)", [(8, 2, 3)]),
    ("unfold", "Unfold(2)", [(1, 2, 4, 4)], "Unfold(3, padding=1)", [(4, 16, 32, 32)]),
    ("fold", "Fold(4, 2, stride=2)", [(1, 8, 4)], "Fold(32, 3, padding=1)", [(4, 144, 1024)]),
    ("pixel shuffle", "PixelShuffle(2)", [(1, 4, 4, 4)], "PixelShuffle(2)", [(4, 64, 32, 32)]),
    ("channel shuffle", "ChannelShuffle(2)", [(1, 4, 4, 4)], "ChannelShuffle(4)", [(4, 64, 32, 32)]),
    # activations
    ("relu", "ReLU()", [(4, 8)], "ReLU()", [(512, 512)]),
    ("gelu", "GELU()", [(4, 8)], "GELU()", [(512, 512)]),
    ("silu", "SiLU()", [(4, 8)], "SiLU()", [(512, 512)]),
    ("softmax", "Softmax(-1)", [(4, 8)], "Softmax(-1)", [(512, 512)]),
    # recurrence and attention
    ("rnn", "RNN(4, 4)", [(3, 2, 4)], "RNN(64, 64)", [(32, 16, 64)]),
    ("lstm", "LSTM(4, 4)", [(3, 2, 4)], "LSTM(64, 64)", [(32, 16, 64)]),
    ("gru", "GRU(4, 4)", [(3, 2, 4)], "GRU(64, 64)", [(32, 16, 64)]),
    ("attention", "F.scaled_dot_product_attention(x, y, z)", [(1, 2, 4, 8)] * 3,
     "F.scaled_dot_product_attention(x, y, z)", [(4, 8, 128, 64)] * 3),
    ("encoder layer", "TransformerEncoderLayer(8, 2, 16, 0.0)", [(4, 2, 8)],
     "TransformerEncoderLayer(256, 8, 1024, 0.0)", [(64, 8, 256)]),
    # losses
    ("mse loss", "MSELoss()", [(4, 8), floats(4, 8, target=True)],
     "MSELoss()", [(512, 512), floats(512, 512, target=True)]),
    ("cross entropy", "CrossEntropyLoss()", [(4, 8), ids(8, 4)], "CrossEntropyLoss()", [(512, 1000), ids(1000, 512)]),
    ("bce with logits", "BCEWithLogitsLoss()", [(4, 8), floats(4, 8, target=True)],
     "BCEWithLogitsLoss()", [(512, 512), floats(512, 512, target=True)]),
    ("smooth l1 loss", "SmoothL1Loss()", [(4, 8), floats(4, 8, target=True)],
     "SmoothL1Loss()", [(512, 512), floats(512, 512, target=True)]),
]


def layer_of(t, code):
    """A callable of the inputs: a module, or a function of x, y and z."""
    if code.startswith("F."):
        return eval(f"lambda x, y=None, z=None: {code}", {"F": t.nn.functional})
    return eval(f"nn.{code}", {"nn": t.nn})


def first(result):
    return result[0] if isinstance(result, tuple) else result


def forward(t, code, inputs):
    layer, given = layer_of(t, code), [i.make(t) for i in inputs]

    def run():
        with t.no_grad():
            return first(layer(*given))

    return seeded(t, code, run)


def forward_and_backward(t, code, inputs):
    layer, given = layer_of(t, code), [i.make(t) for i in inputs]
    leaves = [x for x in given if x.requires_grad]
    leaves += list(layer.parameters()) if hasattr(layer, "parameters") else []
    pull = t.randn(first(layer(*given)).shape)

    def run():
        for leaf in leaves:
            leaf.grad = None
        first(layer(*given)).backward(pull)
        return leaves[0].grad

    return seeded(t, code, run)


def seeded(t, code, run):
    """`run`, with the same random numbers every time if the layer draws any."""
    if "Fractional" not in code:
        return run

    def again():
        t.manual_seed(0)
        return run()

    return again


def register(name, size, code, inputs):
    inputs = [i if isinstance(i, ids | floats) else floats(*i) for i in inputs]
    suite.case(f"{name}, {size}, forward")(lambda t: forward(t, code, inputs))
    suite.case(f"{name}, {size}, with backward")(lambda t: forward_and_backward(t, code, inputs))


for name, small_code, small_inputs, usual_code, usual_inputs in ROWS:
    register(name, "small", small_code, small_inputs)
    register(name, "usual", usual_code, usual_inputs)

if __name__ == "__main__":
    suite.main()
