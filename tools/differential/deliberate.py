"""Differences that were decided on: they are no findings, and end the program, for what follows differs by them.

An entry is named by words of docs/differences.md, which says why.
"""

from __future__ import annotations

import itertools
import math
import re

import numpy as np

from .compare import is_tensor, leaves, numbers, storage_of
from .forms import forms
from .pointwise import POINTWISE
from .program import execute


def is_deliberate(disagreement):
    return any(applies(disagreement) for applies in DIFFERENCES.values())


def arguments(d, library=1):
    """The tensors that the step was given, as the oracle has them, or Flambeau (0)."""
    variables = d.pair.values()[library]
    return [v for v in (variables.get(name) for name in d.step.arguments.values()) if is_tensor(v)]


def is_fresh(d):
    """What differs shares no memory with anything that the program could see before the step."""
    for variables in d.pair.values():
        found = {path: leaf for path, leaf in leaves(variables) if is_tensor(leaf) and leaf.numel()}
        tensor = found.pop(d.where, None)
        results = {id(leaf) for _, leaf in leaves(variables.get(d.step.target))}
        others = [leaf for leaf in found.values() if id(leaf) not in results]
        if tensor is not None and tensor.numel() and storage_of(tensor) in map(storage_of, others):
            return False
    return True


def tensors(d):
    """All tensors of the program, as the oracle has them."""
    return [leaf for _, leaf in leaves(d.pair.oracle) if is_tensor(leaf)]


def is_written_leaf_in_constant(tensor):
    """Whether a leaf that requires a gradient is a view of a tensor that requires none, and was written to."""
    return tensor.requires_grad and tensor._base is not None and not tensor._base.requires_grad and tensor._version > 0


def has_lost_its_leaf(tensor):
    """Whether a view of a leaf has a node that leads nowhere: the leaf was written to while it required no gradient."""
    if tensor._base is None or not tensor._base.is_leaf or tensor.grad_fn is None:
        return False
    return all(node is None for node, _ in tensor.grad_fn.next_functions)


def was_passed_as_gradient(d):
    return any("{same}" in step.template and d.where == step.arguments["same"] for step in d.pair.steps)


def differs_only_at_nan(d, are_ours=np.isfinite):
    """Whether ours are numbers (`are_ours`: which) at some places where the oracle has nan, and all others agree."""
    ours, theirs = (numbers(dict(leaves(values))[d.where]) for values in d.pair.values())
    differ = ~np.isnan(ours) & np.isnan(theirs)
    agree = np.allclose(ours[~differ], theirs[~differ], equal_nan=True)
    return bool(differ.any() and are_ours(ours[differ]).all() and agree)


def differ_only_where(d, condition):
    """Whether ours fulfil the condition wherever they are not the oracle's."""
    ours, theirs = (numbers(dict(leaves(values))[d.where]) for values in d.pair.values())
    return condition(ours[~np.isclose(ours, theirs, rtol=1e-2, equal_nan=True)]).all()


def has_nan_instead(d):
    """Whether ours are nan where the oracle has other numbers, and all others agree."""
    ours, theirs = (numbers(dict(leaves(values))[d.where]) for values in d.pair.values())
    return np.allclose(ours[~np.isnan(ours)], theirs[~np.isnan(ours)])


def is_zero(numbers):
    return numbers == 0


def is_tiny(numbers):
    return (numbers != 0) & (abs(numbers) < 1e-30)


def is_one(numbers):
    return numbers == 1


def overflows_in_product(d):
    """Whether the program has a product that is not finite, and that PyTorch's gradient divides by its factors."""
    factors = [d.pair.oracle.get(step.arguments["x"]) for step in d.pair.steps if "torch.prod(" in step.template]
    with np.errstate(over="ignore", invalid="ignore"):
        return any(is_tensor(x) and not np.isfinite(numbers(x).prod()) for x in factors)



def overflows(d):
    """Whether the oracle has infinity or nan where ours is infinite or nearly so, and the others agree."""
    ours, theirs = (numbers(dict(leaves(values))[d.where]) for values in d.pair.values())
    huge = ~np.isfinite(theirs) & (ours > 1e38)
    return bool(huge.any()) and np.allclose(ours[~huge], theirs[~huge], equal_nan=True)


def agree_as_bools(d):
    """Whether ours are zero where the oracle's are."""
    ours, theirs = (numbers(dict(leaves(values))[d.where]) for values in d.pair.values())
    return np.array_equal(ours == 0, theirs == 0)


def is_median_of_expanded(d):
    """Whether what differs is the median of an expanded tensor: PyTorch leaves the result uninitialised."""
    steps = [step for step in d.pair.steps if step.target == d.where.partition("[")[0] and "median" in step.template]
    return any(overlaps_itself(d.pair.oracle[step.arguments["x"]]) for step in steps)


def is_unique_of_nan(d):
    """Whether the slices are those of the oracle, in another order or fewer times, and nan is among them."""
    step = d.step
    if "unique(dim=" not in step.template or d.where != step.target:
        return False
    slices = [np.moveaxis(numbers(values[d.where]), int(step.arguments["dim"]), 0) for values in d.pair.values()]
    rows = [set(map(str, each.reshape(len(each), -1).tolist())) for each in slices]
    return rows[0] == rows[1] and len(slices[0]) <= len(slices[1]) and bool(np.isnan(slices[0]).any())


def names_an_equal(d):
    """Whether what differs are indices of a median, at which there are equal elements."""
    step = next((s for s in d.pair.steps if s.target == d.where.removesuffix("[1]") and "median" in s.template), None)
    if step is None or "dim" not in step.arguments:
        return False
    x, dim = numbers(d.pair.oracle[step.arguments["x"]]), int(step.arguments["dim"])
    places = [numbers(dict(leaves(values))[d.where]) for values in d.pair.values()]
    found = [np.take_along_axis(x, i if i.ndim == x.ndim else np.expand_dims(i, dim), dim) for i in places]
    return np.array_equal(*found, equal_nan=True)


def layouts(d):
    """The orders in which the tensors of the step lie in memory."""
    return {tuple(sorted(range(t.ndim), key=t.stride)) for t in arguments(d) if t.ndim > 1}


def keeps_layout(d):
    """Whether PyTorch's documentation says how the result lies in memory: as the operands, if these agree."""
    if d.where.endswith(".grad"):
        leaf = dict(leaves(d.pair.oracle))[d.where.removesuffix(".grad")]
        return is_dense(leaf)
    if d.step.template not in KEEP_LAYOUT or len(layouts(d)) > 1 or converts_expanded(d):
        return False
    return not moves_expanded(d)


def converts_expanded(d):
    """Whether an expanded operand is converted first, which gives it an order of its own."""
    return len({t.dtype for t in arguments(d)}) > 1 and any(0 in t.stride() for t in arguments(d) if t.numel() > 1)


def moves_expanded(d):
    """Whether the result has the same order in both libraries but for dimensions in which an operand is expanded."""
    if not any(0 in t.stride() for t in arguments(d)):
        return False
    results = [dict(leaves(values))[d.where] for values in d.pair.values()]
    ndim = results[0].ndim
    fixed = [i for i in range(-ndim, 0) if all(-i > t.ndim or t.stride(i) for t in arguments(d))]
    orders = [sorted((i for i in fixed if r.shape[i] > 1), key=r.stride) for r in results]
    return orders[0] == orders[1]


def is_dense(tensor):
    """Whether the elements fill a piece of memory, each one place."""
    steps = sorted((step, size) for size, step in layout(tensor) if size > 1)
    expected = 1
    for step, size in steps:
        if step != expected:
            return False
        expected *= size
    return True


KEEP_LAYOUT = {form.template for row in POINTWISE for form in forms(row)}
KEEP_LAYOUT |= {"{x}.clone()", "{x}.double()", "torch.zeros_like({x})"}
KEEP_LAYOUT -= {"torch.angle({x})", "torch.logaddexp({x}, {peer})"}  # these give rows in PyTorch


def is_conjugate(d):
    variable = d.pair.oracle.get(d.where.partition("[")[0])
    return hasattr(variable, "is_conj") and (variable.is_conj() or variable.is_neg())


def overlaps_itself(tensor):
    """Whether some elements of a tensor lie in one place."""
    places = itertools.product(*[range(0, n * step, step) if step else [0] * n for n, step in layout(tensor)])
    return len(set(map(sum, places))) < tensor.numel()


def overlap_each_other(d):
    """Whether two arguments of the step are in one memory."""
    memories = [storage_of(t) for t in arguments(d)]
    return len(set(memories)) < len(memories)


def writes(d):
    """Whether the step writes to one of its arguments."""
    return re.search(r"_\(|\] = |[*+]= |out=", d.step.template)


def dtype_of(tensor):
    return str(tensor.dtype).removeprefix("torch.")


def layout(tensor):
    return zip(tensor.shape, tensor.stride())


def fails_without_out(d):
    """Whether both libraries raise also if the result goes nowhere."""
    if "no exception" in (d.ours, d.theirs):
        return False
    step = d.step._replace(template=re.sub(r", out=\{out\}", "", d.step.template))
    return all(execute(compile(step.text, "program", "exec"), dict(scope)) is not None for scope in d.pair.scopes)


def raises(d, words):
    return d.kind == "exception" and words in d.theirs


def is_passed_on(d):
    """Whether a gradient, in one of the libraries, is a tensor that the step was given, or lies in its memory."""
    if not re.search("grad|backward", d.step.template) or d.kind in ("values", "dtype", "shape"):
        return False
    for library, values in enumerate(d.pair.values()):
        gradient = dict(leaves(values)).get(d.where)
        if is_tensor(gradient) and storage_of(gradient) in map(storage_of, arguments(d, library)):
            return True
    return False


def concerns_gradients(d):
    return "autograd.grad(" in d.step.template or any(map(IS_GRADIENT.search, (str(d.theirs), d.where)))


def are_results_of_one_grad(d):
    """Whether the tensors that are one in one of the libraries are results of one call of ``autograd.grad``."""
    made_by_grad = {step.target for step in d.pair.steps if "autograd.grad(" in step.template}
    names = {text.removeprefix("same as ").partition("[")[0] for text in (d.where, d.ours, d.theirs)}
    return len(names) == 1 and names <= made_by_grad


def differ_in_gradients(d):
    """Whether all that one side has and the other has not are gradients: those of a leaf that was passed on."""
    return all(path.endswith(".grad") for path in set(d.ours) ^ set(d.theirs))


def outgrows(d):
    """Whether the step resizes a view to the shape of what it is a view of."""
    key = d.step.arguments.get("basic_key")
    if key is None or "out={x}[" not in d.step.template:
        return False
    x = d.pair.oracle[d.step.arguments["x"]]
    return eval(f"x[{key}]", {"x": x}).shape != x.shape


def indexes_nothing(d):
    """Whether the key of the step names no elements."""
    key = d.step.arguments.get("key")
    return key is not None and eval(f"x[{key}]", {"x": d.pair.oracle[d.step.arguments["x"]]}).numel() == 0


IS_GRADIENT = re.compile(r"\.grad\b|\blog\[")  # what hooks were given is in the log

DIFFERENCES = {
    "Operands of different strides": lambda d: (
        (d.kind == "offset" and re.search("scatter|nonzero", d.step.template) and is_fresh(d))
        or (d.kind == "strides" and ((is_fresh(d) and not keeps_layout(d)) or "autograd.grad(" in d.step.template))
    ),
    "a view may be written to after another view": lambda d: (
        raises(d, "a leaf Variable that requires grad is being used in an in-place operation")
        and d.ours == "no exception" and re.search("] [+*]=", d.step.template) and arguments(d)[0]._is_view()
    ),
    "Conjugates are computed": lambda d: (
        d.kind in ("aliasing", "identity", "is_view", "strides", "offset", "version") and is_conjugate(d)
    ),
    "Overlapping memory": lambda d: (
        (raises(d, "the written-to tensor refer to a single memory location") and d.ours == "no exception")
        or (d.kind == "values" and writes(d) and (any(map(overlaps_itself, arguments(d))) or overlap_each_other(d)))
    ),
    "a write to an expanded tensor": lambda d: (
        d.kind == "exception" and "more than one element of the written-to" in d.ours and d.theirs == "no exception"
    ),
    "A tensor that outgrows its memory": lambda d: (
        (d.kind in ("offset", "is_view") and "out=" in d.step.template) or (d.kind != "exception" and outgrows(d))
    ),
    "Lazy parameters": lambda d: (
        raises(d, "Attempted to use an uninitialized parameter") and d.ours == "no exception"
        and "requires_grad_" in d.step.template
    ),
    "Half precision computes everywhere": lambda d: (
        (raises(d, "not implemented for 'Half'") or raises(d, "not implemented for 'BFloat16'"))
        and d.ours == "no exception"
    ),
    "Of two faults in one call": lambda d: (
        d.kind == "exception"
        and (
            {error.partition(":")[0] for error in (d.ours, d.theirs)} == {"RuntimeError", "NotImplementedError"}
            or (d.theirs.startswith("NotImplementedError") and d.ours != "no exception")
            or ("is not a valid value for reduction" in d.ours and "must match" in d.theirs)
            or ("out=" in d.step.template and fails_without_out(d))
            or ("index is out of bounds for dimension with size 0" in d.theirs and "dtypes match" in d.ours)
            or ("more than one element of the written-to" in d.ours and d.theirs.startswith("TypeError"))
            or ("cannot be `True` together" in d.ours and d.theirs.startswith("TypeError"))
            or (d.ours.startswith("ValueError") and "Unsupported memory format" in d.theirs)
            or ("RNN input dtype" in d.ours and "must have the same dtype" in d.theirs)
            or ("the written-to tensor refer to a single memory location" in d.theirs and d.ours != "no exception")
        )
    ),
    "What cannot be computed is refused also where there is nothing to compute": lambda d: (
        d.kind == "exception" and d.theirs == "no exception"
        and re.search("not implemented for|is out of bounds for dimension|Specify the reduction dim|"
                      "cannot be converted to|does not support complex|type .* should be the same", d.ours)
        and (any(t.numel() == 0 or t.ndim == 0 for t in arguments(d)) or indexes_nothing(d))
    ),
    "Second derivatives": lambda d: (
        d.kind == "exception" and d.ours == "no exception" and "grad" in d.pair.text
        and re.search("derivative for .* is not implemented|don't support automatic differentiation", d.theirs)
    ),
    "Functions work on any strides": lambda d: (
        d.ours == "no exception"
        and ((raises(d, "view size is not compatible") and "view" not in d.step.template)
             or raises(d, "grad_input must be contiguous"))
    ),
    "`detach_` takes nothing from what was saved": lambda d: (
        raises(d, "has been detached in-place") and d.ours == "no exception"
    ),
    "What a gradient does not need is not saved": lambda d: (
        re.search(r"torch\.(prod|cummax|c?dist)\(|(_pool|Pool|Pad)[123]d\(|\bpad\(", d.pair.text)
        and (
            (d.kind == "exception" and d.ours == "no exception"
             and re.search("modified by an inplace operation|backward through the graph a second time", d.theirs))
            or (d.kind in ("requires_grad", "is_leaf") and re.search("avg_pool|AvgPool", d.pair.text)
                and re.search("grad|backward", d.step.template))
        )
    ),
    "`kron` notices writes to its operands": lambda d: (
        d.kind == "exception" and "modified by an inplace operation" in d.ours and d.theirs == "no exception"
        and "torch.kron(" in d.pair.text
    ),
    "A product of a vector and a matrix is one node": lambda d: (
        d.kind == "exception"
        and re.search("backward through the graph a second time|modified by an inplace operation", d.ours)
        and d.theirs == "no exception" and "@" in d.pair.text and "inputs=[" in d.pair.text
    ),
    "Whether a gradient of zeros requires grad": lambda d: (
        d.kind in ("requires_grad", "is_leaf") and "grad" in d.step.template
        and not dict(leaves(d.pair.oracle))[d.where].count_nonzero()
    ),
    "float16 has a root of minus infinity": lambda d: (
        d.kind == "values" and "0.5" in d.step.arguments.values() and "float16" in {dtype_of(t) for t in arguments(d)}
        and any(bool((t == -math.inf).any()) for t in arguments(d))
    ),
    "`avg_pool2d` of too few dimensions": lambda d: (
        raises(d, "-3") and "avg_pool2d" in d.step.template and d.ours.startswith("RuntimeError")
    ),
    "`out=` is written to at least once": lambda d: (
        d.kind == "version" and "out=" in d.step.template and d.ours > 0
    ),
    "a parameter once in a step of an optimizer": lambda d: (
        d.kind == "version" and (d.ours > 0 or ".state[" in d.where)
        and any(".step(" in step.template for step in d.pair.steps)
    ),
    "`fill_diagonal_` of": lambda d: d.kind == "version" and "fill_diagonal_" in d.step.template and d.ours > 0,
    "running statistics whenever they move": lambda d: d.kind == "version" and "running_" in d.where,
    "A gradient that is passed on unchanged": lambda d: (
        is_passed_on(d)
        or (d.kind == "structure" and re.search("grad|backward", d.step.template) and differ_in_gradients(d))
        or (d.kind in ("identity", "aliasing") and concerns_gradients(d) and d.ours.endswith(d.where))
        or (d.kind in ("identity", "aliasing") and are_results_of_one_grad(d))
        or (d.kind == "version" and was_passed_as_gradient(d))
    ),
    "How a gradient lies in memory": lambda d: d.kind == "offset" and concerns_gradients(d),
    "Views of `x` keep the old memory in both": lambda d: (
        d.kind == "version" and "state_dict" in d.pair.text and "[" in d.where
        and any(re.search(r"\.(double|float|half|to)\(", step.template) for step in d.pair.steps)
    ),
    "a view of a leaf keeps its way to it": lambda d: (
        d.kind in ("version", "values", "structure") and IS_GRADIENT.search(d.where or ".grad")
        and any(is_written_leaf_in_constant(v) for v in tensors(d))
    ),
    "A view keeps its way to a leaf that was detached": lambda d: (
        (re.search(r"\.grad\b|\blog\b", d.where or ".grad") if d.kind in ("version", "values", "structure")
         else raises(d, "to not have been used in the graph") and d.ours == "no exception")
        and any(has_lost_its_leaf(v) for v in tensors(d))
    ),
    "Remainders are exact": lambda d: (
        d.kind == "values" and re.search("%|remainder|fmod", d.step.template) and "nan" in str(d.theirs)
        and differs_only_at_nan(d)
    ),
    "tensors that were loaded together": lambda d: (
        d.kind == "version" and any("torch.load" in step.template for step in d.pair.steps)
    ),
    "Zero to the power of zero": lambda d: (
        d.kind == "values" and re.search(r"pow|\*\*", d.step.template) and differs_only_at_nan(d, is_one)
        and any(t.is_complex() for t in arguments(d))
    ),
    "a length that is more than the padded input has": lambda d: (
        d.kind == "exception" and "does not fit in a padded input" in d.ours and d.theirs == "no exception"
    ),
    "zeros that cannot be written to": lambda d: raises(d, "ZeroTensors are immutable"),
    "`bessel_j0` and `bessel_j1`": lambda d: (
        d.kind == "values" and "bessel_j" in d.step.template and np.allclose(d.ours, d.theirs, rtol=0, atol=1e-6)
    ),
    "The `gelu` of infinity": lambda d: (
        d.kind == "values" and "gelu" in d.step.template and (differs_only_at_nan(d, np.isposinf) or overflows(d))
    ),
    "The gradient of `prod`": lambda d: (
        d.kind == "values" and concerns_gradients(d) and overflows_in_product(d)
        and (differs_only_at_nan(d, np.ones_like) or overflows(d))
    ),
    "Which of equal elements": lambda d: (
        d.kind == "values" and d.where.endswith("[1]") and names_an_equal(d)
    ),
    "The order of rows with nan": lambda d: d.kind in ("values", "shape") and is_unique_of_nan(d),
    "Bytes of bools": lambda d: d.kind == "values" and "view(torch.bool)" in d.pair.text and agree_as_bools(d),
    "The median of an expanded tensor": lambda d: (
        d.kind == "values" and is_median_of_expanded(d)
    ),
    "a dimension with one element": lambda d: (
        raises(d, "must be 1 to view") and d.ours == "no exception" and arguments(d)[0].shape[-1] == 1
    ),
    "The slope of `elu` at nan": lambda d: (
        d.kind == "values" and re.search("elu|ELU", d.pair.text) and IS_GRADIENT.search(d.where) and has_nan_instead(d)
    ),
    "The gradient of `soft_margin_loss`": lambda d: (
        d.kind == "values" and re.search("soft_margin_loss|SoftMarginLoss", d.pair.text) and differs_only_at_nan(d)
    ),
    "Keys that no query may see": lambda d: (
        d.kind == "values" and "is_causal=True" in d.pair.text and IS_GRADIENT.search(d.where)
        and differs_only_at_nan(d, is_zero)
    ),
    "`scale_grad_by_freq`": lambda d: (
        d.kind == "values" and "scale_grad_by_freq=True" in d.pair.text and concerns_gradients(d)
    ),
    "last offset that is not the end": lambda d: d.kind == "values" and "include_last_offset=True" in d.pair.text,
    "A parameter that an optimizer has twice": lambda d: (
        d.kind == "values" and "parameters()) * 2" in d.pair.text and re.search("foreach=True|fused=True", d.pair.text)
    ),
    "`complex32`": lambda d: (
        (d.kind == "dtype" and d.theirs == "torch.complex32")
        or (raises(d, "not implemented for 'ComplexHalf'") and d.ours == "no exception")
        or (d.kind == "exception" and "no complex dtype for Half" in d.ours and d.theirs == "no exception")
    ),
    "Pixels of an empty tensor": lambda d: d.kind == "shape" and re.search(r"\bpixel_", d.step.template),
    "A Fourier transform of no signals": lambda d: raises(d, "Inconsistent configuration parameters"),
    "The poles of `polygamma`": lambda d: (
        d.kind == "values" and "polygamma" in d.step.template and differ_only_where(d, np.isposinf)
    ),
    "Numbers near the smallest": lambda d: (
        d.kind == "values" and re.search("bessel_[yk]|special.zeta", d.step.template)
        and any(is_tiny(x).any() for x in map(numbers, arguments(d)) if x.dtype.kind == "f")
    ),
    "a tensor without any": lambda d: (
        any(t.numel() == 0 for t in arguments(d))
        and (
            (d.kind == "exception" and re.search("stride|storage_offset", d.ours + d.theirs))
            or (d.kind in ("identity", "version") and "channels_last" in d.step.template)
        )
    ),
    "Whether a new result is a view": lambda d: (
        d.kind == "is_view" and (is_fresh(d) or "grad" in d.step.template or IS_GRADIENT.search(d.where))
    ),
    "an assignment to a parametrized tensor": lambda d: d.kind == "version" and ".parametrizations." in d.where,
    "`matmul` keeps the layout of `out=`": lambda d: (
        "matmul" in d.step.template and "out=" in d.step.template
        and (raises(d, "must match the size of tensor b") or (d.kind == "strides" and d.theirs == [1]))
    ),
}
