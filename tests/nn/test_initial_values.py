"""The same seed and the same code give the same model: the initial state_dict of every class of ``torch.nn``.

Uniform numbers are exactly PyTorch's; normal ones may differ in the last two places. What PyTorch draws is recorded,
by checksums where it is exact, so this runs without PyTorch as well:

    python tests/nn/test_initial_values.py     # records anew, needs torch
"""

import inspect
import json
import pathlib
import sys
import warnings
import zlib

import numpy as np
import pytest

import flambeau
from _oracle import to_array

RECORDING = pathlib.Path(__file__).parent.parent / "data" / "nn_initial_values.json"
NORMAL = ("Embedding", "EmbeddingBag", "bias_k")  # whose numbers are normal
ULPS = 2

# Layers with parameters, of sizes at which PyTorch draws singly and in blocks.
WITH_PARAMETERS = """
    Linear(7, 5)  Linear(40, 30, bias=False)  Linear(5, 6, dtype=t.float64)  Linear(9, 4, dtype=t.bfloat16)  Bilinear(3, 4, 5)  Bilinear(3, 4, 5, bias=False)
    Conv1d(4, 6, 3)  Conv2d(4, 6, 3, groups=2)  Conv3d(2, 4, 3, bias=False)
    ConvTranspose1d(4, 6, 3)  ConvTranspose2d(4, 6, 3, groups=2)  ConvTranspose3d(2, 4, 3)
    PReLU(3)  BatchNorm1d(5)  BatchNorm2d(5)  BatchNorm3d(5, affine=False)  SyncBatchNorm(4)  InstanceNorm1d(5, affine=True)  InstanceNorm2d(5, affine=True, track_running_stats=True)
    InstanceNorm3d(5)  LayerNorm((3, 4))  LayerNorm(4, elementwise_affine=False)  GroupNorm(2, 6)  RMSNorm(5)  CrossMapLRN2d(2)  LocalResponseNorm(2)
    Embedding(10, 7)  Embedding(3, 2)  Embedding(30, 20, padding_idx=3)  EmbeddingBag(10, 7)  EmbeddingBag(12, 4, padding_idx=0)
    RNN(5, 4)  RNN(5, 4, 2, nonlinearity='relu', bidirectional=True)  LSTM(5, 4, num_layers=2)  LSTM(5, 4, bidirectional=True, proj_size=3)  LSTM(5, 4, bias=False)
    GRU(5, 4, 2, bidirectional=True)  RNNBase('LSTM', 5, 4)  RNNCellBase(5, 4, True, num_chunks=4)  RNNCell(5, 4)  LSTMCell(5, 4)  GRUCell(5, 4, bias=False)
    MultiheadAttention(8, 2)  MultiheadAttention(8, 2, kdim=5, vdim=3, add_bias_kv=True)  MultiheadAttention(8, 4, bias=False, batch_first=True)
    TransformerEncoderLayer(8, 2, 16)  TransformerDecoderLayer(8, 2, 16, norm_first=True)  TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2)
    TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 2, nn.LayerNorm(8))  Transformer(8, 2, 1, 2, 16)
    AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10])  AdaptiveLogSoftmaxWithLoss(16, 30, [10], div_value=2.0, head_bias=True)
    Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))  ModuleList([nn.Linear(3, 4), nn.Conv1d(1, 2, 3)])  ModuleDict({'a': nn.Linear(3, 4), 'b': nn.Embedding(4, 5)})
    ParameterList([t.randn(3), t.rand(20)])  ParameterDict({'a': t.randn(17)})  Container(a=nn.Linear(2, 3))  DataParallel(nn.Linear(3, 4))
    LinearCrossEntropyLoss(8, 5)
"""
LAZY = {  # what the first call gets
    "LazyLinear(5)": (2, 7), "LazyConv1d(6, 3)": (1, 4, 8), "LazyConv2d(6, 3)": (1, 4, 8, 8), "LazyConv3d(4, 2)": (1, 2, 4, 4, 4),
    "LazyConvTranspose1d(6, 3)": (1, 4, 8), "LazyConvTranspose2d(6, 3)": (1, 4, 8, 8), "LazyConvTranspose3d(4, 2)": (1, 2, 4, 4, 4),
    "LazyBatchNorm1d()": (3, 5), "LazyBatchNorm2d()": (3, 5, 2, 2), "LazyBatchNorm3d()": (3, 5, 2, 2, 2),
    "LazyInstanceNorm1d(affine=True)": (3, 5, 4), "LazyInstanceNorm2d(affine=True)": (3, 5, 4, 4), "LazyInstanceNorm3d(affine=True)": (3, 5, 2, 2, 2),
}
WITHOUT_PARAMETERS = """
    Module() Identity() Flatten() Unflatten(1,(2,3)) ReLU() ReLU6() LeakyReLU() ELU() CELU() SELU() GELU() GLU() SiLU() Mish() Sigmoid() LogSigmoid() Tanh() Tanhshrink() Hardtanh() Hardswish()
    Hardsigmoid() Hardshrink() Softshrink() Softplus() Softsign() Softmin() Softmax(1) Softmax2d() LogSoftmax(1) RReLU() Threshold(0.1,2.0)
    Dropout() Dropout1d() Dropout2d() Dropout3d() AlphaDropout() FeatureAlphaDropout()
    MaxPool1d(2) MaxPool2d(2) MaxPool3d(2) MaxUnpool1d(2) MaxUnpool2d(2) MaxUnpool3d(2) AvgPool1d(2) AvgPool2d(2) AvgPool3d(2) LPPool1d(2,2) LPPool2d(2,2) LPPool3d(2,2)
    AdaptiveAvgPool1d(2) AdaptiveAvgPool2d(2) AdaptiveAvgPool3d(2) AdaptiveMaxPool1d(2) AdaptiveMaxPool2d(2) AdaptiveMaxPool3d(2) FractionalMaxPool2d(2,output_size=2) FractionalMaxPool3d(2,output_size=2)
    ConstantPad1d(1,0.5) ConstantPad2d(1,0.5) ConstantPad3d(1,0.5) ZeroPad1d(1) ZeroPad2d(1) ZeroPad3d(1) ReflectionPad1d(1) ReflectionPad2d(1) ReflectionPad3d(1)
    ReplicationPad1d(1) ReplicationPad2d(1) ReplicationPad3d(1) CircularPad1d(1) CircularPad2d(1) CircularPad3d(1)
    Fold((4,4),2) Unfold(2) PixelShuffle(2) PixelUnshuffle(2) ChannelShuffle(2) Upsample(scale_factor=2) UpsamplingNearest2d(scale_factor=2) UpsamplingBilinear2d(scale_factor=2)
    CosineSimilarity() PairwiseDistance() L1Loss() MSELoss() SmoothL1Loss() HuberLoss() KLDivLoss() BCELoss(weight=t.ones(2)) BCEWithLogitsLoss(pos_weight=t.ones(2)) CrossEntropyLoss(weight=t.ones(3))
    NLLLoss() NLLLoss2d() PoissonNLLLoss() GaussianNLLLoss() CTCLoss() HingeEmbeddingLoss() CosineEmbeddingLoss() MarginRankingLoss() MultiLabelMarginLoss() MultiLabelSoftMarginLoss() MultiMarginLoss()
    SoftMarginLoss() TripletMarginLoss() TripletMarginWithDistanceLoss()
"""
CODES = [code.strip() for line in WITH_PARAMETERS.split("\n") for code in line.split("  ") if code.strip()] + [*LAZY, *WITHOUT_PARAMETERS.split()]


def class_of(code):
    return code.partition("(")[0]


HERE = [code for code in CODES if hasattr(flambeau.nn, class_of(code))]


def initial_state(t, code):
    t.manual_seed(7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of deprecated classes, and of fast paths that are not taken
        m = eval(f"nn.{code}", {"t": t, "nn": t.nn})
        if code in LAZY:
            m(t.ones(LAZY[code]))
    drawn = t.rand(1)  # the next number: nothing else was drawn
    return {**m.state_dict(), "(next)": drawn}


def is_normal(code, key):
    return key != "(next)" and any(word in code or word in key for word in NORMAL)


def ulps(got, want):
    """The distance of two arrays of floats in units of the last place of `want`."""
    return np.abs(got.astype(np.float64) - want) / np.spacing(np.abs(want)) if want.size else np.zeros(1)


def checksum(t):
    return zlib.crc32(np.ascontiguousarray(to_array(t)).tobytes())


def record():
    import torch

    rows = {}
    for code in CODES:
        state = initial_state(torch, code)
        rows[code] = {key: to_array(v).ravel().tolist() if is_normal(code, key) else checksum(v) for key, v in state.items()}
    RECORDING.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in rows.items()) + "\n}\n")


@pytest.mark.parametrize("code", HERE)
def test_as_recorded(code):
    recorded, state = json.loads(RECORDING.read_text())[code], initial_state(flambeau, code)
    assert list(state) == list(recorded)
    for key, want in recorded.items():
        if is_normal(code, key):
            assert ulps(to_array(state[key]).ravel(), np.array(want, np.float32)).max() <= ULPS, key
        else:
            assert checksum(state[key]) == want, key


@pytest.mark.oracle
@pytest.mark.parametrize("code", HERE)
def test_as_pytorch_draws(code):
    import torch

    ours, theirs = initial_state(flambeau, code), initial_state(torch, code)
    assert list(ours) == list(theirs)
    for key, want in theirs.items():
        got = ours[key]
        assert str(got.dtype) == str(want.dtype)
        assert got.shape == want.shape
        if is_normal(code, key):
            assert ulps(to_array(got), to_array(want)).max() <= ULPS, key
        else:
            np.testing.assert_array_equal(to_array(got), to_array(want), err_msg=key)


def modules_of(nn):
    return {name for name, value in vars(nn).items() if inspect.isclass(value) and issubclass(value, nn.Module)}


def test_every_class_has_a_row():
    assert modules_of(flambeau.nn) - {class_of(code) for code in CODES} == set()


@pytest.mark.oracle
def test_every_class_of_pytorch_has_a_row():
    import torch

    assert modules_of(torch.nn) - {class_of(code) for code in CODES} == set()


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
    record()
