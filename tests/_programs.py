"""Programs that run on both Flambeau and PyTorch, and whose results are compared.

A program is a function of the library (``t``) that returns plain values, tensors, or nested lists of them. What
PyTorch returned is recorded beside the tests, so the comparison also runs where PyTorch is not installed:

    python tests/_programs.py tests/autograd/test_programs.py     # records anew, needs torch
"""

import json
import math
import pathlib
import sys
import warnings


class Programs:
    """A collection of programs, filled by decoration: ``@programs``."""

    def __init__(self, recording):
        self.table = {}
        self.path = pathlib.Path(__file__).parent / "data" / recording

    def __call__(self, function):
        assert function.__name__ not in self.table, f"two programs are called {function.__name__}"
        self.table[function.__name__] = function
        return function

    def names(self):
        return sorted(self.table)

    def recorded(self, name):
        return json.loads(self.path.read_text())[name]

    def run(self, name, library):
        with warnings.catch_warnings():
            if library.__name__ == "torch":
                warnings.simplefilter("ignore")
            return plain(self.table[name](library))

    def tests(self):
        """Two tests of all programs so far: Flambeau does as recorded, and the recording is what PyTorch does."""
        import pytest

        import flambeau

        @pytest.mark.parametrize("name", self.names())
        def as_recorded(name):
            assert differences(self.run(name, flambeau), self.recorded(name)) == []

        @pytest.mark.oracle
        @pytest.mark.parametrize("name", self.names())
        def as_torch_does(name):
            torch = pytest.importorskip("torch")
            assert differences(self.run(name, torch), self.recorded(name)) == []

        return as_recorded, as_torch_does

    def record(self, library):
        results = {name: self.run(name, library) for name in self.names()}
        lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in results.items()]
        self.path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def plain(value):
    """A JSON-like image of a result: dtype, shape and elements of tensors, names of types."""
    if hasattr(value, "detach"):
        value = value.detach()
        kind = str(value.dtype).removeprefix("torch.")
        numbers = value.reshape(-1).tolist() if "complex" not in kind else [str(v) for v in value.reshape(-1).tolist()]
        return {"dtype": kind, "shape": list(value.shape), "values": [plain(v) for v in numbers]}
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, type):
        return value.__name__
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a program returned a {type(value).__name__}")


def raised(function):
    """The name of the exception type that a call raises, or "nothing"."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function()
    except Exception as error:
        return type(error).__name__
    return "nothing"


def warned(function):
    """The names of the warning types that a call gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function()
    return [w.category.__name__ for w in caught]


def differences(got, want, where="result"):
    """The first places where two results differ; numbers may differ by rounding."""
    if isinstance(want, dict) and isinstance(got, dict):
        if list(want) != list(got):
            return [f"{where}: keys {list(got)}, not {list(want)}"]
        return [d for k in want for d in differences(got[k], want[k], f"{where}.{k}")][:5]
    if isinstance(want, list) and isinstance(got, list):
        if len(want) != len(got):
            return [f"{where}: {len(got)} entries, not {len(want)}: {got} not {want}"]
        return [d for i, (g, w) in enumerate(zip(got, want, strict=True)) for d in differences(g, w, f"{where}[{i}]")][:5]
    if isinstance(want, float) and isinstance(got, float):
        return [] if math.isclose(got, want, rel_tol=2e-5, abs_tol=3e-6) else [f"{where}: {got}, not {want}"]
    return [] if type(got) is type(want) and got == want else [f"{where}: {got!r}, not {want!r}"]


if __name__ == "__main__":
    import importlib.util

    import torch

    for path in sys.argv[1:]:
        spec = importlib.util.spec_from_file_location("programs", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.programs.record(torch)
