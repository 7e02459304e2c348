"""The host overhead of a compiled training step on a device, beyond that of jax: milliseconds per step.

    python bench/host.py [--device cuda] [--parameters 1000] [--rounds 100]

The model has a thousand parameters of a few elements, so that the device has little to do. A round is a step, followed
by a call of the step's program in plain jax, as in a loop: new arrays replace donated ones, and results of the previous
call are freed. For both, the CPU time of the thread and the part of it inside jax's call are measured. The overhead is
the time outside jax in a step, minus that in a plain call. Lower quartiles are reported.
"""

import argparse
import os
from time import thread_time

OPTIMIZERS = {"SGD": {}, "SGD, momentum": {"momentum": 0.9}, "Adam": {}}


def compiled_step(torch, options, name):
    """A step without arguments, of a model with minimal layers."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[torch.nn.Linear(2, 2) for _ in range(options.parameters // 2)]).to(options.device)
    optimizer = getattr(torch.optim, name.split(",")[0])(model.parameters(), lr=0.01, **OPTIMIZERS[name])
    x = torch.randn(2, 2, device=options.device)

    @torch.compile
    def step():
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    for _ in range(3):
        step()
    return step


class Program:
    """Replaces the compiled program of a step, and records how long each call takes."""

    def __init__(self, step):
        from jax import Array, block_until_ready
        from jax.numpy import copy

        (programs,) = step.programs.values()
        segment = programs[0].partition.forward
        self.call, segment.executable = segment.executable, self
        self.donated = [len(segment.packs) + segment.others.index(place) for place in segment.donated]
        self.arguments = None
        self.copy = lambda x: copy(x) if isinstance(x, Array) else x
        self.wait = block_until_ready

    def __call__(self, *arguments):
        if self.arguments is None:
            self.arguments = [*map(self.copy, arguments)]
        began = thread_time()
        results = self.call(*arguments)
        self.taken = thread_time() - began
        return results

    def call_alone(self):
        """The first results replace the donated arrays; the others live until the next call."""
        results = self(*self.arguments)
        for place, result in zip(self.donated, results):
            self.arguments[place] = result
        self.others = results[len(self.donated):]
        return results[-1]

    def measure(self, call):
        """(milliseconds of a call, the part of them inside jax); waits for the device afterwards."""
        began = thread_time()
        result = call()
        taken = thread_time() - began
        self.wait(getattr(result, "_a", result))
        return taken * 1e3, self.taken * 1e3


def measure_round(step, program):
    (ours, within_ours), (theirs, within_theirs) = program.measure(step), program.measure(program.call_alone)
    return ours, within_ours, theirs, within_theirs, ours - within_ours - (theirs - within_theirs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="xla")
    parser.add_argument("--parameters", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args()
    if options.device == "xla":
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import flambeau as torch

    print("| optimizer | step | jax's call in it | jax alone | its call in it | beyond jax |")
    print("|---|---|---|---|---|---|")
    for name in OPTIMIZERS:
        step = compiled_step(torch, options, name)
        program = Program(step)
        step()
        rounds = [measure_round(step, program) for _ in range(options.rounds)]
        print(f"| {name} |", " | ".join([f"{sorted(x)[len(x) // 4]:.2f}" for x in zip(*rounds)]), "|", flush=True)


if __name__ == "__main__":
    main()
