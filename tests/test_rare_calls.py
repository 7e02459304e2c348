"""Rare calls on which Flambeau once disagreed with PyTorch, by namespace."""

import pytest

from _oracle import check_code

pytestmark = pytest.mark.oracle

TURNED = "x = (torch.arange(6.) + 1).reshape(3, 2).t()\n"
LAYOUT = [TURNED + code for code in (
    "torch.igamma(x, x)", "torch.igammac(x, torch.tensor(1.0))", "torch.special.zeta(x + 1, x)", "torch.polygamma(1, x)",
    "torch.special.hermite_polynomial_h(x, torch.ones(2, 1))", "torch.special.chebyshev_polynomial_t(x, 2)",
    "torch.igamma(torch.ones(3), x)",
)]
FACTORIES = [
    *[f"torch.arange({bounds}, dtype=torch.{dtype})" for dtype in ("int32", "uint8", "int64", "float32")
      for bounds in ("2, 2, 0.5", "2, 0.5, 0.5", "0.5, 0, 0.5", "2, 2.5, -0.5", "2, 3, 0.5", "2.5, 4, 0.5", "3, 2, -0.5", "0, 5, 1.5")],
    "torch.arange(2, 1e30, 1)", "torch.fft.rfftfreq(0)", "torch.fft.fftfreq(0)", "torch.fft.rfftfreq(3, 0.0)",
    *[f"torch.unravel_index(torch.tensor({numbers}, dtype=torch.{dtype}), (400, 400))"
      for dtype in ("int8", "uint8", "int32", "int64") for numbers in ("[1, 100]", "[[]]", "3")],
    "a, b = torch.unravel_index(torch.tensor([5, 7]), (2, 4))\n(a.storage_offset(), b.storage_offset(), a.stride())",
    *[f"torch.linalg.vander(torch.ones({shape}, dtype=torch.{dtype}), N={n})" for dtype in ("int16", "uint8", "float32")
      for shape in ((3,), (2, 0), (1,), ()) for n in (1, 2, None)],
]
REDUCTIONS = [
    *[f"torch.linalg.vecdot(torch.tensor(2.0), torch.tensor(3.0), dim={dim})" for dim in (0, -1, 1)],
    *[f"torch.diff(torch.ones(2), {n}, prepend=torch.zeros(2))" for n in (0, 1, 2)],
    *[f"torch.ones({shape}, dtype=torch.{dtype}).sum_to_size({target})" for dtype in ("uint8", "int32", "bool", "float16")
      for shape, target in (((3, 0), (1, 0)), ((2, 3), (1, 3)), ((2, 3), (2, 3)), ((), ()), ((2,), ()))],
    "x = torch.tensor(2.0)\nx.sum_to_size(()) is x",
    *[f"torch.trapezoid(torch.zeros({shape}, dtype=torch.{dtype}){options})" for dtype in ("int32", "uint8", "float16")
      for shape, options in (((0,), ""), ((0, 2), ""), ((2, 0), ", dx=0.5"), ((2, 0), ", dim=0"), ((1,), ""))],
    "torch.addbmm(*[torch.ones(shape, dtype=torch.int32) for shape in ((0, 0), (2, 0, 0), (2, 0, 0))], beta=2)",
    "torch.addbmm(*[torch.ones(shape, dtype=torch.uint8) for shape in ((1, 1), (2, 1, 2), (2, 2, 1))], beta=0)",
    *[f"v = torch.ones(2, dtype=torch.{dtype})\ntorch.addr(torch.ones(2, 2, dtype=torch.{dtype}), v, v, {option}=True)"
      for dtype in ("float32", "int64", "bool", "complex64") for option in ("beta", "alpha")],
    *[f"x = torch.tensor([0.25, 1.5, 9.0], dtype=torch.{dtype})\n{call}" for dtype in ("bfloat16", "float16", "float32")
      for call in ("torch.histogram(x, x.new_tensor([0.0, 0.5, 2.0]))", "torch.histogram(x, torch.tensor([0.0, 1.0]))")],
]
TRANSFORMS = [
    *[f"torch.fft.{name}(torch.ones(2, 2), s={s})" for name in ("fft2", "rfftn", "hfft2", "irfftn")
      for s in ("(None, None)", "(2, None)", "(2, 2.0)", "(2, -1)")],
    *[f"torch.fft.{name}(torch.tensor(1.0){options})" for name in ("fftshift", "ifftshift")
      for options in ("", ", dim=0", ", dim=(-1,)")],
]
MASKS = [
    f"torch.zeros({shape}).index_put({indices}, torch.tensor(2.0))"
    for shape in ((), (2,), (2, 3), (0, 2))
    for indices in ("(torch.tensor(True),)", "(torch.tensor(False),)", "(torch.tensor(True), torch.tensor([0]))",
                    "(torch.tensor([0]), torch.tensor(False))")
]

RESULTS = [
    *[f"torch.isclose(torch.tensor([True, False]), torch.tensor([False, False]), {rtol}, {atol})"
      for rtol, atol in ((1.0, 2.0), (0.5, 0.5), (1.0, 0.0))],
    "torch.histogramdd(torch.ones(3, 0), [])", "torch.histogramdd(torch.ones(2, 3, 0), 2, weight=torch.ones(2, 3))",
    *[f"x = torch.zeros(1, 2).expand(2, 2)\ntorch.as_strided_scatter(x, torch.ones({n}), ({n},), (1,), {start})"
      for n, start in ((1, 0), (2, 1), (4, 0))],
    *[f"torch.cat({parts}, dim={dim})" for parts in ("[torch.ones(0)]", "[torch.ones(0), torch.ones(0)]")
      for dim in (0, 1, -2)],
    *[f"torch.fft.{name}(torch.ones(2, 4, dtype=torch.{dtype}), out=torch.empty(0, dtype=torch.complex{bits}))"
      for name in ("fft", "ifft", "rfft", "ihfft") for dtype in ("int64", "float32", "float64") for bits in (64, 128)],
    "torch.nonzero(torch.ones(2, 2), as_tuple=True, out=torch.empty(0, dtype=torch.int64))",
    *[f"[(i.storage_offset(), i.stride(), i._is_view()) for i in torch.ones({shape}).nonzero(as_tuple=True)]"
      for shape in ((), (3,), (2, 3), (2, 0))],
]
GRADIENTS = [
    *[f"x = torch.tensor(2.0, requires_grad=True)\ntorch.{name}(x)[{i}].backward()\nx.grad"
      for name in ("std_mean", "var_mean") for i in (0, 1)],
    *[f"x = torch.tensor([2.0, 1.0], requires_grad=True)\n(torch.{name}(x)[0] * 2 + torch.{name}(x)[1]).backward()\nx.grad"
      for name in ("std_mean", "var_mean")],
    *[f"torch.{name}(torch.ones(2, requires_grad=True), dim=0, dtype=torch.{dtype})"
      for name in ("sum", "prod", "nansum", "cumsum", "cumprod") for dtype in ("int64", "uint8", "float64")],
]


@pytest.mark.parametrize("code", [*LAYOUT, *FACTORIES, *REDUCTIONS, *TRANSFORMS, *MASKS, *RESULTS, *GRADIENTS])
def test_agreement(code):
    check_code(code, strides=code in LAYOUT)
