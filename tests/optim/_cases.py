"""Optimizers with their options, and a small net to train, in either library."""

import numpy as np

ADAM = [{}, {"weight_decay": 0.1}, {"amsgrad": True}, {"amsgrad": True, "weight_decay": 0.1, "maximize": True},
        {"betas": (0.5, 0.8), "eps": 1e-4}, {"betas": (0.0, 0.9)}, {"maximize": True}, {"foreach": True}, {"fused": True},
        {"foreach": False}]
OPTIONS = {
    "SGD": [{}, {"momentum": 0.9}, {"momentum": 0.9, "dampening": 0.5}, {"momentum": 0.9, "nesterov": True},
            {"weight_decay": 0.1}, {"maximize": True, "momentum": 0.5, "weight_decay": 0.1}, {"foreach": True},
            {"fused": True, "momentum": 0.9}],
    "Adam": [*ADAM, {"decoupled_weight_decay": True, "weight_decay": 0.1}],
    "AdamW": [*ADAM, {"weight_decay": 0.0}],
    "Adamax": [{}, {"weight_decay": 0.1}, {"betas": (0.5, 0.8), "eps": 1e-4}, {"maximize": True, "lr": 0.1},
               {"foreach": True}],
    "NAdam": [{}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "decoupled_weight_decay": True}, {"maximize": True},
              {"momentum_decay": 0.1, "betas": (0.5, 0.8)}, {"foreach": True}],
    "RAdam": [{}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "decoupled_weight_decay": True}, {"maximize": True},
              {"betas": (0.5, 0.6)}, {"foreach": True}],
    "RMSprop": [{}, {"weight_decay": 0.1}, {"momentum": 0.9}, {"centered": True}, {"alpha": 0.5, "eps": 1e-4},
                {"centered": True, "momentum": 0.9, "maximize": True, "weight_decay": 0.1}, {"foreach": True}],
    "Rprop": [{}, {"lr": 0.1}, {"etas": (0.3, 1.5)}, {"step_sizes": (1e-3, 2e-2)}, {"maximize": True}, {"foreach": True}],
    "Adagrad": [{}, {"weight_decay": 0.1}, {"lr_decay": 0.1}, {"initial_accumulator_value": 0.1, "eps": 1e-4},
                {"maximize": True}, {"foreach": True}, {"fused": True}],
    "Adadelta": [{}, {"weight_decay": 0.1}, {"rho": 0.5, "eps": 1e-4}, {"maximize": True, "lr": 0.1}, {"foreach": True}],
    "ASGD": [{}, {"weight_decay": 0.1}, {"t0": 5, "lambd": 0.1, "lr": 0.1}, {"alpha": 0.5, "t0": 0}, {"maximize": True},
             {"foreach": True}],
    "Adafactor": [{}, {"lr": 0.05, "weight_decay": 0.1}, {"beta2_decay": -0.5, "d": 2.0}, {"eps": (1e-3, 1e-2)},
                  {"maximize": True}, {"foreach": True}],
    "LBFGS": [{"lr": 0.1}, {"lr": 0.1, "history_size": 3, "max_iter": 5}, {"max_iter": 4, "line_search_fn": "strong_wolfe"},
              {"line_search_fn": "strong_wolfe", "lr": 0.1, "max_eval": 6}, {"lr": 0.1, "tolerance_grad": 1e-2},
              {"lr": 0.1, "max_iter": 6, "tolerance_change": 1e-3}],
    "Muon": [{}, {"lr": 0.1, "weight_decay": 0.0}, {"nesterov": False, "momentum": 0.5}, {"ns_steps": 3},
             {"adjust_lr_fn": "match_rms_adamw"}, {"adjust_lr_fn": "original", "ns_coefficients": (3.0, -4.0, 2.0)}],
}
CASES = [(name, options) for name, table in OPTIONS.items() for options in table]
IDS = [" ".join([name, *[f"{k}={v}" for k, v in options.items()]]) for name, options in CASES]


def arrays(dtype):
    draw = np.random.RandomState(3)
    shapes = {"weight": (4, 6), "bias": (4,), "scale": (), "x": (8, 6), "target": (8, 4)}
    return {name: draw.standard_normal(shape).astype(dtype) for name, shape in shapes.items()}


class Problem:
    """A regression in one of the libraries: parameters and a loss."""

    def __init__(self, t, dtype="float32", values=None):
        given = arrays(dtype)
        given.update(values or {})
        self.t = t
        self.x, self.target = t.from_numpy(given["x"]), t.from_numpy(given["target"])
        self.named = {name: t.nn.Parameter(t.from_numpy(np.array(given[name]))) for name in self.names}

    names = ("weight", "bias", "scale")

    @property
    def parameters(self):
        return list(self.named.values())

    @property
    def values(self):
        return {name: p.detach().numpy().copy() for name, p in self.named.items()}

    def loss(self):
        weight, bias, scale = self.parameters
        return (((self.x @ weight.T).tanh() * scale + bias - self.target) ** 2).mean()

    def train(self, optimizer, steps):
        """The parameters after each step."""
        def closure():
            optimizer.zero_grad()
            loss = self.loss()
            loss.backward()
            return loss

        trajectory = []
        for _ in range(steps):
            optimizer.step(closure)
            trajectory.append(self.values)
        return trajectory


class MatrixProblem(Problem):
    """The same with the matrix alone."""

    names = ("weight",)

    def loss(self):
        return (((self.x @ self.named["weight"].T).tanh() - self.target) ** 2).mean()


def problem_for(name):
    return MatrixProblem if name == "Muon" else Problem
