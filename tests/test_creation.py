"""Creation functions: results for every kind of data, shape and range, and errors."""

import math

import numpy as np
import pytest

import flambeau
from _oracle import check_code
from flambeau.functions import _warn

# Each line runs with both libraries: the same value, dtype, shape, strides and requires_grad, or the same error type.
FROM_DATA = """
torch.tensor([True, 2])
torch.tensor([True, 1.5])
torch.tensor([1, 2.5, 1j])
torch.tensor(2**63)
torch.tensor([2**63])
torch.tensor([2**63], dtype=torch.uint64)
torch.tensor([2**100], dtype=torch.float32)
torch.tensor([2**63, 1.0])
torch.tensor([10**400])
torch.tensor([10**400], dtype=torch.float64)
torch.tensor(-2**63)
torch.tensor([300], dtype=torch.uint8)
torch.tensor(300, dtype=torch.uint8)
torch.tensor([-1], dtype=torch.uint8)
torch.tensor([-1], dtype=torch.uint64)
torch.tensor([-300], dtype=torch.int8)
torch.tensor([1.7], dtype=torch.int64)
torch.tensor(1.5, dtype=torch.int32)
torch.tensor([nan], dtype=torch.int64)
torch.tensor([1e300], dtype=torch.int64)
torch.tensor([1e300])
torch.tensor(70000., dtype=torch.float16)
torch.tensor([1j], dtype=torch.float32)
torch.tensor([0.1, 1 + 2j], dtype=torch.complex128)
torch.tensor([[1, 2], [3]])
torch.tensor([[1, 2], 3])
torch.tensor([1, [2, 3]])
torch.tensor([])
torch.tensor([[]])
torch.tensor([[], []])
torch.tensor([[], [1]])
torch.tensor(None)
torch.tensor([None])
torch.tensor('a')
torch.tensor(['a', 'bc'])
torch.tensor({1: 2})
torch.tensor({1, 2})
torch.tensor(range(3))
torch.tensor(x for x in range(3))
torch.tensor(b'abc')
torch.tensor(memoryview(b'abc'))
torch.tensor(object())
torch.tensor([object()])
torch.tensor([np.float64(1), 2.0])
torch.tensor([np.float32(1), 2.0])
torch.tensor([np.float16(1), 2])
torch.tensor([np.int8(1), 2])
torch.tensor([np.int8(1)])
torch.tensor(np.float64(3))
torch.tensor(np.bool_(True))
torch.tensor(np.array([1, 2], dtype=np.uint16))
torch.tensor(np.array(3.0))
torch.tensor(np.ones((2, 3), order='F'))
torch.tensor(np.ones(2).view(np.memmap))
torch.tensor(np.matrix([1., 2.]), dtype=torch.float32)
torch.tensor(np.ma.array([1, 2]))
torch.ones(2) == np.ones(2).view(np.memmap)
torch.isin(torch.ones(2), np.ones(2))
torch.isin(torch.ones(2), np.float32(1))
torch.isin(torch.ones(2), [1])
torch.tensor([np.ones(2), np.zeros(2)])
torch.tensor([np.ones(2), np.zeros(3)])
torch.tensor([[np.ones(2)], [np.zeros(2)]])
torch.tensor(np.array(['a']))
torch.tensor(np.array([None]))
torch.tensor(np.arange(4)[::-1])
torch.tensor(np.arange(4, dtype='>i4'))
torch.tensor(torch.ones(2))
torch.tensor(torch.ones(2), dtype=torch.int32)
torch.tensor([torch.tensor(1.), torch.tensor(2.)])
torch.tensor([torch.tensor(1), 2.5])
torch.tensor([torch.tensor(1, dtype=torch.float64), 2.5])
torch.tensor([torch.ones(2), torch.ones(2)])
torch.tensor([torch.ones(1, 1), torch.ones(1, 1)])
torch.tensor([1], dtype=float)
torch.tensor([1], dtype='float32')
torch.tensor([1], dtype=np.float32)
torch.tensor([1], requires_grad=True)
torch.tensor([1.], requires_grad=True)
torch.tensor([1.], device='cpu:0')
torch.tensor(torch.Size([2, 3]))
torch.tensor()
torch.tensor(data=[1])
torch.tensor([1.0, -2.5], dtype=torch.bfloat16)
torch.tensor([1.0], dtype=torch.float8_e4m3fn)
torch.tensor([[True], [1.0]])
torch.tensor([2, 0.5], dtype=torch.bool)
torch.as_tensor([1, 2.])
torch.as_tensor(np.array([1., 2.]), dtype=torch.float32)
torch.as_tensor(torch.ones(2, requires_grad=True), dtype=torch.float64)
torch.as_tensor(3)
torch.asarray([1, 2])
torch.asarray([1.], copy=False)
torch.asarray(np.float32(3))
torch.asarray(torch.ones(2), dtype=torch.float64, copy=False)
torch.asarray(bytearray(b'abcd'), dtype=torch.uint8)
torch.asarray(torch.ones(2, requires_grad=True), requires_grad=False)
torch.asarray(torch.ones(2), requires_grad=True)
torch.asarray(torch.ones(2, requires_grad=True) * 2, requires_grad=True)
torch.scalar_tensor(3)
torch.scalar_tensor(3, dtype=torch.int64)
torch.scalar_tensor(True)
torch.scalar_tensor(2j)
torch.scalar_tensor([1])
torch.from_numpy([1])
torch.from_numpy(np.float32(1))
torch.from_numpy(np.array(2.))
torch.from_numpy(np.array([1, 2])[::-1])
torch.from_numpy(np.array(['a']))
torch.from_numpy(np.array([1], dtype='>f4'))
torch.from_numpy(np.array([1], dtype=np.longdouble))
torch.from_numpy(np.ones((2, 3)).T)
torch.from_numpy(np.array([(1, 2.0)], dtype=[('a', 'i4'), ('b', 'f4')])['b'])
torch.from_numpy(np.zeros(3, dtype=[('a', 'i1'), ('b', 'f4')])['b'])
torch.frombuffer(bytearray(b'abcdefgh'), dtype=torch.int32)
torch.frombuffer(bytearray(b'abcdefgh'), dtype=torch.int32, count=1, offset=4)
torch.frombuffer(bytearray(b'abcdefg'), dtype=torch.int32)
torch.frombuffer(bytearray(b'abcdefg'), dtype=torch.int32, offset=3)
torch.frombuffer(bytearray(b'abcdefg'), dtype=torch.int32, count=2)
torch.frombuffer(bytearray(b'abcdefg'), dtype=torch.int32, count=0)
torch.frombuffer(bytearray(b''), dtype=torch.int32)
torch.frombuffer(bytearray(b'abcd'), dtype=torch.int32, offset=4)
torch.frombuffer(bytearray(b'abcd'), dtype=torch.int32, offset=-1)
torch.frombuffer([1], dtype=torch.int32)
torch.frombuffer(bytearray(b'abcd'), dtype=torch.int32, requires_grad=True)
torch.frombuffer(bytearray(b'abcd'), dtype=torch.float32, requires_grad=True)
torch.from_dlpack(np.ones(2))
torch.from_dlpack(torch.ones(2))
torch.from_dlpack(torch.arange(3).__dlpack__())
torch.from_dlpack([1])
torch.ones(2, requires_grad=True).__dlpack__()
np.from_dlpack(torch.arange(3))
torch.ones(2).new_tensor([1, 2])
torch.ones(2, dtype=torch.float64).new_tensor([1, 2.5])
torch.ones(2).new_tensor([1], dtype=torch.int8, requires_grad=True)
"""

FROM_SHAPES = """
torch.zeros(-1)
torch.zeros((2, -3))
torch.zeros(2.5)
torch.zeros('a')
torch.zeros()
torch.zeros([])
torch.zeros(())
torch.zeros(2, [3])
torch.zeros([2, 3], 4)
torch.zeros(torch.tensor(3))
torch.zeros(torch.tensor([3, 2]))
torch.zeros(np.int64(3))
torch.zeros(True)
torch.zeros(10**15)
torch.zeros(10**10, 10**10)
torch.empty(10**18)
torch.zeros(2, dtype=float)
torch.zeros(2, dtype=bool)
torch.zeros(2, requires_grad=True, dtype=torch.int32)
torch.zeros(size=(2, 3))
torch.zeros(2, out=torch.empty(3))
torch.zeros(2, out=torch.empty(3, dtype=torch.int32))
torch.zeros(2, out=torch.empty(0), dtype=torch.int32)
torch.zeros(2, names=None)
torch.ones(2, 3, memory_format=torch.channels_last)
torch.empty(2, 3, 4, 5, memory_format=torch.channels_last).stride()
torch.empty(2, 3, memory_format=torch.channels_last)
torch.empty(2, 3, 4, 4, memory_format=torch.preserve_format)
torch.full((2,), 3)
torch.full((2,), 3.)
torch.full((2,), True)
torch.full((2,), 1j)
torch.full((2,), torch.tensor(3))
torch.full((2,), torch.tensor([3]))
torch.full((2,), 'a')
torch.full(2, 3)
torch.full((2,), 3, dtype=torch.bool)
torch.full((2,), 300, dtype=torch.uint8)
torch.full((2,), 1.5, dtype=torch.int64)
torch.full((2,), 1j, dtype=torch.float32)
torch.full((2,), 1, out=torch.empty(2))
torch.full((), 7)
torch.full(size=(2,), fill_value=np.float32(2))
torch.full((2,), 2**63)
torch.full((2,), nan, dtype=torch.int64)
torch.eye(3)
torch.eye(2, 3, dtype=torch.int64)
torch.eye(3, 2, dtype=torch.bfloat16)
torch.eye(0)
torch.eye(-1)
torch.eye(2, -1)
torch.eye(2.)
torch.empty_strided((2, 3), (1, 2)).stride()
torch.empty_strided((2, 3), (1,))
torch.empty_strided((2, 3), (-1, 2))
torch.empty_strided((2, -3), (1, 2))
torch.empty_strided((2, 3), (0, 0)).stride()
torch.empty_permuted((2, 3, 4), (0, 2, 1)).stride()
torch.empty_permuted((2, 3, 4), (0, 1))
torch.empty_permuted((2, 3, 4), (0, 1, 1))
torch.zeros_like(torch.ones(2, 3).t())
torch.zeros_like(torch.ones(2, 3), dtype=torch.int32)
torch.zeros_like([1])
torch.zeros_like(torch.ones(2, 3, 4, 4), memory_format=torch.channels_last)
torch.zeros_like(torch.ones(1, 4).expand(3, 4))
torch.ones_like(torch.ones(2, 3).t(), memory_format=torch.contiguous_format)
torch.full_like(torch.ones(2, dtype=torch.int64), 2.5)
torch.full_like(torch.ones(2), 2, requires_grad=True)
torch.full_like(torch.ones(2, dtype=torch.uint8), 300)
torch.empty_like(torch.ones(2, 3, 4).permute(2, 0, 1)[:, :, :2]).stride()
torch.tril_indices(3, 3)
torch.triu_indices(2, 4, 1)
torch.tril_indices(3, 2, -1, dtype=torch.int32)
torch.tril_indices(-1, 2)
torch.tril_indices(2, 2, dtype=torch.float32)
torch.tril_indices(0, 3)
torch.ones(2).new_zeros(2, 3)
torch.ones(2).new_zeros((2, 3), dtype=torch.int32)
torch.ones(2).new_full((2,), 3)
torch.ones(2, dtype=torch.int64).new_full((2,), 3.5)
torch.ones(2).new_ones(size=(2,))
torch.ones(2).new_empty(2, 0)
torch.ones(2).new_empty_strided((2, 3), (1, 2)).stride()
"""

RANGES = """
torch.arange(5)
torch.arange(5.)
torch.arange(1, 5, 2)
torch.arange(1, 2.5)
torch.range(1, 4), torch.range(4, 1, -1), torch.range(0, 1, 0.1, dtype=torch.float64), torch.range(0, 2.5).long()
torch.range(1, 4, dtype=torch.int64, device='meta'), torch.range(start=1, end=3, out=torch.empty(0).half())
torch.range(4)
torch.range(4, 1)
torch.range(0, 1, 0)
torch.range(1, inf)
torch.range('a', 1)
torch.arange(0, 1, 0.1)
torch.arange(5, 1)
torch.arange(5, 1, -1)
torch.arange(1, 5, -1)
torch.arange(0, 5, 0)
torch.arange(inf)
torch.arange(0, nan)
torch.arange(5, dtype=torch.float16)
torch.arange(2, dtype=torch.bool)
torch.arange(1.5, 5, dtype=torch.int64)
torch.arange(torch.tensor(5))
torch.arange(torch.tensor(5.))
torch.arange(torch.tensor([5]))
torch.arange('a')
torch.arange(1j)
torch.arange(True)
torch.arange(0, 0)
torch.arange(1, 1.0)
torch.arange(end=3)
torch.arange(start=1, end=3)
torch.arange(1, 3, step=1)
torch.arange(5, out=torch.empty(0))
torch.arange(5, out=torch.empty(0, dtype=torch.int64))
torch.arange(0, 64, 0.5, out=torch.empty(0, dtype=torch.int64))
torch.arange(0, 10**15)
torch.arange(0, 1, 0.3, dtype=torch.bfloat16)
torch.arange(-2, 3, 0.7, dtype=torch.float64)
torch.arange(0, 300, 50, dtype=torch.uint8)
torch.arange(0, 2**53 + 2**54, 2**53 + 1)
torch.arange(3., requires_grad=True)
torch.linspace(0, 1, 5)
torch.linspace(0, 1, 1)
torch.linspace(0, 1, 0)
torch.linspace(0, 1, -1)
torch.linspace(0, 1)
torch.linspace(0, 10, 5, dtype=torch.int64)
torch.linspace(0, 10, 4, dtype=torch.int64)
torch.linspace(-10, 10, 7, dtype=torch.int32)
torch.linspace(0, 1, 3, dtype=torch.complex64)
torch.linspace(0, 1j, 3)
torch.linspace(torch.tensor(0.), torch.tensor(1.), 3)
torch.linspace(torch.tensor([0.]), 1, 3)
torch.linspace(0, 1, 3.0)
torch.linspace(3, 1, steps=3, out=torch.empty(3))
torch.linspace(0, 1, 3, dtype=torch.float16)
torch.linspace(0, 1, 3, requires_grad=True)
torch.linspace(0, 1, 3, dtype=torch.bool)
torch.logspace(0, 2, 3)
torch.logspace(0, 2, 3, base=2)
torch.logspace(0, 2, 3, 2)
torch.logspace(0, 1, 0)
torch.logspace(0, 1, -2)
torch.logspace(0, 3, 4, dtype=torch.int64)
torch.logspace(0, 1j, 3)
torch.logspace(0, 1, 4, base=-1)
torch.bartlett_window(5)
torch.hann_window(5, periodic=False)
torch.hann_window(1)
torch.hann_window(0)
torch.hann_window(-1)
torch.hann_window(5, dtype=torch.int64)
torch.hann_window(5.5)
torch.kaiser_window(5, True, 10.)
torch.kaiser_window(6, False, dtype=torch.float64)
torch.hamming_window(5, True, 0.5, 0.5)
torch.blackman_window(5, False)
torch.signal.windows.exponential(5, tau=2.0)
torch.signal.windows.nuttall(6, sym=False)
torch.signal.windows.gaussian(5, std=-1.0)
"""

LEGACY = """
torch.Tensor(2, 3).shape
torch.Tensor()
torch.Tensor([1, 2])
torch.Tensor(3).shape
torch.Tensor((2, 3))
torch.Tensor(torch.Size([2, 0]))
torch.Tensor(2.5)
torch.Tensor([[1, 2], [3]])
torch.Tensor(torch.ones(2, dtype=torch.int64))
torch.Tensor('a')
torch.Tensor(np.ones(2))
torch.Tensor([True, False])
torch.Tensor(-1)
torch.Tensor([1j])
torch.Tensor(2, dtype=torch.int32)
torch.Tensor(2, device='cpu').shape
torch.Tensor(2, device='meta')
torch.Tensor(data=[1])
torch.Tensor(None)
torch.Tensor(range(3))
torch.FloatTensor(2, 3).shape
torch.LongTensor([1.5, 2])
torch.LongTensor(torch.ones(2))
torch.LongTensor(torch.ones(2, dtype=torch.int64))
torch.BoolTensor([0, 2])
torch.HalfTensor([1])
torch.FloatTensor
torch.FloatTensor.__name__
torch.FloatTensor.dtype
torch.FloatTensor.is_cuda
isinstance(torch.ones(2), torch.FloatTensor)
isinstance(torch.ones(2), torch.LongTensor)
isinstance(1, torch.FloatTensor)
torch.ones(2).type()
torch.ones(2, dtype=torch.complex64).type()
torch.ones(2, dtype=torch.uint16).type()
torch.ones(2, device='meta').type()
torch.ones(2).type(torch.int32)
torch.ones(2).type('torch.LongTensor')
torch.ones(2).type(torch.LongTensor)
torch.ones(2).type('torch.XTensor')
torch.ones(2).type(3)
torch.typename(torch.ones(2))
torch.typename(3)
torch.typename(torch.FloatTensor)
torch.sparse.FloatTensor(torch.tensor([[0, 1], [1, 0]]), torch.ones(2), torch.Size([2, 3])).to_dense()
torch.sparse.LongTensor(torch.tensor([[0, 1]]), torch.ones(2, dtype=torch.int64)).to_dense()
torch.sparse.DoubleTensor(2, 3).to_dense()
torch.sparse.FloatTensor(torch.Size([2, 3])).shape
torch.sparse.FloatTensor().shape
torch.sparse.FloatTensor([2.0, 3])
torch.sparse.FloatTensor
torch.sparse.FloatTensor.is_sparse, torch.FloatTensor.is_sparse
torch.sparse.FloatTensor(2, 3).type()
isinstance(torch.sparse.FloatTensor(2, 3), torch.sparse.FloatTensor)
isinstance(torch.sparse.FloatTensor(2, 3), torch.FloatTensor)
isinstance(torch.ones(2), torch.sparse.FloatTensor)
torch.set_default_tensor_type(torch.LongTensor)
torch.set_default_tensor_type(torch.DoubleTensor); r = torch.Tensor([1]); torch.set_default_dtype(torch.float32); r
torch.ones(2).new(3).shape
torch.ones(2).new([1, 2])
torch.ones(2).new()
torch.ones(2).new(torch.Size([2, 0]))
torch.ones(2, dtype=torch.int64).new([1.5, 2])
"""


def lines(*tables):
    return [line for table in tables for line in table.strip().splitlines()]


@pytest.mark.oracle
@pytest.mark.parametrize("code", lines(FROM_DATA, FROM_SHAPES, RANGES, LEGACY))
def test_agrees_with_torch(code):
    check_code(code)


# Containers that contain themselves have no end; what reads nested lists gives up as PyTorch does.
CYCLES = """
torch.tensor(a)
torch.tensor(a, dtype=torch.float64)
torch.tensor(pair)
torch.tensor(wide)
torch.tensor((a, a))
torch.tensor(second)
torch.as_tensor(a)
torch.asarray(a)
torch.Tensor(a)
torch.LongTensor(a)
torch.FloatStorage(a)
torch.ones(2).new_tensor(a)
torch.ones(2).new(a)
torch.tensor(tower)
torch.ones(a)
torch.zeros(2).reshape(a)
torch.zeros(2).fill_(a)
torch.where(torch.tensor(True), a, 1)
"""


def cycles():
    """A list in itself, two in each other, several times in itself, in second place, and a tower that is too high."""
    a, pair, wide, second, tower = [], [], [], [1], []
    a.append(a)
    pair.append([pair])
    wide.extend([wide, wide, wide])
    second.append(second)
    for _ in range(128):
        tower = [tower]
    return {"a": a, "pair": pair, "wide": wide, "second": second, "tower": tower}


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("code", lines(CYCLES))
def test_endless_lists_as_torch(code):
    check_code(code, **cycles())


# ---- without torch

PLAIN = [
    ("tensor([1, 2])", "int64", [1, 2]),
    ("tensor([1, 2.5])", "float32", [1, 2.5]),
    ("tensor([[True], [False]])", "bool", [[True], [False]]),
    ("tensor([1, 1j])", "complex64", [1, 1j]),
    ("tensor(np.arange(2.0))", "float64", [0, 1]),
    ("as_tensor([3], dtype=int8)", "int8", [3]),
    ("full((2,), 7)", "int64", [7, 7]),
    ("eye(2)", "float32", [[1, 0], [0, 1]]),
    ("arange(1, 7, 3)", "int64", [1, 4]),
    ("arange(0, 1, 0.5)", "float32", [0, 0.5]),
    ("linspace(0, 1, 3)", "float32", [0, 0.5, 1]),
    ("logspace(0, 2, 3)", "float32", [1, 10, 100]),
    ("tril_indices(2, 2)", "int64", [[0, 1, 1], [0, 0, 1]]),
    ("Tensor([1, 2])", "float32", [1, 2]),
    ("LongTensor([1, 2])", "int64", [1, 2]),
    ("hann_window(4)", "float32", [0, 0.5, 1, 0.5]),
    ("zeros_like(ones(2), dtype=uint8)", "uint8", [0, 0]),
    ("ones(1).new_full((2,), 3)", "float32", [3, 3]),
]


@pytest.mark.parametrize("code, dtype, values", PLAIN, ids=[row[0] for row in PLAIN])
def test_makes(code, dtype, values):
    t = eval(code, {**vars(flambeau), "np": np})
    assert t.dtype is getattr(flambeau, dtype)
    np.testing.assert_allclose(t.numpy(), values, atol=1e-6)


MESSAGES = [
    ("(lambda a: (a.append(a), tensor(a)))([])", ValueError, "too many dimensions 'list'"),
    ("(lambda a: (a.append(a), ones(3)[a]))([])", TypeError, "self-referential lists"),
    ("tensor([[1, 2], [3]])", ValueError, r"expected sequence of length 2 at dim 1 \(got 1\)"),
    ("tensor([300], dtype=uint8)", RuntimeError, "uint8 without overflow"),
    ("tensor(2**63)", ValueError, "int64"),
    ("zeros(2, -3)", RuntimeError, r"negative dimension -3: \[2, -3\]"),
    ("zeros(10**15)", RuntimeError, "allocate 4000000000000000 bytes"),
    ("zeros(2, layout=sparse_coo)", NotImplementedError, "torch.strided"),
    ("zeros(2, device='cuda:99')", (AssertionError, RuntimeError), "device='cpu'"),
    ("arange(5, 1)", RuntimeError, "5 to 1 in steps of 1"),
    ("empty_permuted((2, 3), (0, 0))", RuntimeError, "names each dimension once"),
    ("from_numpy(np.arange(3)[::-1])", ValueError, r"array.copy\(\)"),
    ("from_numpy(np.array(['a']))", TypeError, "The only supported types are"),
]


@pytest.mark.parametrize("code, error, message", MESSAGES, ids=[row[0] for row in MESSAGES])
def test_refuses(code, error, message):
    with pytest.raises(error, match=message):
        eval(code, {**vars(flambeau), "np": np})


def test_from_numpy_shares_memory_both_ways():
    a = np.zeros(3, np.float32)
    t = flambeau.from_numpy(a)
    a[0] = 1
    t[1] = 2
    assert t.tolist() == [1, 2, 0] == a.tolist()
    assert np.shares_memory(t.numpy(), a)


def test_tensor_copies():
    a = np.zeros(2)
    t = flambeau.tensor(a)
    a[0] = 5
    assert t.tolist() == [0, 0]


def test_read_only_arrays_warn_once_and_refuse_writes():
    a = np.zeros(2)
    a.flags.writeable = False
    _warn.forget()
    with pytest.warns(UserWarning, match="not writable"):
        t = flambeau.from_numpy(a)
    flambeau.from_numpy(a)
    with pytest.raises(RuntimeError, match="clone"):
        t.fill_(1)


@pytest.mark.parametrize("make", ["tensor(ones(2))", "ones(2).new_tensor(ones(2))"])
def test_copying_a_tensor_by_tensor_warns(make):
    with pytest.warns(UserWarning, match="sourceTensor.detach"):
        eval(make, vars(flambeau))


def test_default_dtype_and_device_are_followed():
    flambeau.set_default_dtype(flambeau.float64)
    try:
        made = [flambeau.tensor(1.5), flambeau.zeros(1), flambeau.Tensor([1]), flambeau.arange(1.0)]
    finally:
        flambeau.set_default_dtype(flambeau.float32)
    assert {t.dtype for t in made} == {flambeau.float64}
    with flambeau.device("meta"):
        assert flambeau.zeros(2).is_meta and flambeau.tensor([1]).is_meta and flambeau.arange(3).is_meta


MAKE_ON_DEFAULT = {  # whether PyTorch makes it on a default device
    "as_tensor of an array": (lambda t: t.as_tensor(np.ones(2)), True),
    "as_tensor of a tensor": (lambda t: t.as_tensor(t.ones(2, device="cpu")), True),
    "as_tensor of a list": (lambda t: t.as_tensor([1.0, 2]), True),
    "as_tensor with a device": (lambda t: t.as_tensor(np.ones(2), device="cpu"), False),
    "asarray of an array": (lambda t: t.asarray(np.ones(2)), True),
    "asarray of a tensor": (lambda t: t.asarray(t.ones(2, device="cpu")), True),
    "asarray of a list": (lambda t: t.asarray([1]), True),
    "tensor": (lambda t: t.tensor(np.ones(2)), True),
    "from_numpy": (lambda t: t.from_numpy(np.ones(2)), False),
    "frombuffer": (lambda t: t.frombuffer(bytearray(8), dtype=t.float32), False),
    "scalar_tensor": (lambda t: t.scalar_tensor(1.0), True),
    "linspace": (lambda t: t.linspace(0, 1, 3), True),
    "triu_indices": (lambda t: t.triu_indices(3, 3), True),
    "hann_window": (lambda t: t.hann_window(3), True),
    "fftfreq": (lambda t: t.fft.fftfreq(4), True),
    "empty_strided": (lambda t: t.empty_strided((2,), (1,)), True),
    "randperm": (lambda t: t.randperm(3), True),
    "Tensor": (lambda t: t.Tensor(2), False),
    "ones_like": (lambda t: t.ones_like(t.ones(2, device="cpu")), False),
    "a module": (lambda t: t.nn.BatchNorm1d(2).num_batches_tracked, True),
}


@pytest.mark.parametrize("name", MAKE_ON_DEFAULT)
@pytest.mark.parametrize("library", [flambeau, pytest.param("torch", marks=pytest.mark.oracle)], ids=["flambeau", "torch"])
def test_what_is_made_on_a_default_device(name, library):
    t = pytest.importorskip(library) if isinstance(library, str) else library
    make, follows = MAKE_ON_DEFAULT[name]
    with t.device("meta"):
        assert make(t).is_meta is follows
    t.set_default_device("meta")
    try:
        assert make(t).is_meta is follows
    finally:
        t.set_default_device(None)
    assert not make(t).is_meta


def test_out_is_resized_and_counts_as_a_write():
    out = flambeau.empty(0)
    before = out._version
    assert flambeau.linspace(0, 1, 3, out=out) is out
    assert out.tolist() == [0, 0.5, 1] and out._version > before


def test_subclasses_are_constructed_as_such():
    class Named(flambeau.Tensor):
        pass

    t = Named([1, 2])
    assert type(t) is Named and t.tolist() == [1, 2]
    assert type(flambeau.ones(2).as_subclass(Named)) is Named


def test_linspace_is_symmetric():
    t = flambeau.linspace(-math.pi, math.pi, 11, dtype=flambeau.float64)
    assert (t + t.flip(0)).abs().max().item() == 0
