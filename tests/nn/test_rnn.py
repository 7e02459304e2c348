"""Recurrent layers beyond the table: packed sequences, dropout, second derivatives, weights, errors."""

import copy
import itertools
import pickle

import pytest

import flambeau
from _layers import wave
from _oracle import assert_same, check_code, outcome
from flambeau.autograd import gradcheck, gradgradcheck

KINDS = ("RNN", "LSTM", "GRU")
LENGTHS = (2, 5, 3)

# ---- packed sequences and dropout, against PyTorch


def packed(t, enforce_sorted=False):
    x = wave(t, 5, 3, 2).requires_grad_()
    lengths = sorted(LENGTHS, reverse=True) if enforce_sorted else list(LENGTHS)
    return x, t.nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=enforce_sorted)


def flat(result):
    return [y for part in result for y in flat(part)] if isinstance(result, tuple | list) else [result]


def step(t, kind, options, given, enforce_sorted):
    """All that one can see of a step on packed sequences."""
    t.manual_seed(3)
    module = getattr(t.nn, kind)(2, 3, **options)
    x, sequences = packed(t, enforce_sorted)
    states = None
    if given:
        layers = options["num_layers"] * (2 if options["bidirectional"] else 1)
        hidden = wave(t, layers, 3, options.get("proj_size") or 3, start=2).requires_grad_()
        states = (hidden, wave(t, layers, 3, 3)) if kind == "LSTM" else hidden
    out, ends = module(sequences, states)
    padded, lengths = t.nn.utils.rnn.pad_packed_sequence(out)
    loss = (padded * wave(t, *padded.shape)).sum() + sum((end * wave(t, *end.shape)).sum() for end in flat(ends))
    loss.backward()
    return [padded, lengths, flat(ends), x.grad, [p.grad for p in module.parameters()], t.rand(1)]


OPTIONS = [
    {"num_layers": 1, "bidirectional": False}, {"num_layers": 2, "bidirectional": True, "dropout": 0.5},
    {"num_layers": 2, "bidirectional": False, "bias": False},
]


def gradients_of_nan(t, kind, is_packed):
    """Where one sequence, the longest, begins with nan."""
    t.manual_seed(3)
    module = getattr(t.nn, kind)(2, 3, **({"nonlinearity": "relu"} if kind == "RNN" else {}))
    x, _ = packed(t)
    with t.no_grad():
        x[0, 1, 0] = float("nan")
    out, _ = module(t.nn.utils.rnn.pack_padded_sequence(x, LENGTHS, enforce_sorted=False) if is_packed else x)
    (out.data if is_packed else out).sum().backward()
    return [x.grad, [p.grad for p in module.parameters()]]


@pytest.mark.oracle
@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_nan_reaches_the_gradients_of_its_own_sequence_as_in_torch(kind, is_packed):
    torch = pytest.importorskip("torch")
    assert_same(gradients_of_nan(flambeau, kind, is_packed), gradients_of_nan(torch, kind, is_packed))


@pytest.mark.oracle
@pytest.mark.parametrize(("kind", "options", "given", "enforce_sorted"), [
    *itertools.product(KINDS, OPTIONS, (False, True), (False, True)),
    ("LSTM", {"num_layers": 2, "bidirectional": True, "proj_size": 2}, True, False),
    ("RNN", {"num_layers": 2, "bidirectional": True, "nonlinearity": "relu"}, True, False),
], ids=str)
def test_packed_sequences_agree_with_torch(kind, options, given, enforce_sorted):
    torch = pytest.importorskip("torch")
    want, got = (step(t, kind, options, given, enforce_sorted) for t in (torch, flambeau))
    assert_same(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.oracle
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch_first", [False, True])
def test_dropout_draws_as_torch_does(kind, batch_first):
    torch = pytest.importorskip("torch")
    found = []
    for t in (torch, flambeau):
        t.manual_seed(1)
        module = getattr(t.nn, kind)(3, 4, 3, dropout=0.4, bidirectional=True, batch_first=batch_first)
        found.append([module(wave(t, 5, 2, 3))[0], t.rand(1), module.eval()(wave(t, 5, 2, 3))[0]])
    assert_same(found[1], found[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_sequences_of_a_batch_do_not_touch_each_other(kind):
    """Each sequence of a packed batch comes out as it does alone."""
    rnn, module = flambeau.nn.utils.rnn, getattr(flambeau.nn, kind)(2, 3, 2, bidirectional=True)
    sequences = [wave(flambeau, n, 2, start=n) for n in LENGTHS]
    out, ends = module(rnn.pack_sequence(sequences, enforce_sorted=False))
    for nr, (sequence, got) in enumerate(zip(sequences, rnn.unpack_sequence(out), strict=True)):
        want, want_ends = module(sequence)
        flambeau.testing.assert_close(got, want)
        for end, want_end in zip(flat(ends), flat(want_ends), strict=True):
            flambeau.testing.assert_close(end[:, nr], want_end)


@pytest.mark.parametrize("kind", KINDS)
def test_cell_is_a_step_of_the_layer(kind):
    layer, cell = getattr(flambeau.nn, kind)(2, 3), getattr(flambeau.nn, f"{kind}Cell")(2, 3)
    cell.load_state_dict({name.removesuffix("_l0"): weight for name, weight in layer.state_dict().items()})
    x, state = wave(flambeau, 4, 2, 2), None
    want, _ = layer(x)
    for now, out in zip(x, want, strict=True):
        state = cell(now, state)
        flambeau.testing.assert_close(flat(state)[0], out)


@pytest.mark.parametrize("kind", KINDS)
def test_output_may_be_overwritten(kind):
    x = wave(flambeau, 4, 2, 3).requires_grad_()
    module = getattr(flambeau.nn, kind)(3, 3)
    (want,) = flambeau.autograd.grad((module(x)[0] * 2).sum(), x)
    (got,) = flambeau.autograd.grad(module(x)[0].mul_(2).sum(), x)
    assert (got == want).all()


# ---- derivatives


def x(*shape, start=0.3):
    return wave(flambeau, *shape, start=start).double().requires_grad_()


def weights(gates, directions, projection=0):
    """Those of a recurrent layer from one feature to two, or to one by a projection."""
    shapes = [(2 * gates, 1), (2 * gates, projection or 2), (2 * gates,), (2 * gates,), (projection, 2)]
    return [x(*shape, start=nr + i / 7) for nr in range(directions) for i, shape in enumerate(shapes[:4 + projection])]


def layer(name, states=1, sizes=None):
    """A function of all tensors of a layer in two directions; `sizes` are those of packed batches."""
    def call(input, *tensors):
        hx, params = tensors[:states], tensors[states:]
        hx = hx if states == 2 else hx[0]
        if sizes is None:
            return getattr(flambeau, name)(input, hx, params, True, 1, 0.0, False, True, False)
        return getattr(flambeau, name)(input, flambeau.tensor(sizes), hx, params, True, 1, 0.0, False, True)

    return call


DERIVATIVES = {
    "rnn_tanh": lambda: (layer("rnn_tanh"), x(2, 2, 1), x(2, 2, 2), *weights(1, 2)),
    "rnn_relu": lambda: (layer("rnn_relu"), x(2, 2, 1), x(2, 2, 2), *weights(1, 2)),
    "lstm": lambda: (layer("lstm", 2), x(2, 2, 1), x(2, 2, 1), x(2, 2, 2, start=1), *weights(4, 2, projection=1)),
    "lstm packed": lambda: (layer("lstm", 2, [2, 1]), x(3, 1), x(2, 2, 2), x(2, 2, 2, start=1), *weights(4, 2)),
    "gru": lambda: (layer("gru"), x(2, 2, 1), x(2, 2, 2), *weights(3, 2)),
    "gru packed": lambda: (layer("gru", 1, [2, 1]), x(3, 1), x(2, 2, 2), *weights(3, 2)),
    "rnn_relu_cell": lambda: (flambeau.rnn_relu_cell, x(2, 1), x(2, 2), *weights(1, 1)),
    "rnn_tanh_cell": lambda: (flambeau.rnn_tanh_cell, x(2, 1), x(2, 2), *weights(1, 1)),
    "lstm_cell": lambda: (lambda i, h, c, *w: flambeau.lstm_cell(i, (h, c), *w), x(2, 1), x(2, 2), x(2, 2, start=1),
                          *weights(4, 1)),
    "gru_cell": lambda: (flambeau.gru_cell, x(2, 1), x(2, 2), *weights(3, 1)),
}


@pytest.mark.parametrize(("name", "factor"), [(name, f) for name in DERIVATIVES for f in (1, 1 + 0.3j) if f == 1 or "relu" not in name])
def test_gradient(name, factor):
    function, *inputs = DERIVATIVES[name]()
    inputs = [(x.detach() * factor).requires_grad_() for x in inputs]
    assert gradcheck(function, tuple(inputs), fast_mode=True)
    assert gradgradcheck(function, tuple(inputs), fast_mode=True, atol=1e-4)


def test_a_layer_is_one_node():
    """However long the sequence is."""
    out, _ = flambeau.nn.GRU(2, 3)(wave(flambeau, 50, 1, 2))
    seen, nodes = set(), [out.grad_fn]
    while nodes:
        node = nodes.pop()
        seen.add(node)
        nodes += [target for target, _ in node.next_functions if target is not None and target not in seen]
    assert len(seen) < 10


def test_a_layer_on_the_meta_device():
    for kind in KINDS:
        module = getattr(flambeau.nn, kind)(2, 3, 2, bidirectional=True, device="meta")
        out, _ = module(flambeau.empty(1000, 64, 2, device="meta"))
        out.sum().backward()
        assert out.shape == (1000, 64, 6) and all(p.grad.shape == p.shape for p in module.parameters())


# ---- weights


def test_names_of_weights():
    module = flambeau.nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2)
    names = [[f"{name}_l{layer}{suffix}" for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")]
             for layer in (0, 1) for suffix in ("", "_reverse")]
    assert module._all_weights == names and list(module.state_dict()) == flat(names)
    assert all(a is b for a, b in zip(module._flat_weights, module.parameters(), strict=True))
    assert [[w.shape for w in group] for group in module.all_weights][2] == [(16, 4), (16, 2), (16,), (16,), (2, 4)]


def test_weights_that_are_exchanged_are_used():
    module = flambeau.nn.RNN(2, 2, bias=False)
    module.weight_ih_l0 = flambeau.nn.Parameter(flambeau.zeros(2, 2))
    module.flatten_parameters()
    assert (module(wave(flambeau, 3, 1, 2))[0] == 0).all()


# ---- sequences as values


SETUP = """
R = torch.nn.utils.rnn; a, b = torch.arange(3.0), torch.arange(5.0) + 10; m = torch.arange(30.0).reshape(5, 2, 3)
p = R.pack_padded_sequence(m, [5, 3]); q = R.pack_sequence([a, b], enforce_sorted=False)
"""
SEQUENCES = """
R.pack_padded_sequence(m, [3, 5]); R.pack_padded_sequence(m, [3, 5], enforce_sorted=False)
R.pack_padded_sequence(m, [5, 0]); R.pack_padded_sequence(m, [5]); R.pack_padded_sequence(m, torch.tensor([4, 3]))
R.pack_padded_sequence(m, torch.tensor([[5, 3]])); R.pack_padded_sequence(m.transpose(0, 1), [5, 3], batch_first=True)
R.pack_padded_sequence(a, [3]); R.pack_padded_sequence(m[:0], [1, 1]); R.pack_padded_sequence(m, torch.tensor([5.0, 3.0]))
R.pad_packed_sequence(p); R.pad_packed_sequence(p, True, -1.5); R.pad_packed_sequence(p, total_length=7)
R.pad_packed_sequence(p, total_length=4); R.pad_packed_sequence(q); R.pad_packed_sequence(q, True, 2, 6)
R.pad_sequence([a, b]); R.pad_sequence([a, b], True, 7, 'left'); R.pad_sequence([a, b], padding_side='both')
R.pad_sequence([]); R.pad_sequence(3); R.pad_sequence(m); R.pad_sequence([m[:2], m]); R.pad_sequence([m, m[..., :2]])
R.pad_sequence([a, b.double()]); R.pad_sequence(x for x in (a, b)); R.pad_sequence([a.long(), b], padding_value=-1)
R.pack_sequence([b, a]); R.pack_sequence([a, b]); R.unpack_sequence(q); R.unpack_sequence(p)
R.unpad_sequence(m, torch.tensor([2, 4])); R.unpad_sequence(m, torch.tensor([1, 2, 3, 1, 1]), batch_first=True)
R.invert_permutation(torch.tensor([2, 0, 1])); R.invert_permutation(None)
R.PackedSequence(a); R.PackedSequence(a, torch.tensor([2, 1])); R.PackedSequence((a, torch.tensor([2, 1])))
R.PackedSequence(a, torch.tensor([2, 1]), torch.tensor([1, 0])); p._replace(data=a).data; p._fields; len(p); p[1]
p.to(torch.float64); p.to(torch.float32) is p; p.to('cpu') is p; p.cpu() is p; p.to('cpu', torch.float64); p.is_cuda
p.is_pinned(); p.long(); p.byte(); p.char(); p.short(); p.int(); p.half(); p.double(); p.float() is p; q.to(torch.int8)
""".replace("\n", "; ").strip("; ").split("; ")


@pytest.mark.oracle
@pytest.mark.parametrize("code", SEQUENCES)
def test_sequences_agree_with_torch(code):
    pytest.importorskip("torch")
    check_code(f"{SETUP}\n{code}")


def test_packed_sequence_copied_and_pickled():
    sequences = flambeau.nn.utils.rnn.pack_sequence([flambeau.ones(2), flambeau.zeros(3)], enforce_sorted=False)
    for twin in (copy.deepcopy(sequences), pickle.loads(pickle.dumps(sequences))):
        assert type(twin) is type(sequences) and twin.data is not sequences.data
        assert all((a == b).all() for a, b in zip(twin, sequences, strict=True))


def test_padding_gets_no_gradient():
    x = flambeau.ones(3, 2, requires_grad=True)
    rnn = flambeau.nn.utils.rnn
    padded, _ = rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, [3, 1]), total_length=4)
    padded.sum().backward()
    assert x.grad.tolist() == [[1, 1], [1, 0], [1, 0]]


def test_length_beyond_the_padded_input():
    with pytest.raises(RuntimeError, match="length 6 does not fit in a padded input of 5 time steps"):
        flambeau.nn.utils.rnn.pack_padded_sequence(flambeau.ones(5, 2), [6, 2])


# ---- what is refused

ERRORS = [
    # code, type, part of the message
    ("nn.RNN(3, 4)(t.ones(3))", ValueError, "RNN: Expected input to be 2D or 3D, got 1D tensor instead"),
    ("nn.GRU(3, 4)(t.ones(5, 2, 4))", RuntimeError, "input.size(-1) must be equal to input_size. Expected 3, got 4"),
    ("nn.RNN(3, 4)(t.ones(5, 2, 3).double())", ValueError, "does not match weight dtype (torch.float32)"),
    ("nn.RNN(3, 4)(t.ones(5, 2, 3), t.ones(1, 3, 4))", RuntimeError, "Expected hidden size (1, 2, 4), got [1, 3, 4]"),
    ("nn.RNN(3, 4)(t.ones(5, 2, 3), t.ones(1, 4))", RuntimeError, "For batched 3-D input, hx should also be 3-D but got 2-D"),
    ("nn.GRU(3, 4)(t.ones(5, 3), t.ones(1, 1, 4))", RuntimeError, "For unbatched 2-D input, hx should also be 2-D"),
    ("nn.LSTM(3, 4)(t.ones(5, 3), (t.ones(1, 1, 4), t.ones(1, 1, 4)))", RuntimeError, "got (3-D, 3-D) tensors"),
    ("nn.LSTM(3, 4)(t.ones(5, 1, 3), (t.ones(1, 1, 4), t.ones(1, 2, 4)))", RuntimeError, "Expected hidden[1] size"),
    ("nn.LSTM(3, 4, proj_size=2)(t.ones(5, 1, 3), (t.ones(1, 1, 4), t.ones(1, 1, 4)))", RuntimeError,
     "Expected hidden[0] size (1, 1, 2), got [1, 1, 4]"),
    ("nn.LSTM(3, 4)(t.ones(5, 1, 3), (t.ones(1, 1, 4),))", IndexError, "out of range"),
    ("nn.GRU(3, 4)(t.ones(0, 2, 3))", RuntimeError, "Expected sequence length to be larger than 0 in RNN"),
    ("nn.RNN(3, 4, dropout=1.5)", ValueError, "dropout should be a number in range [0, 1]"),
    ("nn.RNN(3, 4, dropout=True)", ValueError, "dropout should be a number in range [0, 1]"),
    ("nn.RNN(3, 4.0)", TypeError, "hidden_size should be of type int, got: float"),
    ("nn.RNN('3', 4)", TypeError, "input_size should be of type int, got: str"),
    ("nn.RNN(3, 0)", ValueError, "hidden_size must be greater than zero"),
    ("nn.RNN(3, 4, 0)", ValueError, "num_layers must be greater than zero"),
    ("nn.RNN(3, 4, batch_first=1)", TypeError, "batch_first should be of type bool"),
    ("nn.RNN(3, 4, nonlinearity='sin')", ValueError, "Unknown nonlinearity 'sin'. Select from 'tanh' or 'relu'."),
    ("nn.RNN(3, 4, 1, 'relu', nonlinearity='tanh')", TypeError, "unexpected keyword argument 'nonlinearity'"),
    ("nn.LSTM(3, 4, proj_size=4)", ValueError, "proj_size has to be smaller than hidden_size"),
    ("nn.LSTM(3, 4, proj_size=-1)", ValueError, "proj_size should be a positive integer or zero"),
    ("nn.GRU(3, 4, proj_size=1)", ValueError, "proj_size argument is only supported for LSTM"),
    ("nn.RNNBase('SRU', 3, 4)", ValueError, "Unrecognized RNN mode: SRU"),
    ("nn.RNNCell(3, 4)(t.ones(1, 2, 3))", ValueError, "RNNCell: Expected input to be 1D or 2D, got 3D instead"),
    ("nn.GRUCell(3, 4)(t.ones(2, 3), t.ones(1, 2, 4))", ValueError, "GRUCell: Expected hidden to be 1D or 2D, got 3D"),
    ("nn.GRUCell(3, 4)(t.ones(2, 4))", RuntimeError, "input has inconsistent input_size: got 4 expected 3"),
    ("nn.RNNCell(3, 4)(t.ones(2, 3), t.ones(3, 4))", RuntimeError, "Input batch size 2 doesn't match hidden0 batch size 3"),
    ("nn.RNNCell(3, 4)(t.ones(2, 3), t.ones(2, 5))", RuntimeError, "hidden0 has inconsistent hidden_size: got 5, expected 4"),
    ("nn.RNNCell(3, 4, nonlinearity='sin')(t.ones(2, 3))", RuntimeError, "Unknown nonlinearity: sin"),
    ("nn.LSTMCell(3, 4)(t.ones(2, 3), (t.ones(2, 4),))", RuntimeError, "lstm_cell expects two hidden states"),
    ("nn.LSTMCell(3, 4)(t.ones(2, 3), t.ones(2, 4))", TypeError, "must be tuple of Tensors, not Tensor"),
    ("t.gru(t.ones(5, 2, 3), t.ones(1, 2, 4), nn.GRU(3, 4)._flat_weights[:3], True, 1, 0.0, False, False, False)",
     RuntimeError, "got an incorrect number of RNN parameters"),
    ("t.gru(t.ones(5, 2, 3), t.ones(1, 2, 4), nn.GRU(3, 4)._flat_weights, False, 1, 0.0, False, False, False)",
     RuntimeError, "Expected more weights in stacked_rnn"),
]
each_error = pytest.mark.parametrize(("code", "kind", "words"), ERRORS, ids=[code for code, *_ in ERRORS])


@each_error
def test_refusal(code, kind, words):
    _, error = outcome(code, flambeau, t=flambeau, nn=flambeau.nn)
    assert type(error) is kind and words in str(error), repr(error)


@pytest.mark.oracle
@each_error
def test_torch_refuses_too(code, kind, words):
    torch = pytest.importorskip("torch")
    _, error = outcome(code, torch, t=torch, nn=torch.nn)
    assert type(error) is kind, repr(error)


def test_dropout_without_a_layer_to_follow():
    with pytest.warns(UserWarning, match="non-zero dropout expects num_layers greater than 1"):
        flambeau.nn.GRU(2, 3, dropout=0.5)


@pytest.mark.oracle
@pytest.mark.parametrize("code", [
    "nn.RNN(3, 4, 1, 'relu')", "nn.RNN(3, 4, 2, 'tanh', False, True, 0.5, True)", "nn.LSTM(3, 4, 2, False, True, 0.5, True, 2)",
    "nn.GRU(3, 4, bidirectional=1)", "nn.RNNCell(3, 4, False, 'relu')", "nn.RNNBase('LSTM', 3, 4)",
    "nn.LSTMCell(3, 4, bias=False)", "nn.GRU(3, 4, dtype=t.float64)",
])
def test_forms_of_the_constructor(code):
    torch = pytest.importorskip("torch")
    found = []
    for t in (torch, flambeau):
        t.manual_seed(0)
        module = eval(code, {"t": t, "nn": t.nn})
        found.append([repr(module), list(module.state_dict()), *module.parameters()])
    assert_same(found[1], found[0], rtol=0, atol=0)
