"""Errors of layers and their functions: PyTorch's types, with messages that name the shapes."""

import pytest

import flambeau
from _errors import error_tests
from _oracle import check_code

ERRORS = [
    # code, type, part of the message
    ("F.conv2d(t.zeros(1, 3, 8, 8), t.zeros(20, 1, 5, 5))", RuntimeError,
     "Given groups=1, weight of size [20, 1, 5, 5], expected input[1, 3, 8, 8] to have 1 channels, but got 3 channels "
     "instead"),
    ("F.conv_transpose2d(t.zeros(1, 3, 8, 8), t.zeros(2, 1, 5, 5))", RuntimeError,
     "Given transposed=1, weight of size [2, 1, 5, 5], expected input[1, 3, 8, 8] to have 2 channels, but got 3 channels"),
    ("F.conv2d(t.zeros(3, 8), t.zeros(2, 3, 1, 1))", RuntimeError,
     "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [3, 8]"),
    ("F.conv1d(t.zeros(1, 3, 2), t.zeros(2, 3, 5))", RuntimeError,
     "Calculated padded input size per channel: (2,). Kernel size: (5,). Kernel size can't be greater"),
    ("F.conv1d(t.zeros(1, 3, 2), t.zeros(2, 3, 1), t.zeros(3))", RuntimeError, "expected bias to be 1-dimensional with 2"),
    ("F.conv1d(t.zeros(1, 4, 2), t.zeros(3, 2, 1), groups=2)", RuntimeError, "[3, 2, 1]"),
    ("F.conv1d(t.zeros(1, 3, 2), t.zeros(2, 3, 1), stride=0)", RuntimeError, "non-positive stride is not supported"),
    ("F.conv1d(t.zeros(1, 3, 2), t.zeros(2, 3, 1), padding=-1)", RuntimeError, "negative padding is not supported"),
    ("F.conv1d(t.zeros(1, 3, 2), t.zeros(2, 3, 1), padding='same', stride=2)", RuntimeError, "strided convolutions"),
    ("F.conv1d(t.zeros(1, 3, 2), t.zeros(2, 3, 1), padding='other')", RuntimeError, "should be 'valid' or 'same'"),
    ("F.conv2d(t.zeros(1, 3, 2, 2), t.zeros(2, 3, 1, 1), stride=(1, 1, 1))", RuntimeError, "stride=[1, 1, 1]"),
    ("F.conv1d(t.zeros(1, 3, 2), t.zeros(2, 3, 1).double())", RuntimeError, "should be the same"),
    ("F.conv1d([1.0], t.zeros(2, 3, 1))", TypeError, "must be Tensor, not list"),
    ("F.conv_transpose1d(t.zeros(1, 3, 2), t.zeros(3, 3, 1), output_padding=2)", RuntimeError, "smaller than either"),
    ("F.conv2d(t.zeros(1, 3, 0, 2), t.zeros(2, 3, 1, 1), padding=1)", RuntimeError,
     "Only zero batch or zero channel inputs are supported, but got input shape: [1, 3, 0, 2]"),
    ("F.conv_transpose1d(t.zeros(2, 3, 0), t.zeros(3, 2, 1), padding=1)", RuntimeError, "Output size is too small"),
    ("F.conv_transpose1d(t.zeros(1, 3, 1), t.zeros(3, 2, 2), padding=1)", RuntimeError, "Output size is too small"),
    ("F.conv_transpose1d(t.zeros(2, 3, 1), t.zeros(3, 2, 1), padding=1)", RuntimeError, "Output size is too small"),
    ("nn.Conv2d(3, 4, 1, groups=2)", ValueError, "in_channels must be divisible by groups"),
    ("nn.Conv2d(4, 4, 1, groups=0)", ValueError, "groups must be a positive integer"),
    ("nn.Conv2d(4, 4, 1, padding='other')", ValueError, "'same', 'valid'"),
    ("nn.Conv2d(4, 4, 1, padding='same', stride=2)", ValueError, "padding='same' is not supported"),
    ("nn.Conv2d(4, 4, 1, padding_mode='other')", ValueError, "padding_mode must be one of"),
    ("nn.ConvTranspose2d(4, 4, 1, padding_mode='reflect')", ValueError, "zeros"),
    ("nn.LazyConv2d(4, 1, groups=2)(t.zeros(1, 3, 2, 2))", ValueError, "divisible by groups"),
    ("F.pad(t.zeros(1, 2, 4), (1, 1), 'reflect', 2.0)", RuntimeError, "doesn't take in value argument"),
    ("F.pad(t.zeros(1, 2, 4), (1, 1), 'other', 2.0)", NotImplementedError, "Unrecognised padding mode other"),
    ("F.silu(t.zeros(2, dtype=t.complex64, requires_grad=True))", RuntimeError,
     "silu does not support automatic differentiation for outputs with complex dtype"),
    ("F.max_pool2d(t.zeros(1, 2, 4, 4), 2, padding=2)", RuntimeError, "half of effective kernel size"),
    ("F.max_pool1d(t.zeros(1, 2, 9), 3, padding=2, dilation=3)", RuntimeError, "at most half of kernel size"),
    ("F.max_pool3d(t.zeros(1, 2, 9, 9, 9), 3, padding=2, dilation=3)", RuntimeError, "or equal to half of kernel size"),
    ("F.avg_pool3d(t.zeros(1, 2, 4, 1, 4), 2, padding=1)", RuntimeError, "smaller than kernel size"),
    ("F.lp_pool3d(t.zeros(1, 2, 4, 1, 4), 2, 2, ceil_mode=True)", RuntimeError, "smaller than kernel size"),
    ("F.unfold(t.zeros(4, 2), 2)", IndexError, "Dimension out of range"),
    ("F.unfold(t.zeros(4, 0), 2)", RuntimeError, "Expected 3D or 4D"),
    ("F.max_pool2d(t.zeros(2, 4), 2)", RuntimeError, "3D or 4D"),
    ("F.max_pool1d(t.zeros(1, 2, 2), 3)", RuntimeError, "Output size is too small"),
    ("F.max_pool1d(t.zeros(1, 2, 2), 1, stride=0)", RuntimeError, "greater than zero"),
    ("F.avg_pool2d(t.zeros(1, 2, 4, 4), 2, divisor_override=0)", RuntimeError, "divisor must be not zero"),
    ("F.avg_pool2d(t.zeros(1, 2, 4, 4), (2, 2, 2))", RuntimeError, "kernel_size=[2, 2, 2]"),
    ("F.adaptive_avg_pool2d(t.zeros(1, 2, 4, 4), (1, 2, 3, 4))", ValueError, "[1, 2, 4, 4]"),
    ("F.adaptive_avg_pool2d(t.zeros(1, 2, 4, 4), -1)", RuntimeError, "[-1, -1]"),
    ("F.max_unpool1d(t.zeros(1, 1, 2), t.zeros(1, 1, 3, dtype=t.int64), 2)", RuntimeError, "[1, 1, 3]"),
    ("F.unfold(t.zeros(4, 4), 2)", IndexError, "Dimension out of range"),
    ("F.unfold(t.zeros(1, 0, 4, 4), 2)", RuntimeError, "Expected 3D or 4D (batch mode) tensor"),
    ("F.unfold(t.zeros(1, 2, 4, 4), 5)", RuntimeError, "calculated shape of the array of sliding blocks as (0, 0)"),
    ("F.unfold(t.zeros(1, 2, 4, 4), (2, 2, 2))", RuntimeError, "It is expected kernel_size equals to 2"),
    ("F.unfold(t.zeros(1, 2, 4, 4), 2, stride=0)", RuntimeError, "stride should be greater than zero"),
    ("F.unfold(t.zeros(1, 2, 4, 4), 2, padding=-1)", RuntimeError, "padding should be non-negative"),
    ("F.unfold(t.zeros(1, 2, 4, 4).long(), 2)", NotImplementedError, "'Long'"),
    ("F.fold(t.zeros(9), 4, 2)", RuntimeError, "Expected 2D or 3D (batch mode) tensor"),
    ("F.fold(t.zeros(1, 7, 9), 4, 2)", RuntimeError, "divisible by the product of kernel_size"),
    ("F.fold(t.zeros(1, 8, 8), 4, 2)", RuntimeError, "calculated number of sliding blocks 3 * 3 = 9"),
    ("F.fold(t.zeros(1, 8, 9), (4,), 2)", RuntimeError, "It is expected output_size equals to 2"),
    ("F.pixel_shuffle(t.zeros(1, 2, 4, 4), 2)", RuntimeError, "divisible by the square of upscale_factor"),
    ("F.pixel_shuffle(t.zeros(4, 4), 2)", RuntimeError, "at least 3 dimensions"),
    ("F.pixel_shuffle(t.zeros(1, 4, 4), 0)", RuntimeError, "expects a positive upscale_factor"),
    ("F.pixel_shuffle(t.zeros(1, 4, 4), 2.0)", TypeError, "must be int, not float"),
    ("F.pixel_unshuffle(t.zeros(1, 4, 4), 3)", RuntimeError, "expects height to be divisible by downscale_factor"),
    ("F.channel_shuffle(t.zeros(1, 4, 4), 3)", RuntimeError, "Got 4 channels and 3 groups"),
    ("F.channel_shuffle(t.zeros(1, 4, 4), 0)", RuntimeError, "must be positive"),
    ("F.channel_shuffle(t.zeros(4, 4), 2)", RuntimeError, "expects input with > 2 dims"),
    ("F.fractional_max_pool2d(t.zeros(1, 2, 4, 4), 2)", ValueError, "either an output_size or an output_ratio"),
    ("F.fractional_max_pool2d(t.zeros(1, 2, 4, 4), 2, 4)", RuntimeError, "too large relative to input"),
    ("F.fractional_max_pool2d(t.zeros(4, 4), 2, 2)", IndexError, "Dimension out of range"),
    ("F.fractional_max_pool2d(t.zeros(1, 0, 4, 4), 2, 2)", RuntimeError, "dimension 1 being empty"),
    ("F.fractional_max_pool2d(t.zeros(1, 0, 4), 2, 2)", RuntimeError, "dimension 1 being empty"),
    ("F.fractional_max_pool2d(t.zeros(1, 2, 4, 4), (2, 2, 2), 2)", RuntimeError, "kernel_size must either be"),
    ("F.fractional_max_pool2d(t.zeros(1, 2, 4, 4), 2, output_ratio=0.5)", TypeError, "has no len()"),
    ("F.fractional_max_pool2d(t.zeros(1, 2, 4, 4).long(), 2, 2)", NotImplementedError, "'Long'"),
    ("F.fractional_max_pool2d(t.zeros(1, 2, 4, 4), 2, 2, _random_samples=t.zeros(1, 3, 2))", RuntimeError,
     "Expect _random_samples.size(1) equals to input channel size"),
    ("F.fractional_max_pool3d(t.zeros(1, 2, 4, 4, 4), 2, 3)", RuntimeError, "too large relative to input"),
    ("nn.FractionalMaxPool2d(2)", ValueError, "requires specifying either an output size, or a pooling ratio"),
    ("nn.FractionalMaxPool2d(2, 2, 0.5)", ValueError, "only one of output_size and output_ratio"),
    ("nn.FractionalMaxPool3d(2, output_ratio=1.5)", ValueError, "output_ratio must be between 0 and 1"),
    ("nn.CrossMapLRN2d(3)(t.zeros(2, 3, 4))", ValueError, "Expected input to be 4D, got 3D instead"),
    ("nn.SyncBatchNorm(3)(t.zeros(3))", ValueError, "expected at least 2D input (got 1D input)"),
    ("nn.factory_kwargs({'dtype': 1, 'factory_kwargs': {'dtype': 1}})", TypeError, "dtype specified twice"),
    ("nn.factory_kwargs({'other': 1})", TypeError, "unexpected kwargs {'other'}"),
    ("F.interpolate(t.zeros(1, 2, 4, 4), 5, mode='linear')", NotImplementedError,
     "Got 4D input, but linear mode needs 3D input"),
    ("F.interpolate(t.zeros(2, 4), 5)", NotImplementedError, "Only 3D, 4D and 5D input Tensors supported (got 2D)"),
    ("F.interpolate(t.zeros(1, 2, 4), 5, mode='other')", NotImplementedError, "(got other)"),
    ("F.interpolate(t.zeros(1, 2, 4), 5, align_corners=True)", ValueError, "align_corners option can only be set with"),
    ("F.interpolate(t.zeros(1, 2, 4), 5, 2.0)", ValueError, "only one of size or scale_factor should be defined"),
    ("F.interpolate(t.zeros(1, 2, 4))", ValueError, "either size or scale_factor should be defined"),
    ("F.interpolate(t.zeros(1, 2, 4, 4), (5,))", ValueError, "same number of spatial dimensions"),
    ("F.interpolate(t.zeros(1, 2, 4, 4), None, (2.0,))", ValueError, "same number of spatial dimensions"),
    ("F.interpolate(t.zeros(1, 2, 4), 5, recompute_scale_factor=True)", ValueError, "with an explicit size"),
    ("F.interpolate(t.zeros(1, 2, 4), 5, antialias=True)", ValueError, "Anti-alias option is restricted to"),
    ("F.interpolate(t.zeros(1, 2, 4, 4), 5, mode='lanczos')", ValueError, "Lanczos mode requires antialias=True"),
    ("F.interpolate(t.zeros(1, 2, 4, 4), 0)", RuntimeError, "sizes should be greater than 0"),
    ("F.interpolate(t.zeros(1, 2, 4, 4), None, 0.1, 'bilinear')", RuntimeError, "sizes should be greater than 0"),
    ("F.interpolate(t.zeros(1, 0, 4, 4), 5)", RuntimeError, "Non-empty 4D data tensor expected"),
    ("F.interpolate(t.zeros(1, 2, 4, 4), (5, 5.5))", TypeError, "float"),
    ("F.interpolate(t.zeros(1, 2, 4).long(), 5)", NotImplementedError, "not implemented for 'Long'"),
    ("F.interpolate(t.zeros(1, 2, 4).byte(), 5, mode='linear')", NotImplementedError, "not implemented for 'Byte'"),
    ("F.interpolate(t.zeros(1, 2, 4, 4).half(), 5, mode='bicubic', antialias=True)", NotImplementedError, "'Half'"),
    ("F.grid_sample(t.zeros(1, 2, 4, 4), t.zeros(1, 3, 3, 2), 'other')", ValueError, "expected mode to be"),
    ("F.grid_sample(t.zeros(1, 2, 4, 4), t.zeros(1, 3, 3, 2), padding_mode='other')", ValueError, "padding_mode to be"),
    ("F.grid_sample(t.zeros(1, 2, 4, 4), t.zeros(2, 3, 3, 2), align_corners=True)", RuntimeError, "same batch size"),
    ("F.grid_sample(t.zeros(1, 2, 4, 4), t.zeros(1, 3, 3, 3), align_corners=True)", RuntimeError,
     "expected grid to have size 2 in last dimension"),
    ("F.grid_sample(t.zeros(1, 2, 4, 4), t.zeros(1, 3, 2), align_corners=True)", RuntimeError,
     "with same number of dimensions"),
    ("F.grid_sample(t.zeros(1, 2, 0, 4), t.zeros(1, 3, 3, 2), align_corners=True)", RuntimeError, "dimension 2 being empty"),
    ("F.grid_sample(t.zeros(1, 2, 4, 4), t.zeros(1, 3, 3, 2).double(), align_corners=True)", RuntimeError,
     "expected scalar type Float but found Double"),
    ("F.grid_sample(t.zeros(1, 1, 2, 4, 4), t.zeros(1, 3, 3, 3, 3), 'bicubic', align_corners=True)", RuntimeError,
     "bicubic interpolation only supports 4D input"),
    ("F.grid_sample(t.zeros(1, 2, 4, 4).long(), t.zeros(1, 3, 3, 2).long(), align_corners=True)", NotImplementedError,
     "'Long'"),
    ("F.affine_grid(t.zeros(1, 2, 3).long(), (1, 1, 2, 2), False)", ValueError, "floating point type"),
    ("F.affine_grid(t.zeros(1, 2, 3), (1, 1, 2), False)", NotImplementedError, "only supports 4D and 5D sizes"),
    ("F.affine_grid(t.zeros(1, 2, 2), (1, 1, 2, 2), False)", ValueError, "affine matrices of shape Nx2x3"),
    ("F.affine_grid(t.zeros(1, 2, 3), (1, 1, 0, 2), False)", ValueError, "non-zero, positive output size"),
    ("F.affine_grid(t.zeros(1, 2, 3), (2, 1, 2, 2), False)", RuntimeError, "Expected size for first two dimensions"),
    ("F.batch_norm(t.zeros(1, 3), None, None, training=True)", ValueError,
     "Expected more than 1 value per channel when training, got input size torch.Size([1, 3])"),
    ("F.batch_norm(t.zeros(2, 3), t.zeros(4), t.ones(4))", RuntimeError, "running_mean should contain 3 elements not"),
    ("F.batch_norm(t.zeros(2, 3), None, None)", RuntimeError, "running_mean and running_var to be defined"),
    ("F.batch_norm(t.zeros(2, 3), None, None, training=True, eps=0.0)", ValueError, "eps must be positive"),
    ("F.batch_norm(t.zeros(2, 3), t.zeros(3), t.ones(3), eps=-1.0)", ValueError, "eps must be non-negative"),
    ("t.nn.Sequential(t.nn.BatchNorm1d(3, eps=-1.0, affine=False), t.nn.ReLU()).eval()(t.zeros(2, 3))", ValueError,
     "eps must be non-negative"),
    ("F.instance_norm(t.zeros(2, 3, 1))", ValueError, "more than 1 spatial element"),
    ("F.layer_norm(t.zeros(2, 3), (4,))", RuntimeError,
     "Given normalized_shape=[4], expected input with shape [*, 4], but got input of size[2, 3]"),
    ("F.layer_norm(t.zeros(2, 3), (3,), t.zeros(2))", RuntimeError, "weight of shape [2]"),
    ("F.layer_norm(t.zeros(2, 3), ())", RuntimeError, "at least 1-dimensional"),
    ("F.group_norm(t.zeros(2, 3), 2)", RuntimeError, "divisible by num_groups"),
    ("F.local_response_norm(t.zeros(2, 3), 2)", ValueError, "3D or higher"),
    ("nn.BatchNorm2d(3)(t.zeros(2, 3))", ValueError, "expected 4D input (got 2D input)"),
    ("nn.BatchNorm1d(3)(t.zeros(3))", ValueError, "expected 2D or 3D input (got 1D input)"),
    ("nn.InstanceNorm2d(3, affine=True)(t.zeros(1, 2, 2, 2))", ValueError, "match num_features (3), but got: 2"),
    ("nn.GroupNorm(2, 3)", ValueError, "must be divisible"),
    ("F.bilinear(t.zeros(2, 3), t.zeros(2, 4), t.zeros(5, 3, 3))", RuntimeError, "does not match weight size"),
    ("F.bilinear(t.zeros(2, 3), t.zeros(2, 4), t.zeros(3, 4))", RuntimeError, "got [3, 4]"),
    ("F.bilinear(t.zeros(2, 3), t.zeros(1, 4), t.zeros(5, 3, 4))", RuntimeError, "input dimensions do not match"),
    ("F.bilinear(t.zeros(2, 2, 3), t.zeros(2, 4), t.zeros(5, 3, 4))", RuntimeError, "input dimensions do not match"),
    ("F.bilinear(t.zeros(2, 3), t.zeros(2, 4), t.zeros(5, 3, 4), t.zeros(4))", RuntimeError, "bias size does not match"),
    ("F.bilinear(t.zeros(2, 3), t.zeros(2, 4).double(), t.zeros(5, 3, 4))", RuntimeError, "Double"),
    ("F.bilinear(t.zeros(2, 3), None, t.zeros(5, 3, 4))", TypeError, "'input2' (position 2) must be Tensor"),
    ("F.embedding(t.tensor([3]), t.zeros(3, 2))", IndexError, "3"),
    ("F.embedding(t.tensor([-1]), t.zeros(3, 2))", IndexError, "-1"),
    ("F.embedding(t.tensor([0.0]), t.zeros(3, 2))", RuntimeError, "Long, Int"),
    ("F.embedding(t.tensor([0]), t.zeros(3))", RuntimeError, "2-D"),
    ("nn.Embedding(3, 2, padding_idx=3)", AssertionError, "within num_embeddings"),
    ("nn.Embedding.from_pretrained(t.zeros(3))", AssertionError, "2-dimensional"),
    ("F.embedding_bag(t.tensor([0]), t.zeros(3, 2))", ValueError, "offsets has to be a 1D Tensor"),
    ("F.embedding_bag(t.tensor([[0]]), t.zeros(3, 2), mode='other')", ValueError, "sum, mean or max"),
    ("F.mse_loss(t.zeros(2, 3), t.zeros(4))", RuntimeError, "must match"),
    ("F.mse_loss(t.zeros(2), t.zeros(2), reduction='other')", ValueError, "other is not a valid value"),
    ("F.mse_loss(t.zeros(2, 3), t.zeros(2, 3), weight=t.ones(3))", ValueError, "the same size"),
    ("F.huber_loss(t.zeros(2), t.zeros(2), delta=0.0)", RuntimeError, "non-positive values for delta"),
    ("F.smooth_l1_loss(t.zeros(2), t.zeros(2), beta=-1.0)", RuntimeError, "negative values for beta"),
    ("F.nll_loss(t.zeros(2, 3), t.zeros(4, dtype=t.int64))", ValueError,
     "Expected input batch_size (2) to match target batch_size (4)."),
    ("F.nll_loss(t.zeros(2, 3), t.zeros(2))", RuntimeError, "expected target dtype to be Long or Byte, but got Float"),
    ("F.nll_loss(t.zeros(2, 3), t.tensor([0, 3]))", IndexError, "Target 3 is out of bounds"),
    ("F.nll_loss(t.zeros(2, 3), t.tensor([0, 1]), t.ones(2))", RuntimeError, "all 3 classes"),
    ("F.cross_entropy(t.zeros(2, 3), t.tensor([0, 1]), label_smoothing=2.0)", RuntimeError, "between 0.0 and 1.0"),
    ("F.binary_cross_entropy(t.tensor([2.0]), t.tensor([1.0]))", RuntimeError, "between 0 and 1"),
    ("F.binary_cross_entropy(t.zeros(2), t.zeros(3))", ValueError, "different to the input size"),
    ("F.binary_cross_entropy_with_logits(t.zeros(2), t.zeros(3))", ValueError, "must be the same as input size"),
    *[(f"F.{name}(t.ones(2, dtype=t.{dtype}))", NotImplementedError, f"not implemented for '{word}'")
      for name in ("gelu", "silu", "mish", "softplus", "logsigmoid", "hardsigmoid", "hardswish", "softshrink", "glu")
      for dtype, word in (("bool", "Bool"), ("int64", "Long"), ("uint8", "Byte"))],
    ("F.hardtanh(t.ones(2, dtype=t.complex64))", NotImplementedError, "'ComplexFloat'"),
    ("F.avg_pool2d(t.ones(1, 1, 2, 2, dtype=t.int32), 2)", NotImplementedError, "'Int'"),
    ("F.max_pool1d(t.ones(1, 1, 2, dtype=t.int64), 2)", NotImplementedError, "'Long'"),
    ("F.max_unpool1d(t.ones(1, 1, 1).long(), t.zeros(1, 1, 1).long(), 2)", NotImplementedError, "'Long'"),
    ("F.batch_norm(t.ones(2, 3).long(), None, None, training=True)", NotImplementedError, "'Long'"),
    ("F.group_norm(t.ones(2, 4, dtype=t.complex64), 2)", NotImplementedError, "'ComplexFloat'"),
    ("F.conv2d(t.ones(1, 1, 4, 4), t.ones(1, 1, 0, 0))", RuntimeError, "kernel size should be greater than zero"),
    ("F.conv_transpose2d(t.ones(1, 1, 4, 4), t.ones(1, 1, 0, 0))", RuntimeError, "should be greater than zero"),
    ("F.adaptive_max_pool2d(t.ones(2, 0, 4, 4), 2)", RuntimeError, "non-zero size for non-batch dimensions"),
    ("F.adaptive_avg_pool2d(t.ones(2, 3, 0, 4), 2)", RuntimeError, "with dimension 2 being empty"),
    ("F.embedding_bag(t.tensor([0, 5]), t.zeros(3, 2), t.tensor([0]))", RuntimeError, "valid range [0, 3)"),
    ("F.embedding_bag(t.tensor([0]), t.zeros(3, 2).long(), t.tensor([0]))", RuntimeError, "torch.LongTensor"),
    ("F.cross_entropy(t.zeros(2, 3), t.zeros(2, 3).long())", RuntimeError, "class probabilities, got Long"),
    ("F.cross_entropy(t.zeros(2, 3, 5), t.zeros(2, 4).long())", RuntimeError, "Expected target size [2, 5], got [2, 4]"),
    ("F.nll_loss(t.zeros(2, 3), t.zeros(2, 3).long())", RuntimeError, "multi-target not supported"),
    ("F.nll_loss(t.zeros(2, 3), t.tensor([0, 1]), t.ones(3).double())", RuntimeError, "Float but found Double"),
    ("nn.HuberLoss(delta=1j)", TypeError, "delta must be a float or int"),
    ("nn.ReflectionPad1d(2)(t.zeros(2))", NotImplementedError, "not 1 of 1"),
    ("nn.CircularPad2d(2)(t.zeros(2))", ValueError, "3D or 4D input (got 1D input)"),
]


test_error, test_torch_raises_the_same_type = error_tests(ERRORS)


@pytest.mark.parametrize("offsets, error, words", [
    ([0, -1], IndexError, r"offsets must not be negative.* Got -\d"),
    ([0, 2, -3], IndexError, r"offsets must not be negative.* Got -\d"),
    ([0, 2, 1], RuntimeError, "offsets must be sorted"),
])
def test_wrong_offsets_are_refused(offsets, error, words):
    """PyTorch reads memory that is not its own."""
    with pytest.raises(error, match=words):
        flambeau.nn.functional.embedding_bag(flambeau.arange(4), flambeau.ones(5, 2), flambeau.tensor(offsets))


SHAPES = {"batch": lambda n: (0, 3, *(4,) * n), "unbatched": lambda n: (0, *(4,) * n), "whole": lambda n: (2, 3, *(4,) * n)}


@pytest.mark.oracle
@pytest.mark.parametrize("size", [0, 1, 2])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", [f"adaptive_{kind}_pool{n}d" for kind in ("avg", "max") for n in (1, 2, 3)])
def test_adaptive_pooling_of_nothing_and_to_nothing(name, shape, size):
    torch = pytest.importorskip("torch")
    found = []
    for t in (torch, flambeau):
        x = t.ones(SHAPES[shape](int(name[-2])), requires_grad=True)
        out = getattr(t.nn.functional, name)(x, size)
        found.append([tuple(out.shape), out.tolist()])
        if size:  # PyTorch refuses the gradient of nothing
            out.sum().backward()
            found[-1].append(x.grad.tolist())
    assert found[0] == found[1]


def test_broadcast_targets_are_warned_of():
    with pytest.warns(UserWarning, match="different to the input size"):
        flambeau.nn.functional.mse_loss(flambeau.zeros(2, 3), flambeau.zeros(3))


def test_old_flags_of_losses():
    with pytest.warns(UserWarning, match="reduction='sum'"):
        loss = flambeau.nn.L1Loss(size_average=False)
    assert loss.reduction == "sum"


def test_kl_div_warns_of_its_mean():
    with pytest.warns(UserWarning, match="batchmean"):
        flambeau.nn.KLDivLoss()(flambeau.zeros(2, 3), flambeau.ones(2, 3))


@pytest.mark.oracle
@pytest.mark.parametrize("groups", ["1", "2", "3", "-1", "1.0", "0.5", "3.0", "True", "'a'", "torch.tensor(2)", "None"])
def test_group_norm_names_the_fault_that_pytorch_names(groups):
    for shape in ((), (3,), (1, 1), (1, 3), (2, 3), (1, 4, 2), (0, 4, 2), (2, 4, 0)):
        check_code(f"torch.nn.functional.group_norm(torch.ones({shape}), {groups})")
