"""C++ extensions, which need PyTorch's headers and are not supported: using any of these names raises."""

from .._utils import unsupported_function

NOT_SUPPORTED = (
    "torch.utils.cpp_extension.{name} is not supported: extensions are compiled against PyTorch's headers and need its "
    "libraries, which are not here. Use the library's version in Python, or torch.autograd.Function."
)

CUDA_HOME = ROCM_HOME = CUDNN_HOME = None
IS_HIP_EXTENSION = False


class BuildExtension:
    """Not supported: the constructor raises."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(NOT_SUPPORTED.format(name="BuildExtension"))

    @classmethod
    def with_options(cls, **options):
        """Returns the class itself: setup scripts call this even when they do not build."""
        return cls


_NAMES = ["CUDAExtension", "CppExtension", "SyclExtension", "include_paths", "library_paths", "load", "load_inline"]
globals().update({name: unsupported_function(name, NOT_SUPPORTED) for name in _NAMES})

__all__ = ["BuildExtension", "CUDA_HOME", *_NAMES]


def is_ninja_available():
    """Whether ninja can be used: False, as extensions cannot be built."""
    return False


def check_compiler_ok_for_platform(compiler):
    """Whether the compiler is ABI-compatible with PyTorch: False."""
    return False
