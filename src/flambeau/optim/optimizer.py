"""The base class of optimizers: parameter groups, state, hooks, saving and loading."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, ClassVar, TypeAlias

from .._dtypes import float32
from .._hooks import add_hook
from .._modes import enable_grad, set_grad_enabled
from .._signatures import parameters_of
from .._tensor import Tensor
from ..engines import run_recorded
from ..functions.from_data import tensor
from ..nn.parameter import clear_grad
from ._checks import check_fused_params

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

NO_PARAMETERS = "optimizer got an empty parameter list"
ORDERED = "optimizer parameters need to be organized in ordered collections, but the order of tensors in sets changes"
NOT_ITERABLE = "params argument given to the optimizer should be an iterable of Tensors or dicts, but got {type}"
TWICE = (
    "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error. Until then "
    "these parameters are updated several times in each step."
)
WRONG_SIZE = "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
WRONG_RETURN = "{name}.step: a pre-hook must return None or a tuple of (new_args, new_kwargs), but got {got}."
_HOOKS = [  # PyTorch's names, which optimizers that wrap another one, and do not call __init__, assign
    "_optimizer_step_pre_hooks", "_optimizer_step_post_hooks", "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks", "_optimizer_load_state_dict_pre_hooks", "_optimizer_load_state_dict_post_hooks",
]

_global_hooks: dict[str, OrderedDict] = {"pre": OrderedDict(), "post": OrderedDict()}


class _Required:
    def __repr__(self):
        return "<required parameter>"


required = _Required()
ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]


class Optimizer:
    """Base class of optimizers.

    Args:
        params: the parameters, (name, parameter) pairs, or dicts that define parameter groups.
        defaults: the default settings of groups.
    """

    OptimizerPreHook: TypeAlias = Callable[[Any, tuple, dict], tuple[tuple, dict] | None]
    OptimizerPostHook: TypeAlias = Callable[[Any, tuple, dict], None]

    _added: ClassVar[dict] = {}  # settings missing from older saved states
    _counts = False  # whether step counts are tensors, which are numbers in older saved states
    _sparse: str | None = "{name} does not support sparse gradients"  # None: supported
    _opt_called: bool | None = None  # whether a step was made; None until a scheduler watches
    _replaced_step = None  # a user-assigned step found when a scheduler first checked
    grad_scale = found_inf = None  # set by a GradScaler for a fused step

    def __init__(self, params, defaults):
        if isinstance(params, Tensor):
            raise TypeError(NOT_ITERABLE.format(type=params.type()))
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        for name in _HOOKS:
            setattr(self, name, OrderedDict())
        _hook_step(type(self))
        groups = list(params)
        if not groups:
            raise ValueError(NO_PARAMETERS)
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(dict(group) if isinstance(group, dict) else group)

    def __repr__(self):
        groups = []
        for i, group in enumerate(self.param_groups):
            settings = "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
            groups.append(f"\nParameter Group {i}\n{settings}")
        return f"{type(self).__name__} ({''.join(groups)})"

    # ---- groups

    def add_param_group(self, param_group):
        """Adds a parameter group: a dict with ``params`` and its settings."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(ORDERED)
        params = list(params)
        named = [isinstance(p, tuple) for p in params]
        others = ["param_names" in group for group in self.param_groups]
        if any(named + others) and not all(named + others):
            raise ValueError("all optimizer params should be with names, or all without")
        if any(named):
            param_group["param_names"] = [name for name, _ in params]
            params = [p for _, p in params]
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
            if not (self.defaults.get("differentiable") or p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        param_group["params"] = params
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        seen = {p for group in self.param_groups for p in group["params"]}
        if not seen.isdisjoint(params):
            raise ValueError("some parameters appear in more than one parameter group")
        if len(set(params)) != len(params):
            warnings.warn(TWICE, stacklevel=3)
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none=True):
        """Clears the gradients of all parameters: to None, or to zeros."""
        for p in chain.from_iterable(group["params"] for group in self.param_groups):
            clear_grad(p, set_to_none)

    def step(self, closure=None):
        """Updates the parameters. Must be implemented by subclasses."""
        raise NotImplementedError(f"{type(self).__name__} does not define step()")

    # ---- what schedulers ask

    def _await_step(self):
        """Starts tracking whether steps are made."""
        if self._opt_called is None:
            self._replaced_step = self.__dict__.get("step")
            is_hooked = getattr(type(self).step, "hooked", False)  # not if __init__ of this class was not called
            self._opt_called = self._replaced_step is not None or not is_hooked  # such a step does not notify

    def _was_step_replaced(self):
        """Whether the user has assigned another step since."""
        return self.__dict__.get("step") is not self._replaced_step

    # ---- what families ask

    def _run(self, function, group, *names, **settings):
        """Calls the functional form of a step with a group's lists of tensors and those of its settings that it takes.

        `names` are the kinds of state in the order of its parameters, `settings` those that are not in the group.
        """
        lists = self._gather(group, *names)
        settings.update(group, grad_scale=self.grad_scale, found_inf=self.found_inf)
        wanted = settings_of(function)
        if "beta1" in wanted:
            settings["beta1"], settings["beta2"] = group["betas"]
        function(*lists, **{name: settings[name] for name in wanted})

    def _gather(self, group, *names):
        """The parameters of a group with gradients, the gradients, and a list for each kind of state; [] for None."""
        params = [p for p in group["params"] if p._grad is not None]
        grads = [p._grad for p in params]
        if self._sparse and any([g.is_sparse for g in grads]):
            raise RuntimeError(self._sparse.format(name=type(self).__name__))
        if group.get("fused"):
            check_fused_params(params)
        if not names:
            return params, grads
        state = self.state
        states = [state[p] or self._state_of(p, group) for p in params]
        return params, grads, *[[] if name is None else [state[name] for state in states] for name in names]

    def _state_of(self, p, group):
        state = self.state[p]
        if not state:
            state.update(self._new_state(p, group))
        return state

    def _new_state(self, p, group):
        """The initial state of a parameter."""
        return {}

    # ---- saving and loading

    def state_dict(self):
        """Returns the state, by parameter index, and the settings of the groups."""
        for hook in list(self._optimizer_state_dict_pre_hooks.values()):
            hook(self)
        number = {p: i for i, p in enumerate(chain.from_iterable(g["params"] for g in self.param_groups))}
        groups = [{**{k: v for k, v in group.items() if k != "params"}, "params": [number[p] for p in group["params"]]}
                  for group in self.param_groups]
        saved = {"state": {number[p] if isinstance(p, Tensor) else p: s for p, s in self.state.items()},
                 "param_groups": groups}
        for hook in list(self._optimizer_state_dict_post_hooks.values()):
            got = hook(self, saved)
            saved = saved if got is None else got
        return saved

    def load_state_dict(self, state_dict):
        """Loads a state dict of an optimizer with the same parameters."""
        given = dict(state_dict)
        for hook in list(self._optimizer_load_state_dict_pre_hooks.values()):
            got = hook(self, given)
            given = given if got is None else got
        saved = deepcopy(given["param_groups"])
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(self.param_groups, saved, strict=True)):
            raise ValueError(WRONG_SIZE)
        parameters = {key: (p, new) for group, new in zip(self.param_groups, saved, strict=True)
                      for key, p in zip(new["params"], group["params"], strict=True)}
        state = defaultdict(dict)
        for key, value in given["state"].items():
            p, new = parameters.get(key, (None, None))
            if p is None:
                state[key] = value
            else:
                state[p] = {k: _as_state(p, new, k, v) for k, v in value.items()}
        for group, new in zip(self.param_groups, saved, strict=True):
            new["params"] = group["params"]
            if "param_names" in group:
                new["param_names"] = group["param_names"]
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in list(self._optimizer_load_state_dict_post_hooks.values()):
            hook(self)

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        """Restores a pickled or loaded state; subclasses may add settings that older versions lacked."""
        self.__dict__.update(state)
        for name in _HOOKS:
            self.__dict__.setdefault(name, OrderedDict())
        _hook_step(type(self))
        self.defaults.setdefault("differentiable", False)  # shown by groups added later, as in PyTorch
        for group in self.param_groups:
            group.update({name: default for name, default in self._added.items() if name not in group})
        for values in self.state.values() if self._counts else ():
            if isinstance(values.get("step"), int | float):
                values["step"] = tensor(float(values["step"]))

    # ---- hooks

    def register_step_pre_hook(self, hook):
        """Calls ``hook(optimizer, args, kwargs)`` before each step; it may return new ``(args, kwargs)``.

        The first of the ``args`` is the optimizer itself.
        """
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook):
        """Calls ``hook(optimizer, args, kwargs)`` after each step."""
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Calls ``hook(optimizer)`` before ``state_dict``."""
        return add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Calls ``hook(optimizer, state_dict)`` after ``state_dict``; it may return a replacement."""
        return add_hook(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Calls ``hook(optimizer, state_dict)`` before loading; it may return a replacement."""
        return add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Calls ``hook(optimizer)`` after loading."""
        return add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    @staticmethod
    def profile_hook_step(func):
        """Wraps a ``step`` so that the step hooks run around it; optimizers are wrapped automatically."""
        return _with_hooks(func)


class GroupOptimizer(Optimizer):
    """Base of optimizers that update one parameter group after another."""

    def step(self, closure=None):
        """Performs a step; calls ``closure`` first, if given, and returns its loss."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with set_grad_enabled(bool(self.defaults.get("differentiable"))):
            for group in self.param_groups:
                self._step_group(group)
        return loss

    def _step_group(self, group):
        """Updates the parameters of a group."""
        raise NotImplementedError


def _hook_step(cls):
    """Wraps the ``step`` of a class so that hooks run around it."""
    if not getattr(cls.step, "hooked", False):
        cls.step = _with_hooks(cls.step)


def _with_hooks(step):
    @functools.wraps(step)
    def wrapper(*args, **kwargs):
        self = args[0]
        for hook in [*_global_hooks["pre"].values(), *self._optimizer_step_pre_hooks.values()]:
            got = hook(self, args, kwargs)
            if got is not None:
                if not (isinstance(got, tuple) and len(got) == 2):
                    raise RuntimeError(WRONG_RETURN.format(name=type(self).__name__, got=got))
                args, kwargs = got
        out = step(*args, **kwargs)
        if self._opt_called is False:
            self._opt_called = True
        for hook in [*self._optimizer_step_post_hooks.values(), *_global_hooks["post"].values()]:
            hook(self, args, kwargs)
        run_recorded()
        return out

    wrapper.hooked = True
    return wrapper


@functools.cache
def settings_of(function):
    """The names of a function's parameters that are settings: not lists of tensors, nor what these are like."""
    names, _, keywords = parameters_of(function)
    settings = names[len(names) - len(function.__defaults__ or ()):] + keywords
    return [name for name in settings if name not in ("has_complex", "has_sparse_grad")]


def _as_state(p, group, key, value):
    """Converts a loaded state value for its parameter: tensors take its dtype, if floating, and device.

    Step counts stay as they are, unless they belong beside the parameter. Tensors that need no change are shared.
    """
    if isinstance(value, Tensor):
        if key != "step":
            return value.to(p.device, p.dtype if p.is_floating_point() else None)
        return value.to(p.device, float32) if group.get("capturable") or group.get("fused") else value
    if isinstance(value, dict):
        return {k: _as_state(p, group, k, v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_as_state(p, group, None, v) for v in value)
    return value


def register_optimizer_step_pre_hook(hook):
    """Registers a step pre-hook for all optimizers."""
    return add_hook(_global_hooks["pre"], hook)


def register_optimizer_step_post_hook(hook):
    """Registers a step post-hook for all optimizers."""
    return add_hook(_global_hooks["post"], hook)


