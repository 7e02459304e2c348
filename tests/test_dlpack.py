"""DLPack: capsules and the protocol's two methods, with NumPy, PyTorch and jax on the other side."""

import gc

import numpy as np
import pytest

import flambeau
from _oracle import check_code

CALLS = """
torch.utils.dlpack.to_dlpack(torch.ones(2)).__class__.__name__
torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(torch.arange(3.)))
c=torch.utils.dlpack.to_dlpack(torch.ones(2)); torch.utils.dlpack.from_dlpack(c); torch.utils.dlpack.from_dlpack(c)
c=torch.utils.dlpack.to_dlpack(torch.ones(2)); repr(c).split('"')[1]
c=torch.utils.dlpack.to_dlpack(torch.ones(2)); torch.utils.dlpack.from_dlpack(c); repr(c).split('"')[1]
x=torch.arange(3.); y=torch.from_dlpack(x); y[0]=9; x
x=torch.arange(3.); y=torch.from_dlpack(torch.to_dlpack(x)); y[0]=9; x
torch.from_dlpack(torch.arange(3)).dtype
torch.from_dlpack(torch.tensor(True))
torch.from_dlpack(torch.tensor([True,False]))
torch.from_dlpack(torch.tensor(3.5))
torch.from_dlpack(torch.tensor(3.5)).shape
torch.from_dlpack(torch.ones(2,3).t()).stride()
torch.from_dlpack(torch.ones(4)[::2]).stride()
torch.from_dlpack(torch.ones(2).bfloat16())
torch.from_dlpack(torch.ones(2).half()).dtype
torch.from_dlpack(torch.ones(2, dtype=torch.complex64)).dtype
torch.from_dlpack(torch.ones(2, dtype=torch.complex128)).dtype
torch.from_dlpack(torch.ones(2, dtype=torch.uint16)).dtype
torch.from_dlpack(torch.ones(2, dtype=torch.uint32)).dtype
torch.from_dlpack(torch.ones(2, dtype=torch.uint64)).dtype
torch.from_dlpack(torch.ones(2, dtype=torch.float8_e4m3fn)).dtype
torch.from_dlpack(torch.ones(2, dtype=torch.float8_e5m2)).dtype
torch.from_dlpack(torch.ones(0,3)).shape
torch.from_dlpack(torch.ones(2,1,3).expand(2,4,3)).stride()
torch.ones(2).__dlpack_device__()
tuple(int(v) for v in torch.ones(2).__dlpack_device__())
torch.ones(2,device='meta').__dlpack_device__()
torch.ones(2,device='meta').__dlpack__()
torch.ones(2).__dlpack__(stream=None).__class__.__name__
torch.ones(2).__dlpack__(stream=1)
torch.ones(2).__dlpack__(stream=-1).__class__.__name__
torch.ones(2).__dlpack__(stream='a')
torch.ones(2).__dlpack__(dl_device=(1,0)).__class__.__name__
torch.ones(2).__dlpack__(dl_device=torch.ones(2).__dlpack_device__()).__class__.__name__
x=torch.ones(2); y=torch.from_dlpack(x.__dlpack__(copy=True)); y[0]=5; x
x=torch.ones(2); y=torch.from_dlpack(x.__dlpack__(copy=False)); y[0]=5; x
x=torch.ones(2); y=torch.from_dlpack(x, copy=True); y[0]=5; x
x=torch.ones(2); y=torch.from_dlpack(x, copy=False); y[0]=5; x
x=torch.ones(2); y=torch.from_dlpack(x, device='cpu'); y[0]=5; x
x=torch.ones(2); torch.from_dlpack(x, device='meta')
torch.ones(2, requires_grad=True).__dlpack__()
torch.from_dlpack(torch.ones(2, requires_grad=True))
torch.utils.dlpack.to_dlpack(torch.ones(2, requires_grad=True)).__class__.__name__
torch.ones(2, requires_grad=True).detach().__dlpack__().__class__.__name__
torch.from_dlpack(np.arange(3.))
torch.from_dlpack(np.arange(3))
a=np.arange(3.); y=torch.from_dlpack(a); y[0]=9; a.tolist()
torch.from_dlpack(np.array(True))
torch.from_dlpack(np.array([True]))
torch.from_dlpack(np.arange(6.).reshape(2,3).T).stride()
torch.from_dlpack(np.arange(6.)[::2]).stride()
a=np.arange(3.); a.flags.writeable=False; torch.from_dlpack(a)
torch.from_dlpack(np.arange(3.).astype('>f8'))
torch.from_dlpack(np.float64(3))
torch.from_dlpack(np.array(['a']))
torch.from_dlpack(3)
torch.from_dlpack([1,2])
torch.from_dlpack(None)
torch.utils.dlpack.from_dlpack(3)
np.from_dlpack(torch.arange(3.)).tolist()
np.from_dlpack(torch.arange(3)).dtype.name
x=torch.arange(3.); a=np.from_dlpack(x); x[0]=7; a.tolist()
np.from_dlpack(torch.arange(3.)).flags.writeable
np.from_dlpack(torch.tensor([True])).dtype.name
np.from_dlpack(torch.ones(2).bfloat16())
np.from_dlpack(torch.ones(2,3).t()).strides
np.from_dlpack(torch.ones(2,requires_grad=True))
np.from_dlpack(torch.tensor(2.)).shape
np.from_dlpack(torch.arange(3.), copy=True).tolist()
np.from_dlpack(torch.arange(3.), device='cpu').tolist()
torch.utils.dlpack.DLDeviceType.kDLCPU
int(torch.utils.dlpack.DLDeviceType.kDLCUDA)
torch.utils.dlpack.DLDeviceType(1)
torch.to_dlpack(3)
torch.to_dlpack(torch.ones(2), 1)
torch.from_dlpack(torch.ones(2), torch.ones(2))
torch.from_dlpack(torch.ones(2)).requires_grad
x=torch.ones(3); y=torch.from_dlpack(x); y.data_ptr()==x.data_ptr()
x=torch.ones(3); torch.from_dlpack(x) is x
torch.from_dlpack(torch.nn.Parameter(torch.ones(2)).detach())
torch.from_dlpack(torch.tensor([1,2],dtype=torch.int8)).dtype, torch.from_dlpack(torch.tensor([1,2],dtype=torch.int16)).dtype
"""


@pytest.mark.oracle
@pytest.mark.parametrize("code", CALLS.strip().splitlines())
def test_agrees_with_torch(code):
    check_code(code)


# ---- other libraries

DTYPES = ["bool", "uint8", "int16", "int64", "float16", "bfloat16", "float32", "complex64", "float8_e5m2"]


@pytest.mark.oracle
@pytest.mark.parametrize("version", [None, (1, 0)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_shares_memory_with_torch(dtype, version):
    torch = pytest.importorskip("torch")
    theirs = torch.ones(2, 3).to(getattr(torch, dtype))
    ours = flambeau.from_dlpack(theirs.t().__dlpack__(max_version=version))
    assert (str(ours.dtype), ours.stride(), ours.data_ptr()) == (f"torch.{dtype}", (1, 3), theirs.data_ptr())
    back = torch.from_dlpack(ours.__dlpack__(max_version=version))
    assert (back.dtype, back.stride(), back.data_ptr()) == (theirs.dtype, (1, 3), theirs.data_ptr())
    back.zero_()
    assert not ours.any() if dtype != "float8_e5m2" else ours.tolist() == [[0, 0]] * 3


@pytest.mark.jax
@pytest.mark.parametrize("dtype", ["float32", "int32", "bfloat16"])
def test_exchanges_with_jax(dtype):
    jnp = pytest.importorskip("jax").numpy
    theirs = jnp.arange(4).astype(dtype)
    ours = flambeau.from_dlpack(theirs)
    assert (str(ours.dtype), ours.tolist()) == (f"torch.{dtype}", [0, 1, 2, 3])
    ours[0] = 7
    assert theirs.tolist() == [0, 1, 2, 3]  # what may not be written to is copied
    assert jnp.from_dlpack(ours).tolist() == [7, 1, 2, 3]


# ---- without them


def test_a_capsule_shares_memory_and_is_taken_once():
    t = flambeau.arange(4.0)
    capsule = flambeau.to_dlpack(t[::2])
    other = flambeau.from_dlpack(capsule)
    other[1] = 9
    assert t.tolist() == [0, 1, 9, 3]
    with pytest.raises(RuntimeError, match="can be consumed only once"):
        flambeau.from_dlpack(capsule)


@pytest.mark.parametrize("dtype", [flambeau.bfloat16, flambeau.float8_e4m3fn, flambeau.float8_e5m2])
def test_dtypes_that_numpy_lacks(dtype):
    t = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]]).to(dtype)
    other = flambeau.from_dlpack(t.t().__dlpack__())
    assert (other.dtype, other.tolist(), other.data_ptr()) == (dtype, [[1, 3], [2, 4]], t.data_ptr())


def test_memory_outlives_its_first_owner():
    other = flambeau.from_dlpack(flambeau.to_dlpack(flambeau.full((1000,), 3.0)))
    array = np.from_dlpack(flambeau.full((1000,), 4.0))
    gc.collect()
    assert other.sum().item() == 3000 and array.sum() == 4000


def test_read_only_memory_is_copied():
    array = np.arange(3.0)
    array.flags.writeable = False
    t = flambeau.from_dlpack(array)
    t[0] = 5
    assert array[0] == 0
