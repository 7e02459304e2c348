"""Error messages of modules, and the tools that show a model: more helpful than PyTorch's."""

import functools
import pickle
import traceback
import warnings
import weakref

import pytest

import flambeau
from flambeau import nn
from flambeau.nn.modules import _report


def notes(function):
    """The notes on the exception that a call raises."""
    with pytest.raises(Exception) as caught:
        function()
    return getattr(caught.value, "__notes__", [])


# ---- errors name the class and the module


@pytest.mark.parametrize("package", [nn, flambeau.distributions, flambeau.optim.lr_scheduler], ids=lambda p: p.__name__)
def test_errors_of_constructors_name_a_public_class(package):
    classes = [cls for name, cls in vars(package).items() if isinstance(cls, type) and not name.startswith("_")]
    owners = {cls.__name__: cls.__init__.__qualname__.removesuffix(".__init__") for cls in classes}
    assert len(classes) > 15
    assert {name: owner for name, owner in owners.items() if owner not in {*owners, "object"}} == {}


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.Identity()
        self.ffn = nn.Sequential(nn.Linear(width, 8), nn.ReLU(), nn.Linear(9, 4))

    def forward(self, x, scale=1.0):
        return self.ffn(self.norm(x) * scale)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.ModuleDict({"layers": nn.ModuleList([Block(4), Block(4)])})

    def forward(self, x, *, scale=1.0):
        for layer in self.encoder["layers"]:
            x = layer(x, scale=scale)
        return x


def test_a_note_has_the_path_the_repr_and_the_shapes():
    (note,) = notes(lambda: Net()(flambeau.ones(2, 4)))
    assert note == (
        "in Net.encoder.layers.0.ffn.2 = Linear(in_features=9, out_features=4, bias=True): got input float32[2, 8]"
    )


def test_the_note_is_printed_with_the_traceback():
    with pytest.raises(RuntimeError) as caught:
        Net()(flambeau.ones(2, 4))
    assert traceback.format_exception(caught.value)[-1].startswith("in Net.encoder.layers.0.ffn.2 = Linear(")


@pytest.mark.parametrize("depth", range(6))
def test_notes_at_every_nesting(depth):
    m = nn.Linear(2, 2)
    for _ in range(depth):
        m = nn.Sequential(m)
    path = "Linear" if depth == 0 else "Sequential" + ".0" * depth
    assert notes(lambda: m(flambeau.ones(3))) == [
        f"in {path} = Linear(in_features=2, out_features=2, bias=True): got input float32[3]"
    ]


def test_an_error_in_the_forward_of_an_outer_module():
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(2, 3)

        def forward(self, x):
            return self.inner(x) + flambeau.ones(7)

    assert notes(lambda: nn.Sequential(Outer())(flambeau.ones(2))) == ["in Sequential.0 = Outer(...): got input float32[2]"]


def test_arguments_of_all_sorts():
    class Anything(nn.Module):
        def forward(self, *args, **kwargs):
            raise ValueError("no")

    m, x = Anything(), flambeau.ones(2, 3, dtype=flambeau.float64)
    given = {
        (): "no input", (x,): "input float64[2, 3]", (x, None, 3): "input float64[2, 3], None, 3",
        ((x, x),): "input (float64[2, 3], float64[2, 3])", (Anything(),): "input Anything",
        (flambeau.tensor(1),): "input int64[]",
    }
    for args, said in given.items():
        assert notes(lambda args=args: m(*args)) == [f"in Anything = Anything(): got {said}"]
    assert notes(lambda: m(x, mask=x, flag=True)) == [
        "in Anything = Anything(): got input float64[2, 3], mask=float64[2, 3], flag=True"
    ]
    assert notes(lambda: m([x] * 9, {"a": 1})) == ["in Anything = Anything(): got input list, {'a': 1}"]


def test_keyword_arguments_are_named():
    assert notes(lambda: Net()(x=flambeau.ones(2, 3)))[0].endswith("got input float32[2, 3]")
    assert notes(lambda: Block(4)(x=flambeau.ones(1, 4), scale="x")) == [
        "in Block = Block(...): got input x=float32[1, 4], scale=str"
    ]


def test_modules_that_are_not_registered():
    class Hidden(nn.Module):
        def __init__(self):
            super().__init__()
            self._helper = [nn.Linear(2, 2)]

        def forward(self, x):
            return self._helper[0](x)

    assert notes(lambda: nn.Sequential(Hidden())(flambeau.ones(3))) == [
        "in Sequential.0.<Linear> = Linear(in_features=2, out_features=2, bias=True): got input float32[3]"
    ]


def test_a_module_that_calls_itself():
    class Twice(nn.Module):
        def forward(self, x, again=True):
            return self(x, again=False) if again else x + "x"

    assert notes(lambda: Twice()(1)) == ["in Twice = Twice(): got input 1, again=False"]


def test_errors_of_hooks_and_missing_forward():
    def bad(*args):
        raise KeyError("bad")

    m = nn.Sequential(nn.Identity())
    m[0].register_forward_hook(bad)
    assert notes(lambda: m(1)) == ["in Sequential.0 = Identity(): got input 1"]
    assert notes(lambda: nn.Sequential(nn.ModuleList([]))(1)) == ["in Sequential.0 = ModuleList(): got input 1"]


def test_an_error_that_is_caught_and_raised_again():
    class Careful(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(2, 2)

        def forward(self, x):
            try:
                return self.first(x)
            except RuntimeError as error:
                raise ValueError("instead") from error

    with pytest.raises(ValueError, match="instead") as caught:
        nn.Sequential(Careful())(flambeau.ones(3))
    assert caught.value.__notes__ == ["in Sequential.0 = Careful(...): got input float32[3]"]
    assert caught.value.__cause__.__notes__ == [
        "in Linear = Linear(in_features=2, out_features=2, bias=True): got input float32[3]"
    ]


class Refuses(nn.Module):
    def __init__(self, error):
        super().__init__()
        self.error = error

    def forward(self, x):
        raise self.error


def test_one_error_that_is_raised_in_two_places():
    refuses = Refuses(ValueError("no"))
    for path, model in (("Sequential.0", nn.Sequential(refuses)), ("Sequential.1", nn.Sequential(nn.Identity(), refuses)),
                        ("Refuses", refuses)):
        assert notes(lambda model=model: model(1)) == [f"in {path} = Refuses(): got input 1"]


class Frozen(Exception):
    def __setattr__(self, name, value):
        raise AttributeError("cannot assign")


class Silent(Exception):
    def add_note(self, note):
        raise TypeError("no notes")


@pytest.mark.parametrize("kind", [Frozen, Silent])
def test_an_error_that_takes_no_notes_is_not_lost(kind):
    with pytest.raises(kind, match="no"):
        nn.Sequential(Refuses(kind("no")))(1)


def test_an_error_does_not_hold_the_module(no_cycle_collector):
    model = nn.Sequential(Refuses(ValueError("no")))
    model.register_forward_hook(lambda *_: None)  # cannot be pickled
    with pytest.raises(ValueError) as caught:
        model(1)
    error = caught.value
    assert pickle.loads(pickle.dumps(error)).__notes__ == error.__notes__
    gone = weakref.ref(model)
    error.__traceback__ = None
    del model, caught
    assert gone() is None


def test_notes_are_not_endless():
    class Wordy(nn.Linear):
        def extra_repr(self):
            return "word " * 1000

    (note,) = notes(lambda: Wordy(2, 2)(flambeau.ones(3)))
    assert note == "in Wordy = Wordy(...): got input float32[3]"
    (note,) = notes(lambda: nn.Identity()(**{f"argument{i}": flambeau.ones(3) for i in range(100)}))
    assert note.endswith("... (100 arguments)")
    assert len(note) < 700


def test_other_notes_are_kept():
    class Noted(nn.Module):
        def forward(self, x):
            error = ValueError("no")
            error.add_note("mine")
            raise error

    assert notes(lambda: nn.Sequential(Noted())(1)) == ["mine", "in Sequential.0 = Noted(): got input 1"]


def test_nothing_is_described_when_nothing_fails(monkeypatch):
    def must_not_run(*args):
        raise AssertionError("described for nothing")

    for name in ("add_module_note", "describe", "module_repr"):
        monkeypatch.setattr(_report, name, must_not_run)
    nn.Sequential(nn.Linear(2, 2), nn.ReLU())(flambeau.ones(2)).sum().backward()


# ---- attributes


def test_an_attribute_error_in_a_property_is_reported_as_what_it_is():
    class Typo(nn.Module):
        @property
        def width(self):
            return self.misspelt + 1

        @functools.cached_property
        def depth(self):
            return self.also_misspelt

    for name, culprit in (("width", "misspelt"), ("depth", "also_misspelt")):
        with pytest.raises(AttributeError, match=f"'Typo' object has no attribute '{culprit}'"):
            getattr(Typo(), name)
        assert not hasattr(Typo(), name)


def test_an_attribute_error_of_something_else_in_a_property():
    class Other(nn.Module):
        @property
        def size(self):
            return "text".misspelt

    with pytest.raises(AttributeError, match="'str' object has no attribute 'misspelt'"):
        Other().size  # noqa: B018


def test_python_can_suggest_the_right_name():
    m = nn.Linear(1, 1)
    with pytest.raises(AttributeError) as caught:
        m.wieght  # noqa: B018
    assert (caught.value.name, caught.value.obj) == ("wieght", m)
    assert "weight" in dir(m)


@pytest.mark.parametrize(("value", "what"), [
    (nn.ReLU(), "module"), (nn.Parameter(flambeau.ones(1)), "parameters"), (nn.Buffer(flambeau.ones(1)), "buffer"),
], ids=["module", "parameter", "buffer"])
def test_forgetting_init_names_the_class_and_shows_the_cure(value, what):
    class Forgetful(nn.Module):
        def __init__(self):
            self.thing = value

    with pytest.raises(AttributeError) as caught:
        Forgetful()
    said = str(caught.value)
    assert said.startswith(f"cannot assign {what} before Module.__init__() call: Forgetful assigns 'thing'")
    assert "class Forgetful(nn.Module):\n        def __init__(self, ...):\n            super().__init__()\n" in said
    assert "self.thing = ..." in said


def test_forgetting_init_and_reading():
    class Forgetful(nn.Module):
        def __init__(self):
            pass

        def forward(self, x):
            return self.weight * x

    with pytest.raises(AttributeError, match=r"no attribute 'weight'.*call super\(\).__init__\(\) first in Forgetful"):
        Forgetful()(1)


# ---- modules in plain collections


def only_warning(function):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function()
    return [str(w.message) for w in caught]


def holder(**attributes):
    """A model with attributes, of a class of its own."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            for name, value in attributes.items():
                setattr(self, name, value)

    return Model()


@pytest.mark.parametrize(("value", "said"), [
    ([nn.Linear(1, 1)], "plain list that holds modules"), ((nn.Linear(1, 1),), "plain tuple that holds modules"),
    ({"a": nn.Linear(1, 1)}, "plain dict that holds modules"), ([nn.Parameter(flambeau.ones(1))], "plain list that holds parameters"),
    ({"a": nn.Parameter(flambeau.ones(1))}, "plain dict that holds parameters"),
], ids=["list", "tuple", "dict", "list of parameters", "dict of parameters"])
def test_plain_collections_warn_with_the_path_and_the_cure(value, said):
    cures = {list: "List([...])", tuple: "List([...])", dict: "Dict({...})"}
    kind = "Parameter" if "parameters" in said else "Module"
    m = nn.Sequential(holder(things=value))
    (warning,) = only_warning(lambda: list(m.parameters()))
    assert warning.startswith(f"Sequential.0.things is a {said}.")
    assert "parameters(), state_dict() and to() do not see them" in warning
    assert f"self.things = nn.{kind}{cures[type(value)]} instead" in warning
    assert only_warning(lambda: list(m.parameters())) == []
    assert only_warning(m.state_dict) == []


def test_lists_that_are_filled_later_warn_too():
    m = holder(layers=[])
    m.layers.append(nn.Linear(1, 1))
    (warning,) = only_warning(m.state_dict)
    assert warning.startswith("Model.layers is a plain list")


def test_the_warning_points_at_the_users_line():
    m = holder(layers=[nn.Dropout()])
    with pytest.warns(UserWarning, match="plain list") as caught:
        list(m.named_parameters())
    assert caught[0].filename == __file__


def test_no_warning_for_what_is_registered_elsewhere():
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [nn.Linear(1, 1), nn.Linear(1, 1)]
            for i, layer in enumerate(self.layers):
                self.add_module(f"layer{i}", layer)
            self.weights = [self.layer0.weight]

    assert only_warning(lambda: list(Both().parameters())) == []


def test_no_warning_for_other_lists_and_hidden_names():
    m = holder(sizes=[1, 2], names=("a",), table={"a": 1}, _teacher=[nn.Linear(1, 1)], tensors=[flambeau.ones(1)])
    assert only_warning(lambda: list(m.parameters())) == []


def test_no_warning_for_modules_without_state():
    class Choice(nn.Module):
        def __init__(self):
            super().__init__()
            self.activations = {"relu": nn.ReLU(), "tanh": nn.Sequential(nn.Tanh())}
            self.losses = [nn.MSELoss(), nn.CrossEntropyLoss()]

    assert not list(Choice().parameters())
    holder = Choice()
    holder.drops = [nn.Dropout()]
    with pytest.warns(UserWarning, match=r"Choice\.drops is a plain list"):
        holder.state_dict()


def test_one_warning_a_class():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [nn.Dropout()]

    models = nn.Sequential(Model(), Model())
    assert len(only_warning(lambda: list(models.parameters()))) == 1
    assert only_warning(lambda: list(Model().parameters())) == []


# ---- loading


def failed_load(m, state, **kwargs):
    with pytest.raises(RuntimeError) as caught:
        m.load_state_dict(state, **kwargs)
    return str(caught.value).split("\n\t")


def layers(n=2):
    return nn.Sequential(*[nn.Linear(2, 2) for _ in range(n)])


def test_a_common_prefix_is_diagnosed():
    m = layers()
    title, first, missing, unexpected = failed_load(m, {"module." + k: v for k, v in m.state_dict().items()})
    assert title == "Error(s) in loading state_dict for Sequential:"
    assert first == (
        "The keys of the state_dict begin with 'module.', those of the model do not. "
        "Strip it: {k.removeprefix('module.'): v for k, v in state_dict.items()}."
    )
    assert missing == 'Missing key(s) in state_dict: "0.weight", "0.bias", "1.weight", "1.bias". '
    assert unexpected.startswith('Unexpected key(s) in state_dict: "module.0.weight"')


def test_a_deep_prefix_and_other_troubles_at_once():
    m = layers()
    state = {"net.model." + k: v for k, v in m.state_dict().items()}
    state["epoch"] = flambeau.tensor(3)
    del state["net.model.1.bias"]
    assert "begin with 'net.model.'" in failed_load(m, state)[1]


def test_a_prefix_of_the_model_is_diagnosed():
    inner = layers()
    m = nn.Module()
    m.backbone = inner
    lines = failed_load(m, inner.state_dict())
    assert lines[1] == (
        "The keys of the model begin with 'backbone.', those of the state_dict do not. "
        "Add it: {'backbone.' + k: v for k, v in state_dict.items()}."
    )


def test_the_cure_for_a_prefix_cures():
    m = layers()
    state_dict = {"module." + k: v for k, v in m.state_dict().items()}
    cure = failed_load(m, state_dict)[1].partition("Strip it: ")[2].rstrip(".")
    assert m.load_state_dict(eval(cure)) == ([], [])


def test_a_checkpoint_that_holds_the_state_dict_is_diagnosed():
    model = nn.Linear(2, 2)
    checkpoint = {"epoch": 3, "model": model.state_dict(), "optimizer": {"state": {}}}
    with pytest.raises(RuntimeError) as caught:
        model.load_state_dict(checkpoint)
    assert str(caught.value).splitlines()[1].strip() == (
        "The state_dict is under the key 'model' of the argument: pass that."
    )


def test_renames_are_suggested():
    m = nn.Module()
    m.classifier = nn.Linear(3, 2)
    m.body = nn.Linear(4, 4)
    state = m.state_dict()
    for old, new in (("classifier.weight", "classify.weight"), ("classifier.bias", "classify.bias")):
        state[new] = state.pop(old)
    lines = failed_load(m, state)
    assert lines[1] == (
        "Renamed since, as the shapes are equal? "
        "'classify.weight' -> 'classifier.weight', 'classify.bias' -> 'classifier.bias'."
    )


def test_no_rename_is_suggested_between_different_shapes():
    m = nn.Linear(2, 2, bias=False)
    lines = failed_load(m, {"weights": flambeau.ones(3, 3)})
    assert lines[1].startswith("Missing")


def test_transposed_weights_are_diagnosed():
    m = nn.Linear(3, 2)
    state = m.state_dict()
    state["weight"] = state["weight"].T
    lines = failed_load(m, state)
    assert lines[1] == 'Transposed: "weight" would fit as .T (other libraries keep weights as in x out).'
    assert lines[2].startswith("size mismatch for weight: copying a param with shape torch.Size([3, 2])")


def test_at_most_ten_keys_a_kind():
    m, other = layers(20), nn.Sequential(*[nn.Linear(3, 3) for _ in range(20)])
    _, missing = failed_load(m, {})
    assert missing.count('"') == 20
    assert missing.endswith("and 30 more. ")
    lines = failed_load(m, other.state_dict())
    assert sum(line.startswith("size mismatch") for line in lines) == 10
    assert lines[-1] == "... and 30 more that do not fit."
    unexpected = failed_load(m, {**m.state_dict(), **{f"x{i}": flambeau.ones(1) for i in range(25)}})[-1]
    assert unexpected.endswith("and 15 more. ")


def test_many_renames_do_not_take_long():
    m = layers(300)
    state = {"b" + k: v for k, v in m.state_dict().items()}
    assert "Renamed since" in failed_load(m, state)[1]


def test_no_missing_keys_in_the_message_when_not_strict():
    m = nn.Linear(3, 2)
    lines = failed_load(m, {"weight": flambeau.ones(5, 5)}, strict=False)
    assert len(lines) == 2


def test_incompatible_keys_print_as_in_pytorch():
    m = nn.Linear(1, 1)
    assert repr(m.load_state_dict(m.state_dict())) == "<All keys matched successfully>"
    assert repr(m.load_state_dict({}, strict=False)) == (
        "_IncompatibleKeys(missing_keys=['weight', 'bias'], unexpected_keys=[])"
    )


# ---- evaluating, snapshot


def test_evaluating_restores_every_mode():
    m = nn.Sequential(nn.Dropout(), nn.Sequential(nn.Dropout(), nn.ReLU()))
    m[1][0].eval()
    before = [c.training for c in m.modules()]
    with m.evaluating() as same:
        assert same is m
        assert not any(c.training for c in m.modules())
        m[0].train()
    assert [c.training for c in m.modules()] == before


def test_evaluating_restores_after_an_error():
    m = nn.Sequential(nn.Dropout())
    with pytest.raises(KeyError), m.evaluating():
        raise KeyError
    assert all(c.training for c in m.modules())


def test_a_snapshot_is_not_changed_by_training():
    m = nn.Linear(2, 2)
    m.register_buffer("steps", flambeau.tensor(1))
    saved, shared = m.snapshot(), m.state_dict()
    with flambeau.no_grad():
        m.weight.add_(1)
        m.steps.add_(1)
    assert list(saved) == ["weight", "bias", "steps"]
    assert saved["steps"].item() == 1
    assert not flambeau.equal(saved["weight"], m.weight)
    assert flambeau.equal(shared["weight"], m.weight)
    assert saved._metadata == shared._metadata
    m.load_state_dict(saved)
    assert flambeau.equal(saved["weight"], m.weight)


# ---- summary


def hooks_on(m):
    return sum(len(c._forward_hooks) + len(c._forward_pre_hooks) for c in m.modules())


def test_a_summary(capsys):
    m = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Dropout(0.5), nn.Linear(3, 1, bias=False))
    m[3].requires_grad_(False)
    text = m.summary(flambeau.ones(2, 4))
    assert capsys.readouterr().out == text + "\n"
    assert text.splitlines() == [
        "path        type        output         parameters  mode",
        "Sequential  Sequential  float32[2, 1]",
        "0           Linear      float32[2, 3]  15",
        "1           ReLU        float32[2, 3]",
        "2           Dropout     float32[2, 3]              differs in training",
        "3           Linear      float32[2, 1]  3",
        "parameters: 18, of which trained: 15",
    ]


def test_a_summary_leaves_nothing_behind():
    m = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5))
    m[1].eval()
    m.summary(flambeau.ones(2, 4))
    assert hooks_on(m) == 0
    assert [c.training for c in m.modules()] == [True, True, False]
    assert m[0].weight.grad is None


def test_a_summary_leaves_nothing_behind_when_forward_raises():
    m = nn.Sequential(nn.Linear(4, 3), nn.Linear(4, 3))
    with pytest.raises(RuntimeError) as caught:
        m.summary(flambeau.ones(2, 4))
    assert caught.value.__notes__[0].startswith("in Sequential.1 = Linear")
    assert hooks_on(m) == 0
    assert m.training


def test_a_summary_of_several_inputs_and_nested_outputs():
    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.unused = nn.Linear(1, 1)

        def forward(self, a, b, *, c=None):
            return (a + b, {"x": c}), [b]

    text = Pair().summary(flambeau.ones(2), flambeau.ones(1, dtype=flambeau.float64), c=flambeau.ones(3))
    assert "((float64[2], {'x': float32[3]}), [float64[1]])" in text
    assert "not called" in text


def test_a_summary_of_a_module_without_inputs():
    class Constant(nn.Module):
        def forward(self):
            return flambeau.ones(3)

    assert "float32[3]" in Constant().summary()


def test_a_summary_keeps_the_hooks_that_are_there():
    m, seen = nn.Identity(), []
    m.register_forward_hook(lambda *a: seen.append(1))
    m.summary(1)
    assert seen == [1]
    assert hooks_on(m) == 1


def test_a_shared_module_is_counted_once():
    linear = nn.Linear(2, 2)
    text = nn.Sequential(linear, linear).summary(flambeau.ones(1, 2))
    assert text.endswith("parameters: 6, of which trained: 6")
    assert text.count("Linear") == 1


def test_a_summary_of_a_lazy_module():
    m = nn.Sequential(nn.LazyLinear(3))
    text = m.summary(flambeau.ones(1, 2))
    assert "0           Linear      float32[1, 3]  9" in text
