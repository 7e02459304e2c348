"""Views: shared memory, strides, and gradients through writes to them.

Each case is a small program that runs on PyTorch and on Flambeau: a tensor of some memory layout, one or two views
of it, and writes. The programs are drawn at random; the table VIEWS has a row for each view.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import flambeau
from _oracle import check_code, outcome, to_array

RANDOMLY = settings(max_examples=9, derandomize=True, suppress_health_check=list(HealthCheck))


# ---- tensors of all layouts


@st.composite
def layouts(draw, least=1, most=4):
    """(shape of the leaf, steps from it to a tensor): the last of the steps may leave gaps, offsets and odd orders."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=least, max_size=most)))
    kind = draw(st.sampled_from(["plain", "permuted", "sliced", "expanded", "permuted copy", "permuted slice"]))
    if kind == "permuted copy":
        shape = tuple([max(n, 2) for n in shape])  # the strides that arithmetic gives dimensions of size one are free
    order = tuple(draw(st.permutations(range(len(shape)))))
    return shape, kind, order


def with_layout(leaf, kind, order):
    """A tensor made of the leaf (times one): the base, and the tensor itself where it is a view of the base."""
    if kind == "permuted copy":
        base = leaf.permute(order) * 1  # not contiguous, and nobody's view
        return base, base
    base = leaf.expand(2, *leaf.shape).clone() if kind == "expanded" else leaf * 1
    x = base
    if kind == "expanded":
        x = x[1]
    if "permuted" in kind:
        x = x.permute(order)
    if "slice" in kind:
        x = x[tuple(slice(n > 2, None, 1 + (n > 3)) for n in x.shape)]
    return base, x


def shape_of(layout):
    shape, kind, order = layout
    return tuple(with_layout(flambeau.zeros(*shape), kind, order)[1].shape)


# ---- the views: (draw, shape) -> arguments, or None where there are none; and the call


def row(call, arguments=lambda draw, shape: ()):
    return call, arguments


def a_dim(draw, shape):
    return draw(st.integers(-len(shape), len(shape) - 1))


def two_dims(draw, shape):
    return tuple(draw(st.permutations(range(len(shape))))[:2]) if len(shape) > 1 else None


def regrouped(draw, shape):
    """The same number of elements in another shape."""
    count, sizes = int(np.prod(shape)), []
    while count > 1:
        n = draw(st.sampled_from([d for d in range(1, count + 1) if count % d == 0]))
        sizes.append(n)
        count //= n
    if draw(st.booleans()) and sizes:
        sizes[draw(st.integers(0, len(sizes) - 1))] = -1
    return (tuple(sizes),)


def merged(draw, shape):
    start = draw(st.integers(0, len(shape) - 1))
    return start, draw(st.integers(start, len(shape) - 1))


def a_slice(draw, shape):
    dim = draw(st.integers(0, len(shape) - 1))
    start = draw(st.integers(0, shape[dim]))
    return dim, start, draw(st.integers(0, shape[dim] - start))


def a_place(draw, shape):
    dim = draw(st.integers(0, len(shape) - 1))
    return dim, draw(st.integers(-shape[dim], shape[dim] - 1))


def a_key(draw, shape):
    entries = [
        draw(st.sampled_from([0, -1, slice(None), slice(1, None), slice(None, None, 2), slice(-2, None)]))
        for _ in shape
    ]
    entries.insert(draw(st.integers(0, len(entries))), Ellipsis)
    return (tuple(entries),)


def expansion(draw, shape):
    lead = draw(st.lists(st.integers(1, 2), max_size=2))
    return ((*lead, *[draw(st.integers(1, 3)) if n == 1 else draw(st.sampled_from([n, -1])) for n in shape]),)


def windows(draw, shape):
    dim = a_dim(draw, shape)
    return dim, draw(st.integers(1, shape[dim])), draw(st.integers(1, 2))


def pieces(draw, shape):
    dim = a_dim(draw, shape)
    return draw(st.integers(1, shape[dim])), dim, draw(st.integers(0, 3))


def cuts(draw, shape):
    dim = a_dim(draw, shape)
    first = draw(st.integers(0, shape[dim]))
    return [first, shape[dim] - first], dim, draw(st.integers(0, 1))


def strided(draw, shape):
    """A geometry within the first elements of the storage, without overlap."""
    size = tuple(draw(st.lists(st.integers(1, 2), max_size=3)))
    step, strides = 1, []
    for n in size:
        strides.append(step)
        step *= n
    order = draw(st.permutations(range(len(size))))
    offset = draw(st.sampled_from([None, 0, 1]))
    return tuple(size[i] for i in order), tuple(strides[i] for i in order), offset


def diagonals(draw, shape):
    return (draw(st.integers(-2, 2)), *two_dims(draw, shape)) if len(shape) > 1 else None


VIEWS = {
    "view": row(lambda x, size: x.view(size), regrouped),
    "view_as": row(lambda x: x.view_as(x)),
    "reshape": row(lambda x, size: x.reshape(size), regrouped),
    "flatten": row(lambda x, *dims: x.flatten(*dims), merged),
    "ravel": row(lambda x: x.ravel()),
    "unflatten": row(lambda x, dim: x.unflatten(dim, (1, -1)), lambda draw, shape: (a_dim(draw, shape),)),
    "squeeze": row(lambda x: x.squeeze()),
    "squeeze dim": row(lambda x, dim: x.squeeze(dim), lambda draw, shape: (a_dim(draw, shape),)),
    "squeeze dims": row(lambda x, *dims: x.squeeze(dims), two_dims),
    "unsqueeze": row(lambda x, dim: x.unsqueeze(dim), lambda draw, shape: (draw(st.integers(-1, len(shape))),)),
    "transpose": row(lambda x, *dims: x.transpose(*dims), two_dims),
    "swapaxes": row(lambda x, *dims: x.swapaxes(*dims), two_dims),
    "t": row(lambda x: x.t()),
    "T": row(lambda x: x.T, lambda draw, shape: () if len(shape) == 2 else None),
    "mT": row(lambda x: x.mT),
    "mH": row(lambda x: x.mH),
    "permute": row(
        lambda x, dims: x.permute(dims), lambda draw, shape: (tuple(draw(st.permutations(range(len(shape))))),)
    ),
    "movedim": row(lambda x, a, b: x.movedim(a, b), two_dims),
    "expand": row(lambda x, size: x.expand(size), expansion),
    "narrow": row(lambda x, *part: x.narrow(*part), a_slice),
    "select": row(lambda x, *place: x.select(*place), a_place),
    "index": row(lambda x, key: x[key], a_key),
    "unbind": row(lambda x, dim: x.unbind(dim)[-1], lambda draw, shape: (a_dim(draw, shape),)),
    "split": row(lambda x, n, dim, i: x.split(n, dim)[i % len(x.split(n, dim))], pieces),
    "split sizes": row(lambda x, sizes, dim, i: x.split(sizes, dim)[i], cuts),
    "chunk": row(lambda x, n, dim, i: x.chunk(n, dim)[i % len(x.chunk(n, dim))], pieces),
    "tensor_split": row(lambda x, n, dim, i: x.tensor_split(n, dim)[i % n], pieces),
    "diagonal": row(lambda x, *where: x.diagonal(*where), diagonals),
    "unfold": row(lambda x, *windows: x.unfold(*windows), windows),
    "window": row(lambda x, *windows: x.unfold(*windows)[..., 0], windows),
    "as_strided": row(lambda x, *geometry: x.as_strided(*geometry), strided),
    "alias": row(lambda x: x[...]),
}
OVERLAPPING = {"unfold", "expand"}


@st.composite
def cases(draw, name, least=1):
    """A layout and arguments for a view of it."""
    layout = draw(layouts(least))
    arguments = VIEWS[name][1](draw, shape_of(layout))
    return layout, arguments


# ---- the programs


def leaf_of(t, shape, scale=1.0):
    values = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    return t.from_numpy(values * np.float32(scale) + 1)


def trying(program, *arguments):
    """What a program returns, or the type of its exception."""
    try:
        return program(*arguments)
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        return type(error).__name__


def look(t, layout, name, arguments):
    """Values, strides and place in memory of a view."""
    base, x = with_layout(leaf_of(t, layout[0]), *layout[1:])
    v = VIEWS[name][0](x, *arguments)
    aliased = v.data_ptr() - base.data_ptr() if v.numel() and v._base is base else None
    strides = v.stride() if v.numel() else None
    return [v, strides, v.is_contiguous(), v.storage_offset() if v.numel() else None, aliased, v._is_view()]


def write(t, layout, name, arguments):
    """A write to the view is seen by the base, one to the base by the view; both count versions."""
    base, x = with_layout(leaf_of(t, layout[0]), *layout[1:])
    v = VIEWS[name][0](x, *arguments)
    v.mul_(3)
    seen = base.clone()
    base.add_(1)
    return [seen, v.clone(), base._version, x._version, v._version]


def differentiate(t, layout, name, arguments, action, again):
    """Gradients when a view (or a view of the view) of a recorded tensor is written to."""
    leaf = leaf_of(t, layout[0]).requires_grad_()
    base, x = with_layout(leaf, *layout[1:])
    v = VIEWS[name][0](x, *arguments)
    witness = VIEWS[name][0](x, *arguments)
    target = v[..., :1] if again and v.dim() else v
    w = leaf_of(t, tuple(target.shape), 0.5).requires_grad_()
    if action == "mul":
        target.mul_(2)
    elif action == "add":
        target.add_(w)
    elif action == "mul w":
        target.mul_(w)
    else:
        target.copy_(w)
    ((base * leaf_of(t, tuple(base.shape), 0.25)).sum() + (v * v).sum() + witness.sum()).backward()
    return [leaf.grad, w.grad, x._version]


def differentiate_base(t, layout, name, arguments):
    """A write to the base after the view was taken: the view's gradient goes through the write."""
    leaf = leaf_of(t, layout[0]).requires_grad_()
    base, x = with_layout(leaf, *layout[1:])
    v = VIEWS[name][0](x, *arguments)
    base.mul_(leaf_of(t, tuple(base.shape), 0.25))
    (v * leaf_of(t, tuple(v.shape), 0.5)).sum().backward()
    return [leaf.grad, v._version]


def twice(t, layout, name, arguments):
    """The gradient of a gradient through a view."""
    leaf = leaf_of(t, layout[0], 0.1).requires_grad_()
    _, x = with_layout(leaf, *layout[1:])
    v = VIEWS[name][0](x, *arguments)
    w = leaf_of(t, tuple(v.shape), 0.5).requires_grad_()
    grad, = t.autograd.grad((v * v * v * w).sum(), leaf, create_graph=True)
    (grad * grad).sum().backward()
    return [grad, leaf.grad, w.grad]


def spoil(t, layout, name, arguments):
    """A tensor that was saved for backward and then written to, through another view of it."""
    leaf = leaf_of(t, layout[0]).requires_grad_()
    _, x = with_layout(leaf, *layout[1:])
    v = VIEWS[name][0](x, *arguments)
    saved = v * v
    x.mul_(2)
    saved.sum().backward()


def plain(result):
    """A result with its tensors as arrays."""
    if isinstance(result, list | tuple):
        return [plain(r) for r in result]
    return to_array(result) if hasattr(result, "detach") else result


def agree(program, *arguments):
    import torch

    want, got = plain(trying(program, torch, *arguments)), plain(trying(program, flambeau, *arguments))
    assert isinstance(want, str) == isinstance(got, str), f"torch: {want!r}, flambeau: {got!r}"
    if isinstance(want, str) or want is None:
        assert got == want
        return
    assert len(got) == len(want)
    for g, w in zip(got, want):
        if isinstance(w, np.ndarray):
            assert g.dtype == w.dtype and g.shape == w.shape
            np.testing.assert_allclose(g, w, rtol=1e-5)
        else:
            assert g == w, f"torch: {want!r}, flambeau: {got!r}"


def randomly(program):
    """A test of `program` on each view."""

    @pytest.mark.oracle
    @pytest.mark.parametrize("name", VIEWS)
    def test(name):
        pytest.importorskip("torch")

        @RANDOMLY
        @given(st.data())
        def run(data):
            layout, arguments = data.draw(cases(name))
            if arguments is not None:
                program(data, layout, name, arguments)

        run()

    return test


@randomly
def test_a_view_has_torchs_strides_and_offset(data, layout, name, arguments):
    agree(look, layout, name, arguments)


@randomly
def test_writes_go_through(data, layout, name, arguments):
    if name not in OVERLAPPING:
        agree(write, layout, name, arguments)


@randomly
def test_gradients_of_a_write_to_a_view(data, layout, name, arguments):
    if name not in OVERLAPPING:
        action = data.draw(st.sampled_from(["mul", "add", "mul w", "copy"]))
        agree(differentiate, layout, name, arguments, action, data.draw(st.booleans()))


@randomly
def test_gradients_of_a_write_to_the_base(data, layout, name, arguments):
    agree(differentiate_base, layout, name, arguments)


@randomly
def test_second_derivatives(data, layout, name, arguments):
    agree(twice, layout, name, arguments)


@randomly
def test_a_spoilt_saved_tensor_is_noticed(data, layout, name, arguments):
    agree(spoil, layout, name, arguments)


# ---- particular stories


LEAF = "leaf = torch.arange(1., 13.).reshape(3, 4).requires_grad_(); base = leaf * 1; w = torch.arange(1., 13.).reshape(3, 4); "
COMPLEX = "leaf = torch.arange(6.).to(torch.complex64).requires_grad_(); base = leaf * (1 + 1j); "

STORIES = [
    # complex memory seen as real, and back
    COMPLEX + "torch.view_as_real(base).mul_(2); (base * base.conj()).real.sum().backward(); leaf.grad",
    COMPLEX + "base.real.mul_(3); (base * base.conj()).real.sum().backward(); leaf.grad",
    COMPLEX + "base.imag[1:].copy_(torch.ones(5)); base.real.sum().backward(); leaf.grad",
    LEAF + "z = torch.view_as_complex(base.view(3, 2, 2)); z.mul_(1j); (base * w).sum().backward(); leaf.grad",
    LEAF + "z = torch.view_as_complex(base.view(3, 2, 2)); z[0].imag.mul_(2); (base * w).sum().backward(); leaf.grad",
    # the tensor itself becomes a view
    LEAF + "base.t_(); base[0].mul_(2); (base * w.t()).sum().backward(); leaf.grad",
    LEAF + "v = base[1:]; v.t_(); v.mul_(2); (base * w).sum().backward(); (leaf.grad, v.shape, v._version, base._version)",
    LEAF + "v = base.view(12); v.unsqueeze_(0); v.mul_(w.view(1, 12)); (base * w).sum().backward(); leaf.grad",
    LEAF + "base.transpose_(0, 1); base.unsqueeze_(1); (base.squeeze() * w.t()).sum().backward(); (leaf.grad, base.stride())",
    LEAF + "leaf.t_()", LEAF + "leaf[0].unsqueeze_(0)", LEAF + "base.detach().t_().shape",
    # writes that are refused
    LEAF + "leaf.add_(1)", LEAF + "leaf[0].add_(1)", LEAF + "leaf.view(12)[0].add_(1)", LEAF + "base.unbind()[0].add_(1)",
    LEAF + "base.split(1)[0][0].add_(1)", LEAF + "base.chunk(2)[1].mul_(2)", LEAF + "base.tensor_split(2)[0].mul_(2)",
    LEAF + "w.unbind()[0].mul_(leaf[0])", LEAF + "w.unbind()[0].mul_(2)", LEAF + "base.expand(2, 3, 4).mul_(2)",
    LEAF + "base.expand(2, 3, 4)[0].mul_(2).sum().backward(); leaf.grad", LEAF + "v = w[0].requires_grad_(); v.mul_(2)",
    # views whose base was written to
    LEAF + "v = base[0]; base.mul_(2); v.sum().backward(); leaf.grad", LEAF + "v = base.unbind()[0]; base.mul_(2); v * 1",
    LEAF + "v = base.unbind()[0]; base.mul_(2); v.requires_grad", LEAF + "v = w[0]; w.mul_(leaf); (v.sum().backward(), leaf.grad)[1]",
    LEAF + "v = w[0]; u = w[1]; v.mul_(leaf[0]); (u.requires_grad, u.is_leaf, w.requires_grad)",
    LEAF + "v = base[0]; u = v[1:]; v.mul_(2); u.mul_(3); base.mul_(w); (v.sum() + u.sum()).backward(); (leaf.grad, u._version)",
    # what is saved, and what is not
    LEAF + "v = base[0]; s = v * v; v.mul_(2); s.sum().backward()", LEAF + "v = base[0]; s = v + v; v.mul_(2); s.sum().backward(); leaf.grad",
    LEAF + "v = base[0]; s = base[1] * 2; v.mul_(2); s.sum().backward(); leaf.grad",
    LEAF + "s = base * base; base.detach()[0].mul_(2); s.sum().backward()", LEAF + "s = base * base; base.data[0].mul_(2); s.sum().backward(); leaf.grad",
    # without recording
    """
leaf = torch.ones(3, 4, requires_grad=True)
v = leaf[0]
with torch.no_grad():
    leaf.mul_(2)
v.sum().backward()
(leaf.grad, v, v._version)
""",
    """
base = torch.ones(3, 4, requires_grad=True) * 1
v = base[0]
with torch.no_grad():
    v.mul_(2)
    u = v * 2
(v.requires_grad, u.requires_grad, v.is_leaf, base)
""",
    """
leaf = torch.ones(3, 4, requires_grad=True)
with torch.no_grad():
    v = leaf[0]
    v.mul_(2)
    v.add_(v)
(leaf, leaf._version)
""",
    """
leaf = torch.ones(3, 4, requires_grad=True)
with torch.no_grad():
    v = leaf[0]
v.mul_(2)
""",
    """
leaf = torch.ones(3, 4, requires_grad=True)
with torch.no_grad():
    v = leaf[0]
(v.requires_grad, v.is_leaf, v.grad_fn)
""",
    """
leaf = torch.ones(3, 4, requires_grad=True)
v = leaf.chunk(2)[0]
with torch.no_grad():
    leaf.mul_(2)
v * 2
""",
]


@pytest.mark.oracle
@pytest.mark.parametrize("code", STORIES)
def test_stories(code):
    pytest.importorskip("torch")
    check_code(code)


# ---- without torch


def test_a_view_shares_memory_with_its_base():
    base = flambeau.zeros(3, 4)
    row, column, flat = base[1], base.t()[2], base.view(-1)
    row.fill_(1)
    column.add_(2)
    flat[0] = 9
    assert base.tolist() == [[9, 0, 2, 0], [1, 1, 3, 1], [0, 0, 2, 0]]
    assert (row._version, base._version) == (3, 3)
    assert flat._base is base and column._base is base


def test_a_write_to_a_view_of_a_recorded_tensor():
    leaf = flambeau.ones(2, 3, requires_grad=True)
    base = leaf * 2
    base[:, 1].mul_(5)
    assert base.grad_fn.name() == "torch::autograd::CopySlices"
    base.sum().backward()
    assert leaf.grad.tolist() == [[2, 10, 2], [2, 10, 2]]


def test_strides_of_dimensions_of_size_one():
    x = flambeau.zeros(3, 4)
    assert x.unsqueeze(0).stride() == (12, 4, 1)
    assert x.unsqueeze(2).stride() == (4, 1, 1)
    assert x.t().unsqueeze(1).stride() == (1, 12, 4)
    assert x.t().view(4, 1, 3).stride() == (1, 12, 4)
    assert x[:1].expand(1, 1, 4).stride() == (4, 4, 1)


# Calls that have nothing to do: PyTorch gives some of them new memory, and others the tensor itself or a view.
IDLE = """
F.pixel_shuffle(x, 1)  F.pixel_unshuffle(x, 1)  F.channel_shuffle(x, 1)  F.channel_shuffle(x, 4)  F.unfold(x, 1)
F.unfold(x, 2)  F.pad(x, (0, 0))  F.pad(x, (0, 0), mode='reflect')  F.pad(x, (0, 0), mode='circular')  F.dropout(x, 0.0)
F.dropout(x, 0.5, False)  F.max_pool2d(x, 1)  F.avg_pool2d(x, 1)  F.adaptive_avg_pool2d(x, (2, 2))  F.relu(x)
F.interpolate(x, scale_factor=1)  F.interpolate(x, size=(2, 2), mode='bilinear')  F.hardtanh(x, -99, 99)
F.leaky_relu(x, 1.0)  torch.roll(x, 0)  torch.roll(x, 0, 0)  torch.flip(x, ())  torch.rot90(x, 0)  torch.tile(x, ())
x.repeat(1, 1, 1, 1)  x.repeat_interleave(1, 0)  torch.cat([x])  torch.stack([x])  torch.hstack([x])
torch.block_diag(x)  torch.atleast_1d(x)  torch.flatten(x)  x.reshape(-1)  x.reshape(x.shape)  x.contiguous()
x.to(torch.float32)  x.cpu()  x.type(torch.float32)  x.expand_as(x)  torch.movedim(x, 0, 0)  torch.sum(x, 0)
torch.amax(x, 0)  torch.amax(x, ())  torch.cumsum(x, 0)  x.cummax(0)[0]  torch.diff(x, n=0)  torch.sort(x, 0)[0]
torch.clamp(x, -99, 99)  torch.nan_to_num(x)  torch.positive(x)  torch.abs(x)  torch.round(x)  torch.real(x)
torch.conj_physical(x)  torch.pow(x, 1)  x * 1  x + 0  torch.where(x == x, x, x)  torch.lerp(x, x, 0.0)  torch.tril(x)
torch.einsum('...->...', x)  torch.einsum('i...->i...', x)  torch.matrix_power(x, 1)  torch.chain_matmul(x)
torch.renorm(x, 2, 0, 1e9)  torch.index_select(x, 0, torch.arange(x.shape[0]))  x[torch.arange(x.shape[0])]  x[...]
x[:]  torch.masked_fill(x, x != x, 0)  torch.slice_scatter(x, x, 0)  torch.chunk(x, 1)[0]  torch.split(x, 99)[0]
torch.broadcast_to(x, x.shape)  torch.cartesian_prod(x)  torch.as_tensor(x)  torch.asarray(x)  x.new_tensor(x)  x.T
torch.fft.ifftshift(x, 0)  torch.nansum(x, 0)  torch.median(x, 0)[0]  torch.nn.Identity()(x)  torch.nn.Flatten()(x)
torch.nn.Dropout(0.0)(x)  torch.nn.ZeroPad2d(0)(x)  torch.nn.utils.parameters_to_vector([x])  torch.sub(x, 0)
"""


@pytest.mark.oracle
@pytest.mark.parametrize("call", [call for line in IDLE.splitlines() for call in line.split("  ") if call])
def test_trivial_calls_share_memory_as_in_pytorch(call):
    import torch

    for start in ("arange(16.0).reshape(1, 4, 2, 2)", "ones(1, 4, 1, 1)", "ones(4, 4)", "arange(4.0)", "tensor(2.0)"):
        shares = f"x = torch.{start}; y = {call}; (y.data_ptr() == x.data_ptr(), y is x, tuple(y.shape))"
        names = [{"F": library.nn.functional} for library in (flambeau, torch)]
        got, want = outcome(shares, flambeau, **names[0])[0], outcome(shares, torch, **names[1])[0]
        assert got == want, start
