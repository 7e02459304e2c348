"""Indexing: reads and writes with every kind of key, views, gradients, and errors."""

import numpy as np
import pytest

import flambeau
from _oracle import check_code, outcome

SETUP = """\
x = torch.arange(24.).reshape(2, 3, 4)
xr = torch.arange(24.).reshape(2, 3, 4).requires_grad_()
xi = torch.arange(6).reshape(2, 3)
xg = xr * 1
leaf = torch.arange(24.).clone().requires_grad_()
ex = torch.zeros(1, 3).expand(2, 3)
s = torch.tensor(3.)
i = torch.tensor([0, 1])
b = torch.zeros(3, dtype=torch.bool)
"""

READS = """
xr[0]
xr[-1]
xr[0, 1]
xr[0, 1:2]
xr[1:2]
xr[:]
xr[5:2]
xr[:, ::2]
xr[...]
xr[()]
xr[None]
xr[:, None, 0]
xr[..., None]
xr[...,0]
xr[0, ..., 0]
xr[..., ...]
xr[:, :]
xr[1, 1, 1]
xr[True]
xr[False]
xr[True, 0]
xr[True, [0, 1]]
xr[[0, 1], True]
xr[:, True, :, [0, 1]]
xr[torch.tensor(1)]
xr[torch.tensor(1, dtype=torch.int8)]
xr[torch.tensor(True)]
xr[torch.tensor(0):torch.tensor(1)]
xr[np.int64(1)]
xr[np.array(1)]
xr[np.array([1])]
xr[np.array([[0, 1], [0, 1]])]
xr[np.array([0, 1], dtype=np.int16)]
xr[np.array([True, False])]
xr[[0, 1]]
xr[[1, 0] * 20]
xr[[True, False]]
xr[[[0, 1], [0, 1]]]
xr[[(0, 1), (1, 1)]]
xr[((0, 1), (1, 1))]
xr[[slice(0, 1), slice(0, 1)]]
xr[[torch.tensor(0), torch.tensor(1)]]
xr[[torch.tensor([0, 1]), torch.tensor([0, 1])]]
xr[[[0, 1], None]]
xr[[0, None]]
xr[[]]
xr[[[]]]
xr[[1.9]]
xr[range(2)]
xr[(0, 1),]
xr[0, (0, 1)]
xr[[0, 1], :, [0, 1]]
xr[:, [0, 1], [0, 1]]
xr[0, :, [0, 1]]
xr[0:2, [0, 1]]
xr[-2:, 0:9, [0, 1]]
xr[:, 0, [0, 1]]
xr[..., [0, 1]]
xr[:, [[0, 1], [2, 2]]]
xr[torch.tensor(0), :, [0, 1]]
xr[torch.tensor([[0], [1]]), torch.tensor([0, 2])]
xr[torch.tensor([-1, -2])]
xr[torch.tensor([0, 1], dtype=torch.int32)]
xr[torch.tensor([0, 1]), 0]
xr[torch.empty(0, dtype=torch.long)]
xr[xr > 5]
xr[torch.tensor([True, False])]
xr[torch.ones(2, 3, dtype=torch.bool)]
xr[:, torch.tensor([True, False, True])]
xr[:, torch.tensor([[True, False, True, True]] * 3)]
xr[torch.tensor([True, False]), [0]]
xr[torch.ones(2, dtype=torch.uint8)]
xr.mT[[0, 1]]
xr.mT[:, [0, 1], [0, 1]]
s[...]
s[None]
s[True]
s[torch.tensor(True)]
s[torch.tensor(False)]
""".strip().splitlines()

REFUSED_READS = """
xr[::-1]
xr[::0]
xr[5]
xr[-3]
xr[0, 7]
xr[0, 0, 0, 0]
xr[:, :, :, :]
xr[[0], [0], [0], [0]]
xr[0.5]
xr['a']
xr[['a']]
xr[{1}]
xr[np.bool_(True)]
xr[np.float32(1)]
xr[0.:1]
xr[2**70]
xr[torch.tensor([0.5])]
xr[torch.tensor(3.)]
xr[torch.tensor([0, 1], dtype=torch.int16)]
xr[torch.tensor([5])]
xr[torch.tensor([-3])]
xr[:, torch.tensor([5])]
xr[torch.ones(3, dtype=torch.bool)]
xr[torch.ones(2, 2, dtype=torch.bool)]
xr[torch.ones(2, 3, 4, 1, dtype=torch.bool)]
xr[torch.ones(2, 3, dtype=torch.bool), 0, 0]
xr[torch.tensor([0, 1]), torch.tensor([0, 1, 2])]
s[0]
s[:]
s[torch.tensor([0])]
s[torch.tensor(0)]
""".strip().splitlines()

WRITES = """
x[0] = 1
x[0] = True
x[0] = np.int64(1)
x[-1, 1:] = 2.5
x[:, 0] = torch.arange(4.)
x[0] = torch.ones(1, 1, 1, 3, 4)
x[0, 0, 0] = torch.ones(1)
x[...] = 3
x[()] = 3
x[None] = 3
x[:, :, :, None] = torch.ones(4, 1)
x[True] = 3
x[True] = torch.ones(1, 1, 1, 4).double()
x[True, 0] = torch.ones(4)
x[x > 3] = torch.ones(1, 1)
x[False] = 3
x[1:1] = 3
x[0] = torch.ones(4).double()
x[1:] = x[:1]
xi[0] = 1.7
xi[0] = torch.tensor([1.5, 2.5, 3.5])
b[0] = 2
x[[0, 1]] = torch.ones(1, 1, 2, 3, 4)
x[i] = -1
x[i, i] = torch.arange(4.)
x[0, :, i] = torch.arange(2.)
x[..., [0, -1]] = 9
x[x > 3] = 0
x[x > 3] = torch.ones(20)
x[torch.tensor([True, False])] = torch.ones(3, 4)
x[:, torch.tensor([True, False, True])] = 7
x[torch.tensor(True)] = 3
x[torch.tensor(0)] = 3
xi[[0]] = 1.5
ex[0, 0] = 1
ex[0] = torch.arange(3.)
ex[[0]] = 1
xg[0] = 1
xg[0] = leaf[:4] * 2
xg[[0]] = 1
xg[i, 0] = leaf[:4]
xg[xg > 1] = 1
xg[0, :, [0, 1]] = leaf[:2]
xg[0][1] = leaf[:4]
xg[:] = leaf[:4]
xg[...] = 1
xg[:, 0:7] = leaf[:4].double()
xg[0:2, :2] = leaf[:4]
xg[0:2, [0, 1]] = leaf[:4]
xg[::1, 0:9, [0, 1]] = 2
xg[-2:, [0, 1]] = 2
xg[0:1, [0, 1]] = 2
xg[()] = torch.ones(1, 1, 2, 3, 4)
xg[..., None] = leaf.reshape(2, 3, 4, 1)
xg[:, :, :] *= 2
xg[:] *= 2
xg[0:2] *= 2
xg[1:2] *= 2
xg[-2:] *= 2
xg[-2:] = leaf[:4]
xg[...] = torch.ones(1)
xg[:] = leaf[:1]
xg[0] = leaf[:1]
xg[i] = leaf[:1]
xg[xg > 1] = leaf[:1].reshape(1, 1, 1, 1)
x[0] = leaf[:4]
x[i] = leaf[:4]
""".strip().splitlines()

REFUSED_WRITES = """
x[0] = np.array([1., 2, 3, 4])
x[0] = [1, 2, 3, 4]
x[0] = 'a'
x[0] = None
x[0] = 1j
xi[0] = float('nan')
xi[0] = 2**70
x[0] = torch.ones(5)
x[0] = torch.ones(2, 3, 4)
x[0, 0, 0] = torch.ones(2)
x[[0, 1]] = torch.ones(5)
x[x > 3] = torch.ones(5)
x[[0]] = torch.ones(1).double()
xi[[0]] = torch.ones(())
leaf[0] = 1
leaf[[0]] = 1
leaf[...] = 1
leaf[:] = 1
x[:] = torch.ones(5)
x[x > 3] = torch.ones(1, 2)
xr[0] = 1
xr[0] = xr[0]
xr[0][1:] = xr[0][1:]
xg.unbind()[0][1:] = 1
y = xg.unbind()[0]; y[1:] = y[1:]
ex[:] = 1
ex[:, 0] = 1
x[5] = 1
x[[5]] = 1
x[::-1] = 1
x[0.5] = 1
x[0, 0, 0, 0] = 1
s[0] = 1
""".strip().splitlines()


@pytest.mark.oracle
@pytest.mark.parametrize("code", READS)
def test_read_agrees_with_torch(code):
    """Values, strides, whether the result is a view, the name of its node, and the gradient."""
    check_code(f"{SETUP}{code}", strides="mT" not in code and "None, 0" not in code)
    check_code(f"{SETUP}y = {code}\n(y._base is None, y.grad_fn.name() if y.requires_grad else None)")
    if not code.startswith("s"):
        weigh = "(y * torch.arange(1., y.numel() + 1).reshape(y.shape)).sum().backward()"
        check_code(f"{SETUP}y = {code}\n{weigh}\nxr.grad", strides=False)


@pytest.mark.oracle
@pytest.mark.parametrize("code", REFUSED_READS)
def test_refused_read_agrees_with_torch(code):
    check_code(SETUP + code)
    assert outcome(SETUP + code, flambeau)[1] is not None


@pytest.mark.oracle
@pytest.mark.parametrize("code", WRITES)
def test_write_agrees_with_torch(code):
    """All tensors afterwards, the node, the version, and the gradients of what was written and overwritten."""
    name = code[: code.index("[")]
    check_code(f"{SETUP}{code}\n(x, xi, xg, ex, b, x._version, {name}.requires_grad)")
    if "leaf" in code or name == "xg":
        target = f"{SETUP}{code}\n"
        weigh = f"({name} * torch.arange(1., 25).reshape(2, 3, 4)).sum().backward()\n(xr.grad, leaf.grad)"
        if name == "xg":
            check_code(target + "xg.grad_fn.name()")
        check_code(target + weigh)


@pytest.mark.oracle
@pytest.mark.parametrize("code", REFUSED_WRITES)
def test_refused_write_agrees_with_torch(code):
    check_code(f"{SETUP}{code}\nNone")
    assert outcome(f"{SETUP}{code}\nNone", flambeau)[1] is not None


# ---- without the oracle


def array(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize("key", [
    0, -1, slice(1, None), (0, 1), (slice(None), 2), (..., 0), None, (None, 0), [0, 1], ([0, 1], [2, 0]),
    (slice(None), [0, 2]), np.array([[0, 1]]), np.array([True, False]),
], ids=str)
def test_read_is_numpys(key):
    a = array(2, 3, 4)
    np.testing.assert_array_equal(flambeau.from_numpy(a)[key].numpy(), a[key])


@pytest.mark.parametrize("key", [
    0, slice(1, None), (0, 1), (slice(None), 2), ([0, 1], [2, 0]), np.array([True, False]),
], ids=str)
def test_write_is_numpys(key):
    a, x = array(2, 3, 4), flambeau.from_numpy(array(2, 3, 4))
    a[key] = -1
    x[key] = -1
    np.testing.assert_array_equal(x.numpy(), a)


def test_integers_come_before_index_tensors():
    """Unlike in NumPy, where an integer is one more index array and the new dimension would go to the front."""
    assert flambeau.ones(2, 3, 4)[0, :, [0, 1]].shape == (3, 2)


def test_basic_keys_give_views():
    x = flambeau.zeros(2, 3)
    for key in (0, slice(0, 1), (0, 1), (..., None), ()):
        assert x[key]._base is x
        assert x[key].untyped_storage().data_ptr() == x.data_ptr()
    row = x[1]
    row[0] = 5
    assert x.tolist() == [[0, 0, 0], [5, 0, 0]]
    assert x._version == row._version == 1


def test_writing_through_a_chain_of_views_reaches_the_graph():
    x = flambeau.ones(2, 3, requires_grad=True)
    v = flambeau.tensor(4.0, requires_grad=True)
    y = x * 2
    row = y[1]
    row[1:][0] = v
    (y * flambeau.tensor([[1.0, 2, 3], [4, 5, 6]])).sum().backward()
    assert x.grad.tolist() == [[2, 4, 6], [8, 0, 12]]
    assert v.grad.item() == 5
    assert row.grad_fn.name() == "SelectBackward0"


def test_repeated_indices_add_up_in_the_gradient():
    x = flambeau.zeros(3, requires_grad=True)
    x[[0, 2, 2, 2]].sum().backward()
    assert x.grad.tolist() == [1, 0, 3]


@pytest.mark.parametrize("shape, index", [
    ((5000, 3), 7000), ((50, 600), 80), ((50, 30), 80), ((40, 300), 20), ((9,), 4000),
])
def test_gradient_of_many_rows(shape, index):
    """Each way in which the kernel adds up rows: few or many, short or long, with and without repetition."""
    rng = np.random.default_rng(0)
    i = rng.integers(0, shape[0], index) if index > shape[0] else rng.permutation(shape[0])[:index]
    g = rng.standard_normal((index, *shape[1:]))
    x = flambeau.zeros(*shape, dtype=flambeau.float64, requires_grad=True)
    x[flambeau.from_numpy(i)].backward(flambeau.from_numpy(g))
    want = np.zeros(shape)
    np.add.at(want, i, g)
    np.testing.assert_allclose(x.grad.numpy(), want)


def test_index_changed_before_backward_is_noticed():
    i = flambeau.tensor([0, 1])
    y = flambeau.ones(3, requires_grad=True)[i]
    i[0] = 2
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("error, message, act", [
    (IndexError, "index 5 is out of bounds for dimension 0 with size 2", lambda x: x[5]),
    (IndexError, "index 5 is out of bounds for dimension 0 with size 2", lambda x: x[[5]]),
    (IndexError, "index -9 is out of bounds for dimension 1 with size 3", lambda x: x[:, [0, -9]]),
    (IndexError, "too many indices for tensor of dimension 2", lambda x: x[0, 0, 0]),
    (IndexError, r"shape of the mask \[3\] .* indexed tensor \[2, 3\]", lambda x: x[flambeau.ones(3).bool()]),
    (IndexError, "could not be broadcast together", lambda x: x[[0, 1], [0, 1, 2]]),
    (IndexError, "invalid index of a 0-dim tensor", lambda x: x[0, 0][0]),
    (IndexError, r"valid indices \(got float\)", lambda x: x[0.5]),
    (IndexError, "must be long, int, byte or bool tensors, not torch.float32", lambda x: x[x]),
    (ValueError, "step must be greater than zero", lambda x: x[::-1]),
    (RuntimeError, r"existing size \(5\) at non-singleton dimension 0.  Target sizes: \[3\]",
     lambda x: put(x, 0, flambeau.ones(5))),
    (RuntimeError, r"shape \[5\] cannot be broadcast to indexing result of shape \[2, 3\]",
     lambda x: put(x, [0, 1], flambeau.ones(5))),
    (RuntimeError, "got Float for the destination and Double", lambda x: put(x, [0], flambeau.ones(3).double())),
    (TypeError, "can't assign a list to a torch.FloatTensor", lambda x: put(x, 0, [1])),
])
def test_messages(error, message, act):
    with pytest.raises(error, match=message):
        act(flambeau.zeros(2, 3))


def put(x, key, value):
    x[key] = value


def test_inference_tensor_is_not_written_outside():
    with flambeau.inference_mode():
        x = flambeau.zeros(2)
        x[0] = 1
    for key in (0, [0]):
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
            x[key] = 5
    assert x.tolist() == [1, 0]


def test_write_under_no_grad_reaches_a_leaf():
    w = flambeau.zeros(2, 2, requires_grad=True)
    with flambeau.no_grad():
        w[0] = 1
        w[:, 1] = flambeau.tensor([2.0, 3.0])
        w[w == 0] = 4
    assert w.tolist() == [[1, 2], [4, 3]]
    assert w.is_leaf and w.requires_grad


def test_byte_masks_are_deprecated():
    with pytest.warns(UserWarning, match="uint8 is now deprecated"):
        assert flambeau.arange(3)[flambeau.tensor([1, 0, 1], dtype=flambeau.uint8)].tolist() == [0, 2]
