"""Layers call torch.nn.functional through the module, so that replaced or counted functions take effect."""

import collections
import types

import pytest

import flambeau
from _layers import LAYERS

pytestmark = pytest.mark.oracle

FUNCTIONS = types.FunctionType | types.BuiltinFunctionType


def calls(t, row, patch):
    """How often a layer calls which function of t.nn.functional; calls by these functions do not count."""
    seen, depth = collections.Counter(), []

    def counted(name, function):
        def call(*args, **kwargs):
            if not depth:
                seen[name] += 1
            depth.append(name)
            try:
                return function(*args, **kwargs)
            finally:
                depth.pop()

        return call

    module, arguments = row.make(t), row.arguments(t)
    with patch.context() as patching:
        for name, function in list(vars(t.nn.functional).items()):
            if isinstance(function, FUNCTIONS) and not name.startswith("_") and "torch_function" not in name:
                patching.setattr(t.nn.functional, name, counted(name, function))
        module(*arguments)
    return seen


@pytest.mark.parametrize("row", LAYERS, ids=str)
def test_the_same_functions_are_called(row, monkeypatch):
    torch = pytest.importorskip("torch")
    assert calls(flambeau, row, monkeypatch) == calls(torch, row, monkeypatch)
