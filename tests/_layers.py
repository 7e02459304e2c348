"""The table of layers under test: how each is constructed, and its inputs."""

import math

COUNT = 3  # classes in the targets of losses


def wave(t, *shape, start=0.3, step=0.7):
    """A tensor of numbers between -1 and 1 that both libraries make alike."""
    size = math.prod(shape)
    return (t.arange(size, dtype=t.float64) * step + start).sin().to(t.float32).reshape(shape)


class Floats:
    """An input of floats, differentiable unless it is a target."""

    def __init__(self, *shape, low=None, target=False, start=None):
        self.shape, self.low, self.target = shape, low, target
        self.start = start or (1.3 if target else 0.3)

    def make(self, t, dtype=None):
        x = wave(t, *self.shape, start=self.start)
        if self.low is not None:  # probabilities
            x = x.abs() * (1 - 2 * self.low) + self.low
        x = x.to(dtype or t.float32)
        return x if self.target else x.requires_grad_()


class Whole:
    """An input of integers, as they are given."""

    def __init__(self, *numbers, shape=None):
        self.numbers, self.shape = numbers, shape or (len(numbers),)

    def make(self, t, dtype=None):
        return t.tensor(self.numbers).reshape(self.shape)


class Signs:
    """A target of ones and minus ones."""

    def __init__(self, *shape):
        self.shape = shape

    def make(self, t, dtype=None):
        return (t.arange(math.prod(self.shape)) * 5 % 3 % 2 * 2 - 1).reshape(self.shape)


class Indices:
    """An input of integers below `high`."""

    def __init__(self, high, *shape):
        self.high, self.shape = high, shape

    def make(self, t, dtype=None):
        return (t.arange(math.prod(self.shape)) * 5 % self.high).reshape(self.shape)


class Layer:
    """A row: the code that makes the layer (with ``t`` for the library, ``nn`` for its ``nn``), and its inputs."""

    def __init__(self, code, *inputs):
        self.code = code
        self.inputs = [Floats(*i) if isinstance(i, tuple) else i for i in inputs]

    def __str__(self):
        return self.code

    @property
    def lazy(self):
        return "Lazy" in self.code

    def make(self, t, seed=0):
        t.manual_seed(seed)
        return eval(self.code if "nn." in self.code else f"nn.{self.code}", {"t": t, "nn": t.nn})

    def arguments(self, t, dtype=None):
        return [i.make(t, dtype) for i in self.inputs]


T = Floats(4, 3, target=True)
PROBABILITIES = Floats(4, 3, low=0.05)
SOFT = Floats(4, 3, low=0.05, target=True)
CLASSES = Indices(COUNT, 4)

LAYERS = [
    Layer("Linear(3, 4)", (2, 3)),
    Layer("Linear(3, 4, bias=False)", (2, 5, 3)),
    Layer("LazyLinear(2)", (3, 4)),
    Layer("Bilinear(2, 3, 4)", (5, 2), (5, 3)),
    Layer("Identity()", (2, 2)),
    Layer("Flatten()", (2, 3, 4)),
    Layer("Unflatten(1, (2, 3))", (2, 6)),
    # activations
    Layer("ReLU()", (3, 4)),
    Layer("LeakyReLU(0.2)", (3, 4)),
    Layer("PReLU(3)", (2, 3, 2)),
    Layer("ELU(0.5)", (3, 4)),
    Layer("CELU(0.5)", (3, 4)),
    Layer("SELU()", (3, 4)),
    Layer("GELU()", (3, 4)),
    Layer("GELU(approximate='tanh')", (3, 4)),
    Layer("SiLU()", (3, 4)),
    Layer("Mish()", (3, 4)),
    Layer("Sigmoid()", (3, 4)),
    Layer("Tanh()", (3, 4)),
    Layer("Softplus(2)", (3, 4)),
    Layer("Softsign()", (3, 4)),
    Layer("Hardswish()", (3, 4)),
    Layer("Hardtanh(-0.5, 0.5)", (3, 4)),
    Layer("ReLU6()", (3, 4)),
    Layer("Softmax(dim=1)", (3, 4)),
    Layer("LogSoftmax(dim=-1)", (3, 4)),
    Layer("GLU()", (3, 4)),
    # dropout, which does nothing here
    Layer("Dropout(0.0)", (3, 4)),
    Layer("Dropout(0.5).eval()", (3, 4)),
    Layer("Dropout2d(0.5).eval()", (2, 3, 2, 2)),
    Layer("AlphaDropout(0.5).eval()", (3, 4)),
    # convolutions
    Layer("Conv1d(2, 3, 2)", (2, 2, 5)),
    Layer("Conv1d(2, 4, 3, padding='same', bias=False)", (2, 2, 5)),
    Layer("Conv1d(2, 4, 2, padding='same', groups=2, padding_mode='circular')", (2, 5)),
    Layer("Conv2d(2, 3, 3, stride=2, padding=1)", (2, 2, 5, 4)),
    Layer("Conv2d(4, 4, (2, 3), groups=2, dilation=(1, 2))", (1, 4, 4, 6)),
    Layer("Conv2d(2, 2, 3, padding=1, groups=2, padding_mode='reflect')", (1, 2, 4, 4)),
    Layer("Conv2d(2, 2, 1, padding_mode='replicate', padding=1)", (1, 2, 2, 3)),
    Layer("Conv3d(1, 2, 2, padding=(0, 1, 0))", (1, 1, 3, 2, 3)),
    Layer("ConvTranspose1d(2, 3, 3, stride=2)", (2, 2, 3)),
    Layer("ConvTranspose2d(2, 4, 3, stride=2, padding=1, output_padding=1, groups=2)", (1, 2, 3, 2)),
    Layer("ConvTranspose3d(1, 2, 2, bias=False, dilation=2)", (1, 1, 2, 2, 2)),
    Layer("LazyConv1d(3, 2)", (2, 2, 4)),
    Layer("LazyConv2d(3, 2, bias=False)", (1, 2, 3, 3)),
    Layer("LazyConv3d(2, 2)", (1, 1, 2, 3, 2)),
    Layer("LazyConvTranspose1d(2, 2)", (2, 3, 2)),
    Layer("LazyConvTranspose2d(2, 2, stride=2)", (1, 2, 2, 2)),
    Layer("LazyConvTranspose3d(1, 2)", (1, 2, 2, 2, 2)),
    # pooling
    Layer("MaxPool1d(2)", (2, 2, 5)),
    Layer("MaxPool2d(3, stride=1, padding=1, dilation=1)", (1, 2, 4, 4)),
    Layer("MaxPool2d((2, 1), ceil_mode=True, return_indices=True)", (2, 5, 3)),
    Layer("MaxPool3d(2, stride=1, dilation=2)", (1, 1, 3, 4, 3)),
    Layer("AvgPool1d(2, stride=1, padding=1)", (2, 2, 4)),
    Layer("AvgPool2d(3, stride=2, padding=1, ceil_mode=True, count_include_pad=False)", (1, 2, 4, 5)),
    Layer("AvgPool3d(2, divisor_override=3)", (1, 1, 2, 4, 2)),
    Layer("AdaptiveAvgPool1d(3)", (2, 2, 5)),
    Layer("AdaptiveAvgPool2d((2, None))", (2, 2, 3, 3)),
    Layer("AdaptiveAvgPool2d(1)", (2, 3, 2, 3)),
    Layer("AdaptiveAvgPool3d(2)", (1, 2, 3, 2, 4)),
    Layer("AdaptiveMaxPool1d(2)", (2, 2, 5)),
    Layer("AdaptiveMaxPool2d((1, 2), return_indices=True)", (2, 2, 3, 3)),
    Layer("AdaptiveMaxPool3d(2)", (1, 2, 3, 2, 4)),
    Layer("LPPool2d(2, 2)", (1, 2, 4, 4)),
    Layer("LPPool1d(float('-inf'), 3, stride=1)", (2, 2, 5)),
    Layer("LPPool3d(float('inf'), 2, ceil_mode=True)", (1, 2, 3, 3, 3)),
    # normalisation
    Layer("BatchNorm1d(3)", (4, 3)),
    Layer("BatchNorm1d(3, momentum=None)", (2, 3, 2)),
    Layer("BatchNorm2d(2, affine=False)", (2, 2, 3, 2)),
    Layer("BatchNorm2d(2, track_running_stats=False)", (2, 2, 3, 2)),
    Layer("BatchNorm2d(2, eps=0.1, momentum=0.5, bias=False)", (2, 2, 3, 2)),
    Layer("BatchNorm3d(2)", (2, 2, 2, 1, 2)),
    Layer("LazyBatchNorm1d()", (4, 3)),
    Layer("LazyBatchNorm2d(affine=False)", (2, 2, 3, 2)),
    Layer("LazyBatchNorm3d()", (2, 2, 2, 1, 2)),
    Layer("InstanceNorm1d(2)", (2, 2, 4)),
    Layer("InstanceNorm2d(2, affine=True, track_running_stats=True)", (2, 2, 2, 3)),
    Layer("InstanceNorm3d(2, affine=True)", (2, 2, 1, 3)),
    Layer("LazyInstanceNorm1d()", (2, 2, 4)),
    Layer("LayerNorm(4)", (2, 3, 4)),
    Layer("LayerNorm((3, 4), bias=False)", (2, 3, 4)),
    Layer("LayerNorm(4, elementwise_affine=False, eps=0.1)", (2, 4)),
    Layer("RMSNorm(4)", (2, 3, 4)),
    Layer("RMSNorm((3, 4), eps=0.1, elementwise_affine=False)", (2, 3, 4)),
    Layer("GroupNorm(2, 4)", (2, 4, 3)),
    Layer("GroupNorm(1, 4, affine=False)", (2, 4)),
    Layer("LocalResponseNorm(2)", (2, 4, 3)),
    Layer("LocalResponseNorm(3, alpha=0.5, k=2.0)", (1, 4, 2, 2)),
    Layer("CrossMapLRN2d(3, alpha=0.5)", (2, 5, 2, 2)),
    Layer("CrossMapLRN2d(4, 0.3, 0.5, 2)", (1, 6, 2, 1)),
    Layer("SyncBatchNorm(3)", (4, 3)),
    Layer("SyncBatchNorm(2, momentum=None, bias=False)", (2, 2, 2, 1, 2)),
    Layer("nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.Tanh(), nn.BatchNorm1d(3)))", (4, 3)),
    # tables
    Layer("Embedding(5, 3)", Indices(5, 2, 3)),
    Layer("Embedding(5, 3, padding_idx=-1)", Indices(5, 6)),
    Layer("Embedding(5, 3, max_norm=1.0, scale_grad_by_freq=True)", Indices(3, 6)),
    Layer("EmbeddingBag(5, 3, mode='sum')", Indices(5, 2, 3)),
    Layer("EmbeddingBag(5, 3, padding_idx=1)", Indices(5, 2, 4)),
    Layer("EmbeddingBag(5, 3, mode='max')", Indices(5, 2, 3)),
    # attention
    Layer("MultiheadAttention(4, 2)", (3, 2, 4), (5, 2, 4), (5, 2, 4)),
    Layer("MultiheadAttention(4, 2, bias=False, add_bias_kv=True, add_zero_attn=True)", (3, 4), (5, 4), (5, 4)),
    Layer("MultiheadAttention(4, 1, kdim=3, vdim=2, batch_first=True)", (2, 3, 4), (2, 5, 3), (2, 5, 2)),
    Layer("TransformerEncoderLayer(4, 2, 6, dropout=0.0)", (3, 2, 4)),
    Layer("nn.TransformerEncoderLayer(4, 2, 6, 0.0, nn.Tanh(), norm_first=True, bias=False)", (3, 4)),
    Layer("TransformerDecoderLayer(4, 2, 6, 0.0, 'gelu', 0.1)", (3, 2, 4), (5, 2, 4)),
    Layer("TransformerDecoderLayer(4, 2, 6, 0.0, batch_first=True, norm_first=True)", (2, 3, 4), (2, 5, 4)),
    Layer("nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6, 0.0, batch_first=True), 2)", (2, 3, 4)),
    Layer("nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 6, 0.0), 2, nn.LayerNorm(4))", (3, 2, 4), (5, 2, 4)),
    Layer("Transformer(4, 2, 1, 2, 6, 0.0, layer_norm_eps=0.1, batch_first=True)", (2, 3, 4), (2, 5, 4)),
    # recurrence
    Layer("RNN(3, 4)", (5, 2, 3)),
    Layer("RNN(3, 2, 2, nonlinearity='relu', bidirectional=True)", (4, 2, 3), (4, 2, 2)),
    Layer("RNN(3, 2, bias=False, batch_first=True)", (4, 3)),
    Layer("LSTM(3, 4)", (5, 2, 3)),
    Layer("LSTM(3, 4, 2, batch_first=True, bidirectional=True, proj_size=2)", (2, 4, 3)),
    Layer("LSTM(3, 2, 2, bias=False)", (4, 3)),
    Layer("GRU(3, 4)", (5, 2, 3), (1, 2, 4)),
    Layer("GRU(3, 2, 2, batch_first=True, bidirectional=True)", (2, 4, 3)),
    Layer("GRU(3, 2, bias=False)", (4, 3)),
    Layer("RNNCell(3, 4)", (2, 3)),
    Layer("RNNCell(3, 4, bias=False, nonlinearity='relu')", (3,), (4,)),
    Layer("LSTMCell(3, 4)", (2, 3)),
    Layer("LSTMCell(3, 4, bias=False)", (3,)),
    Layer("GRUCell(3, 4)", (2, 3), (2, 4)),
    Layer("GRUCell(3, 4, bias=False)", (3,)),
    # losses
    Layer("MSELoss()", (4, 3), T),
    Layer("MSELoss(reduction='none')", (4, 3), T),
    Layer("L1Loss(reduction='sum')", (4, 3), T),
    Layer("SmoothL1Loss(beta=0.3)", (4, 3), T),
    Layer("HuberLoss(delta=0.4)", (4, 3), T),
    Layer("NLLLoss(ignore_index=1)", (4, 3), CLASSES),
    Layer("NLLLoss(weight=t.tensor([0.2, 1.0, 0.5]), reduction='none')", (2, 3, 2), Indices(COUNT, 2, 2)),
    Layer("CrossEntropyLoss()", (4, 3), CLASSES),
    Layer("CrossEntropyLoss(weight=t.tensor([0.2, 1.0, 0.5]), label_smoothing=0.1)", (4, 3), CLASSES),
    Layer("CrossEntropyLoss(reduction='sum')", (4, 3), SOFT),
    Layer("BCELoss()", PROBABILITIES, SOFT),
    Layer("BCELoss(weight=t.tensor([0.2, 1.0, 0.5]), reduction='sum')", PROBABILITIES, SOFT),
    Layer("BCEWithLogitsLoss(pos_weight=t.tensor([0.2, 1.0, 0.5]))", (4, 3), SOFT),
    Layer("KLDivLoss(reduction='batchmean')", (4, 3), SOFT),
    Layer("KLDivLoss(reduction='sum', log_target=True)", (4, 3), T),
    Layer("GaussianNLLLoss(full=True)", (4, 3), T, PROBABILITIES),
    Layer("GaussianNLLLoss(eps=0.5, reduction='none')", (4, 3), T, Floats(4, 1, low=0.05)),
    Layer("PoissonNLLLoss(full=True)", (4, 3), Indices(4, 4, 3)),
    Layer("PoissonNLLLoss(log_input=False, reduction='sum')", PROBABILITIES, SOFT),
    Layer("CTCLoss(blank=2)", (6, 2, 4), Indices(2, 2, 3), Whole(6, 5), Whole(3, 2)),
    Layer("CTCLoss(reduction='sum', zero_infinity=True)", (3, 2, 4), Whole(1, 1, 3, 1), Whole(3, 3), Whole(2, 2)),
    Layer("CTCLoss(reduction='none')", (6, 4), Whole(1, 2), Whole(6), Whole(2)),
    # losses with a margin
    Layer("HingeEmbeddingLoss(0.4)", (4, 3), Signs(4, 3)),
    Layer("MarginRankingLoss(0.2, reduction='sum')", (4,), (4,), Signs(4)),
    Layer("SoftMarginLoss()", (4, 3), Signs(4, 3)),
    Layer("CosineEmbeddingLoss(0.1)", (4, 3), (4, 3), Signs(4)),
    Layer("MultiMarginLoss(p=2, margin=0.5, weight=t.tensor([0.2, 1.0, 0.5]))", (4, 3), CLASSES),
    Layer("MultiMarginLoss(reduction='none')", (4, 3), CLASSES),
    Layer("MultiLabelMarginLoss()", (2, 3), Whole(1, -1, 0, 0, 2, -1, shape=(2, 3))),
    Layer("MultiLabelSoftMarginLoss(weight=t.tensor([0.2, 1.0, 0.5]))", (4, 3), SOFT),
    Layer("TripletMarginLoss(swap=True)", (4, 3), (4, 3), Floats(4, 3, start=2.0)),
    Layer("nn.TripletMarginWithDistanceLoss(distance_function=nn.CosineSimilarity(), margin=0.3)", (4, 3), (4, 3),
          Floats(4, 3, start=2.0)),
    # distances
    Layer("PairwiseDistance(p=3, keepdim=True)", (4, 3), Floats(4, 3, start=2.0)),
    Layer("CosineSimilarity(dim=0)", (4, 3), Floats(4, 3, start=2.0)),
    # many classes
    Layer("AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6], div_value=2.0, head_bias=True)", (4, 8), Whole(0, 3, 7, 9)),
    Layer("LinearCrossEntropyLoss(3, 5, out_features=(2,), bias=True)", (4, 3), Indices(5, 4, 2)),
    Layer("nn.LinearCrossEntropyLoss(3, 5, options=nn.LinearCrossEntropyOptions(batch_chunk_size=2))", (5, 3),
          Indices(5, 5)),
    # margins
    Layer("ConstantPad1d(1, 2.5)", (2, 2, 3)),
    Layer("ConstantPad2d((1, -1, 0, 1), 2.5)", (1, 2, 3)),
    Layer("ConstantPad3d(1, 0.5)", (1, 1, 1, 1)),
    Layer("ZeroPad1d(1)", (2, 2)),
    Layer("ZeroPad2d((1, 0, 2, 1))", (1, 2, 2)),
    Layer("ZeroPad3d(1)", (1, 1, 1, 1)),
    Layer("ReflectionPad1d(2)", (1, 2, 3)),
    Layer("ReflectionPad2d((1, 0, 1, 1))", (1, 2, 2)),
    Layer("ReflectionPad3d(1)", (1, 2, 2, 2)),
    Layer("ReplicationPad1d(2)", (1, 2, 3)),
    Layer("ReplicationPad2d(1)", (1, 2, 2)),
    Layer("ReplicationPad3d((0, 1, 0, 0, 2, 0))", (1, 2, 2, 1)),
    Layer("CircularPad1d(2)", (1, 2, 3)),
    Layer("CircularPad2d((1, 0, 1, 1))", (1, 2, 2)),
    Layer("CircularPad3d(1)", (1, 2, 1, 2)),
    # fractional pooling, folding and shuffling
    Layer("FractionalMaxPool2d(2, output_size=(2, 3), _random_samples=t.full((2, 2, 2), 0.4))", (2, 2, 5, 6)),
    Layer("FractionalMaxPool2d((2, 3), None, 0.5, True, _random_samples=t.full((1, 2, 2), 0.7))", (2, 6, 7)),
    Layer("FractionalMaxPool3d(2, None, (0.5, 0.4, 0.6), _random_samples=t.full((1, 2, 3), 0.7))", (1, 2, 4, 5, 5)),
    Layer("FractionalMaxPool3d(2, 2, _random_samples=t.full((1, 2, 3), 0.2))", (2, 4, 5, 6)),
    Layer("Unfold(2)", (2, 3, 4, 3)),
    Layer("Unfold((3, 2), dilation=(1, 2), padding=1, stride=2)", (2, 5, 6)),
    Layer("Fold((4, 3), 2)", (2, 8, 6)),
    Layer("Fold((5, 6), (3, 2), dilation=(1, 2), padding=1, stride=2)", (12, 9)),
    Layer("PixelShuffle(2)", (2, 8, 2, 3)),
    Layer("PixelUnshuffle(3)", (2, 3, 6)),
    Layer("ChannelShuffle(2)", (2, 6, 3)),
    Layer("ChannelShuffle(3)", (1, 6, 2, 2)),
    # images at another size
    Layer("Upsample(7)", (1, 2, 3)),
    Layer("Upsample(scale_factor=(2.0, 1.5))", (1, 2, 3, 4)),
    Layer("Upsample((2, 5, 3))", (1, 2, 3, 2, 4)),
    Layer("Upsample(7, mode='nearest-exact')", (1, 2, 3)),
    Layer("Upsample(scale_factor=1.7, mode='linear')", (2, 2, 5)),
    Layer("Upsample(scale_factor=2.3, mode='bilinear', recompute_scale_factor=True)", (1, 2, 3, 4)),
    Layer("Upsample((2, 7), mode='bicubic')", (1, 2, 5, 4)),
    Layer("Upsample(5, mode='bicubic', align_corners=True)", (1, 1, 3, 4)),
    Layer("Upsample(scale_factor=0.6, mode='trilinear', align_corners=False)", (1, 2, 4, 3, 5)),
    Layer("Upsample((2, 3), mode='area')", (1, 2, 3, 4)),
    Layer("UpsamplingNearest2d(scale_factor=2)", (1, 2, 2, 3)),
    Layer("UpsamplingBilinear2d((4, 5))", (1, 2, 2, 3)),
    # together
    Layer("nn.DataParallel(nn.Linear(3, 2))", (4, 3)),
    Layer("nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(inplace=True), nn.MaxPool2d(2), "
          "nn.Flatten(), nn.Linear(8, 2))", (2, 1, 6, 6)),
]
