"""The host time of a call of a compiled training step, compared with that of calling the same program in jax.

    python bench/dispatch.py                # 200 parameters on JAX's CPU
    python bench/dispatch.py 1000 --optimizer Adam --device cuda

The parameters are small and the program does next to nothing, so the cost only depends on the number of tensors.
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
    return lambda: step(x), next(iter(step.programs.values()))[0]


def jax_step(step, program):
    """The same program called in plain jax: the arrays it returns replace the donated ones as the next arguments."""
    segment = program.partition.forward
    compiled, arguments = segment.executable, []

    def call(*given):
        arguments[:] = [x.copy() for x in given]
        return compiled(*given)

    segment.executable = call
    step()
    segment.executable = compiled
    pairs = [(len(segment.packs) + segment.others.index(place), r if segment.places is None else segment.places[r])
             for place, r in segment.donated.items()]

    def again():
        results = compiled(*arguments)
        for place, r in pairs:
            arguments[place] = results[r]

    return again


def milliseconds(*calls, rounds=40, in_a_row=5):
    """The fastest call of each, interleaved, in CPU time of this thread, so that other programs matter little."""
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for i, call in enumerate(calls):
            for _ in range(in_a_row):
                began = time.thread_time()
                call()
                best[i] = min(best[i], time.thread_time() - began)
    return [seconds * 1e3 for seconds in best]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=200)
    parser.add_argument("--optimizer", default="SGD")
    parser.add_argument("--device", default="xla")
    args = parser.parse_args()
    step, program = compiled_step(args.count, args.optimizer, args.device)
    whole, of_jax = milliseconds(step, jax_step(step, program))
    own = whole - of_jax
    print(f"{args.count} parameters, {args.optimizer} on {args.device}: {own:.2f} ms beside jax's {of_jax:.2f} ms, "
          f"{own / args.count * 1e3:.2f} µs a parameter")


if __name__ == "__main__":
    main()
