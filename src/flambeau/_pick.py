"""Fast selection of list items by index and by type, for lists of thousands of tensors.

The extension ``flambeau._kernels``, if built, replaces these functions by native ones.
"""

import contextlib
import functools
import os

import numpy as np


def pick(numbers, items):
    """The items of a sequence at the indices in an array, as a list."""
    return [items[nr] for nr in numbers.tolist()]


def places_of_types(objects, types):
    """The indices of a list whose objects are exactly of these types."""
    return [place for place, x in enumerate(objects) if type(x) in types]


if os.environ.get("FLAMBEAU_NATIVE") != "0":
    with contextlib.suppress(ImportError):  # not built, or built from other sources
        from ._kernels import pick, places_of_types  # noqa: F401


def picker(numbers):
    """A function that returns the items of a sequence at these indices, as a list."""
    return functools.partial(pick, np.array(numbers, np.intp))
