"""Converts logged values to NumPy arrays."""

import numbers

import numpy as np

from ... import _dtypes
from ..._tensor import Tensor

NOT_AN_ARRAY = "Got {type}, but numpy array or torch tensor are expected."


def make_np(x):
    """Converts a tensor or array to an array; a number to an array of one element."""
    if isinstance(x, Tensor):
        x = x.detach().cpu()
        return (x.float() if _dtypes.is_foreign(x.dtype.np) else x).numpy()
    if not isinstance(x, np.ndarray | np.generic | numbers.Number | str):
        raise NotImplementedError(NOT_AN_ARRAY.format(type=type(x)))
    return np.atleast_1d(x) if np.isscalar(x) else x
