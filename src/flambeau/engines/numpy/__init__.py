"""The NumPy engine: eager arrays on the CPU.

Each file has the kernels of one family that NumPy lacks, or that need other semantics.
"""

from .. import NUMPY as engine
from . import base
from . import memory
from . import ldl, linalg
from . import move, shape
from . import reduce, scan, sort
from . import bessel, implicit, pointwise, special
from . import index, scatter
from . import activation
from . import conv, ctc_loss, fold, grid, loss, margin_loss, normalization, pooling, rnn, upsampling
from . import optim
from . import random
from . import native  # last, as it replaces kernels of the others

__all__ = ["base", "engine"]
