"""Functions that PyTorch also has in ``torch.functional``."""

from .functions.broadcast import *
from .functions.contract import *
from .functions.distance import *
from .functions.einsum import *
from .functions.join import *
from .functions.linalg.lowrank import *
from .functions.linalg.top_level import *
from .functions.move import *
from .functions.shape import *
from .functions.sort import *
from .functions.stft import *
from .functions.views import *

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors", "cartesian_prod",
    "cdist", "chain_matmul", "einsum", "istft", "lu", "meshgrid", "norm", "pca_lowrank", "split", "stft",
    "svd_lowrank", "tensordot", "unique", "unique_consecutive", "unravel_index",
]
