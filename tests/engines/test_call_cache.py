"""A cached call records what ``Op.call`` records: forward, graph and backward. Nothing runs."""

import contextlib

import numpy as np
import pytest

import flambeau
from engines.xla_cases import FIRST, chunks
from engines.xla_row import Given
from flambeau._tensor import Tensor
from flambeau.engines._views import value_of
from flambeau.ops import _call_cache
from flambeau.ops._op import OPS

pytestmark = pytest.mark.jax

@pytest.fixture
def graph():
    graph = flambeau.ones((), device="xla")._a.graph
    graph.run()
    yield graph
    graph.clear()  # nobody needs what was recorded


# ---- what a call records


def inputs_of(row, dtype="float32", number=1.0):
    """The inputs of a row on a device, the floats among them times a number."""
    inputs = []
    for given, value in zip(row.given, row.draw(dtype), strict=True):
        if isinstance(given, Given):
            t = flambeau.as_tensor(value).to("xla")
            inputs.append(t.requires_grad_(not given.fixed and (t.is_floating_point() or t.is_complex())))
        else:
            inputs.append(value * number if type(value) is float else value)
    return inputs


class Records:
    """The calls that a graph has got since, with their inputs told by where they come from."""

    def __init__(self, graph, tensors):
        self.graph, self.calls = graph, graph.calls
        self.starts = len(graph.calls), len(graph.results), len(graph.numbers)
        self.sources = {graph.place_of(value_of(t._a)): i for i, t in enumerate(tensors)}

    def found(self):
        """None, if the graph has run."""
        if self.graph.calls is not self.calls:
            return None
        call, result, number = self.starts
        calls = [(signature, [p - result if p >= result else ("input", self.sources.get(p)) for p in places])
                 for signature, places in self.graph.calls[call:]]
        return calls, self.graph.numbers[number:]


def outcome(graph, op, inputs, settings):
    """What a call records, forward and backward, and what its results are; or the error."""
    tensors = [x for x in inputs if isinstance(x, Tensor)]
    records = Records(graph, tensors)
    try:
        out = op(*inputs, **settings)
    except Exception as error:
        return type(error), str(error)
    outs = out[:op.result_count] if isinstance(out, tuple) else (out,)  # what callers use of it
    described = [(t.shape, t.dtype, t.stride(), t.storage_offset(), t.device, t.requires_grad, t.is_inference(),
                  t._base is None or [t._base is x for x in tensors], t.output_nr) for t in outs]
    nodes = {t.grad_fn for t in outs} - {None}
    return type(out), described, records.found(), [pulled(graph, node, tensors) for node in nodes]


def pulled(graph, node, tensors):
    """What the backward of a node records."""
    gradients = [flambeau.ones(shape, device="xla", dtype=flambeau.as_tensor(np.empty(0, dtype)).dtype)
                 for shape, dtype in [node._output(nr) for nr in range(node._count)]]
    records = Records(graph, [*tensors, *gradients])
    arrays = [g._a for g in gradients]
    try:
        node._pull(arrays[0] if node._count == 1 else arrays, False)
    except Exception as error:
        return node.name(), type(error), str(error)
    return node.name(), node.shapes, node.settings, records.found()


def check(graph, row, dtype="float32", context=contextlib.nullcontext):
    op = OPS[row.name]
    op.call_cache.clear()
    with context():
        outcome(graph, op, inputs_of(row, dtype), row.settings)
        got = outcome(graph, op, inputs_of(row, dtype, number=1.5), row.settings)
        op.call_cache.clear()
        want = outcome(graph, op, inputs_of(row, dtype, number=1.5), row.settings)
    assert got == want, row
    return any(cached is not _call_cache.NOT_CACHEABLE for cached in op.call_cache.values())


# ---- the tests


@pytest.mark.parametrize("rows", chunks(FIRST))
def test_every_op(graph, rows):
    for row in rows:
        check(graph, row)


COMMON = ["add", "mul", "div", "linear", "mm", "native_layer_norm", "gelu_tanh", "relu", "view", "transpose", "reshape", "split", "to_copy", "embedding"]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("context", [contextlib.nullcontext, flambeau.no_grad, flambeau.inference_mode])
def test_common_ones_are_cached(graph, dtype, context):
    rows = [row for row in FIRST if row.name in COMMON]
    assert all([check(graph, row, flambeau.bfloat16.np if dtype == "bfloat16" else dtype, context) for row in rows])


def test_the_same_tensor_twice_is_another_signature(graph):
    x, y = flambeau.tensor([2.0]).to("xla"), flambeau.tensor([5.0]).to("xla")
    assert [(x * x).item(), (x * y).item(), (y * y).item(), (y * x).item()] == [4, 10, 25, 10]
    three = [flambeau.addcmul(*t).item() for t in ((x, x, x), (x, y, y), (y, x, y), (x, x, y))]
    assert three == [6, 27, 15, 12]


@pytest.mark.parametrize("values", [(1, True, 1.0), (0.0, -0.0, False), (2, 2.0)])
def test_equal_numbers_of_different_types_have_different_signatures(values):
    x = flambeau.tensor([3]).to("xla")
    for _ in range(2):
        for value in values:
            got, want = (x * value).cpu(), flambeau.tensor([3]) * value
            assert got.dtype is want.dtype and str(got) == str(want)


def test_other_strides_are_another_signature():
    x = flambeau.arange(6.0).view(2, 3)
    moved = x.to("xla")
    for view in (lambda x: x, lambda x: x.t(), lambda x: x.t().contiguous(), lambda x: x[:, ::2], lambda x: x[:, 1:]):
        assert (view(moved) + 1).stride() == (view(x) + 1).stride()


def test_cached_writes_respect_the_offset_of_a_view():
    x = flambeau.zeros(4, 2, device="xla")
    for i in range(4):
        x[i].view(2)[1:].add_(i + 1)
    assert x.tolist() == [[0, 1], [0, 2], [0, 3], [0, 4]]


def test_the_default_dtype_is_part_of_the_signature():
    x = flambeau.tensor([1, 2]).to("xla")
    assert (x / 2).dtype is flambeau.float32
    try:
        flambeau.set_default_dtype(flambeau.float64)
        assert (x / 2).dtype is flambeau.float64
    finally:
        flambeau.set_default_dtype(flambeau.float32)


def test_a_tensor_that_requires_no_gradient_any_more(graph):
    w, x = flambeau.ones(2, device="xla", requires_grad=True), flambeau.ones(2, device="xla")
    assert [(w * x).requires_grad, w.requires_grad_(False) is w, (w * x).requires_grad] == [True, True, False]


def test_saved_tensor_hooks_and_anomaly_mode_see_cached_calls():
    x = flambeau.tensor([1.0, 2.0]).to("xla").requires_grad_()
    (x * x).sum().backward()
    packed = []
    with flambeau.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        y = (x * x).sum()
    y.backward()
    assert len(packed) == 2 and x.grad.tolist() == [4, 8]


def test_a_cached_call_notices_that_what_it_saved_was_written_to():
    for _ in range(2):
        x = flambeau.tensor([1.0, 2.0]).to("xla").requires_grad_()
        y = x * 1
        z = y * y
        y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.sum().backward()


def test_casts_of_autocast_are_part_of_the_call(graph):
    model = flambeau.nn.Linear(3, 2).to("xla")
    x = flambeau.ones(4, 3, device="xla", requires_grad=True)
    seed = flambeau.ones(4, 2, device="xla", dtype=flambeau.bfloat16)
    graph.run()
    recorded = []
    for _ in range(2):
        with flambeau.autocast("xla", dtype=flambeau.bfloat16):
            out = model(x)
        start = len(graph.calls)
        out.backward(seed)
        recorded.append([signature for signature, _ in graph.calls[start:]])
        assert {t.grad.dtype for t in (x, *model.parameters())} == {flambeau.float32}
        x.grad = model.weight.grad = model.bias.grad = None
    assert recorded[0] == recorded[1] and len(recorded[0]) == 1


def test_weights_may_be_written_to_when_their_casts_are_saved():
    weight, x = flambeau.ones(2, 3, device="xla", requires_grad=True), flambeau.ones(4, 3, device="xla").requires_grad_()
    for _ in range(3):
        with flambeau.autocast("xla", dtype=flambeau.bfloat16):
            out = flambeau.nn.functional.linear(x, weight)
        with flambeau.no_grad():
            weight.mul_(2)
        out.float().sum().backward()
    assert x.grad[0].tolist() == [14.0] * 3
    with flambeau.autocast("xla", dtype=flambeau.bfloat16):
        half = weight.to(flambeau.bfloat16)
        out = flambeau.nn.functional.linear(x, half)
    with flambeau.no_grad():
        half.mul_(2)  # it needed no cast, and is saved itself
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.float().sum().backward()


def test_casts_of_inference_tensors_can_be_saved():
    weight = flambeau.ones(2, 3, device="xla", requires_grad=True)
    with flambeau.inference_mode():
        x = flambeau.ones(4, 3, device="xla")
    for _ in range(2):
        with flambeau.autocast("xla", dtype=flambeau.bfloat16):
            flambeau.nn.functional.linear(x, weight).backward(flambeau.ones(4, 2, device="xla", dtype=flambeau.bfloat16))
    assert weight.grad.tolist() == [[8.0] * 3] * 2


def test_queries_that_are_not_the_keys():
    """Heads of queries alone are a tuple of one view, whose node is that of one result."""
    flambeau.manual_seed(0)
    attention = flambeau.nn.MultiheadAttention(4, 2)
    queries, keys = flambeau.randn(5, 2, 4), flambeau.randn(3, 2, 4)

    def gradient(device):
        x = queries.detach().to(device).requires_grad_()
        attention.to(device)(x, keys.to(device), keys.to(device))[0].square().sum().backward()
        return x.grad.tolist()

    want = gradient("cpu")
    for _ in range(3):
        assert np.allclose(gradient("xla"), want, rtol=1e-4, atol=1e-6)
