"""Losses and distances beyond their rows in the table of layers: edges, errors, derivatives, warnings."""

import itertools
import math
from functools import partial

import numpy as np
import pytest

import flambeau
from _errors import error_tests
from _oracle import assert_same, check_code, outcome
from _programs import Programs, raised
from flambeau.autograd import gradcheck, gradgradcheck

F = flambeau.nn.functional
programs = Programs("nn_losses.json")
REDUCTIONS = ("none", "mean", "sum")


def scores(t, *shape, start=0.3):
    return (t.arange(math.prod(shape), dtype=t.float64) * 0.7 + start).sin().reshape(shape)


def with_gradient(t, function, inputs, *others, **settings):
    """The result of a function of `inputs` and `others`, and the gradients of its sum by the `inputs`."""
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    out = function(*leaves, *others, **settings)
    return [out, list(t.autograd.grad(out.sum(), leaves, allow_unused=True))]


# ---- sequences of labels


CTC = {
    "padded": ([[1, 2, 0], [3, 3, 1]], (6, 5), (2, 3)), "concatenated": ([1, 2, 3, 3, 1], (6, 5), (2, 3)),
    "repeated": ([[1, 1, 1], [2, 2, 1]], (6, 6), (3, 2)), "empty": ([[1], [2]], (4, 1), (0, 1)),
    "too short": ([[1, 2, 3], [2, 2, 2]], (2, 4), (3, 3)), "no time": ([[1, 2], [1, 2]], (0, 0), (0, 2)),
}


@programs
def ctc(t):
    found = {}
    for (name, (targets, times, lengths)), reduction, zero in itertools.product(CTC.items(), REDUCTIONS, (False, True)):
        log_probs = scores(t, 6, 2, 4).log_softmax(2)
        found[f"{name} {reduction} {zero}"] = with_gradient(
            t, t.nn.functional.ctc_loss, [log_probs], t.tensor(targets), times, lengths, reduction=reduction,
            zero_infinity=zero)
    return found


@programs
def ctc_of_scores_in_any_order(t):
    log_probs = scores(t, 6, 2, 4).log_softmax(2).permute(2, 1, 0).contiguous().permute(2, 1, 0)
    targets, times, lengths = next(iter(CTC.values()))
    (slope,) = t.autograd.grad(
        t.nn.functional.ctc_loss(x := log_probs.requires_grad_(), t.tensor(targets), times, lengths), x)
    return slope, slope.stride()


@programs
def ctc_blanks_and_lengths(t):
    log_probs, loss = scores(t, 5, 2, 4).log_softmax(2), t.nn.functional.ctc_loss
    targets, lengths = t.tensor([[0, 1], [2, 0]]), (t.tensor([5, 4]), t.tensor([2, 1]))
    return [
        with_gradient(t, loss, [log_probs], targets, *lengths, blank=3),
        with_gradient(t, loss, [log_probs], targets.int(), *lengths, blank=3),
        with_gradient(t, loss, [log_probs], targets + 1, *[n.tolist() for n in lengths], 0, "none"),
        with_gradient(t, loss, [log_probs[:, 0]], targets[0], t.tensor(5), t.tensor(2), blank=3),
        loss(log_probs[:, 0], targets[0], (5,), (2,), blank=3, reduction="none"),
    ]


def test_ctc_sums_the_alignments():
    """Against the definition: all sequences of classes that become the labels without repetitions and blanks."""
    log_probs = scores(flambeau, 4, 1, 3).log_softmax(2)
    probabilities = log_probs.exp().numpy()[:, 0]
    total = 0.0
    for path in itertools.product(range(3), repeat=4):
        if [c for c, _ in itertools.groupby(path) if c != 0] == [1, 2]:
            total += np.prod([probabilities[t, c] for t, c in enumerate(path)])
    loss = F.ctc_loss(log_probs, flambeau.tensor([[1, 2]]), (4,), (2,), reduction="none")
    np.testing.assert_allclose(loss.numpy(), [-math.log(total)])


def test_ctc_is_differentiated_through_its_softmax():
    x = scores(flambeau, 5, 2, 3).requires_grad_()
    targets = flambeau.tensor([[1, 2], [2, 2]])
    assert gradcheck(lambda x: F.ctc_loss(x.log_softmax(2), targets, (5, 4), (2, 2), reduction="none"), x)
    loss = F.ctc_loss(x.log_softmax(2), targets, (5, 4), (2, 2))
    (slope,) = flambeau.autograd.grad(loss, x, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiated once"):
        slope.sum().backward()


# ---- margins and distances


@programs
def margins(t):
    F, found = t.nn.functional, {}
    x, y, z = scores(t, 4, 3), scores(t, 4, 3, start=1.1), scores(t, 4, 3, start=2.0)
    signs, classes = t.tensor([1, -1, -1, 1]), t.tensor([2, 0, 1, 1])
    labels = t.tensor([[2, 0, -1], [-1, 1, 1], [0, 1, 2], [1, -1, 0]])
    weight = t.tensor([0.3, 1.0, 2.0], dtype=t.float64)
    for reduction in REDUCTIONS:
        how = {"reduction": reduction}
        found[reduction] = [
            with_gradient(t, F.cosine_embedding_loss, [x, y], signs, 0.2, **how),
            with_gradient(t, F.hinge_embedding_loss, [x], signs.unsqueeze(1), 0.4, **how),
            with_gradient(t, F.hinge_embedding_loss, [x], signs.unsqueeze(1) * 0, 0.4, **how),
            with_gradient(t, F.margin_ranking_loss, [x, y], signs.unsqueeze(1), 0.1, **how),
            *[with_gradient(t, F.multi_margin_loss, [x], classes, p, 0.6, w, **how)
              for p in (1, 2) for w in (None, weight)],
            with_gradient(t, F.multi_margin_loss, [x[0]], classes[:1], **how),
            with_gradient(t, F.multi_margin_loss, [x[0]], classes[0], **how),
            with_gradient(t, F.multilabel_margin_loss, [x], labels, **how),
            with_gradient(t, F.multilabel_margin_loss, [x[0]], labels[0], **how),
            with_gradient(t, F.multilabel_soft_margin_loss, [x, y], weight, **how),
            with_gradient(t, F.soft_margin_loss, [x], signs.unsqueeze(1).expand(4, 3), **how),
            *[with_gradient(t, F.triplet_margin_loss, [x, y, z], 0.5, p, swap=swap, **how)
              for p in (1, 2) for swap in (False, True)],
            with_gradient(t, F.triplet_margin_with_distance_loss, [x, y, z], distance_function=squared_distance,
                          swap=True, **how),
        ]
    return found


def squared_distance(a, b):
    return ((a - b) ** 2).sum(-1)


@programs
def distances(t):
    F = t.nn.functional
    x, y = scores(t, 4, 3), scores(t, 4, 3, start=1.1)
    return [
        *[with_gradient(t, F.pairwise_distance, [x, y], p) for p in (0.0, 1.0, 2.0, 3.0, math.inf)],
        with_gradient(t, F.pairwise_distance, [x, y[0]], keepdim=True, eps=0.1),
        with_gradient(t, F.pdist, [x], 1.5), F.pdist(x[:1]), with_gradient(t, F.cosine_similarity, [x, y], 0),
        with_gradient(t, F.cosine_similarity, [x, y * 0], -1),
    ]


@programs
def distributions(t):
    F, x, y = t.nn.functional, scores(t, 4, 3), scores(t, 4, 3, start=1.1)
    counts, found = t.arange(12.0, dtype=t.float64).reshape(4, 3), []
    for reduction, full in itertools.product(REDUCTIONS, (False, True)):
        how = {"reduction": reduction, "full": full}
        found += [
            with_gradient(t, F.poisson_nll_loss, [x], counts, **how),
            with_gradient(t, F.poisson_nll_loss, [x.abs()], counts, log_input=False, **how),
            *[with_gradient(t, F.gaussian_nll_loss, [x, y, v], eps=0.3, **how)
              for v in (y.abs(), y.abs()[:, :1], y.abs()[:, 0], y.abs()[:1])],
            with_gradient(t, F.gaussian_nll_loss, [x, y], 0.7, **how),
        ]
    return found


# ---- classes


@programs
def all_targets_ignored(t):
    """The mean of no losses is nan; its gradient is zero."""
    F, x, none = t.nn.functional, scores(t, 2, 3), t.tensor([1, 1])
    return [with_gradient(t, F.cross_entropy, [x], none, ignore_index=1, reduction=how) for how in REDUCTIONS]


def options(t, size):
    return t.nn.LinearCrossEntropyOptions(batch_chunk_size=size)


@programs
def linear_cross_entropy(t):
    F, x, w, b = t.nn.functional, scores(t, 5, 3), scores(t, 4, 3, start=1.1), scores(t, 4, start=2.0)
    target, weight = t.tensor([2, 0, 3, 1, 1]), t.tensor([0.3, 1.0, 2.0, 0.5], dtype=t.float64)
    found = []
    for reduction, chunks, given in itertools.product(REDUCTIONS, (None, 2, 7), (None, weight)):
        leaves = [x.requires_grad_() for x in (x.detach(), w.detach(), b.detach())]
        out = F.linear_cross_entropy(
            leaves[0], leaves[1], target, linear_bias=leaves[2], weight=given, reduction=reduction, ignore_index=3,
            options=options(t, chunks) if chunks else None)
        found.append([out, list(t.autograd.grad(out.sum(), leaves))])
    return [
        found, F.linear_cross_entropy(x[0], w, t.tensor(2)), F.linear_cross_entropy(x, w, x @ w.T),
        with_gradient(t, F.linear_cross_entropy, [x, scores(t, 4, 2, 3)], t.ones(5, 2, dtype=t.int64)),
        repr(t.nn.LinearCrossEntropyOptions()), t.nn.LinearCrossEntropyOptions() == t.nn.LinearCrossEntropyOptions(),
        [raised(partial(t.nn.LinearCrossEntropyOptions, **wrong)) for wrong in (
            {"batch_chunk_size": 0}, {"batch_chunk_size": 2.5}, {"chunking_method": "other"}, {"acc_policy": "other"},
            {"chunking_method": "aspect_ratio:x"}, {"acc_dtype": t.int64})],
    ]


@programs
def adaptive(t):
    t.manual_seed(0)
    layer = t.nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 6], div_value=2.0, head_bias=True)
    x = scores(t, 5, 8).to(t.float32)
    found = [list(layer.state_dict()), layer.log_prob(x), layer.predict(x), layer.predict(x * 40), layer.cutoffs]
    for target in ([0, 3, 7, 11, 2], [0, 1, 2, 2, 1], [11, 11, 10, 9, 8]):
        out = layer(x, t.tensor(target))
        found.append([*out, list(t.autograd.grad(out.loss, list(layer.parameters()), allow_unused=True))])
    return [*found, *layer(x[0], t.tensor(7)), list(layer(x[:0], t.ones(0, dtype=t.int64)))]


@pytest.mark.jax
def test_adaptive_softmax_is_the_same_compiled():
    flambeau.manual_seed(0)
    layer = flambeau.nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 6], div_value=2.0)
    x, target = scores(flambeau, 5, 8).float(), flambeau.tensor([0, 3, 7, 11, 2])
    compiled = flambeau.compile(lambda: (layer(x, target).loss, layer.predict(x)))
    for _ in range(3):
        for got, want in zip(compiled(), (layer(x, target).loss, layer.predict(x)), strict=True):
            flambeau.testing.assert_close(got, want)


test_as_recorded, test_as_torch_does = programs.tests()


# ---- derivatives


OTHER = scores(flambeau, 2, 3, start=2.0)
SMOOTH = {
    "multi_margin_loss": lambda x: F.multi_margin_loss(x, flambeau.tensor([2, 0]), p=2, margin=0.6),
    "multilabel_margin_loss": lambda x: F.multilabel_margin_loss(x, flambeau.tensor([[2, 0, -1], [1, -1, 0]])),
    "soft_margin_loss": lambda x: F.soft_margin_loss(x, flambeau.tensor([[1.0, -1.0, 1.0]]).expand(2, 3)),
    "cosine_embedding_loss": lambda x: F.cosine_embedding_loss(x, OTHER, flambeau.tensor([1, -1])),
    "triplet_margin_loss": lambda x: F.triplet_margin_loss(x, OTHER, OTHER.flip(0)),
    "pairwise_distance": lambda x: F.pairwise_distance(x, OTHER),
    "gaussian_nll_loss": lambda x: F.gaussian_nll_loss(x, OTHER, OTHER.abs() + 0.5),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives(name):
    x = scores(flambeau, 2, 3).requires_grad_()
    assert gradcheck(SMOOTH[name], x)
    assert gradgradcheck(SMOOTH[name], x)


def test_each_chunk_can_be_differentiated_once():
    x, w = scores(flambeau, 5, 3).requires_grad_(), scores(flambeau, 4, 3).requires_grad_()
    target = flambeau.tensor([2, 0, 3, 1, 1])
    loss = F.linear_cross_entropy(x, w, target, options=options(flambeau, 2))
    first = flambeau.autograd.grad(loss, (x, w), retain_graph=True)
    for again, before in zip(flambeau.autograd.grad(loss, (x, w), create_graph=True), first, strict=True):
        flambeau.testing.assert_close(again, before)
        with pytest.raises(RuntimeError, match="options=None"):
            again.sum().backward(retain_graph=True)


# ---- errors and warnings


CTC_CALL = "F.ctc_loss(t.zeros(5, 2, 4), t.tensor([[1, 2], [3, 3]]), {})"
ADAPTIVE = "nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6], div_value=2.0)({})"
LINEAR = "F.linear_cross_entropy(t.zeros(4, 3), t.zeros(5, 3), {})"
ERRORS = [
    ("F.kl_div(t.ones(2), t.ones(2, dtype=t.int64))", RuntimeError, "kl_div: Integral inputs not supported"),
    ("F.kl_div(t.ones(2) * 1j, t.ones(2))", RuntimeError, "kl_div: Complex inputs not supported"),
    ("F.huber_loss(t.ones(2, dtype=t.int64), t.ones(2))", RuntimeError, "result type Float can't be cast"),
    ("F.binary_cross_entropy_with_logits(t.ones(2), t.ones(2, dtype=t.int64))", RuntimeError,
     "result type Float can't be cast to the desired output type Long"),
    ("F.cross_entropy(t.tensor(1.0), t.tensor(1.0))", IndexError, "Dimension specified as 1 but tensor has no dim"),
    ("F.multilabel_soft_margin_loss(t.tensor(1.0), t.tensor(1.0))", IndexError, "but tensor has no dimensions"),
    (CTC_CALL.format("(6, 5), (2, 2)"), RuntimeError, "input_lengths to have value at most 5, but got value 6"),
    (CTC_CALL.format("(-1, 5), (2, 2)"), RuntimeError, "input_lengths to have value at least 0, but got value -1"),
    (CTC_CALL.format("(5, 5), (3, 2)"), RuntimeError, "size at least 3 at dimension 1, but got size 2"),
    (CTC_CALL.format("(5,), (2, 2)"), RuntimeError, "input_lengths must be of size batch_size"),
    (CTC_CALL.format("(5, 5), (2, 2), 4"), RuntimeError, "blank must be in label range"),
    (CTC_CALL.format("(5, 5), (2, 2), reduction='x'"), ValueError, "x is not a valid value"),
    (CTC_CALL.format("(5, 5), t.tensor([2, 2])"), TypeError, "invalid combination of arguments"),
    (CTC_CALL.format("t.ones(2), t.ones(2)"), RuntimeError, "input_lengths must be integral"),
    ("F.ctc_loss(t.zeros(5, 2, 4), t.tensor([1, 2, 3]), (5, 5), (2, 2))", RuntimeError, "size 4 at dimension 0"),
    ("F.ctc_loss(t.zeros(5, 2, 4).half(), t.tensor([[1], [2]]), (5, 5), (1, 1))", NotImplementedError, "'Half'"),
    ("F.ctc_loss(t.zeros(0, 2, 4), t.tensor([[1], [2]]), (0, 0), (1, 1))", RuntimeError, "must not be empty"),
    ("F.multi_margin_loss(t.zeros(2, 3), t.tensor([0, 3]))", RuntimeError, "target out of range: 3"),
    ("F.multi_margin_loss(t.zeros(2, 3), t.tensor([0]))", RuntimeError, "Expected target size [2], but got [1]"),
    ("F.multi_margin_loss(t.zeros(2, 3), t.tensor([0, 1]).int())", RuntimeError, "Long but found Int"),
    ("F.multi_margin_loss(t.zeros(2, 3), t.tensor([0, 1]), p=3)", ValueError, "p == 1 and p == 2"),
    ("F.multi_margin_loss(t.zeros(2, 3), t.tensor([0, 1]), weight=t.ones(2))", RuntimeError, "expected 3 but got [2]"),
    ("nn.MultiMarginLoss(weight=t.ones(3, 1))", ValueError, "got 2D instead"),
    ("F.multilabel_margin_loss(t.zeros(2, 3), t.tensor([0, 1]))", RuntimeError, "inconsistent target size: [2]"),
    ("F.multilabel_margin_loss(t.zeros(1, 3), t.tensor([[0, 3, 1]]))", RuntimeError, "out of range: 3"),
    ("F.margin_ranking_loss(t.zeros(2), t.zeros(2, 1), t.zeros(2))", RuntimeError, "should have same dimension"),
    ("F.soft_margin_loss(t.zeros(2, 1), t.zeros(3))", RuntimeError, "output with shape [2, 1] doesn't match"),
    ("F.cosine_embedding_loss(t.zeros(2, 3), t.zeros(2, 3), t.zeros(2, 3))", RuntimeError, "0D or 1D target"),
    ("F.cosine_embedding_loss(t.zeros(3), t.zeros(3), t.zeros(1))", RuntimeError, "expects 2D input tensors"),
    ("F.triplet_margin_loss(t.zeros(2, 3), t.zeros(3), t.zeros(2, 3))", RuntimeError, "positive 1D, and negative 2D"),
    ("F.triplet_margin_loss(t.zeros(2, 3), t.zeros(2, 3), t.zeros(2, 3), margin=0)", ValueError, "greater than 0"),
    ("nn.TripletMarginLoss(margin=-1)", ValueError, "greater than 0, got -1 instead"),
    ("nn.TripletMarginWithDistanceLoss(margin=-1)", ValueError, "greater than 0, got -1 instead"),
    ("F.gaussian_nll_loss(t.zeros(2), t.zeros(2), -t.ones(2))", ValueError, "var has negative entry"),
    ("F.gaussian_nll_loss(t.zeros(2, 3), t.zeros(2, 3), t.ones(3))", ValueError, "var is of incorrect size"),
    ("F.gaussian_nll_loss(t.zeros(2), t.zeros(2), t.ones(2), reduction='x')", ValueError, "x is not valid"),
    ("F.poisson_nll_loss(t.zeros(2), t.zeros(3))", RuntimeError, "must match the size"),
    ("F.pairwise_distance(t.zeros(2, 3), t.zeros(2, 4))", RuntimeError, "must match the size"),
    ("F.pdist(t.zeros(3))", RuntimeError, "only supports 2D tensors, got: 1D"),
    ("nn.AdaptiveLogSoftmaxWithLoss(8, 10, [5, 3])", ValueError, "sorted in an increasing order"),
    ("nn.AdaptiveLogSoftmaxWithLoss(8, 10, [])", ValueError, "length larger than 0"),
    (ADAPTIVE.format("t.zeros(2, 8), t.tensor([0, 10])"), RuntimeError, "should be in [0, 9]"),
    (ADAPTIVE.format("t.zeros(2, 8), t.tensor([0])"), RuntimeError, "same size in the batch dimension"),
    (ADAPTIVE.format("t.zeros(2, 8), t.tensor([[0]])"), RuntimeError, "multi-target not supported"),
    (LINEAR.format("t.tensor([0, 1, 2])"), ValueError, "batch_size (4) to match target batch_size (3)"),
    (LINEAR.format("t.tensor([0, 1, 2, 5])"), IndexError, "Target 5 is out of bounds"),
    (LINEAR.format("t.tensor([0, 1, 2, 3]), linear_bias=t.zeros(4)"), RuntimeError, "linear_bias shape (5,), got (4,)"),
    (LINEAR.format("t.ones(4, 5), ignore_index=1"), RuntimeError, "target contains probabilities"),
    ("F.linear_cross_entropy(t.zeros(4, 3), t.zeros(5, 2), t.tensor([0]))", RuntimeError, "got 3 and 2"),
    ("nn.LinearCrossEntropyLoss(3, 5, weight=t.ones(4))", RuntimeError, "expected weight shape to be (5,), got (4,)"),
]


test_error, test_torch_raises_the_same_type = error_tests(ERRORS)


PAIRWISE = [
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "kl_div", "hinge_embedding_loss",
    "poisson_nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits", "multilabel_soft_margin_loss",
    "cross_entropy", "nll_loss", "multilabel_margin_loss",
]
DTYPES = ("float32", "float64", "int64", "uint8", "bool")
SHAPES = ((), (0,), (1,), (2,), (0, 3), (2, 3), (2, 3, 2))
UNINITIALIZED = "multilabel_margin_loss", (0, 3)  # PyTorch returns what lies in memory


@pytest.mark.oracle
@pytest.mark.parametrize("name", PAIRWISE)
def test_pairs_of_dtypes(name):
    for input, target in itertools.product(DTYPES, DTYPES):
        x, y = f"torch.full((2, 3), 0.5).to(torch.{input})", f"torch.ones(2, 3, dtype=torch.{target})"
        check_pair(name, x, y)


@pytest.mark.oracle
@pytest.mark.parametrize("name", PAIRWISE)
def test_pairs_of_shapes(name):
    for input, target, dtype in itertools.product(SHAPES, SHAPES, ("float32", "int64")):
        if UNINITIALIZED == (name, input) == (name, target):
            continue
        check_pair(name, f"torch.full({input}, 0.5)", f"torch.ones({target}, dtype=torch.{dtype})")


def check_pair(name, x, y):
    """Both libraries compute the same loss, in the same dtype, or refuse it; which of two faults is named is open."""
    import torch

    code = f"torch.nn.functional.{name}({x}, {y})"
    (got, error), (want, expected) = outcome(code, flambeau), outcome(code, torch)
    assert (error is None) == (expected is None), f"{code}: {error!r} for PyTorch's {expected!r}"
    if error is None:
        assert_same(got, want)


@pytest.mark.oracle
@pytest.mark.parametrize(("dtype", "margin"), [("int64", 2.7), ("uint8", 1.0), ("float16", 0.5)])
def test_margin_of_a_hinge_is_in_the_dtype_of_the_input(dtype, margin):
    x = f"torch.tensor([0, 1, 3], dtype=torch.{dtype})"
    check_code(f"torch.nn.functional.hinge_embedding_loss({x}, torch.tensor([1, -1, -1]), {margin}, reduction='none')")


def test_a_label_that_is_no_class_is_refused():
    """PyTorch reads memory that is not its own."""
    with pytest.raises(RuntimeError, match="target 7 is out of range: there are 4 classes"):
        F.ctc_loss(flambeau.zeros(5, 1, 4), flambeau.tensor([[1, 7]]), (5,), (2,))


class Net(flambeau.nn.Module):
    def forward(self, x):
        return F.l1_loss(x, flambeau.ones(2, 1))


@pytest.mark.parametrize("call, name", [
    (lambda x: flambeau.nn.MSELoss()(x, flambeau.ones(2, 1)), r"same size\. \(in MSELoss\)$"),
    (lambda x: flambeau.nn.HuberLoss()(x, flambeau.ones(2, 1)), r"same size\. \(in HuberLoss\)$"),
    (lambda x: Net()(x), r"same size\. \(in Net\)$"),
    (lambda x: F.smooth_l1_loss(x, flambeau.ones(2, 1)), r"same size\.$"),
])
def test_the_warning_of_broadcasting_names_the_layer_and_the_line(call, name):
    with pytest.warns(UserWarning, match=name) as caught:
        call(flambeau.ones(2))
    assert caught[0].filename == __file__


def test_distances_at_extremes_of_the_bend():
    x, zeros = flambeau.tensor([0.0, 2.0, float("inf")]), flambeau.zeros(3)
    assert F.smooth_l1_loss(x, zeros, reduction="none", beta=1e-40).tolist() == [0, 2, float("inf")]
    assert F.smooth_l1_loss(x, zeros, reduction="none", beta=1e30).tolist() == pytest.approx([0, 2e-30, float("inf")])
    assert F.huber_loss(x, zeros, reduction="none", delta=1e30).tolist() == [0, 2, float("inf")]


def test_the_old_name_of_nll_loss():
    with pytest.warns(FutureWarning, match="NLLLoss2d"):
        assert isinstance(flambeau.nn.NLLLoss2d(), flambeau.nn.NLLLoss)


def test_unsupported_options_warn():
    x, w = flambeau.ones(2, 3), flambeau.ones(4, 3)
    with pytest.warns(UserWarning, match="``options`` ignored"):
        F.linear_cross_entropy(x, w, flambeau.tensor([0, 1]), label_smoothing=0.1, options=options(flambeau, 2))
