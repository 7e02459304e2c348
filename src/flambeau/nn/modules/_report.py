"""What modules say: messages, the repr, and summaries."""

from __future__ import annotations

import warnings
import weakref

from ..._dtypes import from_np
from ..._modes import no_grad
from ..._tensor import Tensor
from ..parameter import Parameter, is_lazy

FORGOT_INIT = """\
cannot assign {what} before Module.__init__() call: {cls} assigns {name!r} before Module.__init__() has run.
Call super().__init__() first:

    class {cls}(nn.Module):
        def __init__(self, ...):
            super().__init__()
            self.{name} = ...
"""
NOT_INITIALISED = ". Module.__init__() has not run: call super().__init__() first in {cls}.__init__()"
IN_PLAIN = (
    "{cls}.{name} is a plain {kind} that holds {what}. They are not registered: parameters(), state_dict() and to() do "
    "not see them. Use self.{name} = nn.{cure} instead."
)
PLAIN = (list, tuple, dict)

_seen_plain: set[tuple[type, str]] = set()
_scanned = weakref.WeakSet()


# ---- attributes


def not_a(value, what, name, wanted):
    return f"cannot assign '{_type_name(value)}' as {what} '{name}' ({wanted})"


def _type_name(value):
    kind = type(value)
    if isinstance(value, Tensor):
        return f"torch.{from_np(value._a.dtype).name.capitalize()}Tensor"
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def table_for(module, table, name, what):
    """The table in which `name` may be registered; the errors of a bad name otherwise."""
    entries = module.__dict__.get(table)
    if entries is None:
        raise AttributeError(FORGOT_INIT.format(cls=type(module).__name__, name=name, what=what))
    if not isinstance(name, str):
        raise TypeError(f"{what} name should be a string. Got {_type_name(name)}")
    if "." in name:
        raise KeyError(f'{what} name can\'t contain ".", got: {name}')
    if name == "":
        raise KeyError(f'{what} name can\'t be empty string ""')
    if name not in entries and hasattr(module, name):
        raise KeyError(f"attribute '{name}' already exists")
    return entries


def warn_of_plain(module, name, value):
    """Warns, once a class and name, that modules or parameters in a plain collection are not registered."""
    from .module import Module

    items = list(value.values()) if isinstance(value, dict) else value
    held = [v for v in items if isinstance(v, Module | Parameter)]
    if not held or (type(module), name) in _seen_plain:
        return
    _seen_plain.add((type(module), name))
    modules = isinstance(held[0], Module)
    stem = "Module" if modules else "Parameter"
    cure = f"{stem}Dict({{...}})" if isinstance(value, dict) else f"{stem}List([...])"
    warnings.warn(IN_PLAIN.format(cls=type(module).__name__, name=name, kind=type(value).__name__, cure=cure,
                                  what="modules" if modules else "parameters"), UserWarning, stacklevel=4)


def warn_of_late_lists(root):
    """The same for collections that were filled after they were assigned; looked for once a module."""
    if root in _scanned:
        return
    _scanned.add(root)
    for module in root.modules():
        for name, value in list(module.__dict__.items()):
            if type(value) in PLAIN and name[0] != "_":
                warn_of_plain(module, name, value)


# ---- errors


def tell_module(module, error, args, kwargs):
    """Notes on an error that leaves a module: the path to it, its repr, and what it was given.

    The innermost module writes the note; each module around it puts its own part of the path in front.
    """
    where = error.__dict__.get("_flambeau_module")
    if where is None:
        inner, path = module, ""
        said = f"{_one_line(module)}: got {_described(args, kwargs)}"
    else:
        inner, path, said, note = where
        step = _step(module, inner)
        path = ".".join(p for p in (step, path) if p)
        error.__notes__.remove(note)
    note = f"in {type(module).__name__}{'.' + path if path else ''} = {said}"
    error.add_note(note)
    error._flambeau_module = (module, path, said, note)


def _step(module, inner):
    """The path from a module to one below it; its type where it is not registered."""
    for path, child in module.named_modules():
        if child is inner and path:
            return path
    return "" if inner is module else f"<{type(inner).__name__}>"


def _one_line(module):
    text = repr(module)
    return text if "\n" not in text else f"{type(module).__name__}(...)"


def _described(args, kwargs):
    given = [describe(a) for a in args] + [f"{k}={describe(v)}" for k, v in kwargs.items()]
    return "input " + ", ".join(given) if given else "no input"


def describe(value):
    """float32[2, 3] for a tensor, the like for collections of them, the type for the rest."""
    if isinstance(value, Tensor):
        return "uninitialized" if is_lazy(value) else f"{from_np(value._a.dtype).name}{list(value._a.shape)}"
    if isinstance(value, tuple | list) and len(value) <= 4:
        open_, close = "()" if isinstance(value, tuple) else "[]"
        return open_ + ", ".join(describe(v) for v in value) + close
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    return type(value).__name__


# ---- repr


def module_repr(module):
    extra = module.extra_repr()
    lines = extra.split("\n") if extra else []
    children = [f"({name}): {_indented(repr(child))}" for name, child in module._modules.items()]
    if len(lines) == 1 and not children:
        return f"{module._get_name()}({lines[0]})"
    body = "".join(f"\n  {line}" for line in lines + children)
    return f"{module._get_name()}({body}\n)" if body else f"{module._get_name()}()"


def _indented(text):
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
    """Whether the module's own forward asks for the mode."""
    forward = getattr(type(module), "forward", None)
    names = getattr(getattr(forward, "__code__", None), "co_names", ())
    return "training" in names
