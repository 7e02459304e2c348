"""Our errors contain the phrases by which PyTorch's own tests recognize them, for all error cases in its databases."""

import re
import warnings

import pytest

import flambeau

pytestmark = pytest.mark.oracle

MOST = 450  # at least so many wrong calls of op_db are compared
KNOWN = {
    # an out= of the wrong dtype is refused in one sentence for all operations
    "Expected object of scalar type ComplexDouble but got scalar type ComplexFloat for argument 'out'",
    "Expected out tensor to have dtype float, but got double instead",
    "Expected the dtype for input and out to match, but got Float for input's dtype and Int for out's dtype.",
    "multinomial expects Long tensor out",
    "internal error",  # PyTorch's words for an output_size of the wrong length
    "the written-to tensor refer to a single memory location",  # PyTorch itself complains of something else
    "unsupported operation",  # overlap of inputs and out= is harmless: results are computed before they are written
}


def refusals(op):
    """(regex, PyTorch's exception, ours) of the wrong calls of an operation that PyTorch refuses with the regex."""
    from _op_db import Unavailable, carry, function_of, outcome_of

    function = function_of(op)
    for case in op.error_inputs("cpu"):
        sample = case.sample_input
        try:
            first, args, kwargs = carry((sample.input, tuple(sample.args), sample.kwargs))
        except Unavailable:
            continue
        want = outcome_of(op.op, (sample.input, *sample.args), sample.kwargs)
        if want is not None and re.search(case.error_regex, str(want)) and case.error_regex not in KNOWN:
            yield case.error_regex, want, outcome_of(function, (first, *args), kwargs)


def complaints(name, regex, want, got):
    """What is wrong with our exception, in a list."""
    if isinstance(got, want) and re.search(regex, str(got)):
        return []
    return [f"{name}: expected {want.__name__} with {regex!r}, got {got!r}"]


def test_operations():
    from _op_db import Unavailable, op_db

    wrong, calls = [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op in op_db:
            if op.error_inputs_func is None:
                continue
            try:
                for regex, want, got in refusals(op):
                    calls += 1
                    wrong += complaints(op.name, regex, type(want), got)
            except Unavailable:
                continue
    assert not wrong, "\n".join(wrong)
    assert calls > MOST


@pytest.mark.filterwarnings("ignore:Possible nested set")  # in PyTorch's regular expressions
def test_modules():
    import torch
    from torch.testing._internal.common_modules import ModuleErrorEnum, module_db

    from _op_db import carry, outcome_of

    wrong = []
    for info in module_db:
        cls = getattr(flambeau.nn, info.module_cls.__name__, None)
        if info.module_error_inputs_func is None or cls is None:
            continue
        for case in info.module_error_inputs_func(info, "cpu", torch.float32, False, True):
            made, call = case.module_error_input.constructor_input, case.module_error_input.forward_input
            function, args, kwargs = cls, carry(made.args), carry(made.kwargs)
            if case.error_on is not ModuleErrorEnum.CONSTRUCTION_ERROR:
                function, args, kwargs = cls(*args, **kwargs), carry(call.args), carry(call.kwargs)
            got = outcome_of(function, args, kwargs)
            wrong += complaints(info.name, case.error_regex, case.error_type, got)
    assert not wrong, "\n".join(wrong)
