"""Attention and the Transformer family, compared with PyTorch: masks, dropout, options and errors."""

import itertools
import math
import warnings

import pytest

import flambeau
import flambeau.nn.functional as F
from _errors import error_tests
from _layers import wave
from _oracle import assert_same, to_flambeau, to_torch

Q, K, V = (2, 2, 3, 4), (2, 2, 5, 4), (2, 2, 5, 4)
INF = float("inf")


def mask_of(t, name):
    """A mask of 3 queries and 5 keys, by name."""
    values = wave(t, 3, 5)
    visible = values > -0.3
    return {
        "none": lambda: None,
        "bool": lambda: visible,
        "float": lambda: values.requires_grad_(),
        "infinite": lambda: t.zeros(3, 5).masked_fill(~visible, -INF),
        "closed": lambda: visible & (t.arange(3) != 1)[:, None],
        "closed float": lambda: t.zeros(3, 5).masked_fill((t.arange(3) == 1)[:, None], -INF),
        "heads": lambda: wave(t, 2, 1, 3, 5),
    }[name]()


MASKS = ["none", "bool", "float", "infinite", "closed", "closed float", "heads"]


def attended(t, shapes, mask="none", **settings):
    """The result of attention, and the gradients of its inputs; the state of the generator after it."""
    inputs = [wave(t, *shape, start=start).requires_grad_() for shape, start in zip(shapes, (0.3, 1.1, 2.3))]
    mask = mask_of(t, mask)
    t.manual_seed(0)
    out = t.nn.functional.scaled_dot_product_attention(*inputs, attn_mask=mask, **settings)
    (out * wave(t, *out.shape)).sum().backward()
    gradients = [x.grad for x in inputs]
    if mask is not None and mask.requires_grad:
        gradients.append(mask.grad)
    return [out, gradients, t.rand(1)]


@pytest.mark.oracle
@pytest.mark.parametrize("settings", [{}, {"scale": 2.0}, {"scale": 0.0}, {"dropout_p": 0.4}, {"dropout_p": 1.0}], ids=str)
@pytest.mark.parametrize("mask", MASKS)
def test_attention_with_a_mask(mask, settings):
    torch = pytest.importorskip("torch")
    shapes = Q, K, V
    assert_same(attended(flambeau, shapes, mask, **settings), attended(torch, shapes, mask, **settings))


SHAPES = {
    "one sequence": ((3, 4), (5, 4), (5, 2)),
    "a batch": ((2, 3, 4), (2, 5, 4), (2, 5, 4)),
    "images of heads": ((1, 2, 2, 3, 4), (1, 2, 2, 5, 4), (1, 2, 2, 5, 4)),
    "values of another size": (Q, K, (2, 2, 5, 3)),
    "broadcast batches": ((1, 2, 3, 4), (2, 1, 5, 4), (2, 5, 3)),
    "fewer keys": ((2, 2, 6, 4), (2, 2, 2, 4), (2, 2, 2, 4)),
    "no queries": ((2, 0, 4), (2, 5, 4), (2, 5, 4)),
    "no keys": ((2, 3, 4), (2, 0, 4), (2, 0, 4)),
    "no features": ((2, 3, 0), (2, 5, 0), (2, 5, 4)),
}


@pytest.mark.oracle
@pytest.mark.parametrize("settings", [{}, {"is_causal": True}, {"is_causal": True, "dropout_p": 0.5}], ids=str)
@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
def test_attention_of_a_shape(shapes, settings):
    torch = pytest.importorskip("torch")
    assert_same(attended(flambeau, shapes, **settings), attended(torch, shapes, **settings))


@pytest.mark.oracle
@pytest.mark.parametrize("shapes", [((2, 6, 3, 4), (2, 2, 5, 4), (2, 3, 5, 4)), ((4, 3, 4), (2, 5, 4), (2, 5, 4))], ids=str)
def test_attention_of_groups_of_heads(shapes):
    torch = pytest.importorskip("torch")
    assert_same(attended(flambeau, shapes, enable_gqa=True), attended(torch, shapes, enable_gqa=True))


def test_causal_attention_averages_the_past():
    out = F.scaled_dot_product_attention(flambeau.ones(4, 1), flambeau.ones(2, 1), flambeau.eye(2), is_causal=True)
    assert out.tolist() == [[1, 0], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize("mask", ["closed", "closed float"])
def test_query_that_may_look_nowhere_gets_zeros(mask):
    out, gradients, _ = attended(flambeau, ((3, 4), (5, 4), (5, 2)), mask)
    assert (out[1] == 0).all() and not out[[0, 2]].eq(0).any()
    assert (gradients[0][1] == 0).all() and all(g.isfinite().all() for g in gradients)


def test_attention_keeps_no_weights_for_backward():
    sizes = []
    query, key, value = (flambeau.randn(1, 1, 50, 4, requires_grad=True) for _ in range(3))
    with flambeau.autograd.graph.saved_tensors_hooks(lambda t: sizes.append(t.numel()) or t, lambda t: t):
        F.scaled_dot_product_attention(query, key, value, is_causal=True)
    assert sizes == [200, 200, 200]


# ---- several heads


def multihead(t, masks=(), dropout=0.0, unbatched=False, training=True, call=None, **settings):
    """What a MultiheadAttention gives for masks by name, with the gradients of its inputs and parameters."""
    t.manual_seed(1)
    layer = t.nn.MultiheadAttention(4, 2, dropout, **settings).train(training)
    kdim, vdim = settings.get("kdim", 4), settings.get("vdim", 4)
    first = settings.get("batch_first", False)
    inputs = [wave(t, length, 2, size, start=start) for length, size, start in ((3, 4, 0.3), (5, kdim, 1), (5, vdim, 2))]
    inputs = [x[:, 0] if unbatched else x.transpose(0, 1) if first else x for x in inputs]
    for x in inputs:
        x.requires_grad_()
    padding = t.tensor([[False, False, True, False, True], [False] * 5])
    wide = wave(t, 4, 3, 5)
    table = {
        "attn bool": ("attn_mask", t.ones(3, 5, dtype=t.bool).triu(1)),
        "attn float": ("attn_mask", wave(t, 3, 5)),
        "attn heads": ("attn_mask", wide[:2] if unbatched else wide),
        "attn heads bool": ("attn_mask", (wide[:2] if unbatched else wide) > 0.8),
        "padding bool": ("key_padding_mask", padding[0] if unbatched else padding),
        "padding float": ("key_padding_mask", (padding[0] if unbatched else padding).float() * -2),
    }
    arguments = dict(table[name] for name in masks)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out, weights = layer(*inputs, **arguments, **(call or {}))
    loss = (out * wave(t, *out.shape)).sum()
    if weights is not None:
        loss = loss + (weights * wave(t, *weights.shape)).sum()
    loss.backward()
    gradients = [x.grad for x in [*inputs, *layer.parameters()]]
    return [out, weights, gradients, t.rand(1), [w.category.__name__ for w in caught]]


ATTN = [(), ("attn bool",), ("attn float",), ("attn heads",), ("attn heads bool",)]
PADDING = [(), ("padding bool",), ("padding float",)]
CALLS = [{}, {"need_weights": False}, {"average_attn_weights": False}]


def check_multihead(*args, **kwargs):
    torch = pytest.importorskip("torch")
    assert_same(multihead(flambeau, *args, **kwargs), multihead(torch, *args, **kwargs), rtol=1e-4, atol=1e-5)


@pytest.mark.oracle
@pytest.mark.parametrize("unbatched", [False, True], ids=["batch", "unbatched"])
@pytest.mark.parametrize("call", CALLS, ids=str)
@pytest.mark.parametrize("masks", [a + p for a, p in itertools.product(ATTN, PADDING)], ids=" and ".join)
def test_multihead_attention_with_masks(masks, call, unbatched):
    check_multihead(masks, call=call, unbatched=unbatched)


@pytest.mark.oracle
@pytest.mark.parametrize("settings", [
    {"add_bias_kv": True}, {"add_zero_attn": True}, {"add_bias_kv": True, "add_zero_attn": True, "bias": False},
    {"kdim": 3}, {"kdim": 3, "vdim": 2, "bias": False, "add_bias_kv": True}, {"batch_first": True},
], ids=str)
@pytest.mark.parametrize("masks", [(), ("attn float", "padding float"), ("attn bool", "padding bool")], ids=" and ".join)
@pytest.mark.parametrize("call", CALLS[:2], ids=str)
def test_multihead_attention_with_options(settings, masks, call):
    check_multihead(masks, call=call, **settings)


@pytest.mark.oracle
@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize("call", CALLS, ids=str)
def test_multihead_attention_drops_what_torch_drops(call, training):
    check_multihead(("attn bool",), dropout=0.4, training=training, call=call)


@pytest.mark.oracle
@pytest.mark.parametrize("masks", [("attn float",), ("attn bool", "padding bool")], ids=" and ".join)
@pytest.mark.parametrize("call", CALLS[:2], ids=str)
def test_causal_hint(masks, call):
    """The hint replaces the mask where nothing else is asked for, and is ignored otherwise."""
    check_multihead(masks, call={"is_causal": True, **call})


@pytest.mark.oracle
def test_static_keys_and_values():
    torch = pytest.importorskip("torch")

    def call(t):
        layer = [wave(t, *shape) for shape in ((12, 4), (12,), (4, 4), (4,))]
        static = {"static_k": wave(t, 4, 6, 2), "static_v": wave(t, 4, 6, 2, start=1)}
        return t.nn.functional.multi_head_attention_forward(
            wave(t, 3, 2, 4), wave(t, 5, 2, 4), wave(t, 5, 2, 4), 4, 2, *layer[:2], None, None, False, 0.0, *layer[2:],
            **static,
        )

    assert_same(call(flambeau), call(torch))


# ---- transformers

FAMILY = {
    "encoder layer": ("nn.TransformerEncoderLayer(4, 2, 6, 0.3, {})", ["src_mask", "src_key_padding_mask"]),
    "encoder": ("nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6, 0.3, {}), 2, enable_nested_tensor=False)",
                ["mask", "src_key_padding_mask"]),
    "decoder layer": ("nn.TransformerDecoderLayer(4, 2, 6, 0.3, {})",
                      ["tgt_mask", "memory_mask", "tgt_key_padding_mask", "memory_key_padding_mask"]),
    "decoder": ("nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 6, 0.3, {}), 2, nn.LayerNorm(4))",
                ["tgt_mask", "memory_mask", "tgt_key_padding_mask", "memory_key_padding_mask"]),
    "whole": ("nn.Transformer(4, 2, 1, 2, 6, 0.3, {})",
              ["src_mask", "tgt_mask", "memory_mask", "src_key_padding_mask", "tgt_key_padding_mask",
               "memory_key_padding_mask"]),
}
OPTIONS = ["", "'gelu'", "activation=t.tanh", "norm_first=True", "bias=False, layer_norm_eps=0.1", "batch_first=True"]


def family_member(t, name, options):
    t.manual_seed(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of nested tensors, which have a test of their own
        return eval(FAMILY[name][0].format(options), {"t": t, "nn": t.nn})


def stepped(t, module, name, options="", masks="none", training=True):
    """The result of a call, the gradients of parameters, the state of the generator."""
    inputs = [wave(t, 3, 2, 4, start=start).double() for start in (0.3, 1.7)][: 1 + ("encoder" not in name)]
    if "batch_first" in options:
        inputs = [x.transpose(0, 1) for x in inputs]
    square = t.nn.Transformer.generate_square_subsequent_mask(3)
    padding = t.tensor([[False, False, True], [False, False, False]])
    chosen = {
        "none": {},
        "causal": {"mask": square},
        "bool": {"mask": square != 0, "padding": padding},
        "float": {"mask": wave(t, 3, 3), "padding": padding.float() * -2},
        "padding": {"padding": padding},
    }[masks]
    arguments = {n: chosen.get("padding" if "padding" in n else "mask") for n in FAMILY[name][1]}
    t.manual_seed(3)
    out = module.double().train(training)(*inputs, **arguments)
    (out * wave(t, *out.shape)).sum().backward()
    return [out, [p.grad for p in module.parameters()], t.rand(1)]


@pytest.mark.oracle
@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", FAMILY)
def test_transformer_with_options(name, options, training):
    torch = pytest.importorskip("torch")
    ours, theirs = (family_member(t, name, options) for t in (flambeau, torch))
    assert repr(ours) == repr(theirs)
    assert_same(list(ours.parameters()), list(theirs.parameters()))
    got, want = (stepped(t, m, name, options, training=training) for t, m in ((flambeau, ours), (torch, theirs)))
    assert_same(got, want, rtol=1e-6, atol=1e-7)


@pytest.mark.oracle
@pytest.mark.parametrize("options", ["", "batch_first=True, norm_first=True"])
@pytest.mark.parametrize("masks", ["causal", "bool", "float", "padding"])
@pytest.mark.parametrize("name", FAMILY)
def test_transformer_with_masks(name, masks, options):
    torch = pytest.importorskip("torch")
    ours, theirs = (family_member(t, name, options) for t in (flambeau, torch))
    got, want = (stepped(t, m, name, options, masks) for t, m in ((flambeau, ours), (torch, theirs)))
    assert_same(got, want, rtol=1e-6, atol=1e-7)


@pytest.mark.oracle
@pytest.mark.parametrize("name", FAMILY)
def test_state_dict_goes_both_ways(name):
    torch = pytest.importorskip("torch")
    ours, theirs = (family_member(t, name, "") for t in (flambeau, torch))
    for p in [*ours.parameters(), *theirs.parameters()]:
        p.data.mul_(1.5)
    here, there = family_member(flambeau, name, ""), family_member(torch, name, "")
    here.load_state_dict({k: to_flambeau(v) for k, v in theirs.state_dict().items()})
    there.load_state_dict({k: to_torch(v) for k, v in ours.state_dict().items()})
    assert_same(list(here.state_dict().values()), list(theirs.state_dict().values()))
    assert_same(list(ours.state_dict().values()), list(there.state_dict().values()))
    assert list(ours.state_dict()) == list(theirs.state_dict())


def layer_that_reports(t, seen):
    class Layer(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.self_attn = t.nn.MultiheadAttention(4, 2)

        def forward(self, x, *memory, **settings):
            seen.append({k: v if v is None or isinstance(v, bool) else [*v.shape] for k, v in settings.items()})
            return x

    return Layer()


@pytest.mark.oracle
@pytest.mark.parametrize("mask", ["None", "t.zeros(3, 3)", "t.zeros(3, 3).fill_(-inf).triu(1)", "t.zeros(2, 2)",
                                  "t.ones(3, 3, dtype=t.bool).triu(1)"])
@pytest.mark.parametrize("hint", [None, True, False])
def test_is_causal_is_passed_to_layers(mask, hint):
    torch = pytest.importorskip("torch")
    found = []
    for t in (flambeau, torch):
        seen = []
        value, layer, x = eval(mask, {"t": t, "inf": math.inf}), layer_that_reports(t, seen), wave(t, 3, 2, 4)
        t.nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)(x, value, is_causal=hint)
        t.nn.TransformerDecoder(layer, 1)(x, x, value, tgt_is_causal=hint)
        found.append(seen)
    assert found[0] == found[1]


NESTED = ["nn.TransformerEncoderLayer(4, 2)", "nn.TransformerEncoderLayer(4, 2, batch_first=True)",
          "nn.TransformerEncoderLayer(4, 2, batch_first=True, norm_first=True)",
          "nn.TransformerEncoderLayer(4, 2, batch_first=True, bias=False)",
          "nn.TransformerEncoderLayer(3, 3, batch_first=True)", "nn.Linear(2, 2)",
          "nn.TransformerEncoderLayer(4, 2, batch_first=True, activation=nn.Tanh())"]


@pytest.mark.oracle
@pytest.mark.parametrize("layer", NESTED)
def test_encoder_warns_that_it_will_not_nest(layer):
    torch = pytest.importorskip("torch")
    found = []
    for t in (flambeau, torch):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            encoder = eval(f"nn.TransformerEncoder({layer}, 1)", {"nn": t.nn})
        found.append(([str(w.message).replace(" ", "") for w in caught], encoder.use_nested_tensor))
    assert found[0] == found[1]


@pytest.mark.parametrize("masks", ["none", "causal", "bool"])
def test_custom_layer_without_attention(masks):
    class Twice(flambeau.nn.Module):
        def forward(self, x, src_mask=None, is_causal=None, src_key_padding_mask=None):
            return x * 2

    encoder = flambeau.nn.TransformerEncoder(Twice(), 3, enable_nested_tensor=False)
    assert stepped_plainly(encoder, masks).tolist() == [[8.0] * 4] * 3


def stepped_plainly(encoder, masks):
    square = flambeau.nn.Transformer.generate_square_subsequent_mask(3)
    mask = {"none": None, "causal": square, "bool": square != 0}[masks]
    return encoder(flambeau.ones(3, 4), mask)


def test_square_subsequent_mask():
    mask = flambeau.nn.Transformer.generate_square_subsequent_mask(3)
    assert mask.tolist() == [[0, -INF, -INF], [0, 0, -INF], [0, 0, 0]]


# ---- errors

X = "t.zeros(3, 2, 4)"
ATTEND = "F.scaled_dot_product_attention(t.zeros(2, 3, 4), t.zeros(2, 5, 4), t.zeros(2, 5, 4)"
HEADS = "nn.MultiheadAttention(4, 2)(t.zeros(3, 2, 4), t.zeros(5, 2, 4), t.zeros(5, 2, 4)"
FORWARD = ("F.multi_head_attention_forward(t.zeros(3, 2, 4), t.zeros(5, 2, 4), t.zeros(5, 2, 4), 4, 2, {}, t.zeros(12), "
           "{}, {}, False, 0.0, t.zeros(4, 4), t.zeros(4), {})")
WEIGHT = "t.zeros(12, 4)"

ERRORS = [
    # code, type, part of the message
    (f"{ATTEND}, t.ones(3, 5).bool(), is_causal=True)", RuntimeError, "attn_mask should not be set when is_causal=True"),
    (f"{ATTEND}, t.ones(3, 5).long())", RuntimeError, "Expected attn_mask dtype to be bool or float or to match query"),
    (f"{ATTEND}, t.ones(3, 5).double())", RuntimeError, "torch.float64"),
    (f"{ATTEND}, t.ones(2, 5))", RuntimeError, "must match"),
    (f"{ATTEND}, t.ones(1, 2, 3, 5))", RuntimeError, "[1, 2, 3, 5]"),
    (f"{ATTEND}, [1])", TypeError, "argument 'attn_mask' (position 4) must be Tensor, not list"),
    (f"{ATTEND}, dropout_p=2.0)", RuntimeError, "dropout probability has to be between 0 and 1"),
    ("F.scaled_dot_product_attention(t.zeros(4), t.zeros(5, 4), t.zeros(5, 4))", RuntimeError, "at least 2 dimensional"),
    ("F.scaled_dot_product_attention(t.zeros(3, 4), t.zeros(5, 4).double(), t.zeros(5, 4))", RuntimeError,
     "query, key, and value to have the same dtype"),
    ("F.scaled_dot_product_attention(t.zeros(3, 4), t.zeros(5, 4, device='meta'), t.zeros(5, 4))", RuntimeError,
     "query, key, and value to have the same device type"),
    ("F.scaled_dot_product_attention(*[t.zeros(3, 4).long()] * 3)", RuntimeError, "expected scalar type Float but found Long"),
    ("F.scaled_dot_product_attention(*[t.zeros(3, 4, dtype=t.complex64)] * 3)", NotImplementedError, "'ComplexFloat'"),
    ("F.scaled_dot_product_attention(t.zeros(3, 4), t.zeros(5, 3), t.zeros(5, 4))", RuntimeError, "[5, 3]"),
    ("F.scaled_dot_product_attention(t.zeros(3, 4), t.zeros(5, 4), t.zeros(6, 4))", RuntimeError, "[6, 4]"),
    ("F.scaled_dot_product_attention(t.zeros(6, 3, 4), *[t.zeros(2, 5, 4)] * 2)", RuntimeError, "[6], [2], [2]"),
    ("F.scaled_dot_product_attention(t.zeros(5, 3, 4), *[t.zeros(2, 5, 4)] * 2, enable_gqa=True)", RuntimeError,
     "Number of heads in key and value must divide the number of heads in query"),
    ("F.scaled_dot_product_attention(t.zeros(3, 4), *[t.zeros(5, 4)] * 2, enable_gqa=True)", IndexError, "out of range"),
    ("F.scaled_dot_product_attention(None, t.zeros(5, 4), t.zeros(5, 4))", TypeError, "'query' (position 1) must be Tensor"),
    ("nn.MultiheadAttention(4, 3)", AssertionError, "embed_dim must be divisible by num_heads"),
    ("nn.MultiheadAttention(0, 3)", ValueError, "must be greater than 0, got embed_dim=0 and num_heads=3"),
    (f"{HEADS}, is_causal=True)", RuntimeError, "Need attn_mask if specifying the is_causal hint"),
    (f"{HEADS}, attn_mask=t.zeros(2, 5))", RuntimeError, "2D attn_mask is torch.Size([2, 5]), but should be (3, 5)"),
    (f"{HEADS}, attn_mask=t.zeros(2, 3, 5))", RuntimeError, "should be (4, 3, 5)"),
    (f"{HEADS}, attn_mask=t.zeros(5))", AssertionError, "`attn_mask` to be `None`, 2-D or 3-D but found 1-D"),
    (f"{HEADS}, attn_mask=t.zeros(3, 5).long())", AssertionError, "only bool and floating types of attn_mask"),
    (f"{HEADS}, attn_mask=t.zeros(3, 5).double())", RuntimeError, "Input dtypes must be the same"),
    (f"{HEADS}, attn_mask=t.zeros(3, 5).double(), need_weights=False)", RuntimeError, "Expected attn_mask dtype"),
    (f"{HEADS}, key_padding_mask=t.zeros(5))", AssertionError, "`key_padding_mask` to be `None` or 2-D but found 1-D"),
    (f"{HEADS}, key_padding_mask=t.zeros(2, 4))", AssertionError, "key_padded_mask.shape[1] to be 5, but got 4"),
    (f"{HEADS}, key_padding_mask=t.zeros(2, 5).long())", AssertionError, "floating types of key_padding_mask"),
    (f"nn.MultiheadAttention(4, 2)({X}, t.zeros(5, 4), t.zeros(5, 4))", AssertionError, "expected `key` and `value` to be 3-D"),
    ("nn.MultiheadAttention(4, 2)(*[t.zeros(1, 3, 2, 4)] * 3)", AssertionError, "received 4-D query tensor"),
    ("nn.MultiheadAttention(4, 2)(*[t.zeros(3, 2, 6)] * 3)", AssertionError, "embedding dimension of 4, but got 6"),
    (f"nn.MultiheadAttention(4, 2)({X}, {X}, t.zeros(4, 2, 4))", AssertionError, "does not match value shape"),
    (f"nn.MultiheadAttention(4, 2)({X}, *[t.zeros(3, 1, 4)] * 2)", RuntimeError, "is invalid for"),
    (f"nn.MultiheadAttention(4, 2, kdim=3)({X}, {X}, {X})", AssertionError, "expecting key weights shape of (4, 4)"),
    (f"nn.MultiheadAttention(4, 2, kdim=4, vdim=3)({X}, {X}, t.zeros(4, 2, 3))", AssertionError, "do not match value's"),
    ("nn.MultiheadAttention(4, 2)(*[t.zeros(3, 4)] * 3, attn_mask=t.zeros(4, 3, 3))", AssertionError, "(2, 3, 3)"),
    (FORWARD.format("None", "None", "None", ""), AssertionError, "in_proj_weight is None"),
    (FORWARD.format("None", "None", "None", "use_separate_proj_weight=True"), AssertionError, "q_proj_weight is None"),
    (FORWARD.format(WEIGHT, "t.zeros(1, 1, 4)", "None", ""), AssertionError, "bias_k is set but bias_v is None"),
    (FORWARD.format(WEIGHT, "t.zeros(1, 1, 4)", "t.zeros(1, 1, 4)", "static_k=t.zeros(4, 5, 2)"), AssertionError,
     "bias cannot be added to static key"),
    (FORWARD.format(WEIGHT, "None", "None", "static_k=t.zeros(3, 5, 2)"), AssertionError, "static_k.size(0) of 4, but got 3"),
    (FORWARD.format(WEIGHT, "None", "None", "static_v=t.zeros(4, 5, 3)"), AssertionError, "static_v.size(2) of 2, but got 3"),
    ("nn.TransformerEncoderLayer(4, 2, activation='tanh')", RuntimeError, "activation should be relu/gelu, not tanh"),
    (f"nn.TransformerEncoderLayer(4, 2)({X}, t.zeros(3, 3).long())", AssertionError, "floating types of src_mask"),
    (f"nn.TransformerDecoderLayer(4, 2)({X}, {X}, tgt_is_causal=True)", RuntimeError, "Need attn_mask"),
    (f"nn.Transformer(4, 2, 1, 1, 6)({X}, t.zeros(3, 1, 4))", RuntimeError, "batch number of src and tgt must be equal"),
    (f"nn.Transformer(4, 2, 1, 1, 6)({X}, t.zeros(3, 2, 5))", RuntimeError, "must be equal to d_model"),
    ("nn.attention.sdpa_kernel(3).__enter__()", AssertionError, "instance of SDPBackend"),
    ("nn.attention.bias.causal_upper_left(2, 3, 4)", AssertionError, "causal_upper_left only supports 2D"),
]


def torch_with_attention():
    """PyTorch with those of its modules that are not imported with it."""
    pytest.importorskip("torch.nn.attention.bias")
    return pytest.importorskip("torch")


test_error, test_torch_raises_the_same_type = error_tests(ERRORS, torch_with_attention)


# ---- nn.attention


@pytest.mark.oracle
@pytest.mark.parametrize("backends", ["[]", "S.MATH", "[S.MATH, S.FLASH_ATTENTION]", "[S.MATH, S.MATH]"])
@pytest.mark.parametrize("priority", [False, True])
def test_backends_are_remembered(backends, priority):
    torch = torch_with_attention()
    found = []
    for t in (flambeau, torch):
        a = t.nn.attention
        with a.sdpa_kernel(eval(backends, {"S": a.SDPBackend}), set_priority=priority):
            found.append([repr(a._cur_sdpa_kernel_backends(ordered)) for ordered in (False, priority)])
        found[-1].append(repr(a._cur_sdpa_kernel_backends()))
    assert found[0] == found[1]


@pytest.mark.oracle
@pytest.mark.parametrize("variant", ["causal_upper_left", "causal_lower_right"])
@pytest.mark.parametrize("shape", [(2, 3), (3, 3), (4, 2)])
def test_causal_bias(variant, shape):
    torch = torch_with_attention()
    found = []
    for t in (flambeau, torch):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            bias = getattr(t.nn.attention.bias, variant)(*shape)
        tensors = wave(t, shape[0], 4), wave(t, shape[1], 4), wave(t, shape[1], 4)
        out = t.nn.functional.scaled_dot_product_attention(*tensors, attn_mask=bias)
        found.append([out, repr(bias), int(bias.variant), len(caught)])
    assert_same(*found)
