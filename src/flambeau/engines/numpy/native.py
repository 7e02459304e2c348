"""Native kernels, which replace NumPy's if the extension ``flambeau._kernels`` was built.

Each replaces the kernel of the same name, its twin, and calls it for the cases it does not support. So the extension
only affects speed. ``FLAMBEAU_NATIVE=0`` in the environment disables it.
"""

from __future__ import annotations

import os

from ..._fp_errors import run_in_fp_context
from .. import NUMPY as engine
from .threads import threads

NAMES: list[str] = []  # names of the native kernels

if os.environ.get("FLAMBEAU_NATIVE") != "0":
    try:
        from ... import _kernels
    except ImportError:
        pass  # not built, or built for another version of NumPy
    else:
        threads.connect(_kernels)
        run_in_fp_context(_kernels.exchange_handler, None)  # NumPy's memory handler for kernels only
        engine.kernel(_kernels.exchange_handler)
        for name in _kernels.NAMES:
            twin = getattr(engine, name, None)
            if twin is not None:  # an extension built from other sources may have additional kernels
                setattr(engine, name, _kernels.kernel(name, twin))
                NAMES.append(name)
