"""Tests of a table of wrong calls: type and text of our errors and, if PyTorch is installed, its error types."""

import pytest

import flambeau
from _oracle import outcome


def error_of(code, t):
    return outcome(code, t, t=t, nn=t.nn, F=t.nn.functional)[1]


def error_tests(table, oracle=lambda: pytest.importorskip("torch")):
    """Two tests over the rows (code, kind of error, words of it); `oracle` gives PyTorch."""
    each_error = pytest.mark.parametrize(("code", "kind", "words"), table, ids=[code for code, _, _ in table])

    @each_error
    def error(code, kind, words):
        found = error_of(code, flambeau)
        assert type(found) is kind, found
        assert words in str(found)

    @pytest.mark.oracle
    @each_error
    def torch_raises_the_same_type(code, kind, words):
        assert type(error_of(code, oracle())) is kind

    return error, torch_raises_the_same_type
