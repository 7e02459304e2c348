"""Random draws, each written twice: for our kernels and for PyTorch.

Run as a program this file records what PyTorch draws, for the tests that run without it.
"""

import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import ml_dtypes
import numpy as np

from flambeau.engines.numpy import random as kernels

RECORD = Path(__file__).parent / "data" / "random.npz"

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTS = ("uint8", "int8", "int16", "int32", "int64")
UNSIGNED = ("uint16", "uint32", "uint64")

LIBM = {
    "fill_normal",
    "fill_exponential",
    "fill_cauchy",
    "fill_log_normal",
    "normal",
    "standard_gamma",
    "dirichlet",
}

LAYOUTS = {
    "contiguous": lambda n, dtype: np.empty(n, dtype),
    "strided": lambda n, dtype: np.empty(2 * n, dtype)[::2],
    "transposed": lambda n, dtype: np.empty((n, 3), dtype).T,
    "cut": lambda n, dtype: np.empty((4, n, 5), dtype)[1:3, :, 2:4].transpose(2, 0, 1),
}


def np_dtype(name):
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


@dataclass
class Draw:
    name: str
    ours: Callable
    theirs: Callable
    tolerance: float = 0.0  # relative to the scale of the draw; 0 asks for the same bits
    scale: float = 1.0

    def check(self, got, want, other_libm=False):
        """Whether a draw is PyTorch's; a C library other than the recording machine's may round otherwise."""
        assert got.dtype == want.dtype and got.shape == want.shape
        tolerance = self.tolerance
        if other_libm and self.name.partition(" ")[0].partition("(")[0] in LIBM:
            tolerance = max(tolerance, 4 * float(ml_dtypes.finfo(got.dtype).eps))
        if tolerance == 0:
            np.testing.assert_array_equal(got, want)
        else:
            got, want = got.astype(np.complex128), want.astype(np.complex128)
            assert np.all(np.abs(got - want) <= tolerance * np.maximum(np.abs(want), self.scale))


def array_of(tensor):
    """The elements of a torch tensor."""
    import torch

    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def tensor_of(array):
    """A torch tensor with the elements and the strides of an array."""
    import torch

    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


# kernel, method of torch.Tensor, dtypes, arguments
FILLS = [
    ("fill_uniform", "uniform_", (*FLOATS, "complex64"), [(), (-0.25, 0.25), (-2.7, 11.3), (100.3, 100.9)]),
    ("fill_normal", "normal_", (*FLOATS, "complex64"), [(), (0.0, 0.02), (3.0, 0.7)]),
    ("fill_random", "random_", (*INTS, *FLOATS, "bool"), [()]),
    ("fill_random", "random_", (*INTS, *UNSIGNED, *FLOATS), [(0, 2), (3, 100)]),
    ("fill_random", "random_", (*INTS, *FLOATS, "uint32"), [(1, None)]),
    (
        "fill_random",
        "random_",
        ("int64",),
        [(-(2**63), None), (0, 2**28 - 1), (0, 2**28), (-(2**62), 2**62 + 7)],
    ),
    ("fill_random", "random_", ("float32", "float64"), [(-(2**40), 2**40), (-(2**63), None)]),
    ("fill_bernoulli", "bernoulli_", (*INTS, *FLOATS, "bool"), [(0.3,)]),
    ("fill_exponential", "exponential_", FLOATS, [(), (1.7,)]),
    ("fill_geometric", "geometric_", (*INTS, *FLOATS), [(0.3,)]),
    ("fill_cauchy", "cauchy_", FLOATS, [(), (0.5, 0.7)]),
    ("fill_log_normal", "log_normal_", FLOATS, [(), (0.5, 0.25)]),
]

# How far NumPy's vector functions may be from the ones PyTorch calls, in units of a draw of size one.
NEAR = {"float32": 5e-7, "float64": 1e-15, "float16": 1e-3, "bfloat16": 8e-3, "complex64": 5e-7}
# Exponentials and tangents amplify what the normals and uniforms they are taken of have lost.
WIDE = {"fill_exponential": 1e-15, "fill_cauchy": 1e-14, "fill_log_normal": 1e-14}


def fill_draw(kernel, method, dtype, args, layout, n):
    def ours(generator):
        return getattr(kernels, kernel)(generator, LAYOUTS[layout](n, np_dtype(dtype)), *args)

    def theirs(generator):
        import torch

        like = LAYOUTS[layout](n, np_dtype(dtype))
        strides = [s // like.itemsize for s in like.strides]
        tensor = torch.empty_strided(like.shape, strides, dtype=getattr(torch, dtype))
        return getattr(tensor, method)(*args, generator=generator)

    size = LAYOUTS[layout](n, np_dtype(dtype)).size * (2 if dtype == "complex64" else 1)
    tolerance = 0.0
    if kernel == "fill_normal" or (kernel in WIDE and dtype == "float64"):
        in_blocks = kernel == "fill_normal" and layout == "contiguous" and size >= 16
        exact = size <= (256 if not in_blocks else 1024 if dtype == "float64" else 0)
        tolerance = 0.0 if exact else WIDE.get(kernel, NEAR[dtype])
    scale = max(map(abs, args), default=1.0) if kernel == "fill_normal" else 1.0
    name = f"{kernel}{args} {dtype} {layout} {n}"
    return Draw(name, ours, theirs, tolerance, scale)


def fill_draws(sizes, layouts=tuple(LAYOUTS)):
    for (kernel, method, dtypes, many_args), layout, n in product(FILLS, layouts, sizes):
        for dtype, args in product(dtypes, many_args):
            yield fill_draw(kernel, method, dtype, args, layout, n)


def parameters(shape, dtype, low, high):
    """Parameters of a distribution, the same in every run."""
    values = np.random.default_rng(0).uniform(low, high, shape)
    return values.astype(np.float32).astype(np_dtype(dtype))


def permutation_draw(n, dtype):
    def theirs(generator):
        import torch

        return torch.randperm(n, dtype=getattr(torch, dtype), generator=generator)

    return Draw(f"permutation {dtype} {n}", lambda g: kernels.permutation(g, n, np_dtype(dtype)), theirs)


def normal(generator, mean, std):
    like = mean if isinstance(mean, np.ndarray) else std
    out = np.empty(np.broadcast_shapes(np.shape(mean), np.shape(std)), like.dtype)
    return kernels.fill_normal_each(generator, out, mean, std)


def sampled_draw(kernel, function, *arrays, args=(), tolerance=0.0):
    def theirs(generator):
        import torch

        inputs = [tensor_of(a) if isinstance(a, np.ndarray) else a for a in arrays]
        return getattr(torch, function)(*inputs, *args, generator=generator)

    shapes = " ".join(f"{a.dtype}{list(a.shape)}" if isinstance(a, np.ndarray) else f"{a}" for a in arrays)
    name = f"{kernel} {shapes} {args}"
    ours = normal if kernel == "normal" else getattr(kernels, kernel)
    return Draw(name, lambda g: ours(g, *arrays, *args), theirs, tolerance)


def bernoulli_draw(dtype, n):
    p = parameters((3, n), dtype, 0, 1)

    def ours(generator):
        return kernels.fill_bernoulli(generator, np.empty((n, 3), np.float32).T, p)

    def theirs(generator):
        import torch

        return torch.empty(n, 3).t().bernoulli_(tensor_of(p), generator=generator)

    return Draw(f"fill_bernoulli of probabilities {dtype} {n}", ours, theirs)


def sampled_draws(sizes):
    for n in sizes:
        yield from (
            permutation_draw(n, dtype) for dtype in ("int64", "int32", "int16", "float32", "bfloat16")
        )
        for dtype in FLOATS:
            weights = parameters((2, n), dtype, 0, 1)
            yield bernoulli_draw(dtype, n)
            yield sampled_draw("poisson", "poisson", parameters(n, dtype, 0, 30))
            yield sampled_draw("multinomial", "multinomial", weights, args=(1, False))
            yield sampled_draw("multinomial", "multinomial", weights, args=(10, True))
            near = NEAR[dtype]
            yield sampled_draw("normal", "normal", weights, weights[1], tolerance=near)
            yield sampled_draw("normal", "normal", 0.3, weights, tolerance=near)
            yield sampled_draw("normal", "normal", weights, 0.7, tolerance=near)
        for dtype in ("float32", "float64"):
            weights = parameters((2, n), dtype, 0, 1)
            yield sampled_draw("multinomial", "multinomial", weights, args=(min(n, 4), False))
            yield sampled_draw("standard_gamma", "_standard_gamma", parameters((n, 2), dtype, 0, 3))
            shares = parameters((n, 4), dtype, 0, 2)
            yield sampled_draw(
                "dirichlet", "_sample_dirichlet", shares, tolerance=1e-15 * (dtype == "float64")
            )
            counts = np.floor(parameters((n, 2), dtype, 0, 200))
            yield sampled_draw("binomial", "binomial", counts, parameters((n, 2), dtype, 0, 1))


def recorded_draws():
    yield from fill_draws([5], ["contiguous", "cut"])
    yield from fill_draws([37], ["contiguous"])
    yield from sampled_draws([7])


def fingerprint(state):
    """What identifies the position in the stream: the state without the waiting normal."""
    return zlib.crc32(state[: 24 + 624 * 8].tobytes())


def record():
    """Writes what PyTorch draws; draw number i has seed i."""
    import torch

    generator = torch.Generator()
    values, positions = [], []
    for seed, draw in enumerate(recorded_draws()):
        values.append(array_of(draw.theirs(generator.manual_seed(seed))).tobytes())
        positions.append(fingerprint(generator.get_state().numpy()))

    generator.manual_seed(2026)
    torch.rand(1000, generator=generator)
    torch.randn(3, dtype=torch.float64, generator=generator)
    state = generator.get_state().numpy().copy()
    np.savez_compressed(
        RECORD,
        values=np.frombuffer(b"".join(values), np.uint8),
        ends=np.cumsum([len(v) for v in values]),
        positions=np.array(positions, np.uint32),
        state=state,
        normals_after_state=torch.randn(4, dtype=torch.float64, generator=generator).numpy(),
        exact_float32_normals=torch.randn(512, generator=generator.manual_seed(5)).numpy(),
    )


if __name__ == "__main__":
    sys.exit(record())
