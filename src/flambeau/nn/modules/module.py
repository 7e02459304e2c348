"""Module: the base of everything that has parameters.

A Module is a plain object with three tables, ``_parameters``, ``_buffers`` and ``_modules``, that assignment fills.
Everything that goes over a tree of modules does so by one traversal, ``walk``. Hooks live in one registry that a
module without hooks does not have. Saving and loading is in ``_state``, calling with hooks in ``_hooks``, messages
and summaries in ``_report``.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

from ... import _dtypes
from ..._hooks import add_hook
from ..._modes import no_grad
from ..._tensor import Tensor
from ...functions.convert import converted
from ...functions.creation import empty_like
from ..parameter import Buffer, Parameter, clear_grad, is_lazy
from . import _report, _state
from ._hooks import Hooks, as_hook, call_with_hooks, everywhere, registration
from ._moves import parse_to


def walk(root, prefix="", memo=None, remove_duplicate=True):
    """(path, module) of `root` and all modules below it, parents first, each module once unless told otherwise."""
    memo = set() if memo is None else memo
    stack = [(prefix, root)]
    while stack:
        path, module = entry = stack.pop()
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


class Module:
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

    dump_patches = False
    call_super_init = False
    _version = 1
    training: bool
    _hook_registry: Hooks | None = None  # of the class: not None once there are hooks on all modules

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            given = f"the keyword argument '{next(iter(kwargs))}'" if kwargs else f"{len(args)} positional arguments"
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
            _report.tell_module(self, error, args, kwargs)
            raise

    _call_impl = __call__

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compiles calls of this module, in place; takes the arguments of ``flambeau.compile``."""
        from ...compiler import compiled_call

        own_hooks(self).compiled = compiled_call(self, *args, **kwargs)

    # ---- attributes

    def __setattr__(self, name: str, value: Any) -> None:
        d = self.__dict__
        if isinstance(value, Parameter):
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
            d["_modules"][name] = _registered("module", self, name, value)
        elif name in d.get("_modules", ()):
            if value is not None:
                raise TypeError(_report.not_a(value, "child module", name, "torch.nn.Module or None expected"))
            d["_modules"][name] = _registered("module", self, name, None)
        elif isinstance(value, Tensor) and isinstance(value, Buffer):
            self.register_buffer(name, value, value.persistent)
        elif name in d.get("_buffers", ()):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(_report.not_a(value, "buffer", name, "torch.nn.Buffer, torch.Tensor or None expected"))
            d["_buffers"][name] = _registered("buffer", self, name, value)
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        d = self.__dict__
        if "_parameters" in d:
            for entries in (d["_parameters"], d["_buffers"], d["_modules"]):
                if name in entries:
                    return entries[name]
        attribute = getattr(type(self), name, None)
        if isinstance(attribute, property | functools.cached_property):
            return attribute.__get__(self, type(self))  # it raised an AttributeError of its own: let that be seen
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
        return self.__dict__.copy()  # a subclass may take away from it what it does not want to have pickled

    def __setstate__(self, state):
        _begin(self)
        self.__dict__.update(state)

    # ---- registration

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter (or None, a place for one) under `name`."""
        table = _report.table_for(self, "_parameters", name, "parameter")
        if param is None:
            table[name] = None
            return
        if not isinstance(param, Parameter):
            raise TypeError(_report.not_a(param, "parameter", name, "torch.nn.Parameter or None required"))
        if param.grad_fn is not None:
            raise ValueError(_report.NOT_A_LEAF.format(name=name))
        table[name] = _registered("parameter", self, name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a buffer: state that is not a parameter. It is saved in the state_dict if ``persistent``."""
        table = _report.table_for(self, "_buffers", name, "buffer")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(_report.not_a(tensor, "buffer", name, "torch Tensor or None required"))
        table[name] = _registered("buffer", self, name, tensor)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a child module (or None, a place for one) under `name`."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{_report.type_name(module)} is not a Module subclass")
        table = _report.table_for(self, "_modules", name, "module")
        table[name] = _registered("module", self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """The same as ``add_module``."""
        self.add_module(name, module)

    # ---- going over the tree

    def named_modules(self, memo: set[Module] | None = None, prefix: str = "",
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """(path, module) of this module and all below it."""
        return walk(self, prefix, memo, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all below it, each once."""
        for _, module in walk(self, remove_duplicate=remove_duplicate):
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
        memo = set()
        for module in self._modules.values():
            if module is not None and module not in memo:
                memo.add(module)
                yield module

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        """(path, tensor) of what `get_members_fn` lists of each module, each once, without None."""
        memo = set()
        for path, module in walk(self, prefix, None, remove_duplicate) if recurse else [(prefix, self)]:
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
        """(path, parameter) of this module and, with ``recurse``, of all below it."""
        _report.warn_of_plain_collections(self)
        return self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once: what an optimizer is given."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(self, prefix: str = "", recurse: bool = True,
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """(path, buffer) of this module and, with ``recurse``, of all below it."""
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
        """Puts `module` at a path; with ``strict`` there must be one already."""
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

    def _apply(self, fn, recurse=True):
        """Replaces every parameter, gradient and buffer by ``fn`` of it; parameters stay the same objects."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        if self._parameters:
            with no_grad():
                for parameter in self._parameters.values():
                    if parameter is not None:
                        _replace(parameter, fn)
                        if parameter._grad is not None:
                            _replace(parameter._grad, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def float(self) -> Self:
        """Casts floating parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Self:
        """Casts floating parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self) -> Self:
        """Casts floating parameters and buffers to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self) -> Self:
        """Casts floating parameters and buffers to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def type(self, dst_type: Any) -> Self:
        """Casts all parameters and buffers to ``dst_type``."""
        return self._apply(lambda t: t.type(dst_type))

    def cpu(self) -> Self:
        """Moves parameters and buffers to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Moves parameters and buffers to a GPU."""
        return self._apply(lambda t: t.cuda(device))

    def xpu(self, device=None):
        """Moves parameters and buffers to an XPU."""
        return self._apply(lambda t: t.to(_on("xpu", device)))

    def ipu(self, device=None):
        """Moves parameters and buffers to an IPU."""
        return self._apply(lambda t: t.to(_on("ipu", device)))

    def mtia(self, device=None):
        """Moves parameters and buffers to an MTIA device."""
        return self._apply(lambda t: t.to(_on("mtia", device)))

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Moves and casts parameters and buffers; of a dtype, only floating and complex ones.

        Call it as ``to(device)``, ``to(dtype)``, ``to(device, dtype)``, ``to(tensor)`` or ``to(memory_format=...)``.
        The module itself is changed, and returned.
        """
        device, dtype, memory_format = parse_to(args, kwargs)
        if dtype is not None and dtype.category < _dtypes.FLOAT:
            raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got dtype={dtype}")

        def convert(t):
            wanted = dtype if t.dtype.category >= _dtypes.FLOAT else None
            if is_lazy(t):
                return t.to(device, wanted)
            return converted(t, device, wanted, memory_format=memory_format if t.dim() in (4, 5) else None)

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Moves parameters and buffers to a device without their values."""
        return self._apply(lambda t: empty_like(t, device=device), recurse=recurse)

    def share_memory(self):
        """Moves parameters and buffers into shared memory."""
        return self._apply(lambda t: t.share_memory_())

    def train(self, mode: bool = True) -> Self:
        """Sets training mode (or, ``train(False)``, evaluation mode) for this module and all below it."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.__dict__["training"] = mode
        for module in self._modules.values():
            if module is not None:
                module.train(mode)
        return self

    def eval(self) -> Self:
        """Sets evaluation mode."""
        return self.train(False)

    @contextlib.contextmanager
    def evaluating(self):
        """Evaluation mode inside; afterwards every module is back in the mode that it was in itself."""
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

    # ---- saving and loading

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "",
                   keep_vars: bool = False) -> dict[str, Any]:
        """All parameters and persistent buffers by path. They share memory with the module; see ``snapshot``."""
        if args:
            warnings.warn("Positional args are being deprecated, use kwargs instead.", FutureWarning, stacklevel=2)
            given = [destination, prefix, keep_vars]
            given[:len(args)] = args
            destination, prefix, keep_vars = given
        if destination is None:
            _report.warn_of_plain_collections(self)
            destination = _state.empty_state_dict()
        return _save(self, destination, getattr(destination, "_metadata", None), prefix, keep_vars)

    def snapshot(self) -> dict[str, Any]:
        """A ``state_dict`` with memory of its own: later training does not change it."""
        return _state.snapshot(self)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        """Adds the parameters, persistent buffers and extra state of this module alone."""
        for name, parameter in self._parameters.items():
            if parameter is not None:
                destination[prefix + name] = parameter if keep_vars else parameter.detach()
        buffers = self._buffers
        if buffers:
            transient = self._non_persistent_buffers_set
            for name, buffer in buffers.items():
                if buffer is not None and name not in transient:
                    destination[prefix + name] = buffer if keep_vars else buffer.detach()
        if type(self).get_extra_state is not Module.get_extra_state:
            destination[prefix + _state.EXTRA] = self.get_extra_state()

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copies parameters and buffers from a state dict (or, ``assign=True``, takes its tensors).

        Returns the missing and unexpected keys; with ``strict`` there may be none.
        """
        return _state.load_state_dict(self, state_dict, strict, assign)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                              error_msgs):
        """Loads the parameters, persistent buffers and extra state of this module alone."""
        _state.load_own(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)

    get_extra_state = _state.get_extra_state
    set_extra_state = _state.set_extra_state

    # ---- hooks

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Calls ``hook(module, args)`` before ``forward``; what it returns replaces the arguments."""
        return own_hooks(self).add("forward_pre", as_hook(hook, with_kwargs=with_kwargs), prepend)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Calls ``hook(module, args, output)`` after ``forward``; what it returns replaces the output."""
        return own_hooks(self).add("forward", as_hook(hook, with_kwargs=with_kwargs, always=always_call), prepend)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Calls ``hook(module, grad_output)`` when the gradients of the outputs are there."""
        return own_hooks(self).add("backward_pre", hook, prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Calls ``hook(module, grad_input, grad_output)`` when the gradients of the inputs are there."""
        return own_hooks(self).add_backward(hook, full=True, prepend=prepend)

    def register_backward_hook(self, hook):
        """The old backward hook, which sees the last operation only. Use ``register_full_backward_hook``."""
        return own_hooks(self).add_backward(hook, full=False)

    def register_state_dict_pre_hook(self, hook):
        """Calls ``hook(module, prefix, keep_vars)`` before ``state_dict`` reads this module."""
        return own_hooks(self).add("state_dict_pre", hook)

    def register_state_dict_post_hook(self, hook):
        """Calls ``hook(module, state_dict, prefix, local_metadata)`` after ``state_dict`` read this module."""
        return own_hooks(self).add("state_dict", hook)

    def _register_state_dict_hook(self, hook):
        return own_hooks(self).add("state_dict", as_hook(hook, may_replace=True))

    def register_load_state_dict_pre_hook(self, hook):
        """Calls ``hook(module, state_dict, prefix, ...)`` before this module is loaded."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return own_hooks(self).add("load_pre", as_hook(hook, with_module=with_module))

    def register_load_state_dict_post_hook(self, hook):
        """Calls ``hook(module, incompatible_keys)`` after this module was loaded."""
        return own_hooks(self).add("load", hook)

    @property
    def _is_full_backward_hook(self):
        return None if self._hook_registry is None else self._hook_registry.full

    # ---- showing

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self) -> str:
        """What the module wants to say of itself in its ``repr``."""
        return ""

    def __repr__(self) -> str:
        return _report.module_repr(self)

    def summary(self, *args, **kwargs):
        """Runs the module once on sample inputs, in evaluation mode, and prints what each module does.

        Returns the table as text too: path, type, output shape, parameters, and what depends on the mode.
        """
        return _report.summary(self, args, kwargs)


def _hook_table(kind):
    """PyTorch's name for the hooks of one kind: a dict by handle id, that may be changed."""

    def table(self):
        return getattr(own_hooks(self), kind)

    def replace(self, hooks):
        held = table(self)
        held.clear()
        held.update(hooks)

    return property(table, replace, doc=f"The {kind} hooks, by handle id.")


for _name, _kind in {
    "_forward_pre_hooks": "forward_pre", "_forward_hooks": "forward", "_backward_pre_hooks": "backward_pre",
    "_backward_hooks": "backward", "_state_dict_pre_hooks": "state_dict_pre", "_state_dict_hooks": "state_dict",
    "_load_state_dict_pre_hooks": "load_pre", "_load_state_dict_post_hooks": "load",
}.items():
    setattr(Module, _name, _hook_table(_kind))


def own_hooks(module):
    """The registry of a module, made now if it has none."""
    if "_hook_registry" not in module.__dict__:
        if "_modules" not in module.__dict__:
            raise AttributeError(_report.no_attribute(module, "_hook_registry"))
        module.__dict__["_hook_registry"] = Hooks()
    return module.__dict__["_hook_registry"]


# ---- what the methods share: functions, so that a subclass cannot have a method of the same name by accident


def _begin(module):
    """Gives a module its tables, empty."""
    module.__dict__.pop("_hook_registry", None)
    module.__dict__.update(
        training=True, _parameters={}, _buffers={}, _non_persistent_buffers_set=set(), _modules={}
    )


def _forget(module, name, *tables):
    """Removes a name from where it is, before it is registered elsewhere."""
    d = module.__dict__
    d.pop(name, None)
    for table in tables:
        d.get(table, {}).pop(name, None)
    d.get("_non_persistent_buffers_set", set()).discard(name)


def _registered(kind, module, name, value):
    """`value` after the global registration hooks, each of which may replace it."""
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


def _save(module, destination, metadata, prefix, keep_vars):
    """Adds what a module and those below it have to save to a state dict."""
    local_metadata = {"version": module._version}
    if metadata is not None:
        metadata[prefix[:-1]] = local_metadata
    hooks = module._hook_registry
    if hooks is not None:
        _state.before_saving(module, prefix, keep_vars)
    module._save_to_state_dict(destination, prefix, keep_vars)
    children = module._modules
    if children:
        for name, child in children.items():
            if child is None:
                continue
            if type(child).state_dict is Module.state_dict and "state_dict" not in child.__dict__:
                _save(child, destination, metadata, f"{prefix}{name}.", keep_vars)
            else:
                child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    return destination if hooks is None else _state.after_saving(module, destination, prefix, local_metadata)


def _replace(tensor, fn):
    """Gives a tensor the data of ``fn(tensor)``; it stays the same object."""
    changed = fn(tensor)
    if changed is not tensor:
        tensor.data = changed


def _on(kind, device):
    return kind if device is None else f"{kind}:{device}"


# ---- hooks on all modules


def _everywhere():
    """The registry of the hooks on all modules; from now on, no call of a module may pass it by."""
    if Module._hook_registry is None:
        Module._hook_registry = Hooks()
    return everywhere


def register_module_forward_pre_hook(hook):
    """A forward pre-hook on every module."""
    return _everywhere().add("forward_pre", hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """A forward hook on every module."""
    return _everywhere().add("forward", as_hook(hook, with_kwargs=with_kwargs, always=always_call))


def register_module_full_backward_pre_hook(hook):
    """A full backward pre-hook on every module."""
    return _everywhere().add("backward_pre", hook)


def register_module_full_backward_hook(hook):
    """A full backward hook on every module."""
    return _everywhere().add_backward(hook, full=True)


def register_module_backward_hook(hook):
    """An old backward hook on every module."""
    return _everywhere().add_backward(hook, full=False)


def register_module_module_registration_hook(hook):
    """Calls ``hook(module, name, submodule)`` whenever a module is added to another."""
    return add_hook(registration["module"], hook)


def register_module_parameter_registration_hook(hook):
    """Calls ``hook(module, name, parameter)`` whenever a parameter is added to a module."""
    return add_hook(registration["parameter"], hook)


def register_module_buffer_registration_hook(hook):
    """Calls ``hook(module, name, buffer)`` whenever a buffer is added to a module."""
    return add_hook(registration["buffer"], hook)


__all__ = ["Module", "register_module_backward_hook", "register_module_buffer_registration_hook",
           "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
           "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
           "register_module_parameter_registration_hook"]
