"""Comparisons of the contents of many dicts, containers and objects at once.

These are the fallbacks of functions in the extension ``flambeau._kernels``.
"""

import contextlib
import os
from itertools import chain
from operator import is_

from .._slots import are_same


def are_items(tables, names, values, missing):
    """Whether each dict has an identical value under its name; `missing` stands for none."""
    return all([table.get(name, missing) is value for table, name, value in zip(tables, names, values, strict=True)])


def are_contents(containers, lengths, contents):
    """Whether dicts and lists have identical contents in the same order; each key precedes its value."""
    held = [chain.from_iterable(c.items()) if isinstance(c, dict) else c for c in containers]
    return [*map(len, containers)] == lengths and are_same(chain.from_iterable(held), contents)


def are_of_types(objects, types):
    """Whether the objects have exactly these types."""
    return len(objects) == len(types) and all(map(is_, map(type, objects), types))


if os.environ.get("FLAMBEAU_NATIVE") != "0":
    with contextlib.suppress(ImportError):  # not built, or built from other sources
        from .._kernels import are_contents, are_items, are_of_types  # noqa: F401
