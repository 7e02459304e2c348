"""Why two libraries disagree: what a Disagreement has to do with layouts, gradients and writes of its program."""

import itertools
import re

import numpy as np

from .compare import is_tensor, leaves, numbers, storage_of
from .forms import forms
from .pointwise import POINTWISE
from .program import execute

IS_GRADIENT = re.compile(r"\.grad\b|\blog\[")  # what hooks were given is in the log


def arguments(d, library=1):
    """The tensors that the step was given, as the oracle has them, or Flambeau (0)."""
    variables = d.pair.values()[library]
    return [v for v in (variables.get(name) for name in d.step.arguments.values()) if is_tensor(v)]


def both(d):
    """What differs, as arrays: ours and the oracle's."""
    return [numbers(dict(leaves(values))[d.where]) for values in d.pair.values()]


def is_fresh(d):
    """What differs shares no memory with anything else that the program can see."""
    for variables in d.pair.values():
        found = {path: leaf for path, leaf in leaves(variables) if is_tensor(leaf) and leaf.numel()}
        tensor = found.pop(d.where, None)
        others = [leaf for leaf in found.values() if leaf is not tensor]
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
    ours, theirs = both(d)
    differ = ~np.isnan(ours) & np.isnan(theirs)
    agree = np.allclose(ours[~differ], theirs[~differ], rtol=1e-4, atol=1e-6, equal_nan=True)
    return bool(differ.any() and are_ours(ours[differ]).all() and agree)


def differ_only_where(d, condition):
    """Whether ours fulfil the condition wherever they are not the oracle's."""
    ours, theirs = both(d)
    return condition(ours[~np.isclose(ours, theirs, rtol=1e-2, equal_nan=True)]).all()


def differ_only_at_nan_of_leaf(d):
    """Whether a gradient is that of the oracle wherever its leaf is a number."""
    leaf = dict(leaves(d.pair.oracle)).get(d.where.removesuffix(".grad"))
    if not d.where.endswith(".grad") or not is_tensor(leaf):
        return False
    ours, theirs = both(d)
    known = ~np.isnan(numbers(leaf))
    return np.allclose(ours[known], theirs[known], rtol=1e-2, equal_nan=True)


def has_nan_instead(d):
    """Whether ours are nan where the oracle has other numbers, and all others agree."""
    ours, theirs = both(d)
    return np.allclose(ours[~np.isnan(ours)], theirs[~np.isnan(ours)])


def have_equals(d):
    """Whether two tensors of the step have equal elements."""
    pairs = itertools.combinations(map(numbers, arguments(d)), 2)
    return any(np.isin(a, b).any() for a, b in pairs)


def is_zero(numbers):
    return numbers == 0


def is_near_zero(numbers):
    return abs(numbers) < 1e-6


def have_nan_by_zeros_around(d):
    """Whether ours are nan wherever they are not the oracle's, and the program has numbers that are not finite."""
    ours, theirs = both(d)
    known = ~np.isnan(ours)
    not_finite = any(not np.isfinite(numbers(t)).all() for t in tensors(d) if t.is_floating_point() and t.is_leaf)
    return not_finite and np.allclose(ours[known], theirs[known], rtol=1e-2)


def differ_only_where_tiny(d):
    """Whether ours are the oracle's wherever the argument of the step is not one of the smallest numbers."""
    ours, theirs = both(d)
    x = abs(numbers(d.pair.oracle[d.step.arguments["x"]]))
    known = (x == 0) | (x > 1e-30)
    return x.shape == ours.shape and np.allclose(ours[known], theirs[known], rtol=1e-2, equal_nan=True)


def is_one(numbers):
    return numbers == 1


def overflows_in_product(d):
    """Whether the program has a product that is not finite, and that PyTorch's gradient divides by its factors."""
    factors = [d.pair.oracle.get(step.arguments["x"]) for step in d.pair.steps if "torch.prod(" in step.template]
    with np.errstate(over="ignore", invalid="ignore"):
        return any(is_tensor(x) and not np.isfinite(numbers(x).prod()) for x in factors)


def overflows(d):
    """Whether the oracle has infinity or nan where ours is infinite or nearly so, and the others agree."""
    ours, theirs = both(d)
    huge = ~np.isfinite(theirs) & (ours > 1e38)
    return bool(huge.any()) and np.allclose(ours[~huge], theirs[~huge], equal_nan=True)


def agree_as_bools(d):
    """Whether ours are zero where the oracle's are."""
    ours, theirs = both(d)
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
    places = both(d)
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


ELEMENTWISE = {form.template for row in POINTWISE for form in forms(row)} | {"{x} += {other}", "{x} *= {other}"}
KEEP_LAYOUT = ELEMENTWISE | {"{x}.clone()", "{x}.double()", "torch.zeros_like({x})"}
KEEP_LAYOUT -= {"torch.angle({x})", "torch.logaddexp({x}, {peer})"}  # these give rows in PyTorch


def is_conjugate(d):
    """Whether what differs is a conjugate, or has its base."""
    variable = d.pair.oracle.get(d.where.partition("[")[0])
    marked = [t for t in tensors(d) if t.is_conj() or t.is_neg()]
    return is_tensor(variable) and any(base(t) is base(variable) for t in marked)


def base(tensor):
    return tensor if tensor._base is None else tensor._base


def is_of_optimizer(d):
    """Whether what differs lies in the memory of a parameter of an optimizer, or of its state."""
    variables = d.pair.oracle
    tensor = dict(leaves(variables)).get(d.where)
    optimizers = [value for value in variables.values() if hasattr(value, "param_groups") and hasattr(value, "step")]
    states = [list(map(dict, optimizer.state.values())) for optimizer in optimizers]
    owned = [group["params"] for optimizer in optimizers for group in optimizer.param_groups]
    return storage_of(tensor) in [storage_of(own) for _, own in leaves([states, owned]) if is_tensor(own)]


def has_blank_target(d):
    """Whether a target of a CTC loss is what stands for no label."""
    blank = re.search(r"blank=(\d)", d.pair.text)
    targets = [d.pair.oracle.get(step.arguments.get("x2")) for step in d.pair.steps if "CTCLoss" in step.template]
    return any(is_tensor(t) and (t == int(blank[1] if blank else 0)).any() for t in targets)


def overlaps_itself(tensor):
    """Whether some elements of a tensor lie in one place."""
    return len(set(offsets(tensor))) < tensor.numel()


def overlap_each_other(d):
    """Whether two arguments of the step share elements; a function of single elements may have one tensor twice."""
    if re.match(r"\{x\}\.\w+_\((.*, )?\{x\}[,)]", d.step.template) and d.step.template not in ELEMENTWISE:
        return True
    pairs = itertools.combinations(arguments(d), 2)
    return any(places(a) & places(b) and not (d.step.template in ELEMENTWISE and is_same_view(a, b)) for a, b in pairs)


def places(tensor):
    """The addresses of the bytes of a tensor."""
    start, size = tensor.data_ptr(), tensor.element_size()
    return {start + offset * size + byte for offset in offsets(tensor) for byte in range(size)}


def offsets(tensor):
    """Where the elements of a tensor lie, counted from the first."""
    return map(sum, itertools.product(*[range(0, n * step, step) if step else [0] * n for n, step in layout(tensor)]))


def is_same_view(a, b):
    return a.data_ptr() == b.data_ptr() and a.shape == b.shape and a.stride() == b.stride()


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
    names = {text.removeprefix("same as ").partition("[")[0] for text in (d.where, d.ours, d.theirs)}
    return len(names) == 1 and names <= made_by_grad(d)


def is_leaf_passed_on(d):
    """Whether all that one side has and the other has not are gradients of what ``autograd.grad`` gave: of leaves."""
    paths = set(d.ours) ^ set(d.theirs)
    return all(path.endswith(".grad") and path.partition("[")[0] in made_by_grad(d) for path in paths)


def made_by_grad(d):
    """The names of the results of ``autograd.grad``."""
    return {step.target for step in d.pair.steps if "autograd.grad(" in step.template}


def is_of_grad(d):
    """Whether what differs is a result of ``autograd.grad``, under whatever name."""
    variables = d.pair.oracle
    results = [leaf for name in made_by_grad(d) for _, leaf in leaves(variables.get(name))]
    return any(leaf is dict(leaves(variables))[d.where] for leaf in results)


def are_gradients_of_zeros(d):
    """Whether all that we have and the oracle has not are gradients that are zero."""
    ours = dict(leaves(d.pair.values()[0]))
    return all(path.endswith(".grad") and not np.count_nonzero(numbers(ours[path])) for path in d.ours)


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
