"""All optimizers: short programs on both libraries, with recorded results so that they also run without PyTorch."""

import inspect

from _programs import Programs
from optim._cases import CASES, IDS, problem_for

programs = Programs("optim_families.json")
WORDS = 40  # characters of a message that are compared: the phrase that people search for


def told(function):
    """The type of the exception that a call raises, and how its message begins."""
    try:
        function()
    except Exception as error:
        return [type(error).__name__, str(error)[:WORDS]]
    return ["nothing", ""]


@programs
def trajectories(t):
    found = {}
    for (name, options), label in zip(CASES, IDS, strict=True):
        if name != "Muon":
            problem = problem_for(name)(t, "float64")
            found[label] = {k: v.tolist() for k, v in problem.train(getattr(t.optim, name)(problem.parameters, **options),
                                                                    2)[-1].items()}
    return found


@programs
def complex_parameters(t):
    found = []
    for name in ("SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop", "Adagrad", "Adadelta", "ASGD"):
        p = t.nn.Parameter(t.tensor([1 + 2j, -0.5j]))
        optimizer = getattr(t.optim, name)([p], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (p * p.conj() * (1 + 1j)).real.sum().backward()
            optimizer.step()
        found.append([name, t.view_as_real(p.detach()), [str(v.dtype) for v in optimizer.state[p].values()]])
    return found


@programs
def half_parameters(t):
    found = []
    for name in ("SGD", "Adam", "Adagrad"):
        p = t.nn.Parameter(t.tensor([1.0, -2.0], dtype=t.bfloat16))
        optimizer = getattr(t.optim, name)([p], lr=0.125)
        p.grad = t.tensor([0.5, 4.0], dtype=t.bfloat16)
        optimizer.step()
        found.append([p.detach(), [str(v.dtype) for v in optimizer.state[p].values()]])
    return found


@programs
def sparse_gradients(t):
    found = []
    for name, options in (("SGD", {}), ("SGD", {"momentum": 0.9}), ("SGD", {"maximize": True}), ("Adagrad", {}),
                          ("Adagrad", {"lr_decay": 0.1, "maximize": True}), ("SparseAdam", {}),
                          ("SparseAdam", {"maximize": True, "betas": (0.5, 0.8)})):
        p, q = t.nn.Parameter(t.arange(8.0).reshape(4, 2)), t.nn.Parameter(t.ones(2))
        optimizer = getattr(t.optim, name)([p] if name == "SparseAdam" else [q, p], lr=0.1, **options)
        for rows in ([0, 2, 0], [2, 3, 3]):
            p.grad = t.sparse_coo_tensor(t.tensor([rows]), t.arange(1.0, 7.0).reshape(3, 2), (4, 2))
            q.grad = t.ones(2)
            optimizer.step()
        found.append([p.detach(), q.detach(), list(optimizer.state[p])])
    return found


@programs
def sparse_mistakes(t):
    def step(name, grad, **options):
        p = t.nn.Parameter(t.ones(2))
        optimizer = getattr(t.optim, name)([p], **options)
        p.grad = grad
        optimizer.step()

    names = ("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop", "Adadelta", "ASGD", "Adafactor")
    sparse = t.ones(2).to_sparse()
    return [*[told(lambda name=name: step(name, sparse)) for name in names], told(lambda: step("SparseAdam", t.ones(2))),
            told(lambda: step("Adagrad", sparse, weight_decay=0.1)), told(lambda: step("Adagrad", sparse, fused=True)),
            told(lambda: t.optim.SparseAdam([t.ones(2).to_sparse().requires_grad_()]))]


@programs
def wrong_settings(t):
    wrong = {
        "SGD": [{"lr": -1}, {"momentum": -1}, {"weight_decay": -1}, {"nesterov": True}, {"fused": True, "foreach": True}],
        "Adam": [{"lr": -1}, {"eps": -1}, {"betas": (1.0, 0.9)}, {"betas": (0.9, -1.0)}, {"weight_decay": -1},
                 {"betas": (0.9,)}, {"lr": t.ones(2)}, {"lr": t.tensor(0.1), "foreach": True}, {"betas": (t.tensor(0.9), 0.9)},
                 {"betas": (t.ones(2) / 2, t.ones(2) / 2)}, {"fused": True, "differentiable": True},
                 {"fused": True, "foreach": True}],
        "AdamW": [{"lr": -1}, {"weight_decay": -1}], "Adamax": [{"lr": -1}, {"eps": -1}, {"betas": (1.0, 0.9)}],
        "NAdam": [{"lr": -1}, {"momentum_decay": -1}], "RAdam": [{"eps": -1}, {"betas": (0.9, 1.0)}],
        "RMSprop": [{"alpha": -1}, {"momentum": -1}, {"eps": -1}], "Rprop": [{"etas": (2, 0.5)}, {"lr": -1}],
        "Adagrad": [{"lr_decay": -1}, {"initial_accumulator_value": -1}, {"eps": -1}, {"lr": t.ones(2)}],
        "Adadelta": [{"rho": 2}, {"lr": -1}], "ASGD": [{"lr": -1}, {"weight_decay": -1}],
        "Adafactor": [{"lr": -1}, {"beta2_decay": 1}, {"eps": (-1, 1)}, {"eps": (None, -1)}, {"d": 0.5},
                      {"weight_decay": -1}, {"lr": t.ones(2)}],
        "Muon": [{"lr": -1}, {"momentum": -1}, {"weight_decay": -1}, {"adjust_lr_fn": "x"}, {"lr": t.ones(2)}],
        "SparseAdam": [{"lr": -1}, {"lr": 0}, {"eps": 0}, {"betas": (1, 1)}], "LBFGS": [{"lr": -1}, {"lr": t.ones(2)}],
    }
    p = t.nn.Parameter(t.ones(2, 2))
    return {name: [told(lambda name=name, given=given: getattr(t.optim, name)([p], **given)) for given in rows]
            for name, rows in wrong.items()}


@programs
def steps_that_cannot_be(t):
    def step(name, p, **options):
        optimizer = getattr(t.optim, name)([p], **options)
        p.grad = t.ones_like(p)
        optimizer.step()

    def parameter(**options):
        return t.nn.Parameter(t.ones(2, 2, **options))

    names = ("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop", "Adadelta", "ASGD")
    lbfgs = t.optim.LBFGS([parameter()], line_search_fn="other")
    w = lbfgs.param_groups[0]["params"][0]

    def closure():
        lbfgs.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss

    return [*[told(lambda name=name: step(name, parameter(), capturable=True)) for name in names],
            *[told(lambda name=name: step(name, parameter(device="meta"), fused=True)) for name in ("SGD", "Adam", "Adagrad")],
            told(lambda: step("Adam", parameter(dtype=t.complex64), fused=True)), told(lambda: step("Adam", parameter(device="meta"))),
            told(lambda: step("Adafactor", parameter(dtype=t.complex64))), told(lambda: step("Muon", parameter(dtype=t.complex64))),
            told(lambda: step("Muon", parameter(), ns_steps=100)), told(lambda: step("Muon", parameter(), ns_coefficients=(1, 2))),
            told(lambda: t.optim.Muon([t.nn.Parameter(t.ones(2))])), told(lambda: lbfgs.step(closure)), told(lbfgs.step),
            told(lambda: t.optim.LBFGS([{"params": [w]}, {"params": [parameter()]}]))]


@programs
def learning_rates_that_are_tensors(t):
    found = []
    for name in ("SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop", "Adagrad", "Adadelta", "ASGD",
                 "Adafactor"):
        for lr in (t.tensor(0.1), t.tensor([0.1], dtype=t.float64)):
            p = t.nn.Parameter(t.tensor([1.0, -2.0]))
            optimizer = getattr(t.optim, name)([p], lr=lr)
            p.grad = t.tensor([0.5, 4.0])
            optimizer.step()
            found.append([name, p.detach(), repr(optimizer)])
    return found


@programs
def betas_that_are_tensors(t):
    found = []
    for name in ("Adam", "AdamW", "NAdam"):
        p = t.nn.Parameter(t.tensor([1.0, -2.0]))
        optimizer = getattr(t.optim, name)([p], betas=(t.tensor(0.5), t.tensor(0.75)))
        for _ in range(2):
            p.grad = t.tensor([0.5, 4.0])
            optimizer.step()
        found.append([name, p.detach()])
    return found


@programs
def groups_without_a_setting(t):
    def step(name, setting):
        optimizer = getattr(t.optim, name)([t.nn.Parameter(t.ones(2))])
        del optimizer.param_groups[0][setting]
        optimizer.step()

    return [told(lambda name=name, setting=setting: step(name, setting)) for name, setting in (
        ("SGD", "lr"), ("Adam", "lr"), ("Adam", "betas"), ("RMSprop", "alpha"), ("Adagrad", "eps"), ("Rprop", "etas"))]


@programs
def loaded_counts_of_steps(t):
    found = []
    for options in ({}, {"capturable": True}, {"fused": True}):
        p = t.nn.Parameter(t.ones(2, dtype=t.float64))
        optimizer = t.optim.Adam([p], **options)
        count = t.tensor(3.0, dtype=t.float64)
        optimizer.load_state_dict({"state": {0: {"step": count, "exp_avg": t.ones(2), "exp_avg_sq": t.ones(2)}},
                                   "param_groups": optimizer.state_dict()["param_groups"]})
        state = optimizer.state[p]
        found.append([str(state["step"].dtype), state["step"] is count, str(state["exp_avg"].dtype)])
    return found


@programs
def functional_forms(t):
    from importlib import import_module

    modules = {name: import_module(f"{t.__name__}.optim.{name}") for name in (
        "adadelta", "adagrad", "adam", "adamax", "adamw", "asgd", "nadam", "radam", "rmsprop", "rprop", "sgd")}
    signatures = {name: list(inspect.signature(getattr(module, name)).parameters) for name, module in modules.items()}
    p, grad = t.ones(2), t.tensor([0.5, -1.0])
    averages, step = [t.zeros(2), t.zeros(2)], t.tensor(0.0)
    for _ in range(2):
        modules["adam"].adam([p], [grad], [averages[0]], [averages[1]], [], [step], amsgrad=False, beta1=0.9, beta2=0.99,
                             lr=0.1, weight_decay=0.0, eps=1e-8, maximize=False)
    buffers = [None]
    modules["sgd"].sgd([p], [grad], buffers, weight_decay=0.0, momentum=0.9, lr=0.1, dampening=0.0, nesterov=False,
                       maximize=False, foreach=False)
    return [signatures, p, averages, step, buffers[0],
            told(lambda: modules["adam"].adam([p], [grad], averages[:1], averages[1:], [], [1], amsgrad=False, beta1=0.9,
                                              beta2=0.99, lr=0.1, weight_decay=0.0, eps=1e-8, maximize=False))]


@programs
def states_of_older_versions(t):
    """Counts of steps were numbers, and settings were fewer."""
    p = t.nn.Parameter(t.tensor([1.0, -2.0]))
    optimizer = t.optim.Adam([p])
    old = {"state": {0: {"step": 3, "exp_avg": t.ones(2), "exp_avg_sq": t.ones(2)}},
           "param_groups": [{"lr": 0.1, "betas": (0.9, 0.99), "eps": 1e-8, "weight_decay": 0, "amsgrad": False, "params": [0]}]}
    optimizer.load_state_dict(old)
    p.grad = t.ones(2)
    optimizer.step()
    return [p.detach(), optimizer.state[p]["step"], sorted(optimizer.param_groups[0])]


@programs
def exchanged_for_a_while(t):
    model = t.nn.Linear(2, 1, bias=False)
    optimizer = t.optim.Adam(model.named_parameters(), lr=0.1)
    swap, fresh = t.optim.swap_in_optimizer_params_and_state, t.ones(1, 2, requires_grad=True)
    before = told(lambda: swap(optimizer, {"weight": fresh}, optimizer.state_dict()).__enter__())
    model.weight.grad = t.ones(1, 2)
    optimizer.step()
    saved = model.weight.detach().clone()
    state = optimizer.state_dict()
    state = {**state, "state": {0: {name: value.clone() for name, value in state["state"][0].items()}}}
    with swap(optimizer, {"weight": fresh}, state):
        fresh.grad = t.ones(1, 2)
        optimizer.step()
    return [before, fresh.detach(), t.equal(saved, model.weight.detach()), state["state"][0]["step"],
            optimizer.state[model.weight]["step"], told(lambda: swap(optimizer, {"weight": fresh}, {}).__enter__())]


test_as_recorded, test_as_torch_does = programs.tests()
