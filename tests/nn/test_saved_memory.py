"""Layers save no more memory for backward than PyTorch's do."""

import numpy as np
import pytest

import flambeau
from flambeau._tensor import LEAF


def residual_block(nn):
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
            self.conv2, self.bn2 = nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
            self.relu = nn.ReLU(inplace=True)

        def forward(self, x):
            out = self.relu(self.bn1(self.conv1(x)))
            out = self.bn2(self.conv2(out))
            out += x
            return self.relu(out)

    return Block()


IMAGE, SEQUENCE, TOKENS = (4, 8, 8, 8), (7, 3, 6), (4, 6, 8)
BLOCKS = {  # the block, the shape of its input, and the bytes that PyTorch keeps besides parameters and inputs
    "residual block": (residual_block, IMAGE, 32896),
    "linear layers": (lambda nn: nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8), nn.GELU()), TOKENS, 1536),
    "convolutions": (lambda nn: nn.Sequential(nn.Conv2d(8, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 4, 2)), IMAGE, 4032),
    "norms": (lambda nn: nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Dropout(0.5), nn.Tanh(), nn.Softmax(-1)), TOKENS, 3264),
    "RNN": (lambda nn: nn.RNN(6, 5, 2), SEQUENCE, 1380),
    "GRU": (lambda nn: nn.GRU(6, 5, 2), SEQUENCE, 6300),
    "LSTM": (lambda nn: nn.LSTM(6, 5, 2), SEQUENCE, 58664),
    "LSTM, bidirectional": (lambda nn: nn.LSTM(6, 5, bidirectional=True), SEQUENCE, 58664),
    "attention": (lambda nn: SelfAttention(nn), TOKENS, 5760),
    "transformer block": (lambda nn: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), TOKENS, 8256),
    "transformer block with dropout": (lambda nn: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True), TOKENS, 17664),
}


def SelfAttention(nn):
    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

        def forward(self, x):
            return self.attention(x, x, x)[0]

    return Module()


def memory_of(array):
    """(address, bytes) of the memory that an array lies in."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array.__array_interface__["data"][0], array.nbytes


def kept_by_nodes(out):
    """{address: bytes} of the memory that the nodes behind a tensor hold."""
    found, todo, seen = {}, [out.grad_fn], set()
    while todo:
        node = todo.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        outs = node.out if isinstance(getattr(node, "out", None), tuple) else (getattr(node, "out", None),)
        found.update(memory_of(a) for a in (*getattr(node, "inputs", ()), *outs) if isinstance(a, np.ndarray) and a.ndim)
        found.update(memory_of(entry.tensor(node)._a) for entry in getattr(node, "_saved", ()) or () if entry is not None)
        todo.extend(edge[0] for edge in node._edges if edge is not None and edge[1] != LEAF)  # not the steps it is shown as
    return found


def first(out):
    return out[0] if isinstance(out, tuple) else out


def kept_by_flambeau(make, shape):
    flambeau.manual_seed(0)
    module, x = make(flambeau.nn), flambeau.rand(shape, requires_grad=True)
    held = kept_by_nodes(first(module(x)))
    own = {memory_of(t._a)[0] for t in (*module.parameters(), *module.buffers(), x)}
    return sum(size for address, size in held.items() if address not in own)


def kept_by_pytorch(make, shape):
    import torch

    torch.manual_seed(0)
    module, x, saved = make(torch.nn), torch.rand(shape, requires_grad=True), []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        out = module(x)
    own = {t.untyped_storage().data_ptr() for t in (*module.parameters(), *module.buffers(), x)}
    del out
    sizes = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in saved}
    return sum(size for address, size in sizes.items() if address not in own)


@pytest.mark.parametrize("name", BLOCKS)
def test_bytes_kept_for_backward(name):
    make, shape, limit = BLOCKS[name]
    assert 0 < kept_by_flambeau(make, shape) <= limit


@pytest.mark.oracle
@pytest.mark.parametrize("name", BLOCKS)
def test_no_more_than_pytorch_keeps(name):
    make, shape, _ = BLOCKS[name]
    assert kept_by_flambeau(make, shape) <= kept_by_pytorch(make, shape)


def test_in_place_functions_save_the_memory_they_write_to():
    x = flambeau.tensor([-1.0, 2.0], requires_grad=True)
    y = x * 1
    y.relu_()
    assert [*kept_by_nodes(y)] == [y.data_ptr()]
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 1.0]


def test_writes_to_what_an_in_place_function_saved_are_noticed():
    x = flambeau.tensor([-1.0, 2.0], requires_grad=True)
    y = (x * 1).sigmoid_()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
