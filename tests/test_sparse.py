"""Sparse tensors: the same programs on both libraries, and Flambeau's own behaviour."""

import copy
import io
import pickle

import pytest

import flambeau
from _programs import Programs, raised

programs = Programs("sparse.json")

PLACES = [[0, 1, 1], [2, 0, 0]]


def matrix(t, values=(3.0, 4.0, 5.0), places=PLACES, **settings):
    return t.sparse_coo_tensor(places, list(values), (2, 3), **settings)


def rows(t):
    return t.sparse_coo_tensor([[1, 0, 1]], [[3.0, 4.0], [5.0, 6.0], [7.0, 8.0]], (3, 2))


@programs
def making(t):
    parts = t.tensor([[0, 5]]), t.tensor([1.0, 2.0])
    return [
        repr(matrix(t)), repr(rows(t)), repr(t.sparse_coo_tensor(*parts)), repr(t.sparse_coo_tensor((2, 3))),
        repr(t.sparse_coo_tensor(size=(2, 0))), repr(matrix(t, dtype=t.float64, requires_grad=True)),
        repr(t.eye(3).to_sparse()), repr(t.eye(3).to_sparse(1)), repr(rows(t).coalesce()), repr(matrix(t).double()),
        raised(lambda: t.sparse_coo_tensor([[0, 1]], [1.0, 2.0, 3.0], (2,))),
        raised(lambda: t.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2, 3))),
        raised(lambda: t.sparse_coo_tensor([[0, 1]], [[1.0], [2.0]], (2, 3))),
        raised(lambda: t.sparse_coo_tensor([[0, 5]], [1.0, 2.0], (2,), check_invariants=True)),
        raised(lambda: t.sparse_coo_tensor([[0, -1]], [1.0, 2.0], (2,), check_invariants=True)),
        raised(lambda: t.eye(3).to_sparse(4)),
    ]


@programs
def questions(t):
    x, y, dense = matrix(t), rows(t), t.ones(2, 3)
    return [
        x.is_sparse, str(x.layout), x.shape, x.ndim, x.numel(), x.element_size(), len(x), x.stride(), x.is_contiguous(),
        (x.sparse_dim(), x.dense_dim(), y.sparse_dim(), y.dense_dim(), dense.sparse_dim(), dense.dense_dim()),
        x._nnz(), x.is_coalesced(), x._indices(), x._values(), x.coalesce().indices(), x.coalesce().values(),
        x.coalesce()._nnz(), x.coalesce().is_coalesced(), x.to_dense(), y.to_dense(), dense.to_dense(), x.is_leaf,
        raised(x.indices), raised(x.values), raised(dense.coalesce), raised(dense._nnz), raised(dense.indices),
        raised(x.numpy), raised(lambda: x.nbytes), raised(lambda: x.to_dense(t.float64)),
    ]


@programs
def arithmetic(t):
    x, y, dense, number = matrix(t), matrix(t, places=[[0, 1, 1], [2, 1, 0]]), t.arange(6.0).reshape(2, 3), t.tensor(2.0)
    results = [
        x + x, x + y, x - y, dense + x, dense - x, t.add(dense, x, alpha=-0.5), x * 2, 2 * x, x * dense, dense * x,
        x * y, x * number, x / 2, -x, abs(-x), x.sqrt(), x**2, x.square(), x.sin(), x.relu(), x.clone(), x.detach(),
        x.t(), x.T, x.transpose(0, 1), x.sum(), x.sum(0), x.norm(), x.to(t.float64),
    ]
    return [[r.is_sparse, str(r.dtype), r.to_dense()] for r in results] + [
        raised(lambda: x + dense), raised(lambda: x + 1), raised(lambda: x / dense), raised(lambda: x + rows(t)),
        raised(lambda: dense + rows(t)),
    ]


@programs
def products(t):
    x, dense, vector = matrix(t), t.arange(6.0).reshape(3, 2), t.tensor([1.0, -1.0, 2.0])
    results = [
        x @ dense, x.mm(dense), x @ vector, t.ones(4, 2) @ x, x @ x.t(), t.sparse.mm(x, dense), t.sparse.mm(x.t(), x),
        t.spmm(x, dense), t.dsmm(dense, x),
        t.sparse.addmm(t.ones(2, 2), x, dense, beta=2, alpha=3), t.nn.functional.linear(t.ones(4, 3), x),
    ]
    return [[r.is_sparse, r.to_dense()] for r in results] + [raised(lambda: t.sparse.mm(x, x))]


@programs
def sums_and_softmax(t):
    x, y = matrix(t), rows(t)
    results = [t.sparse.sum(x), t.sparse.sum(x, 0), t.sparse.sum(x, (0, 1)), t.sparse.sum(y, 0), t.sparse.sum(y, 1),
               t.sparse.softmax(x, 0), t.sparse.softmax(x, 1), t.sparse.log_softmax(x, 1), t.sparse.softmax(y, 1),
               t.sparse.softmax(y, 0)]
    return [[r.is_sparse, r.to_dense()] for r in results]


@programs
def writes(t):
    x, dense, seen = matrix(t), t.ones(2, 3), []
    for write in (lambda: x.mul_(2), lambda: x.add_(matrix(t)), lambda: dense.add_(x), lambda: dense.sub_(x, alpha=0.5),
                  lambda: dense.mul_(x), lambda: x.copy_(matrix(t)), lambda: x.zero_(), lambda: x.sub_(matrix(t))):
        write()
        seen.append([x.to_dense(), dense.clone(), x._version > 0])
    x.sparse_resize_((4, 4), 2, 0)
    seen.append([x.to_dense(), x.sparse_resize_and_clear_((2, 5), 1, 1)._nnz(), x.shape, x.sparse_dim()])
    return [seen, raised(lambda: matrix(t).add_(dense)), raised(lambda: dense.add_(rows(t))),
            raised(lambda: matrix(t).copy_(rows(t)))]


@programs
def masks(t):
    dense, x = t.arange(6.0).reshape(2, 3), matrix(t)
    return [dense.sparse_mask(x)._values(), dense.sparse_mask(x.coalesce()).to_dense(),
            x.sparse_mask(dense.to_sparse()).to_dense(), raised(lambda: dense.sparse_mask(rows(t)))]


REFUSED = ["exp", "sigmoid", "cos", "reciprocal", "mean", "max", "squeeze", "cumsum", "nonzero", "sort", "log", "round_"]


@programs
def refused(t):
    """Ops that do not know sparse tensors say so, by their names."""
    x = matrix(t)
    calls = {name: lambda name=name: getattr(x, name)() for name in REFUSED if name not in ("cumsum", "round_")}
    calls |= {"eq": lambda: x == x, "fill_": lambda: x.fill_(1), "cumsum": lambda: x.cumsum(0),
              "view": lambda: x.view(6), "ones_like": lambda: t.ones_like(x), "storage": lambda: x.untyped_storage()}
    return {name: raised(call) for name, call in calls.items()}


# ---- gradients


@programs
def gradients(t):
    found = []
    for use in (
        lambda x: x.to_dense() ** 2, lambda x: t.sparse.mm(x, t.arange(6.0).reshape(3, 2)) ** 2, lambda x: (x * 3).to_dense(),
        lambda x: t.sparse.softmax(x, 1).to_dense() ** 2, lambda x: t.sparse.log_softmax(x, 0).to_dense(),
        lambda x: x.coalesce().values() ** 2, lambda x: t.sparse.sum(x, 1).to_dense() ** 2, lambda x: t.ones(2, 3) + x,
    ):
        values = t.tensor([3.0, 4.0, 5.0], requires_grad=True)
        use(t.sparse_coo_tensor([[0, 1, 1], [2, 0, 1]], values, (2, 3))).sum().backward()
        found.append(values.grad)
    dense = t.tensor([[1.0, 0.0], [2.0, 3.0]], requires_grad=True)
    (dense.to_sparse() * 3).to_dense().pow(2).sum().backward()
    right = t.ones(3, 2, requires_grad=True)
    (t.sparse.mm(matrix(t), right) ** 2).sum().backward()
    leaf = matrix(t, requires_grad=True)
    (t.sparse.mm(leaf, t.ones(3, 2)) ** 2).sum().backward()
    return [found, dense.grad, right.grad, leaf.grad.is_sparse, leaf.grad.to_dense()]


def table(t, **settings):
    return t.nn.Embedding.from_pretrained(t.arange(10.0).reshape(5, 2), freeze=False, sparse=True, **settings)


@programs
def embeddings(t):
    found = []
    for settings in ({}, {"padding_idx": 2}, {"max_norm": 3.0}):
        layer = table(t, **settings)
        (layer(t.tensor([[1, 2], [2, 4]])) * t.arange(8.0).reshape(2, 2, 2)).sum().backward()
        found.append([layer.weight.grad.is_sparse, layer.weight.grad._indices(), layer.weight.grad._values()])
    return found


@programs
def bags(t):
    found = []
    for mode in ("sum", "mean"):
        weight = t.arange(10.0).reshape(5, 2).requires_grad_()
        out = t.nn.functional.embedding_bag(t.tensor([1, 2, 2, 4, 0]), weight, t.tensor([0, 2]), mode=mode, sparse=True,
                                            padding_idx=2)
        (out * out).sum().backward()
        found.append([weight.grad.is_sparse, weight.grad.to_dense()])
    bag = t.nn.EmbeddingBag(5, 2, mode="max", sparse=True)
    return [found, raised(lambda: bag(t.tensor([[0, 1]])))]


@programs
def accumulation(t):
    """Sparse to sparse stays sparse; with a dense one it becomes dense, whichever comes first."""
    layer, seen = table(t), []
    weight = layer.weight
    for loss in (lambda: (layer(t.tensor([1, 2])) ** 2).sum(), lambda: (layer(t.tensor([2, 0])) ** 2).sum(),
                 lambda: weight.sum(), lambda: layer(t.tensor([4])).sum()):
        loss().backward()
        seen.append([weight.grad.is_sparse, weight.grad.to_dense().clone()])
    weight.grad = None
    (layer(t.tensor([1])).sum() + (weight**2).sum()).backward()
    seen.append([weight.grad.is_sparse, weight.grad.to_dense()])
    doubled = weight * 2
    doubled.retain_grad()
    (grad,) = t.autograd.grad(t.nn.functional.embedding(t.tensor([1, 1]), doubled, sparse=True).sum(), weight)
    return [seen, grad.is_sparse, grad.to_dense(), raised(lambda: setattr(weight, "grad", rows(t)))]


@programs
def zeroing_and_hooks(t):
    layer, seen = table(t), []
    layer.weight.register_hook(lambda g: seen.append(g.is_sparse))
    layer(t.tensor([1, 2])).sum().backward()
    layer.zero_grad(set_to_none=False)
    seen.append([layer.weight.grad._nnz(), layer.weight.grad.to_dense()])
    layer.zero_grad()
    return [seen, layer.weight.grad, raised(lambda: (
        t.nn.functional.embedding(t.tensor([1]), t.ones(2, 2, requires_grad=True), None, None, 2.0, True, True).sum()
        .backward()))]


@programs
def sgd(t):
    found = []
    for settings in ({}, {"momentum": 0.9}, {"maximize": True}, {"momentum": 0.9, "nesterov": True}):
        layer = table(t)
        optimizer = t.optim.SGD(layer.parameters(), lr=0.1, **settings)
        for step in range(4):
            optimizer.zero_grad()
            (layer(t.tensor([0, step, step])) ** 2).sum().backward()
            optimizer.step()
        found.append(layer.weight.detach().clone())
    layer = table(t)
    layer(t.tensor([1])).sum().backward()
    return [found, raised(t.optim.SGD(layer.parameters(), lr=0.1, weight_decay=0.1).step)]


@programs
def copies(t):
    x = matrix(t).coalesce()
    file = io.BytesIO()
    t.save({"x": x, "layout": x.layout}, file)
    file.seek(0)
    loaded = t.load(file)
    return [repr(y) for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), loaded["x"])] + [str(loaded["layout"])]


test_as_recorded, test_as_torch_does = programs.tests()


# ---- Flambeau's own


@pytest.mark.oracle
def test_a_checkpoint_of_pytorch_is_read_and_written():
    import torch

    for writer, reader in ((torch, flambeau), (flambeau, torch)):
        file = io.BytesIO()
        writer.save(matrix(writer, check_invariants=True), file)
        file.seek(0)
        assert repr(reader.load(file)) == repr(matrix(flambeau))


def test_the_parts_are_checked_when_a_tensor_is_made():
    with pytest.raises(RuntimeError, match="for dim 0, size is 2 but found index 5"):
        flambeau.sparse_coo_tensor([[0, 5]], [1.0, 2.0], (2,))
    with flambeau.sparse.check_sparse_tensor_invariants():
        assert flambeau.sparse.check_sparse_tensor_invariants.is_enabled()
    assert not flambeau.sparse.check_sparse_tensor_invariants.is_enabled()


def test_the_number_of_elements_does_not_grow_with_every_gradient():
    layer = table(flambeau)
    for _ in range(20):
        layer(flambeau.tensor([0, 1, 1])).sum().backward()
    assert layer.weight.grad._nnz() <= 5


def test_adding_a_sparse_gradient_writes_to_the_rows_it_has():
    weight = flambeau.zeros(4, 2)
    before = weight.data_ptr()
    weight.add_(flambeau.sparse_coo_tensor([[0, 3, 3]], [[1.0, 2.0], [3.0, 4.0], [1.0, 1.0]], (4, 2)), alpha=-1)
    assert weight.tolist() == [[-1, -2], [0, 0], [0, 0], [-4, -5]] and weight.data_ptr() == before


@pytest.mark.jax
def test_sparse_tensors_on_xla():
    found = {}
    for device in ("cpu", "xla"):
        layer = table(flambeau, padding_idx=1).to(device)
        optimizer = flambeau.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
        for step in range(3):
            optimizer.zero_grad()
            (layer(flambeau.tensor([0, 1, step], device=device)) ** 2).sum().backward()
            assert layer.weight.grad.is_sparse and layer.weight.grad.device.type == device
            optimizer.step()
        x = matrix(flambeau, device=device)
        products = [x @ x.t(), x @ flambeau.ones(3, 2, device=device), flambeau.sparse.softmax(x, 1), x.coalesce() * 2]
        found[device] = [layer.weight.detach().cpu()] + [p.to_dense().cpu() for p in products]
    for got, want in zip(found["xla"], found["cpu"], strict=True):
        flambeau.testing.assert_close(got, want)


@pytest.mark.jax
def test_a_compiled_step_has_dense_gradients():
    results = []
    for compile in (False, True):
        layer = table(flambeau)
        optimizer = flambeau.optim.SGD(layer.parameters(), lr=0.1)

        def step(index, layer=layer, optimizer=optimizer):
            optimizer.zero_grad()
            (layer(index) ** 2).sum().backward()
            optimizer.step()

        step = flambeau.compile(step) if compile else step
        for i in range(3):
            step(flambeau.tensor([0, i, i]))
        results.append(layer.weight.detach())
    flambeau.testing.assert_close(*results)
