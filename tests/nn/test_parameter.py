"""Parameter and Buffer, compared with PyTorch."""


import copy
import io
import pickle

import pytest

import flambeau
from _programs import Programs, raised
from flambeau import nn

programs = Programs("nn_parameter.json")


def kind(value):
    return type(value).__name__


@programs
def parameters_are_made(t):
    data = t.ones(2)
    p, frozen, empty = t.nn.Parameter(data), t.nn.Parameter(data, requires_grad=False), t.nn.Parameter()
    data.fill_(3.0)
    return [p, p.requires_grad, frozen.requires_grad, list(empty.shape), empty.requires_grad, p.is_leaf, p.grad, p.data_ptr() == data.data_ptr(),
            kind(p), isinstance(p, t.Tensor), isinstance(data, t.nn.Parameter), p.grad_fn is None, kind(p.data), t.is_tensor(p)]


@programs
def parameters_of_everything(t):
    made = [t.nn.Parameter(t.ones(1, dtype=t.float64)), t.nn.Parameter(t.tensor([1]), requires_grad=False), t.nn.Parameter(t.tensor(2.0)),
            t.nn.Parameter(t.nn.Parameter(t.ones(1))), t.nn.Parameter(t.ones(1, dtype=t.complex64)), t.nn.Parameter(t.ones(1, requires_grad=True) * 2),
            t.nn.Parameter(t.ones(1, requires_grad=True)), t.nn.Parameter(data=t.ones(1), requires_grad=False)]
    return [[str(p.dtype), p.requires_grad, list(p.shape), p.is_leaf] for p in made] + [raised(lambda: t.nn.Parameter(t.tensor([1])))]


@programs
def parameters_in_no_grad(t):
    with t.no_grad():
        p = t.nn.Parameter(t.ones(1))
        q = p * 2
    return [p.requires_grad, q.requires_grad, kind(q)]


@programs
def reprs(t):
    p = t.nn.Parameter
    return [repr(p(t.ones(2))), repr(p(t.ones(2), requires_grad=False)), repr(p(t.zeros(2, 2, dtype=t.float64))), repr(p()), str(p(t.tensor(1.0))),
            repr(t.nn.Buffer(t.ones(2))), repr([p(t.ones(1))]), repr(type("Special", (p,), {})(t.ones(1)))]


@programs
def operations_give_tensors(t):
    p = t.nn.Parameter(t.ones(2, 2))
    return [kind(v) for v in (p + 1, p.sum(), p[0], p.view(-1), p.t(), p.detach(), p.data, p.clone(), p.to(t.float64), p.reshape(4))] + [
        kind(p.requires_grad_(False)), kind(p.mul_(2)), p.to(t.float32) is p, p.float() is p, p.cpu() is p]


@programs
def training_a_parameter(t):
    p = t.nn.Parameter(t.ones(2))
    (p * p).sum().backward()
    first = p.grad
    with t.no_grad():
        p -= 0.5 * p.grad
    return [first, p, kind(p), p.requires_grad, raised(lambda: p.add_(1)), p._version]


@programs
def data_is_replaced(t):
    p = t.nn.Parameter(t.ones(2))
    held = p.data
    held.fill_(4.0)
    p.data = t.zeros(3)
    return [p, list(held.shape), kind(p), p.requires_grad]


@programs
def deepcopies(t):
    p = t.nn.Parameter(t.ones(2), requires_grad=False)
    p.note = "x"
    p.grad = t.ones(2)
    c = copy.deepcopy(p)
    both = copy.deepcopy([p, p])
    c.data.fill_(7.0)
    return [kind(c), c.requires_grad, hasattr(c, "note"), c.grad, p, both[0] is both[1], kind(copy.copy(p))]


@programs
def buffers(t):
    data = t.ones(2, requires_grad=True)
    b, n = t.nn.Buffer(data), t.nn.Buffer(t.ones(1), persistent=False)
    return [kind(b), isinstance(b, t.nn.Buffer), isinstance(data, t.nn.Buffer), b.requires_grad, b.persistent, n.persistent, n.requires_grad,
            b.data_ptr() == data.data_ptr(), list(t.nn.Buffer().shape), isinstance(b, t.Tensor), isinstance(b * 2, t.nn.Buffer), isinstance(3, t.nn.Buffer),
            isinstance(b, t.nn.Parameter), isinstance(t.nn.Parameter(data), t.nn.Buffer), raised(lambda: t.nn.Buffer(t.ones(1), False))]


@programs
def buffers_are_copied(t):
    b = t.nn.Buffer(t.ones(1), persistent=False)
    c = copy.deepcopy(b)
    return [isinstance(c, t.nn.Buffer), c.persistent, c.data_ptr() == b.data_ptr()]


test_as_recorded, test_recording_is_what_torch_does = programs.tests()


# ---- what only Flambeau shows


def test_pickle():
    p = nn.Parameter(flambeau.ones(2), requires_grad=False)
    p.note = "x"
    (p * nn.Parameter(flambeau.ones(2))).sum().backward()
    back = pickle.loads(pickle.dumps(p))
    assert type(back) is nn.Parameter
    assert not back.requires_grad
    assert back.note == "x"
    assert back.tolist() == [1.0, 1.0]


def test_pickle_after_grad_fn_was_accessed():
    p = nn.Parameter(flambeau.ones(2))
    node = (p * 2).grad_fn.next_functions[0][0]
    assert node.variable is p
    assert pickle.loads(pickle.dumps(p)).requires_grad


def test_parameters_that_share_memory_share_it_after_pickling():
    data = flambeau.zeros(3)
    stream = io.BytesIO()
    pickle.dump([nn.Parameter(data), nn.Parameter(data)], stream)
    a, b = pickle.loads(stream.getvalue())
    a.data.fill_(1.0)
    assert b.tolist() == [1.0, 1.0, 1.0]


def test_only_tensors_become_parameters():
    """PyTorch complains of a missing attribute."""
    with pytest.raises(TypeError, match="must be a Tensor, not list"):
        nn.Parameter([1.0])
