"""The XLA engine: kernels on jax arrays, concrete or traced. Imported only when a device asks for it.

Importing it switches jax to 64-bit numbers in this process, as PyTorch has them.
"""

from __future__ import annotations

import importlib
import pkgutil

import jax
import jax.numpy as jnp

from .. import Engine, register_arrays
from .._views import ViewArray
from ._version import check_version

check_version(jax.__version__)
jax.config.update("jax_enable_x64", True)

engine = Engine("xla", jnp)
engine.aliases = False
engine.traced_errors = (
    jax.errors.ConcretizationTypeError, jax.errors.NonConcreteBooleanIndexError, jax.errors.TracerArrayConversionError,
    jax.errors.TracerBoolConversionError, jax.errors.TracerIntegerConversionError,
)
register_arrays(engine, jax.Array, jax.core.Tracer, ViewArray)

for _file in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_file.name}")
