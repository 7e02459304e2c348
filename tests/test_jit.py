"""TorchScript's API, whose functions return programs unchanged, says where this is not enough."""

import pytest

import flambeau

jit, nn = flambeau.jit, flambeau.nn


def test_programs_are_returned_unchanged():
    model, x = nn.Linear(2, 1), flambeau.ones(1, 2)
    assert jit.script(model) is jit.trace(model, x) is jit.trace(model, example_kwarg_inputs={"input": x}) is model
    assert jit.script(len) is len and jit.script(nn.Linear) is nn.Linear and jit.script({"a": 1}) == {"a": 1}


@pytest.mark.parametrize("call, kind, words", [
    (lambda: jit.script(5), TypeError, "got int"),
    (lambda: jit.trace(nn.Linear(2, 1)), RuntimeError, "example_kwarg_inputs should be a dict"),
    (lambda: jit.save(nn.ReLU(), "x.pt"), NotImplementedError, r"torch\.save\(model\.state_dict\(\), path\)"),
    *((lambda name=name: getattr(jit.script(nn.ReLU()), name), AttributeError,
       rf"'ReLU' object has no attribute '{name}', .* torch\.save\(model\.state_dict\(\), path\)")
      for name in ("save", "code", "graph", "save_to_buffer")),
])
def test_what_needs_torchscript_is_refused(call, kind, words):
    with pytest.raises(kind, match=words):
        call()
