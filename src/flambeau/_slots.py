"""One slot of many objects, read or set at once, for lists of thousands of tensors.

The extension ``flambeau._kernels`` has the same functions; they are used where it was built.
"""

from __future__ import annotations

import collections
import contextlib
import operator
import os

LENGTHS = "expected as many values as objects, but got {values} for {objects}"


def read_slot(member, objects):
    """A list of what objects hold in the slot that is the `member` of their class."""
    return [*map(member.__get__, objects)]


def set_slot(member, objects, values):
    """Makes objects hold values in the slot that is the `member` of their class."""
    if len(objects) != len(values):
        raise ValueError(LENGTHS.format(values=len(values), objects=len(objects)))
    collections.deque(map(member.__set__, objects, values), 0)


def are_same(found, expected):
    """Whether two sequences hold the very same objects; `found` may be an iterator."""
    found = found if hasattr(found, "__len__") else [*found]
    return len(found) == len(expected) and all(map(operator.is_, found, expected))


if os.environ.get("FLAMBEAU_NATIVE") != "0":
    with contextlib.suppress(ImportError):  # it was not built, or from other sources
        from ._kernels import are_same, read_slot, set_slot  # noqa: F401
