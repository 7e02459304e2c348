"""``check_module``: tests that a module follows the conventions that other code relies on."""

import copy
import importlib.util
import io
import pickle
from collections.abc import Mapping

from .._dtypes import float32, float64
from .._modes import no_grad
from .._tensor import Tensor
from ..autograd import grad, gradcheck
from ..autograd.gradcheck import GradcheckError
from ..nn.modules.module import Module
from ..nn.parameter import Parameter, is_lazy
from ..nn.utils.stateless import functional_call
from ..random import manual_seed
from ..serialization import load, save
from ._close import assert_close

__all__ = ["ModuleCheckError", "check_module"]


class ModuleCheckError(AssertionError):
    """Raised by ``check_module``; ``failures`` maps names of checks to messages."""

    def __init__(self, name, failures):
        lines = "".join(f"\n- {check}: {message}" for check, message in failures.items())
        super().__init__(f"check_module({name}) found {len(failures)} failure(s):{lines}")
        self.failures = failures


class _Failure(Exception):
    """A failed check, with the message for the user."""


class Subject:
    """The module under test: how to create and call it."""

    def __init__(self, cls, args, inputs, kwargs, seed):
        self.cls, self.args, self.kwargs, self.inputs, self.seed = cls, args, kwargs, inputs, seed

    @property
    def has_inputs(self):
        return self.inputs is not None

    def make(self, seed=None):
        """A new instance; a lazy one is called once."""
        manual_seed(self.seed if seed is None else seed)
        args, kwargs = copy.deepcopy((self.args, self.kwargs))
        module = self.cls(*args, **kwargs)
        if self.has_inputs and any(is_lazy(t) for t in (*module.parameters(), *module.buffers())):
            self.call(module)
        return module

    def call(self, module, inputs=None):
        """The module's output for the inputs, with the same random numbers on each call."""
        manual_seed(self.seed)
        return module(*(self.fresh_inputs() if inputs is None else inputs))

    def fresh_inputs(self, dtype=None, device=None):
        """Copies of the inputs, with floating ones optionally cast."""
        return tuple([map_tensors(value, lambda t: _copy(t, dtype, device)) for value in self.inputs])

    def step(self, module, inputs=None):
        """(outputs, gradients of inputs and parameters), for a loss that weights each element differently."""
        inputs = self.fresh_inputs() if inputs is None else inputs
        outputs = tensors_in(self.call(module, inputs))
        leaves = [t for t in (*tensors_in(inputs), *module.parameters()) if t.requires_grad]
        smooth = [y for y in outputs if y.requires_grad]
        if not smooth or not leaves:
            return outputs, []
        loss = sum((y * (y.detach() * 0.5 + 1)).sum() for y in smooth)
        return outputs, list(grad(loss, leaves, allow_unused=True))


def _copy(t, dtype, device):
    dtype = dtype if dtype is not None and t.is_floating_point() else t.dtype
    return t.detach().to(device=t.device if device is None else device, dtype=dtype, copy=True).requires_grad_(
        t.requires_grad
    )


def map_tensors(value, function):
    """Applies a function to the tensors in a nested structure."""
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, Mapping):
        return {k: map_tensors(v, function) for k, v in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[map_tensors(v, function) for v in value])
    if isinstance(value, list | tuple):
        return type(value)([map_tensors(v, function) for v in value])
    return value


def tensors_in(value):
    """The tensors in a nested structure."""
    found = []
    map_tensors(value, found.append)
    return found


def check_close(got, want, what, **tolerances):
    """Compares nested tensors for equality, or closeness with `tolerances`."""
    got, want = tensors_in(got), tensors_in(want)
    if len(got) != len(want):
        raise _Failure(f"{what}: {len(got)} tensors instead of {len(want)}")
    for i, (g, w) in enumerate(zip(got, want, strict=True)):
        try:
            assert_close(g, w, equal_nan=True, check_device=False, check_dtype=False,
                         **(tolerances or {"rtol": 0, "atol": 0}))
        except AssertionError as error:
            raise _Failure(f"{what} (tensor {i}): {error}") from None


def check_same_step(subject, one, other, what):
    first, second = subject.step(one), subject.step(other)
    check_close(second[0], first[0], f"{what} gives other outputs")
    check_close(second[1], first[1], f"{what} gives other gradients")


# ---- the checks


def check_construct(subject):
    """The constructor creates a Module, the same one for the same seed."""
    first, second = subject.make(), subject.make()
    if not isinstance(first, Module):
        raise _Failure(f"{subject.cls!r} makes a {type(first).__name__}, which is not an nn.Module")
    if list(first.state_dict()) != list(second.state_dict()):
        raise _Failure("two instances have different state_dict keys")
    what = "two instances made with one seed differ: initialise by nn.init or tensor methods, which draw from the seed"
    check_close(list(second.state_dict().values()), list(first.state_dict().values()), what)


def check_registration(subject):
    """Parameters, buffers and modules are registered, not hidden in plain attributes."""
    for path, module in subject.make().named_modules():
        known = {id(t) for t in (*module.parameters(), *module.buffers(), *module.modules())}
        for name, value in vars(module).items():
            if name in ("_parameters", "_buffers", "_modules", "_hook_registry") or name.startswith("_flat_weight"):
                continue
            place = f"{path}.{name}" if path else name
            for hidden in _hidden_state(value):
                if id(hidden) not in known:
                    raise _Failure(_ADVICE[_kind(hidden)].format(place=place))


_ADVICE = {
    "module": "{place} holds a module that is not registered: its parameters are not trained, moved or saved. Use "
              "nn.ModuleList or nn.ModuleDict.",
    "parameter": "{place} holds a parameter that is not registered: it is not trained, moved or saved. Assign it to "
                 "an attribute, or use nn.ParameterList.",
    "tensor": "{place} is a tensor that is neither a parameter nor a buffer: it is not moved by .to() and not saved. "
              "Use self.register_buffer.",
}


def _kind(value):
    return "module" if isinstance(value, Module) else "parameter" if isinstance(value, Parameter) else "tensor"


def _hidden_state(value):
    """Modules and tensors in an attribute, or in the list, tuple or dict that it is."""
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else [value]
    return [v for v in values if isinstance(v, Module | Tensor)]


def check_repr(subject):
    """``repr`` works, contains the class name, and is deterministic."""
    module, other = subject.make(), subject.make()
    text = repr(module)
    name = type(module).__name__
    if not isinstance(text, str) or name not in text:
        raise _Failure(f"repr() does not name the class {name}: {text!r}")
    if text != repr(other):
        raise _Failure(f"two instances made alike have different reprs (an address in extra_repr?): {text!r}, "
                       f"{other!r}")


def check_forward(subject):
    """Calls are reproducible for the same seed, and leave inputs unchanged unless the module is ``inplace``."""
    module = subject.make()
    inputs = subject.fresh_inputs()
    first = map_tensors(subject.call(module, inputs), Tensor.clone)
    if not _is_inplace(module):
        check_close(inputs, subject.fresh_inputs(), "the call changes its inputs: clone them before writing to them")
    what = "two instances with one seed compute different things: draw from the library's generators only"
    check_close(subject.call(subject.make()), first, what)


def _is_inplace(module):
    return any(getattr(m, "inplace", False) for m in module.modules())


def check_state_dict(subject):
    """Loading a ``state_dict`` into another instance reproduces the module."""
    module, other = subject.make(), subject.make(subject.seed + 1)
    state = module.state_dict()
    file = io.BytesIO()
    save(state, file)
    file.seek(0)
    loaded = load(file)
    if list(loaded) != list(state):
        raise _Failure("saving and loading the state_dict changes its keys")
    try:
        result = other.load_state_dict(loaded)
    except RuntimeError as error:
        raise _Failure(f"load_state_dict does not take what state_dict returns: {error}") from None
    if result.missing_keys or result.unexpected_keys:
        raise _Failure(f"load_state_dict misses {result.missing_keys} and does not expect {result.unexpected_keys}")
    check_close(list(other.state_dict().values()), list(state.values()), "loading changes the values")
    if subject.has_inputs:
        what = "a module into which the state_dict was loaded"
        check_same_step(subject, module, other, f"{what} (state outside of parameters and buffers?)")


def check_deepcopy(subject):
    """A deep copy is equal, and shares nothing with the original."""
    _check_copy(subject, copy.deepcopy, "copy.deepcopy")


def check_pickle(subject):
    """Pickling preserves the module."""
    _check_copy(subject, lambda module: pickle.loads(pickle.dumps(module)), "pickle")


def _check_copy(subject, copied, how):
    module = subject.make()
    try:
        twin = copied(module)
    except Exception as error:
        raise _Failure(f"{how} fails with {type(error).__name__}: {error}") from None
    if type(twin) is not type(module) or repr(twin) != repr(module):
        raise _Failure(f"{how} gives {twin!r} for {module!r}")
    ours, theirs = (dict([*m.named_parameters(), *m.named_buffers()]) for m in (module, twin))
    if list(ours) != list(theirs):
        raise _Failure(f"{how} changes the names of parameters and buffers: {list(theirs)} instead of {list(ours)}")
    for name, t in ours.items():
        if theirs[name].data_ptr() == t.data_ptr() and t.numel():
            raise _Failure(f"{how} gives a module that shares the memory of {name!r} with the original")
        if theirs[name].requires_grad is not t.requires_grad:
            raise _Failure(f"{how} changes requires_grad of {name!r}")
    if subject.has_inputs:
        check_same_step(subject, module, twin, f"the module that {how} gives")


def check_dtype(subject):
    """``double()`` converts all floating parameters and buffers, and the module then computes in float64."""
    module, reference = subject.make(), subject.make()
    if module.double() is not module:
        raise _Failure("double() does not return the module")
    for name, t in (*module.named_parameters(), *module.named_buffers()):
        if t.is_floating_point() and t.dtype is not float64:
            raise _Failure(f"{name!r} is {t.dtype} after double()")
    if not subject.has_inputs:
        return
    wide = subject.call(module, subject.fresh_inputs(float64))
    for y in tensors_in(wide):
        if y.is_floating_point() and y.dtype is not float64:
            raise _Failure(f"after double(), inputs of float64 give an output of {y.dtype}: a tensor made in forward "
                           "should take its dtype from the input")
    narrow = subject.call(reference, subject.fresh_inputs(float32))
    check_close(wide, narrow, "the outputs in float64 are not near those in float32", rtol=1e-3, atol=1e-4)


def check_modes(subject):
    """``train`` and ``eval`` reach all submodules; in eval mode, calls are repeatable and change no buffers."""
    module = subject.make()
    for mode, change in ((False, module.eval), (True, module.train)):
        if change() is not module:
            raise _Failure(f"{change.__name__}() does not return the module")
        wrong = [path or type(m).__name__ for path, m in module.named_modules() if m.training is not mode]
        if wrong:
            raise _Failure(f"after {change.__name__}(), `training` is not {mode} in {wrong}")
    if not subject.has_inputs:
        return
    module.eval()
    before = [b.clone() for b in module.buffers()]
    with no_grad():
        first = subject.call(module)
        check_close(subject.call(module), first, "in evaluation, two calls with the same input differ")
    check_close(list(module.buffers()), before, "in evaluation, a call changes buffers")


def check_hooks(subject):
    """Hooks run once per call and in order, and may replace inputs and outputs."""
    module, events = subject.make(), []
    reference = subject.call(subject.make())

    def note(name):
        return lambda *_: events.append(name)

    module.register_forward_pre_hook(note("forward_pre"))
    module.register_forward_hook(note("forward"))
    expected = ["forward_pre", "forward"]
    smooth = [y for y in tensors_in(reference) if y.requires_grad]
    if smooth and not _is_inplace(module) and isinstance(reference, Tensor | tuple | list):
        module.register_full_backward_pre_hook(note("backward_pre"))
        module.register_full_backward_hook(note("backward"))
        expected += ["backward_pre", "backward"]
    outputs = [y for y in tensors_in(subject.call(module)) if y.requires_grad]
    if len(expected) == 4:
        sum(y.sum() for y in outputs).backward()
    if events != expected:
        raise _Failure(f"hooks ran as {events} instead of {expected}: call submodules, not their forward, and do not "
                       "override __call__")
    module, replacement = subject.make(), object()
    module.register_forward_hook(lambda *_: replacement)
    if subject.call(module) is not replacement:
        raise _Failure("what a forward hook returns does not become the output: do not override __call__")


def check_gradients(subject):
    """Gradients of inputs and parameters match finite differences, in float64."""
    module = subject.make().double()
    inputs = subject.fresh_inputs(float64)
    parameters = {k: p.detach() for k, p in module.named_parameters() if p.requires_grad}
    buffers = dict(module.named_buffers())
    leaves = [t for t in tensors_in(inputs) if t.requires_grad]
    values = [t.detach().clone().requires_grad_() for t in (*leaves, *parameters.values())]

    def run(*values):
        given = iter(values[: len(leaves)])
        # Not the leaves themselves, which in-place modules could not write to.
        arguments = [map_tensors(v, lambda t: next(given) * 1 if t.requires_grad else t) for v in inputs]
        state = dict(zip(parameters, values[len(leaves) :], strict=True))
        state.update({k: b.clone() for k, b in buffers.items()})
        manual_seed(subject.seed)
        return tensors_in(functional_call(module, state, tuple(arguments)))

    if not values:
        return
    outputs = run(*values)
    smooth = [i for i, y in enumerate(outputs) if y.requires_grad]
    if not smooth:
        if any(y.is_floating_point() for y in outputs):
            raise _Failure("parameters or inputs require gradients, but no output does: does forward detach, leave the "
                           "graph by no_grad or compute with NumPy?")
        return
    try:
        gradcheck(lambda *values: tuple([run(*values)[i] for i in smooth]), values, fast_mode=True)
    except GradcheckError as error:
        raise _Failure(f"gradients differ from finite differences: {error}") from None


def check_engines(subject):
    """Outputs, gradients and buffers on the XLA engine match those on the CPU. (Only if jax is installed.)"""
    if importlib.util.find_spec("jax") is None:
        return
    module, other = subject.make(), subject.make().to("xla")
    for name, t in (*other.named_parameters(), *other.named_buffers()):
        if t.device.type != "xla":
            raise _Failure(f"{name!r} is on {t.device} after to('xla')")
    first = subject.step(module)
    second = subject.step(other, subject.fresh_inputs(device="xla"))
    for y in second[0]:
        if y.device.type != "xla":
            raise _Failure(f"inputs on xla give an output on {y.device}: a tensor made in forward should take its "
                           "device from the input")
    seen = (*second, list(other.buffers())), (*first, list(module.buffers()))
    for what, there, here in zip(("outputs", "gradients", "buffers"), *seen, strict=True):
        there = [None if t is None else t.cpu() for t in there]
        check_close(there, here, f"{what} on xla are not near those on the CPU", rtol=1e-3, atol=1e-4)


CHECKS = {  # name -> (check, whether it calls the module)
    "construct": (check_construct, False), "registration": (check_registration, False), "repr": (check_repr, False),
    "forward": (check_forward, True), "state_dict": (check_state_dict, False), "deepcopy": (check_deepcopy, False),
    "pickle": (check_pickle, False), "dtype": (check_dtype, False), "modes": (check_modes, False),
    "hooks": (check_hooks, True), "gradients": (check_gradients, True), "engines": (check_engines, True),
}


def check_module(cls, args=(), inputs=None, *, kwargs=None, skip=(), seed=0):
    """Runs the checks on a module class that all of the library's own layers pass.

    Args:
        cls: the class, or a function that creates a module.
        args: the constructor's arguments; `kwargs` are those passed by keyword.
        inputs: a tensor or a tuple of arguments for a call; None for a module that is not called. Gradients are checked
            for floating inputs that require grad. Small inputs are faster.
        skip: names of checks to skip, out of ``construct``, ``registration``, ``repr``, ``forward``, ``state_dict``,
            ``deepcopy``, ``pickle``, ``dtype``, ``modes``, ``hooks``, ``gradients`` and ``engines``.
        seed: the random seed of the constructor and each call.

    Raises:
        ModuleCheckError: an AssertionError with a line per failed check.

    Example::

        >>> flambeau.testing.check_module(nn.Linear, (3, 2), flambeau.ones(4, 3, requires_grad=True), skip=["engines"])
        >>> class Scale(nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.factor = flambeau.ones(1)
        ...     def forward(self, x):
        ...         return x * self.factor
        >>> flambeau.testing.check_module(Scale, (), flambeau.ones(2), skip=["engines"])
        Traceback (most recent call last):
        flambeau.testing._module.ModuleCheckError: check_module(Scale) found 2 failure(s):
        - registration: factor is a tensor that is neither a parameter nor a buffer: ...
    """
    unknown = set(skip) - CHECKS.keys()
    if unknown:
        raise ValueError(f"check_module(): no checks are called {sorted(unknown)}; there are {list(CHECKS)}")
    inputs = (inputs,) if isinstance(inputs, Tensor) else inputs
    subject = Subject(cls, args, inputs, kwargs or {}, seed)
    failures = {}
    for name, (check, calls) in CHECKS.items():
        if name in skip or (calls and not subject.has_inputs):
            continue
        try:
            check(subject)
        except _Failure as failure:
            failures[name] = str(failure)
        except Exception as error:
            failures[name] = f"{type(error).__name__}: {error}"
    if failures:
        raise ModuleCheckError(getattr(cls, "__name__", repr(cls)), failures)
