"""The inferred results of calls, on disk: the next run of a script need not trace the calls again.

An entry belongs to one call in one environment (_digests.py). Calls with conditions on elements have none, as their
errors are functions.
"""

import contextlib
import json
import logging

import jax
import numpy as np

from . import _cache
from ._digests import NoDigest, digest, environment
from ._prefetch import Prefetch
from ._sources import find_replaced

log = logging.getLogger("flambeau.compiler")

MOST = 4096  # entries for a script


class Table:
    """The entries of a script: {name: (which results are inputs, forms of the others, their structure)}.

    Args:
        programs: the folder of the cache.
        names: of the entries of the folder to write; the first that exists is read.
    """

    def __init__(self, programs, names):
        self.programs = programs
        self.names = names
        self.entries = self.read()
        self.has_new = False

    def read(self):
        contents = next(filter(None, map(self.programs.get, self.names)), b"{}")
        with contextlib.suppress(ValueError, RecursionError):
            found = json.loads(contents)
            if isinstance(found, dict):
                return found
        return {}

    def get(self, name):
        """(aliases, [(shape, dtype, weak_type)], tree), or None."""
        try:
            aliases, forms, tree = self.entries[name]
            forms = [(tuple(shape), np.dtype(dtype), weak) for shape, dtype, weak in forms]
            found = [*aliases], forms, from_json(tree)
        except (KeyError, ValueError, TypeError, RecursionError):
            return None
        self.entries[name] = self.entries.pop(name)  # the most recently used entries are kept
        return found

    def put(self, name, aliases, forms, tree):
        with contextlib.suppress(TypeError):
            forms = [(shape, np.dtype(dtype).name, weak) for shape, dtype, weak in forms]
            self.entries[name] = aliases, forms, to_json(tree)
            self.has_new = True

    def save(self):
        """Writes the entries if there are new ones, unless functions were replaced."""
        if self.has_new and find_replaced() is None:
            self.has_new = False
            self.entries = dict([*self.entries.items()][-MOST:])
            contents = json.dumps(self.entries).encode()
            for name in self.names:
                self.programs.put(name, contents)


def to_json(tree):
    """The structure of results for JSON, which has no tuples."""
    if type(tree) is tuple:
        return {"tuple": [*map(to_json, tree)]}
    if type(tree) is list:
        return [*map(to_json, tree)]
    if tree is None or type(tree) is int:
        return tree
    raise TypeError(type(tree))


def from_json(tree):
    if type(tree) is dict:
        return tuple(map(from_json, tree["tuple"]))
    return [*map(from_json, tree)] if type(tree) is list else tree


def table_of(programs):
    if not isinstance(programs, Prefetch):
        return None
    return Table(programs, [name.replace("script", "calls") for name in programs.names])


table = table_of(_cache.programs)


def name_of(signature, *circumstances):
    """The name of an entry; None if there cannot be one."""
    if table is None or jax.config.jax_default_device is None:
        return None
    try:
        return digest(environment(jax.config.jax_default_device), signature.digest, *circumstances)
    except NoDigest as error:
        log.debug("the inferred results of a call are not cached: %s", error)
        return None
