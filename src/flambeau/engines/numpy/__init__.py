"""The NumPy engine: eager arrays on the CPU.

Each file of this folder holds the kernels of one family that NumPy itself does not have, or not as we need them.
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
from . import conv, ctc_loss, fold, grid, loss, margin_loss, normalization, pool, rnn, upsampling
from . import optim
from . import random
from . import native  # after all that it replaces

__all__ = ["base", "engine"]
