"""Comparison with the real PyTorch: converts tensors, and runs the same code on both libraries."""

import contextlib
import warnings

import numpy as np

import flambeau

HALF = ("bfloat16", "float8_e4m3fn", "float8_e5m2")


def dtype_name(t):
    return str(t.dtype).rpartition(".")[2]


def to_array(t):
    """The elements of a tensor of either library, as a NumPy array (low precision as float32)."""
    t = t.detach()
    if dtype_name(t) in HALF:
        t = t.float()
    return np.array(t.numpy(force=True) if type(t).__module__ == "torch" else t._a)


def to_flambeau(t):
    """The flambeau tensor with the elements, dtype, strides and requires_grad of a torch tensor."""
    out = flambeau.from_numpy(to_array(t)).to(getattr(flambeau, dtype_name(t)))
    return out.requires_grad_(t.requires_grad) if t.is_leaf else out


def to_torch(t):
    """The torch tensor with the elements, dtype and requires_grad of a flambeau tensor."""
    import torch

    out = torch.from_numpy(to_array(t)).to(getattr(torch, dtype_name(t)))
    return out.requires_grad_(t.requires_grad) if t.is_leaf else out


def assert_same(got, want, rtol=1e-5, atol=1e-6):
    """The same structure, dtypes, shapes and values (to a tolerance for inexact dtypes)."""
    if type(want).__module__.startswith("torch") and hasattr(type(want), "detach"):
        assert isinstance(got, flambeau.Tensor), f"expected a tensor, got {got!r}"
        assert dtype_name(got) == dtype_name(want)
        assert tuple(got.shape) == tuple(want.shape)
        assert got.device.type == want.device.type
        if want.device.type == "meta":
            return
        np.testing.assert_allclose(to_array(got), to_array(want), rtol=rtol, atol=atol, equal_nan=True)
    elif isinstance(want, (tuple, list)):
        assert isinstance(got, (tuple, list)) and len(got) == len(want), f"{got!r} is not {want!r}"
        for g, w in zip(got, want):
            assert_same(g, w, rtol, atol)
    elif isinstance(want, (float, complex)):
        assert isinstance(got, type(want))
        np.testing.assert_allclose(got, want, rtol=rtol, atol=atol, equal_nan=True)
    else:
        assert words(got) == words(want), f"{got!r} is not {want!r}"


def words(value):
    """How a value prints, with one name for both libraries."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return repr(value).replace("flambeau", "torch")


def outcome(code, library, **names):
    """(value, exception) of a piece of code in which ``torch`` is `library`; its last line is the value."""
    *lines, last = code.strip().splitlines() if "\n" in code else [c.strip() for c in code.split("; ")]
    scope = {"torch": library, "np": np, "nan": float("nan"), "inf": float("inf"), **names}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(SyntaxError):
            last = f"_value = {compile(last, 'case', 'eval') and last}"
        try:
            exec("\n".join([*lines, last]), scope)
        except Exception as error:
            return None, error
    return scope.get("_value"), None


def check_code(code, strides=True, **names):
    """Runs `code` with both libraries: the same value, or an exception of the same type."""
    import torch

    want, expected = outcome(code, torch, **names)
    got, error = outcome(code, flambeau, **names)
    if expected is not None:
        assert error is not None, f"torch raises {expected!r}, flambeau gives {got!r}"
        assert type(error).__name__ == type(expected).__name__, f"{error!r} for torch's {expected!r}"
        return
    if error is not None:
        raise error
    assert_same(got, want)
    if strides and isinstance(got, flambeau.Tensor) and want.device.type != "meta":
        assert got.stride() == want.stride()
        assert got.requires_grad == want.requires_grad
