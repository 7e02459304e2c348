"""Regression tests: programs, found by the differential tool, on which the libraries once disagreed."""

import math

import pytest

from _oracle import check_code

pytestmark = pytest.mark.oracle

EXPANDED = "x = torch.arange(6).reshape(1, 2, 3).expand(2, 2, 3)\n"
LEAF = "x = torch.ones(2, requires_grad=True)\n"

LAYOUT = [EXPANDED + code for code in (
    "torch.exp(x)", "x * 2.0", "x.bfloat16().exp()", "x.half() + 1", "x / 3", "torch.erfinv(x)", "torch.special.erfcx(x.float())", "x + torch.ones(3)",
    "x.transpose(0, 1).exp()",
)] + [f"torch.special.{name}(torch.eye(2, 3).t())" for name in (
    "airy_ai", "bessel_j0", "bessel_y1", "modified_bessel_i0", "modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0",
)] + [f"torch.{name}(torch.eye(2, 3, dtype=torch.complex64).t())" for name in ("exp2", "exp", "log", "sqrt")] + [
    "2 ** torch.eye(2, 3).t()", "torch.float_power(1, torch.eye(2, 3).t())", "torch.mvlgamma(torch.ones(2, 3).t() + 2, 2)",
    "torch.rrelu(torch.eye(2, 3).t())", "torch.sign(torch.ones(2, 3).bool().t())", "torch.sgn(torch.ones(2, 3).bool().t())",
    "torch.isreal(torch.zeros(2, 3, 2, 2).contiguous(memory_format=torch.channels_last))",
    *[f"torch.unravel_index(torch.arange(6).reshape(2, 3).t(){part}, (3, 2))" for part in ("", "[:, :1]", "[:, :1].expand(3, 2)")],
]
OF_A_NUMBER = [  # a tensor without dimensions: what is not finite stays so
    f"x = torch.tensor({value}, dtype=torch.{dtype}, requires_grad=True)\ny = torch.{call}\n(y, *torch.autograd.grad(y, x))"
    for value in ("nan", "inf", "2.0") for dtype in ("float32", "bfloat16") for call in ("softmax(x, 0)", "log_softmax(x, -1)")
]
NO_FREEDOM = [  # dimensions that are named have no rule of their own for a correction of as many elements
    f"x = torch.arange(6.).sin().reshape(2, 3).requires_grad_()\ntorch.autograd.grad(torch.{call}.sum(), x)"
    for call in ("var(x, 0, correction=2)", "var(x, 0, correction=3)", "std(x, 0, correction=2)", "var(x, (0, 1), correction=6)", "var(x, correction=6)",
                 "var(x[0, 0], 0, correction=2)", "var(x[0, 0])")
]
DTYPES = [
    *[f"torch.einsum('{equation}', torch.ones({left}, dtype=torch.{dtype}), torch.ones({right}, dtype=torch.{dtype}))"
      for dtype in ("int32", "uint8", "int64")
      for equation, left, right in (
          ("i...,i...->...", (1,), (1,)), ("i...,i...->...", (2,), (2,)), ("i,j->ij", (2,), (3,)),
          ("ij,j->ij", (2, 1), (1,)), ("ij,j->", (1, 1), (1,)), ("ij,jk->ik", (2, 2), (2, 2)),
      )],
    "torch.einsum('i,j->ij', torch.ones(2, dtype=torch.bool), torch.ones(2, dtype=torch.bool))",
    "torch.einsum('i->', torch.ones(1, dtype=torch.int32))",
    *[f"torch.einsum('ij->i', torch.ones(2, 3, dtype=torch.{d}))" for d in ("int8", "uint8", "int32", "bool")],
    *[f"torch.tensordot(torch.ones(2, 3, dtype=torch.{d}), torch.ones(2, 1, dtype=torch.{d}), ([0, 1], [0, 1]))" for d in ("uint8", "int32", "bool")],
    *[f"torch.nn.functional.rms_norm(torch.ones(2, 3, dtype=torch.{x}), (3,), torch.ones(3, dtype=torch.{w})).dtype"
      for x in ("float32", "float64", "bfloat16", "float16") for w in ("float32", "float64", "bfloat16", "float16")],
]
MIXED = [
    f"torch.nn.functional.{call}".replace("X", f"torch.ones(2, 3, 4, dtype=torch.{x})").replace("W", f"torch.ones({n}, dtype=torch.{w})")
    for call, n in (("layer_norm(X, (4,), W, W)", 4), ("batch_norm(X, None, None, W, W, True)", 3), ("group_norm(X, 3, W, W)", 3),
                    ("batch_norm(X, W, W, None, None, True)", 3), ("batch_norm(X, W, W)", 3), ("instance_norm(X, None, None, W, W)", 3),
                    ("instance_norm(X, W, W)", 3))
    for x in ("float32", "float64", "bfloat16") for w in ("float32", "float64", "bfloat16", "float16")
]
NUMBERS = [
    "torch.addcmul(torch.ones(2), torch.ones(2), torch.ones(2), value=1j)",
    "torch.addcmul(torch.ones(2), torch.ones(2), torch.ones(2), value=(1+0j))",
    "torch.addcmul(torch.ones(2).long(), torch.ones(2).long(), torch.ones(2).long(), value=1j)",
    "torch.addcmul(torch.ones(2).long(), torch.ones(2).long(), torch.ones(2).long(), value=1.5)",
    "torch.addcdiv(torch.ones(2), torch.ones(2), torch.ones(2), value=1j)",
    "torch.add(torch.ones(2), torch.ones(2), alpha=1j)",
    "torch.sub(torch.ones(2), torch.ones(2), alpha=(1+0j))",
    "torch.lerp(torch.ones(2), torch.ones(2), 1j)",
    *[f"torch.{name}(torch.zeros({shape}, dtype=torch.int64), {divisor})"
      for name in ("fmod", "remainder", "floor_divide") for shape in ((0,), (2, 0), (2,))
      for divisor in ("0", "torch.tensor(0)")],
]
SHAPES = [*[f"x = torch.zeros({shape})\ny = torch.diff(x, {n}, {dim})\n(y, x is y)"
            for shape, dim in (((0,), 0), ((0, 2), 0), ((0, 2), 1), ((1,), 0), ((3,), 0)) for n in (0, 1, 2, 3)],
          "torch.topk(torch.tensor(1.0), 0)", "torch.topk(torch.tensor(1.0), 1)", "torch.topk(torch.ones(2), 0)",
          *[f"torch.repeat_interleave(torch.tensor(1.0), {options})" for options in ("2", "2, dim=0", "2, dim=-1", "torch.tensor([2]), dim=0", "0, 0")],
          "torch.tensor(1).unflatten(0, (-1, 1))", "torch.ones(2).unflatten(0, (-1, 1))"]
TOO_LARGE = [
    expression.replace("D", f"torch.{dtype}").replace("V", value)
    for expression in (
        "torch.ones(2, dtype=D).fill_(V)", "torch.full((2,), V, dtype=D)", "torch.full_like(torch.ones(2, dtype=D), V)",
        "torch.ones(2, dtype=D).masked_fill(torch.ones(2) > 0, V)", "torch.clamp(torch.ones(2, dtype=D), 0, V)",
        "torch.where(torch.ones(2) > 0, torch.ones(2, dtype=D), V)", "torch.nn.functional.pad(torch.ones(2, dtype=D), (1, 0), value=V)",
        "torch.ones(2, dtype=D).new_full((2,), V)", "torch.ones(2, dtype=D).index_fill(0, torch.tensor([0]), V)",
        "torch.addcmul(torch.ones(2, dtype=D), torch.ones(2, dtype=D), torch.ones(2, dtype=D), value=V)",
        "torch.lerp(torch.ones(2, dtype=D), torch.ones(2, dtype=D), V)", "torch.tensor([V], dtype=D)",
        "x = torch.ones(2, dtype=D)\nx[...] = V\nx",
    )
    for dtype, value in (("half", "1e30"), ("half", "65520.0"), ("half", "inf"), ("bfloat16", "1e39"), ("float32", "1e39"),
                         ("float32", "-inf"), ("uint8", "-2.5"), ("uint8", "255.5"), ("uint8", "-1"), ("int8", "127.5"))
]
BOOLS = "torch.tensor([False, True])"
KINDS = [
    *[f"torch.nn.functional.{name}(torch.ones({(2,) * ndim}), {size})"
      for name in ("adaptive_avg_pool2d", "adaptive_max_pool2d", "adaptive_avg_pool3d") for ndim in range(6) for size in ("2", "(2, 2)", "1")],
    *[f"torch.nn.functional.conv_transpose1d(torch.ones({shape}), torch.ones(2, 1, 2), padding=1, groups={groups})"
      for shape in ("2, 1", "1, 2, 1", "2, 2, 1", "0, 2, 1") for groups in (1, 2)],
    *[f"torch.mean(torch.ones(2, dtype=torch.{dtype}), 0, out=torch.zeros(()){option})"
      for dtype in ("int64", "bool") for option in ("", ", dtype=torch.float32", ", dtype=torch.float64")],
    *[f"torch.{call}" for call in (f"searchsorted({BOOLS}, {BOOLS})", f"bucketize({BOOLS}, {BOOLS})", f"mvlgamma({BOOLS}, 1)", f"special.multigammaln({BOOLS}, 1)")],
    *[f"torch.pow({call})" for call in (
        "torch.tensor([inf]), torch.tensor([-2+0j])", "torch.tensor([complex(0, inf), -inf]), torch.tensor([-1+0j, -2+0j])",
        "torch.tensor([complex(0, inf)]), torch.tensor([-1.0])", "1, torch.tensor([complex(0, inf), complex(nan, 1)])")],
    "torch.linalg.cross(torch.ones(()), torch.ones(()))",
    "torch.cross(torch.ones(2), torch.ones(2), dim=0)",
]
GRADIENTS = [
    LEAF + "y = torch.nn.functional.soft_margin_loss(x, x.detach())\ny.backward(inputs=[y])\ny.backward()",
    LEAF + "x.sum().backward(create_graph=True)\n(x.grad.stride(), x.grad._is_view(), x.grad.zero_())",
    LEAF + "g = torch.ones(2)\nx.backward(g, create_graph=True)\nx.grad.zero_()\n(g, x.grad)",
    LEAF + "g = torch.ones(2, requires_grad=True)\nx.backward(g, create_graph=True)\nx.grad.sum().backward()\n(x.grad is g, g.grad)",
    LEAF + "(x * x).sum().backward(create_graph=True)\ng = x.grad\nx.sum().backward()\n(x.grad is g, g, g.requires_grad)",
    LEAF + "(x * x).sum().backward(create_graph=True)\nx.grad.grad_fn.name()",
    "x = torch.ones(3, 2, requires_grad=True)\nx.t().backward(torch.ones(2, 3), create_graph=True)\nx.grad.stride()",
    "x = torch.ones(1, 3).expand(2, 3).requires_grad_()\n(x * x).sum().backward()\nx.grad.stride()",
    "x = torch.tensor(1.0, requires_grad=True)\nx.sum().backward()\ng = x.grad\nx.sum().backward()\n"
    "(g, g is x.grad, g.storage_offset(), g.detach().storage_offset())",
]
ONE_ELEMENT = [
    expression.replace("D", f"torch.{dtype}").replace("V", value)
    for expression in ("torch.ones(SHAPE, dtype=D).fill_(V)", "torch.full(SHAPE, V, dtype=D)", "torch.ones(2, dtype=D).new_full(SHAPE, V)",
                       "torch.full_like(torch.ones(SHAPE, dtype=D), V)", "x = torch.ones(2, dtype=D)\nx[0] = V\nx",
                       "torch.ones(SHAPE, dtype=D).copy_(V)")
    for expression in dict.fromkeys(expression.replace("SHAPE", shape) for shape in ("()", "(1,)", "(0,)", "(2,)"))
    for dtype, value in (("half", "1e30"), ("half", "65510.0"), ("half", "70000"), ("bfloat16", "-1e39"), ("float32", "1e39"),
                         ("complex64", "1e39"), ("uint8", "300"), ("float32", "1j"))
]
COPIES = [f"torch.ones(2, dtype=torch.{dtype}).copy_({value})" for dtype in ("float32", "int64", "bool", "half", "complex64")
          for value in ("3+1j", "1e39", "True", "-2", "2.5", "nan")]
SCALARS = [
    f"x = torch.ones(2, dtype=torch.{dtype})\n{expression.replace('V', f'({value})')}"
    for value in ("2**64", "-2**63 - 1", "np.bool_(True)", "np.complex64(2+1j)", "np.complex128(1j)", "np.float32(2)", "np.int8(2)")
    for dtype in ("float32", "int64", "uint8", "complex64")
    for expression in ("x + V", "V * x", "x - V", "V - x", "x / V", "x ** V", "x == V", "torch.add(x, V)", "x.add_(V)", "x.fill_(V)",
                       "torch.full((2,), V)", "torch.where(x == 1, x, V)", "x.masked_fill(x == 1, V)")
    if dtype != "complex64" or "where" not in expression
]
CROPS = [f"torch.nn.functional.pad(torch.ones({shape}), {pads})" for shape in ("0, 2", "2, 2")
         for pads in ("(0, 0, -1, 1)", "(0, 0, -1, 0)", "(-3, 1)", "(2, -3)", "(-1, -1)", "(-2, 2)", "(-2, -1)", "(0, 0, 1, -1)")]
CROPS += [f"torch.nn.functional.pad(torch.ones({shape}), {pads}, mode='{mode}')" for mode in ("circular", "replicate", "reflect")
          for shape, pads in (("0, 2", "(1, 0)"), ("2, 0", "(0, 0)"), ("2, 0", "(1, 0)"), ("0, 3, 2", "(1, 1)"), ("3, 0, 2", "(1, 1)"),
                              ("0, 2, 2", "(1, 1, 1, 1)"), ("2, 2, 0, 2", "(1, 1, 0, 0)"), ("0, 0, 2", "(1, 0)"))]
CROPS += [f"x = torch.arange(8.).reshape({shape}).requires_grad_()\ny = torch.nn.functional.pad(x, {pads}, mode='{mode}')\n"
          "(y * y).sum().backward()\n(y, y.stride(), x.grad)" for mode in ("reflect", "replicate", "circular")  # what a margin repeats beside a crop
          for shape, pads in (("2, 4", "(-1, 2)"), ("2, 4", "(3, -2)"), ("2, 4", "(-4, 3)"), ("2, 4", "(2, -1)"), ("1, 2, 4", "(-1, 2, -1, 1)"),
                              ("1, 2, 4", "(3, -3, 1, -1)"), ("1, 2, 4", "(-1, -1, 1, 0)"))
          if mode != "circular" or pads not in ("(3, -2)", "(-4, 3)", "(3, -3, 1, -1)")]  # of which it would have to go round more than once
IN_PLACE = [f"torch.ones(2, dtype=torch.{dtype}).{name}_(0{option})" for name in ("cumsum", "cumprod")
            for dtype in ("bool", "int8", "int32", "float32") for option in ("", ", dtype=torch.float32", ", dtype=torch.float64")]
BOUNDS = [f"torch.{name}(torch.tensor([True, False]), {bounds})" for name, bounds in (
    ("clamp", "min=True"), ("clamp", "max=torch.tensor(False)"), ("clamp", "min=torch.tensor([True, True])"), ("clamp", "True, False"),
    ("clamp", "torch.tensor(False), torch.tensor(True)"), ("clamp", "min=1"), ("clamp", "min=0.5"), ("clamp", "min=torch.tensor(1)"),
    ("clamp_min", "True"), ("clamp_max", "True"), ("clamp_min", "torch.tensor(True)"), ("clamp_max", "torch.tensor([True, False])"),
)]
OUT_OF_RANGE = [
    *[f"torch.ones(3{rest}).index_{name}(0, torch.tensor([{i}]), torch.ones(1{rest}){reduce})"
      for name, reduce in (("add", ""), ("copy", ""), *[("reduce", f", '{how}'") for how in ("prod", "mean", "amax", "amin")])
      for rest in ("", ", 2") for i in (3, -4)],
    *[f"torch.nn.functional.embedding_bag(torch.tensor([0, 1]), torch.ones(3, 2), {options})" for options in (
        "torch.tensor([0, -1])", "torch.tensor([-1, 1])", "torch.tensor([0, 3])", "torch.tensor([0., 1.])", "torch.tensor([0, 1]).int()",
        "torch.tensor([], dtype=torch.int64)", "torch.tensor([0]), include_last_offset=True",
        *[f"torch.tensor([0]), mode='sum', per_sample_weights=torch.ones(2, dtype=torch.{dtype})"
          for dtype in ("float32", "float64", "half", "int64")],
    )],
]
EDGES = [LEAF + f"node = {expression}.grad_fn\n(node.name(), len(node.next_functions))" for expression in (
    "x.masked_fill(x > 0, 1.0)", "x.masked_fill(x > 0, torch.tensor(1.0))", "(x * 1).masked_fill_(x > 0, 1.0)",
    "x.index_fill(0, torch.tensor([0]), 1.0)", "x.index_fill(0, torch.tensor([0]), torch.tensor(1.0))", "1 - x", "x + 1", "x / 2", "2 / x", "2 ** x",
    "x.scatter(0, torch.tensor([0]), 1.0)", "x.scatter(0, torch.tensor([0]), torch.ones(2))", "torch.lerp(x, torch.ones(2), 0.5)",
    "torch.lerp(x, torch.ones(2), torch.ones(2))", "torch.remainder(x, 2)", "torch.fmod(x, 2)", "torch.fmod(x, torch.ones(2))",
    "torch.copysign(x, 1.0)", "torch.clamp_min(x, 0)", "torch.clamp_max(x, torch.ones(2))", "torch.clamp(x, 0, 1)", "torch.rsub(x, torch.ones(2))",
)]
MEMORY = [
    *[f"torch.ones({shape}).half()[{key}].view(torch.{dtype})" for shape, key in (("5", "1:"), ("5", "2:4"), ("3, 4", ":, 1:3"), ("3, 4", ":, 2:"))
      for dtype in ("float32", "float64", "int8", "int16")],
    "b = torch.ones(2, 3, 2)\nx = b[:, :, -1]\ntorch.neg(torch.zeros(2, 3, 2), out=x)\n(x, x.storage_offset(), b.storage_offset(), b.stride())",
    "b = torch.ones(2, 3)\nx = b[2:]\ntorch.neg(torch.zeros(4), out=x)\n(b, x)",
    "b = torch.arange(6.)\nx = b[4:]\nx.resize_(4).zero_()\n(x, x.storage_offset(), b.storage_offset(), b[:4])",
    "b = torch.arange(6.)\nx = b[:2]\nx.resize_(4).zero_()\n(x, b, x.data_ptr() == b.data_ptr())",
    "b = torch.arange(6.)\nx = b[2:]\nb.resize_(8)\n(b[:6], x, x.storage_offset(), b._version, x._version)",
    "b = torch.arange(6.)\nb.resize_(0)\nb.resize_(2, 2).shape",
    "b = torch.ones(4)\nb[1:3].detach().resize_(0)\nb",
]

ZEROS = [f"x = torch.tensor([0.0, -0.0, 1.0, 0.5, -1.0, -2.0, 1e30], dtype=torch.{dtype})\ntorch.signbit({call})"
         for dtype in ("float32", "float64", "bfloat16")
         for call in (
             *[f"torch.nn.functional.{name}(x)" for name in ("elu", "selu", "celu", "hardswish", "silu", "mish", "leaky_relu")],
             *[f"torch.special.{name}(x[:4])" for name in ("entr", "i1", "i1e", "erf", "expit")],
             *(["torch.special.ndtri(x[:4])"] if dtype != "bfloat16" else []),
             "x % 2", "x % -2.0", "x.remainder(torch.tensor(-1.0))", "x.fmod(2)", "x // 2", "torch.tensor(0.0) % x[2:]", "x * 0", "x.trunc()",
         )]
REFUSALS = [
    *[f"torch.ones({shape}, dtype=torch.complex64).{name}_()" for shape in ("2", "0") for name in ("abs", "absolute")],
    *[f"torch.ones(2, dtype=torch.{dtype}) ** {exponent}" for dtype in ("half", "bfloat16", "float32")
      for exponent in ("1e30", "-70000.0", "65519.0", "inf", "nan", "1e39", "2")],
    "torch.logcumsumexp(torch.tensor([1]), 3)", "torch.nn.LazyLinear(2).weight.register_hook(print)",
    "torch.nn.LazyLinear(2).weight.retain_grad()",
]
INTEGERS = [*[f"torch.{name}(torch.zeros(0, dtype=torch.{dtype}))" for name in ("median", "nanmedian")
              for dtype in ("int8", "uint8", "int16", "int32", "int64")],
            *[f"torch.trace(torch.ones(2, 2, dtype=torch.{dtype}))" for dtype in ("uint8", "int8", "int64", "half")]]
NUMBERS_OF = [
    *[f"torch.renorm(torch.arange(6.).reshape(2, 3), {p}, 0, {largest})" for p in ("2", "inf", "nan", "0", "2j", "torch.tensor(2)", "'2'")
      for largest in ("1", "nan", "-1.0", "inf", "torch.tensor(1.0)")],
    *[f"x = torch.ones(2, dtype=torch.{dtype})\n{expression}" for dtype in ("float32", "int64", "uint8", "bool")
      for expression in ("torch.add(x, np.uint64(2**63))", "x.add_(np.uint64(2**64 - 1))", "x.fill_(np.uint64(2**63))", "x * np.uint64(3)",
                         "torch.full((2,), np.uint64(2**63))", "torch.where(x > 0, x, np.uint64(2**63))", "torch.add(x, np.longdouble(2))")],
    *[f"torch.clamp(torch.ones(2, dtype=torch.half), {n})" for n in ("2**63 - 1", "65504", "65505", "inf")],
    *[f"torch.xlogy({a}, {b})" for a in ("0", "2.0", "torch.tensor([0., 1., nan])") for b in ("0", "nan", "torch.tensor([0, 2])")],
    *[f"torch.nn.utils.rnn.pad_sequence({sequences})" for sequences in (
        "[torch.tensor(1.0)]", "[torch.tensor(1.0), torch.tensor(2.0)]", "[]", "[torch.ones(2), torch.tensor(1.0)]", "[torch.ones(0), torch.ones(2)]",
        "[torch.ones(2, 3), torch.ones(1, 2)]")],
    *[f"packed = torch.nn.utils.rnn.pack_sequence([torch.ones(3, 2), torch.ones(2, 2)])\nlayer = torch.nn.{layer}(2, 3)\nlayer(packed, {state})[0].data.shape"
      for layer in ("RNN", "GRU") for state in ("torch.zeros(2, 3)", "torch.zeros(1, 2, 3)", "torch.zeros(3)", "torch.zeros(1, 1, 3)")],
    *[f"packed = torch.nn.utils.rnn.pack_sequence([torch.ones(3, 2), torch.ones(2, 2)])\ntorch.nn.LSTM(2, 3)(packed, ({h}, {c}))[0].data.shape"
      for h, c in (("torch.zeros(2, 3)", "torch.zeros(2, 3)"), ("torch.zeros(1, 2, 3)", "torch.zeros(2, 3)"), ("torch.zeros(3)", "torch.zeros(1, 2, 3)"),
                   ("torch.zeros(1, 2, 3)", "torch.zeros(1, 2, 3)"))],
]
SEGMENTS = [
    f"x = torch.tensor([1.0, 2.0, 3.0, 4.0, 0.5, 2.0, 7.0]).{dtype}().requires_grad_()\n"
    f"y = torch.segment_reduce(x, '{reduce}', {segments}{initial})\ny.sum().backward()\n(y, x.grad, y.grad_fn.name())"
    for dtype in ("float", "double") for reduce in ("sum", "mean", "prod", "max", "min")
    for segments in ("lengths=torch.tensor([2, 0, 1, 4])", "offsets=torch.tensor([0, 2, 2, 3, 7])", "offsets=torch.tensor([1, 2, 5])")
    for initial in ("", ", initial=2.5")
] + [f"torch.segment_reduce({arguments})" for arguments in (
    *[f"torch.arange(12.).reshape(2, 3, 2), '{reduce}', lengths=torch.tensor([[1, 2], [3, 0]]), axis=1" for reduce in ("sum", "mean", "max")],
    "torch.ones(3), 'sum'", "torch.ones(3), 'foo', lengths=torch.tensor([3])", "torch.ones(3), 'sum', lengths=torch.tensor([2])",
    "torch.ones(3), 'sum', lengths=torch.tensor([4, -1])", "torch.ones(3), 'sum', lengths=torch.tensor([3.0])", "torch.ones(3), 'sum', indices=torch.ones(3)",
    "torch.ones(3).long(), 'sum', lengths=torch.tensor([3])", "torch.ones(3), 'sum', lengths=torch.tensor([3]), axis=1", "torch.tensor(1.0), 'sum', lengths=torch.tensor([1])",
    "torch.ones(3), 'sum', lengths=torch.tensor([1]), unsafe=True", "torch.ones(3), 'sum', offsets=torch.tensor([2, 0])",
)]
MATRIX = "A = torch.diag(torch.arange(1.0, 10)) + 0.3 * torch.ones(9, 9)\nB = torch.eye(9) * 2 + 0.1\n"
EIGENVALUES = [MATRIX + f"torch.manual_seed(0)\nE, X = torch.lobpcg({arguments})\n(E.round(decimals=3), (A @ X - {mass} @ X * E).abs().max() < 1e-2, X.shape)"
               for arguments, mass in (("A", "torch.eye(9)"), ("A, 2", "torch.eye(9)"), ("A, 2, largest=False", "torch.eye(9)"), ("A, 3, B=B", "B"),
                                       ("A, 1, B=B, largest=False", "B"))] + [MATRIX + f"torch.lobpcg({arguments})" for arguments in ("A, 4", "A[:3]", "A[0]")] + [
    MATRIX + f"torch.manual_seed(0)\ntorch.lobpcg({arguments})\ntorch.rand(2)"
    for arguments in ("A", "A.double(), 2", "A, 2, n=3", "A, X=torch.eye(9, 1)", "torch.stack([A, A + B])")]
ARRAYS = [f"import numpy as np\nt = torch.arange(6.0)\nn = np.arange(6, dtype=np.float32)\nu = torch.from_numpy(n)\n{change}\n(t + 1, u + 1, n)"
          for change in ("t.numpy().shape = 2, 3", "np.asarray(t).shape = 2, 3", "t.numpy().dtype = np.int32", "n.shape = 2, 3", "n.dtype = np.int32",
                         "t.detach().numpy().setflags(write=False)\nt.add_(1)", "n.setflags(write=False)\nu.add_(1)", "u.numpy().shape = 3, 2",
                         "torch.as_tensor(n).numpy().shape = 6, 1")]
OVERRIDABLE = [f"f = {function}\n(torch.overrides.resolve_name(f), torch.overrides.is_tensor_method_or_property(f))" for function in (
    "torch.add", "torch.zeros", "torch.split", "torch.permute", "torch.relu", "torch.conv2d", "torch.nn.functional.softmax", "torch.linalg.norm", "torch.norm",
    "torch.special.erf", "torch.fft.fft", "torch.Tensor.add", "torch.Tensor.__add__", "torch.Tensor.split", "torch.Tensor.shape.__get__", "torch.Tensor.grad.__set__", "len")]
ENTROPIES = [f"x = torch.full({size}, 0.4, requires_grad=True)\ny = torch.distributions.{distribution}.entropy()\n(y, y.grad_fn.name())" for size in ((3,), (2, 3))
             for distribution in ("MultivariateNormal(x, scale_tril=x.diag_embed())", "LowRankMultivariateNormal(x, x.unsqueeze(-1), x)")]
RETAINED = [
    *[f"seen = []\nx = torch.ones(2, 3, 4, 4, requires_grad=True) * 1\nx.register_hook(lambda g: seen.append(g))\n{call}.sum().backward()\n"
      "(seen, seen[0].stride())" for call in (
          "torch.nn.functional.avg_pool2d(x, 3, 1, 1)", "torch.nn.functional.max_pool2d(x, 3, 1, 1)", "torch.nn.functional.avg_pool2d(x, 2)",
          "torch.nn.functional.conv2d(x, torch.ones(3, 3, 3, 3), padding=1)", "torch.nn.functional.pad(x, (1, 1))", "x[..., 1:]")],
    "x = torch.ones(2, 2, 3, requires_grad=True)\ny = x.transpose(0, 1)\ny.retain_grad()\n(y * y).sum().backward()\n(y.grad, y.grad.stride())",
    LEAF + "y = x * 2\ny.retain_grad()\ng = torch.autograd.grad((y * y).sum(), [x, y], create_graph=True)\n"
    "(g, y.grad, y.grad is g[1], y.grad.data_ptr() == g[1].data_ptr())",
    LEAF + "y = x.exp()\ny.retain_grad()\ny.detach_()\n(y.retains_grad, y.is_leaf, y.requires_grad)",
]
SAVED = [
    *[f"x = torch.ones(2, 3, dtype=torch.{dtype}, requires_grad=True)\ny = {call}\nx.detach().mul_(2)\ny.sum().backward()"
      for dtype in ("bfloat16", "half", "float32")
      for call in ("x.amin(1)", "x.logsumexp(0)", "x * x", "x.sin()", "torch.ones(2, 3, dtype=torch.float64) * x", "x * 2", "x + 1", "x.exp()")],
    LEAF + "y = torch.lerp(x, x.detach(), 0.25).sum()\ny.backward()\ny.backward()\nx.grad",
    LEAF + "y = (x * 2).sum()\ny.backward()\ny.backward()",
]
UNCONNECTED = [LEAF + make + f"\n{use}" for make in (
    "with torch.no_grad(): v = x[:1]", "with torch.inference_mode(): v = x[:1]", "x = torch.ones(2)\nv = x[:1]\nx.requires_grad_()",
    "x = torch.ones(2)\nv = x[:1]\nx.requires_grad_()\nwith torch.no_grad(): x.mul_(3)", "v = x[:1]\nwith torch.no_grad(): x.mul_(3)",
    "x = x * 1\nwith torch.no_grad(): v = x[:1]", "x = x * 1\nwith torch.no_grad(): v = x[:1]\nx.mul_(2)",
    "x = torch.ones(2)\nv = x[:1]\nx.requires_grad_()\nx.requires_grad_(False)", "x = torch.ones(2)\nv = x.view(torch.int32)\nx.requires_grad_()",
) for use in (
    "(v.requires_grad, v.is_leaf, v.grad_fn is None)", "y = v * 2\n(y.requires_grad, y.is_leaf)",
    "y = v * 2\n[node is None for node, _ in y.grad_fn.next_functions]", "(v * v).sum().backward()\n(x.grad if x.is_leaf else None, v.grad)",
    "torch.autograd.grad((v * 2).sum(), v, allow_unused=True)", "v.mul_(2)", "v + torch.ones(1, requires_grad=True)",
)]
ONE_A_CHANNEL = [  # what is counted: elements of a batch norm's weight and bias, in all others the shape
    f"x = torch.arange(24.).reshape(2, 3, 2, 2).sin()\nt = torch.arange(1.0, {math.prod(shape) + 1}).reshape({shape})\n{call}"
    for shape in ((3,), (3, 1, 1, 1), (1, 3), (2,), (0,), (), (2, 3))
    for call in (
        *[f"torch.nn.functional.batch_norm(x, {arguments}, {training})" for training in (True, False) for arguments in (
            "torch.zeros(3), torch.ones(3), t, torch.ones(3)", "torch.zeros(3), torch.ones(3), None, t",
            "t, torch.ones(3), None, None", "torch.ones(3), t, None, None")],
        *[f"torch.nn.functional.instance_norm(x, {arguments}, use_input_stats={training})" for training in (True, False) for arguments in (
            "torch.zeros(3), torch.ones(3), t", "torch.zeros(3), torch.ones(3), None, t", "t, torch.ones(3)")],
        "torch.nn.functional.group_norm(x, 3, t)", "torch.nn.functional.group_norm(x, 1, None, t)",
        "torch.nn.functional.layer_norm(x.view(8, 3), (3,), t)", "torch.nn.functional.layer_norm(x.view(8, 3), (3,), None, t)",
        "torch.nn.functional.rms_norm(x.view(8, 3), (3,), t)",
    )
] + [f"torch.nn.functional.instance_norm(torch.arange(8.).reshape(2, 1, 4), None, None, torch.ones({shape}))"
     for shape in ("()", "(1,)", "(1, 1)")]
ONE_A_CHANNEL += [
    f"torch.nn.functional.{call}".replace("X", f"torch.ones({shape})") for shape in ("()", "(2,)", "(0,)", "(1,)", "(2, 1)", "(1, 2)", "(0, 2)", "(2, 0)")
    for call in ("batch_norm(X, None, None, training=True)", "batch_norm(X, None, None)", "batch_norm(X, torch.zeros(2), torch.ones(2))", "instance_norm(X)",
                 "instance_norm(X, torch.zeros(2), torch.ones(2), use_input_stats=False)")
]
MASKS = [  # a mask beside is_causal: for what PyTorch's fused kernel takes
    f"q = torch.arange({math.prod(batch) * rows * 4}.).reshape{(*batch, rows, 4)}.sin().requires_grad_()\n"
    f"k = torch.arange({math.prod(batch) * columns * 4}.).reshape{(*batch, columns, 4)}.cos()\nmask = {mask}\n"
    f"torch.nn.functional.scaled_dot_product_attention(q, k, {value}, mask, is_causal=True{options})"
    for batch in ((), (2,), (2, 2), (1, 2, 2)) for rows, columns in ((3, 3), (2, 4))
    for mask, value, options in (
        (f"torch.arange({rows * columns}.).reshape{(rows, columns)}.sin()", "k", ""), (f"torch.eye{(rows, columns)} > 0", "k", ""),
        (f"torch.ones{(1, columns)} > 0", "k", ""), (f"torch.ones{(1, rows, columns)}", "k", ""), (f"torch.ones{(2, 2, rows, 1)}", "k", ""),
        (f"torch.ones{(rows, columns)}.requires_grad_()", "k", ""), (f"torch.ones{(rows, columns)}", "k[..., :2]", ""),
        (f"torch.ones{(rows, columns)}", "k", ", dropout_p=0.5"), (f"torch.ones{(rows, columns)}.double()", "k", ""),
    )
]
NO_DERIVATIVE = [
    f"x = torch.tensor([1.5, 1.5, 0.5], requires_grad=True)\ny = {call}\n{use}" for call in (
        "x.unique()", "x.unique(return_inverse=True)[0]", "x.unique(return_counts=True, sorted=False)[0]", "x.unique(dim=0)",
        "x.unique_consecutive()", "x.unique_consecutive(dim=0, return_counts=True)[0]", "torch.geqrf(x[:, None])[0]", "torch.geqrf(x[:, None])[1]",
        "torch.special.zeta(x + 2, x)", "torch.igamma(x, x)", "torch.igammac(x, x)", "torch.heaviside(x, x)", "x // 2",
        "torch.linalg.ldl_factor(x.diag())[0]", "torch.linalg.ldl_factor_ex(x.diag())[0]",
        "torch.linalg.ldl_solve(*torch.linalg.ldl_factor(torch.eye(3)), x[:, None])",
    ) for use in ("(y, y.requires_grad, y.grad_fn.name())", "y.sum().backward()")
]
RECORDED = [  # or not: what does not depend on the elements of an empty tensor
    f"x = torch.zeros({shape}, requires_grad=True)\ny = {call}\n(y, y.requires_grad)" for shape in ("0,", "0, 0", "2, 0", "0, 2")
    for call in ("torch.cov(x)", "torch.corrcoef(x)", "torch.trapezoid(x)", "torch.trapezoid(x, x)", "torch.cumulative_trapezoid(x)",
                 "torch.linalg.vector_norm(x)", *[f"torch.linalg.matrix_norm(x, {order})" for order in ("1", "2", "-2", "inf", "'nuc'", "'fro'")])
]
NOT_NEEDED = [  # the derivative of a node that passes only for its output
    f"x = torch.tensor([1.5, 1.5, 0.5], requires_grad=True)\nw = torch.ones(3, requires_grad=True)\ny = {call}\n{use}" for call in (
        "x.unique()", "x.unique(return_inverse=True)[0]", "x.unique_consecutive(dim=0)", "torch.geqrf(x[:, None])[0]", "torch.special.zeta(x + 2, w)",
        "torch.igamma(x, w)", "torch.heaviside(x, w)", "x // 2", "x.exp()", "x * w",
    ) for use in (
        "y.sum().backward(inputs=[y])\n(y.grad, x.grad)", "y.sum().backward(inputs=[y], create_graph=True)\ny.grad", "y.sum().backward(inputs=[x, y])",
        "torch.autograd.grad(y.sum(), y)", "torch.autograd.grad(y.sum(), w, allow_unused=True)",
        "torch.autograd.grad(y.sum(), w, allow_unused=True, create_graph=True)", "y.sum().backward(inputs=[y])\ny.sum().backward(inputs=[y])\ny.grad",
        "with torch.no_grad():\n    y.mul_(2)\ny.sum().backward(inputs=[y])\ny.grad",
        "seen = []\ny.grad_fn.register_hook(lambda a, b: seen.append((a[0], b[0])))\ny.sum().backward(inputs=[y])\nseen",
    )
]
MOVED_LEAVES = [
    f"a = torch.tensor([1.0, 2.0], requires_grad=True)\nb = a.mean()\na.{off}\na.mul_(b)\n{use}" for off in ("detach_()", "requires_grad_(False)")
    for use in ("a.sum().backward()", "b.backward()", "torch.autograd.grad(b, a, allow_unused=True)", "torch.autograd.grad(a.sum(), b)",
                "a.sum().backward(inputs=[b])\nb.grad", "a.sum().backward(inputs=[a])\na.grad")
]
COUNTED_DISTANCES = [f"x = torch.tensor([[1.5, nan, 3.0], [1.5, 2.0, inf], [1.5, 2.0, 3.0]], requires_grad=True)\n"
                     f"y = {call}\ny.nansum().backward()\n(y, x.grad)" for call in (
    "torch.cdist(x, x * 1, p=0)", "torch.pdist(x, 0)", "torch.pdist(x[1:], 0)", "torch.cdist(x, x * 2, p=0.5)")]
CLAMPS = [f"torch.clamp(torch.tensor([1, 1], dtype=torch.{dtype}), {low}, {high})" for dtype in ("uint8", "int64", "bool", "half", "float32")
          for low in ("3.0", "300", "None", "1e30", "torch.tensor(3)", "torch.tensor([300.0, 1.0])")
          for high in ("300", "0.5", "None", "70000", "torch.tensor(300)", "torch.tensor(2.0, requires_grad=True)", "torch.tensor([2, 3])", "nan")]
EMPTY_CLASSES = [
    f"torch.nn.functional.cross_entropy(torch.zeros({shape}), torch.zeros({shape}), reduction='{reduction}', label_smoothing={smoothing})"
    for shape in ("0,", "0, 2", "2, 0", "2, 0, 3") for reduction in ("mean", "sum", "none") for smoothing in (0.0, 0.25)
] + [f"torch.{name}(torch.arange(3.), {x})" for name in ("trapezoid", "trapz", "cumulative_trapezoid")
     for x in ("0", "0.5", "dx=0.5", "torch.tensor([0.0, 1.0, 3.0])", "[0, 1, 2]")]
EMPTY_VALUES = [
    f"x = torch.zeros(2, 0)\n{write}\nx" for shape in ((1, 2, 0), (1, 1, 2, 0), (3, 2, 0), (0, 2, 0), (2, 1), (3, 1), (3, 1, 1))
    for write in (f"x[[0, 1]] = torch.zeros({shape})", f"x.index_put_((torch.tensor([0, 1]),), torch.zeros({shape}), accumulate=True)")
] + [f"torch.nn.functional.glu(torch.zeros({shape}, dtype=torch.int64), {dim})" for shape in ((), (0,), (3,), (4,), (2, 3)) for dim in (0, 2, -1)]
BACKWARD_TWICE = [
    f"x = torch.ones(3, 2, requires_grad=True)\ny = {make}\n{write}\ny.sum().backward(retain_graph={retain})\ny.sum().backward()\nx.grad"
    for make in ("torch.stack([x, x])", "torch.cat([x, x])", "x.clone()") for retain in (True, False)
    for write in ("y[0] = 2", "y[::2] = 2", "y[0].add_(1)", "y.add_(1)", "y[0].mul_(2)", "y.zero_()")
]
FACTORS = [
    f"x = torch.tensor([[1, 2, 120]] * 3, dtype=torch.{dtype})\n{call}" for dtype in ("uint8", "int8", "int64")
    for value in (-1, -200, 200, 300) for call in (
        f"torch.add(x, x, alpha={value})", f"x.add_(x, alpha={value})", f"torch.add(x, 2, alpha={value})", f"torch.sub(x, x, alpha={value})",
        f"torch.rsub(x, x, alpha={value})", f"torch.addmm(x, x, x, alpha={value}, beta=-1)", f"torch.addmv(x[0], x, x[0], beta={value})",
        f"torch.addr(x, x[0], x[0], alpha={value})", f"torch.baddbmm(x, x[None], x[None], alpha={value})")
]
OF_NO_DIMENSIONS = [
    f"x = torch.tensor({value}, requires_grad=True)\ng, = torch.autograd.grad(torch.prod(x{dim}), x, create_graph=True)\n(g, g.requires_grad)"
    for value in (1.0, 0.0) for dim in ("", ", dim=0", ", dim=-1, keepdim=True")
]
FAKE_QUANTIZED = [
    f"x = (torch.arange(-12., 12).reshape(4, 6) / 9).to(torch.{dtype}).requires_grad_()\nx.data[0, :3] = torch.tensor([torch.nan, -0.01, -0.05001])\n"
    "s, z = torch.tensor([0.1, 0.2, 0.3, 0.05, 0.7, 1.0]), torch.tensor([0, 1, 2, 7, -8, 3], dtype=torch.int32)\n"
    f"y = torch.fake_quantize_{call}\n(y, y.grad_fn.name(), torch.autograd.grad((y * y.detach()).sum(), x))"
    for dtype in ("float32", "float64", "float16", "bfloat16") for call in (
        "per_tensor_affine(x, 0.1, 0, -8, 7)", "per_tensor_affine(x, 0.07, 3, 0, 15)", "per_tensor_affine(x, s[1], z[0], -8, 7)",
        "per_tensor_affine(x, s[:1], z[2:3], -8, 7)", "per_channel_affine(x, s, z, 1, -8, 7)", "per_channel_affine(x, s[:4], z[:4].float(), 0, -8, 7)",
    )
] + ["x, s, z = torch.ones(2, 3), torch.ones(3), torch.zeros(3, dtype=torch.int32)\ntorch.fake_quantize_" + call for call in (
    "per_tensor_affine(x, 0.1, 0, 7, -8)", "per_tensor_affine(x, 0.1, 8, -8, 7)", "per_tensor_affine(x.int(), 0.1, 0, -8, 7)",
    "per_tensor_affine(x, s[0].requires_grad_(), z[0], -8, 7)", "per_channel_affine(x, s, z.long(), 1, -8, 7)", "per_channel_affine(x, s, z, 0, -8, 7)",
    "per_channel_affine(x, s, z, -1, -8, 7)", "per_channel_affine(x, s, z, 5, -8, 7)", "per_channel_affine(x, s.double(), z, 1, -8, 7)",
    "per_channel_affine(x, s, z[:2], 1, -8, 7)", "per_channel_affine(x, s, z + 9, 1, -8, 7)", "per_channel_affine(x, s, z, 1, 7, -8)",
)]
NO_ELEMENTS = [f"torch.{name}(torch.zeros({shape}), dim={dim})" for name in ("cummin", "cummax", "cumsum", "logcumsumexp")
               for shape in ("0", "2, 0", "()") for dim in (0, -1, 5)]
CONSTANTS = [  # arguments that have no gradient: one that requires it is refused, not lost
    "x, t, w = [(torch.arange(4.) * k + 0.3).sin().abs().reshape(2, 2).requires_grad_() for k in (1, 2, 3)]\n"
    f"with torch.set_grad_enabled({enabled}): y = {call}\n(y, y.requires_grad)" for enabled in (True, False) for call in (
        *[f"torch.nn.functional.{name}" for name in (
            "soft_margin_loss(x, t)", "soft_margin_loss(x, t.detach())", "binary_cross_entropy(x, t, w)", "binary_cross_entropy(x, t)",
            "binary_cross_entropy_with_logits(x, t, w)", "binary_cross_entropy_with_logits(x, t, pos_weight=w)", "cross_entropy(x, t, w[0])",
            "cross_entropy(x, torch.tensor([0, 1]), w[0])", "cross_entropy(x, torch.tensor([0, 1]), w[0], label_smoothing=0.1)",
            "nll_loss(x, torch.tensor([0, 1]), w[0])", "nll_loss(x[..., None], torch.tensor([[0], [1]]), w[0])",
            "multi_margin_loss(x, torch.tensor([0, 1]), weight=w[0])", "multilabel_soft_margin_loss(x, t, w)", "gaussian_nll_loss(x, t, w)",
            "batch_norm(x, w[0], torch.ones(2))", "batch_norm(x, torch.ones(2), w[0])", "batch_norm(x, torch.ones(2), w[0], training=True)",
            "instance_norm(x[None], w[0], torch.ones(2), use_input_stats=False)", "layer_norm(x, (2,), w[0], t[0])")],
        "torch.renorm(x, 2, 0, w[0, 0])", "torch.renorm(x, 2, 0, w[0, 0].detach())",
    )
]
NUMBERS_THAT_FIT = [  # the dtype that is computed in, or that the number is stored in, must hold it
    f"x = torch.tensor([1, 0, 2], dtype=torch.{dtype})\n{call.replace('V', value)}"
    for call in (
        *[f"torch.nn.functional.{name}" for name in (
            "elu(x, V)", "celu(x, V)", "leaky_relu(x, V)", "softplus(x, V)", "softplus(x, 1, V)", "hardshrink(x, V)", "softshrink(x, V)",
            "hardtanh(x, -1, V)", "hardtanh(x, V, 2)", "threshold(x, V, 0)", "threshold(x, 0, V)",
            "pad(x, (1, 0), value=V)", "pad(x, (0, 0), value=V)", "pad(x, (-1, 0), value=V)")],
        "torch.logit(x, V)", "torch.add(x, x[:1], alpha=V)", "x.index_add(0, torch.tensor([0]), x[:1], alpha=V)", "x.masked_fill(x > 0, V)",
        "x.scatter(0, torch.tensor([0]), V)", "x.scatter(0, torch.tensor([], dtype=torch.int64), V)",
        "x[:0].scatter(0, torch.tensor([], dtype=torch.int64), V)",
    )
    for value in ("1e39", "1e30", "-inf", "nan", "300", "0.5") for dtype in ("float16", "bfloat16", "float32", "uint8", "int64")
    if (call, value, dtype) != ("torch.add(x, x[:1], alpha=V)", "1e39", "float32")
] + ["torch.nn.functional.pad(torch.ones(2, dtype=torch.complex64), (1, 0), value=1j)"]
ZERO_GRADIENTS = [  # where the slope is not finite
    "x, y = [t.flatten().double().requires_grad_() for t in torch.meshgrid(*[torch.tensor([0, -0., 1, -1, inf, -inf, nan, 0.5])] * 2, indexing='ij')]\n"
    f"torch.autograd.grad(torch.{name}(x, y), (x, y), torch.full((64,), {g}).double())"
    for name in ("xlogy", "special.xlog1py", "pow", "atan2", "copysign", "hypot", "logaddexp", "div", "maximum", "fmin")
    for g in ("0", "1", "inf", "nan")
]
OF_TWO_FAULTS = [  # values that do not fit the place are named before an index out of bounds
    f"x = torch.zeros(2, 3, 4)\n{write.replace('I', index)}\nx" for index in ("[5]", "[0]", "[-3]")
    for write in (
        "x[I] = torch.ones(7)", "x[:, I] = torch.ones(7)", "x[torch.tensor(I), :, torch.tensor([0, 1])] = torch.ones(7)",
        "x[torch.tensor(I), :, torch.tensor([0, 1])] = torch.ones(2, 3)", "x[torch.tensor(I + [0]), torch.tensor([0, 1, 2])] = torch.ones(7)",
        "x.index_put_((torch.tensor(I),), torch.ones(7))", "x.index_put_((torch.tensor(I),), torch.ones(7), accumulate=True)",
        "x.index_put_((torch.tensor(I), torch.tensor([0, 1, 2])), torch.ones(5, 1), accumulate=True)",
    )
] + [f"torch.{name}(torch.ones({shape}), dim={dim}, out=torch.zeros(0, dtype=torch.{dtype}))" for name in ("amax", "amin")
     for shape in ("()", "(0, 2)", "2") for dim in (0, 2) for dtype in ("float32", "float64")] + [
     "x = torch.zeros(2, 3)\nx[torch.tensor([True, False])] = torch.ones(5)", "x = torch.zeros(2, 3)\nx[x == 0] = torch.ones(5)"]
QUANTILES = [
    f"torch.{name}(torch.zeros({shape}), {q}, dim={dim}).shape" for name in ("quantile", "nanquantile")
    for shape in ("0", "0, 3", "3, 0", "2, 3") for q in ("1 / 3", "2.0", "torch.tensor([2.0])", "torch.zeros(1, 1)", "torch.zeros(1).double()")
    for dim in (0, 2, -3, None)
] + ["torch.quantile(torch.zeros(2).long(), 0.5, dim=3)", "torch.quantile(torch.zeros(2), 0.5, dim=3, interpolation='none')"]
PASSES_FOR_NAN = [  # what compares as neither too small nor too large
    call.replace("V", value) for value in ("nan", "-1.0", "2.0", "0.5") for call in (
        *[f"torch.nn.functional.{name}(torch.ones(2, 3, 4), V, {training}).shape" for name in (
            "dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d", "dropout2d", "dropout3d") for training in (True, False)],
        *[f"torch.nn.{name}(V){use}" for name in ("Dropout", "AlphaDropout") for use in (".p", "(torch.ones(2, 3)).shape", ".eval()(torch.ones(2, 3))")],
        *[f"torch.nn.functional.cross_entropy(torch.eye(2, 3), torch.{target}, reduction='{reduction}', label_smoothing=V)"
          for target in ("tensor([0, 1])", "tensor([0, -100])", "ones(2, 3)") for reduction in ("none", "mean", "sum")],
        "torch.nn.LinearCrossEntropyLoss(4, 3, label_smoothing=V).label_smoothing", "torch.optim.swa_utils.get_ema_avg_fn(V) is None",
        *[f"x = torch.ones(2, requires_grad=True)\no = torch.optim.SGD([x], {options})\n(x * x).sum().backward()\no.step()\nx.detach()" for options in (
            "lr=V", "lr=torch.tensor(V)", "momentum=V", "weight_decay=V", "dampening=V, momentum=0.5", "momentum=V, nesterov=True")],
        *[f"torch.optim.{name}([torch.ones(2)], lr=V).defaults['lr']" for name in ("Adam", "RMSprop", "Adagrad")],
        *[f"torch.optim.lr_scheduler.{name}=V).get_last_lr()".replace("(", "(torch.optim.SGD([torch.ones(1)], lr=1.0), ", 1) for name in (
            "ConstantLR(factor", "LinearLR(start_factor", "LinearLR(end_factor")],
    )
]
NOT_A_NUMBER = [  # refused, and with it what the other side of the bound is
    call.replace("V", value) for value in ("nan", "-1.0", "inf", "0.5") for call in (
        *[f"torch.nn.functional.{name}" for name in (
            "smooth_l1_loss(torch.tensor([1.0, inf, -inf, nan]), torch.zeros(4), beta=V, reduction='none')",
            "huber_loss(torch.tensor([1.0, inf, -inf, nan]), torch.zeros(4), delta=V, reduction='none')",
            "rrelu(torch.ones(2), V, 1.0)", "rrelu(torch.ones(2), 0.0, V)", "cosine_similarity(torch.ones(1, 2), torch.ones(1, 2), eps=V)",
            "gaussian_nll_loss(torch.ones(2), torch.ones(2), torch.tensor([V, 1.0]))", "interpolate(torch.ones(1, 1, 4), scale_factor=V)",
            "binary_cross_entropy(torch.tensor([V]), torch.tensor([0.5]))", "binary_cross_entropy(torch.tensor([0.5]), torch.tensor([V]))")],
        "torch.isclose(torch.ones(1), torch.ones(1), rtol=V)", "torch.allclose(torch.ones(1), torch.ones(1), atol=V)",
        "torch.cdist(torch.ones(2, 2), torch.zeros(1, 2), V)", "torch.pdist(torch.eye(2), V)", "torch.normal(0.0, V, (2,)).shape",
        "torch.ones(2).normal_(0, V).shape", "torch.nn.init.trunc_normal_(torch.ones(2), 0, abs(V)).shape", "torch.arange(0, 5, V).shape",
    )
] + [f"torch.special.zeta(torch.tensor({x}), torch.tensor({q}))" for x, q in (
    ([math.nan] * 4, [-2.0, 0.0, 1.0, math.nan]), ([1.0, 0.5, 2.0], [math.nan] * 3), ([1.0, 0.5, 2.0], [-1.0] * 3))]
INFINITELY_WIDE = [
    f"x = torch.tensor([1.0, inf, -inf, nan, -3.0], dtype=torch.{dtype}, requires_grad=True)\n"
    f"y = torch.nn.functional.{name}(x, torch.zeros(5, dtype=torch.{dtype}), {width}, reduction='none')\ny.sum().backward()\n(y, x.grad)"
    for dtype in ("float32", "float64", "bfloat16") for name, argument in (("smooth_l1_loss", "beta"), ("huber_loss", "delta"))
    for width in (f"{argument}=inf", f"{argument}=1.5")
]
ORDERS = [f"torch.argsort(torch.ones(3), {arguments}out=torch.zeros(3, dtype=torch.int64))" for arguments in ("", "stable=True, ", "stable=False, ")]
FROM_ARRAYS = [  # without NumPy's warnings
    f"{make}({data}, dtype=torch.{dtype})" for make in ("torch.tensor", "torch.as_tensor", "torch.ones(1).new_tensor")
    for data in ("np.array([1e300, nan, 2.0])", "np.float64(1e300)", "np.array([300, -1])") for dtype in ("float16", "float32", "bfloat16", "complex64", "bool")
] + [f"torch.tensor([np.array([{first}]), np.array([2.0])], dtype=torch.{dtype})" for first in ("1e300", "nan", "300.0", "-1.0")
     for dtype in ("int32", "uint8", "int64", "float16", "float64")]
EXPANSIONS = [
    f"x = torch.ones({shape}, requires_grad=True)\ny = x.expand({larger})\na, b = torch.autograd.grad((y * y).sum(), [x, y], create_graph={graph})\n"
    "(a, b, a is b, a.data_ptr() == b.data_ptr())"
    for shape, larger in (("()", "()"), ("()", "(2,)"), ("2, 3", "2, 3"), ("1", "1"), ("1", "2"), ("2, 3", "1, 2, 3"))
    for graph in (True, False) if graph or shape == "()"  # others may be passed on, or copied
]
SECOND_GRADIENTS = [  # of what a first gradient has freed
    f"x = torch.arange(12.).sin().reshape(2, 2, 3).{dtype}().requires_grad_()\ny = torch.nn.functional.{call}\n"
    f"g, = torch.autograd.grad({loss}, x, create_graph=True)\ntorch.autograd.grad(y.sum(), x, retain_graph={retain})\n"
    "(g * g).sum().backward()\n(g, x.grad)"
    for dtype in ("float", "double") for call in ("batch_norm(x, None, None, training=True)", "layer_norm(x, (3,))", "instance_norm(x)", "group_norm(x, 1)")
    for loss in ("(y * torch.arange(3)).sum()", "(y ** 3).sum()") for retain in (True, False)
]
COMPLEX_SUMS = [f"torch.{name}(torch.tensor([1, nan], dtype=torch.{given}), dtype=torch.{dtype})" for name in ("nansum", "nanmean", "mean")
                for given in ("float32", "complex64") for dtype in ("int16", "bool", "float32", "complex64")
                if (name, given, dtype) not in (("nansum", "float32", "complex64"), ("nanmean", "float32", "complex64"))]  # NotImplementedError
TRANSFORMS = [f"torch.fft.{name}(torch.ones({shape}, dtype=torch.{dtype}), dim={dim}).shape"  # of two faults the dtype is named first
              for name in ("fft", "irfft", "rfft", "ihfft", "hfft", "fft2", "rfft2", "rfftn", "ihfftn")
              for shape in ("()", "1", "2, 3") for dtype in ("complex64", "float16", "int64") for dim in (-1, 3)]
TOLERANCES = [f"torch.{name}(torch.ones(2, dtype=torch.{dtype}), torch.ones(2), {tolerances})" for name in ("isclose", "allclose")
              for dtype in ("float64", "float32") for tolerances in ("1.0, (1+2j)", "'1', 1.0", "-1.0, 1.0", "1.0, None", "1, 2")]
ORDERS_IN_MEMORY = [f"torch.ones({made}.dim_order()" for made in (
    "1, 3).expand(2, 3)", "2, 1).expand(2, 3)", "1, 1, 3).expand(2, 2, 3)", "1, 2, 1).expand(3, 2, 4)", "1, 3, 1).transpose(0, 1)", "2, 0, 3)", "3, 1, 2).mT",
    "())", "2, 3, 1, 1).to(memory_format=torch.channels_last)", "2, 3, 1, 4).to(memory_format=torch.channels_last)", "1, 1, 2, 1).expand(2, 1, 2, 3)")]
DIMENSIONS = [f"torch.ones({shape}).unflatten({dim}, {sizes})" for shape in ("()", "2") for dim in (-2, -1, 0, 1, 2) for sizes in ("(-1, 1)", "(1, 1)", "(3, 1)")]


LARGEST_DIFFERENCES = [  # several that are equal, and none at all
    f"x = ((torch.arange(12.) % 5 - 2).reshape(3, 4){part}).requires_grad_()\ny = torch.{name}\n(y, torch.autograd.grad(y.sum(), x)[0])"
    for part in ("", "[:, :0]") for name in ("cdist(x, x.detach(), p=inf)", "nn.functional.pdist(x, p=inf)")]
EQUAL_ROWS = ["""x = torch.arange(4.).sin().expand(3, 4).requires_grad_()
w, b = torch.arange(7., 11.).sin(), torch.arange(14., 18.).sin()
torch.autograd.grad(torch.nn.functional.batch_norm(x, None, None, w, b, True).abs().sum(), x, create_graph=True)[0].abs()"""]
RUNNING_BOOLS = [f"x = torch.{x}.bool()\ntorch.{name}(x, 0, {option})" for x in ("tensor(1)", "tensor(0)", "zeros(0)", "ones(2)")
                 for name in ("cumsum", "cumprod") for option in ("dtype=torch.bool", "out=x.clone()")]
MEMBERS = [  # compared in the dtype that both promote to
    f"torch.isin({elements})" for elements in (
        "torch.tensor([0.1]), 0.1", "torch.tensor([0.1]).half(), 0.1", "0.1, torch.tensor([0.1])", "torch.tensor([44], dtype=torch.uint8), 300",
        "torch.tensor([44], dtype=torch.uint8), torch.tensor(300)", "torch.tensor([44], dtype=torch.uint8), torch.tensor([300])",
        "torch.tensor([16777216.0]), torch.tensor([16777217])", "torch.tensor([256.0] * 3).bfloat16(), torch.tensor([257] * 50)",
        "torch.zeros(0).bfloat16(), 2", "torch.tensor([0.1]), torch.tensor([0.1]).double()", "torch.tensor([2]), 2.5, invert=True")]
BATCHED_NUMBERS = [  # an operand without dimensions has less priority in a sample, and is not cast to the integers of the other
    f"x, y = torch.ones(2, 3, dtype=torch.uint8), torch.tensor(-1)\ntorch.func.vmap(lambda x, y: {call}, in_dims=(1, None))(x, y)"
    for call in ("x / y", "torch.atan2(x, y)", "torch.special.xlogy(x, y)", "(x * y).dtype", "torch.hypot(x.float(), y.double()).dtype")]
BATCHED_INTEGERS = [f"torch.func.vmap(lambda x: {call})(torch.ones(3, 2, dtype=torch.{dtype}))" for dtype in ("int8", "uint8", "int32", "int64") for call in (
    "torch.dot(x, x)", "torch.vdot(x, x)", "torch.addbmm(x[None], x[:1, None, None], x[None, None])", "x @ x", "x.sum()", "torch.outer(x, x).trace()")]
SELECTED = [f"torch.func.vmap(lambda x: torch.masked_select(x, torch.tensor({mask})))(torch.arange(12.).reshape(3, 4))"
            for mask in ("True", "False", "[True, False, True, True]", "[[True], [False]]")]
INSIDE = [f"torch.func.{call}" for call in (  # errors of functions that no rule covers
    "jacfwd(lambda x: x * 2)(torch.ones(2, dtype=torch.int64))", "jacrev(lambda x: x * 2)(torch.ones(2, dtype=torch.int64))",
    "hessian(lambda x: x.sum())(torch.ones(2, dtype=torch.int64))", "jvp(lambda x: x.clone().resize_(3), (torch.ones(2),), (torch.ones(2),))")]
NUMBERS_IN_TENSORS = [  # where a number is wanted, also a tensor without dimensions will do, and NumPy's
    call.replace("N", number) for number in ("torch.tensor(2)", "torch.tensor(0.5)", "torch.tensor([2])", "torch.tensor(2.0, requires_grad=True)", "'2'")
    for call in (
        *[f"torch.{name}, {option}=N)" for name in ("addmm(E, E, E", "addmv(E[0], E, E[0]", "addr(E, E[0], E[0]", "baddbmm(E[None], E[None], E[None]", "addbmm(E, E[None], E[None]")
          for option in ("alpha", "beta")],
        "torch.index_add(E, 0, torch.tensor([0]), E[:1], alpha=N)", "torch.eye(2).fill_diagonal_(N)", "torch.linalg.vector_norm(E, N)",
        "torch.norm(E, N)", "torch.dist(E, E + 1, N)", "torch.nan_to_num(E / 0, N)", "torch.histc(E, 4, -1, N)", "torch.var(E, dim=0, correction=N)",
        "torch.linalg.norm(E, 2, dim=N)", "torch.scatter(E, 0, torch.tensor([[0]]), N, reduce='add')")]
NUMBERS_IN_TENSORS = ["E = torch.eye(2) + 1\n" + code for code in NUMBERS_IN_TENSORS]
COMPLEX_FACTORS = [f"x = torch.tensor([[1.0, 2.0], [0.5, -1.0]], dtype=torch.complex128)\ntorch.func.jvp(lambda x: torch.func.jvp(lambda x: {call}, (x,), (x * 1j,))[1], (x,), (x + 1,))"
                   for call in ("x * x * 2j", "(lambda U, S, V: (U * S) @ V.mH)(*torch.svd(x))")]
AXES = [f"torch.{call}" for call in (
    *[f"fft.{name}(torch.ones(4, 4), axis=0)" for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftshift", "ifftshift")],
    *[f"fft.{name}(torch.ones(4, 4), axis=(0,))" for name in ("fftn", "ifftn", "rfftn", "irfftn", "hfftn", "fft2")],
    "gradient(torch.arange(4.), axis=0)[0]")]
TRUNCATED = [f"torch.arange({bounds}, dtype=torch.{dtype})" for dtype in ("uint8", "int8", "int32") for bounds in ("-1, 2, 0.5", "-1.5, 2, 1", "0, 300, 100")]
INPUTS_AS_RESULTS = [f"x = torch.ones({shape})\ntorch.{name}" for shape in ("()", "1", "2") for name in (
    "div(x, torch.ones(2), out=x)", "add(torch.ones(2), x, out=x)", "maximum(x, torch.ones(2, 2), out=x)", "exp(x, out=x)")]
LARGEST_OF_BAGS = [  # the first of equal rows; nan, if it is the first
    f"w = torch.tensor({rows}, requires_grad=True)\ny = torch.nn.functional.embedding_bag({bags}, w, {options}mode='max')\ny.sum().backward()\n(y, w.grad)"
    for rows in ("[[2.0, 5.0], [1.0, 5.0], [2.0, 5.0]]", "[[nan, 1.0], [2.0, nan], [1.0, nan]]", "[[1.0, -inf], [nan, inf], [nan, -inf]]")
    for bags, options in (("torch.tensor([[0, 2], [1, 1], [2, 0], [1, 2]])", ""), ("torch.tensor([0, 2, 1, 2, 0])", "torch.tensor([0, 2, 2, 4]), "),
                          ("torch.tensor([[0, 2], [2, 2], [2, 1]])", "padding_idx=2, "))]
SLOPES_AT_ZERO = [f"""z = torch.tensor([0j, 1 + 2j, -1 - 1j])
torch.func.jvp(torch.func.grad(lambda q: {call}.abs().sum()), (z,), (z + 0.5,))""" for call in ("(q.conj() * q.conj())", "(q * q)", "(q * 0)", "q")] + [
    "z = torch.tensor([0j, 1 + 2j, -1 - 1j])\ntorch.func.jvp(torch.angle, (z,), (z + 0.5,))"]
STILL = [f"norm = torch.nn.BatchNorm1d(2, momentum=0.0)\nnorm(torch.tensor([[1.0, {x}], [2.0, 3.0]]))\n(norm.running_mean, norm.running_var)"
         for x in ("5.0", "inf", "nan")]
OF_EMPTY_VECTORS = [f"torch.cat([torch.zeros(0), torch.zeros(0)], dim={dim})" for dim in ("0", "-1", "5", "True", "1.0", "'a'", "torch.tensor(0)")]
INTEGER_WEIGHTS = [f"torch.nn.functional.rms_norm(torch.arange(8).reshape(2, 4).to(torch.{dtype}), (4,), torch.tensor([1, 2, 0, 3]).to(torch.{of_weight}))"
                   for dtype in ("float32", "bfloat16", "float64", "int64") for of_weight in ("int64", "int8", "bool")]
STEPPED_TWICE = [f"""import warnings
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    p = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    optimizer = torch.optim.{name}([p, p], lr=0.1{settings})
p.grad = torch.tensor([0.3, -0.7])
optimizer.step()
optimizer.step()
p.detach()""" for name, settings in (("ASGD", ", lambd=0.5, t0=1"), ("SGD", ", momentum=0.5"), *[(name, "") for name in (
    "Adam", "Adamax", "NAdam", "RAdam", "Rprop", "RMSprop", "Adagrad", "Adadelta")])]
FILLED = [f"torch.ones({shape}).expand(2, 2).fill_({value})" for shape in ("1", "2", "2, 2") for value in ("2", "torch.tensor(2)", "torch.tensor(2.0)")]
RESHAPED = [f"t = torch.distributions.ReshapeTransform((2,), (1, 2))\nt{call}" for call in (
    "(torch.ones(3, 2))", "(torch.ones(3))", ".inv(torch.ones(3, 1, 2))", ".inv(torch.ones(2))", ".inv(torch.ones(3))")]


@pytest.mark.parametrize("code", [
    *LARGEST_DIFFERENCES, *EQUAL_ROWS, *RUNNING_BOOLS, *MEMBERS, *BATCHED_NUMBERS, *BATCHED_INTEGERS, *SELECTED, *INSIDE, *NUMBERS_IN_TENSORS, *COMPLEX_FACTORS, *AXES, *TRUNCATED, *INPUTS_AS_RESULTS, *STEPPED_TWICE, *LARGEST_OF_BAGS, *INTEGER_WEIGHTS, *OF_EMPTY_VECTORS, *SLOPES_AT_ZERO, *STILL, *FILLED, *RESHAPED,
    *TOLERANCES, *TRANSFORMS, *COMPLEX_SUMS, *ORDERS_IN_MEMORY, *OF_A_NUMBER, *NO_FREEDOM, *NUMBERS_THAT_FIT, *ZERO_GRADIENTS, *DIMENSIONS, *OF_TWO_FAULTS, *NOT_A_NUMBER, *INFINITELY_WIDE, *ORDERS, *FROM_ARRAYS, *EXPANSIONS, *SECOND_GRADIENTS,
    *LAYOUT, *DTYPES, *MIXED, *SHAPES, *NUMBERS, *TOO_LARGE, *KINDS, *GRADIENTS, *ONE_ELEMENT, *COPIES, *SCALARS, *CROPS,
    *IN_PLACE, *BOUNDS, *OUT_OF_RANGE, *EDGES, *MEMORY, *ZEROS, *REFUSALS, *INTEGERS, *NUMBERS_OF, *SEGMENTS, *EIGENVALUES, *RETAINED, *SAVED, *UNCONNECTED,
    *ONE_A_CHANNEL, *MASKS, *NO_DERIVATIVE, *RECORDED, *QUANTILES, *PASSES_FOR_NAN, *NOT_NEEDED, *MOVED_LEAVES, *COUNTED_DISTANCES, *CLAMPS, *CONSTANTS, *EMPTY_CLASSES, *EMPTY_VALUES, *BACKWARD_TWICE, *OF_NO_DIMENSIONS, *NO_ELEMENTS, *FACTORS,
    *FAKE_QUANTIZED, *ARRAYS, *OVERRIDABLE, *ENTROPIES,
])
def test_agreement(code):
    check_code(code, strides=code in LAYOUT)


def test_files_keep_the_dtypes_of_empty_tensors(tmp_path):
    import torch

    import flambeau

    for writer in (torch, flambeau):
        x = writer.zeros(0)
        writer.save([x, x.view(writer.float64)], tmp_path / "empty.pt")
        for reader in (torch, flambeau):
            assert [str(t.dtype) for t in reader.load(tmp_path / "empty.pt")] == ["torch.float32", "torch.float64"]


def test_data_can_be_skipped(tmp_path):
    import torch

    import flambeau

    for writer in (torch, flambeau):
        with writer.serialization.skip_data():
            writer.save([writer.ones(3), writer.ones(2, dtype=writer.int64)], tmp_path / "f.pt")
        assert [t.tolist() for t in writer.load(tmp_path / "f.pt")] == [[0.0, 0.0, 0.0], [0, 0]]
        writer.save(writer.ones(2, 3).t(), tmp_path / "f.pt")
        with writer.serialization.skip_data():
            found = writer.load(tmp_path / "f.pt")
        assert (tuple(found.shape), found.stride(), str(found.dtype)) == ((3, 2), (1, 3), "torch.float32")
