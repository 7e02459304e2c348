"""The differential tool finds faults injected into Flambeau, and reports no false ones."""

import math
import pathlib

import pytest

import flambeau

pytestmark = pytest.mark.oracle
ROOT = pathlib.Path(__file__).parents[2]

SECONDS = 150  # in which a fault must be found; most are in two or three, on an idle machine


def search(families, seconds, folder):
    torch = pytest.importorskip("torch")
    from differential.search import Search

    return Search(flambeau, torch, folder, shrink_seconds=1).run(families.split(), seconds)


def wrong_vjp(patch):
    """Gradients that forget the chain rule."""

    def straight_through(function):
        class Straight(flambeau.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return function(x)

            @staticmethod
            def backward(ctx, g):
                return g

        return Straight.apply

    for name in ("exp", "sin", "cos", "tanh", "sqrt"):
        patch.setattr(flambeau, name, straight_through(getattr(flambeau, name)))


def view_that_copies(patch):
    transpose = flambeau.Tensor.transpose
    patch.setattr(flambeau.Tensor, "transpose", lambda self, *dims: transpose(self, *dims).clone())


def write_that_does_not_count(patch):
    def zero_(self):
        self.detach().numpy()[...] = 0
        return self

    patch.setattr(flambeau.Tensor, "zero_", zero_)


def wrong_promotion(patch):
    """Integers with others make float64, in the functions of arithmetic."""

    def doubled(function):
        return lambda x, *args, **options: function(x if x.is_floating_point() else x.double(), *args, **options)

    for name in ("add", "sub", "mul", "div"):
        patch.setattr(flambeau, name, doubled(getattr(flambeau, name)))


def swapped_exception(patch):
    view = flambeau.Tensor.view

    def swapped(self, *args):
        try:
            return view(self, *args)
        except RuntimeError as error:
            raise ValueError(str(error)) from None

    patch.setattr(flambeau.Tensor, "view", swapped)


def hooks_in_wrong_order(patch):
    register = flambeau.nn.Module.register_forward_hook

    def prepended(self, hook, *, prepend=False, **options):
        return register(self, hook, prepend=not prepend, **options)

    patch.setattr(flambeau.nn.Module, "register_forward_hook", prepended)


def file_without_sharing(patch):
    save = flambeau.save

    def separate(obj, *args):
        return save([t.clone() for t in obj] if isinstance(obj, list) and obj[0] is obj[1] else obj, *args)

    patch.setattr(flambeau, "save", separate)


FAULTS = {  # fault: (family, a word of the program that shows it)
    wrong_vjp: ("autograd", "torch."),
    view_that_copies: ("views", "transpose"),
    write_that_does_not_count: ("views", "zero_"),
    wrong_promotion: ("ops", "torch."),
    swapped_exception: ("views", "view"),
    hooks_in_wrong_order: ("modules", "register_forward_hook"),
    file_without_sharing: ("files", "save"),
}


@pytest.mark.parametrize("plant", FAULTS, ids=lambda plant: plant.__name__)
def test_planted_fault_is_found(plant, monkeypatch, tmp_path):
    family, word = FAULTS[plant]
    plant(monkeypatch)
    text = next((text for text in map(str, search(family, SECONDS, tmp_path)) if word in text), None)
    assert text is not None, "not found"
    assert len(text.splitlines()) <= 10, text


def test_nothing_is_found_where_no_fault_is(tmp_path):
    found = [str(finding) for finding in search("ops views autograd modules files", 10, tmp_path)]
    assert not found, "\n\n".join(found)


def test_index_of_an_equal_median_is_excused_and_others_are_not():
    torch = pytest.importorskip("torch")
    from differential.deliberate import is_deliberate
    from differential.program import Pair, Step

    pair = Pair(flambeau, torch)
    steps = [Step("torch.tensor([1.0, 1.0, 1.0, 0.0] * 2)", {}, "x"),
             Step("torch.median({x}, dim={dim})", {"x": "x", "dim": "0"}, "y")]
    differences = [difference for step in steps if (difference := pair.do(step))]
    assert all(map(is_deliberate, differences))
    pair.scopes[0]["y"] = [pair.scopes[0]["y"][0], flambeau.tensor(3)]  # the index of another element
    pair.scopes[1]["y"] = list(pair.scopes[1]["y"])
    wrong = pair.do(Step("torch.ones(1)", {}, "z"))
    assert wrong is not None and not is_deliberate(wrong)


@pytest.mark.parametrize("use", ["b.sum().backward()", "a.register_hook(lambda g: log.append(('hook', g)))\nb.sum().backward()",
                                 "torch.autograd.grad(b.sum(), a)"])
def test_view_that_lost_its_leaf_is_excused_and_a_missing_gradient_is_not(use):
    torch = pytest.importorskip("torch")
    from differential.deliberate import is_deliberate
    from differential.program import Pair, Step

    start = [("log", "[]"), ("a", "torch.ones(2, 2, requires_grad=True)"), ("b", "a.view(4)")]
    lost = [("", "a.detach_()"), ("", "a.zero_()"), ("", "a.requires_grad_()")]
    pair = Pair(flambeau, torch)
    assert not any(pair.do(Step(text, {}, target)) for target, text in start + lost)
    found = pair.do(Step(use))
    assert found is not None and is_deliberate(found)
    pair = Pair(flambeau, torch)
    assert not any(pair.do(Step(text, {}, target)) for target, text in start)
    pair.scopes[0]["a"].grad = flambeau.ones(2, 2)
    wrong = pair.do(Step("torch.ones(1)", {}, "z"))
    assert wrong is not None and not is_deliberate(wrong)


ROUNDED = {  # a module, and its input: gradients beside large ones, and of a kink at a sum that is zero but for rounding
    "Sequential(torch.nn.Dropout(0.5), torch.nn.Mish(), torch.nn.RMSNorm(3))": (4, 3),
    "Sequential(torch.nn.MaxPool2d(3, 1, 1), torch.nn.InstanceNorm2d(3, affine=True), torch.nn.ReLU())": (2, 3, 2, 2),
}


@pytest.mark.parametrize("layer", ROUNDED)
def test_rounding_is_excused_and_a_wrong_gradient_is_not(layer):
    torch = pytest.importorskip("torch")
    from differential.program import Pair, Step

    shape = ROUNDED[layer]
    lines = [("a", f"torch.nn.{layer}"), ("b", f"torch.arange({math.prod(shape)}.).sin().reshape{shape}.requires_grad_()"),
             ("c", "a(b)"), ("", "(c * c * c + c).sum().backward()"), ("d", "a(b)"),
             ("", "(d * d * d + d).sum().backward()")]
    pair = Pair(flambeau, torch)
    assert not any(pair.do(Step(text, {}, target)) for target, text in lines)
    pair.scopes[0]["b"].grad.view(-1)[-1].add_(1e5)
    assert pair.do(Step("torch.ones(1)", {}, "z")).kind == "values"


def test_the_judge_of_rounding_begins_with_the_same_half_precision():
    """The cells that points of the grid fall into, and so its gradient, depend on how its numbers were rounded."""
    torch = pytest.importorskip("torch")
    from differential.program import Pair, Step

    pair = Pair(flambeau, torch)
    for target, text in (
        ("a", "torch.arange(144.).sin().reshape(2, 3, 3, 4, 2).to(torch.bfloat16)"),
        ("b", "torch.arange(7., 79.).sin().reshape(2, 2, 3, 2, 3).to(torch.bfloat16).requires_grad_()"),
        ("c", "torch.nn.functional.grid_sample(a, b, align_corners=True)"), ("", "c.abs().sum().backward()"),
    ):
        assert pair.do(Step(text, {}, target)) is None


def test_signs_of_underflown_halves_are_excused_and_wrong_gradients_are_found():
    torch = pytest.importorskip("torch")
    from differential.program import Pair, Step

    pair = Pair(flambeau, torch)
    for target, text in (
        ("a", "torch.nn.GRU(4, 2, num_layers=2)"), ("", "a.to(torch.bfloat16)"),
        ("b", "(torch.arange(24.) % 7 - 3).reshape(3, 2, 4).to(torch.bfloat16).requires_grad_()"),
        ("c", "(torch.arange(7., 15.) * 40).sin().reshape(2, 2, 2).to(torch.bfloat16).requires_grad_()"),
        ("d", "a(b, c)"), ("", "d[0].abs().sum().backward()"),
    ):
        assert pair.do(Step(text, {}, target)) is None
    pair.scopes[0]["b"].grad.view(-1)[-1].add_(10)
    assert pair.do(Step("torch.ones(1)", {}, "z")).kind == "values"


def test_deliberate_differences_are_documented():
    pytest.importorskip("torch")
    from differential.deliberate import DIFFERENCES

    guide = " ".join((ROOT / "docs" / "differences.md").read_text().split())
    assert [words for words in DIFFERENCES if words not in guide] == []


@pytest.mark.parametrize("namespace", ["torch", "torch.fft", "torch.linalg", "torch.special", "Tensor"])
def test_every_public_function_is_drawn_or_excused(namespace):
    pytest.importorskip("torch")
    from differential.coverage import drawn, excused, public

    ours = {"torch": flambeau}.get(namespace) or getattr(flambeau, namespace.rpartition(".")[2])
    names = public(namespace, ours)
    assert names - drawn(namespace) - excused() == set()
    assert names & drawn(namespace) & excused() == set()


def test_every_excuse_names_a_public_function():
    pytest.importorskip("torch")
    from differential.coverage import NAMESPACES, excused, public

    assert excused() - set().union(*[public(name, module) for name, module in NAMESPACES.items()]) == set()
