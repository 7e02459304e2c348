"""The cost of recording on a device: microseconds per call, and per training step, without running the program.

    python bench/recording.py

It runs on JAX's CPU backend: the work of the host is the same on every device. The minimum of many short rounds is
reported.
"""

import gc
import os
from time import perf_counter

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import flambeau as torch
from flambeau import nn
from flambeau.engines.xla.lazy import Graph

F = nn.functional
DEVICE = "xla"
CALLS, ROUNDS = 25, 60


def microseconds(call, calls=CALLS):
    """The time of one call, which records and runs nothing."""
    graph = Graph.on(torch.ones((), device=DEVICE)._a.graph.jax_device)
    call()
    best = float("inf")
    gc.disable()
    for _ in range(ROUNDS):
        began = perf_counter()
        for _ in range(calls):
            call()
        best = min(best, perf_counter() - began)
        graph.clear()
    gc.enable()
    return best / calls * 1e6


def cases():
    """(name, call) pairs."""
    x, w = torch.ones(8, 64, device=DEVICE), torch.ones(64, 64, device=DEVICE)
    bias, of_grad = torch.ones(64, device=DEVICE), torch.ones(8, 64, device=DEVICE).requires_grad_()
    for name, t in (("", x), (", with a gradient", of_grad)):
        yield f"x + y{name}", lambda t=t: t + x
        yield f"x * 2.5{name}", lambda t=t: t * 2.5
        yield f"x @ w{name}", lambda t=t: t @ w
        yield f"linear{name}", lambda t=t: F.linear(t, w, bias)
        yield f"layer_norm{name}", lambda t=t: F.layer_norm(t, (64,), bias, bias)
        yield f"view{name}", lambda t=t: t.view(8, 8, 8)
    yield "linear, forward and backward", lambda: torch.autograd.grad(F.linear(of_grad, w, bias), of_grad, x)


def main():
    print("| call | µs |\n|---|---|")
    for name, call in cases():
        print(f"| {name} | {microseconds(call):.1f} |")


if __name__ == "__main__":
    main()
