"""What the host does for a call of a compiled training step, beside what jax takes for it.

    python bench/dispatch.py                # 200 parameters on JAX's CPU
    python bench/dispatch.py 1000 --optimizer Adam --device cuda

The parameters are small, and the program does next to nothing, so that the number of tensors is all that costs.
"""

import argparse
import time

import flambeau as torch
from flambeau import nn


class Many(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.parts = nn.ParameterList([nn.Parameter(torch.ones(4)) for _ in range(count)])

    def forward(self, x):
        return (torch.cat([*self.parts]) * x).sum()


def compiled_step(count, optimizer, device):
    model = Many(count).to(device)
    optimizer = getattr(torch.optim, optimizer)(model.parameters(), lr=0.01)

    @torch.compile
    def step(x):
        optimizer.zero_grad()
        loss = model(x)
        loss.backward()
        optimizer.step()
        return loss.detach()

    x = torch.ones(4 * count, device=device)
    step(x), step(x)
    return lambda: step(x), next(iter(step.programs.values()))[0].partition


class Timer:
    """Adds up the seconds that calls of a function take."""

    def __init__(self, function):
        self.function = function
        self.seconds = 0.0

    def __call__(self, *args):
        began = time.perf_counter()
        try:
            return self.function(*args)
        finally:
            self.seconds += time.perf_counter() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=200)
    parser.add_argument("--optimizer", default="SGD")
    parser.add_argument("--device", default="xla")
    args = parser.parse_args()
    step, partition = compiled_step(args.count, args.optimizer, args.device)
    segments = [s for s in (partition.forward, partition.host) if hasattr(s, "compiled")]
    timers = [Timer(s.compiled) for s in segments]
    for segment, timer in zip(segments, timers, strict=True):
        segment.compiled = timer
    rounds = []
    for _ in range(50):
        for timer in timers:
            timer.seconds = 0.0
        began = time.perf_counter()
        step()
        total = time.perf_counter() - began
        of_jax = sum([timer.seconds for timer in timers])
        rounds.append((total - of_jax, of_jax))
    own, of_jax = min(rounds)
    print(f"{args.count} parameters, {args.optimizer} on {args.device}: {own * 1e3:.2f} ms beside jax's "
          f"{of_jax * 1e3:.2f} ms, {own / args.count * 1e6:.2f} µs a parameter")


if __name__ == "__main__":
    main()
