"""Programs of layers that compute with floating numbers: convolutions, pooling, norms, activations, padding, shapes."""

from . import cases
from .cases import each, layer

CONVOLUTIONS = [
    *each(layer, """ConvNd(4, {4|8|6}, {1|3|2|PAIR}{|, stride=2|, stride=PAIR}{|, padding=1|, padding='same'|,
          padding='valid'|, padding=PAIR}{|, dilation=2|, dilation=PAIR}{|, groups=2|, groups=4}{|, bias=False}{|,
          padding_mode='reflect'|, padding_mode='replicate'|, padding_mode='circular'|, padding_mode='zeros'})""",
          "BATCH4, LENGTHS"),
    *each(layer, """ConvTransposeNd(4, {4|8}, {1|3|2|PAIR}{|, stride=2|, stride=PAIR}{|, padding=1|, padding=PAIR}{|,
          output_padding=1}{|, groups=2|, groups=4}{|, bias=False}{|, dilation=2}{|, padding_mode='reflect'})""",
          "BATCH4, LENGTHS"),
    *each(layer, "ConvTransposeNd(4, 2, 2, stride=2)", "BATCH4, LENGTHS",
          call="{m}({x}, output_size=[2 * n + {0|1|2} for n in {x}.shape[-RANK:]])"),
    *each(layer, "LazyConvNd({4|2}, {1|2}{|, bias=False})", "BATCH4, LENGTHS"),
    *each(layer, "LazyConvTransposeNd({4|2}, {1|2}{|, stride=2})", "BATCH4, LENGTHS"),
]
POOLING = [
    *each(layer, """MaxPoolNd({2|3|1|PAIR}{|, stride=1|, stride=PAIR|, stride=3}{|, padding=1}{|, dilation=2}{|,
          return_indices=True}{|, ceil_mode=True})""", "BATCH3, LENGTHS"),
    *each(layer, """AvgPoolNd({2|3|1|PAIR}{|, stride=1|, stride=PAIR|, stride=3}{|, padding=1}{|, ceil_mode=True}{|,
          count_include_pad=False})""", "BATCH3, LENGTHS"),
    *each(layer, "AvgPoolNd(2{|, 1}{|, padding=1}{|, ceil_mode=True}, divisor_override={1|3|-2|0})", "BATCH3, LENGTHS",
          dims=(2, 3)),
    *each(layer, "AdaptiveAvgPoolNd({2|1|3|PAIR|None|7})", "BATCH3, LENGTHS"),
    *each(layer, "AdaptiveMaxPoolNd({2|1|3|PAIR|None|7}{|, return_indices=True})", "BATCH3, LENGTHS"),
    *each(layer, "LPPoolNd({2|1|3|1.5|-1|float('inf')}, {2|3|PAIR}{|, stride=1}{|, ceil_mode=True})", "BATCH3, LENGTHS"),
    *each(layer, "FractionalMaxPoolNd({2|1|PAIR}, {output_size=2|output_ratio=0.6|output_size=1}{|, return_indices=True})",
          "BATCH3, LENGTHS", dims=(2, 3)),
    *each(layer, "MaxUnpoolNd(2{|, stride=2|, stride=1|, padding=1})", "BATCH3, LENGTHS",
          call="{m}(*torch.nn.functional.max_poolNd({x}, 2, return_indices=True))"),
    *each(layer, "MaxUnpoolNd(2)", "{2, |}3, LENGTHS",
          call="{m}(*torch.nn.functional.max_poolNd({x}, 2, return_indices=True), output_size={x}.shape)"),
]
NORMS = [
    *each(layer, """BatchNormNd(4{|, eps=0.1}{|, momentum=0.5|, momentum=None|, momentum=1.0|, momentum=0.0}{|,
          affine=False}{|, track_running_stats=False}{|, bias=False})""", "{3, |2, |1, |0, |}4, LENGTHS"),
    layer("BatchNorm1d(4{|, momentum=None})", "{3, |2, |1, |0, |}4"),
    *each(layer, """InstanceNormNd(4{|, eps=0.1}{|, momentum=0.5}{|, affine=True}{|, track_running_stats=True}{|,
          bias=False})""", "BATCH4, LENGTHS"),
    *each(layer, "LazyBatchNormNd({|affine=False})", "{3, |}4, LENGTHS"),
    *each(layer, "LazyInstanceNormNd({affine=True|affine=False|track_running_stats=True})", "{3, |}4, LENGTHS"),
    layer("SyncBatchNorm(4{|, affine=False})", "{3, |1, }4, {3|1}"),
    layer("SyncBatchNorm.convert_sync_batchnorm(torch.nn.BatchNorm1d(4{|, affine=False})).eval()", "{3, |1, }4, {3|1}"),
    layer("GroupNorm({2|1|4|3}, 4{|, eps=0.1}{|, affine=False}{|, bias=False})", "{3, |1, |0, }4{|, 3|, 2, 3|, 0|, 1}"),
    layer("LayerNorm({4|(4,)|(3, 4)|[4]}{|, eps=0.1}{|, elementwise_affine=False}{|, bias=False})", "BATCH3, 4"),
    layer("RMSNorm({4|(4,)|(3, 4)|[4]}{|, eps=0.1}{|, elementwise_affine=False})", "BATCH3, 4"),
    layer("LocalResponseNorm({2|3|1|5}{|, alpha=0.5}{|, beta=0.5}{|, k=2.0})", "BATCH4{, 3|, 3, 2|, 2, 1, 2}"),
    layer("CrossMapLRN2d({2|3}{|, alpha=0.5}{|, beta=0.5}{|, k=2})", "BATCH4, 3, 2"),
]
ANY = "{2, |0, |}{3|1}, {4|2}"
PLACE = "{|inplace=True}"
ACTIVATIONS = [
    *[layer(f"{name}({PLACE})", ANY) for name in "ReLU ReLU6 SELU SiLU Mish Hardswish Hardsigmoid".split()],
    *[layer(f"{name}()", ANY) for name in "Sigmoid Tanh LogSigmoid Softsign Tanhshrink Identity".split()],
    *[layer(f"{name}({{|0.5|2|-1.0|inplace=True|alpha=2, inplace=True}})", ANY) for name in ("ELU", "CELU")],
    layer("LeakyReLU({|0.2|-0.5|0|0.2, inplace=True|inplace=True})", ANY),
    layer("Hardtanh({|-2, 0.5|0, 6|1, -1|-1, 0.5, inplace=True})", ANY),
    layer("Threshold({0.1|-1}, {20|-3.5}{|, inplace=True})", ANY),
    layer("RReLU({|0.1, 0.3|0.2, 0.2|0.5, 0.1|0.1, 0.3, inplace=True})", ANY),
    layer("GELU({|approximate='tanh'|approximate='none'|approximate='fast'})", ANY),
    layer("Softplus({|2|beta=2, threshold=1|-1|0.5, 3})", ANY),
    layer("Hardshrink({|0.2|0|-1})", ANY),
    layer("Softshrink({|0.2|0|-1})", ANY),
    layer("PReLU({|4|init=0.5|1, -0.5})", "{2, |}4{|, 3}"),
    layer("GLU({|0|-2|1})", "BATCH4, 2"),
    *[layer(f"{name}({{-1|0|1|None|dim=-2|5}})", "BATCH3, 2") for name in ("Softmax", "Softmin", "LogSoftmax")],
    layer("Softmax2d()", "BATCH3, 2, 2"),
    layer("Dropout({0.5|0.3|0.0|1.0|2}{|, inplace=True})", ANY),
    layer("AlphaDropout({0.5|0.0|1.0}{|, inplace=True})", ANY),
    layer("FeatureAlphaDropout({0.5|0.0|1.0}{|, inplace=True})", "BATCH4, 3"),
    *each(layer, "DropoutNd({0.5|0.0|1.0}{|, inplace=True})", "BATCH4, LENGTHS"),
]
ONE, TWO, THREE = "{1|(1, 2)|0|(0, 1)|(-1, 2)}", "{1|(1, 0, 2, 1)|0|(0, -1, 1, 0)}", "{1|(1, 0, 2, 1, 0, 1)|0|(0, -1, 1, 0, 1, 1)}"
SHAPES = [
    *[layer(f"{kind}Pad{n}d({pads}{more})", f"BATCH3, {sizes}")
      for kind, more in (("Constant", ", {0.5|-1|3}"), ("Reflection", ""), ("Replication", ""), ("Zero", ""), ("Circular", ""))
      for n, pads, sizes in ((1, ONE, "{5|3}"), (2, TWO, "{5|3}, 4"), (3, THREE, "{5|3}, 4, 3"))],
    layer("Upsample({scale_factor=2|size=7|scale_factor=1.5|size=(3,)|scale_factor=0.5}{|, mode='nearest'|, mode='linear'|, mode='area'|, "
          "mode='nearest-exact'|, mode='linear', align_corners=True|, recompute_scale_factor=True})", "{2, |1, |0, }3, 5"),
    layer("Upsample({scale_factor=2|size=7|scale_factor=(1.5, 2.0)|size=(3, 2)|scale_factor=0.5}{|, mode='bilinear'|, mode='bicubic'|, "
          "mode='area'|, mode='nearest-exact'|, mode='bilinear', align_corners=True|, mode='bicubic', align_corners=True})",
          "{2, |1, |0, }3, 5, 4"),
    layer("Upsample({scale_factor=2|size=(3, 2, 4)}{|, mode='trilinear'|, mode='area'|, mode='nearest-exact'|, "
          "mode='trilinear', align_corners=True})", "{2, |1, |0, }3, 2, 3, 4"),
    layer("UpsamplingNearest2d({scale_factor=2|size=(3, 2)|size=7})", "{2, |1, |}3, 5, 4"),
    layer("UpsamplingBilinear2d({scale_factor=2|size=(3, 2)|size=7})", "{2, |1, |}3, 5, 4"),
    layer("PixelShuffle({2|1|3})", "{2, |1, |}8, 3, 2"),
    layer("PixelUnshuffle({2|1|3})", "{2, |1, |}2, 6, {4|6}"),
    layer("ChannelShuffle({2|1|3})", "{2, |1, |}6, 2{|, 3}"),
    layer("Fold({(4, 5)|(3, 3)}, {2|(2, 2)}{|, stride=2|, dilation=2|, padding=1})", "BATCH12, {12|4|6|2|30}"),
    layer("Unfold({2|(2, 1)|3}{|, stride=2|, stride=(1, 2)}{|, dilation=2}{|, padding=1})", "BATCH3, 5, 4"),
    layer("Flatten({|0|1, 2|-2|start_dim=2})", "BATCH3, 4"),
    layer("Unflatten({1, (2, 2)|-1, (3, 1)|0, (-1, 1)|1, [4]|1, torch.Size([2, 2])})", "{2, |1, |}4, 3"),
]
PRODUCTS = [
    layer("Linear(4, {3|1|0}{|, bias=False}{|, dtype=torch.float64})", "BATCH{3, |2, 3, |}4"),
    layer("LazyLinear({3|1}{|, bias=False})", "BATCH{3, |}4"),
    layer("Bilinear(4, 3, {2|1}{|, bias=False})", "{2, |0, |1, 2, |}4", "{2, |0, |1, 2, |}3"),
    layer("CosineSimilarity({|dim=-1|dim=0|eps=0.5})", "{2, |0, |}3, 4", "{2, |1, |}3, {4|1}"),
    layer("PairwiseDistance({|p=1|p=3.0|p=float('inf')|keepdim=True|eps=0.1})", "{2, |0, |}3, 4", "{2, |1, |}3, {4|1}"),
]
TABLE = [*CONVOLUTIONS, *POOLING, *NORMS, *ACTIVATIONS, *SHAPES, *PRODUCTS]


def write(writer):
    cases.write(writer, TABLE)
