"""Module, the base class of layers and models.

A Module is a plain object with three tables, ``_parameters``, ``_buffers`` and ``_modules``, filled by attribute
assignment. This file has the tables, the call, and ``walk``, the one traversal of a module tree. The rest is in base
classes: casts and moves in ``_moves``, state dicts in ``_state``, hooks in ``_hookable`` (registering) and ``_hooks``
(calling). Messages and summaries are in ``_report``.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self, TypeVar

from ..._tensor import Tensor
from ..parameter import Buffer, Parameter, clear_grad
from . import _hookable, _report
from ._hook_tables import WITHOUT_HOOKS, adopt_tables, own_hooks, tables_without_hooks
from ._hookable import *  # noqa: F403  (the hooks on all modules are registered from here)
from ._hookable import Hookable
from ._hooks import call_with_hooks, compile_call, registration
from ._moves import Movable
from ._state import _EXTRA_STATE_KEY_SUFFIX, Savable, _IncompatibleKeys  # noqa: F401  (libraries look for them here)

__all__ = ["Module"]
__all__ += _hookable.__all__


def walk(root, prefix="", memo=None, remove_duplicate=True):
    """(path, module) of `root` and all modules below it, parents first, each module once by default.

    A class that overrides ``named_modules`` determines its own descendants.
    """
    memo = set() if memo is None else memo
    usual = Module.named_modules
    stack = [(prefix, root)]
    while stack:
        path, module = entry = stack.pop()
        if type(module).named_modules is not usual and module is not root:
            yield from module.named_modules(memo, path, remove_duplicate)
            continue
        if remove_duplicate:
            if module in memo:
                continue
            memo.add(module)
        elif path.count(".") > sys.getrecursionlimit():
            raise RecursionError(f"the module tree contains itself: {path[:80]}...")
        yield entry
        children = module._modules
        if children:
            dot = path + "." if path else ""
            for name in reversed(children):
                if children[name] is not None:
                    stack.append((dot + name, children[name]))


class Module(Hookable, Savable, Movable):
    """Base of all layers and models.

    Assign parameters, buffers and other modules as attributes in ``__init__``, after ``super().__init__()``; define
    ``forward``; call the module like a function.

    Example::

        >>> class Net(Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.scale = Parameter(flambeau.ones(2))
        ...     def forward(self, x):
        ...         return x * self.scale
        >>> Net()(flambeau.ones(2))
        tensor([1., 1.], grad_fn=<MulBackward0>)
    """

    T_destination = TypeVar("T_destination", bound=dict[str, Any])
    dump_patches = False
    call_super_init = False
    _version = 1
    training: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            given = (f"got an unexpected keyword argument '{next(iter(kwargs))}'" if kwargs else
                     f"takes 1 positional argument but {len(args) + 1} were given")
            raise TypeError(_report.INIT_ARGUMENTS.format(cls=type(self).__name__, given=given))
        _begin(self)
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    if TYPE_CHECKING:
        forward: Callable[..., Any]  # subclasses choose the parameters
    else:

        def forward(self, *input):
            """The computation of the module. To be defined by the subclass."""
            raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    # ---- the call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if self._hook_registry is None:
                return self.forward(*args, **kwargs)
            return call_with_hooks(self, args, kwargs)
        except Exception as error:
            _report.add_module_note(self, error, args, kwargs)
            raise

    _call_impl = __call__

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compiles calls of this module, in place; takes the arguments of ``flambeau.compile``."""
        own_hooks(self).compiled = compile_call(self, *args, **kwargs)

    @property
    def _compiled_call_impl(self):
        return None if self._hook_registry is None else self._hook_registry.compiled

    # ---- attributes

    def __setattr__(self, name: str, value: Any) -> None:
        d = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" not in d:
                raise AttributeError(_report.FORGOT_INIT.format(cls=type(self).__name__, name=name, what="parameters"))
            _forget(self, name, "_buffers", "_modules")
            self.register_parameter(name, value)
        elif name in d.get("_parameters", ()):
            if value is not None:
                raise TypeError(_report.not_a(value, "parameter", name, "torch.nn.Parameter or None expected"))
            self.register_parameter(name, None)
        elif isinstance(value, Module):
            if "_modules" not in d:
                raise AttributeError(_report.FORGOT_INIT.format(cls=type(self).__name__, name=name, what="module"))
            _forget(self, name, "_parameters", "_buffers")
            d["_modules"][name] = _run_registration_hooks("module", self, name, value)
        elif name in d.get("_modules", ()):
            if value is not None:
                raise TypeError(_report.not_a(value, "child module", name, "torch.nn.Module or None expected"))
            d["_modules"][name] = _run_registration_hooks("module", self, name, None)
        elif isinstance(value, Tensor) and isinstance(value, Buffer):
            self.register_buffer(name, value, value.persistent)
        elif name in d.get("_buffers", ()):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(_report.not_a(value, "buffer", name, "torch.nn.Buffer, torch.Tensor or None expected"))
            d["_buffers"][name] = _run_registration_hooks("buffer", self, name, value)
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        d = self.__dict__
        if "_parameters" in d:
            for entries in (d["_parameters"], d["_buffers"], d["_modules"]):
                if name in entries:
                    return entries[name]
        attribute = getattr(type(self), name, None)
        if isinstance(attribute, (property, functools.cached_property)):
            return attribute.__get__(self, type(self))  # its own AttributeError is the one to show
        raise AttributeError(_report.no_attribute(self, name), name=name, obj=self)

    def __delattr__(self, name):
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            object.__delattr__(self, name)

    def __dir__(self):
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers}
        return sorted(name for name in names if not name[:1].isdigit())

    def __getstate__(self):
        d = self.__dict__  # a copy, since subclasses may remove entries
        return d.copy() if "_hook_registry" in d else d | tables_without_hooks()

    def __setstate__(self, state):
        _begin(self)
        self.__dict__.update(state)
        if not state.keys().isdisjoint(WITHOUT_HOOKS):
            adopt_tables(self)

    # ---- registration

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter (or None as a placeholder) under `name`."""
        table = _report.table_for(self, "_parameters", name, "parameter")
        if param is None:
            table[name] = None
            return
        if not isinstance(param, Parameter):
            raise TypeError(_report.not_registered(param, "parameter", name, "torch.nn.Parameter or None required"))
        if param.grad_fn is not None:
            raise ValueError(_report.NOT_A_LEAF.format(name=name))
        table[name] = _run_registration_hooks("parameter", self, name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a buffer: state that is not a parameter. It is saved in the state_dict if ``persistent``."""
        table = _report.table_for(self, "_buffers", name, "buffer")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(_report.not_registered(tensor, "buffer", name, "torch Tensor or None required"))
        table[name] = _run_registration_hooks("buffer", self, name, tensor)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a child module (or None as a placeholder) under `name`."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(_report.no_module(module))
        table = _report.table_for(self, "_modules", name, "module")
        table[name] = _run_registration_hooks("module", self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Alias of ``add_module``."""
        self.add_module(name, module)

    # ---- going over the tree

    def named_modules(self, memo: set[Module] | None = None, prefix: str = "",
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """(path, module) of this module and all its descendants."""
        return walk(self, prefix, memo, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all its descendants, each once."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """(name, module) of the direct children, each once."""
        memo = set()
        for name, module in self._modules.items():
            if module is not None and module not in memo:
                memo.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The direct children, each once."""
        for _, module in self.named_children():
            yield module

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        """(path, tensor) of what `get_members_fn` lists of each module, each once, without None."""
        memo = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            members = get_members_fn(module)
            if not members:
                continue
            dot = path + "." if path else ""
            for name, value in members:
                if value is None or value in memo:
                    continue
                if remove_duplicate:
                    memo.add(value)
                yield dot + name, value

    def named_parameters(self, prefix: str = "", recurse: bool = True,
                         remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        """(path, parameter) of this module and, with ``recurse``, of all its descendants."""
        _report.warn_of_plain_collections(self)
        return self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once, as for an optimizer."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(self, prefix: str = "", recurse: bool = True,
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """(path, buffer) of this module and, with ``recurse``, of all its descendants."""
        return self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    # ---- by path

    def get_submodule(self, target: str) -> Module:
        """The module at a path such as ``"encoder.layers.3"``; ``""`` is this module."""
        module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Replaces the module at a path; with ``strict`` it must exist."""
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a path such as ``"encoder.layers.3.weight"``."""
        _, name, value = _member(self, target)
        if not isinstance(value, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return value

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path such as ``"norm.running_mean"``."""
        module, name, value = _member(self, target)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return value

    # ---- changing everything

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Calls ``fn`` on every module of the tree, children before parents; returns this module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Sets training mode (or, ``train(False)``, evaluation mode) for this module and all its descendants."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Sets evaluation mode."""
        return self.train(False)

    @contextlib.contextmanager
    def evaluating(self):
        """A context in evaluation mode; on exit every module returns to its previous mode."""
        before = [(module, module.training) for module in self.modules()]
        self.eval()
        try:
            yield self
        finally:
            for module, mode in before:
                module.training = mode

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Sets ``requires_grad`` of all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clears the gradients of all parameters: to None, or to zeros."""
        for parameter in self.parameters():
            clear_grad(parameter, set_to_none)

    # ---- showing

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self) -> str:
        """Additional text for the module's ``repr``."""
        return ""

    def __repr__(self) -> str:
        return _report.module_repr(self, _report.format_module)

    def summary(self, *args, **kwargs):
        """Runs the module once on sample inputs, in evaluation mode, and prints a table of its modules.

        Also returns the table as text: path, type, output shape, parameters, dependence on the mode.
        """
        return _report.summary(self, args, kwargs)


_report.formats[Module.__repr__] = _report.format_module


# ---- what the methods share: functions, so that a subclass cannot have a method of the same name by accident


def _begin(module):
    """Creates a module's empty tables."""
    d = module.__dict__
    d.pop("_hook_registry", None)
    d.update(training=True, _parameters={}, _buffers={}, _non_persistent_buffers_set=set())
    d.update(WITHOUT_HOOKS)
    d["_modules"] = {}


def __getattr__(name):
    if name.startswith("_global_"):
        with contextlib.suppress(KeyError):
            return _hookable.global_table(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _forget(module, name, *tables):
    """Removes a name from its table or from the attributes before it is registered."""
    d = module.__dict__
    d.pop(name, None)
    for table in tables:
        d.get(table, {}).pop(name, None)
    d.get("_non_persistent_buffers_set", set()).discard(name)


def _run_registration_hooks(kind, module, name, value):
    """Runs the global registration hooks, each of which may replace `value`."""
    for hook in list(registration[kind].values()):
        got = hook(module, name, value)
        if got is not None:
            value = got
    return value


def _member(root, target):
    """(module, name, value) of the attribute at a path."""
    path, _, name = target.rpartition(".")
    module = root.get_submodule(path)
    if not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    return module, name, getattr(module, name)
