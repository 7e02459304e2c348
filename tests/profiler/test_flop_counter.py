"""FLOP counts, compared with PyTorch, by op and by module."""

import pytest

import flambeau
from flambeau import _ops, library
from flambeau.utils.flop_counter import FlopCounterMode, register_flop_formula


def two_products(t):
    class Block(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = t.nn.Linear(3, 3)
            self.rest = t.nn.Sequential(t.nn.Linear(3, 3, bias=False), t.nn.Tanh())

        def forward(self, x):
            return x + self.rest(self.first(x))

    return t.nn.Sequential(Block(), Block()), [(2, 3)]


def functional(shapes, function):
    return lambda t: (function(t), shapes)


MODELS = {
    "mlp": lambda t: (t.nn.Sequential(t.nn.Linear(8, 16), t.nn.ReLU(), t.nn.Linear(16, 4)), [(2, 8)]),
    "mlp of batches": lambda t: (t.nn.Sequential(t.nn.Linear(8, 16), t.nn.ReLU(), t.nn.Linear(16, 4)), [(2, 3, 8)]),
    "cnn": lambda t: (t.nn.Sequential(t.nn.Conv2d(3, 4, 3), t.nn.ReLU(), t.nn.Conv2d(4, 4, 3, stride=2, groups=2),
                                      t.nn.Flatten(), t.nn.Linear(16, 5)), [(2, 3, 8, 8)]),
    "transposed": lambda t: (t.nn.ConvTranspose2d(3, 4, 3, stride=2), [(2, 3, 5, 6)]),
    "conv1d": lambda t: (t.nn.Conv1d(3, 4, 3, padding=1, dilation=2), [(2, 3, 9)]),
    "transformer": lambda t: (t.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), [(2, 5, 16)]),
    "attention": lambda t: (t.nn.MultiheadAttention(16, 2), [(5, 2, 16)] * 3),
    "gru": lambda t: (t.nn.GRU(4, 6, num_layers=2, bidirectional=True), [(5, 2, 4)]),
    "lstm cell": lambda t: (t.nn.LSTMCell(4, 6), [(2, 4)]),
    "nested": two_products,
    "einsum": functional([(2, 3, 4), (2, 5, 4)], lambda t: lambda a, b: t.einsum("bij,bkj->bik", a, b)),
    "folded": functional([(2, 3, 4), (4, 5)], lambda t: lambda a, b: a @ b),
    "vector": functional([(3, 4), (4,)], lambda t: lambda a, b: a @ b),
    "baddbmm": functional([(2, 3, 5), (2, 3, 4), (2, 4, 5)], lambda t: t.baddbmm),
}


def counts(t, mode, model, shapes, needs_grad):
    operands = [t.ones(*shape).requires_grad_(needs_grad) for shape in shapes]
    with mode(display=False) as counter:
        out = model(*operands)
        out = out[0] if isinstance(out, tuple) else out
        if out.requires_grad:
            out.sum().backward()
    by_module = {path: sum(ops.values()) for path, ops in counter.get_flop_counts().items()}
    return {**by_module, "Global": counter.get_total_flops()}


@pytest.mark.oracle
@pytest.mark.parametrize("needs_grad", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_counts_are_pytorchs(name, needs_grad):
    """Not by op, for what is ``mm`` in PyTorch can be ``addmm`` here. And PyTorch loses the last gradients of a module
    whose inputs need them."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode as TorchMode

    ours = counts(flambeau, FlopCounterMode, *MODELS[name](flambeau), needs_grad)
    theirs = counts(torch, TorchMode, *MODELS[name](torch), needs_grad)
    assert ours["Global"] == theirs["Global"]
    assert needs_grad or ours == theirs


def test_table(capsys):
    model = flambeau.nn.Sequential(flambeau.nn.Conv2d(3, 4, 3), flambeau.nn.Flatten(), flambeau.nn.Linear(144, 5))
    with FlopCounterMode(depth=1) as counter:
        model(flambeau.ones(2, 3, 8, 8)).sum().backward()
    assert capsys.readouterr().out.splitlines() == [
        "Module                           FLOP    % Total",
        "----------------------------  -------  ---------",
        "Sequential                    39.744K    100.00%",
        " - aten.convolution           15.552K     39.13%",
        " - aten.addmm                  2.880K      7.25%",
        " - aten.mm                     5.760K     14.49%",
        " - aten.convolution_backward  15.552K     39.13%",
    ]
    assert counter.get_table(depth=2).count("Sequential.") == 2
    with FlopCounterMode(display=False) as counter:
        _ = flambeau.nn.Linear(2, 3)(flambeau.ones(1, 2)), flambeau.ones(2, 3) @ flambeau.ones(3, 4)
    assert [line.split()[0] for line in counter.get_table().splitlines()[2:]] == ["Global", "-", "-", "Linear", "-"]
    with FlopCounterMode(display=False) as counter:
        pass
    assert counter.get_table().splitlines()[-1].split() == ["Global", "0.000", "0%"]


def test_fused_attention_is_counted():
    """PyTorch counts it on CUDA, but not on the CPU."""
    x = flambeau.ones(2, 3, 4, 8, requires_grad=True)
    with FlopCounterMode(display=False) as counter:
        flambeau.nn.functional.scaled_dot_product_attention(x, x, x).sum().backward()
    products = 2 * 6 * 4 * 4 * 8
    assert counter.get_flop_counts()["Global"] == {
        "aten._scaled_dot_product_flash_attention": 2 * products,
        "aten._scaled_dot_product_flash_attention_backward": 5 * products,
    }


def test_formulas_of_operators():
    @library.custom_op("flop_counter_test::twice", mutates_args=())
    def twice(x: flambeau.Tensor, n: int) -> flambeau.Tensor:
        return x * n

    target = _ops.operator("flop_counter_test", "twice")
    register_flop_formula(target)(lambda x, n, out_shape: n * x.numel() + out_shape.numel())
    with FlopCounterMode(display=False) as counter:
        twice(flambeau.ones(3), 2)
    assert counter.get_flop_counts()["Global"] == {"flop_counter_test.twice": 9}
    with FlopCounterMode(display=False, custom_mapping={target: lambda x, n, out_shape: 1}) as counter:
        twice(flambeau.ones(3), 2)
    assert counter.get_total_flops() == 1
    with pytest.raises(ValueError, match="expected each target to be"):
        register_flop_formula("aten.mm")(lambda: 0)
    with pytest.warns(UserWarning, match="mods argument is not needed"):
        FlopCounterMode(flambeau.nn.ReLU())
