"""Custom operators."""

import pytest

import flambeau
from flambeau import _ops, library


def make(name):
    @library.custom_op(f"mine::{name}", mutates_args=())
    def double(x: flambeau.Tensor, factor: float = 2.0) -> flambeau.Tensor:
        return flambeau.from_numpy(x.detach().numpy() * factor)

    return double


def test_custom_op_with_gradient():
    double = make("double")
    double.register_autograd(
        lambda ctx, grad: (grad * ctx.factor, None),
        setup_context=lambda ctx, inputs, output: setattr(ctx, "factor", inputs[1]),
    )
    x = flambeau.ones(2, requires_grad=True)
    for call in (double, _ops.mine.double, _ops.mine.double.default):
        x.grad = None
        call(x, factor=3.0).sum().backward()
        assert x.grad.tolist() == [3.0, 3.0]
    assert double(x).tolist() == [2.0, 2.0]


def test_fake_kernels_are_for_meta():
    double = make("faked")
    double.register_fake(lambda x, factor=2.0: flambeau.empty_like(x))
    assert double(flambeau.ones(3, device="meta")).device.type == "meta"


def test_libraries():
    mine = library.Library("other", "DEF")
    mine.define("neg(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match="other::neg"):
        _ops.other.neg(flambeau.ones(1))
    mine.impl("neg", lambda x: -x, "CPU")
    assert _ops.other.neg(flambeau.ones(1)).item() == -1
    library.impl("other::neg", "default", lambda x: x)
    assert repr(_ops.other.neg) == "<OpOverload(op='other.neg', overload='default')>"


def test_names():
    assert _ops.aten.relu is flambeau.relu
    assert not hasattr(_ops.other, "nothing")
    with pytest.raises(ValueError, match="library::operator"):
        library.custom_op("nothing", lambda: None, mutates_args=())
    with pytest.raises(OSError, match="compiled extensions"):
        _ops.load_library("lib.so")


@pytest.mark.parametrize("name", ["wrap_triton"])
def test_triton(name):
    with pytest.raises(NotImplementedError, match="Triton"):
        getattr(library, name)(None)
