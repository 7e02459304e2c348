"""What the host does for a compiled training step on a device, beyond what jax does for it: milliseconds a step.

    python bench/host.py [--device cuda] [--parameters 1000] [--rounds 100]

The model has a thousand parameters of a few elements, so that the device has little to do. A round is a step, and then
a call of the step's program by jax alone, as a loop would make it: new arrays take the place of donated ones, and
results of the call before are freed. Of both it is measured how long the thread works, and how much of that in jax's
call; what is beyond jax is the rest of a step less the rest of a call by jax alone. Lower quartiles are reported.
"""

import argparse
import os
from time import thread_time

OPTIMIZERS = {"SGD": {}, "SGD, momentum": {"momentum": 0.9}, "Adam": {}}


def compiled_step(torch, options, name):
    """A step without arguments, of a model whose layers are as small as they get."""
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
    """Stands where a step has what jax compiled for it, and notes how long each call takes."""

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
        """The first results take the place of what was donated; the others are there until the next call."""
        results = self(*self.arguments)
        for place, result in zip(self.donated, results):
            self.arguments[place] = result
        self.others = results[len(self.donated):]
        return results[-1]

    def measure(self, call):
        """(milliseconds of work in a call, those of them in jax's); the device is waited for afterwards."""
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
