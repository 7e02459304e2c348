"""The protocols of Python and NumPy that tensors implement, and their attributes."""

import copy
import math
import pickle

import numpy as np
import pytest

import flambeau
from _oracle import check_code
from flambeau.functions import _warn

NUMBERS = """
torch.ones(2).item()
torch.ones(1, 1).item()
torch.tensor([1 + 1j]).item()
type(torch.tensor(1, dtype=torch.uint8).item())
torch.tensor(True).item()
torch.tensor(1.5, dtype=torch.bfloat16).item()
torch.ones(2, 2, dtype=torch.bfloat16).tolist()
torch.tensor(3).tolist()
torch.ones(2, 0).tolist()
bool(torch.ones(2))
bool(torch.ones(0))
bool(torch.tensor(nan))
int(torch.tensor(2.7))
int(torch.ones(2))
float(torch.ones(2))
float(torch.ones(1, 1))
complex(torch.tensor(2.))
int(torch.tensor(1j))
float(torch.tensor(1j))
int(torch.tensor(nan))
[1, 2, 3][torch.tensor(1)]
[1, 2, 3][torch.tensor(1.)]
[1, 2, 3][torch.tensor([1])]
[1, 2, 3][torch.tensor([1, 2])]
[1, 2, 3][torch.tensor(True)]
range(torch.tensor(3))
hex(torch.tensor(10))
round(torch.tensor(1.567), 1)
'%d' % torch.tensor(3)
f"{torch.tensor(3.14159):.2f}"
f"{torch.ones(2):.2f}"
math.floor(torch.tensor(2.5))
math.sqrt(torch.tensor(4.))
torch.ones(2).is_nonzero()
torch.ones(0).is_nonzero()
torch.ones(1, 1).is_nonzero()
torch.is_nonzero(3)
len(torch.tensor(3))
len(torch.ones(3, 2))
list(torch.tensor(3))
list(torch.ones(2, 1))
list(torch.ones(0, 2))
[x.requires_grad for x in torch.ones(2, requires_grad=True)]
reversed(torch.arange(3))
reversed(torch.tensor(3))
2 in torch.arange(3)
5 in torch.arange(3)
torch.tensor(2.) in torch.arange(3)
'a' in torch.arange(3)
None in torch.arange(3)
torch.tensor([1, 2]) in torch.arange(4).view(2, 2)
a = torch.ones(1); b = torch.ones(1); hash(a) == hash(b), hash(a) == hash(a)
a = torch.ones(1); {a: 1}[a]
max([torch.tensor(1), torch.tensor(3)])
sorted([3., torch.tensor(1.)])
sum([torch.ones(2), torch.ones(2)])
"""

NUMPY = """
torch.ones(3, requires_grad=True).numpy()
torch.ones(3, requires_grad=True).numpy(force=True)
torch.ones(3, device="meta").numpy(force=True)
torch.ones(3, dtype=torch.bfloat16).numpy()
np.asarray(torch.ones(3, dtype=torch.bfloat16))
np.asarray(torch.ones(3, requires_grad=True))
np.asarray(torch.ones(3), dtype=np.int32)
np.asarray(torch.ones(3), dtype=np.int32, copy=False)
np.sin(torch.ones(2))
np.sin(torch.ones(2, requires_grad=True))
np.add(torch.ones(2), np.ones(2))
torch.ones(2) * np.ones(2)
np.float64(2) * torch.ones(2)
torch.ones(2) * np.float64(2)
np.float32(2) + torch.ones(2, dtype=torch.int64)
np.ones(2) == torch.ones(2)
np.concatenate([torch.ones(2), torch.ones(2)])
np.ones(3)[torch.tensor([0, 1])]
np.ones(3)[torch.tensor(1)]
np.array([torch.tensor(1.), torch.tensor(2.)])
np.array(torch.arange(6).view(2, 3).t())
a = np.zeros(3); a[1:] = torch.ones(2); a
"""

ABOUT = """
torch.ones(2, 3).size(5)
torch.ones(2, 3).size(-1)
torch.ones(2, 3).size(dim=0)
torch.ones(2, 3).size()
torch.tensor(1).size(0)
torch.ones(2).element_size()
torch.ones(2, dtype=torch.complex64).itemsize
torch.ones(2, 3).nbytes
torch.ones(2, 3).nelement()
torch.ones(2, 3).ndimension()
torch.numel(torch.ones(2, 3))
torch.ones(2).get_device()
torch.ones(2, 3, 4).permute(2, 0, 1).dim_order()
torch.ones(2, 3, 4, 4).to(memory_format=torch.channels_last).dim_order()
torch.ones(2).is_sparse, torch.ones(2).is_quantized, torch.ones(2).is_nested, torch.ones(2).is_mkldnn
torch.ones(2).is_cpu, torch.ones(2).is_cuda, torch.ones(2).is_meta
torch.ones(2).dense_dim(), torch.ones(2).sparse_dim()
torch.is_tensor(3), torch.is_tensor(torch.ones(1))
torch.is_storage(torch.ones(1)), torch.is_storage(torch.ones(1).storage())
torch.is_floating_point(3)
torch.is_floating_point(torch.ones(2, dtype=torch.bfloat16)), torch.is_complex(torch.ones(2))
torch.ones(1).is_signed(), torch.ones(1, dtype=torch.uint8).is_signed(), torch.ones(1, dtype=torch.bool).is_signed()
torch.ones(3).is_same_size(torch.ones(3, dtype=torch.int64))
torch.ones(3).is_same_size(3)
a = torch.ones(3); (a.is_set_to(a.view(3)), a.is_set_to(torch.ones(3)), a.is_set_to(a[:2]))
torch.ones(3).is_neg(), torch.ones(3).is_conj()
torch.ones(3).resolve_conj(), torch.ones(3).resolve_neg()
torch.ones(2).is_shared()
torch.ones(2).is_pinned()
torch.ones(2).is_inference()
torch.is_inference(torch.ones(2))
"""

COPIES = """
copy.deepcopy(torch.ones(3, requires_grad=True))
copy.deepcopy(torch.ones(3, requires_grad=True) * 2)
a = torch.ones(3, requires_grad=True); a.sum().backward(); copy.deepcopy(a).grad
a = torch.ones(4); b = a[1:]; x, y = copy.deepcopy((a, b)); y[0] = 5; (x, a)
a = torch.ones(4); b = a.data; x, y = copy.deepcopy((a, b)); y[0] = 5; x
a = torch.ones(4); a.foo = [1]; b = copy.deepcopy(a); (b.foo, b.foo is a.foo)
a = torch.ones(4); a.foo = [1]; b = copy.copy(a); (b.foo, b.foo is a.foo, b.data_ptr() == a.data_ptr())
a = torch.ones(4); x, y = copy.deepcopy([a, a]); x is y
copy.deepcopy(torch.arange(6.).view(2, 3).t())
copy.deepcopy(torch.arange(6.).view(2, 3)[:, 1])
copy.deepcopy(torch.ones(2, dtype=torch.bfloat16))
copy.deepcopy(torch.tensor(1.5))
copy.deepcopy(torch.ones(0, 3))
a = torch.ones(4, requires_grad=True); a.foo = 1; b = pickle.loads(pickle.dumps(a)); (b, b.foo)
a = torch.ones(4, requires_grad=True); a.grad = torch.ones(4); pickle.loads(pickle.dumps(a)).grad
pickle.loads(pickle.dumps(torch.ones(4, requires_grad=True) * 2))
pickle.loads(pickle.dumps(torch.arange(6.).view(2, 3).t()))
pickle.loads(pickle.dumps(torch.arange(6.).view(2, 3)[:, 1]))
pickle.loads(pickle.dumps(torch.ones(2, dtype=torch.bfloat16)))
pickle.loads(pickle.dumps(torch.tensor(True)))
pickle.loads(pickle.dumps(torch.ones(0, 3)))
pickle.loads(pickle.dumps(torch.float32)), pickle.loads(pickle.dumps(torch.Size([2])))
"""


def lines(*tables):
    return [line for table in tables for line in table.strip().splitlines()]


@pytest.mark.oracle
@pytest.mark.parametrize("code", lines(NUMBERS, NUMPY, ABOUT, COPIES))
def test_agrees_with_torch(code):
    check_code(code, copy=copy, pickle=pickle, math=math)


# ---- without torch


def test_scalars():
    t = flambeau.tensor([2.5])
    assert (float(t), int(t), bool(t), complex(t), t.item()) == (2.5, 2, True, 2.5 + 0j, 2.5)
    assert [10, 20][flambeau.tensor(1)] == 20


ERRORS = [
    (lambda t: t.item(), RuntimeError, "2 elements cannot be converted"),
    (lambda t: bool(t), RuntimeError, "ambiguous"),
    (lambda t: int(t), ValueError, "only one element"),
    (lambda t: [1][t], TypeError, "only integer tensors"),
    (lambda t: len(t.sum()), TypeError, "0-d"),
    (lambda t: t.requires_grad_().numpy(), RuntimeError, "detach"),
    (lambda t: t.bfloat16().numpy(), TypeError, "float"),
    (lambda t: "a" in t, RuntimeError, "__contains__"),
]


@pytest.mark.parametrize("call, error, message", ERRORS)
def test_refuses(call, error, message):
    with pytest.raises(error, match=message):
        call(flambeau.ones(2))


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode", "enable_grad"])
def test_numpy_where_nothing_is_recorded(mode):
    leaf = flambeau.ones(2, requires_grad=True)
    for t in (leaf, leaf * 1):
        with getattr(flambeau, mode)():
            if mode == "enable_grad":
                with pytest.raises(RuntimeError, match="requires grad"):
                    t.numpy()
            else:
                assert np.shares_memory(t.numpy(), t.detach().numpy())
                assert np.asarray(t).tolist() == [1.0, 1.0]


def test_numpy_shares_memory():
    t = flambeau.zeros(2)
    t.numpy()[0] = 3
    assert t.tolist() == [3, 0]
    assert np.shares_memory(np.asarray(t), t.numpy())


def test_scalar_of_a_tensor_that_requires_grad_warns_once():
    t = flambeau.tensor(1.0, requires_grad=True)
    _warn.forget()
    with pytest.warns(UserWarning, match="detach"):
        float(t)
    float(t)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickled_views_stay_views(protocol):
    base = flambeau.arange(6.0)
    a, b = pickle.loads(pickle.dumps((base, base[2:]), protocol))
    b[0] = 9
    assert a.tolist() == [0, 1, 9, 3, 4, 5]
    assert b._version == a._version


def test_deepcopy_preserves_sharing():
    weight = flambeau.ones(2, requires_grad=True)
    weight.grad = flambeau.zeros(2)
    one, two = copy.deepcopy([weight, weight])
    assert one is two and one is not weight and one.grad is not weight.grad
    one.data.fill_(5)
    assert weight.tolist() == [1, 1]


def test_deepcopy_of_a_result_says_what_to_do():
    with pytest.raises(RuntimeError, match="detach"):
        copy.deepcopy(flambeau.ones(2, requires_grad=True) * 2)


def test_subclass_survives_copies():
    for make in (copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))):
        t = make(Marked([1, 2]))
        assert type(t) is Marked and t.tolist() == [1, 2]


class Marked(flambeau.Tensor):
    pass


def test_dir_lists_methods_and_attributes():
    t = flambeau.ones(1)
    t.mark = 1
    assert {"mark", "backward", "shape"} <= set(dir(t))


SETTINGS = [
    "torch.set_num_threads(0)",
    "torch.set_num_threads('a')",
    "torch.set_num_interop_threads(0)",
    "torch.use_deterministic_algorithms(1)",
    "torch.set_deterministic_debug_mode('bad')",
    "torch.set_deterministic_debug_mode(5)",
    "torch.get_float32_matmul_precision()",
    """
torch.set_float32_matmul_precision('high')
r = torch.get_float32_matmul_precision()
torch.set_float32_matmul_precision('highest')
r""",
    """
torch.use_deterministic_algorithms(True)
r = torch.are_deterministic_algorithms_enabled(), torch.get_deterministic_debug_mode()
torch.use_deterministic_algorithms(False)
r""",
    """
torch.set_deterministic_debug_mode('warn')
r = torch.is_deterministic_algorithms_warn_only_enabled(), torch.get_deterministic_debug_mode()
torch.set_deterministic_debug_mode(0)
r""",
]


@pytest.mark.oracle
@pytest.mark.parametrize("code", SETTINGS)
def test_settings_agree_with_torch(code):
    check_code(code)


def test_threads_are_remembered():
    before = flambeau.get_num_threads()
    flambeau.set_num_threads(1)
    try:
        assert flambeau.get_num_threads() == 1
    finally:
        flambeau.set_num_threads(before)
