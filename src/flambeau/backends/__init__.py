"""Settings of PyTorch's backends. They can be set and read; the engines here take no notice of them."""

from .._lazy import lazy_submodules

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]

__getattr__, __dir__ = lazy_submodules(__name__, __all__)
