"""Extensions in C++, which are not supported: they are compiled against PyTorch's own headers. Using a name raises."""

from __future__ import annotations

from .._utils import unsupported

NOT_SUPPORTED = (
    "torch.utils.cpp_extension.{name} is not supported: extensions are compiled against PyTorch's headers and need its "
    "libraries, which are not here. Use the library's version in Python, or torch.autograd.Function."
)

CUDA_HOME = ROCM_HOME = CUDNN_HOME = None
IS_HIP_EXTENSION = False


class BuildExtension:
    """Not supported: making one raises."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(NOT_SUPPORTED.format(name="BuildExtension"))

    @classmethod
    def with_options(cls, **options):
        """The class itself: setup scripts name it before they know whether they build."""
        return cls


_NAMES = ["CUDAExtension", "CppExtension", "SyclExtension", "include_paths", "library_paths", "load", "load_inline"]
globals().update({name: unsupported(name, NOT_SUPPORTED) for name in _NAMES})

__all__ = ["BuildExtension", "CUDA_HOME", *_NAMES]


def is_ninja_available():
    """Whether extensions could be built in parallel: they cannot be built at all."""
    return False


def check_compiler_ok_for_platform(compiler):
    """Whether a compiler fits PyTorch's libraries: none does."""
    return False
