"""Which values and calls a program may rely on.

A program is valid while everything that the function read is unchanged. A value is *constant*, or it is *watched*: its
parts are compared before each run. Anything else may have hidden state, so a function that reaches it has no program
that is valid for the next call. The same holds for calls: the results of the functions below depend on their arguments
only, those of others may change.
"""

import collections
import inspect
import io
import logging
import operator
import random
import re
import sys
import types
import typing

import numpy as np

from .._device import device, layout, memory_format
from .._dtypes import dtype, finfo, iinfo
from .._generator import Generator

FOREIGN = {"flambeau", "jax", "jaxlib", "ml_dtypes", "numpy", "typing_extensions", *sys.stdlib_module_names}
FOREIGN -= {"__main__"}
OURS = {"flambeau", "jax", "jaxlib", "ml_dtypes"}
OF_JAX = ("jax.", "etils.", "opt_einsum.", "jax_plugins.")  # what jax consists of, or uses if it is there
PURE = {
    "builtins", "__future__", "abc", "_abc", "array", "ast", "base64", "binascii", "bisect", "_bisect", "cmath",
    "collections", "_collections", "_collections_abc", "collections.abc", "contextlib", "copy", "copyreg",
    "dataclasses", "difflib", "enum", "fractions", "functools", "_functools", "graphlib", "hashlib", "_hashlib",
    "heapq", "_heapq", "itertools", "json", "json.decoder", "json.encoder", "_json", "keyword", "math", "numbers",
    "operator", "_operator", "pprint", "re", "_sre", "reprlib", "statistics", "string", "_string", "struct", "_struct",
    "textwrap", "types", "typing", "_typing", "unicodedata", "warnings", "_warnings", "zlib",
}
IMPURE_BUILTINS = {"__import__", "breakpoint", "input", "open"}
IDENTITY = {("builtins", "hash"), ("builtins", "id"), ("_operator", "is_"), ("_operator", "is_not")}
IMPURE_NUMPY = {"DataSource", "fromfile", "fromregex", "genfromtxt", "get_printoptions", "getbufsize", "geterr",
                "geterrcall", "load", "loadtxt", "memmap", "open_memmap"}
IMPURE_OURS = {"are_deterministic_algorithms_enabled", "get_default_device", "get_deterministic_debug_mode",
               "get_file_path", "get_float32_matmul_precision", "get_num_interop_threads", "get_num_threads",
               "initial_seed", "is_deterministic_algorithms_warn_only_enabled", "load", "load_file"}
OUTPUT = {"critical", "debug", "error", "exception", "fatal", "flush", "info", "log", "warn", "warning", "write",
          "writelines"}  # of loggers and files: nothing comes back

CONSTANTS = (
    bool, int, float, complex, str, bytes, type(None), type(...), type(NotImplemented), range, np.generic, np.dtype,
    np.ufunc, dtype, device, layout, memory_format, finfo, iinfo, Generator, re.Pattern,
    types.CodeType, types.GenericAlias, types.UnionType, types.GetSetDescriptorType, types.MemberDescriptorType,
    types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType, typing.TypeVar,
    operator.itemgetter, operator.attrgetter, operator.methodcaller, logging.Logger,
    type(inspect.FullArgSpec.args),  # the field of a named tuple
)
CONSTANT_PACKAGES = {"typing", "types", "fractions", "jaxlib", "jax", "__future__"}  # of the classes of other constants
CONFIGURATION = "jax._src.config"  # the module of jax's settings, whose changes are not observable
RANDOM = (random.Random, np.random.Generator, np.random.RandomState)
UNSEEN_NAMES = {"__getattribute__", "__subclasses__", "_version"}  # attributes whose values nobody hears of
WHOLE_STATE = {"__dict__", "__getstate__", "__reduce__", "__reduce_ex__"}  # by which all attributes are read
PLACE_NAMES = {"_is_view", "output_nr", "storage_offset"}  # of tensors, in memory and in the graph
VISIBLE_BASES = (bool, int, float, complex, str, bytes, dict, list, tuple, set, frozenset, collections.deque)
VISIBLE_MODULES = {"abc", "argparse", "collections", "collections.abc", "_collections_abc", "contextlib", "enum",
                   "numbers", "typing"}  # of Python classes and containers

UNKNOWN = (
    "{label} is a {kind}, whose changes a program cannot detect. Read it before the call and pass the value as an "
    "argument, or store it in a dict, a list, or an attribute of an object of your own"
)
UNSEEN = "it reads {name}, which a program cannot compare. Read it before the call, and pass it as an argument"
ITERATOR = "{label} is an iterator or draws random numbers: each use may give something else"
IMPURE_CLASS = (
    "it uses the class {name}, whose instances do not depend on their arguments alone. Create them before the call, "
    "and pass plain values as arguments"
)
IMPURE_CALL = (
    "it calls {name}, whose result may be different each time. Call it before, and pass its result as an argument"
)
LARGE_ARRAY = (
    "{label} is a NumPy array of {size} MB, too large to be compared before each run. Convert it to a tensor outside "
    "the function (torch.from_numpy): tensors are inputs of a program"
)


def is_foreign(module):
    """Whether a module, given by name, does not contain user code."""
    return type(module) is not str or module.partition(".")[0] in FOREIGN


def is_constructor_of_namedtuple(module, code):
    """Whether code is that of a class made by ``namedtuple``: it only creates a tuple."""
    return module.startswith("namedtuple_") and code.co_filename.startswith("<string>")


def is_users(cls):
    """Whether a class is defined by the user. (Classes from ``types.new_class`` claim to be defined in ``types``.)"""
    return not is_foreign(cls.__module__) or (cls.__module__ == "types" and vars(types).get(cls.__name__) is not cls)


def is_ours(module):
    """Whether a module, given by name, belongs to this package or its dependencies."""
    return type(module) is str and module.partition(".")[0] in OURS


def is_pure(module, name):
    """Whether the result of a function of a foreign module depends on its arguments only."""
    if type(module) is not str:
        return False
    package = module.partition(".")[0]
    if package in OURS:
        return name not in IMPURE_OURS
    if package == "numpy":
        return not module.startswith("numpy.random") and name not in IMPURE_NUMPY
    if package in ("logging", "_io", "io"):
        return name in OUTPUT
    return module in PURE and not (module == "builtins" and name in IMPURE_BUILTINS)


def is_constant(value):
    """Whether a value is immutable; classes count, since reads from them are noted by name."""
    kind = type(value)
    if kind is object or (issubclass(kind, CONSTANTS) and not is_users(kind)):
        return True
    if issubclass(kind, type):
        return (is_users(value) or is_pure(value.__module__, value.__name__) or issubclass(value, BaseException)
                or inspect.isabstract(value))  # it has no instances, and only serves checks
    if issubclass(kind, io.IOBase):
        return value in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
    if kind.__name__ == "_ArrayFunctionDispatcher":
        return True
    package = str(kind.__module__).partition(".")[0]
    return package in CONSTANT_PACKAGES and kind.__module__ != CONFIGURATION and not is_users(kind)


def advances(value):
    """Whether a value is a builtin iterator or a source of random numbers, which changes with each use."""
    kind = type(value)
    return issubclass(kind, RANDOM) or (hasattr(kind, "__next__") and not kind.__dictoffset__)


def has_visible_state(cls, watched, opaque):
    """Whether the whole state of an instance is in watched attributes or in a container.

    Args:
        cls: the class.
        watched: the patched classes.
        opaque: classes that override attribute access.
    """
    bases = cls.__mro__
    return any(base in watched for base in bases) and opaque.isdisjoint(bases) and all(
        base in watched or base is object or base in VISIBLE_BASES or base.__module__ in VISIBLE_MODULES
        or is_ours(base.__module__) or (is_users(base) and "__getattribute__" not in base.__dict__) for base in bases
    )
