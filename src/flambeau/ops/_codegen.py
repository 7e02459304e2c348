"""The hot functions of an op, generated from templates: the call and its recorders.

For small tensors dispatch costs more than the kernel. So a generated call handles the common case inline, NumPy arrays
without promotion, and passes everything else to ``Op.call``: the readable reference, which handles all cases with the
same results.

The templates are in ``_templates.py``. The source of a call depends only on the op's number of inputs and settings. Ops
with the same numbers share one compiled ``bind``, which closes over the op's own values. Settings are passed by
position, and become a dict only if they are saved.
"""

from __future__ import annotations

import functools
import linecache
import re
from textwrap import indent

import numpy as np

from .._dtypes import FIRST_FLOAT, LAST_FLOAT, check_int
from .._fp_errors import run_in_fp_context
from .._modes import in_use, modes
from .._signatures import by_position, with_parameters
from .._tape import guard, next_sequence
from .._tensor import LEAF, Tensor, new_tensor, refresh, storage_of
from ..engines import NUMPY
from ._calls import as_constant, make_view, on_arrays
from ._errors import translate_error
from ._templates import (
    CALL,
    CHECK_INT,
    COMPUTE_ONLY,
    CONSTANT,
    FINISH,
    FINISH_JOINED,
    NAMED_NODE,
    ONE_RESULT,
    OR_PROMOTED,
    READ,
    READ_ALL,
    READ_JOINED,
    READ_OPERANDS,
    READ_VIEWED,
    RECORD_ALL,
    RECORD_FLAT,
    RECORD_ONE,
    RECORD_OPERANDS,
    RECORDER,
    RECOVER,
    RECOVER_OPERANDS,
    SEVERAL_RESULTS,
    TAKE_NUMBER,
    TUPLE_OF_ONE,
    WRAP,
    WRAP_VIEW,
    WRAPPER,
)

MANY = 3  # inputs, or settings: calls of ops with more are compiled lazily
MAX_COMPILED = 8  # inputs of a variadic op up to which each pattern of gradients has its own recorder
AXIS = [{"axis": axis} for axis in range(65)]  # settings of ops: arrays have up to 64 dimensions
NAMES = {
    "AXIS": AXIS, "FIRST_FLOAT": FIRST_FLOAT, "LAST_FLOAT": LAST_FLOAT, "LEAF": LEAF, "MAX_COMPILED": MAX_COMPILED,
    "NUMPY": NUMPY, "Tensor": Tensor, "aliased": make_view, "as_constant": as_constant,
    "as_contiguous": np.ascontiguousarray, "asarray": np.asarray, "check_int": check_int, "in_use": in_use,
    "float32": np.dtype(np.float32), "guard": guard, "int64": np.dtype(np.int64), "modes": modes, "ndarray": np.ndarray,
    "new_tensor": new_tensor, "next_sequence": next_sequence, "numbers": (np.generic, int, float, complex),
    "on_arrays": on_arrays, "refresh": refresh, "run": run_in_fp_context, "storage_of": storage_of,
    "translated": translate_error, "__name__": __name__,
}


# ---- expansion of the templates

SLOT = re.compile(r"^( *)\{(\w+)\}(\n|\Z)|\{(\w+)\}", re.MULTILINE)


def fill(template, **slots):
    """Fills the slots of a template, also nested ones; a slot alone on its line may be filled by several lines."""

    def text_of(match):
        margin, alone, end, within = match.groups()
        text = slots.get(alone or within)
        if text is None:
            return match[0]
        text = fill(text.strip("\n"), **slots)
        return text if within else indent(text, margin) + end if text else ""

    return SLOT.sub(text_of, template)


def compile_source(source, title, **names):
    """The function that a source defines; its lines are visible in debuggers and tracebacks."""
    filename = f"<{title}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    scope: dict = {}
    exec(compile(source, filename, "exec"), NAMES | names, scope)
    (function,) = scope.values()
    return function


def tuple_text(names):
    """The source of a tuple."""
    return f"({''.join(f'{name}, ' for name in names)})"


def flat_slots(names, count=0):
    """The template slots of an op with a fixed number of inputs and `count` settings.

    The dict of settings is new for each call; without settings it is shared.
    """
    n = range(len(names))
    flags, options = [f"flag{i}" for i in n], [f"option{i}" for i in range(count)]
    own_settings = "{" + ", ".join([f"name{i}: {option}" for i, option in enumerate(options)]) + "}"
    return {
        "inputs": tuple_text(names), "names": ", ".join(names),
        "arrays": tuple_text(f"a{i}" for i in n), "array_names": ", ".join(f"a{i}" for i in n),
        "flags": tuple_text(flags), "recording": " or ".join(flags),
        "parameters": ", ".join([*names, *options]), "options": "".join([f", {option}" for option in options]),
        "own_settings": own_settings, "settings": own_settings if count else "settings",
        "keywords": f", **{own_settings}" if count else "",
        "state": f"{tuple_text(f'name{i}' for i in range(count))} = op.settings" if count else "settings = {}",
    }


@functools.cache
def unary_call(settings, kernel):
    """``bind`` for ops of one input and this number of `settings`, whose forward is a `kernel` or not."""
    slots = flat_slots(["x0"], settings)
    slots["state"] += "\nrecord = None"
    source = fill(
        CALL, read="nonlocal record" + READ, no_tensor=COMPUTE_ONLY, x="x0", a="a0", flag="flag0",
        or_promoted=" or (a0.dtype is not float32 and not lowest <= a0.dtype.num <= highest)",
        compute="run(kernel, a0)" if kernel else "run(forward, NUMPY, a0{options})", recover=RECOVER, finish=FINISH,
        wrap=WRAP, record=RECORD_ONE, **slots,
    )
    return compile_source(source, f"call of an op with one input{with_settings(settings)}{', a kernel' * kernel}")


@functools.cache
def flat_call(count, settings):
    """``bind`` for ops of `count` inputs and this number of `settings`."""
    names = [f"x{i}" for i in range(count)]
    reads = [fill(READ, no_tensor=TAKE_NUMBER, or_promoted=OR_PROMOTED, x=name, a=f"a{i}", flag=f"flag{i}").strip("\n")
             for i, name in enumerate(names)]
    none = " and ".join(f"flag{i} is None" for i in range(count))
    source = fill(
        CALL, read="\n".join(reads) + f"\nif {none}:\n    return on_arrays(op, {{names}}{{keywords}})",
        compute="run(forward, NUMPY, {array_names}{options})", recover=RECOVER, finish=FINISH, wrap=WRAP,
        record=RECORD_FLAT, **flat_slots(names, settings),
    )
    return compile_source(source, f"call of an op with {count} inputs{with_settings(settings)}")


@functools.cache
def operator_call(kernel, ufunc):
    """``bind`` for ops of two promoted operands; a `ufunc` is slow at converting numbers."""
    slots = flat_slots(["input", "other"])
    slots["state"] += "\nintegers, constant, known = lowest < FIRST_FLOAT, (None, None, None), [None] * 5"
    source = fill(
        CALL, read="nonlocal constant" * ufunc + READ_OPERANDS, constant=CONSTANT if ufunc else CHECK_INT,
        compute="run(kernel, a0, a1)" if kernel else "run(forward, NUMPY, a0, a1)", recover=RECOVER_OPERANDS,
        finish=FINISH, wrap=WRAP, record=RECORD_OPERANDS, **slots,
    )
    return compile_source(source, f"call of an op with two operands{', a kernel' * kernel}{', a ufunc' * ufunc}")


@functools.cache
def variadic_call():
    """``bind`` for ops of any number of inputs."""
    source = fill(
        CALL, state="", parameters="*inputs, **settings", read=READ_ALL, read_one=READ,
        no_tensor=TAKE_NUMBER, or_promoted=OR_PROMOTED, compute="run(forward, NUMPY, *arrays, **settings)",
        recover=RECOVER, finish=FINISH, wrap=WRAP, record=RECORD_ALL,
        inputs="inputs", arrays="arrays", recording="True in flags", settings="settings", x="x", a="a", flag="flag",
    )
    return compile_source(source, "call of an op with any number of inputs")


@functools.cache
def join_call():
    """``bind`` for functions like ``cat``: the kernel joins NumPy arrays of one dtype, `otherwise` all others."""
    source = fill(
        CALL, state="", parameters="tensors, dim=0, *, out=None, axis=None",  # axis: NumPy's name for dim
        read=READ_JOINED, compute="kernel(arrays, dim)", recover="return otherwise(tensors, dim, out=out)",
        finish=FINISH_JOINED, wrap=WRAP, record=RECORD_ALL, inputs="tensors", recording="recording",
    )
    return compile_source(source, "call of a function that joins tensors")


@functools.cache
def view_call(settings):
    """``bind`` for ops whose result aliases the input, with this number of `settings`."""
    slots = flat_slots(["x0"], settings) | {"settings": "settings"}
    slots["state"] += "\nrecord = None"
    source = fill(
        CALL, read="nonlocal record" + READ_VIEWED, compute="forward(NUMPY, a0{options})",
        recover="raise translated(op, error, (a0,)) from error", finish=WRAP_VIEW, record=RECORD_ONE,
        function="call", **slots,
    )
    return compile_source(source, f"call of a view{with_settings(settings)}")


@functools.cache
def view_wrapper():
    source = fill(WRAPPER, state="record = None", parameters="x0, a0", read="nonlocal record", wrap=WRAP_VIEW,
                  record=RECORD_ONE, function="function", settings="settings")
    return compile_source(source, "view computed elsewhere")


def with_settings(count):
    """The suffix of a call's title."""
    return f" and {count} settings" if count else ""


@functools.cache
def variadic_wrapper():
    source = fill(WRAPPER, state="", parameters="inputs, arrays, flags", read="", wrap=WRAP, record=RECORD_ALL,
                  recording="True in flags", inputs="inputs")
    return compile_source(source, "result computed elsewhere")


# ---- the functions of an op


def call_of(op, otherwise=None):
    """The generated function of an op. An op of two operands calls `otherwise`, by default its general call, for
    operands that are not handled inline."""
    if not op.is_view and (len(op.inputs) > MANY or len(op.settings) > MANY):
        function = at_first_call(lambda: compile_call(op, otherwise))
    else:
        function = compile_call(op, otherwise)
    if op.is_view:
        function.wrap_view = view_wrapper()(op, function)
    elif op.variadic is not None:
        function.wrap_result = variadic_wrapper()(op, function)
    return function


def compile_call(op, otherwise):
    """The function of an op, from the template for its inputs and settings."""
    kernel, settings = None if op.kernel is None else getattr(NUMPY, op.kernel), len(op.settings)
    if op.variadic is not None:
        return variadic_call()(op, op.forward, kernel, op)
    if op.is_view:
        bind = view_call(settings)
    elif len(op.inputs) == 1:
        bind = unary_call(settings, kernel is not None)
    elif op.is_operator:
        bind = operator_call(kernel is not None, isinstance(getattr(kernel, "__wrapped__", kernel), np.ufunc))
    else:
        bind = flat_call(len(op.inputs), settings)
    function = bind(op, by_position(op.forward), kernel, otherwise or op)
    if settings:
        code = function.__code__
        function.__code__ = with_parameters(code, code.co_varnames[: len(op.inputs)], op.settings)
        function.__kwdefaults__ = op.defaults
    return function


def at_first_call(make):
    """A function compiled by `make` on its first call: few programs call ops with many inputs or settings."""
    function = None

    def call(*inputs, **settings):
        nonlocal function
        function = function or make()
        return function(*inputs, **settings)

    return call


def recorder_of(op, wanted, tensors, count=None):
    """The function that records a call with one result; `tensors` are the inputs that are tensors.

    With `count`, results are a tuple of that length. The function takes the inputs, their arrays, the result's array,
    the result and the settings, and returns the node; of a variadic op the inputs are one argument, and the arrays too.
    """
    plan = op.plan(wanted)
    if plan.backward is None:
        return lambda *_: None
    n = range(len(wanted))
    xs, arrays = tuple_text(f"x{i}" for i in n), tuple_text(f"a{i}" for i in n)
    edge = "(x{0}, LEAF) if x{0}._node is None else (x{0}._node, x{0}._nr)"
    out, of_out = saved_results(plan, count, op.result_count)
    guards = [f"guard(x{i})" for i in n if plan.saves[i] and tensors[i]] + of_out
    shapes = [f"a{i}.shape" if tensors[i] else f"getattr(a{i}, 'shape', ())" for i in n]
    if op.node_getters is None:
        node, names = "node = Node()", {"Node": op.node_class(op.node if all(tensors) else op.scalar_node)}
    else:
        name = ", ".join([source_of(op, *getter) for getter in op.node_getters])
        name = name if "node" in op.settings else f"node_name({name})"
        node = fill(NAMED_NODE, name=name)
        names = {"node_classes": op.node_classes, "node_class": op.node_class, "node_name": op.node}
    source = fill(
        RECORDER, parameters="inputs, arrays" if op.variadic else f"{xs[1:-3]}, {arrays[1:-3]}",
        unpack=f"{xs} = inputs\n{arrays} = arrays" if op.variadic else "",
        node=node, edges=tuple_text(edge.format(i) if wanted[i] else "None" for i in n),
        saved=tuple_text([f"a{i}" if plan.saves[i] else "None" for i in n] if any(plan.saves) else ()),
        guards=tuple_text(guards), out=out, shapes=tuple_text(shapes) if plan.shapes else "None", count=str(count),
        **(ONE_RESULT if count is None else TUPLE_OF_ONE if count == 1 else SEVERAL_RESULTS),
    )
    return compile_source(source, f"recorder of {op.name}, gradients {wanted}", backward=plan.backward, **names)


def saved_results(plan, count, returned):
    """(the source of the saved results, the sources of the guards of those that are `returned`)."""
    if not plan.saves_out:
        return "None", []
    if count is None:
        return "r", ["guard(t)"]
    saved = [nr in plan.saves_parts or not plan.saves_parts for nr in range(count)]
    texts = tuple_text(f"r[{nr}]" if saves else "None" for nr, saves in enumerate(saved))
    return texts, [f"guard(t[{nr}])" for nr, saves in enumerate(saved[:returned]) if saves]


def source_of(op, kind, where):
    """The source of an input, its shape, or a setting in a recorder."""
    if kind == "setting":
        found = f"settings[{where!r}]"
        return f"{found} if {where!r} in settings else {op.defaults[where]!r}" if where in op.defaults else found
    return f"a{where}" if kind == "input" else f"a{where}.shape"
