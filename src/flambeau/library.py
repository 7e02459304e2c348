"""User-defined operators: ``torch.ops.mylib.myop``."""

import functools
import inspect
import re

from . import _ops
from ._tensor import Tensor
from .autograd.function import Function

__all__ = [
    "CustomOpDef", "Library", "custom_op", "define", "impl", "infer_schema", "register_autograd", "register_fake",
    "register_kernel", "wrap_triton",
]

WRONG_NAME = "expected a name of the form 'library::operator', got {name!r}"
NO_TRITON = "torch.library.{name} is not supported: Flambeau has no Triton"

DEVICES = {"CPU": "cpu", "CUDA": "cuda", "Meta": "meta", "cpu": "cpu", "cuda": "cuda", "meta": "meta"}


def _operator(name):
    """The operator for a name, an operator or a definition."""
    if isinstance(name, CustomOpDef):
        return name._opoverload
    if not isinstance(name, str):
        return name
    library, colons, rest = name.partition("::")
    if not colons:
        raise ValueError(WRONG_NAME.format(name=name))
    return _ops.operator(library, rest.partition(".")[0])


def _set_kernel(operator, function, device):
    """Sets the kernel for a device type, or for all. Autograd kernels replace the whole call.

    While autocast is enabled, its kernels are called first, and call the others.
    """
    if device.startswith("Autocast"):
        operator._autocast = function if device == "AutocastCPU" else operator._autocast
        return
    if device in ("Autograd", "AutogradCPU", "AutogradCUDA", "CompositeImplicitAutograd"):
        device = "default"
    if DEVICES.get(device) == "meta":
        operator._fake = function
    else:
        operator._kernels[DEVICES.get(device, "default")] = function


# ---- libraries


class Library:
    """A library of operators.

    Args:
        ns: its namespace in ``torch.ops``.
        kind: "DEF", "IMPL" or "FRAGMENT".
        dispatch_key: the default dispatch key of ``impl``.
    """

    def __init__(self, ns, kind, dispatch_key=""):
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema, alias_analysis="", *, tags=()):
        """Adds an operator by its schema, ``"name(Tensor x) -> Tensor"``; returns its name."""
        name = re.match(r"\s*(\w+)", schema)[1]
        _ops.operator(self.ns, name)
        return name

    def impl(self, op_name, fn, dispatch_key="", **kwargs):
        """Registers an implementation of an operator."""
        name = op_name if isinstance(op_name, str) else op_name.name()
        operator = _ops.operator(self.ns, name.rpartition("::")[2].partition(".")[0])
        _set_kernel(operator, fn, dispatch_key or self.dispatch_key)


def define(qualname, schema, *, lib=None, tags=()):
    """Adds an operator."""
    _operator(qualname)


def impl(qualname, types, func=None, *, lib=None):
    """Registers an operator's implementation for device types; without `func`, a decorator."""
    if func is None:
        return functools.partial(impl, qualname, types, lib=lib)
    for kind in [types] if isinstance(types, str) else types:
        _set_kernel(_operator(qualname), func, kind)
    return func


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """Registers an operator's implementation for device types; without `func`, a decorator."""
    if func is None:
        return functools.partial(register_kernel, op, device_types, lib=lib)
    for kind in [device_types] if isinstance(device_types, str | type(None)) else device_types:
        _set_kernel(_operator(op), func, kind or "default")
    return func


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """Registers a function that computes the operator on the device meta; without `func`, a decorator."""
    if func is None:
        return functools.partial(register_fake, op, lib=lib)
    _operator(op)._fake = func
    return func


impl_abstract = register_fake


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """Registers an operator's backward formula.

    Args:
        op: the operator, or its name.
        backward: takes the context and the gradients of the outputs; returns those of the inputs.
        setup_context: takes the context, the inputs and the output of a call, and saves what `backward` needs.
    """
    operator = _operator(op)
    if operator._is_composed:  # gradients are recorded, and those of higher order too
        return

    class WithGradient(Function):
        @staticmethod
        def forward(*args):
            return operator.kernel_for(args)(*args)

        @staticmethod
        def setup_context(ctx, inputs, output):
            if setup_context is not None:
                setup_context(ctx, inputs, output)

        @staticmethod
        def backward(ctx, *grads):
            return backward(ctx, *grads)

    WithGradient.__name__ = operator.__name__

    def call(*args, **kwargs):
        bound = inspect.signature(operator.kernel_for((*args, *kwargs.values()))).bind(*args, **kwargs)
        bound.apply_defaults()
        return WithGradient.apply(*bound.arguments.values())

    operator._autograd = call


# ---- operators from functions


class CustomOpDef:
    """A function registered as an operator."""

    def __init__(self, namespace, name, schema, fn):
        self._namespace, self._name, self._schema = namespace, name, schema
        self._opoverload = _ops.operator(namespace, name)
        functools.update_wrapper(self, fn)

    @property
    def _qualname(self):
        return f"{self._namespace}::{self._name}"

    def register_kernel(self, device_types, fn=None, /):
        """See ``torch.library.register_kernel``."""
        return register_kernel(self, device_types, fn)

    def register_fake(self, fn, /):
        """See ``torch.library.register_fake``."""
        return register_fake(self, fn)

    def register_autograd(self, backward, /, *, setup_context=None):
        """See ``torch.library.register_autograd``."""
        register_autograd(self, backward, setup_context=setup_context)

    def __call__(self, *args, **kwargs):
        return self._opoverload(*args, **kwargs)

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Registers a function as the operator ``torch.ops.<library>.<name>``; without `fn`, a decorator."""
    if fn is None:
        return functools.partial(custom_op, name, mutates_args=mutates_args, device_types=device_types, schema=schema)
    library, colons, rest = name.partition("::")
    if not colons:
        raise ValueError(WRONG_NAME.format(name=name))
    definition = CustomOpDef(library, rest, schema or infer_schema(fn, mutates_args=mutates_args), fn)
    definition.register_kernel(device_types, fn)
    return definition


def infer_schema(prototype_function, /, *, mutates_args, op_name=None):
    """The schema of a function, from its annotations."""
    names = {Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str"}
    signature = inspect.signature(prototype_function, eval_str=True)
    inputs = ", ".join(f"{names.get(p.annotation, 'Any')} {name}" for name, p in signature.parameters.items())
    return f"{op_name or ''}({inputs}) -> {names.get(signature.return_annotation, 'Any')}"


def wrap_triton(triton_kernel):
    """Not supported: it raises."""
    raise NotImplementedError(NO_TRITON.format(name="wrap_triton"))


def triton_op(name, fn=None, /, *, mutates_args, schema=None):
    """Not supported: it raises."""
    raise NotImplementedError(NO_TRITON.format(name="triton_op"))
