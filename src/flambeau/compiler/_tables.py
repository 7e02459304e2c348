"""What many tables, containers and objects hold, compared at once with what they held before.

The extension ``flambeau._kernels`` has the same functions; they are used where it was built.
"""

import contextlib
import os
from itertools import chain
from operator import is_

from .._slots import are_same


def are_items(tables, names, values, missing):
    """Whether each table has the very value under a name, which is `missing` where it has none."""
    return all([table.get(name, missing) is value for table, name, value in zip(tables, names, values, strict=True)])


def are_contents(containers, lengths, contents):
    """Whether dicts and lists hold the very things, in this order: keys before their values."""
    held = [chain.from_iterable(c.items()) if isinstance(c, dict) else c for c in containers]
    return [*map(len, containers)] == lengths and are_same(chain.from_iterable(held), contents)


def are_of_types(objects, types):
    """Whether the objects are of the very types."""
    return len(objects) == len(types) and all(map(is_, map(type, objects), types))


if os.environ.get("FLAMBEAU_NATIVE") != "0":
    with contextlib.suppress(ImportError):  # it was not built, or from other sources
        from .._kernels import are_contents, are_items, are_of_types  # noqa: F401
