"""How tensors behave in Python, in memory and with other types, compared with PyTorch row by row."""

import copy
import functools
import gc
import itertools
import math
import operator
import pickle
import threading
import tracemalloc

import numpy as np
import pytest

import flambeau
from _programs import Programs, raised

# A row is one program: statements separated by ;; and last the expression whose value is compared.
ROWS = """
-- printing
repr(t.tensor(3)), repr(t.tensor(3.0)), repr(t.tensor(True)), repr([t.tensor(1), t.tensor([1.5])])
repr({"a": t.tensor([1, 2])}), str((t.tensor(1.5, requires_grad=True),)), f"{t.tensor([1.0])!r:>20}"
f"{t.tensor(3):5d}|{t.tensor(2.5):.3f}|{t.tensor(True)}|{t.tensor([1])}", "{:.2f}".format(t.tensor(1.0))
repr(t.max(t.tensor([[1, 2]]), 1)), repr(t.Size([])), str(t.device("cpu")), repr(t.float32), repr(t.strided)
[repr(t.finfo(d)) for d in (t.float16, t.bfloat16, t.float64, t.float8_e5m2)], raised(lambda: t.Generator("cuda"))
repr(t.finfo(t.float32)), repr(t.iinfo(t.int8)), repr(t.zeros(0, 3)), repr(t.ones(2, device="meta"))
repr(t.tensor([1e10, 1e-10])), repr(t.tensor([math.nan, -math.inf])), repr(t.tensor([1 + 2j])), repr(t.arange(1200.0))
-- Python numbers
int(t.tensor(2.7)), float(t.tensor(3)), complex(t.tensor(1.5)), bool(t.tensor(0.0)), bool(t.tensor([2]))
max(t.tensor([3, 1, 2])), min(t.tensor([3.0, 1.0])), sum(t.tensor([1, 2, 3])), sum([t.ones(2), t.ones(2)])
sorted([t.tensor(3), t.tensor(1)]), sorted(t.tensor([3, 1, 2])), any(t.tensor([0, 1])), all(t.tensor([1, 0]))
raised(lambda: round(t.tensor(2.567))), t.tensor([2.5, 3.5]).round(), abs(t.tensor(-3)), ~t.tensor(3), +t.tensor(3)
math.sqrt(t.tensor(4)), math.floor(t.tensor(2.5)), math.ceil(t.tensor(2.5)), math.isclose(t.tensor(1.0), 1)
raised(lambda: divmod(t.tensor(7), 2)), raised(lambda: divmod(7, t.tensor(2))), raised(lambda: math.sqrt(t.ones(2)))
t.tensor(7) // 2, t.tensor(-7) // 2, t.tensor(-7.0) // 2, -7 // t.tensor(2), t.tensor(7) % -3, -7 % t.tensor(3)
t.tensor([5, -5]) % t.tensor([-3, 3]), t.fmod(t.tensor([5, -5]), 3), t.tensor([-7.5, 7.5]) % 2
t.tensor(2) ** 3, 2 ** t.tensor(3), t.tensor(2.0) ** -1, t.tensor(2) ** 0.5, 2.0 ** t.tensor([1, 2])
t.tensor(5) == 5, t.tensor(5) != "a", t.tensor(5) == None, t.tensor([1, 2]) == [1, 2]
1 < t.tensor(2) < 3, t.tensor(1) and t.tensor(2), t.tensor(0) or t.tensor(5), not t.tensor(0)
list(range(t.tensor(3))), [10, 20][t.tensor(1)], "abc"[t.tensor(1)], [0] * t.tensor(2), bin(t.tensor(5)), chr(t.tensor(65))
operator.index(t.tensor([3])), hex(t.tensor(255)), np.arange(3)[t.tensor(1)].item(), np.zeros((t.tensor(2), 3)).shape
1 in t.tensor([1, 2]), t.tensor(5) in [1, 2], [t.tensor(1), t.tensor(0)].index(t.tensor(0))
a = t.tensor(1) ;; len({a, a, t.tensor(1)}), {a: 1}[a], hash(a) == hash(a)
list(t.ones(2, 1)), list(reversed(t.arange(3))), dict(zip("ab", t.arange(2))), [float(v) for v in t.arange(2)]
functools.reduce(operator.add, t.arange(4)), list(itertools.accumulate(t.arange(4)))
[type(t.tensor(v).item()) for v in (True, 1, 1.0, 1j)], t.tensor(1.5, dtype=t.bfloat16).item(), t.tensor([]).tolist()
-- integers that do not fit
t.tensor([1, 2]) + 2**63, t.tensor(2**63 - 1) + 1, t.tensor([2**31 - 1], dtype=t.int32) + 1
raised(lambda: t.tensor([1, 2]) * 2**64), raised(lambda: t.tensor([1.0]) * 10**400), t.tensor([2**53 + 1]).double()
t.tensor([100], dtype=t.int8) + 100, t.tensor([100], dtype=t.int8) * 2, t.tensor([200], dtype=t.uint8) + 100
t.tensor([1], dtype=t.uint8) - 2, -t.tensor([1], dtype=t.uint8), t.tensor([-128], dtype=t.int8).abs()
t.tensor([127, 1], dtype=t.int8).sum(), t.tensor([127, 2], dtype=t.int8).prod(), t.tensor([3], dtype=t.int8) ** 6
t.tensor([-2]) ** 63, t.tensor([2]) ** 64, t.tensor([5], dtype=t.uint8) < -1, t.tensor([5], dtype=t.int8) < 1000
-- casts
t.tensor([math.nan, math.inf, -math.inf, 1e20, -1e20]).long(), t.tensor([math.nan, math.inf, 1e20]).int()
t.tensor([300.7, -1.5, 127.9]).to(t.int8), t.tensor([300.7, -1.5]).to(t.uint8), t.tensor([300, -1]).to(t.uint8)
t.tensor([0.0, 0.1, math.nan]).bool(), t.tensor([1.9, -1.9]).int(), t.tensor([2**24 + 1]).float()
t.tensor([70000.0, 1e-8]).half(), t.tensor([3.4e38]).bfloat16(), t.tensor([1.0]).to(t.complex64)
-- booleans and shifts
t.tensor([True, False]) + t.tensor([True, True]), t.tensor(True) + 1, t.tensor(True) * 2.5, t.tensor([True]) / 2
t.tensor([True, True]).sum(), t.tensor([True, False]).prod(), t.tensor([True]).cumsum(0), t.tensor([True]) & 3
t.tensor([True]) | False, t.tensor([True]) ^ t.tensor([True]), t.tensor([True]) > 0.5, t.tensor([True, False]).max()
t.tensor([1, 2]) << 3, t.tensor([-8]) >> 1, t.tensor([1]) << 64, t.tensor([-1]) >> 70, t.tensor([1], dtype=t.int8) << 7
1 << t.tensor([3]), 16 >> t.tensor([2]), t.tensor([1], dtype=t.uint8) << 9
-- promotion
t.tensor([1]) + 1.5, t.tensor([1]) + t.tensor(1.5), t.tensor([1], dtype=t.int8) + t.tensor(300), t.tensor([1]) / 2
t.tensor([1.0], dtype=t.float16) + t.tensor(1.0, dtype=t.float64), t.tensor([1], dtype=t.int8) + t.tensor([1], dtype=t.uint8)
t.tensor([1.0], dtype=t.float16) + t.tensor([1.0], dtype=t.bfloat16), t.sqrt(t.tensor([4])), t.where(t.tensor(True), 1, 2.5)
t.tensor([1], dtype=t.int8) * 1j, t.tensor([1.0], dtype=t.float64) * 1j, t.cat([t.tensor([1]), t.tensor([2.5])])
t.set_default_dtype(t.float64) ;; r = t.ones(1), t.tensor([1]) / 2, t.tensor([1j]), t.arange(0.0, 2), repr(t.ones(1)) ;; t.set_default_dtype(t.float32) ;; r
-- half precision and numbers
x = t.tensor([-0.1, 0.3, -0.09], dtype=t.float16) ;; x + 0.1, x - 0.1, 0.1 - x, x * 0.1, x / 0.1, x % 0.1, x == -0.1, x > 0.3
x = t.tensor([-0.1, 0.3, -0.09], dtype=t.bfloat16) ;; x + 0.1, x - 0.1, x * 0.1, x * t.tensor(0.1), x + t.tensor(0.1), x // 0.1
x = (t.arange(64.0) / 7).bfloat16() ;; t.add(x, x, alpha=0.3), t.sub(x, x, alpha=0.3), x.add_(x, alpha=-0.01), x + 1e39
x = t.arange(1, 9, dtype=t.bfloat16) / 7 ;; x.sum(), x.mean(), x @ x, x.exp(), x * x, x.view(2, 4) @ x.view(4, 2), x.sqrt()
x = t.arange(1, 9, dtype=t.float16) / 7 ;; x.sum(), x.mean(), x @ x, x.exp(), x * x, x.view(2, 4) @ x.view(4, 2), x.softmax(0)
-- NumPy beside tensors
np.float32(2) * t.tensor([1, 2]), np.float64(2) * t.tensor([1.0]), np.int64(3) + t.tensor([1.5]), t.tensor([1]) * np.float32(1.5)
np.float64(6) / t.tensor([2.0]), np.float64(7) // t.tensor([2.0]), np.float64(7) - t.tensor([2.0]), np.int64(7) - t.tensor([2])
t.tensor(np.float32(1.5)), t.tensor([np.int16(1), 2.5]), t.tensor(np.array(5)), t.as_tensor(np.arange(3)), t.tensor(np.bool_(True))
t.tensor(np.concatenate([t.ones(2), t.zeros(1)])), t.tensor(np.array([t.tensor(1), t.tensor(2)])), np.float32(t.tensor(2.5)).item()
x = np.ones(3, dtype=np.float32) ;; x[0] = t.tensor(5.0) ;; x.tolist()
x = t.arange(6.0).view(2, 3) ;; x[:, np.array([True, False, True])], x[np.array([1, 0])], x[0, np.array([2])], x[np.int64(1)]
-- aliasing
x = t.ones(3) ;; y = x ;; y += 1 ;; y = y + 1 ;; x, y
x = t.arange(6.0).view(2, 3) ;; v = x[0] ;; v += 10 ;; x[:, 1] *= t.tensor([2.0, 3.0]) ;; x.t()[0] -= 5 ;; x, x._version
x = t.arange(6.0).view(2, 3) ;; x[:, ::2] += t.tensor([[1.0], [2.0]]) ;; x[[0, 1], [0, 2]] += 100 ;; x[x > 50] = -1 ;; x
x = t.arange(4.0) ;; x[[0, 0, 1]] += 1 ;; x[t.tensor([3, 3])] = t.tensor([8.0, 9.0]) ;; x
x = t.ones(2, 3) ;; a, b = x ;; a.zero_() ;; c, d = x.chunk(2) ;; d *= 5 ;; x
x = t.ones(4) ;; x.data[0] = 7 ;; x.detach()[1] = 8 ;; y = x.view(2, 2) ;; y[1, 1] = 9 ;; x, x._version
x = t.ones(2, 2) ;; y = x.t().reshape(4) ;; y[0] = 9 ;; z = x.reshape(4) ;; z[3] = 4 ;; x, x.contiguous() is x, z._base is x
x = t.ones(2) ;; x.to(t.float32) is x, x.float() is x, x.clone() is x, t.as_tensor(x) is x, t.tensor(x.tolist()) is x
x = t.arange(6) ;; y = x[2:4][1:] ;; y.storage_offset(), y.untyped_storage().nbytes(), y.data_ptr() - x.data_ptr(), y._base is x
x = t.tensor([6, 7]) ;; x &= 3 ;; x |= 8 ;; x ^= 1 ;; x <<= 1 ;; x >>= 2 ;; x **= 2 ;; x //= 3 ;; x
x = t.zeros(2, 2, dtype=t.int64) ;; x[0] = 1.7 ;; x[1] = t.tensor([2.9, -2.9]) ;; x
x = t.zeros(2, 3) ;; x[:] = t.ones(1, 1, 2, 3) ;; x[1] = t.arange(3) ;; x[0, 0] = True ;; x[..., 2] = t.tensor([5.0]) ;; x
x = t.ones(3, dtype=t.float16) ;; x += t.ones(3) ;; y = t.ones(3) ;; y += t.ones(3, dtype=t.float64) ;; x, y
d = {"k": t.ones(2)} ;; d["k"] += 1 ;; l = [t.ones(1)] * 2 ;; l[0] += 1 ;; d, l
-- pickle and copy
x = t.arange(6.0) ;; a, b = pickle.loads(pickle.dumps((x, x[2:]))) ;; a[0] = 99 ;; a, b, x
x = t.arange(6.0) ;; a, b = copy.deepcopy((x, x[2:])) ;; b[0] = 99 ;; a, b, x, b.storage_offset()
x = t.arange(6.0).view(2, 3).t() ;; y = pickle.loads(pickle.dumps(x)) ;; z = copy.deepcopy(x) ;; y, z
x = t.ones(2, requires_grad=True) ;; (x * 2).sum().backward() ;; y = copy.deepcopy(x) ;; y, y.grad, y.grad is x.grad, pickle.loads(pickle.dumps(x)).grad
x = t.ones(2) ;; x.note = 3 ;; y = copy.copy(x) ;; y[0] = 5 ;; x, y.note, hasattr(copy.deepcopy(x), "note")
t.float32 is copy.deepcopy(t.float32), pickle.loads(pickle.dumps([t.Size([1]), t.tensor(1, dtype=t.bfloat16), t.tensor([1j])]))
-- order in memory
x = t.ones(2, 3, 4, 5).permute(0, 2, 3, 1) ;; x + 1, x.exp(), x * x, x.clone(), x > 0, x.double(), t.zeros_like(x)
x = t.ones(2, 3, 4, 5).contiguous(memory_format=t.channels_last) ;; x + 1, x.relu(), x + t.ones(3, 1, 1), x[:, :2], t.cat([x, x], 1)
x = t.ones(3, 4).t() ;; x.sum(0), x.softmax(0), x.log_softmax(1), x.cumsum(0), x.masked_fill(x > 0, 0), x.roll(1, 0)
x = t.ones(2, 3, 4).permute(1, 2, 0) ;; x.sum(0), x.mean(0), x.var(0), x.amax(0), x.max(0).values, x.prod(0), x.all(0), x.norm(dim=0)
x = t.ones(2, 3, 4).permute(1, 2, 0) ;; x.logsumexp(0), x.argmax(0), x.median(0).values, x.std(0), x.sum((0, 1)), x.sum(1, keepdim=True)
x = t.ones(2, 5, 3, 4).transpose(1, 2) ;; x @ x.transpose(-2, -1), x @ t.ones(4, 2), x.softmax(-1) @ x.mT, (x @ x.mT).view(6, 5, 5)
x = t.ones(2, 3, 4).permute(2, 0, 1) ;; x.sum(0).view(-1), x.softmax(0).view(4, -1), x.cumsum(1).view(-1), x.mean(-1).view(8)
x = t.ones(3, 4).t() ;; x.gather(0, t.zeros(4, 3, dtype=t.int64)), x.scatter(0, t.zeros(1, 3, dtype=t.int64), 5.0), x.topk(2, 0).values
x = t.ones(2, 1, 3) ;; x.expand(2, 5, 3), x.expand(2, 5, 3) + 1, x.expand(2, 5, 3).clone(), x.squeeze(1), x.transpose(1, 2).contiguous()
x = t.ones(4, 6)[::2, ::3] ;; x, x + 1, x.clone(), x.t() * 2, x.is_contiguous(), t.ones(1, 3).t().is_contiguous()
-- complex numbers
z = t.tensor([1 + 2j, 3 - 4j]) ;; z.real, z.imag, z.abs(), z.angle(), z.conj(), z * z, z / (1 + 1j), z.mean(), z**2, z @ z, z == z
z = t.tensor([1 + 2j]) ;; z.real[0] = 9 ;; z.imag += 1 ;; z
z = t.tensor([3 + 4j], requires_grad=True) ;; (z.abs() + (z * z.conj()).real).sum().backward() ;; z.grad
-- names of NumPy
x = t.ones(2, 3) ;; t.cat([x, x], axis=1), t.stack([x, x], axis=2), t.concatenate([x, x], axis=1), x.unsqueeze(axis=0), x[None].squeeze(axis=0)
x = t.ones(2, 3) ;; x.sum(axis=0), x.mean(axis=1, keepdims=True), x.max(axis=0), x.softmax(axis=1), x.chunk(3, axis=1), x.sort(axis=0), x.unbind(axis=1)
x = t.ones(2, 3) ;; t.linalg.norm(x, axis=1, keepdims=True), x.cumsum(axis=0), x.index_select(axis=1, index=t.tensor([0])), t.where(x > 0), x.argmax(axis=0)
-- modes
with t.inference_mode(): x = t.ones(2) ;; x.is_inference(), (x + 1).is_inference(), raised(lambda: x.add_(1)), raised(lambda: x.requires_grad_())
with t.inference_mode(): x = t.ones(2) ;; w = t.ones(2, requires_grad=True) ;; (w + x).requires_grad, raised(lambda: w * x), w * x.clone()
with t.inference_mode(): x = t.ones(2) ;; x.data.add_(1), x, x.view(2, 1).is_inference(), raised(lambda: x._version)
x = t.ones(2, requires_grad=True) ;; exec("with t.no_grad(): x.add_(1); x[0] = 5; y = x.view(2, 1)") ;; x, x._version, raised(lambda: y.mul_(2))
x = t.ones(2) ;; exec("with t.inference_mode(): x.add_(1); y = x.view(2, 1)") ;; y.is_inference(), y.add_(1), x, x._version
f = t.no_grad()(lambda x: x * 2) ;; f(t.ones(1, requires_grad=True)).requires_grad, t.is_grad_enabled()
-- gradients at the edge
x = t.tensor([0.0, -1.0, 2.0], requires_grad=True) ;; (x.relu() + x.abs() + x.clamp(min=0) + x.sign()).sum().backward() ;; x.grad
x = t.tensor([1.0, 1.0], requires_grad=True) ;; (x.max() + x.max(0).values + t.maximum(x, x.detach()).sum()).backward() ;; x.grad
x = t.tensor([0.0], requires_grad=True) ;; (x.sqrt() + x.norm() + x**2 + x**0).sum().backward() ;; x.grad
x = t.tensor([0.0, 2.0], requires_grad=True) ;; x.prod().backward() ;; x.grad
x = t.tensor([1.0, math.nan], requires_grad=True) ;; t.where(x.isnan(), 0.0, x * 2).sum().backward() ;; x.grad
x = t.ones(2, requires_grad=True) ;; w = t.ones(4) ;; y = x * w[:2] ;; w[3] = 9 ;; raised(lambda: y.sum().backward())
x = t.ones(2, requires_grad=True) ;; w = t.ones(2) ;; y = x * w ;; w.data.add_(1) ;; y.sum().backward() ;; x.grad
x = t.zeros(2, 2) ;; y = t.ones(2, requires_grad=True) ;; x[:, 0] += y ;; x[0, 1] = y[0] * 3 ;; x.sum().backward() ;; y.grad, x
x = t.ones(2, requires_grad=True) ;; (np.float32(2) * x + sum([x.sum(), 3])).sum().backward() ;; x.grad
x = t.ones(2, dtype=t.float16, requires_grad=True) ;; (x * t.ones(2)).sum().backward() ;; x.grad
-- corners
x = t.full((100000,), 1e-3) ;; x.cumsum(0)[-1], (x + 0.999).cumprod(0)[-1], x.log().logcumsumexp(0)[-1], x.cumsum(0, dtype=t.float64)[-1], x.cumsum_(0)[-1]
c, b = t.tensor([True, False]), t.tensor([1, 2], dtype=t.uint8) ;; t.where(c, -3, b), t.where(c, b, 255), raised(lambda: t.where(c, 300, b)), t.where(c, b, 2.5), t.where(c, True, b)
x = t.ones(3).expand(2, 3) ;; x.zero_() ;; y = x.fill_(2) ;; y is x, x, x.stride(), raised(lambda: x.add_(1)), raised(lambda: t.ones(2).copy_(t.ones(1, 2)))
r = t.max(t.eye(2), 0) ;; repr(pickle.loads(pickle.dumps(r))), repr(copy.deepcopy(r)), repr(copy.copy(t.linalg.slogdet(t.eye(2))))
x = t.rand(2, 3, 4).permute(2, 0, 1) ;; f = t.nn.functional ;; [f(x).stride() for f in (t.erf, t.lgamma, f.gelu, f.softshrink, f.hardshrink)], x.repeat(1, 1, 1).view(-1).shape
n = t.tensor([[math.nan, 1], [1, 1]]) ;; x = t.stack([t.eye(2), n]) ;; t.linalg.det(x), t.linalg.slogdet(n).logabsdet, t.linalg.inv(x).tolist(), t.linalg.solve(n, t.ones(2))
x = t.empty(3, 2).t() ;; t.manual_seed(0) ;; t.rand(2, 3, out=x).tolist(), t.randint(9, (2, 3), out=x).tolist(), t.rand(2, 3, out=x[:, ::1])
"""

NAMES = {"np": np, "raised": raised, **{m.__name__: m for m in (copy, functools, itertools, math, operator, pickle)}}
programs = Programs("semantics.json")


def described(value):
    """What is compared of a result: of tensors also their class and their strides."""
    if hasattr(value, "stride"):
        numbers = value.detach() if value.device.type != "meta" else list(value.shape)
        return {"class": type(value).__name__, "grad": value.requires_grad, "stride": list(value.stride()), "is": numbers}
    if isinstance(value, dict):
        return {k: described(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [described(v) for v in value]
    return str(value) if isinstance(value, complex) else value


def add_row(line):
    *statements, expression = line.split(" ;; ")

    def program(t):
        names = {"t": t, **NAMES}
        for statement in statements:
            exec(statement, names)
        return described(eval(expression, names))

    program.__name__ = line
    programs(program)


for line in ROWS.strip().splitlines():
    if not line.startswith("--"):
        add_row(line)

test_as_recorded, test_recording_is_what_torch_does = programs.tests()


# ---- several threads


def in_threads(function, count=4):
    failed = []

    def run():
        try:
            function()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_backward_in_several_threads_adds_up():
    w = flambeau.ones(100, requires_grad=True)

    def work():
        for _ in range(100):
            (w * 3).sum().backward()

    in_threads(work)
    assert w.grad.eq(1200).all()


def test_threads_draw_from_one_stream():
    generator = flambeau.Generator().manual_seed(1)
    drawn = []
    in_threads(lambda: drawn.extend(flambeau.rand(50, generator=generator) for _ in range(50)))
    alone = flambeau.rand(10_000, generator=flambeau.Generator().manual_seed(1))
    assert flambeau.cat(drawn).sort().values.equal(alone.sort().values)


def test_modes_belong_to_a_thread():
    seen = []
    with flambeau.no_grad():
        in_threads(lambda: seen.append(flambeau.is_grad_enabled()), 1)
    with flambeau.inference_mode():
        in_threads(lambda: seen.append(flambeau.ones(1).is_inference()), 1)
    assert seen == [True, False]


# ---- memory


def test_a_training_step_leaks_nothing(no_cycle_collector):
    w1, w2 = flambeau.randn(4, 8, requires_grad=True), flambeau.randn(8, 1, requires_grad=True)

    def step():
        loss = ((flambeau.ones(8, 4) @ w1).relu() @ w2 - 1).pow(2).mean()
        loss.backward()
        with flambeau.no_grad():
            for p in (w1, w2):
                p -= 0.001 * p.grad
                p.grad = None

    for _ in range(50):
        step()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(1000):
            step()
        assert tracemalloc.get_traced_memory()[0] - before < 20_000
    finally:
        tracemalloc.stop()


def test_views_writes_and_second_derivatives_leave_no_cycles(no_cycle_collector):
    def step():
        x = flambeau.ones(3, requires_grad=True)
        y = x * 2
        y[0] = 5
        y.view(3, 1).mul_(2)
        y.register_hook(lambda g: g)
        (g,) = flambeau.autograd.grad(y.sum(), x, create_graph=True)
        (g * x).sum().backward()

    step()
    before = len(gc.get_objects())
    for _ in range(20):
        step()
    assert len(gc.get_objects()) - before < 20


# ---- interruptions


def interrupt(*ignored):
    raise KeyboardInterrupt


class InterruptedForward(flambeau.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        interrupt()

    @staticmethod
    def backward(ctx, g):
        return g


class InterruptedBackward(flambeau.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        interrupt()


def hooked(x):
    y = x * 2
    y.register_hook(interrupt)
    y.sum().backward()


def saved(x):
    with flambeau.autograd.graph.saved_tensors_hooks(interrupt, lambda v: v):
        x.exp()


def deep(x):
    with flambeau.inference_mode(), flambeau.no_grad(), flambeau.autograd.detect_anomaly(), flambeau.device("meta"):
        interrupt()


@pytest.mark.filterwarnings("ignore:Anomaly")
@pytest.mark.parametrize("work", [
    hooked, saved, deep, InterruptedForward.apply, lambda x: InterruptedBackward.apply(x).sum().backward(),
], ids=["hook", "pack", "modes", "forward", "backward"])
def test_an_interruption_leaves_no_mode_behind(work):
    x = flambeau.ones(2, requires_grad=True)
    with pytest.raises(KeyboardInterrupt):
        work(x)
    assert flambeau.is_grad_enabled() and not flambeau.is_inference_mode_enabled()
    (flambeau.ones(2) * x).exp().sum().backward()
    assert x.grad.isfinite().all() and x.grad.device.type == "cpu"
