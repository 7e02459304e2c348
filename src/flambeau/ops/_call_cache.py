"""The call cache: on devices that record calls, an op is dispatched once per signature.

A signature consists of the shapes, dtypes and strides of the operands, which of them require a gradient, and the
settings. The first call is a general one (``Op.call``), and a CacheMiss notes what it records on the device. From then
on ``lookup`` records the same, without computing promotion, devices, layouts and kernels again.
"""

from .._dtypes import get_default_dtype
from .._modes import NO_TRACER, modes
from .._precision import layer
from .._storage import DeviceStorage
from .._tape import guard
from .._tensor import Tensor, new_tensor, refresh
from ..engines._views import value_of
from ._calls import make_view
from ._plan import fit_all, forms_of

MAX_ENTRIES = 10_000  # per op: signatures beyond that do not repeat


def lookup(op, inputs, settings, cast_to=None):
    """The result of a call whose signature is cached; a CacheMiss, if it is not yet; None, if it cannot be.

    The call may cast its inputs to a dtype, for autocast.
    """
    if modes.tracer is not NO_TRACER or not modes.lazy or modes.watched:
        return None
    key, arrays, others, device = [modes.grad, get_default_dtype(), cast_to, layer.is_recurrent], [], [], None
    for x in inputs:
        if isinstance(x, Tensor):
            storage = x._storage
            if storage is None or storage.device is not device:
                if storage is None or device is not None or not storage.engine.records:
                    return None
                device, engine = storage.device, storage.engine
                recordable = engine.recordable
            if cast_to is not None and storage.inference:  # only its cast can be saved for backward
                return None
            if x._view is not None:
                refresh(x)
            own = x._a
            array = value_of(own)
            if array is not own:
                key.append(own.strides)
            if type(array) not in recordable:
                return None
            key += (x._rg, array.aval)
            arrays.append(array)
        else:
            key.append(None)
            others.append(x)
    if device is None:
        return None
    numbers = []
    if settings:
        key.extend(settings)
        others.extend(settings.values())
    if others and not engine.read(others, key, arrays, numbers):
        return None
    if len(arrays) > 1:
        note_repetitions(arrays, key)
    key = tuple(key)
    cached = op.call_cache.get(key)
    if cached is None:
        return CacheMiss(op, key, inputs, arrays, numbers, engine, cast_to)
    return cached.repeat(inputs, arrays, numbers, settings, device) if cached is not NOT_CACHEABLE else None


def note_repetitions(arrays, key):
    """Adds to a key which arrays are identical."""
    if len(arrays) == 2:
        if arrays[0] is arrays[1]:
            key.append("twice")
    elif len(arrays) == 3:
        a, b, c = arrays
        if a is b or a is c or b is c:
            key.append((a is b, a is c, b is c))
    elif len({*map(id, arrays)}) < len(arrays):
        key.append(tuple(map({}.setdefault, map(id, arrays), range(len(arrays)))))


class CacheMiss:
    """A general call that is observed, so that the next one is cached."""

    __slots__ = ("cast_to", "engine", "inputs", "key", "numbers", "op", "watch")

    def __init__(self, op, key, inputs, arrays, numbers, engine, cast_to):
        self.op = op
        self.key = key
        self.inputs = inputs
        self.numbers = numbers
        self.engine = engine
        self.cast_to = cast_to
        self.watch = engine.watch(arrays, numbers)

    def store(self, arrays, result, layouts):
        """Caches a call that computed `result` from `arrays`, the promoted inputs.

        Returns the CachedCall, or None if the call cannot be cached.
        """
        found = self.cached_call(arrays, result, layouts)
        if len(self.op.call_cache) < MAX_ENTRIES:
            self.op.call_cache[self.key] = found or NOT_CACHEABLE
        return found

    def cached_call(self, arrays, result, layouts):
        op, watch = self.op, self.watch
        if self.numbers and op.check is not None:  # it may read them
            return None
        recipe = watch.recipe(allows_other_numbers=not op.kernel_layout)
        used = [self.source_of(value_of(a), x) for a, x in zip(arrays, self.inputs, strict=True)]
        values = [watch.value_of(value_of(r)) for r in as_tuple(result)]
        if recipe is None or None in used or None in values:
            return None
        is_tuple = type(result) is tuple
        pull, recorder = self.backward(len(result) if is_tuple else None)
        kind = CachedView if op.is_view else CachedCall if self.cast_to is None else CachedCastCall
        return kind(op, self.engine, recipe, used, values, layouts, is_tuple, pull, recorder)

    def source_of(self, array, operand):
        """The index of an operand's value; -1 if it stayed a number."""
        if hasattr(array, "dtype"):
            return self.watch.value_of(array)
        return -1 if array is operand else None

    def backward(self, count):
        """(the backward function of such calls' nodes, their recorder); (None, None) if there are no nodes."""
        flags = tuple([x._rg if isinstance(x, Tensor) else None for x in self.inputs])
        if not modes.grad or True not in flags:
            return None, None
        wanted = tuple([flag is True for flag in flags])
        plan = self.op.plan(wanted)
        if plan.backward is None:
            return None, None
        pull = self.engine.vjps(plan.backward, plan.widens, fit_all, forms_of(self.inputs, wanted))
        return pull, self.op.recorder(flags, count)


class CachedCall:
    """What the calls of a signature record."""

    __slots__ = ("engine", "is_plain", "is_tuple", "layouts", "op", "pull", "recipe", "recorder", "results", "used")

    def __init__(self, op, engine, recipe, used, results, layouts, is_tuple, pull, recorder):
        self.op = op
        self.engine = engine
        self.recipe = recipe
        self.used = used  # the input values of the op's forward
        self.results = results  # the values of the results
        self.layouts = layouts  # the memory layouts of the results
        self.is_tuple = is_tuple
        self.pull = pull  # the backward function of their nodes; None: there are no nodes
        self.recorder = recorder
        count = len(used)  # plain: one call computes all results from all inputs, in order
        only = recipe.only
        self.is_plain = only is not None and used == recipe.operands and results == [
            count + i for i in range(len(only.avals))]

    def repeat(self, inputs, arrays, numbers, settings, device):
        """The result of a call of this signature on other tensors; None if it may depend on the values of numbers."""
        if self.is_plain:
            computed = self.recipe.repeat_only(arrays, numbers)
            if computed is None:
                return None
            result = tuple(computed) if self.is_tuple else computed[0]
            return self.finish(inputs, arrays, result, settings, device)
        values = self.recipe.repeat(arrays, numbers)
        if values is None:
            return None
        result = tuple([values[i] for i in self.results]) if self.is_tuple else values[self.results[0]]
        used = None if self.pull is None else [inputs[n] if i < 0 else values[i] for n, i in enumerate(self.used)]
        return self.finish(inputs, used, result, settings, device)

    def finish(self, inputs, used, result, settings, device):
        """The result as recorded tensors; `used` are the input arrays."""
        if self.is_tuple:
            returned = result[:self.op.result_count]
            out = tuple([self.wrap(r, n, inputs, settings, device) for n, r in enumerate(returned)])
        else:
            out = self.wrap(result, 0, inputs, settings, device)
        if self.pull is not None:
            self.record(inputs, used, result, out, settings)
        return out

    def wrap(self, array, nr, inputs, settings, device):
        """Result `nr` as a tensor."""
        strides = self.layouts[nr]
        if strides is not None:
            array = self.engine.with_layout(array, strides)
        t = new_tensor(array)
        t._storage = storage = DeviceStorage(array, self.engine, device)
        storage.inference = modes.grad is None
        return t

    def record(self, inputs, arrays, result, out, settings):
        if self.op.variadic:
            node = self.recorder(inputs, arrays, result, out, settings)
        else:
            node = self.recorder(*inputs, *arrays, result, out, settings)
        if node is not None:
            node.backward = self.pull
        return node


class CachedCastCall(CachedCall):
    """What the calls of a signature record, if inputs are cast first."""

    __slots__ = ()

    def record(self, inputs, arrays, result, out, settings):
        node = CachedCall.record(self, inputs, arrays, result, out, settings)
        if node is not None:  # it saves casts, so the inputs may be written to
            saved = [x for x, a in zip(inputs, node.inputs) if a is not None and value_of(x._a) is a]
            node.guards = tuple([guard(x) for x in saved])
        return node


class CachedView(CachedCall):
    """What the views of a signature record; layouts are (strides, offset relative to the source)."""

    __slots__ = ()

    def wrap(self, array, nr, inputs, settings, device):
        source, grad = inputs[0], modes.grad
        strides, offset = self.layouts[nr]
        offset += start_of(source._a)
        origin = ("multi" if self.is_tuple else None) if grad else "no_grad" if grad is False else "inference"
        step = self.op.function, settings, nr if self.is_tuple else None
        return make_view(source, array, step, origin, (strides, offset))


NOT_CACHEABLE = object()


def as_tuple(result):
    return result if type(result) is tuple else (result,)


def layouts_of(result):
    """The memory layouts of results; None means row-major."""
    return [None if value_of(r) is r else r.strides for r in as_tuple(result)]


def layouts_in(source, views):
    """The memory layouts of views, with offsets relative to their source."""
    start = start_of(source._a)
    return [(v._a.strides, v._a.offset - start) for v in as_tuple(views)]


def start_of(array):
    """The offset of an array in its memory."""
    return 0 if value_of(array) is array else array.offset
