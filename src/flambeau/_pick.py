"""Items of lists, by number and by type, for lists of thousands of tensors.

The extension ``flambeau._kernels`` has the same functions; they are used where it was built.
"""

from __future__ import annotations

import contextlib
import functools
import os

import numpy as np


def pick(numbers, items):
    """A list of the items of a sequence with these numbers, an array of them."""
    return [items[nr] for nr in numbers.tolist()]


def places_of_types(objects, types):
    """The places of a list at which there are objects of these very types."""
    return [place for place, x in enumerate(objects) if type(x) in types]


if os.environ.get("FLAMBEAU_NATIVE") != "0":
    with contextlib.suppress(ImportError):  # it was not built, or from other sources
        from ._kernels import pick, places_of_types  # noqa: F401


def picker(numbers):
    """A function that makes a list of the items with these numbers of a sequence."""
    return functools.partial(pick, np.array(numbers, np.intp))
