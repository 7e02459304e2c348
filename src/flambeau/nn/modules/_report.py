"""Module messages: errors and warnings, the repr, summaries."""

from __future__ import annotations

import contextlib
import sys
import warnings
import weakref
from collections.abc import Callable
from itertools import groupby
from typing import NamedTuple

from ..._dtypes import from_np
from ..._modes import no_grad
from ..._tensor import Tensor
from ...functions.legacy import typename
from ..parameter import Parameter, is_lazy

FORGOT_INIT = """\
cannot assign {what} before Module.__init__() call: {cls} assigns {name!r} before Module.__init__() has run.
Call super().__init__() first:

    class {cls}(nn.Module):
        def __init__(self, ...):
            super().__init__()
            self.{name} = ...
"""
INIT_ARGUMENTS = "{cls}.__init__() {given}: Module.__init__() takes none, and {cls} passes them on to it"
NOT_INITIALISED = ". Module.__init__() has not run: call super().__init__() first in {cls}.__init__()"
NOT_A_LEAF = (
    "Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To express this "
    "as a computed value, compute it in forward()."
)
IN_PLAIN = (
    "{path}.{name} is a plain {kind} that holds {what}. They are not registered: parameters(), state_dict() and to() "
    "do not see them. Write self.{name} = nn.{cure} instead (or, to leave them out on purpose, self._{name})."
)
PLAIN = (list, tuple, dict)
LONG = 500  # the maximal length of a repr, or of a list of arguments, in a note

SCRIPTED = {"code", "graph", "inlined_graph", "save", "save_to_buffer"}
NOT_SCRIPTED = (
    ", which only scripted modules have: here torch.jit.script and trace return modules unchanged. Keep the Python "
    "code, and save the weights: torch.save(model.state_dict(), path)."
)
_warned: set[tuple[type, str]] = set()
_looked_at: weakref.WeakValueDictionary = weakref.WeakValueDictionary()  # by id: modules may override __eq__


# ---- attributes


def not_a(value, what, name, wanted):
    """The message for an invalid value assigned to an attribute."""
    return f"cannot assign '{type_name(value)}' as {what} '{name}' ({wanted})"


def not_registered(value, what, name, wanted):
    """The message for an invalid value passed to a register method."""
    return f"cannot assign '{type_name(value)}' object to {what} '{name}' ({wanted})"


def type_name(value):
    """The type of a value as in PyTorch's messages; for a class or a function, its own name."""
    return typename(type(value) if is_lazy(value) else value)


def no_module(value):
    """The message for a child that is not a module."""
    message = f"{type_name(value)} is not a Module subclass"
    if isinstance(value, type):
        return f"{message}: it is a class itself. Make a module of it: {value.__name__}(...)"
    return f"{message}. Let the forward of a Module call it" if callable(value) else message


def no_attribute(module, name):
    cls = type(module).__name__
    message = f"'{cls}' object has no attribute '{name}'"
    if name in SCRIPTED:
        message += NOT_SCRIPTED
    return message if "_parameters" in module.__dict__ else message + NOT_INITIALISED.format(cls=cls)


def table_for(module, table, name, what):
    """The table to register `name` in; raises for an invalid name."""
    entries = module.__dict__.get(table)
    if entries is None:
        raise AttributeError(FORGOT_INIT.format(cls=type(module).__name__, name=name, what=what))
    if not isinstance(name, str):
        raise TypeError(f"{what} name should be a string. Got {type_name(name)}")
    if "." in name:
        raise KeyError(f'{what} name can\'t contain ".", got: {name}')
    if name == "":
        raise KeyError(f'{what} name can\'t be empty string ""')
    if name not in entries and hasattr(module, name):
        raise KeyError(f"attribute '{name}' already exists")
    return entries


def warn_of_plain_collections(root):
    """Warns of modules and parameters that are only in plain collections, and so are not registered.

    A module tree is checked once, on the first access to its parameters: by then lists are filled, and entries that
    are in a list *and* registered are known.
    """
    if id(root) in _looked_at:
        return
    _looked_at[id(root)] = root
    try:
        modules = list(root.named_modules())
    except TypeError:  # one of them is unhashable, as dataclasses are by default
        return
    found = [(path, module, name, held) for path, module in modules
             for name, value in module.__dict__.items() if type(value) in PLAIN and name[:1] != "_"
             if (held := _entries_of(value))]
    if not found:
        return
    registered = {id(entry) for _, module in modules for entry in (module, *module._parameters.values())}
    for path, module, name, held in found:
        if (type(module), name) not in _warned and any(id(entry) not in registered for entry in held):
            _warned.add((type(module), name))
            warnings.warn(_in_plain(root, path, module, name, held[0]), UserWarning, stacklevel=_users_frame())


def _entries_of(collection):
    from .module import Module

    values = collection.values() if type(collection) is dict else collection
    return [v for v in values if isinstance(v, Parameter) or (isinstance(v, Module) and _has_state(v))]


def _has_state(module):
    """Whether a module that is not registered is a bug: a ReLU is not, but a Dropout has a mode."""
    return any(_depends_on_mode(m) or any(t is not None for t in (*m._parameters.values(), *m._buffers.values()))
               for m in module.modules())


def _in_plain(root, path, module, name, held):
    value = module.__dict__[name]
    stem = "Parameter" if isinstance(held, Parameter) else "Module"
    cure = f"{stem}Dict({{...}})" if type(value) is dict else f"{stem}List([...])"
    return IN_PLAIN.format(path=_join(type(root).__name__, path), name=name, kind=type(value).__name__, cure=cure,
                           what=stem.lower() + "s")


def _users_frame():
    """The stack level of the first frame outside this package, seen from the caller."""
    package = __name__.partition(".")[0] + "."
    frame, level = sys._getframe(1), 1
    while frame is not None and frame.f_globals.get("__name__", "").startswith(package):
        frame, level = frame.f_back, level + 1
    return level


def _join(*parts):
    return ".".join(part for part in parts if part)


# ---- errors


class _Location(NamedTuple):
    """Where an error was raised and how far it has propagated. It keeps no module alive and is not pickled."""

    first: Callable = lambda: None  # weak references: the module that failed, and the last one that was left
    last: Callable = lambda: None
    path: str = ""
    said: str = ""
    note: str | None = None

    def __reduce__(self):
        return _Location, ()


def add_module_note(module, error, args, kwargs):
    """Adds a note to an error that leaves a module: the module's path, its repr, and its inputs.

    The innermost module writes the note; each enclosing module prepends its part of the path.
    """
    with contextlib.suppress(Exception):  # some exceptions accept no notes; they must not be replaced by another error
        location = error.__dict__.get("_flambeau_module", _Location())
        inner = location.last()
        if inner is None or (location.first() is module is not inner):  # newly raised, or raised again
            first, path = weakref.ref(module), ""
            said = f"{_one_line(module)}: got {_describe(args, kwargs)}{_devices(module, args, kwargs)}"
        else:
            first, path, said = location.first, _join(_step(module, inner), location.path), location.said
        if location.note is not None and location.note in error.__notes__:
            error.__notes__.remove(location.note)
        note = f"in {_join(type(module).__name__, path)} = {said}"
        error.add_note(note)
        error._flambeau_module = _Location(first, weakref.ref(module), path, said, note)


def _step(module, inner):
    """The path from a module to one that it called; its type if it is not registered."""
    if inner is module:
        return ""
    for path, child in module.named_modules():
        if child is inner and path:
            return path
    return f"<{type(inner).__name__}>"


def _one_line(module):
    """The repr of a module without its children; robust against errors in it."""
    try:
        text = "\n" if module._modules else repr(module)
    except Exception:
        text = "\n"
    return f"{type(module).__name__}(...)" if "\n" in text or len(text) > LONG else text


def _describe(args, kwargs):
    given = [describe(a) for a in args] + [f"{k}={describe(v)}" for k, v in kwargs.items()]
    text = ", ".join(given)
    if len(text) > LONG:
        text = f"{text[:LONG]}... ({len(given)} arguments)"
    return f"input {text}" if given else "no input"


def _devices(module, args, kwargs):
    """Inputs, parameters and buffers by device, if there is more than one device."""
    tensors = [("input", value) for value in (*args, *kwargs.values())]
    tensors += [*module._parameters.items(), *module._buffers.items()]
    names: dict = {}  # by device, each name once
    for name, t in tensors:
        if isinstance(t, Tensor):
            names.setdefault(t.device, {})[name] = None
    return "; " + ", ".join([f"{', '.join(of)} on {device}" for device, of in names.items()]) if len(names) > 1 else ""


def describe(value):
    """Describes a value: float32[2, 3] for a tensor, collections of these, the type of other values."""
    if isinstance(value, Tensor):
        return "uninitialized" if is_lazy(value) else f"{from_np(value._a.dtype).name}{list(value._a.shape)}"
    if isinstance(value, (tuple, list)) and len(value) <= 4:
        open_, close = "()" if isinstance(value, tuple) else "[]"
        return open_ + ", ".join(describe(v) for v in value) + close
    if isinstance(value, dict) and len(value) <= 4:
        return "{" + ", ".join(f"{k!r}: {describe(v)}" for k, v in value.items()) + "}"
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    return type(value).__name__


# ---- repr


formats: dict = {}  # {a __repr__ of modules: its function of a module and {id: text} of the modules in it}


def module_repr(root, format):
    """The ``repr`` of a module by `format`, built from the innermost modules outwards, as nesting may be deep."""
    texts, stack, ancestors = {}, [(root, format, False)], set()
    while stack:
        module, format, children_known = stack.pop()
        if children_known:
            texts[id(module)] = format(module, texts)
            ancestors.remove(id(module))
        elif id(module) in ancestors:
            raise RecursionError(f"a {type(module).__name__} contains itself")
        elif format is None:
            texts[id(module)] = repr(module)
        elif id(module) not in texts:
            ancestors.add(id(module))
            stack.append((module, format, True))
            stack.extend([(m, formats.get(type(m).__repr__), False) for m in module._modules.values()])
    return texts[id(root)]


def format_module(module, texts):
    extra = module.extra_repr()
    lines = extra.split("\n") if extra else []
    children = [f"({name}): {indent(texts[id(child)])}" for name, child in module._modules.items()]
    if len(lines) == 1 and not children:
        return f"{module._get_name()}({lines[0]})"
    body = "".join(f"\n  {line}" for line in lines + children)
    return f"{module._get_name()}({body}\n)" if body else f"{module._get_name()}()"


def format_list(module, texts):
    """Joins equal neighbours: ``(0-3): 4 x Linear(...)``."""
    lines, first = [], 0
    for text, run in groupby(texts[id(child)] if id(child) in texts else repr(child) for child in module):
        count = len(list(run))
        label = f"({first}): " if count == 1 else f"({first}-{first + count - 1}): {count} x "
        lines.append("\n  " + indent(label + text))
        first += count
    return f"{module._get_name()}({''.join(lines)}\n)" if lines else f"{module._get_name()}()"


def indent(text):
    return text.replace("\n", "\n  ")


# ---- summary


def summary(module, args, kwargs):
    """A table of the modules, from one run in evaluation mode without gradients."""
    paths = {child: path or type(module).__name__ for path, child in module.named_modules()}
    shapes, handles = {}, []

    def note(child, inputs, output):
        shapes[child] = describe(output)

    try:
        handles.extend(child.register_forward_hook(note) for child in paths)
        with module.evaluating(), no_grad():
            module(*args, **kwargs)
    finally:
        for handle in handles:
            handle.remove()
    rows = [("path", "type", "output", "parameters", "mode")]
    for child, path in paths.items():
        count = sum(p.numel() for p in child._parameters.values() if p is not None)
        rows.append((path, type(child).__name__, shapes.get(child, "not called"), f"{count:,}" if count else "",
                     "differs in training" if _depends_on_mode(child) else ""))
    total = sum(p.numel() for p in module.parameters())
    trained = sum(p.numel() for p in module.parameters() if p.requires_grad)
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    text = "\n".join([*lines, f"parameters: {total:,}, of which trained: {trained:,}"])
    print(text)
    return text


def _depends_on_mode(module):
    """Whether the module's own forward depends on the mode."""
    forward = getattr(type(module), "forward", None)
    names = getattr(getattr(forward, "__code__", None), "co_names", ())
    return "training" in names
