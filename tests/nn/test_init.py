"""nn.init against PyTorch: the numbers for a seed and a generator, and errors."""

import flambeau
from _programs import Programs, raised, warned

programs = Programs("nn_init.json")

DRAWS = {
    "uniform_": [{}, {"a": -1.0, "b": 3.0}], "normal_": [{}, {"mean": 2.0, "std": 0.5}], "trunc_normal_": [{}, {"mean": 1.0, "std": 2.0, "a": -0.5, "b": 1.5}, {"mean": 1.0, "a": 2.5, "b": 4.0}],
    "xavier_uniform_": [{}, {"gain": 2.0}], "xavier_normal_": [{}, {"gain": 2.0}],
    "kaiming_uniform_": [{}, {"a": 0.5, "mode": "fan_out"}, {"nonlinearity": "relu"}], "kaiming_normal_": [{}, {"mode": "fan_out", "nonlinearity": "relu"}, {"nonlinearity": "tanh"}],
    "orthogonal_": [{}, {"gain": 3.0}], "sparse_": [{"sparsity": 0.4}, {"sparsity": 0.1, "std": 1.0}],
}
SHAPES = [(3, 4), (7, 5), (4, 9)]


@programs
def draws(t):
    def drawn(name, shape, kwargs):
        t.manual_seed(3)
        w = t.empty(shape)
        result = getattr(t.nn.init, name)(w, **kwargs)
        return [result is w, w, t.rand(1)]

    return {f"{name}{shape}{kwargs}": drawn(name, shape, kwargs) for name, rows in DRAWS.items() for kwargs in rows for shape in SHAPES}


@programs
def generators(t):
    def drawn(name, kwargs):
        t.manual_seed(3)
        w, generator = t.empty(5, 6), t.Generator()
        generator.manual_seed(11)
        getattr(t.nn.init, name)(w, **kwargs, generator=generator)
        return [w, t.rand(1), t.rand(1, generator=generator)]

    return {name: drawn(name, rows[0]) for name, rows in DRAWS.items()}


@programs
def convolution_weights(t):
    def drawn(name, shape):
        t.manual_seed(3)
        return getattr(t.nn.init, name)(t.empty(shape))

    return [drawn(name, shape) for name in ("kaiming_uniform_", "xavier_normal_", "orthogonal_") for shape in ((4, 3, 2), (2, 3, 2, 2))]


@programs
def constants(t):
    init = t.nn.init
    return [init.constant_(t.empty(2, 3), 4), init.ones_(t.empty(3)), init.zeros_(t.empty(2)), init.eye_(t.empty(2, 3)), init.dirac_(t.empty(3, 2, 3)), init.dirac_(t.empty(4, 2, 3, 3), 2),
            init.dirac_(t.empty(2, 2, 3, 3, 3)), [init.calculate_gain(n) for n in ("linear", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu", "selu")], init.calculate_gain("leaky_relu", 0.3)]


@programs
def parameters(t):
    w = t.nn.Parameter(t.empty(2, 2))
    t.nn.init.ones_(w)
    return [w, w.requires_grad, w.is_leaf, w.grad_fn is None]


@programs
def refusals(t):
    init, vector, cube = t.nn.init, t.empty(3), t.empty(2, 2, 2)
    return [raised(lambda: init.xavier_uniform_(vector)), raised(lambda: init.kaiming_normal_(vector)), raised(lambda: init.orthogonal_(vector)), raised(lambda: init.eye_(cube)),
            raised(lambda: init.dirac_(vector)), raised(lambda: init.dirac_(t.empty(3, 2, 3), 2)), raised(lambda: init.sparse_(cube, 0.1)), raised(lambda: init.calculate_gain("swish")),
            raised(lambda: init.calculate_gain("leaky_relu", "x")), raised(lambda: init.kaiming_uniform_(t.empty(2, 2), mode="fan")), warned(lambda: init.kaiming_uniform_(t.empty(0, 2))),
            warned(lambda: init.trunc_normal_(t.empty(3), mean=9.0)), warned(lambda: init.uniform(t.empty(2)))]


test_as_recorded, test_recording_is_what_torch_does = programs.tests()


def test_gradients_are_left_alone():
    w = flambeau.nn.Parameter(flambeau.zeros(2))
    w.grad = flambeau.ones(2)
    flambeau.nn.init.normal_(w)
    assert w.grad.tolist() == [1.0, 1.0]
