"""Conversion: dtypes, devices, memory formats, copies and overwriting, with their gradients."""

import numpy as np
import pytest

import flambeau
from _oracle import check_code
from flambeau.functions import _warn

TO = """
torch.ones(2, 3).to(torch.int32, copy=True)
torch.ones(2).to('cpu', torch.float64)
torch.ones(2).to(torch.ones(1, dtype=torch.int8))
torch.ones(2).to(dtype=torch.int8, device='cpu')
torch.ones(2).to(None)
torch.ones(2).to()
torch.ones(2).to('foo')
torch.ones(2).to('float32')
torch.ones(2).to(float)
torch.ones(2).to(other=torch.ones(1))
torch.ones(2).to('cpu', non_blocking=True)
torch.ones(2).to(torch.float64, True, True)
torch.ones(2).to('cpu', torch.float64, True, True)
torch.ones(2).to(torch.device('cpu'), torch.float64, copy=True)
torch.ones(2).to(torch.float64, unknown=1)
a = torch.ones(3, 2); (a.to(torch.float32) is a, a.float() is a, a.cpu() is a, a.type_as(a) is a, a.to('cpu') is a)
a = torch.ones(3, 2); a.to(a) is a, a.to(a, copy=True) is a
torch.ones(3, 2, requires_grad=True).to(torch.float32, copy=True)
torch.ones(3, 2, requires_grad=True).to(torch.int64)
torch.ones(3, requires_grad=True).double().grad_fn.name()
torch.ones(3, 2).t().to(torch.float64)
torch.ones(3, 2).t().to(torch.float64, memory_format=torch.contiguous_format)
torch.ones(3, 2).to(memory_format=torch.channels_last)
a = torch.ones(3, 2).t(); a.to(memory_format=torch.contiguous_format) is a
torch.ones(2, 3, 4, 4).to(memory_format=torch.channels_last)
torch.ones(2, 1, 4, 4).to(memory_format=torch.channels_last)
torch.ones(2, 3, 4, 4, 2).to(memory_format=torch.channels_last_3d)
torch.ones(2, 3, 4, 4).to(memory_format=torch.channels_last).to(memory_format=torch.contiguous_format)
torch.ones(2, 3, 4, 4).to(memory_format=torch.channels_last).double()
torch.tensor([1 + 2j]).float()
torch.tensor([1 + 2j]).to(torch.int64)
torch.tensor([2j, 0]).bool()
torch.tensor([nan, 1e20, -1.5]).long()
torch.tensor([300., -1]).byte()
torch.tensor([300, -1]).byte()
torch.tensor([0.1, 0]).bool()
torch.tensor([1.5, -2.5]).half()
torch.tensor([1 + 2**-11 + 2**-40, 65519.9999999, 2**-25 + 2**-60], dtype=torch.float64).half()
torch.tensor([1 + 2**-11 + 2**-40, 65519.9999999, 2**-25 + 2**-60], dtype=torch.half)
torch.tensor(np.array([1 + 2**-11 + 2**-40]), dtype=torch.half)
torch.tensor([1 + 2**-11 + 2**-40], dtype=torch.complex128).half()
torch.zeros(1, dtype=torch.half) + (1 + 2**-11 + 2**-40)
torch.full((1,), 1 + 2**-11 + 2**-40, dtype=torch.half)
torch.arange(1 + 2**-11 + 2**-40, 2, dtype=torch.half)
torch.linspace(1 + 2**-11 + 2**-40, 2, 2, dtype=torch.half)
torch.add(torch.tensor([1 + 2**-11 + 2**-40], dtype=torch.float64), 0, out=torch.zeros(1, dtype=torch.half))
torch.tensor([1.00390625, 3.3]).bfloat16()
torch.tensor([1, 2]).cfloat()
torch.tensor([1.5]).short()
torch.tensor([1.5]).char()
torch.tensor([1.5]).int()
torch.ones(3).type_as(torch.ones(1, dtype=torch.int64))
torch.ones(3).type_as(3)
torch.ones(2).cpu(memory_format=torch.contiguous_format)
"""

COPIES = """
torch.ones(1, 4).expand(3, 4).clone()
torch.ones(3, 1).expand(3, 4).clone()
torch.ones(2, 2, 1, 2).to(memory_format=torch.channels_last).expand(2, 2, 2, 2).clone()
torch.ones(3, 1, 2).permute(2, 0, 1).expand(2, 3, 4).clone()
torch.arange(24.).view(4, 6)[:, ::2].t().clone()
torch.arange(24.).view(2, 3, 4).permute(2, 0, 1)[:, :, :2].clone()
torch.arange(24.).view(2, 3, 2, 2).to(memory_format=torch.channels_last).clone()
torch.arange(24.).view(2, 3, 2, 2).clone(memory_format=torch.channels_last)
torch.ones(2, 3).clone(memory_format=torch.channels_last)
torch.ones(2, 3).clone(memory_format='x')
torch.ones(3, requires_grad=True).clone().grad_fn.name()
torch.ones(3, 2, requires_grad=True).t().contiguous().grad_fn.name()
torch.arange(6.).view(3, 2).t().contiguous()
a = torch.ones(3, 2); a.contiguous() is a
torch.ones(2, 1, 4, 4).contiguous(memory_format=torch.channels_last)
torch.ones(1, 2, 4, 1).contiguous(memory_format=torch.channels_last)
torch.ones(2, 1, 4, 4).is_contiguous(memory_format=torch.channels_last)
torch.ones(2, 3, 4, 4).is_contiguous(memory_format=torch.channels_last)
torch.ones(2, 3).is_contiguous(memory_format=torch.channels_last)
torch.ones(2, 3).contiguous(memory_format=torch.channels_last)
torch.ones(2, 3).t().is_contiguous()
torch.ones(0, 3).t().is_contiguous()
torch.ones(1, 3).t().is_contiguous()
"""

WRITES = """
a = torch.ones(3); b = torch.ones(3, requires_grad=True); a.copy_(b); (a.requires_grad, type(a.grad_fn).__name__)
a = torch.ones(3, requires_grad=True); a.copy_(torch.ones(3))
torch.ones(3).copy_(torch.ones(2))
torch.ones(3).copy_(2)
torch.ones(3).copy_(np.ones(3))
torch.ones(3).copy_([1, 2, 3])
torch.ones(3).copy_(torch.tensor([1j]))
torch.ones(3, dtype=torch.int64).copy_(torch.tensor(2.7))
torch.ones(2, 3).copy_(torch.arange(3))
torch.ones(2, 3).expand(4, 2, 3).copy_(torch.ones(3))
torch.ones(2, 3).expand(4, 2, 3).copy_(torch.ones(4, 2, 3))
torch.zeros(1, dtype=torch.half).copy_(torch.tensor([1 + 2**-11 + 2**-40], dtype=torch.float64))
a = torch.ones(2, 1).expand(2, 3); a.copy_(a), a._version
a = torch.ones(2, 1).expand(2, 3); a.copy_(a.detach())
a = torch.ones(2, 1).expand(2, 3); a[:] = a; a._version
a = torch.ones(2, 1).expand(2, 3); a.copy_(a[:1])
a = torch.ones(3, requires_grad=True) * 2; (a.fill_(3).tolist(), a.grad_fn.name())
torch.ones(3).fill_(torch.tensor(2.))
torch.ones(3).fill_(torch.tensor([2.]))
torch.ones(3).fill_('a')
torch.ones(3).fill_(torch.tensor(2., requires_grad=True)).grad_fn.name()
torch.ones(3, dtype=torch.int64).fill_(2.5)
torch.ones(3).fill_(1j)
torch.ones(3, dtype=torch.uint8).fill_(300)
torch.ones(3, dtype=torch.uint8).fill_(-1)
torch.ones(3, requires_grad=True).fill_(1)
(torch.ones(3, requires_grad=True) * 2).zero_().grad_fn.name()
a = torch.ones(3, requires_grad=True); (a * 2).zero_().sum().backward(); a.grad
a = torch.ones(3, requires_grad=True); (a * 2).fill_(3).sum().backward(); a.grad
v = torch.tensor(2., requires_grad=True); torch.ones(3).fill_(v).sum().backward(); v.grad
b = torch.ones(3, dtype=torch.float64, requires_grad=True); (torch.ones(2, 3).copy_(b) * 3).sum().backward(); b.grad
a = torch.ones(3); b = torch.ones(1, requires_grad=True); a[1:].copy_(b); a.sum().backward(); b.grad
torch.fill(torch.ones(2, dtype=torch.int64), 2.5)
torch.fill(torch.ones(2), torch.ones(2))
torch.fill(torch.ones(2, requires_grad=True), 3.)
torch.zero_(torch.ones(2))
torch.fill_(torch.ones(2), 3)
a = torch.ones(3, requires_grad=True); b = a.view(3); b.detach_()
a = torch.ones(3, requires_grad=True) * 2; b = a.detach_(); (b is a, a.requires_grad, a.grad_fn)
torch.ones(3).view(3).detach_()
a = torch.ones(3); b = a.detach(); b[0] = 5; a
a = torch.ones(3, requires_grad=True); b = a.detach(); (b.requires_grad, b.data_ptr() == a.data_ptr())
a = torch.ones(2); a.data = torch.zeros(3); a
a = torch.ones(2); a.data = 3
a = torch.ones(2, requires_grad=True); a.data = torch.zeros(3, dtype=torch.int64)
a = torch.ones(2, requires_grad=True); a.data.fill_(7); a
"""


def lines(*tables):
    return [line for table in tables for line in table.strip().splitlines()]


@pytest.mark.oracle
@pytest.mark.parametrize("code", lines(TO, COPIES, WRITES))
def test_agrees_with_torch(code):
    check_code(code)


# ---- without torch


def test_to_returns_itself_when_nothing_changes():
    t = flambeau.ones(2)
    assert t.to(flambeau.float32) is t and t.to("cpu") is t and t.to(t) is t and t.float() is t
    assert t.to(flambeau.float32, copy=True) is not t


@pytest.mark.parametrize("call", ["to('cuda:99')", "cuda(99)", "to(device='cuda:98')"])
def test_cuda_says_what_to_do(call):
    with pytest.raises((AssertionError, RuntimeError), match="device='cpu'"):
        eval(f"t.{call}", {"t": flambeau.ones(1)})


def test_channels_last_strides():
    t = flambeau.arange(48).view(2, 3, 2, 4).to(memory_format=flambeau.channels_last)
    assert t.stride() == (24, 1, 12, 3) and t.is_contiguous(memory_format=flambeau.channels_last)
    assert t.contiguous().tolist() == t.tolist()
    assert flambeau.zeros_like(t).stride() == t.stride() == t.clone().stride()


def test_gradient_comes_back_in_the_dtype_of_the_input():
    x = flambeau.ones(2, dtype=flambeau.float16, requires_grad=True)
    (x.double() * 3).sum().backward()
    assert x.grad.dtype is flambeau.float16 and x.grad.tolist() == [3, 3]


def test_copy_broadcasts_casts_and_is_recorded():
    x = flambeau.ones(3, requires_grad=True)
    t = flambeau.zeros(2, 3, dtype=flambeau.float64).copy_(x)
    (t * flambeau.tensor([1.0, 2.0, 3.0], dtype=flambeau.float64)).sum().backward()
    assert x.grad.tolist() == [2, 4, 6] and x.grad.dtype is flambeau.float32


def test_copy_through_overlapping_views():
    t = flambeau.arange(5.0)
    t[1:].copy_(t[:-1])
    assert t.tolist() == [0, 0, 1, 2, 3]


@pytest.mark.parametrize("write", ["copy_(flambeau.ones(2))", "fill_(1)", "zero_()"])
def test_writes_are_counted(write):
    t = flambeau.zeros(2)
    before = t._version
    eval(f"t.{write}", {"t": t, "flambeau": flambeau})
    assert t._version == before + 1


def test_complex_to_real_warns_once():
    _warn.forget()
    with pytest.warns(UserWarning, match="imaginary"):
        flambeau.tensor([1j]).float()
    assert flambeau.tensor([2 + 1j]).float().tolist() == [2]


def test_shapes_that_do_not_fit_are_named():
    with pytest.raises(RuntimeError, match=r"\(3\) must match the size of tensor b \(2\)"):
        flambeau.ones(3).copy_(flambeau.ones(2))


def test_half_precision_values():
    t = flambeau.tensor([1 / 3, 65504.0, 1e6])
    np.testing.assert_array_equal(t.half().float().numpy(), np.float16([1 / 3, 65504, np.inf]).astype(np.float32))
    assert t.bfloat16().tolist()[0] == 0.333984375
