"""The dtypes and the numbers that programs are made of."""

import math

KINDS = {
    "f": ("float32", "float64", "bfloat16", "float16"),
    "i": ("int64", "int32", "uint8", "int8", "int16"),
    "b": ("bool",),
    "c": ("complex64", "complex128"),
}
KIND_OF = {dtype: kind for kind, dtypes in KINDS.items() for dtype in dtypes}
MILD = (1.0, 0.0, 2.0, -1.0, 0.5, -0.5, 3.0, 0.25, -2.5, 1.5)
SPECIAL = (math.nan, math.inf, -math.inf, -0.0)
EXTREME = {  # the largest, the smallest normal, a subnormal, one beside 1
    "float64": (1.7e308, -1.7e308, 2.3e-308, 5e-324, 1 + 2**-52, 1e20),
    "float32": (3.4e38, -3.4e38, 1.2e-38, 1e-45, 1 + 2**-23, 1e20),
    "bfloat16": (3.3e38, -3.3e38, 1.2e-38, 1e-40, 1 + 2**-7, 1e20),
    "float16": (65504.0, -65504.0, 6.2e-5, 6e-8, 1 + 2**-10, 1e4),
}
LIMITS = {"uint8": (0, 255), **{f"int{n}": (-(2 ** (n - 1)), 2 ** (n - 1) - 1) for n in (8, 16, 32, 64)}}
VALUES = {
    "f": MILD,
    "i": (1, 0, 2, 3, -1, -2, 4),
    "b": (True, False),
    "c": (1 + 0j, 0j, 1 + 2j, -1 - 1j, 0.5j, -2 + 0j),
}


def nested(values, shape):
    """A flat list as nested ones of a shape."""
    if not shape:
        return values[0]
    step = len(values) // shape[0]
    return [nested(values[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


def kind_of(tensor):
    return KIND_OF.get(str(tensor.dtype).removeprefix("torch."), "?")


def is_mild(tensor):
    """Whether sums of the elements do not depend on the order of summation, but for rounding."""
    size = tensor.detach().abs().double() if tensor.is_complex() else tensor.detach().double().abs()
    return bool(((size == 0) | (size > 1e-3) & (size < 1e3)).all())
