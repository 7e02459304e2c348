"""The NumPy engine: eager arrays on the CPU.

Each file of this folder holds the kernels of one family that NumPy itself does not have, or not as we need them.
"""

from .. import NUMPY as engine
from . import base  # noqa: F401
from . import memory  # noqa: F401
from . import ldl, linalg  # noqa: F401
from . import move, shape  # noqa: F401
from . import reduce, scan, sort  # noqa: F401
from . import bessel, pointwise, special  # noqa: F401
from . import index, scatter  # noqa: F401
from . import gates  # noqa: F401
from . import conv, loss, norm, pool  # noqa: F401
from . import random  # noqa: F401

__all__ = ["base", "engine"]
