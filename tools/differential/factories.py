"""Functions that make tensors, of numbers or after a model."""

from __future__ import annotations

from .writer import rows

FACTORIES = [
    *rows("fibc", "torch.arange({number1}, {number2}, {step}, dtype={dtype})", mild=True),
    *rows("fi", "torch.arange({number1}, {number2}, {step})", mild=True),
    *rows("fi", "torch.range({number1}, {number2}, {step})", mild=True),
    *rows("fic", "torch.linspace({number1}, {number2}, {count}, dtype={dtype})", mild=True),
    *rows("f", "torch.logspace({index1}, {index2}, {count}, base={positive}, dtype={dtype})"),
    *rows("fibc", "torch.NAME({count1}, {count2}, dtype={dtype})", "zeros ones eye"),
    *rows("fibc", "torch.full(({count1}, {count2}), {number})"),
    *rows("fibc", "torch.full(({count},), {number}, dtype={dtype})", mild=True),
    *rows("fibc", "torch.scalar_tensor({number}, dtype={dtype})", mild=True),
    *rows("fibc", "torch.NAME([{number1}, {number2}], dtype={dtype})", "tensor as_tensor asarray", mild=True),
    *rows("fibc", "torch.NAME([{number1}, {number2}])", "tensor as_tensor asarray"),
    *rows("fibc", "torch.NAME({x})", "as_tensor asarray"),
    *rows("fibc", "torch.asarray({x}, dtype={any_dtype}, copy={flag})", mild=True),
    *rows("i", "torch.NAME({count1}, {count2}, {index})", "tril_indices triu_indices"),
    *rows("f", "torch.NAME({count}, periodic={flag}, dtype={dtype})",
          "bartlett_window blackman_window hamming_window hann_window kaiser_window"),
    *rows("f", "torch.kaiser_window({count}, {flag}, {positive})"),
    *rows("f", "torch.hamming_window({count}, {flag}, {fraction}, {fraction2})"),
    *rows("f", "torch.signal.windows.NAME({count}, sym={flag}, dtype={dtype})",
          "bartlett blackman cosine exponential hamming hann kaiser nuttall"),
    *rows("f", "torch.signal.windows.gaussian({count}, std={positive})"),
    *rows("fibc", "torch.NAME({x})", "zeros_like ones_like"),
    *rows("fibc", "torch.NAME({x}, dtype={any_dtype})", "zeros_like ones_like"),
    *rows("fibc", "torch.NAME({x}).shape", "empty_like"),
    *rows("fibc", "torch.full_like({x}, {number})", mild=True),
    *rows("fibc", "{x}.new_full({shape}, {number})", mild=True),
    *rows("fibc", "{x}.NAME({shape}).shape", "new_empty"),
    *rows("fibc", "{x}.NAME(({count1}, {count2}), dtype={any_dtype})", "new_zeros new_ones"),
    *rows("fibc", "{x}.new_tensor([{number1}, {number2}])", mild=True),
    *rows("fibc", "torch.empty_strided(({positive_count1}, 2), ({positive_count2}, 1)).stride()"),
    *rows("fibc", "{x}.new_empty_strided((2, 2), (1, 2)).stride()"),
    *rows("fibc", "torch.empty_permuted((2, 3), (1, 0)).stride()"),
    *rows("fibc", "torch.empty({count1}, {count2}, dtype={dtype}).shape"),
]
