"""Programs of losses: targets of all kinds, weights, reductions, and what is ignored."""

from . import cases
from .cases import function, layer

REDUCTION = "{|, reduction='sum'|, reduction='none'|, reduction='mean'|, reduction='other'}"
OLD = "{|, reduction='sum'|, reduction='none'|, size_average=False|, reduce=False}"
ANY = "{2, |0, |1, |}{3|1}, {4|1}"
SAME = "{2, 3, 4|3, 4|1, 4|2, 3, 1|0, 3, 4}"
CLASSES = "torch.tensor({[0, 2]|[1, -100]|[2, 2]|[-100, -100]|[0, 3]|[0]})"
LABELS = "torch.tensor({[0., 1., 1.]|[0.25, 0.5, 1.]|[1, 0, 1]|[2., 0., 1.]|[True, False, True]}){.expand(2, 3)||[None]}"
SIGNS = "torch.tensor({[1., -1., 1.]|[1, -1, -1]|[1., 0., -1.]}){.expand(2, 3)||[None]}"
SOME = "{2, 3|3}"
LOSSES = [
    *[layer(f"{name}Loss({options})", SAME, SAME) for name, options in (
        ("L1", "{|reduction='sum'|reduction='none'|size_average=False|reduce=False}"),
        ("MSE", "{|reduction='sum'|reduction='none'|size_average=False|reduce=False}"),
        ("SmoothL1", "reduction={'mean'|'sum'|'none'}{|, beta=0.5|, beta=0.0|, beta=-1}"),
        ("Huber", "reduction={'mean'|'sum'|'none'}{|, delta=0.5|, delta=0|, delta=-1}"),
        ("PoissonNLL", "{|reduction='sum'|reduction='none'|log_input=False|full=True|eps=0.5}"),
        ("KLDiv", "{|reduction='sum'|reduction='none'|reduction='batchmean'|log_target=True}"),
        ("HingeEmbedding", "{|reduction='sum'|reduction='none'|margin=0.5}"),
        ("MultiLabelSoftMargin", "{|reduction='sum'|reduction='none'}"),
        ("BCEWithLogits", "{|reduction='sum'|reduction='none'}"),
    )],
    layer("BCELoss({|reduction='sum'|reduction='none'|weight=torch.tensor([1., 2., 0.5])})", SOME, LABELS,
          call="{m}({x}.sigmoid(), {x2})"),
    layer("BCEWithLogitsLoss({|reduction='sum'|weight=torch.tensor([1., 2., 0.5])|pos_weight=torch.tensor([1., 2., 0.5])})",
          SOME, LABELS),
    layer("HingeEmbeddingLoss({|reduction='none'|margin=0.5})", SOME, SIGNS),
    layer("SoftMarginLoss({|reduction='none'|reduction='sum'})", SOME, SIGNS),
    layer("CrossEntropyLoss(weight={None|torch.tensor([1., 2., 0.5])}{|, ignore_index=2|, ignore_index=0}"
          "{|, label_smoothing=0.25}{|, reduction='sum'|, reduction='none'|, size_average=False})", "2, 3", CLASSES),
    layer("CrossEntropyLoss(ignore_index={2|-100}{|, label_smoothing=0.25}{|, reduction='sum'|, reduction='none'})",
          "{2, 3, 2|2, 4, 2}", "torch.tensor({[[0, 2], [1, 1]]|[[2, 2], [2, 2]]})"),
    layer("CrossEntropyLoss(weight={None|torch.tensor([1., 2., 0.5])}{|, label_smoothing=0.25}{|, reduction='none'})",
          "{2, 3|2, 3, 2|3|0, 3}", "{2, 3|2, 3, 2|3|0, 3}"),
    layer("CrossEntropyLoss()", "3", "torch.tensor({1|0|-100|3})"),
    layer("NLLLoss(weight={None|torch.tensor([1., 2., 0.5])}{|, ignore_index=2}{|, reduction='sum'|, reduction='none'})",
          "{2, 3|0, 3}", CLASSES),
    layer("NLLLoss(ignore_index={-100|2}{|, reduction='none'})", "2, 3, 2",
          "torch.tensor({[[0, 2], [1, 1]]|[[2, 2], [2, 2]]})"),
    layer("NLLLoss2d()", "2, 3, 2, 1", "torch.tensor([[[0], [2]], [[1], [1]]])"),
    layer("GaussianNLLLoss({|full=True|eps=0.5|reduction='sum'|reduction='none'})", "{2, 3|3}", "{2, 3|3|2, 1}",
          "{2, 3|2, 1|2}", call="{m}({x}, {x2}, {x3}.abs())"),
    layer("MarginRankingLoss({|margin=0.5|reduction='sum'|reduction='none'})", "2, 3", "{2, 3|1, 3}", SIGNS),
    layer("CosineEmbeddingLoss({|margin=0.5|reduction='sum'|reduction='none'})", "{3, 4|4}", "{3, 4|4}",
          "torch.tensor({[1., -1., 1.]|[1, -1, 1]|1|[-1, -1, -1]})"),
    layer("TripletMarginLoss({|margin=0.5|p=1|swap=True|eps=0.1|reduction='sum'|reduction='none'})", "{3, 4|4|0, 4}",
          "{3, 4|4|1, 4}", "{3, 4|4}"),
    layer("TripletMarginWithDistanceLoss(distance_function={None|torch.nn.PairwiseDistance(p=1)}{|, margin=0.5}{|, swap=True}"
          "{|, reduction='none'})", "3, 4", "3, 4", "{3, 4|1, 4}"),
    layer("MultiMarginLoss({|p=2|margin=0.5|weight=torch.tensor([1., 2., 0.5])|reduction='sum'|reduction='none'|p=3})", "{2, 3|0, 3}",
          "torch.tensor({[0, 2]|[1, 1]|[3, 0]|[-1, 0]})"),
    layer("MultiMarginLoss()", "3", "torch.tensor({1|[1]|[0, 2]})"),
    layer("MultiLabelMarginLoss({|reduction='sum'|reduction='none'})", "{2, 3|0, 3}",
          "torch.tensor({[[0, 2, -1], [1, -1, 0]]|[[0, 1, 2], [-1, -1, -1]]|[[0, 3, -1], [1, -1, 0]]})"),
    layer("MultiLabelSoftMarginLoss({|weight=torch.tensor([1., 2., 0.5])|reduction='none'})", "{2, 3|3}", LABELS,
          call="{m}({x}, {x2})"),
    layer("CTCLoss({blank=0|blank=2|blank=3}{|, zero_infinity=True}{|, reduction='sum'|, reduction='none'})", "{5|2|1}, 2, 4",
          "torch.tensor({[[1, 2], [2, 1]]|[[1, 1], [3, 1]]|[[0, 1], [2, 2]]})", "torch.tensor({[5, 4]|[2, 1]|[1, 1]|[5, 6]|[0, 3]})",
          "torch.tensor({[2, 1]|[1, 2]|[0, 2]|[0, 0]})", call="{m}({x}.log_softmax(-1), {x2}, {x3}, {x4})"),
    layer("CTCLoss({|zero_infinity=True|reduction='none'})", "5, {2, |}4", "torch.tensor({[1, 2, 3]|[1, 1, 2]})",
          call="{m}({x}.log_softmax(-1), {x2}, {(5, 4)|(5,)|5}, {(2, 1)|(3,)|3})"),
    layer("AdaptiveLogSoftmaxWithLoss(4, 6, {[2, 4]|[3]}{|, div_value=2.0}{|, head_bias=True})", "3, 4",
          "torch.tensor({[0, 3, 5]|[0, 1, 1]|[5, 5, 6]})", call="{m}({x}, {x2})"),
    layer("AdaptiveLogSoftmaxWithLoss(4, 6, [2, 4])", "3, 4", call="{m}.{log_prob|predict}({x})"),
    layer("LinearCrossEntropyLoss(4, 3{|, bias=True}{|, ignore_index=2}{|, label_smoothing=0.25}{|, reduction='sum'|, reduction='none'})",
          "2, 4", CLASSES),
]
FUNCTIONS = [
    *[function(f"{name}({{x}}, {{x2}}{OLD})", SAME, SAME) for name in ("mse_loss", "l1_loss")],
    *[function(f"{name}({{x}}, {{x2}}{REDUCTION})", SAME, SAME) for name in
      "smooth_l1_loss huber_loss kl_div poisson_nll_loss hinge_embedding_loss multilabel_soft_margin_loss".split()],
    function("soft_margin_loss({x}, {x2}.detach(){|, reduction='none'})", SAME, SAME),
    function("binary_cross_entropy({x}.sigmoid(), {x2}.sigmoid(){|, reduction='none'})", SAME, SAME),
    function("binary_cross_entropy_with_logits({x}, {x2}{|, reduction='none'|, reduction='sum'})", SAME, SAME),
    function("cross_entropy({x}, {x2}{|, label_smoothing=0.25}{|, reduction='none'})", "2, 3", CLASSES),
    function("nll_loss({x}, {x2}{|, reduction='none'|, ignore_index=2})", "2, 3", CLASSES),
    function("gaussian_nll_loss({x}, {x2}, {0.5|1|-1.0}{|, full=True})", "2, 3", "2, 3"),
    function("margin_ranking_loss({x}, {x2}, torch.tensor({[1, -1]|[1., 1.]}){|, margin=0.5})", "{2|3, 2}", "2"),
    function("cosine_embedding_loss({x}, {x2}, torch.tensor({[1, -1]|[1., 1.]}){|, margin=0.5})", "2, 3", "{2|1}, 3"),
    function("triplet_margin_loss({x}, {x2}, {x3}{|, swap=True|, p=1})", "2, 3", "2, 3", "2, 3"),
    function("triplet_margin_with_distance_loss({x}, {x2}, {x3}{|, swap=True|, margin=0.5})", "2, 3", "2, 3", "2, 3"),
    function("multi_margin_loss({x}, {x2}{|, p=2|, margin=0.5})", "2, 3", "torch.tensor({[0, 2]|[1, 1]})"),
    function("multilabel_margin_loss({x}, {x2}{|, reduction='none'})", "3", "torch.tensor({[0, 2, -1]|[1, -1, 0]})"),
    function("ctc_loss({x}.log_softmax(-1), torch.tensor([[1, 2], [2, 1]]), (5, 4), {(2, 1)|(2, 2)|(0, 1)}{|, blank=3}{|, reduction='sum'})",
             "5, 2, 4"),
    function("linear_cross_entropy({x}, {x2}, torch.tensor([0, 2]){|, reduction='sum'})", "2, 4", "3, 4"),
]
TABLE = [*LOSSES, *FUNCTIONS]


def write(writer):
    cases.write(writer, TABLE)
