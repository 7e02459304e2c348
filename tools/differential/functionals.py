"""Programs of the functions that layers stand on, called by themselves: with weights, and in their other forms."""

from . import cases
from .cases import each, function

ANY = "{2, |0, |}{3|1}, {4|2}"
WEIGHTS = "{4|2|6}, {4|2|1}, {1|2|3}"
LAYERS = [
    function("linear({x}, {x2}, {x3})", "{2, |2, 3, |0, |}4", "{3, |}4", "{3|1|}"),
    function("linear({x}, {x2})", "{2, |2, 3, |0, |}4", "{3, |1, |}4"),
    function("bilinear({x}, {x2}, {x3})", "2, 4", "2, 3", "{2|1}, 4, 3"),
    function("conv1d({x}, {x2}{|, stride=2}{|, padding=1|, padding='same'}{|, dilation=2}{|, groups=2})", "{2, |}4, 5", WEIGHTS),
    function("conv2d({x}, {x2}, {x3}{|, stride=2|, stride=(1, 2)}{|, padding=1|, padding='same'|, padding='valid'}{|, dilation=2}{|, groups=2})",
             "{2, |}4, 5, 4", WEIGHTS + ", {2|1}", "{4|2}"),
    function("conv3d({x}, {x2}{|, stride=2}{|, padding=1}{|, groups=2})", "{2, |}4, 3, 4, 3", "4, {4|2}, 2, 1, 2"),
    function("conv_tbc({x}, {x2}, {x3}{|, 1})", "5, 2, 4", "{3|1}, 4, 2", "2"),
    *each(function, "conv_transposeNd({x}, {x2}{|, stride=2}{|, padding=1}{|, output_padding=1}{|, groups=2}{|, dilation=2})",
          "{2, |}4, LENGTHS", "4, {2|4}, LENGTHS"),
    *each(function, "max_poolNd({x}, {2|3|PAIR}{|, stride=1|, stride=[]}{|, padding=1}{|, ceil_mode=True}{|, return_indices=True})",
          "{2, |}3, LENGTHS"),
    *each(function, "max_poolNd_with_indices({x}, {2|3})", "{2, |}3, LENGTHS"),
    *each(function, "avg_poolNd({x}, {2|3|PAIR}{|, stride=1|, stride=2}{|, padding=1}{|, ceil_mode=True}{|, count_include_pad=False})",
          "{2, |}3, LENGTHS"),
    *each(function, "adaptive_avg_poolNd({x}, {2|1|PAIR})", "{2, |}3, LENGTHS"),
    *each(function, "adaptive_max_poolNd({x}, {2|1|PAIR}{|, return_indices=True})", "{2, |}3, LENGTHS"),
    *each(function, "adaptive_max_poolNd_with_indices({x}, {2|1})", "{2, |}3, LENGTHS"),
    *each(function, "lp_poolNd({x}, {2|1|3}, {2|PAIR}{|, stride=1})", "{2, |}3, LENGTHS"),
    *each(function, "fractional_max_poolNd({x}, {2|PAIR}, output_size={2|1}{|, return_indices=True})", "{2, |}3, LENGTHS", dims=(2, 3)),
    *each(function, "fractional_max_poolNd_with_indices({x}, 2, output_ratio={PAIR|0.6})".replace("PAIR", "(0.5, 0.5, 0.5)[:RANK]"),
          "{2, |}3, LENGTHS", dims=(2, 3)),
    *each(function, "max_unpoolNd(*torch.nn.functional.max_poolNd({x}, 2, return_indices=True), 2{|, stride=2|, padding=1})", "{2, |}3, LENGTHS"),
    function("batch_norm({x}, {None|torch.zeros(4)}, {None|torch.ones(4)}, {x2}, {x3}{, training=True||, True, 0.5})", "{3, |2, }4{|, 3}", "4", "4"),
    function("instance_norm({x}{|, torch.zeros(4), torch.ones(4)|, eps=0.1|, use_input_stats=False})", "{3, |2, |}4, 3"),
    function("layer_norm({x}, {(4,)|[3, 4]|(3, 4)}{|, eps=0.1})", "{2, |}3, 4"),
    function("layer_norm({x}, (4,), {x2}, {x3})", "{2, |0, |}3, 4", "4", "4"),
    function("rms_norm({x}, (4,), {x2}{|, eps=0.1})", "{2, |0, |}3, 4", "4"),
    function("group_norm({x}, {2|1|4}, {x2}{|, eps=0.1})", "{2, |1, }4{, 3|}", "4"),
    function("local_response_norm({x}, {2|3|1}{|, alpha=0.5}{|, k=2})", "{2, |}4, 3{|, 2}"),
    function("normalize({x}{|, p=1|, p=float('inf')|, p=3}{|, dim=0|, dim=-1}{|, eps=0.5})", ANY),
    *[function(f"{name}({{x}}{{|, 0.3|, p=0.0|, 1.0}}{{|, training=False|, inplace=True}})", "{2, |}4, 3{|, 2}") for name in
      "dropout alpha_dropout feature_alpha_dropout dropout1d dropout2d dropout3d".split()],
]
ACTIVATIONS = [
    *[function(f"{name}({{x}})", ANY) for name in "logsigmoid sigmoid tanh softsign tanhshrink".split()],
    *[function(f"{name}({{x}}{{|, inplace=True}})", ANY) for name in "relu relu6 selu silu mish hardswish hardsigmoid".split()],
    *[function(f"{name}({{x}}{{|, {option}}}{{|, inplace=True}})", ANY) for name, option in (
        ("elu", "0.5"), ("celu", "0.5"), ("leaky_relu", "0.2"), ("hardtanh", "-2, 0.5"), ("rrelu", "0.2, 0.2, True"))],
    *[function(f"{name}_({{x}}{{.detach()| * 1}})", ANY) for name in "relu selu elu celu leaky_relu hardtanh rrelu".split()],
    function("threshold({x}, 0.1, 20{|, inplace=True})", ANY),
    function("threshold_({x} * 1, 0.1, 20)", ANY),
    function("gelu({x}{|, approximate='tanh'})", ANY),
    function("softplus({x}{|, beta=2}{|, threshold=1})", ANY),
    *[function(f"{name}({{x}}{{|, 0.2|, 0}})", ANY) for name in ("hardshrink", "softshrink")],
    function("prelu({x}, {x2})", "{2, |}4{|, 3}", "{4|1|}"),
    function("glu({x}{|, 0|, dim=-2})", "{2, |}4, 2"),
    *[function(f"{name}({{x}}, {{-1|0|dim=1|None}}{{|, dtype=torch.float64|, _stacklevel=3}})", ANY) for name in ("softmax", "softmin", "log_softmax")],
    function("gumbel_softmax({x}{|, tau=0.5}{|, hard=True}{|, dim=0})", ANY),
]
SHAPES = [
    function("pad({x}, {(1, 2)|(1, 0, 0, 1)|(-1, 1)|()|(0, 0, 0, 0, 1, 1)}{|, value=2.0|, mode='reflect'|, mode='replicate'|, mode='circular'})",
             "{2, |}3, 4{|, 3}"),
    function("interpolate({x}, {scale_factor=2|size=3|scale_factor=0.5|scale_factor=1.7}{|, mode='linear'|, mode='area'|, mode='nearest-exact'|"
             ", mode='linear', align_corners=True}{|, recompute_scale_factor=True})", "{2|0|1}, 3, 5"),
    function("interpolate({x}, {scale_factor=2|size=(3, 2)|scale_factor=(0.5, 1.5)|size=(9, 9)}{|, mode='bilinear'|, mode='bicubic'|, mode='area'|"
             ", mode='bilinear', align_corners=True|, mode='bilinear', antialias=True|, mode='bicubic', antialias=True})", "{2|0|1}, 3, 5, 4"),
    function("upsample({x}, {scale_factor=2|size=(3, 2)}{|, mode='bilinear'})", "2, 3, 5, 4"),
    function("upsample_nearest({x}, {scale_factor=2|size=(3, 2)})", "2, 3, 5, 4"),
    function("upsample_bilinear({x}, {scale_factor=2|size=(3, 2)})", "2, 3, 5, 4"),
    function("pixel_shuffle({x}, 2)", "{2, |0, |}8, 3, 2"),
    function("pixel_unshuffle({x}, 2)", "{2, |0, |}2, 4, 2"),
    function("channel_shuffle({x}, {2|3})", "{2, |}6, 3"),
    function("native_channel_shuffle({x}.detach(), {2|3})", "{2, |}6, 3"),
    function("fold({x}, (4, 5), {2|(2, 1)}{|, padding=1|, stride=2|, dilation=2})", "{2, |}12, {12|4|30}"),
    function("unfold({x}, {2|(2, 1)}{|, padding=1|, stride=2|, dilation=2})", "{2, |0, }3, 5, 4"),
    function("affine_grid({x}, {(2, 1, 3, 4)|[2, 1, 1, 2]}{|, align_corners=True})", "2, 2, 3"),
    function("affine_grid({x}, (2, 1, 2, 3, 4){|, align_corners=True})", "2, 3, 4"),
    # at places that are no numbers PyTorch would crash
    function("grid_sample({x}, {x2}.nan_to_num(0.5, 3.0, -3.0){|, mode='nearest'|, mode='bicubic'}{|, padding_mode='border'|, padding_mode='reflection'}"
             "{|, align_corners=True})", "2, 3, 5, 4", "2, 3, 2, 2"),
    function("grid_sample({x}, {x2}.nan_to_num(0.5, 3.0, -3.0){|, mode='nearest'}{|, padding_mode='border'|, padding_mode='reflection'}"
             "{|, align_corners=True})", "2, 3, 3, 4, 2", "2, 2, 3, 2, 3"),
]
DISTANCES = [
    function("cosine_similarity({x}, {x2}{|, dim=0|, dim=-1}{|, eps=0.5})", "{2, |}3, 4", "{2, |1, |}3, 4"),
    function("pairwise_distance({x}, {x2}{|, p=1|, p=3.0|, keepdim=True})", "{2, |}3, 4", "{2, |1, |}3, 4"),
    function("pdist({x}{|, p=1|, p=3.0|, p=float('inf')|, p=0})", "={3|1}, 4"),
]
TABLE = [*LAYERS, *ACTIVATIONS, *SHAPES, *DISTANCES]


def write(writer):
    cases.write(writer, TABLE)
