"""How an op is declared: its forward, written against an engine's kernels, and its vjps beside it.

    @op(promote="float")
    def tanh(k, x):
        return k.tanh(x)

    tanh.vjp(x=lambda g, out: g * conj(1 - out * out))

The positional parameters of the forward are the inputs, the keyword-only ones are settings. A vjp takes the
gradient of the output and, *by name*, what it needs: inputs, settings, ``out`` (the result), ``out_1`` (of several
results the second), or ``x_shape`` (the shape of input ``x``). Only these values are saved, and only for the
inputs that need a gradient.

An op is polymorphic: on Tensors it records itself; on raw arrays it only computes. So the same vjp serves ordinary
backward (raw arrays) and differentiable backward (Tensors), and double backward needs no second formula.

This module implements for all ops: type promotion, half precision in float32, recording and saving, views, and
PyTorch's errors. The backward engine reduces gradients to the shape and dtype of the input.
"""

from __future__ import annotations

import functools
import types

import numpy as np

from .. import _tape as tape
from .._device import CPU, strided
from .._dtypes import BOOL_TYPE, FIRST_FLOAT, FIRST_HALF, FIRST_INTEGER, LAST_FLOAT, LAST_TYPE
from .._fp_errors import call_without_fp_warnings, ignore_fp_errors, is_context_busy, run_in_fp_context
from .._layout import elementwise_strides, is_contiguous
from .._modes import in_use, modes
from .._signatures import parameters_of, with_parameters
from .._size import broadcasts
from .._tensor import LEAF, Tensor, refresh, wrap
from ..engines import NUMPY, engine_of
from ..engines.levels import level_of
from ._call_cache import CacheMiss, layouts_in, layouts_of, lookup
from ._calls import make_view, on_arrays
from ._codegen import call_of, recorder_of
from ._errors import common_device, refuse, translate_error
from ._plan import Plan, at_edge, fetch
from ._promotion import are_large_halves, in_opmath, in_pieces, promote_operands, result_dtype
from ._steps import CompositeNode, pull_through_steps

OPS: dict[str, Op] = {}  # every declared op by name


class Op:
    """A declared op: the forward, its vjps and their properties.

    ``function`` is the generated callable; see ``_codegen.py``.
    """

    is_view = False

    def __init__(self, forward, name, *, node=None, scalar_node=None, promote=None, opmath=False, refuses="",
                 row_major=False, image=False, kernel_layout=False, put=None, copies=False, check=None,
                 piecewise_linear=False, kernel=None, by_element=False, product=False, takes_undefined=False,
                 constants="", index=False, once=False, hook_count=None, result_count=None):
        self.forward = forward
        self.name = name
        self.kernel = kernel  # the name of the kernel, if that is the whole forward
        self.by_element = by_element  # whether that is a pointwise kernel, which can run on pieces
        self.promote = promote
        self.opmath = opmath
        self.refuses = refuses
        self.row_major = row_major
        self.image = image
        self.kernel_layout = kernel_layout
        self.put = put
        self.copies = copies
        self.product = product
        self.takes_undefined = takes_undefined
        self.index = index
        self.once = once
        self.hook_count = hook_count
        self.result_count = result_count
        self.check = check
        self.piecewise_linear = piecewise_linear
        (_, *self.inputs), self.variadic, self.settings = parameters_of(forward)
        self.defaults = forward.__kwdefaults__ or {}  # of settings
        self.is_operator = len(self.inputs) == 2 and self.variadic is None and not self.settings and promote is not None
        self.vjps = {}  # input position -> (function, getters)
        self.joint = None  # (function, getters) of a vjp for all inputs at once
        self.plans = {}
        self.recorders = {}
        self.call_cache = {}  # CachedCalls by signature, on devices that record calls
        self.node = node or "".join(part.capitalize() for part in name.split("_")) + "Backward0"
        if "node" in self.settings:
            self.node = lambda node: node
        self.scalar_node = scalar_node or self.node
        self.steps = {}  # name of a node -> (function, getters): PyTorch's composition of this op
        self.constants = [self.inputs.index(name) for name in constants.split()]
        self.node_getters = tuple(map(self._getter, parameters_of(self.node)[0])) if callable(self.node) else None
        self.node_classes = {}  # by name
        self.forward_in_opmath = functools.partial(run_in_opmath, forward, opmath == "first")
        # The range of NumPy type numbers that need no promotion. The general call raises for unsupported ones.
        floats = promote == "float" or "i" in refuses
        self.lowest = FIRST_FLOAT if floats else FIRST_INTEGER if "b" in refuses else BOOL_TYPE
        self.highest = LAST_FLOAT if "c" in refuses else FIRST_HALF - 1 if opmath else LAST_TYPE
        # Whether inputs other than float32 may need promotion, float32 inside, or a refusal.
        self.checks_dtype = promote is not None or bool(opmath) or bool(refuses) or check is not None
        self.takes_int64 = promote is None and check is None and "i" not in refuses  # takes int64 unchanged
        self.__doc__ = forward.__doc__

    def __repr__(self):
        return f"<op {self.name}>"

    def node_class(self, name):
        """The class of this op's nodes that have `name`."""
        found = self.node_classes.get(name)
        if found is None:
            from ._saved import attributes_of

            is_by_number = name in tape.BY_NUMBER or self.node != self.scalar_node == name
            members = {
                "op": self, "_is_index": self.index, "_is_by_number": is_by_number,
                "__module__": "builtins", "__slots__": (), **attributes_of(self, name),
            }
            base = CompositeNode if name in self.steps else tape.OpNode
            found = self.node_classes[name] = type(name, (base,), members)
        return found

    def node_name(self, inputs, arrays, settings):
        """The node name of a call."""
        if self.node_getters is not None:
            operands = [a if isinstance(x, Tensor) else x for x, a in zip(inputs, arrays)]
            return self.node(*[self.of_call(operands, settings, kind, where) for kind, where in self.node_getters])
        return self.node if all(isinstance(x, Tensor) for x in inputs) else self.scalar_node

    def of_call(self, operands, settings, kind, where):
        """A value that the node name depends on: an input, its shape, or a setting."""
        if kind == "setting":
            return settings[where] if where in settings else self.defaults[where]
        return operands[where] if kind == "input" else operands[where].shape

    # ---- declaration of gradients

    def vjp(self, **functions):
        """Declares vjps by input name; an input without one gets no gradient."""
        for name, function in functions.items():
            self.vjps[self.inputs.index(name)] = (function, self._getters(function))

    def joint_vjp(self, function):
        """Declares one vjp that returns the gradients of all inputs; it may request ``needs``, a tuple of bools."""
        self.joint = (function, self._getters(function))
        return function

    def presents(self, **functions):
        """Declares, by node name, how PyTorch composes this op of others, which is how it appears in the graph."""
        for name, function in functions.items():
            self.steps[name] = (function, tuple(map(self._getter, parameters_of(function)[0])))

    @property
    def differentiable(self):
        return bool(self.vjps) or self.joint is not None

    def _getters(self, function):
        """How to get each argument of a vjp after the first: (kind, where) pairs."""
        return tuple(self._getter(n) for n in parameters_of(function)[0][1:])

    def _getter(self, name):
        if name in ("out", "needs"):
            return name, None
        if name in self.inputs:
            return "input", self.inputs.index(name)
        if name in self.settings:
            return "setting", name
        if name == self.variadic:
            return "inputs", len(self.inputs)
        if name.startswith("out_") and name[4:].isdigit():
            return "part", int(name[4:])
        stem = name.removesuffix("_shape")
        if stem in self.inputs:
            return "shape", self.inputs.index(stem)
        if stem == self.variadic:
            return "shapes", len(self.inputs)
        raise TypeError(f"the vjp of {self.name} has a parameter {name!r}, which is neither an input nor a setting")

    def plan(self, wanted):
        """The plan for recording a call; `wanted` flags the inputs that need gradients."""
        found = self.plans.get(wanted)
        if found is None:
            found = self.plans[wanted] = Plan(self, wanted)
        return found

    def recorder(self, flags, count=None):
        """The recorder for calls; `flags` say which inputs require gradients (None: not a tensor).

        With `count`, results are a tuple of that length.
        """
        key = flags if count is None else (flags, count)
        found = self.recorders.get(key)
        if found is None:
            wanted = tuple([flag is True for flag in flags])
            found = self.recorders[key] = recorder_of(self, wanted, [flag is not None for flag in flags], count)
        return found

    # ---- the general call

    def __call__(self, *inputs, **settings):
        return self.call(inputs, settings)

    def call(self, inputs, settings):
        """The op on tensors, arrays and numbers of any kind."""
        cached = lookup(self, inputs, settings) if in_use.recorders else None
        if cached is not None and type(cached) is not CacheMiss:
            return cached
        settings = modes.tracer.settings_of(self, settings)
        arrays, recording, graph = [], False, False
        for x in inputs:
            if isinstance(x, Tensor):
                graph = True
                if x._view is not None:
                    refresh(x)
                recording = recording or x._rg
                arrays.append(x._a)
            else:
                arrays.append(x)
        if not graph:
            return on_arrays(self, *inputs, **settings)
        level = level_of(arrays) if in_use.levels else None
        if level is not None:
            return level.call(self, inputs, settings)
        device = common_device(self, inputs)
        result, arrays = self.compute(inputs, arrays, settings, recording and modes.grad)
        if device is not CPU or modes.tracer.active:
            result = self.apply_layout(inputs, result)
        if cached is not None:
            cached.store(arrays, result, layouts_of(result))
        return self.wrap_results(inputs, arrays, result, settings, recording, device)

    def apply_layout(self, inputs, result):
        """Gives a result whose engine has no strides those that NumPy would give it."""
        if type(result) is tuple:
            return tuple([self.apply_layout(inputs, r) for r in result])
        k = engine_of(result)
        if k is NUMPY or self.row_major or self.image or self.kernel_layout or k.layout is not strided:
            return result
        shape = result.shape
        tensors = [x for x in inputs if isinstance(x, Tensor) and x.layout is strided]
        operands = [(x._a.shape, x.stride()) for x in tensors if broadcasts(x._a.shape, shape)]
        if all([is_contiguous(*operand) for operand in operands]):
            return result
        return k.with_layout(result, elementwise_strides(shape, operands))

    def wrap_results(self, inputs, arrays, result, settings, recording, device=None):
        """Wraps the result (an array, or a tuple of them) in tensors, and records it."""
        if type(result) is tuple:
            k = engine_of(*result)
            convert = as_contiguous if self.row_major and k is NUMPY else k.as_array
            result = tuple(map(convert, result))
            out = tuple([wrap(r, device) for r in result])
            plain = k is NUMPY and self.variadic is None and not modes.tracer.active
        else:
            out, plain = wrap(result, device), False
        if recording and modes.grad:
            if plain and not (in_use.watched and modes.watched):
                flags = tuple([x._rg if isinstance(x, Tensor) else None for x in inputs])
                self.recorder(flags, len(result))(*inputs, *arrays, result, out, settings)
            else:
                self.record(inputs, arrays, result, out, settings)
        return out

    def compute(self, inputs, arrays, settings, recording=True):
        """The forward on raw arrays: promotion, opmath, errors. Returns (result, the arrays used, for recording)."""
        level = level_of(arrays) if in_use.levels else None
        if level is not None:
            return level.compute(self, arrays, settings), arrays
        back_to = None
        if self.check is not None:
            self.check(*arrays)
        if self.promote is not None:
            arrays = promote_operands(inputs, arrays, self.promote, self.name)
        if self.by_element and not recording and are_large_halves(arrays):
            return call_without_fp_warnings(in_pieces, self.forward, self.kernel, arrays), arrays
        k, forward = engine_of(*arrays), self.forward
        if self.opmath and not (self.product and k.sums_products_wide):
            if k.records:
                forward = self.forward_in_opmath
            else:
                arrays, back_to = in_opmath(arrays)
        if self.refuses:
            refuse(self, arrays)
        try:
            if k is NUMPY:
                result = run_in_fp_context(self.forward, k, *arrays, **settings)
            elif self.kernel_layout:
                result = modes.tracer.computation(forward)(k, *arrays, **settings)
            else:
                arrays = [k.operand(a) for a in arrays]
                result = k.run(forward, arrays, settings)
        except Exception as error:
            result = self.recover(error, arrays, settings)
        if type(result) is tuple:
            rest = None if self.opmath == "first" else back_to
            return tuple([finish_result(k, r, rest if nr else back_to) for nr, r in enumerate(result)]), arrays
        result = finish_result(k, result, back_to)
        if self.row_major and k is NUMPY and "into" not in settings:
            result = as_contiguous(result)
        return result, arrays

    def recover(self, error, arrays, settings):
        """Handles a failed call: retries if a shared context was busy, otherwise raises PyTorch's error."""
        if is_context_busy(error):
            try:
                with ignore_fp_errors():
                    return self.forward(NUMPY, *arrays, **settings)
            except Exception as again:
                error = again
        raise translate_error(self, error, arrays) from error

    def record(self, inputs, arrays, result, out, settings):
        """Creates the node of a call and connects the outputs to it."""
        edges, wanted = [], []
        for x in inputs:
            if isinstance(x, Tensor) and x._rg:
                edges.append((x, LEAF) if x._node is None else (x._node, x._nr))
                wanted.append(True)
            else:
                edges.append(None)
                wanted.append(False)
        wanted = tuple(wanted)
        plan = self.plans.get(wanted) or self.plan(wanted)
        if plan.backward is None:
            return None
        node = self.node_class(self.node_name(inputs, arrays, settings))()
        return plan.record(node, tuple(edges), inputs, arrays, result, out, settings)

    # ---- backward on Tensors, or with saved-tensor hooks; the plain case is the plan's compiled function

    def pull(self, node, grads, graph, wanted=None):
        if node.backward is pull_through_steps:
            return pull_through_steps(grads, node, graph)
        if self.joint is not None:
            function, getters = self.joint
            return function(grads, *[wanted if kind == "needs" and wanted else fetch(node, kind, where, graph)
                                     for kind, where in getters])
        results = []
        for i, edge in enumerate(node._edges):
            if edge is None or i not in self.vjps or not (wanted is None or wanted[i]):
                results.append(None)
            else:
                function, getters = self.vjps[i]
                result = function(grads, *[fetch(node, kind, where, graph) for kind, where in getters])
                results.append(constant_in(result, edge) if graph and self.piecewise_linear else result)
        return results


class ViewOp(Op):
    """An op whose results alias its only input. There is no promotion, and no floating-point error."""

    is_view = True

    def call(self, inputs, settings):
        """The op on a tensor or an array of any engine."""
        (x,) = inputs
        if not isinstance(x, Tensor):
            return on_arrays(self, x, **settings)
        cached = lookup(self, inputs, settings) if in_use.recorders else None
        if cached is not None and type(cached) is not CacheMiss:
            return cached
        if in_use.levels and level_of((x._a,)) is not None:
            if x._view is not None:
                refresh(x)
            return x._a.level.call(self, inputs, settings)
        try:
            result = on_arrays(self, x._a, **settings)
        except Exception as error:
            raise translate_error(self, error, (x._a,)) from error
        if x._view is not None:
            refresh(x)
        out = self.wrap_results(inputs, (x._a,), result, settings, x._rg)
        if cached is not None:
            cached.store((x._a,), result, layouts_in(x, out))
        return out

    def wrap_results(self, inputs, arrays, result, settings, recording):
        x, grad = inputs[0], modes.grad
        if type(result) is not tuple:
            origin = None if grad else "no_grad" if grad is False else "inference"
            out = make_view(x, result, (self.function, settings, None), origin)
        else:
            origin = "multi" if grad else "no_grad" if grad is False else "inference"
            out = tuple([make_view(x, r, (self.function, settings, nr), origin) for nr, r in enumerate(result)])
        if recording and grad:
            self.record(inputs, arrays, result, out, settings)
        return out


def constant_in(g, edge):
    """Connects a gradient to the input at `edge`, in which it is piecewise constant, with derivative zero."""
    from .shape import piecewise_constant

    return piecewise_constant(g, at_edge(g._a, edge))


def run_in_opmath(forward, only_first, k, *arrays, **settings):
    """Runs a forward with half precision in float32, within one recorded call."""
    arrays, back_to = in_opmath(arrays)
    result = forward(k, *arrays, **settings)
    if back_to is None:
        return result
    if type(result) is not tuple:
        return finish_result(k, result, back_to)
    return tuple([finish_result(k, r, None if only_first and nr else back_to) for nr, r in enumerate(result)])


def finish_result(k, r, back_to):
    """A result as an array, converted back to half precision if the operands were."""
    own = engine_of(r)  # not the operands' engine if a sparse array is made from dense ones
    r = (k if own is NUMPY else own).as_array(r)
    if back_to is not None and r.dtype.kind == "f":
        with ignore_fp_errors():  # values too large for half precision become infinite
            return k.cast(r, back_to)
    return r


def as_contiguous(a):
    """A C-contiguous NumPy array with the same elements."""
    return np.asarray(a, order="C")


# ---- the decorator


def op(forward=None, /, *, name=None, opmath=None, view=False, **traits):
    """Declares an op. See the module docstring.

    Args:
        name: the op's name, if it is not the function's.
        node: the name of its graph nodes, if it is not ``<Name>Backward0``; or a function that returns the name, whose
            parameters name inputs, settings, or shapes of inputs. The callers of an op with a setting ``node`` pass the
            name.
        scalar_node: the name if an operand is a Python number, if PyTorch has another one for it.
        promote: "common" casts all inputs to their common dtype, "float" at least to a floating one, None does not
            cast.
        opmath: whether to compute half-precision inputs in float32; by default, ops that promote do. With "first", only
            the first of several results is converted back to half precision.
        view: the result aliases the only input.
        refuses: kinds of dtype (after promotion) that PyTorch does not implement: "b" bool, "i" integers, "f", "c".
        check: called with the operands before promotion, for errors that promotion would hide. For float32 operands it
            may only raise if the forward fails too.
        kernel_layout: the kernel determines the memory layout of the result, depending on that of x. Results of other
            ops are contiguous (row_major, image), or follow the inputs' order of dimensions.
        put: of a view: ``put(k, x, value, **settings)`` returns x with `value` in the view. Without it, the engine
            finds the view's elements.
        constants: inputs without gradients in PyTorch, if the op has a joint vjp.
        product: whether it sums products, for which some engines have kernels that take half precision and sum in
            float32.
        index: whether it selects the elements at its setting ``key``: backward then adds a gradient to these only.
        once: whether backward can go through it only once without retain_graph, although there is nothing to free.
        hook_count: the number of results, from the first on, whose gradients are visible to hooks on nodes; by default
            all.
        result_count: the number of results, from the first on, that callers use; others are only for backward.
        takes_undefined: whether the vjp accepts None as the gradient of an unused result. To the vjps of other ops such
            gradients are passed as zeros.
        copies: of a view: on arrays it returns a copy, which cannot be written through.
        row_major: whether the result is contiguous in PyTorch, whatever the layout of the inputs, so that ``view``
            works on it.
        image: whether the forward converts the result to the memory format of the inputs, with ``k.in_format_of``; on
            engines without strides it is contiguous.
        piecewise_linear: whether the gradient is piecewise constant in the inputs; the second derivative exists, and is
            zero.
    """
    if forward is None:
        return lambda f: op(f, name=name, opmath=opmath, view=view, **traits)
    name = name or forward.__name__.rstrip("_")
    opmath = traits.get("promote") is not None if opmath is None else opmath
    return declare((ViewOp if view else Op)(forward, name, opmath=opmath, **traits))


def kernel_op(name, kernel=None, /, *, inputs, settings="", by_name=False, by_element=None, **traits):
    """Declares an op whose forward is one kernel of the engine, called with the inputs and then the settings.

    With `by_name` it gets these as keywords; ``dtype=None`` stands for a setting with that default. A kernel that
    promotes its inputs and has no settings is pointwise, unless `by_element` is False; with ``opmath=False`` it never
    runs in float32, and so not on pieces.
    """
    kernel, inputs, optional = kernel or name, inputs.split(", "), settings.count("=None")
    settings = settings.replace("=None", "").split(", ") if settings else []
    code = kernel_call(len(inputs), *settings) if by_name else kernel_call(len(inputs) + len(settings))
    code = with_parameters(code.replace(co_names=(kernel,)), ["k", *inputs], settings)
    forward = types.FunctionType(code, globals(), name)
    forward.__kwdefaults__ = dict.fromkeys(settings[len(settings) - optional:]) or None
    if settings or traits.get("promote") is None:
        return op(forward, name=name, **traits)
    by_element = by_element is None and traits.get("opmath") is not False and "f" not in traits.get("refuses", "")
    return op(forward, name=name, kernel=kernel, by_element=by_element, **traits)


@functools.cache
def kernel_call(count, *keywords):
    """The code of a forward that calls a kernel with `count` arguments and keywords; it takes the names of an op."""
    arguments = [f"x{i}" for i in range(count)]
    passed = ", ".join([*arguments, *[f"{name}={name}" for name in keywords]])
    return eval(f"lambda k, {', '.join([*arguments, *keywords])}: k.kernel({passed})").__code__


def declare(spec):
    """The function of an op, with the methods that declare its gradients."""
    OPS[spec.name] = spec
    spec.function = function = call_of(spec)
    function.spec = spec
    function.vjp = spec.vjp
    function.joint_vjp = spec.joint_vjp
    function.presents = spec.presents
    function.__name__ = function.__qualname__ = spec.name
    function.__doc__ = spec.__doc__
    return function


__all__ = ["OPS", "Op", "kernel_op", "op", "promote_operands", "result_dtype"]
