"""Regression tests: programs of layers, found by the differential tool, on which the libraries once disagreed."""

import math

import pytest

from _oracle import check_code

pytestmark = pytest.mark.oracle

OF_NOTHING = [  # norms of empty batches save nothing, and leave running statistics alone
    f"m = torch.nn.{layer}\nx = torch.zeros({shape}, requires_grad=True)\ny = m(x)\n{use}\n"
    "(y, x.grad, [p.grad for p in m.parameters()], list(m.buffers()))"
    for layer, shape in (
        ("BatchNorm1d(3)", "0, 3"), ("BatchNorm1d(3)", "2, 3, 0"), ("BatchNorm2d(3, affine=False)", "0, 3, 2, 2"), ("BatchNorm1d(3).eval()", "0, 3"),
        ("BatchNorm1d(3, track_running_stats=False)", "0, 3"), ("Sequential(torch.nn.BatchNorm2d(3), torch.nn.ReLU())", "0, 3, 2, 2"),
        ("InstanceNorm1d(3)", "0, 3, 2"), ("InstanceNorm1d(3)", "2, 3, 0"), ("InstanceNorm2d(3, affine=True)", "0, 3, 2, 2"),
        ("GroupNorm(3, 3)", "0, 3, 2"), ("GroupNorm(3, 3)", "2, 3, 0"), ("LayerNorm(3)", "0, 3"), ("RMSNorm(3)", "0, 3"),
    )
    for use in (
        "y.sum().backward()\ny.sum().backward()", "(y * y).sum().backward(retain_graph=True)\n(y * y).sum().backward()",
        "torch.autograd.grad((y * y).sum(), x, create_graph=True)[0].sum().backward()",
    )
] + ["torch.nn.functional.batch_norm(torch.zeros(2, 0), None, None, torch.ones(0), training=True)",
     "torch.nn.functional.batch_norm(torch.zeros(0, 3), None, None, torch.ones(5), training=True)"]

OF_NOTHING += [f"torch.nn.functional.{call}" for shape in ("4, 3, 2", "0, 3, 2") for running in ("torch.zeros(3), None", "None, torch.ones(3)")
               for training in (True, False) for call in (f"batch_norm(torch.ones({shape}), {running}, training={training})",
                                                          f"instance_norm(torch.ones({shape}), {running}, use_input_stats={training})")]
OF_NOTHING += [f"x = torch.zeros({shape}, requires_grad=True)\ntorch.nn.functional.channel_shuffle(x, 2)" for shape in ("2, 0, 3", "0, 4, 3")]
IN_PLACE_ON_NOTHING = [
    f"x = torch.zeros({shape}, requires_grad=True)\n(torch.nn.functional.{name}(x, {p}, True, True) is x, x._version)"
    for name in ("dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d", "dropout2d", "dropout3d")
    for shape in ("0, 3, 2", "0, 3, 2, 2", "0, 3, 2, 2, 2") for p in (0.5, 0.0, 1.0)
]
SIZES = [f"torch.nn.{name}{n}d({size})(torch.ones(1, 2, {', '.join('4' * n)})).shape" for name in ("AdaptiveAvgPool", "AdaptiveMaxPool")
         for n in (1, 2, 3) for size in ("None", f"{(None,) * n}", "2")]
SIZES += [f"torch.nn.functional.lp_pool{n}d(torch.ones{(1, 2, 4, 4, 4)[:n + 2]}, {p}, {kernel}).shape" for n in (1, 2, 3)
          for p in ("2", "inf", "-inf") for kernel in ("2", f"{(2,) * n}")]
SIZES += [f"torch.nn.functional.lp_pool{n}d((torch.arange({4**n}) % 5).reshape{(1, 1, 4, 4, 4)[:n + 2]}, {p}, 2)" for n in (1, 2, 3)
          for p in ("2", "2.0", "1", "3.0")]  # of integers, in the dtype that the power gives
SIZES += [f"torch.manual_seed(0)\ntorch.nn.functional.fractional_max_pool{n}d(torch.ones({(1, 2, 5, 5, 5)[:n + 2]}), 2, "
          f"output_ratio={ratio})" for n in (2, 3) for ratio in ("0.6", "(0.6,)", "1", "(0.6,) * 3", "(0.6,) * 2")]
SIZES += [f"torch.nn.functional.max_unpool{n}d(*torch.nn.functional.max_pool{n}d(torch.ones({shape}), 2, return_indices=True), 2, padding=1)"
          for n, shape in ((1, "1, 2, 3"), (1, "1, 2, 5"), (2, "1, 2, 5, 3"), (3, "1, 2, 5, 4, 3"), (3, "1, 2, 5, 4, 4"))]
WRITES = [f"torch.manual_seed(0)\nx = torch.zeros({shape})\ntorch.nn.init.{call}\nx._version" for shape in ("3, 4", "2, 2", "50, 50") for call in (
    "trunc_normal_(x)", "trunc_normal_(x, 0.0, 2.0)", "eye_(x)", "orthogonal_(x)", "xavier_normal_(x)", "sparse_(x, 0.5)")]
LOSSES = [
    *[f"torch.nn.functional.ctc_loss(torch.zeros(5, 4, dtype=torch.{dtype}).log_softmax(-1), torch.tensor([1, 2, 3]), {lengths})"
      for dtype in ("float32", "bfloat16") for lengths in ("5, 3", "(5,), 3", "5, (3,)", "[5], (3,)", "torch.tensor(5), torch.tensor(3)")],
    *[f"x = torch.arange(12.).sin().reshape(2, 3, 2).requires_grad_()\nd = torch.nn.functional.{name}(x, torch.tensor({target}){weight}, "
      f"ignore_index=2, reduction='{reduction}')\n(d * d * nan).sum().backward()\n(d, x.grad)" for name in ("cross_entropy", "nll_loss")
      for target in ("[[2, 2], [2, 2]]", "[[2, 0], [1, 2]]") for weight in ("", ", torch.ones(3)") for reduction in ("mean", "sum", "none")],
    *[f"x = torch.tensor([[nan, inf, 1.0], [-inf, 1.0, 2.0]], requires_grad=True)\n"
      f"d = torch.nn.functional.multi_margin_loss(x, torch.tensor({target}), p={p})\nd.backward()\n(d, x.grad)"
      for target in ("[0, 2]", "[1, 0]", "[2, 1]") for p in (1, 2)],
    *[f"x = {x}.requires_grad_()\nd = torch.nn.functional.multi_margin_loss(x, torch.tensor([0, 2]), p={p})\n(d * d).backward()\n(d, x.grad)"
      for x in ("torch.tensor([[-1.0, 1.0, nan], [2.0, 1.0, -1.0]]) / 0", "torch.tensor([[1.0, 1e30, 0.0], [2.0, 1.0, -1.0]])") for p in (1, 2)],
    *[f"x, y = (torch.arange(4., 12.).sin().reshape(2, 4).requires_grad_() for _ in range(2))\n"
      f"d = torch.nn.functional.cosine_similarity(x * {s}, y, dim={dim}, eps={eps})\nd.sum().backward()\n(d, x.grad, y.grad)"
      for s in (1, 0, 1e-3) for dim in (0, 1) for eps in (1e-8, 0.5, 3.0)],
    *[f"torch.nn.functional.gaussian_nll_loss(torch.ones(2), torch.zeros(2), {var})" for var in ("1", "True", "1.0", "-1.0", "torch.ones(2)")],
]
RESULTS = [  # not views of something that a write would reach
    "x = torch.arange(24.).reshape(3, 2, 4)\ny = torch.nn.utils.rnn.unpad_sequence(x * 1, torch.tensor([3, 1]))\n[(t, t.stride(), t._is_view()) for t in y]",
    "x = torch.arange(24.).reshape(2, 3, 4)\ny = torch.nn.utils.rnn.unpad_sequence(x, torch.tensor([3, 1]), batch_first=True)\ny[0].zero_()\nx",
    "x = torch.arange(24.).reshape(2, 3, 4)\ntorch.nn.utils.rnn.unpad_sequence(x, torch.tensor([-1, 5]), batch_first=True)",
    "torch.nn.functional.conv_tbc(torch.ones(5, 2, 4), torch.ones(3, 4, 2), torch.ones(2)).stride()",
]
BIASES = [f"torch.nn.functional.linear(torch.ones({x}), torch.ones({weight}), torch.ones({bias}))" for x, weight, bias in (
    ("4", "4", "()"), ("4", "4", "3"), ("4", "4", "2, 3"), ("2, 4", "4", "()"), ("2, 4", "4", "2"), ("2, 3, 4", "4", "()"), ("2, 3, 4", "4", "3"),
    ("2, 3, 4", "4", "2, 3"), ("4", "3, 4", "1, 3"), ("4", "3, 4", "2, 3"), ("4", "3, 4", "()"), ("2, 4", "3, 4", "2, 3"), ("2, 4", "1, 4", "1, 3"))]
STATES = [  # a hidden state in another dtype than the weights
    f"m = torch.nn.{kind}\nx = torch.arange(24.).sin().reshape({x})\na = m(x, {state.replace('H', hidden)})\n"
    "[t.dtype for t in (a if isinstance(a, tuple) else (a,)) if hasattr(t, 'dtype')]"
    for kind, x, state, hidden in (
        ("RNN(4, 2)", "3, 2, 4", "H", "torch.ones(1, 2, 2)"), ("GRU(4, 2, bias=False)", "3, 2, 4", "H", "torch.ones(1, 2, 2)"),
        ("LSTM(4, 2)", "3, 2, 4", "(H, H)", "torch.ones(1, 2, 2)"), ("LSTM(4, 2)", "3, 2, 4", "(torch.ones(1, 2, 2), H)", "torch.ones(1, 2, 2)"),
        ("RNNCell(4, 2)", "6, 4", "H", "torch.ones(6, 2)"), ("RNNCell(4, 2, nonlinearity='relu')", "6, 4", "H", "torch.ones(6, 2)"),
        ("GRUCell(4, 2)", "6, 4", "H", "torch.ones(6, 2)"), ("LSTMCell(4, 2)", "6, 4", "(H, H)", "torch.ones(6, 2)"),
        ("LSTMCell(4, 2)", "6, 4", "(torch.ones(6, 2), H)", "torch.ones(6, 2)"))
    for hidden in (f"{hidden}.{dtype}()" for dtype in ("double", "long", "bool"))
] + [f"m = torch.nn.{kind}\nx = torch.ones({x})\nwith torch.autocast('cpu'): a = m(x, torch.ones({x[0]}, 2).{dtype}())\na.dtype"
     for kind, x in (("RNNCell(4, 2)", "6, 4"), ("GRUCell(4, 2)", "6, 4")) for dtype in ("double", "float", "bfloat16", "long")]
STATES += [f"torch.nn.GRUCell(4, 2)(torch.ones(4), torch.ones({shape})).shape" for shape in ("2", "1, 2", "2, 2")]
SETTINGS = [f"x = torch.ones(2, requires_grad=True)\no = torch.optim.{name}([x], capturable=True, fused={fused})\nx.sum().backward()\no.step()\nx.detach()"
            for name in ("Adam", "AdamW") for fused in (True, False)]

BIASES_OF_CONVOLUTIONS = [f"w, b = torch.ones((2, 4) + {(2,) * n}), torch.tensor([1.3, 2.7], dtype=torch.{dtype}, requires_grad=True)\n"
          f"y = torch.nn.functional.conv{n}d(torch.ones((1, 4) + {(3,) * n}), w, b, padding={padding})\ny.sum().backward()\n(y, b.grad)"
          for n in (1, 2, 3) for dtype in ("float64", "bfloat16", "float32") for padding in ("'same'", "'valid'", "1")]
BIASES_OF_CONVOLUTIONS += [f"b = torch.tensor([0, 2]).to(torch.{dtype})\ntorch.nn.functional.conv_tbc(torch.ones(5, 2, 4), torch.ones(3, 4, 2), b)"
                           for dtype in ("bool", "int64", "float64", "bfloat16")]
LATE_SAMPLES = [  # beyond the end of a sample the gradient is zero, also where its loss is infinite
    "x = torch.arange(40.).sin().reshape(5, 2, 4).requires_grad_()\nargs = torch.tensor([[1, 2], [2, 1]]), torch.tensor([2, 1]), torch.tensor([1, 2])\n"
    f"y = torch.nn.functional.ctc_loss(x.log_softmax(-1), *args, reduction='{reduction}', zero_infinity={zero})\n(y * y).sum().backward()\nx.grad"
    for reduction in ("mean", "sum", "none") for zero in (True, False)
]
UNPOOLED = [f"y, i = torch.nn.functional.max_pool{n}d(torch.ones({shape}), 2, return_indices=True)\n"
            f"torch.nn.functional.max_unpool{n}d(y.{dtype}(), i.{index}(), 2, output_size={size}).shape"
            for n, shape in ((1, "3, 5, 4"), (2, "3, 4, 4"), (2, "2, 3, 4, 4"), (3, "3, 5, 4, 4"), (3, "1, 3, 4, 4, 4"))
            for dtype in ("long", "float", "bool") for index in ("long", "int")
            for size in ("[3]", "[50, 50, 50]", f"[4] * {n}", "[]", "None") if (n, dtype, index) not in ((1, "long", "long"), (1, "bool", "long"))]
OF_TWO_FAULTS_IN_A_LAYER = [
    *[f"torch.nn.MultiheadAttention(4, 2, batch_first={first}, kdim={k}, vdim={v})(*map(torch.ones, {shapes}))[0].shape"
      for first in (True, False) for k, v in ((2, 3), (4, 4)) for shapes in (
          "((3, 2, 4), (5, 2, 4), (5, 2, 4))", "((3, 2, 4), (5, 2, 2), (5, 2, 3))", "((2, 3, 4), (2, 5, 2), (2, 5, 3))")],
    *[f"torch.optim.{name}({params}, lr=0.1, {options})" for name in ("Adagrad", "Adam", "AdamW", "SGD") for params in ("[]", "[torch.ones(2)]")
      for options in ("foreach=True, fused=True", "differentiable=True, fused=True")],
]
CELLS = [  # where a state is not used, nothing comes through its gate
    f"torch.manual_seed(0)\nm = torch.nn.{cell}(4, 2)\nx = torch.arange(8.).sin().reshape(2, 4)\nx[0, 2] = {value}\nx.requires_grad_()\n"
    f"y = m(x)\n(y{state} * y{state}).sum().backward()\n(x.grad, [p.grad for p in m.parameters()])"
    for cell, states in (("LSTMCell", ("[0]", "[1]")), ("LSTM", ("[0]", "[1][1]")), ("GRUCell", ("",)), ("RNNCell", ("",)))
    for state in states for value in ("nan", "0.5")
]
SPREAD = [  # what is not finite stays where it was read
    f"x = torch.tensor([{value}, *[1.0] * {math.prod(shape) - 1}]).reshape({shape}).requires_grad_()\n"
    f"y = torch.nn.functional.interpolate(x, size={size}, mode='{mode}')\n(y * y).mean().backward()\nx.grad"
    for value in ("nan", "-inf") for mode in ("nearest", "nearest-exact")
    for shape, size in (((1, 2, 5), 7), ((1, 2, 7), 5), ((1, 1, 3, 4), (4, 5)), ((1, 1, 5, 3), (3, 4)), ((1, 1, 2, 3, 2), (3, 4, 3)))
]
DROPPED = [f"x = torch.ones({shape}, dtype=torch.{dtype})\ny = torch.nn.functional.{name}(x, 1.0, True{place})\n(y, x)"
           for name, shape in (("dropout", "2, 3"), ("alpha_dropout", "2, 3"), ("feature_alpha_dropout", "2, 3"), ("dropout1d", "2, 3, 2"),
                               ("dropout2d", "2, 3, 2, 2"), ("dropout3d", "2, 3, 1, 2, 2"))
           for dtype in ("int64", "bool", "uint8", "complex64", "bfloat16") for place in ("", ", inplace=True")]
CODES = [f"y = torch.nn.functional.one_hot(torch.tensor({index}), {classes})\n(y, y.storage_offset(), y._is_view(), y.untyped_storage().nbytes())"
         for index in ("3", "[3]", "[[1], [2]]") for classes in (-1, 5, 300)]
LBFGS_STEP = """x = torch.nn.Parameter(torch.tensor([3.0, -2.0]))
o = torch.optim.LBFGS([x], max_iter=2)
def step():
    def closure():
        o.zero_grad()
        loss = ((x - 1) ** 4).sum()
        loss.backward()
        return loss
    return o.step(closure)
step()
"""
ADDED_GROUPS = [f"x = torch.nn.Parameter(torch.eye(2))\no = torch.optim.{name}([x], lr=0.1)\n{load}\n"
                "o.add_param_group({'params': [torch.nn.Parameter(torch.ones(2, 2))]})\n[sorted(group) for group in o.param_groups]"
                for name in ("Muon", "SparseAdam", "SGD", "Adafactor", "Rprop") for load in ("", "o.load_state_dict(o.state_dict())")]
CLOSURES = [LBFGS_STEP + use for use in (
    "o.add_param_group({'params': [torch.nn.Parameter(torch.ones(2))]})\nstep()",
    "s = o.state_dict()['state'][0]['prev_flat_grad']\nbefore = s.clone()\nstep()\n(before, s, s._version)",
)]
PROJECTIONS = [f"m = torch.nn.LSTM(4, 2, proj_size=1, num_layers={layers})\nx = torch.arange(8. * {steps}).sin().reshape({steps}, 2, 4)\ny = m(x)\n"
               f"[g is None for g in torch.autograd.grad({loss}.sum(), list(m.parameters()), create_graph={graph}, allow_unused=True)]"
               for layers in (1, 2) for steps in (1, 2) for loss in ("y[1][1]", "y[1][1][-1]", "y[0]", "y[1][0]") for graph in (True, False)]
STEP_COUNTS = [f"x = torch.ones(2, requires_grad=True)\na, b = [torch.optim.{name}([x]) for _ in range(2)]\nx.sum().backward()\na.step()\n"
               f"b.load_state_dict(a.state_dict())\nb.step()\n([s['step'] for s in a.state.values()], [s['step'] for s in b.state.values()])"
               for name in ("Adagrad", "Adam", "RMSprop", "Rprop", "NAdam")]


@pytest.mark.parametrize("code", OF_NOTHING + IN_PLACE_ON_NOTHING + SIZES + WRITES + LOSSES + RESULTS + BIASES + STATES + SETTINGS
                         + BIASES_OF_CONVOLUTIONS + LATE_SAMPLES + UNPOOLED + OF_TWO_FAULTS_IN_A_LAYER + STEP_COUNTS + CELLS + CODES + ADDED_GROUPS + PROJECTIONS
                         + SPREAD + DROPPED + CLOSURES)
def test_programs_agree(code):
    check_code(code)
