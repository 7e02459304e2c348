"""Calls in the trace of a compiled function as one equation each, as lazy execution records them.

Calls with the same signature share what jax has traced for it, also with lazy execution. So a step with many equal
layers is traced and lowered once per kind of layer, or not at all if the program is known (_stand_ins.py).
"""

import jax
from jax.extend.core import Primitive
from jax.extend.core.primitives import convert_element_type_p

from ..._precision import precisely, precision
from . import engine
from ._calls import Unrecordable, read_call
from ._conditions import recording_lock
from .lazy import signature_for
from .memory import jax_device


class SharedCall(Primitive):
    """A call in a trace. Evaluating the equation calls the function."""

    multiple_results = True

    def record(self, signature, numbers, arrays):
        """The traced results of a call, except those that are inputs."""
        if not signature.computes:
            return ()
        return super().bind(*arrays, signature=signature, numbers=numbers, precision=precision.key)

    def bind(self, *arrays, signature, numbers, precision):
        arrays = [weaken(a, aval.dtype) if aval.weak else a for a, aval in zip(arrays, signature.inputs, strict=True)]
        with precisely(precision):
            return signature.jitted_call(numbers, precision, arrays, [])[0]


def weaken(x, dtype):
    """A weakly typed number, as it was in the trace; inputs of programs are not."""
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=True, sharding=None)


shared_call = SharedCall("shared_call")
shared_call.def_abstract_eval(lambda *_, signature, **__: [
    jax.core.ShapedArray(aval.shape, aval.dtype, weak_type=aval.weak) for aval in signature.avals])


@engine.immediate
def call_shared(function, args, settings, device, require):
    """``function(*args, **settings)`` on traced arrays, for a program on `device`; NotImplemented to call it directly.

    All arrays among the arguments must be traced: constants may affect decisions. Computations on numbers only are left
    out, since the host may run them.

    Args:
        require: called with (holds, wrong, error) for each condition on elements.
    """
    try:
        key, arrays, numbers = read_call(function, args, settings, jax.core.Tracer)
    except Unrecordable:
        return NotImplemented
    if not all([isinstance(a, jax.core.Tracer) for a in arrays]) or not any([a.ndim for a in arrays]):
        return NotImplemented
    with recording_lock, jax.default_device(jax_device(device)):
        signature = signature_for(key, function, args, settings, arrays, numbers, jax.core.Tracer)
        if signature is None:
            return NotImplemented
        if signature.errors:
            computed, conditions = signature.jitted_call(numbers, precision.key, arrays, [])
        else:
            computed, conditions = shared_call.record(signature, numbers, arrays), ()
    for condition, error in zip(conditions, signature.errors, strict=True):
        require(*condition, error)
    return signature.results(computed, arrays)
