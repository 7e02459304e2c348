"""The differential tool covers torch.nn and torch.optim, except for the exclusions listed here."""

import inspect
import pathlib
import re

import pytest

pytestmark = pytest.mark.oracle
FOLDER = pathlib.Path(__file__).parents[2] / "tools" / "differential"

NOT_DRAWN = {
    "base classes, which do nothing by themselves": "Container Optimizer LRScheduler RNNCellBase ParametrizationList",
    "of several devices": "DataParallel",
    "of GPUs, in formats that the CPU has not": "grouped_mm scaled_grouped_mm scaled_mm ScalingType SwizzleType",
    "parts of PyTorch's own code that are seen from outside": """assert_int_or_pair has_torch_function
        has_torch_function_unary has_torch_function_variadic bind PackedSequence_ NamedMemberAccessor factory_kwargs
        swap_in_optimizer_params_and_state""",
    "made by a function that is drawn": "PackedSequence",
    "how much memory a loss takes, not what it gives": "LinearCrossEntropyOptions",
    "a switch, which is on or off for a whole program": "cached",
}


def drawn_text():
    """The tables of cases as they are drawn from, and the sources of the others."""
    from differential import functionals, layers, losses, sequences

    rows = [case for module in (layers, functionals, losses, sequences) for case in module.TABLE]
    return "\n".join([f"{case.make}\n{case.call}" for case in rows] + [path.read_text() for path in sorted(FOLDER.glob("*.py"))])


def public_names():
    """The classes and functions by the place where a user finds them."""
    torch = pytest.importorskip("torch")
    places = {
        "nn": torch.nn, "functional": torch.nn.functional, "init": torch.nn.init, "utils": torch.nn.utils, "rnn": torch.nn.utils.rnn,
        "parametrizations": torch.nn.utils.parametrizations, "parametrize": torch.nn.utils.parametrize, "optim": torch.optim,
        "stateless": torch.nn.utils.stateless, "lr_scheduler": torch.optim.lr_scheduler, "swa_utils": torch.optim.swa_utils,
    }
    for place, module in places.items():
        for name, value in vars(module).items():
            own = getattr(value, "__module__", None) or ""
            belongs = own.startswith(("torch.nn", "torch.optim", "torch._C")) or (place == "functional" and inspect.isbuiltin(value))
            if name[0] != "_" and belongs and (inspect.isclass(value) or callable(value)):
                yield name


def missing_names():
    words = set(re.findall(r"\w+", drawn_text()))
    return {name for name in public_names() if name not in words}


def test_what_is_not_drawn_is_named_with_its_reason():
    named = {name for names in NOT_DRAWN.values() for name in names.split()}
    assert sorted(missing_names() - named) == []


def test_exclusions_exist_and_are_not_drawn():
    named = {name for names in NOT_DRAWN.values() for name in names.split()}
    assert sorted(named - set(public_names())) == []
    assert sorted(named - missing_names()) == []


class Simplest:
    """Draws the first of all choices."""

    def __new__(cls, pair):
        from differential.writer import Writer

        writer = Writer(None, pair, special=False)
        writer.integer = lambda low, high: low
        return writer


REFUSED = {"nn.RNNBase", "nn.SyncBatchNorm"}  # cases whose simplest choice is an error in PyTorch


def test_each_case_agrees_in_its_simplest_form():
    torch = pytest.importorskip("torch")
    from differential import cases, functionals, layers, losses, sequences
    from differential.deliberate import is_deliberate
    from differential.program import Pair
    from differential.writer import Found, Over, Row

    import flambeau

    failed = []
    for case in [case for module in (layers, functionals, losses, sequences) for case in module.TABLE]:
        writer = Simplest(Pair(flambeau, torch, is_deliberate=is_deliberate))
        try:
            module = {"m": writer.apply(Row(case.make))} if case.make else {}
            cases.use(writer, case, module, cases.draw_inputs(writer, case, "float32"))
        except Over:
            failed += [writer.pair.text] if case.name not in REFUSED else []
        except Found as found:
            if not is_deliberate(found.disagreement):
                failed.append(f"{writer.pair.text}\n{found.disagreement}")
    assert not failed, "\n\n".join(failed)
