"""Environment information for bug reports: ``python -m flambeau.utils.collect_env``."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from typing import NamedTuple

from .._version import __version__

__all__ = ["SystemEnv", "get_env_info", "get_pretty_env_info", "main"]

PACKAGES = ("numpy", "ml_dtypes", "jax", "jaxlib", "torchvision", "timm", "transformers", "lightning", "safetensors")


class SystemEnv(NamedTuple):
    """The collected information, with PyTorch's names where it has them."""

    torch_version: str
    is_debug_build: str
    cuda_compiled_version: str
    os: str
    libc_version: str
    python_version: str
    python_platform: str
    is_cuda_available: str
    cpu_info: str
    pip_packages: str


def _versions():
    for name in PACKAGES:
        try:
            yield f"[pip3] {name}=={metadata.version(name)}"
        except metadata.PackageNotFoundError:
            continue


def get_env_info():
    """Collects information on this environment."""
    bits = sys.maxsize.bit_length() + 1
    return SystemEnv(
        torch_version=f"flambeau {__version__}", is_debug_build="False", cuda_compiled_version="None",
        os=platform.platform(), libc_version="-".join(platform.libc_ver()) or "N/A",
        python_version=f"{sys.version} ({bits}-bit runtime)".replace("\n", ""), python_platform=platform.platform(),
        is_cuda_available="False", cpu_info=f"{platform.machine()}, {os.cpu_count()} cores",
        pip_packages="\n".join(_versions()),
    )


def get_pretty_env_info():
    """The collected information as readable lines."""
    info = get_env_info()
    return (
        f"PyTorch version: {info.torch_version}\nIs debug build: {info.is_debug_build}\n"
        f"CUDA used to build PyTorch: {info.cuda_compiled_version}\n\nOS: {info.os}\nLibc version: {info.libc_version}"
        f"\n\nPython version: {info.python_version}\nPython platform: {info.python_platform}\n"
        f"Is CUDA available: {info.is_cuda_available}\n\nCPU:\n{info.cpu_info}\n\n"
        f"Versions of relevant libraries:\n{info.pip_packages}"
    )


def main():
    """Prints the information."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
