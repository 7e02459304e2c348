"""Wrong calls raise PyTorch's exceptions with clear messages, and leave every tensor unchanged."""

import copy
import math
import pickle
import warnings

import numpy as np
import pytest

import flambeau
from _programs import Programs

# A row is a call and, after =>, what the message must say; several things are separated by &. The names of the
# tensors are those of `some_tensors`.
WRONG = """
-- sizes
t.zeros(10**15) => not enough memory & [1000000000000000] & float32
t.empty(10**15, dtype=t.float64) => 8000000000000000 bytes
t.full((10**15,), 1.0) => [1000000000000000]
t.randn(10**15) => [1000000000000000]
t.eye(10**9) => [1000000000, 1000000000]
t.arange(1e18) => [1000000000000000000]
t.zeros(10**10, 10**10) => [10000000000, 10000000000]
t.zeros(2**63) => 9223372036854775808
m.detach().clone().resize_(10**15) => [1000000000000000]
t.empty(-1) => negative dimension -1
t.zeros(2, -3) => [2, -3]
t.ones(2.5) => 'size' & not float
t.zeros("3") => not str
t.zeros(None) => not NoneType
t.zeros([2, "a"]) => not str
t.zeros(2, [3]) => not list
t.zeros() => "size"
t.full((2,), "x") => 'fill_value' & not str
t.full(2, 3.0) => tuple of ints
t.full((2,)) => 'fill_value'
t.arange(math.inf) => 0 -> inf
t.arange(math.nan) => 0 -> nan
t.arange(0, 10, 0) => nonzero
t.arange(0, 10, -1) => 0 to 10 in steps of -1
t.arange("3") => not str
t.linspace(0, 1, -1) => got -1
t.linspace(0, 1, 2.5) => 'steps' must be int & float
t.eye(3, -1) => got -1
t.empty_strided((2, 3), (1,)) => (2) & (1)
t.empty_strided((2,), (-1,)) => [-1]
m.new_zeros(-1) => [-1]
t.Size([1.5]) => [1.5]
t.hann_window(2.5) => not float
-- data and dtypes
t.tensor([[1, 2], [3]]) => length 2 at dim 1 (got 1)
t.tensor("abc") => 'str'
t.tensor([1, "a"]) => 'str'
t.tensor(None) => NoneType
t.tensor({}) => dict
t.tensor([1, 2], dtype="float32") => torch.dtype & not str
t.tensor([1, 2], [3]) =>
t.tensor([1], devise="cpu") => 'devise'
t.tensor([1, 2], requires_grad=True) => floating point
t.tensor([10**30]) => int64
t.tensor(300, dtype=t.uint8) => uint8 & 300
t.tensor(math.nan, dtype=t.int64) => int64 & nan
t.tensor([math.inf], dtype=t.int64) => inf
t.tensor(1 + 2j, dtype=t.float32) => complex
t.from_numpy([1, 2]) => (got list)
t.from_numpy(np.array(["a"])) => <U1
t.from_numpy(np.arange(3)[::-1]) => array.copy()
t.tensor(np.array([object()])) => object
t.complex(m, m.double()) => Float & Double
t.zeros_like([1, 2]) => not list
t.frombuffer(bytearray(3), dtype=t.float32) => 3 bytes & (4)
t.set_default_dtype(t.int64) => torch.int64
t.finfo(t.int64) => iinfo
t.promote_types(m, t.int64) => torch.dtype
m.to(dtype="float64") => torch.dtype
m.type("torch.Foo") => torch.Foo
m.t().view(t.float64) => stride(-1) & 3
t.zeros(3).view(t.float64) => divisible by 2 & 3
t.view_as_complex(m) => size 2
m.imag => non-complex
-- devices
t.device("gpu") => gpu & cpu, cuda
t.device("cpu", -1) => -1
t.tensor([1], device="cpu:x") => cpu:x
t.tensor([1], device=2.5) => not float
t.Generator("gpu") => gpu
m.to("gpu") => gpu
meta + m => float32[2, 3] on meta & float32[2, 3] on cpu
t.cat([m, meta]) => on meta & on cpu
t.add(m, m, out=meta) => meta & cpu
meta.tolist() => no data
meta.numpy() => no data
meta.sum().item() => no data
meta.cpu() => no data
-- random
t.manual_seed("a") => 'a'
t.manual_seed(None) => NoneType
t.manual_seed(2**65) => 36893488147419103232
t.rand(2, generator=3) => not int
t.rand(2, dtype=t.int64) => Long
t.set_rng_state(t.zeros(3)) => torch.float32
t.set_rng_state(t.zeros(3, dtype=t.uint8)) => 5056 & 3
t.randperm(-1) => -1
t.randint(5, 2, (3,)) => from=5 & to=2
t.normal(0.0, -1.0, (2,)) => -1
t.bernoulli(m) => [0, 1]
t.multinomial(m[0], 10) => 10 > 3
t.multinomial(-m - 1, 1) => element < 0
t.multinomial(t.zeros(3), 1) => sum of probabilities
t.multinomial(t.zeros(2, 0), 2, True) => sum of probabilities
m.uniform_(1, 0) => from=1 & to=0
m.normal_(0, -1) => -1
m.bernoulli_(2.0) => p=2
m.exponential_(-1) => -1
i.normal_() => Long
-- pointwise
m + b => (3) & (4) & dimension 1 & [2, 3], [4]
m * t.zeros(2, 4) => [2, 3], [2, 4]
m / t.zeros(3, 3) => dimension 0
m + "a" => 'str'
m + [1, 2, 3] => 'list'
[1] - m => 'list'
m < "a" => 'str'
m & m => bitwise_and & float32[2, 3] & .long()
m | 1.5 => bitwise_or & float32[2, 3]
~m => torch.float32
m << 1 => .long()
-mask => logical_not()
mask - mask => logical_xor()
1 - mask => `~`
i % 0 => zero
i // t.zeros(2, dtype=t.int64) => zero
t.div(m, 2, rounding_mode="up") => 'up' & 'floor'
t.add(m) => 'other'
t.add(m, m, m) => expected 2 tensors & Tensor, Tensor, Tensor
t.add(m, m, alpha="x") => 'alpha' & str
t.add(m, m, beta=2) => 'beta'
t.add(i, i, alpha=1.5) => alpha
t.mul(m, "a") => 'other' & not str
t.exp("a") => 'input' & not str
t.exp(m, m) => 2
t.clamp(m) => 'min' & 'max'
t.clamp(m, b) => [2, 3], [4]
t.where(m, m, m) => boolean & Float
t.where(m > 0, m, b) => [4]
t.lerp(m, m.double(), 0.5) => torch.float64
t.lerp(m, m, b) => [4]
t.addcdiv(i, i, i) => floating
t.maximum(m, 3) => not int
t.pow(i, -2) => ** -2
c < c => complex64[2] & .abs()
t.isclose(m, i) => Float & Long
t.gcd(m, m) => .long()
t.nan_to_num(m, "x") => 'nan' & str
-- in place
m.add_(b) => [2, 3], [4]
b.add_(t.zeros(2, 4)) => [4] & [2, 4]
i.add_(1.5) => Float & Long & out of place
i.div_(2) => Float & Long
mask.mul_(2.5) => Float & Bool
m.add_(c[:1]) => ComplexFloat
m.copy_(b) => [4]
m.fill_(b) => 1 dimension
m.fill_(1j) => 1j
m.unsqueeze_(5) => [-3, 2] & 5
m.transpose_(0, 5) => [-2, 1] & 5
m.expand(4, 2, 3).add_(1) => clone()
t.from_numpy(np.broadcast_to(np.float32(1), (3,))).mul_(2) => clone()
x.add_(1) => leaf & no_grad()
x.zero_() => leaf & clone()
x[0] = 1 => view of a leaf
x.view(3, 1).mul_(2) => view of a leaf
x += 1 => leaf
x.unsqueeze_(0) => leaf
x.uniform_() => leaf
x.resize_(2) => require grad
m.expand_as(b) => [2, 3] & [4]
m.masked_fill_(m, 0) => torch.float32
m.masked_fill_(mask[:3], m) => 2 dimension
m.masked_fill_(t.ones(5, dtype=t.bool), 0) => [2, 3], [5]
m.masked_scatter_(m > 0, t.zeros(1)) => 1 < 5
m.scatter_(0, i, 1.0) => [2] & [2, 3]
m.scatter_(0, t.tensor([[9]]), 1.0) => index 9 & dimension 0 with size 2
m.scatter_(0, t.tensor([[0]]), 1.0, reduce="max") => 'max'
m.scatter_reduce_(0, t.tensor([[0]]), m, "max") => amax
m.index_add_(0, i, b) => (2) & (4)
m.index_add_(0, t.tensor([0, 5]), t.zeros(2, 3)) => index 5
m.index_copy_(0, i, m.double()) => Float & Double
m.index_put_((t.tensor([7]),), t.tensor(1.0)) => index 7
m.index_put_((t.tensor([0]),), i) => Long & .to(torch.float32)
m.put_(t.tensor([9]), t.tensor([1.0])) => index 9 & 6 elements
m.fill_diagonal_("a") => not str
m.addmm_(m, m) => 2x3 and 2x3
m.cumsum_(5) => 5
m @= b => (2x3) & (4)
m[0] += b => [3], [4]
-- out=
t.exp(m, out=3) => 'out' & not int
t.exp(m, out=i) => Float & Long
t.exp(x, out=t.empty(3)) => automatic differentiation & no_grad()
t.add(m, 1, out=w) => no_grad()
t.zeros(3, out=x) => no_grad()
t.rand(2, 3, out=w) => no_grad()
t.arange(3, out="a") => 'out' & not str
t.arange(3, dtype=t.float64, out=e) => Double & Float
t.randn(2, out=i) => Long
t.add(m, m, out=t.zeros(1).expand(2, 3)) => clone()
t.max(m, 0, out=e) => 2 Tensors
t.max(m, 0, out=(e, t.empty(0))) => torch.int64 & torch.float32
t.sort(m, out=(e, t.empty(0))) => torch.int64
t.argmax(m, out=e) => torch.int64
t.all(m, out=e) => bool & Float
t.sum(i, 0, dtype=t.float64, out=e) => Double
t.matmul(m, m.t(), out=i) => torch.int64
t.mm(m, m.t(), out=t.empty(0, dtype=t.float64)) => torch.float64
t.cat([m, m], out=i) => Long
t.stack([m, m], out=i) => Long
t.index_select(m, 0, i, out=i) => torch.int64
t.linalg.inv(sq, out=i) => torch.int64
-- reductions
m.sum(5) => [-2, 1] & 5
m.sum(-3) => -3
m.sum("a") => 'dim' & str
m.sum(1.5) => float
m.sum((0, -2)) => dim 0
m.sum(axes=0) => 'axes'
m.sum(0, 1) => 'keepdim' & not int & tuple
m.max(0, 1) => 'keepdim'
m.mean((0, 1), 2) => 'keepdim'
m.var(0, 1) => 'unbiased' & not int
m.norm(2, 0, 1) => 'keepdim'
t.sum([m, m]) => not list
i.mean() => Long & dtype=
i.std() => Long & .float()
m.min((0, 1)) => tuple
m.prod((0, 1)) => tuple
e.max() => 'dim'
e.argmax() => 'dim'
e.max(0) => [0]
t.zeros(2, 0).amax(1) => [2, 0]
e.quantile(0.5) => [0]
m.quantile(2.0) => 2.0
m.quantile("a") => 'q' & str
i.quantile(0.5) => torch.int64
m.kthvalue(9) => k=9 & [2, 3]
m.topk(9) => k=9 & [2, 3]
m.topk(1, 5) => 5
m.sort(5) => 5
m.cumsum() => 'dim'
m.cumprod("a") => str
c.max() => complex64[2]
c.sort() => complex
m.std(0, unbiased=True, correction=1) => unbiased & correction
m.norm("x") => x
m.histc(3, 2, 1) => min=2 & max=1
t.bincount(-i - 1) => non-negative
t.bincount(i, weights=b) => [4] & [2]
t.bucketize(m, m) => dim(2)
t.searchsorted(b, m, side="middle") => middle
t.cdist(m, t.zeros(2, 4)) => 3 & 4
t.softmax(m) => 'dim'
t.softmax(i, 0) => .float()
-- products
t.nn.functional.linear(t.ones(2, 3), t.ones(2, 3, 3)) => 2 dimensions & 3D
m @ m => 2x3 and 2x3
m @ b => (2x3) & (4)
s @ m => 0D and 2D
m @ m.t().double() => float != double
m @ "a" => 'str'
t.mm(m, b) => 1-D
t.mv(m, m) => 1, 2, 2
t.dot(b, m[0]) => [4] & [3]
t.bmm(m, m) => [2, 3]
t.bmm(t.zeros(2, 3, 4), t.zeros(2, 3, 4)) => [2, 4] & [2, 3]
t.addmm(b, m, m.t()) => [2, 2] & [4]
t.outer(m, b) => 2-D
t.einsum("ij,jk", m, m) => j & 2 & 3
t.einsum("ijk", m) => (3) & (2)
t.einsum("ij,jk->iz", m, m.t()) => z
t.einsum("i1", m) => 'i1'
t.tensordot(m, m, 1) => 3 & 2
t.linalg.inv(m) => 2 by 3
t.linalg.inv(t.zeros(2, 2)) => singular
t.linalg.inv(b) => [4]
t.linalg.det(i) => [2]
t.linalg.solve(sq, t.zeros(3)) => 2x2 and 3x1
t.linalg.cholesky(-sq) => positive-definite
t.linalg.eigh(m) => 2 by 3
t.linalg.svd(t.full((2, 2), math.nan)) => converge
t.linalg.qr(m, mode="foo") => 'foo'
t.linalg.norm(m, ord="bad") => bad
t.linalg.multi_dot([m, m]) => [2, 3] and [2, 3]
t.cross(b, b) => [4]
t.trace(b) => dim 1
t.triu(b) => [4]
t.fft.fft(m, n=0) => (0)
t.fft.fft(m, norm="x") => "x"
-- joins and shapes
t.cat([]) => non-empty
t.cat([m, b]) => 2 and 1
t.cat([m, t.zeros(2, 4)]) => [2, 3] and [2, 4] & number 1
t.cat([m, m], 2) => [-2, 1] & 2
t.cat([m, "a"]) => element 1 & str
t.cat(m) => tuple of Tensors
t.cat([s, s]) => zero-dimensional
t.stack([m, b]) => [2, 3] & [4]
t.stack([m, m], 5) => [-3, 2]
t.split(m, [1, 2, 3]) => exactly to 2 & [1, 2, 3]
t.split(m, -1) => -1
t.chunk(m, 0) => 0
t.unbind(s) => no dimensions
t.meshgrid(b, b, indexing="xx") => xx
m.view(4) => '[4]' & size 6
m.view(-1, -1) => inferred
m.view(-2, 3) => [-2, 3]
m.t().view(6) => .reshape(...) & [3, 2] & [1, 3]
m.reshape(4, -1) => '[4, -1]' & size 6
m.reshape("a") => str
e.view(-1, 0) => [-1, 0]
m.expand(3, 3) => [3, 3] & [2, 3]
m.expand(2) => [2, 3] & [2]
m.repeat(2) => (1 and 2)
m.permute(0, 0) => [0, 0]
m.permute(0, 1, 2) => 2 & 3
m.transpose("a", 0) => str
m.movedim((0, 1), (0,)) => [0, 1] & [0]
t.zeros(2, 2, 2).t() => 3D
b.mT => 1-D
m.squeeze(5) => 5
m.unsqueeze(-4) => [-3, 2] & -4
m.flatten(1, 0) => start_dim
m.unflatten(0, (3, 3)) => [3, 3] & (2)
m.narrow(0, 0, 5) => (5) & (2)
m.narrow(0, 0, -1) => -1
m.select(0, 5) => 5 & [2, 3]
m.unfold(0, 5, 1) => 2 & 5
m.as_strided((9,), (9,)) => [9] & 292 & 24
m.as_strided((2,), (-1,)) => [-1]
m.flip(0, 0) => dim 0
m.roll(1, (0, 1)) => 1 & 2
m.rot90(1, (0, 0)) => 0
m.repeat_interleave(t.tensor([1, 2, 3]), 0) => 3 & 2
t.broadcast_tensors(m, b) => [2, 3], [4]
t.broadcast_shapes((2, 3), (4,)) => [2, 3], [4]
t.nn.functional.pad(m, (-5, 0)) => -5
-- indexing
m[5] => index 5 & dimension 0 with size 2
m[0, 5] => index 5 & dimension 1 with size 3
m[0, 0, 0] => dimension 2
m["a"] => 'a'
m[1.5] => float
m[[0, 5]] => index 5
m[t.tensor([-3])] => index -3
m[t.tensor([0.5])] => torch.float32
m[i, t.tensor([0, 1, 2])] => 2 & 3
m[mask] => [4] & [2, 3]
m[::-1] => greater than zero
s[0] => item()
e[0] => size 0
m[5] = 1 => index 5
m[0] = "a" => str
m[0] = [1, 2] => list
m[0] = b => [4] & [3]
m[t.tensor([0, 5])] = 1 => index 5
m[mask] = 1 => [4]
m[m > 0] = t.zeros(99) => [99] & [5]
m[0] = 1j => 1j
del m[0] => cat
m.gather(0, i) => [2] & [2, 3]
m.gather(0, t.tensor([[9]])) => index 9
m.gather(0, t.zeros(5, 9, dtype=t.int64)) => [5, 9] & [2, 3]
m.index_select(0, t.tensor([5])) => index 5
m.index_select(0, m) => vector & [2, 3]
m.take(t.tensor([9])) => index 9
m.masked_select(t.ones(5, dtype=t.bool)) => [2, 3], [5]
-- Python
bool(m) => [2, 3] & .any()
bool(e) => no values
int(m) => [2, 3]
float(c[0]) => (1+2j)
m.item() => 6 elements & [2, 3]
e.item() => 0 elements
len(s) => 0-d
list(s) => 0-d
range(m) => torch.float32 & [2, 3]
[1, 2][i] => [2]
math.sqrt(m) => [2, 3]
x.numpy() => detach()
np.asarray(x) => detach()
t.ones(1, dtype=t.bfloat16).numpy() => .float()
"a" in m => str
m.foo => 'foo'
f"{m:.2f}" => format
sorted([m, m]) => ambiguous
sum([m, b]) => [4]
pow(m, 2, 3) => __pow__
m.shape = (3, 2) => 'shape'
-- autograd
t.set_grad_enabled(1) => set_grad_enabled & must be bool & not int
m.backward() => does not require grad
y.backward() => scalar & [3]
y.backward(t.ones(2)) => [2] & [3]
y.backward("a") => str
y.backward(3.0) => float
y.backward(t.ones(3, dtype=t.complex64)) => torch.complex64
y.sum().backward(inputs=[]) => empty
y.sum().backward(inputs=[m]) => [2, 3]
y.sum().backward(inputs="a") => str
t.autograd.grad(y, x) => [3]
t.autograd.grad(y.sum(), w) => allow_unused
t.autograd.grad(y.sum(), m) => require grad
t.autograd.grad(y.sum(), "a") => str
t.autograd.grad("a", x) => str
t.autograd.grad(y.sum(), []) => empty
t.autograd.grad(y, x, t.ones(5)) => [5] & [3]
t.autograd.backward([y, y], [t.ones(3)]) => 2 tensors and 1
z = (x * x).sum(); t.autograd.grad(z, x); t.autograd.grad(z, x) => retain_graph=True
z = x.exp(); z.add_(1); z.sum().backward() => ExpBackward0 & add_ & FloatTensor [3] & clone()
z = x * 2; u = z * z; z[0] = 1; u.sum().backward() => MulBackward0 & version 1
m.register_hook(print) => require
y.register_post_accumulate_grad_hook(print) => non-leaf
m.retain_grad() => requires_grad=False
copy.deepcopy(y) => detach()
x[0:2].detach_() => detach()
x.grad = 3 => int
x.grad = t.zeros(2) => [2] & [3]
x.grad = t.zeros(3, dtype=t.float64) => torch.float64
x.grad = t.zeros(3, device="meta") => meta
x.grad = x => own grad
x.data = 3 => int
x.requires_grad_("a") => str
i.requires_grad = True => floating
y.requires_grad = False => detach()
frozen.add_(1) => clone
frozen.requires_grad_() => InferenceMode
(w[0, :2] * frozen).sum() => clone
t.autograd.gradcheck(lambda x: x, m) => requires_grad=True
t.autograd.functional.hessian(lambda x: x, x) => single
"""


def some_tensors(t):
    """The names that the rows use."""
    x = t.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with t.inference_mode():
        frozen = t.ones(2)
    return {
        "m": t.arange(6.0).reshape(2, 3), "b": t.arange(4.0), "i": t.tensor([0, 1]), "c": t.tensor([1 + 2j, 3j]),
        "mask": t.tensor([True, False, True, True]), "e": t.empty(0), "s": t.tensor(3.0),
        "sq": t.tensor([[2.0, 1.0], [1.0, 3.0]]), "meta": t.ones(2, 3, device="meta"),
        "x": x, "w": t.ones(2, 3, requires_grad=True), "y": x * 2, "frozen": frozen,
    }


def attempt(call, t, names):
    """The exception that a call raises, or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(call, {"t": t, "np": np, "math": math, "copy": copy, "pickle": pickle}, names)
    except Exception as error:
        return error
    return None


programs = Programs("bad_input.json")
SAYS = {}


def row(line):
    call, says = (part.strip() for part in line.split("=>"))

    def program(t):
        return type(attempt(call, t, some_tensors(t))).__name__.lstrip("_")

    program.__name__ = call
    programs(program)
    SAYS[call] = [part.strip() for part in says.split("&")]


for line in WRONG.strip().splitlines():
    if not line.startswith("--"):
        row(line)

test_raises_as_recorded, test_recording_is_what_torch_raises = programs.tests()


@pytest.mark.parametrize("call", SAYS)
def test_says_what_is_wrong(call):
    message = str(attempt(call, flambeau, some_tensors(flambeau)))
    assert [part for part in SAYS[call] if part not in message] == [], message


def looks(t):
    """All that a failed call must not change."""
    elements = t.detach().numpy().tobytes() if t.device.type == "cpu" else None
    place = (t.requires_grad, t.is_leaf, t.grad_fn, t.grad if t.is_leaf else None)
    return elements, t.shape, t.stride(), t.dtype, None if t.is_inference() else t._version, *place


@pytest.mark.parametrize("call", SAYS)
def test_leaves_tensors_as_they_were(call):
    names = some_tensors(flambeau)
    tensors = dict(names)
    before = {name: looks(t) for name, t in tensors.items()}
    assert attempt(call, flambeau, names) is not None
    assert [name for name, t in tensors.items() if looks(t) != before[name]] == []
    assert all(names[name] is t for name, t in tensors.items())


@pytest.mark.parametrize("device", ["mps", "hpu:1"])
def test_error_for_a_missing_device_names_the_alternatives(device):
    with pytest.raises(RuntimeError, match=f"{device.partition(':')[0]}.* cpu"):
        flambeau.zeros(2, device=device)
