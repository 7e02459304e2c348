"""The native kernels; what else there is to say about the package stands in pyproject.toml."""

import glob
import os
from concurrent.futures import ThreadPoolExecutor

import numpy
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

FLAGS = ["-O3", "-g0", "-fvisibility=hidden", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"]

kernels = Extension(
    "flambeau._kernels",
    sources=sorted(glob.glob("csrc/*.c")),
    depends=sorted(glob.glob("csrc/**/*.h", recursive=True)),
    include_dirs=[numpy.get_include()],
    extra_compile_args=[] if os.name == "nt" else FLAGS,
    optional=True,  # without a compiler the kernels in NumPy do their work
)


class ParallelBuild(build_ext):
    """Compiles the files of an extension side by side, on as many cores as there are."""

    def build_extension(self, ext):
        def object_of(source):
            [path] = self.compiler.compile(
                [source], output_dir=self.build_temp, include_dirs=ext.include_dirs,
                extra_postargs=ext.extra_compile_args, depends=ext.depends,
            )
            return path

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            ext.extra_objects = list(pool.map(object_of, ext.sources))
        ext.sources, ext.depends = [], ext.extra_objects  # what is newer than the extension has to be linked
        super().build_extension(ext)


setup(ext_modules=[kernels], cmdclass={"build_ext": ParallelBuild})
