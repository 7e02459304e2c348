"""Strides of results: one rule for all engines, which NumPy's arrays follow too."""

import numpy as np
import pytest

import flambeau
from engines.xla_cases import ROWS
from flambeau._layout import contiguous_strides, elementwise_strides, is_contiguous
from flambeau._tensor import Tensor
from flambeau.engines import engine_on
from flambeau.ops._op import OPS

META = engine_on(flambeau.device("meta"))
BY_PARTS = {"addcmul", "addcdiv"}  # they first multiply operands of which none may have the shape of the result
SAME_SIZES = {"view_dtype"}  # its rows want a contiguous last dimension


def permuted(value, order):
    """The same elements with the dimensions in another order in memory."""
    if not isinstance(value, np.ndarray) or value.ndim < 2:
        return value
    axes = np.roll(range(value.ndim), 1) if order == "rolled" else np.arange(value.ndim)[::-1]
    return np.ascontiguousarray(value.transpose(axes)).transpose(np.argsort(axes))


@pytest.mark.parametrize("order", ["reversed", "rolled"])
@pytest.mark.parametrize("row", [r for r in ROWS if not OPS[r.name].is_view and r.name not in BY_PARTS | SAME_SIZES],
                         ids=lambda row: row.name)
def test_numpy_results_follow_the_layout_rule(row, order):
    spec = OPS[row.name]
    tensors = [t.detach() if isinstance(t, Tensor) else t for t in row.tensors([permuted(v, order) for v in row.draw()])]
    results = spec.function(*tensors, **row.settings)
    if spec.kernel_layout:
        return
    for result in results if isinstance(results, tuple) else (results,):
        shape = result._a.shape
        rule = META.strides_of(spec.apply_layout(tensors, META.create(None, shape, result._a.dtype, None)))
        own = result.stride()
        assert own == rule or (is_contiguous(shape, own) and is_contiguous(shape, rule))


@pytest.mark.parametrize("shapes", [[(2, 3, 4)], [(2, 3, 4), (4,)], [(2, 1, 4), (3, 1)], [(1, 3, 4), (2, 1, 1)], [(5, 1, 2), (5, 3, 2)]])
def test_elementwise_strides_are_numpys(shapes):
    rng = np.random.default_rng(0)
    for _ in range(20):
        arrays = []
        for shape in shapes:
            axes = rng.permutation(len(shape))
            array = np.ones([shape[a] for a in axes]).transpose(np.argsort(axes))
            arrays.append(array[..., ::2] if rng.random() < 0.2 and shape[-1] > 1 and len(shapes) == 1 else array)
        total = arrays[0] + (arrays[1] if len(arrays) > 1 else 1)
        rule = elementwise_strides(total.shape, [(a.shape, tuple(s // 8 for s in a.strides)) for a in arrays])
        own = tuple(s // 8 for s in total.strides)
        assert all(a == b for a, b, n in zip(own, rule, total.shape, strict=True) if n > 1), (own, rule, arrays)


VIEWS = [
    "x.t()", "x[1]", "x[:, 1:3]", "x[::2, 1]", "x[None, 0]", "x.t()[1:]", "x.view(2, 6)", "x.view(-1)[3:7]", "x.t().unsqueeze(1)",
    "x.expand(2, 3, 4)", "x[:1].expand(3, 4)", "x.diagonal()", "x.diagonal(1)", "x.unfold(1, 2, 1)", "x.permute(1, 0)",
    "x.movedim(0, 1)", "x.split(2, 1)[1]", "x.unbind(1)[2]", "x.chunk(2)[1]", "x.as_strided((2, 2), (1, 4), 5)", "x.squeeze()",
    "x.reshape(4, 3)", "x.t().reshape(12)", "x.narrow(1, 1, 2).t()", "x + x.t().t()", "x.t() * 2", "x.t() + x.t()", "x.t().clone()",
    "x.t().contiguous()", "x.view(3, 2, 2).transpose(1, 2).contiguous(memory_format=torch.contiguous_format)",
    "torch.empty_like(x.t())", "x.t().exp().sum(0)", "x.t() @ x", "x.t().softmax(0)", "torch.zeros_like(x.t()).view(12)",
]


@pytest.mark.parametrize("device", ["meta", pytest.param("xla", marks=pytest.mark.jax)])
@pytest.mark.parametrize("code", VIEWS)
def test_strides_and_offsets_on_devices(code, device):
    def look(x):
        try:
            result = eval(code, {"torch": flambeau, "x": x})
        except RuntimeError as error:
            return type(error)
        return tuple(result.shape), result.stride(), result.storage_offset(), result.is_contiguous()

    cpu = flambeau.arange(12.0).view(3, 4)
    assert look(cpu.to(device)) == look(cpu)


def test_contiguous_strides_count_empty_dimensions_as_one():
    assert contiguous_strides((2, 0, 3)) == (3, 3, 1)
