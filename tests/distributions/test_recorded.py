"""Samples and results recorded from PyTorch for every distribution, to compare without it."""

from _programs import Programs
from distributions._cases import CASES, build

programs = Programs("distributions.json")


def program(name):
    def run(t):
        d, parameters = build(t, CASES[name], "float64")
        t.manual_seed(7)
        x = d.sample((2,))
        density = d.log_prob(x)
        gradients = t.autograd.grad(density.sum(), parameters, allow_unused=True) if density.requires_grad else []
        return [x, density, list(gradients), t.rand(1)]

    run.__name__ = name.replace(" ", "_")
    return run


for _name in CASES:
    if _name not in ("GeneralizedPareto", "VonMises"):  # PyTorch refuses float64, and has approximations
        programs(program(_name))

test_as_recorded, test_recording_is_what_torch_does = programs.tests()
