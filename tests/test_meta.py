"""The meta device: shapes and dtypes without memory, and errors when data is needed."""

import numpy as np
import pytest

import flambeau
from _oracle import check_code
from flambeau.engines import NUMPY
from flambeau.engines._probe import extrapolate
from flambeau.engines.meta import MetaArray, meta, run_on_stand_ins

META = """
torch.ones(2, device='meta').item()
torch.ones(1, device='meta').item()
torch.ones(2, device='meta').numpy()
torch.ones(2, device='meta').tolist()
torch.ones(2, device='meta') + torch.ones(2)
torch.ones(2) + torch.ones(2, device='meta')
torch.ones(2, device='meta') @ torch.ones(2)
torch.ones(2, device='meta') + torch.tensor(1.)
torch.ones(2, device='meta').cpu()
torch.ones(2).to('meta')
torch.ones(2, device='meta').to('cpu')
bool(torch.ones(1, device='meta'))
torch.ones(2, device='meta').nonzero()
torch.ones(2, device='meta').equal(torch.ones(2, device='meta'))
torch.ones(2).copy_(torch.ones(2, device='meta'))
torch.ones(2, device='meta').copy_(torch.ones(2))
torch.ones(2, device='meta').copy_(torch.ones(3))
str(torch.ones(2, device='meta'))
repr(torch.ones(2, device='meta', requires_grad=True))
torch.ones(2, device='meta').data_ptr()
torch.ones(2, device='meta').untyped_storage()
torch.ones(2, device='meta').untyped_storage().nbytes()
torch.ones(2, device='meta').stride(), torch.ones(2, 3, device='meta').is_contiguous()
torch.ones(2, device='meta').__dlpack__()
torch.full((2, 3), 1.5, device='meta', dtype=torch.float64)
torch.arange(5, device='meta')
torch.ones(3, 1, device='meta') * torch.ones(4, device='meta', dtype=torch.float64)
torch.ones(3, device='meta') > 1
torch.ones(3, device='meta').sum()
torch.ones(3, 4, device='meta').sum(1, keepdim=True)
torch.ones(3, 4, device='meta', dtype=torch.int32).sum(0)
torch.ones(3, 4, device='meta').mean((0, 1))
torch.ones(3, 4, device='meta').max(1)
torch.ones(3, 4, device='meta').argmax(1)
torch.ones(3, 4, device='meta').t()
torch.ones(3, 4, device='meta').view(2, 6)
torch.ones(3, 4, device='meta').view(5)
torch.ones(3, 4, device='meta').reshape(-1)
torch.ones(3, 4, device='meta')[1:, 2]
torch.ones(3, 4, device='meta').expand(2, 3, 4)
torch.ones(3, 4, device='meta') @ torch.ones(4, 5, device='meta')
torch.ones(3, 4, device='meta') @ torch.ones(5, 4, device='meta')
torch.ones(2, 3, 4, device='meta') @ torch.ones(4, 5, device='meta')
torch.cat([torch.ones(2, 3, device='meta'), torch.ones(1, 3, device='meta')])
torch.cat([torch.ones(2, 3, device='meta'), torch.ones(1, 4, device='meta')])
torch.stack([torch.ones(2, device='meta')] * 3)
torch.where(torch.ones(2, device='meta') > 0, torch.ones(3, 2, device='meta'), 0.)
torch.ones(3, 4, device='meta').softmax(1)
torch.ones(3, 4, device='meta').cumsum(0)
torch.ones(3, 4, device='meta').sort(1)
torch.ones(3, 4, device='meta').tanh().half()
torch.linalg.inv(torch.ones(3, 3, device='meta'))
torch.linalg.solve(torch.ones(2, 3, 3, device='meta'), torch.ones(2, 3, 1, device='meta'))
torch.linalg.cholesky(torch.ones(3, 3, device='meta'))
torch.linalg.pinv(torch.ones(2, 5, 4, device='meta')), torch.linalg.pinv(torch.ones(4, 4, device='meta'), hermitian=True)
torch.bernoulli(torch.ones(3, device='meta'))
torch.multinomial(torch.ones(2, 5, device='meta'), 3)
torch.histc(torch.ones(5, device='meta')), torch.histc(torch.ones(5, device='meta'), 10, 0, 1)
torch.histogram(torch.ones(5, device='meta'), 10)
torch.ones(5, 4, device='meta').quantile(0.5, 1), torch.ones(5, device='meta').nanquantile(0.5)
torch.ones(5, 4, device='meta').quantile(torch.tensor([0.1, 0.2], device='meta'), 1)
torch.ones(5, 4, device='meta').quantile(torch.tensor([0.1, 0.2]), 1)
torch.nn.functional.one_hot(torch.ones(5, device='meta', dtype=torch.int64), 3)
torch.nn.functional.one_hot(torch.ones(5, device='meta', dtype=torch.int64))
torch.block_diag(torch.ones(2, 3, device='meta'), torch.ones(4, 5, device='meta'))
torch.ones(3, 4, device='meta')[1:].as_strided((2, 2), (4, 1))
torch.ones(3, 4, device='meta').as_strided_((2, 2), (4, 1)).add_(1)
x = torch.ones(4, device='meta'); x[x > 0]
x = torch.ones(4); x[torch.ones(4, device='meta') > 0]
x = torch.ones(4, 3, device='meta'); x[torch.tensor([True, False, True, True])]
x = torch.ones(4, device='meta'); x[x > 0] = torch.ones(2, device='meta'); x
x = torch.ones(4, device='meta'); x.index_put((x > 0,), torch.tensor(1., device='meta'))
torch.ones(3, device='meta').add_(1)
torch.ones(3, device='meta').add_(torch.ones(2, 3, device='meta'))
torch.ones(3, device='meta').fill_(1)
torch.ones(3, device='meta').zero_()
torch.ones(3, device='meta').uniform_()
torch.ones(3, device='meta').normal_()
torch.rand(3, device='meta')
torch.zeros_like(torch.ones(3, device='meta'))
torch.ones(3, device='meta').new_zeros(2)
torch.empty_like(torch.ones(3), device='meta')
torch.ones(3, device='meta').clone()
torch.einsum('ij,jk->ik', torch.ones(2, 3, device='meta'), torch.ones(3, 4, device='meta'))
x = torch.ones(3, device='meta', requires_grad=True); (x * 2).sum().backward(); x.grad
x = torch.ones(3, 4, device='meta', requires_grad=True); (x @ x.t()).tanh().sum().backward(); x.grad
"""


@pytest.mark.oracle
@pytest.mark.parametrize("code", META.strip().splitlines())
def test_meta_agrees_with_torch(code):
    check_code(code)


def test_all_parts_of_a_result_are_on_the_meta_device():
    found = flambeau.linalg.lstsq(flambeau.ones(4, 3, device="meta"), flambeau.ones(4, 2, device="meta"))
    assert [x.device.type for x in found] == ["meta"] * 4


def test_meta_tensors_take_no_memory():
    with flambeau.device("meta"):
        x = flambeau.ones(10**6, 10**5, requires_grad=True)
        y = (x.view(10**5, 10**6) * 2).t().exp().sum(0)
    assert y.shape == (10**5,) and y.is_meta and y.requires_grad
    y.sum().backward()
    assert x.grad.shape == x.shape


@pytest.mark.parametrize("shape, kernel, expected", [
    ((3000, 2000), lambda x: x.softmax(1), (3000, 2000)),
    ((3000, 2000), lambda x: x.var(0), (2000,)),
    ((3000, 2000), lambda x: x.topk(100).indices, (3000, 100)),
    ((3000, 2000), lambda x: x.sort(0).values, (3000, 2000)),
    ((4, 1000, 1000), lambda x: x[flambeau.zeros(7, dtype=flambeau.int64, device="meta")], (7, 1000, 1000)),
])
def test_shapes_of_big_meta_tensors_are_extrapolated(shape, kernel, expected):
    assert kernel(flambeau.ones(shape, device="meta")).shape == expected


def test_extrapolation_checks_itself():
    run = {
        "conv": lambda p: [((p[1000] + 2 - 3) // 2 + 1,)],
        "cat": lambda p: [(p[1000] + p[500], 3)],
        "flatten": lambda p: [(p[1000] * p[500],)],
        "square": lambda p: [(p[1000] ** 2,)],
        "stride 7": lambda p: [(p[1000] // 7,)],
        "stride 11": lambda p: [(p[1000] // 11,)],
        "stride 16": lambda p: [(p[1000] // 16, p[1000])],
        "upsample": lambda p: [(p[1000] * 3,)],
    }
    found = {name: extrapolate(at, lambda shapes: shapes, [500, 1000]) for name, at in run.items()}
    assert found["conv"][1] == [(500,)] and found["cat"][1] == [(1500, 3)]
    assert found["stride 16"][1] == [(62, 1000)] and found["upsample"][1] == [(3000,)]
    assert found["flatten"] is found["square"] is found["stride 7"] is found["stride 11"] is None


def test_meta_error_names_what_needs_data():
    x = flambeau.ones(10**4, 10**4, device="meta")
    with pytest.raises(NotImplementedError, match=r"meta tensors.*\[10000, 10000\]"):
        run_on_stand_ins(np.ravel, "ravel", (x._a,), {})


KERNELS = [
    ("conv", [(2, 4, 9, 8), (6, 2, 3, 3)], ((2, 1), (1, 0), (1, 2), 2)),
    ("conv_input", [(2, 6, 5, 4), (6, 2, 3, 3)], ((9, 8), (2, 1), (1, 0), (1, 2), 2)),
    ("conv_weight", [(2, 4, 9, 8), (2, 6, 5, 4)], ((3, 3), (2, 1), (1, 0), (1, 2), 2)),
    ("max_pool", [(2, 3, 8, 8)], ((2, 2), (2, 2), (0, 0), (1, 1), (4, 4))),
    ("window_sum", [(2, 3, 8, 8)], ((2, 2), (2, 2), (0, 0), (4, 4))),
    ("window_spread", [(2, 3, 4, 4)], ((2, 2), (2, 2), (0, 0), (8, 8))),
    ("ranges_mean", [(2, 3, 8)], ((((0, 4), (4, 8)),),)),
    ("ranges_spread", [(2, 3, 2)], ((((0, 4), (4, 8)),), (8,))),
    ("ranges_max", [(2, 3, 8)], ((((0, 4), (4, 8)),),)),
    ("matmul", [(5, 2, 3), (3, 4)], ()),
    ("matmul", [(3,), (5, 3, 4)], ()),
    ("sum", [(2, 3)], (0,)),
    ("copy", [(2, 3)], ()),
    ("linear", [(5, 2, 3), (4, 3), (4,)], ()),
]


@pytest.mark.parametrize("name, shapes, settings", KERNELS, ids=[row[0] for row in KERNELS])
def test_rules_of_the_meta_engine_agree_with_the_kernels(name, shapes, settings):
    want = getattr(NUMPY, name)(*[np.ones(s, np.float32) for s in shapes], *settings)
    got = getattr(meta, name)(*[meta.empty(s, np.float32) for s in shapes], *settings)
    for g, w in zip(got, want) if isinstance(want, tuple) else [(got, want)]:
        assert isinstance(g, MetaArray) and (g.shape, g.dtype) == (w.shape, w.dtype)


def test_a_function_gets_zeros_on_meta_for_a_missing_gradient():
    class Twice(flambeau.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, first, second):
            return first + second

    x = flambeau.ones(3, device="meta", requires_grad=True)
    Twice.apply(x)[0].sum().backward()
    assert x.grad.device.type == "meta" and x.grad.shape == (3,)
