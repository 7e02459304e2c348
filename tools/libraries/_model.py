"""What the programs of this folder share: weights that do not depend on a library's generator, and lines of results."""

import json
import time
import traceback
import zlib

import numpy as np
import torch


def fill(module):
    """Fills parameters and buffers with floating numbers that depend on their names and shapes only."""
    with torch.no_grad():
        for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
            if tensor.is_floating_point():
                tensor.copy_(torch.from_numpy(_values(name, tuple(tensor.shape))))


def _values(name, shape):
    """Variances and scales near 1, weights of a layer's usual size."""
    normal = np.random.default_rng(zlib.crc32(name.encode())).standard_normal(shape)
    if "var" in name or (len(shape) == 1 and name.endswith("weight")):
        normal = 0.9 + 0.1 * np.abs(normal)
    else:
        normal = normal / np.sqrt(np.prod(shape[1:]) if len(shape) > 1 else 100)
    return np.asarray(normal, dtype="float32")


def draw(*shape, seed=0):
    """A tensor of normal numbers."""
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype("float32"))


def gradient_norm(module):
    """The norm of all gradients together."""
    squares = [float(p.grad.double().pow(2).sum()) for p in module.parameters() if p.grad is not None]
    return sum(squares) ** 0.5


def report(name, measure):
    """Prints what `measure()` gives, a dictionary of numbers and lists, or how it failed, as one line of JSON."""
    start = time.perf_counter()
    try:
        line = {"values": measure()}
    except Exception as error:
        while error.__cause__ is not None:  # libraries that import lazily wrap the reason
            error = error.__cause__
        last = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {str(error).partition(chr(10))[0]} ({last.filename}:{last.lineno})"
        line = {"error": text}
    print(json.dumps({"name": name, **line, "seconds": round(time.perf_counter() - start, 1)}), flush=True)
