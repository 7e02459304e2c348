"""Settings of PyTorch's backends, which can be set and read but are ignored by Flambeau's engines."""

from .._lazy import lazy_submodules

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]

__getattr__, __dir__ = lazy_submodules(__name__, __all__)
