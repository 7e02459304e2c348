"""Gradient clipping, and parameters as one vector, compared with PyTorch."""

import pytest

import flambeau
from _programs import Programs, raised, warned
from flambeau import nn

programs = Programs("nn_clip_grad.json")

INF, NAN = float("inf"), float("nan")


def parameters(t, *grads, dtype="float32"):
    """A parameter for each gradient; None makes one without."""
    made = []
    for grad in grads:
        p = t.nn.Parameter(t.zeros(2, dtype=getattr(t, dtype)))
        if grad is not None:
            p.grad = t.tensor(grad, dtype=p.dtype)
        made.append(p)
    return made


def grads(ps):
    return [p.grad for p in ps]


@programs
def by_norm(t):
    def clipped(norm_type, max_norm, *values, **kwargs):
        ps = parameters(t, *values, **kwargs)
        return [t.nn.utils.clip_grad_norm_(ps, max_norm, norm_type), grads(ps)]

    values = [3.0, -4.0], None, [12.0, 0.0]
    return [clipped(norm_type, max_norm, *values) for norm_type in (2, 1, 2.0, 0.5, 3.5, INF, "inf", 0, -1.0) for max_norm in (1, 2.5, 100.0)] + [
        clipped(2, 1.0, [0.0, 0.0]), clipped(2, 1.0, [INF, 1.0]), clipped(2, 1.0, [NAN, 1.0]), clipped(2, 0, *values), clipped(2, 1.0, None),
        clipped(2, 1.0, *values, dtype="float64"), clipped(2, 1.0, *values, dtype="float16"), clipped(2, 1.0, *values, dtype="bfloat16"),
        clipped(2, "2", *values), clipped(2, 1.0, [3 + 4j, 1j], dtype="complex64")]


@programs
def what_parameters_may_be(t):
    u = t.nn.utils
    one = parameters(t, [3.0, 4.0])[0]
    generated = parameters(t, [3.0, 4.0], [0.0, 0.0])
    return [u.clip_grad_norm_(one, 1.0), one.grad, u.clip_grad_norm_((p for p in generated), 1.0), grads(generated), u.clip_grad_norm_([], 1.0),
            u.clip_grad_norm_(iter([]), 1.0), warned(lambda: u.clip_grad_norm_((p for p in []), 1.0)), warned(lambda: u.clip_grad_norm_([], 1.0)),
            raised(lambda: u.clip_grad_norm_(5, 1.0)), raised(lambda: u.clip_grad_norm_([5], 1.0)), raised(lambda: u.clip_grad_norm_([], "one")),
            raised(lambda: u.clip_grad_norm_([], 1.0, "x"))]


@programs
def nonfinite_norms(t):
    u = t.nn.utils
    ps = parameters(t, [INF, 1.0])
    return [raised(lambda: u.clip_grad_norm_(ps, 1.0, error_if_nonfinite=True)), grads(ps),
            raised(lambda: u.get_total_norm(grads(ps), error_if_nonfinite=True)),
            raised(lambda: u.clip_grad_norm_(parameters(t, [2.0, 1.0]), 1.0, error_if_nonfinite=True))]


@programs
def foreach(t):
    u = t.nn.utils
    ps = parameters(t, [3.0, 4.0])
    meta = t.zeros(2, device="meta")
    meta.grad = t.zeros(2, device="meta")
    return [u.clip_grad_norm_(ps, 1.0, foreach=True), u.clip_grad_norm_(ps, 0.5, foreach=False), grads(ps),
            raised(lambda: u.clip_grad_norm_([meta], 1.0, foreach=True)), str(u.clip_grad_norm_([meta], 1.0, foreach=False).device),
            raised(lambda: u.clip_grad_value_([meta], 1.0, foreach=True))]


@programs
def total_norms(t):
    norm = t.nn.utils.get_total_norm
    mixed = [t.tensor([3.0, 4.0]), t.tensor([[12.0]], dtype=t.float64)]
    leaf = t.tensor([3.0, 4.0], requires_grad=True)
    return [norm(mixed), norm(mixed, 1), norm(mixed, INF), norm(t.tensor([3.0, 4.0])), norm([]), norm(iter(mixed)), norm(leaf).requires_grad,
            norm([t.tensor([3.0, 4.0]).half(), t.tensor([12.0]).half()]), raised(lambda: norm([t.tensor([3, 4])]))]


@programs
def with_a_norm_known(t):
    ps = parameters(t, [3.0, 1.0], None, [4.0, -2.0])
    result = t.nn.utils.clip_grads_with_norm_(ps, 2.5, t.tensor(5.0))
    first = [result, [g if g is None else g.clone() for g in grads(ps)]]
    t.nn.utils.clip_grads_with_norm_(ps, 2.5, t.tensor(1.0))
    return [first, grads(ps), t.nn.utils.clip_grads_with_norm_([], 1.0, t.tensor(1.0)),
            raised(lambda: t.nn.utils.clip_grads_with_norm_(ps, 2.5, 5.0))]


@programs
def by_value(t):
    u = t.nn.utils
    ps, one = parameters(t, [3.0, 1.0], None, [4.0, -7.0]), parameters(t, [3.0, -3.0])[0]
    u.clip_grad_value_(one, 1)
    return [
        u.clip_grad_value_(ps, 2.5), grads(ps), one.grad, raised(lambda: u.clip_grad_value_(ps, None)), u.clip_grad_value_((p for p in ps), "2"), grads(ps)]


@programs
def the_older_name(t):
    ps = parameters(t, [3.0, 4.0])
    return [warned(lambda: t.nn.utils.clip_grad_norm(ps, 1.0)), grads(ps)]


@programs
def one_vector(t):
    u = t.nn.utils
    m = t.nn.Linear(2, 2)
    u.vector_to_parameters(t.arange(6.0), m.parameters())
    values = t.arange(4.0)
    ps = parameters(t, [1.0, 1.0], [2.0, 3.0])
    u.vector_to_parameters(values, ps)
    values.mul_(10)
    vector = u.parameters_to_vector(m.parameters())
    (vector * t.arange(6.0)).sum().backward()
    return [vector, m.weight.grad, m.bias.grad, ps, type(ps[0]).__name__, raised(lambda: u.parameters_to_vector([])),
            raised(lambda: u.vector_to_parameters([1.0], ps)), raised(lambda: u.vector_to_parameters(t.arange(3.0), ps)),
            u.vector_to_parameters(t.arange(9.0), ps), raised(lambda: u.vector_to_parameters(t.arange(4), ps)),
            raised(lambda: u.parameters_to_vector([t.zeros(1), t.zeros(1, device="meta")]))]


test_as_recorded, test_recording_is_what_torch_does = programs.tests()


def test_nothing_to_clip_by_value():
    """PyTorch fails an internal assertion here."""
    p = nn.Parameter(flambeau.zeros(2))
    nn.utils.clip_grad_value_([p], 1.0)
    assert p.grad is None


def test_the_message_of_a_nonfinite_norm():
    p = nn.Parameter(flambeau.zeros(2))
    p.grad = flambeau.full((2,), INF)
    with pytest.raises(RuntimeError, match=r"norm of order 2\.0 for gradients from `parameters` is non-finite"):
        nn.utils.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)
