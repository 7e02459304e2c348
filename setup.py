"""The native kernels; what else there is to say about the package stands in pyproject.toml."""

import glob
import os

import numpy
from setuptools import Extension, setup

FLAGS = ["-O3", "-g0", "-fvisibility=hidden", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"]

kernels = Extension(
    "flambeau._kernels",
    sources=sorted(glob.glob("csrc/*.c")),
    depends=sorted(glob.glob("csrc/**/*.h", recursive=True)),
    include_dirs=[numpy.get_include()],
    extra_compile_args=[] if os.name == "nt" else FLAGS,
    optional=True,  # without a compiler the kernels in NumPy do their work
)

setup(ext_modules=[kernels])
