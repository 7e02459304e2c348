"""The XLA engine: kernels on jax arrays, concrete or traced. Imported when such a device is first used.

Importing it enables 64-bit numbers in jax for this process, as PyTorch has them.
"""

import importlib
import pkgutil

import jax
import jax.numpy as jnp

from ..._modes import in_use
from .. import register_arrays
from .._views import ViewArray
from ._version import check_version

check_version(jax.__version__)
jax.config.update("jax_enable_x64", True)

from . import _cache  # noqa: E402  (before anything is compiled)
from ._engine import LazyEngine  # noqa: E402  (it makes arrays, with 64 bits)
from .lazy import LazyArray  # noqa: E402

engine = LazyEngine("xla", jnp)
in_use.recorders = True
register_arrays(engine, jax.Array, jax.core.Tracer, ViewArray, LazyArray)

for _file in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_file.name}")
