"""How ops are called: floating-point warnings are never issued, whatever other threads compute."""

import threading
import warnings

import numpy as np
import pytest

import flambeau
from flambeau._fp_errors import run_in_fp_context
from flambeau.ops._op import OPS


@pytest.mark.parametrize("call", [
    lambda x: x / 0, lambda x: (x - 2).log(), lambda x: (x * 1e4).exp(), lambda x: x * 1e300, lambda x: x.cumsum(0) / 0,
    lambda x: flambeau.where(x > 0, x, x) / (x - x), lambda x: (x * 1e30).var(0),
], ids=["div", "log", "exp", "mul", "cumsum", "where", "var"])
def test_ops_do_not_warn_and_numpy_still_does(call):
    x = flambeau.ones(4, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(x)
        with pytest.raises(RuntimeWarning):
            np.ones(3) / 0


def test_ops_inside_the_silent_context():
    """As when another thread is in it: the call runs all the same, silently."""
    x = flambeau.full((3,), -1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run_in_fp_context(lambda: x.log().isnan().all().item())
        assert run_in_fp_context(lambda: (x / 0).tolist()) == [-np.inf] * 3
        assert run_in_fp_context(lambda: x.softmax(0).sum().item()) == pytest.approx(1)
        with pytest.raises(RuntimeError, match="must match the size"):
            run_in_fp_context(lambda: x + flambeau.ones(2))


def test_threads_compute_at_once():
    failures = []

    def work(seed):
        x = flambeau.full((64, 64), float(seed))
        try:
            for _ in range(200):
                assert (x.exp().log() - x).abs().max().item() < 1e-4
                assert (x @ x)[0, 0].item() == 64 * seed * seed
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


def test_numbers_are_kept_apart_by_sign_type_and_dtype():
    x, d, i = flambeau.ones(2), flambeau.ones(2, dtype=flambeau.float64), flambeau.ones(2, dtype=flambeau.int64)
    assert (1 / (x * 0.0)).tolist() == [np.inf] * 2
    assert (1 / (x * -0.0)).tolist() == [-np.inf] * 2
    assert (d * 0.1).tolist() == [0.1, 0.1]
    assert (x * 0.1).dtype is flambeau.float32
    assert (i * 3).dtype is flambeau.int64
    assert (i * 3.0).dtype is flambeau.float32
    assert (x * 1e300).tolist() == [np.inf] * 2


def test_tensors_of_inference_mode_are_marked_by_every_kind_of_call():
    x = flambeau.ones(2, 2)
    with flambeau.inference_mode():
        made = [x.exp(), x + x, x * 2, x.sum(0), x.softmax(0), flambeau.cat([x, x]), x @ x, flambeau.where(x > 0, x, x)]
        assert all(t.is_inference() for t in made)
    assert not x.exp().is_inference()


@pytest.mark.parametrize("count", [1, 2, 8, 9, 40])
def test_any_number_of_inputs_is_recorded(count):
    xs = [flambeau.full((2,), float(i), requires_grad=i % 3 != 1) for i in range(count)]
    (flambeau.cat(xs) * flambeau.arange(2.0 * count)).sum().backward()
    for i, x in enumerate(xs):
        assert x.grad is None if i % 3 == 1 else x.grad.tolist() == [2.0 * i, 2.0 * i + 1]
    assert len(OPS["cat"].recorders) < 100


POINTWISE = [name for name, spec in OPS.items() if spec.by_element and not name.startswith("special_")]


@pytest.mark.parametrize("dtype", [flambeau.float16, flambeau.bfloat16], ids=str)
@pytest.mark.parametrize("name", POINTWISE)
def test_large_halves_are_computed_in_float32(name, dtype):
    spec = OPS[name]
    operands = [(flambeau.randn(2, 3, 17, 1001) * 3).to(dtype) for _ in spec.inputs]
    wide = spec.function(*[x.float() for x in operands])
    right = wide.to(dtype) if wide.is_floating_point() else wide
    flambeau.testing.assert_close(spec.function(*operands), right, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", [flambeau.float16, flambeau.bfloat16], ids=str)
def test_steps_between_halves_are_theirs_in_large_tensors_too(dtype):
    x, y = flambeau.randn(2, 300, 1000).to(dtype)
    found = flambeau.nextafter(x, y)
    assert found[:1].equal(flambeau.nextafter(x[:1], y[:1])) and (found != x).any()


def test_large_halves_with_numbers_and_gradients():
    x = flambeau.randn(300, 1000).bfloat16()
    assert (x * 3).equal((x.float() * 3).bfloat16()) and (x.T * 3).equal((x * 3).T) and (x > 0).equal(x.float() > 0)
    assert (x + x[:1]).equal((x.float() + x[:1].float()).bfloat16())
    x.requires_grad_()
    (x * x).sum().backward()
    assert x.grad.equal(x.detach() * 2)
