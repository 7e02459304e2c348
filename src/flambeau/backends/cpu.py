"""CPU capabilities, which libraries query to choose their arithmetic."""

__all__ = ["get_cpu_capability"]


def get_cpu_capability():
    """Always ``"AVX2"``: integer arithmetic matches PyTorch's AVX2 kernels."""
    return "AVX2"
