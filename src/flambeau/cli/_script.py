"""``flambeau doctor script.py``: lists the names of torch that a program uses and Flambeau lacks."""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import inspect
import os
import sys
import textwrap
import tokenize
import types
from typing import NamedTuple

from .. import alias
from ._uses import Reader

MISSING = "{path} is missing in Flambeau"
RAISES = "{path} raises when it is called: {reason}"
PERHAPS = "{path} may be missing: tensors of Flambeau have no {name!r}, but whether this is a tensor is not known"
GUARDED = " (guarded by a condition or an except)"

# Methods that are specific to PyTorch's tensors: only these are checked on objects of unknown type.
TENSOR_METHODS = (
    "ccol_indices", "chalf", "col_indices", "crow_indices", "dequantize", "int_repr", "narrow_copy", "q_scale",
    "q_per_channel_axis", "q_per_channel_scales", "q_per_channel_zero_points", "q_zero_point", "qscheme", "row_indices",
    "resize_as_sparse_", "sspaddmm", "to_mkldnn", "to_padded_tensor", "to_sparse_bsc", "to_sparse_bsr", "to_sparse_csc",
    "to_sparse_csr",
)
NOT_READ = {*sys.stdlib_module_names, "torch", "flambeau", "numpy"}
ABSENT = object()  # the value of a missing name


class Finding(NamedTuple):
    """A missing name, and where it is used."""

    file: str
    line: int
    text: str
    is_certain: bool

    def __str__(self):
        here = os.getcwd() + os.sep
        return f"{self.file.removeprefix(here)}:{self.line}: {self.text}"


class Program:
    """A script and the modules it imports.

    Args:
        script: its path.
        libraries: whether to read the modules of libraries too, not only those next to the script.
    """

    def __init__(self, script, libraries=False):
        self.readers: dict[str, Reader] = {}  # by file
        self.unread: set[str] = set()  # libraries that were not read
        self._libraries = libraries
        self._folder = os.path.dirname(os.path.abspath(script))
        self._read(os.path.abspath(script))

    def _read(self, script):
        """Reads a file and those it imports; skips modules with syntax errors."""
        self.readers[script] = read(script)
        pending = self._imports_of(script, "")
        while pending:
            file, package = pending.pop()
            if file not in self.readers:
                with contextlib.suppress(SyntaxError):
                    self.readers[file] = read(file)
                    pending += self._imports_of(file, package)

    def _imports_of(self, file, package):
        return [found for each in self.readers[file].imports for found in self._files_of(each, package)]

    def _files_of(self, wanted, package):
        """(file, its package) of each module an import loads, including parents and submodules imported by name."""
        parts = package.split(".")[: package.count(".") + 2 - wanted.level] if wanted.level else []
        parts = [*filter(None, parts), *filter(None, wanted.module.split("."))]
        if parts and parts[0] in NOT_READ:
            return
        folders = [self._folder, *sys.path]
        for number, part in enumerate(parts):
            file, folders = _locate(part, folders)
            if file and self._is_foreign(file):
                self.unread.add(parts[0])
                return
            if file:
                yield file, ".".join(parts[: number + bool(folders)])
        for name in wanted.names:
            file, inner = _locate(name, folders) if parts or wanted.level else (None, [])
            if file:
                yield file, ".".join([*parts, name] if inner else parts)

    def _is_foreign(self, file):
        beside = file.startswith(self._folder + os.sep) and "site-packages" not in file
        return not (beside or self._libraries)

    def findings(self):
        """The missing names, in the order of files and lines."""
        defined = set().union(*(reader.defined for reader in self.readers.values()))
        found = {
            finding for file, reader in self.readers.items()
            for finding in (*_missing_names(file, reader, defined), *_missing_methods(file, reader, defined))
        }
        order = {file: number for number, file in enumerate(self.readers)}
        return sorted(found, key=lambda finding: (order[finding.file], finding.line, finding.text))

    def names(self):
        """The names of torch that the program uses."""
        return {use.path for reader in self.readers.values() for use in reader.uses}


def _locate(name, folders):
    """The file of a module found in `folders`, and the folders of its submodules."""
    for folder in folders:
        base = os.path.join(folder, name)
        if os.path.isfile(inside := os.path.join(base, "__init__.py")):
            return inside, [base]
        if os.path.isfile(base + ".py"):
            return base + ".py", []
        if os.path.isdir(base):
            return None, [base]
    return None, []


def read(file):
    """The Reader of a file."""
    with tokenize.open(file) as stream:
        return Reader(ast.parse(stream.read(), file))


def _missing_names(file, reader, defined):
    for use in reader.uses:
        path, value = look(use.path)
        if value is ABSENT and path not in defined:
            text = MISSING.format(path=path)
        elif use.is_called and (reason := raises(value)) and path == use.path:
            text = RAISES.format(path=path, reason=reason)
        else:
            continue
        yield Finding(file, use.line, text + GUARDED * use.is_guarded, not use.is_guarded)


def _missing_methods(file, reader, defined):
    tensor = look("torch.Tensor")[1]
    for name in TENSOR_METHODS:
        if name in reader.methods and name not in defined and not hasattr(tensor, name):
            yield Finding(file, reader.methods[name], PERHAPS.format(path=f".{name}", name=name), False)


@functools.cache
def look(path):
    """(path, value) of a name of torch: (the shortest missing path, ABSENT) if it does not exist.

    Attributes are resolved through modules and classes; those of other objects are only known at run time.
    """
    alias.install()
    parts = path.split(".")
    value = importlib.import_module("torch")
    for number, part in enumerate(parts[1:], 2):
        name = ".".join(parts[:number])
        if name.startswith("torch.ops.") or not isinstance(value, types.ModuleType | type):
            return name, None
        value = _member(value, part, name)
        if value is ABSENT:
            return name, ABSENT
    return path, value


def _member(owner, attribute, path):
    if hasattr(owner, attribute):
        return getattr(owner, attribute)
    try:
        return importlib.import_module(path) if isinstance(owner, types.ModuleType) else ABSENT
    except ImportError:
        return ABSENT


@functools.cache
def raises(value):
    """The message if a function or class does nothing but raise NotImplementedError when called, else ""."""
    function = value.__init__ if isinstance(value, type) else value
    if not inspect.isfunction(function) or not function.__module__.startswith(("flambeau", "torch")):
        return ""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):  # generated functions, or several on a line
        return ""
    body = [node for node in getattr(tree.body[0], "body", []) if not _is_docstring(node)]
    match body:
        case [ast.Raise(exc=ast.Call(func=ast.Name(id="NotImplementedError")))]:
            return _message(value)
    return ""


def _is_docstring(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _message(value):
    """The raised message, if the body certainly does nothing else."""
    parameters = [each for each in inspect.signature(value).parameters.values() if each.default is each.empty]
    args = [None for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    try:
        value(*args, **{each.name: None for each in parameters if each.kind == each.KEYWORD_ONLY})
    except NotImplementedError as error:
        return str(error)
    return ""
