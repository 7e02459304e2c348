"""The XLA engine: kernels on jax arrays, concrete or traced. Imported only when a jax array is met."""

from __future__ import annotations

import importlib
import pkgutil

import jax.numpy as jnp

from .. import Namespace

engine = Namespace("xla", jnp)

for _file in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_file.name}")
