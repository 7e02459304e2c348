"""What an autocast region does: casts the inputs of functions, and caches the casts of parameters."""

from __future__ import annotations

import functools
import importlib

from .._device import preserve_format
from .._dtypes import bfloat16, float16, float32
from .._intercept import intercept
from .._modes import modes, no_grad
from .._tensor import Tensor, storage_of
from ..engines._views import value_of
from ..ops._call_cache import CacheMiss, layouts_of, lookup
from ..ops.convert import to_copy
from ._lists import ASK_THEMSELVES, OPERATORS, policies_of

CASTABLE = (float16, bfloat16, float32)  # float64 and integers are not cast
BINARY_CROSS_ENTROPY = """\
torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.
Many models use a sigmoid layer right before the binary cross entropy layer. In this case, combine the two layers \
using torch.nn.functional.binary_cross_entropy_with_logits or torch.nn.BCEWithLogitsLoss. They are safe to autocast."""


class Casts:
    """The casts of a region: the dtype for each device type for which it is enabled.

    Nested regions share cached casts of parameters, which are dropped when the outermost region is left.
    """

    def __init__(self, dtypes, cache_enabled, cache):
        self.dtypes = dtypes  # by device type
        self.cache_enabled = cache_enabled
        self.cache = cache  # (id of a parameter, dtype, whether recorded) -> (the parameter, its version, its cast)
        self.key = tuple(sorted((kind, str(dtype)) for kind, dtype in dtypes.items()))

    def with_empty_cache(self):
        """The same casts, for another region."""
        return Casts(self.dtypes, self.cache_enabled, {})

    def inputs_of(self, name, inputs):
        """The inputs of the function `name`, cast as required."""
        tensors = list(self._eligible(inputs))
        if not tensors:
            return inputs
        lower = self.dtypes[tensors[0].device.type]
        policy = policies_of(tensors[0].device.type).get(name)
        if policy is None:
            return inputs
        if policy == "refuse":
            raise RuntimeError(BINARY_CROSS_ENTROPY)
        return self._cast_all(inputs, self._dtype(policy, lower, tensors))

    @staticmethod
    def _dtype(policy, lower, tensors):
        if policy == "lower":
            return lower
        if policy == "state":
            return tensors[1].dtype
        alike = len({t.dtype for t in tensors}) == 1
        return tensors[0].dtype if policy == "widest" and alike else float32

    def _eligible(self, values):
        for value in values:
            if isinstance(value, Tensor):
                if value.dtype in CASTABLE and value.device.type in self.dtypes:
                    yield value
            elif isinstance(value, list | tuple):
                yield from self._eligible(value)

    def _cast_all(self, values, dtype):
        return tuple([
            self._cast(value, dtype) if isinstance(value, Tensor)
            else type(value)(self._cast_all(value, dtype)) if type(value) in (list, tuple) else value
            for value in values
        ])

    def _cast(self, t, dtype):
        if not self._takes(t, dtype):
            return t
        is_weight = t.dtype is float32 and t.requires_grad and t._node is None and t._view is None
        if not is_weight or not self.cache_enabled or modes.tracer.active:
            return convert(t, dtype)
        key = id(t), dtype, modes.grad
        version = storage_of(t).version
        found = self.cache.get(key)
        if found is None or found[1] != version:
            found = self.cache[key] = (t, version, convert(t, dtype))
        return found[2]

    def call_op(self, name, op, inputs):
        """Calls an op on the inputs of the function `name`, cast as required.

        Where calls are recorded, casts to the lower precision are part of the op's call, since each would cost as much
        as an op.
        """
        lower = self.dtypes.get(inputs[0].device.type)
        if lower is None or policies_of(inputs[0].device.type).get(name) != "lower":
            return op(*self.inputs_of(name, inputs))
        found = lookup(op.spec, inputs, {}, lower)
        if type(found) is CacheMiss:
            found = self._call_first(found, op, inputs, lower)
        return op(*self.inputs_of(name, inputs)) if found is None else found

    def _call_first(self, miss, op, inputs, dtype):
        """The result of the first call of a signature; None if it cannot be cached."""
        with no_grad():
            cast = [convert(x, dtype) if isinstance(x, Tensor) and self._takes(x, dtype) else x for x in inputs]
            result = op(*cast)._a
        arrays = [x._a if isinstance(x, Tensor) else x for x in cast]
        cached = miss.store(arrays, result, layouts_of(result))
        return cached and cached.finish(inputs, [value_of(a) for a in arrays], value_of(result), {}, inputs[0].device)

    def _takes(self, t, dtype):
        """Whether a tensor must be cast to a dtype."""
        own = t.dtype
        return own is not dtype and own in CASTABLE and t.device.type in self.dtypes

    def call(self, name, function, args, kwargs):
        """Calls a function with its inputs cast; calls inside it are unaffected."""
        values = self.inputs_of(name, (*args, *kwargs.values()))
        args, kwargs = values[: len(args)], dict(zip(kwargs, values[len(args) :], strict=True))
        modes.set_autocast(None)
        try:
            return function(*args, **kwargs)
        finally:
            modes.set_autocast(self)


def convert(t, dtype):
    return to_copy(t, dtype=dtype.np, format=preserve_format)


def casting(name):
    """For ``intercept``: casts the inputs of calls of the function `name` inside a region."""

    def around(body):
        def call(args, kwargs):
            casts = modes.autocast
            if casts is None or kwargs.get("out") is not None:
                return body(*args, **kwargs)
            return casts.call(name, body, args, kwargs)

        return call

    return around


_casting_functions: set = set()  # the functions that cast their inputs


@functools.cache
def teach_functions(device_type):
    """Makes the functions on the lists of a device type cast their inputs: public functions and methods of Tensor.

    This happens when a region for such a device is first entered; until then, functions do not check for autocast.
    """
    package = __name__.split(".")[0]
    for name in sorted(policies_of(device_type).keys() - ASK_THEMSELVES):
        *submodule, attribute = name.split(".")
        places = [".linalg"] if submodule == ["linalg"] else [".fft"] if submodule else ["", ".nn.functional"]
        found = [vars(importlib.import_module(package + place)).get(attribute) for place in places]
        if not submodule:
            found += [vars(Tensor).get(method) for method in (attribute, *OPERATORS.get(attribute, ()))]
        for function in found:
            if function is not None and function not in _casting_functions:
                _casting_functions.add(function)
                intercept(function, casting(name))
