"""Native kernels in the place of NumPy's, where the extension ``flambeau._kernels`` was built.

Each stands before the kernel of its name, its twin, and calls it for whatever it was not written for. So the extension
changes how fast things are, and nothing else. ``FLAMBEAU_NATIVE=0`` in the environment leaves it out.
"""

from __future__ import annotations

import os

from .. import NUMPY as engine

NAMES: tuple[str, ...] = ()  # the kernels that are native

if os.environ.get("FLAMBEAU_NATIVE") != "0":
    try:
        from ..._kernels import NAMES, kernel
    except ImportError:
        pass  # it was not built, or not for this version of NumPy
    else:
        for name in NAMES:
            setattr(engine, name, kernel(name, getattr(engine, name)))
