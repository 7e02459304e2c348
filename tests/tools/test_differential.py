"""The differential tool finds faults that are planted into Flambeau, and none where there are none."""

import itertools

import pytest

import flambeau
from flambeau.ops._op import OPS

pytestmark = pytest.mark.oracle

SECONDS = 12  # in which a fault must be found


def search(families, seconds, folder):
    torch = pytest.importorskip("torch")
    from differential.search import Search

    return Search(flambeau, torch, folder, shrink_seconds=1).run(families.split(), seconds)


def wrong_vjp(patch):
    """The gradient of tanh without its square."""
    tanh = OPS["tanh"]
    patch.setattr(tanh, "vjps", {0: (lambda g, out: g * (1 - out), tanh.vjps[0][1])})
    patch.setattr(tanh, "plans", {})
    patch.setattr(tanh, "recorders", {})


def view_that_copies(patch):
    transpose = flambeau.Tensor.transpose
    patch.setattr(flambeau.Tensor, "transpose", lambda self, *dims: transpose(self, *dims).clone())


def write_that_does_not_count(patch):
    def zero_(self):
        self.detach().numpy()[...] = 0
        return self

    patch.setattr(flambeau.Tensor, "zero_", zero_)


def wrong_promotion(patch):
    div = flambeau.div
    patch.setattr(flambeau, "div", lambda x, *args, **kw: div(x if x.is_floating_point() else x.double(), *args, **kw))


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
    wrong_vjp: ("autograd", "tanh"),
    view_that_copies: ("views", "transpose"),
    write_that_does_not_count: ("views", "zero_"),
    wrong_promotion: ("ops", "div"),
    swapped_exception: ("views", "view"),
    hooks_in_wrong_order: ("modules", "register_forward_hook"),
    file_without_sharing: ("files", "save"),
}


@pytest.mark.parametrize("plant", FAULTS, ids=lambda plant: plant.__name__)
def test_planted_fault_is_found(plant, monkeypatch, tmp_path):
    family, word = FAULTS[plant]
    plant(monkeypatch)
    texts = [str(finding) for finding in itertools.islice(search(family, SECONDS, tmp_path), 1)]
    assert texts, "nothing was found"
    assert word in texts[0], texts[0]
    assert len(texts[0].splitlines()) <= 10, texts[0]


def test_nothing_is_found_where_no_fault_is(tmp_path):
    found = [str(finding) for finding in search("ops views autograd modules files", 10, tmp_path)]
    assert not found, "\n\n".join(found)
