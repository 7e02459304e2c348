"""Programs on which Flambeau once disagreed with PyTorch, as the differential tool found them, by class."""

import pytest

from _oracle import check_code

pytestmark = pytest.mark.oracle

EXPANDED = "x = torch.arange(6).reshape(1, 2, 3).expand(2, 2, 3)\n"
LEAF = "x = torch.ones(2, requires_grad=True)\n"

LAYOUT = [EXPANDED + code for code in (
    "torch.exp(x)", "x * 2.0", "x.bfloat16().exp()", "x.half() + 1", "x / 3", "torch.erfinv(x)", "torch.special.erfcx(x.float())", "x + torch.ones(3)",
    "x.transpose(0, 1).exp()",
)] + [f"torch.{name}(torch.eye(2, 3, dtype=torch.complex64).t())" for name in ("exp2", "exp", "log", "sqrt")]
DTYPES = [
    *[f"torch.einsum('{equation}', torch.ones({left}, dtype=torch.{dtype}), torch.ones({right}, dtype=torch.{dtype}))"
      for dtype in ("int32", "uint8", "int64")
      for equation, left, right in (
          ("i...,i...->...", (1,), (1,)), ("i...,i...->...", (2,), (2,)), ("i,j->ij", (2,), (3,)),
          ("ij,j->ij", (2, 1), (1,)), ("ij,j->", (1, 1), (1,)), ("ij,jk->ik", (2, 2), (2, 2)),
      )],
    "torch.einsum('i,j->ij', torch.ones(2, dtype=torch.bool), torch.ones(2, dtype=torch.bool))",
    "torch.einsum('i->', torch.ones(1, dtype=torch.int32))",
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
SHAPES = ["torch.topk(torch.tensor(1.0), 0)", "torch.topk(torch.tensor(1.0), 1)", "torch.topk(torch.ones(2), 0)",
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
KINDS = [
    *[f"torch.nn.functional.{name}(torch.ones({(2,) * ndim}), {size})"
      for name in ("adaptive_avg_pool2d", "adaptive_max_pool2d", "adaptive_avg_pool3d") for ndim in range(6) for size in ("2", "(2, 2)")],
    "torch.linalg.cross(torch.ones(()), torch.ones(()))",
    "torch.cross(torch.ones(2), torch.ones(2), dim=0)",
]
GRADIENTS = [
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


@pytest.mark.parametrize("code", [*LAYOUT, *DTYPES, *MIXED, *SHAPES, *NUMBERS, *TOO_LARGE, *KINDS, *GRADIENTS])
def test_agreement(code):
    check_code(code, strides=code in LAYOUT)
