"""What two libraries made of one program: are the values, and all that can be observed of them, the same?"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

# (relative, absolute) error that rounding and another order of summation explain in a program that does not amplify it.
# Of one that does, `precision.py` is the judge.
TOLERANCE = {
    **dict.fromkeys(("float64", "complex128"), (1e-8, 1e-9)),
    **dict.fromkeys(("float32", "complex64"), (3e-5, 3e-6)),
    "float16": (4e-3, 4e-3),
    "bfloat16": (2e-2, 2e-2),
}


class Disagreement(NamedTuple):
    kind: str  # exception, type, dtype, shape, values, object, strides, version, requires_grad, aliasing, ...
    where: str  # the variable, such as "b" or "a.grad"
    ours: Any
    theirs: Any
    step: Any
    pair: Any

    @property
    def signature(self):
        """What findings of one cause have in common, roughly: the kind, and the template of the step."""
        return self.kind, self.step.template

    def __str__(self):
        where = f" of {self.where}" if self.where else ""
        return f"{self.kind}{where}: {self.ours}\n    PyTorch: {self.theirs}"


def compare(ours, theirs, first_versions, is_excused):
    """The first difference of two sets of variables as (kind, where, ours, theirs), or None.

    Writes are counted from the version that a tensor had when it was first seen, which `first_versions` keeps. What
    `is_excused`, by its kind and where it is, is passed over.
    """
    got, want = [list(leaves(values)) for values in (ours, theirs)]
    if [path for path, _ in got] != [path for path, _ in want]:
        return "structure", "", *only_in_one([path for path, _ in got], [path for path, _ in want])
    pairs = [(path, g, w) for (path, g), (_, w) in zip(got, want)]
    narrowest = narrowest_dtype(w for _, _, w in pairs)
    floating = {storage_of(w) for _, _, w in pairs if is_tensor(w) and w.is_floating_point()}
    for path, g, w in pairs:
        if is_tensor(g) != is_tensor(w):
            return "type", path, type(g).__name__, type(w).__name__
        difference = compare_tensors(g, w, narrowest, floating) if is_tensor(w) else compare_plain(g, w)
        for kind, *values in difference:
            if not is_excused(kind, path):
                return kind, path, *values
    tensors = [row for row in pairs if is_tensor(row[2])]
    return compare_versions(tensors, first_versions, is_excused) or compare_aliasing(tensors)


def only_in_one(ours, theirs):
    """What of each list is not in the other; the lists themselves where it is only the order that differs."""
    if set(ours) == set(theirs):
        return ours, theirs
    return [path for path in ours if path not in set(theirs)], [path for path in theirs if path not in set(ours)]


def leaves(value, path=""):
    """(path, leaf) of all tensors and plain values that can be reached."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(item, f"{path}[{name!r}]" if path else str(name))
    elif isinstance(value, (list, tuple)) and not hasattr(value, "numel"):
        yield f"len({path})", len(value)
        for i, item in enumerate(value):
            yield from leaves(item, f"{path}[{i}]")
    elif isinstance(value, type):
        yield path, value.__name__
    elif hasattr(value, "named_modules"):
        yield from module_leaves(value, path)
    elif hasattr(value, "param_groups") and hasattr(value, "step"):
        yield from optimizer_leaves(value, path)
    elif hasattr(value, "get_last_lr"):
        yield from leaves({k: v for k, v in value.state_dict().items() if k[0] != "_"}, path)
    elif type(value).__name__.startswith("Uninitialized"):
        yield path, type(value).__name__
    else:
        yield path, value
        if has_grad(value):
            yield from leaves(value.grad, f"{path}.grad")


def has_grad(value):
    return is_tensor(value) and (observe(is_leaf, value) is True or value.retains_grad) and value.grad is not None


def is_leaf(tensor):
    return tensor.is_leaf


def observe(read, value):
    """What can be read of a value, or the kind of the error: of one of several views whose base was written to,
    or of a module whose parametrizations do not fit each other.
    """
    try:
        return read(value)
    except (RuntimeError, AttributeError, TypeError) as error:
        return type(error).__name__


def module_leaves(module, path):
    """What a module holds; not its state_dict, for hooks would run at each look."""
    yield f"repr({path})", observe(repr, module)
    for name, child in module.named_modules():
        yield f"{path}.{name}.training", child.training
    for name, parameter in module.named_parameters():
        yield from leaves(parameter, f"{path}.{name}")
    for name, buffer in module.named_buffers():
        yield from leaves(buffer, f"{path}.{name}")


def optimizer_leaves(optimizer, path):
    """What an optimizer holds; not its state_dict, for hooks would run at each look."""
    for i, group in enumerate(optimizer.param_groups):
        parameters = group["params"]
        yield f"len({path}.param_groups[{i}]['params'])", len(parameters)
        yield from leaves({k: v for k, v in group.items() if k != "params"}, f"{path}.param_groups[{i}]")
        for j, parameter in enumerate(parameters):
            yield from leaves(dict(optimizer.state.get(parameter, {})), f"{path}.state[{i}][{j}]")


def is_tensor(value):
    return hasattr(value, "untyped_storage") and hasattr(value, "backward")


def narrowest_dtype(values):
    """The floating dtype of least precision in the program: what was computed in it may stand in a wider one."""
    dtypes = {str(value.dtype).removeprefix("torch.") for value in values if is_tensor(value)}
    return max(dtypes & TOLERANCE.keys(), key=TOLERANCE.get, default=None)


def compare_tensors(got, want, narrowest, floating):
    """The differences of two tensors as (kind, ours, theirs).

    Integers that lie in the memory of floating numbers are these in disguise, and round as they do: the numbers count.
    """
    for kind, read in ATTRIBUTES.items():
        ours, theirs = observe(read, got), observe(read, want)
        if ours != theirs:
            yield kind, ours, theirs
    dtype = str(want.dtype).removeprefix("torch.")
    if dtype not in TOLERANCE and storage_of(want) in floating:
        return
    if not close(numbers(got), numbers(want), narrowest if dtype in TOLERANCE else dtype):
        yield "values", got.tolist(), want.tolist()


def strides(tensor):
    """Strides of the dimensions in which there is a step to make; the others are arbitrary."""
    if tensor.numel() == 0:
        return ()
    return [step if size > 1 else None for step, size in zip(tensor.stride(), tensor.shape)]


NAMED = ("dtype", "device", "Size", "layout", "memory_format")  # plain values of the libraries, told by their text
ATTRIBUTES = {
    "class": lambda t: type(t).__name__,
    "dtype": lambda t: str(t.dtype),
    "shape": lambda t: tuple(t.shape),
    "strides": strides,
    "offset": lambda t: t.storage_offset() if t.numel() else 0,
    "requires_grad": lambda t: t.requires_grad,
    "is_leaf": is_leaf,
    "retains_grad": lambda t: t.retains_grad,
    "is_view": lambda t: t._is_view(),
}


def numbers(tensor):
    """The elements as a NumPy array, or a number as one of no dimensions. A copy: a look at its memory would make a
    tensor of PyTorch unresizable.
    """
    if not is_tensor(tensor):
        return np.asarray(tensor)
    copy = tensor.detach().resolve_conj().resolve_neg().clone()
    if str(tensor.dtype) == "torch.bfloat16":
        return (memory(copy).astype(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return copy.numpy()


def memory(tensor):
    """The memory of a tensor as a NumPy array that can be written to; bfloat16, which NumPy lacks, as integers."""
    tensor = tensor.detach()
    if str(tensor.dtype) == "torch.bfloat16":
        library = sys.modules[type(tensor).__module__.partition(".")[0]]
        tensor = tensor.view(library.int16)
    return tensor.numpy()


def close(got, want, dtype):
    """Equal, but for rounding; nan is nan, and of complex numbers that are not finite only that they are not counts."""
    if dtype not in TOLERANCE:
        return np.array_equal(got, want)
    rtol, atol = TOLERANCE[dtype]
    finite = np.isfinite(want)
    if not np.array_equal(np.isfinite(got), finite):
        return False
    if want.dtype.kind != "c" and not np.array_equal(got[~finite], want[~finite], equal_nan=True):
        return False
    got, want = got[finite], want[finite]
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    with np.errstate(over="ignore"):
        return bool(np.all(np.abs(got.astype(wide) - want) <= atol + rtol * np.abs(want.astype(wide))))


def compare_plain(got, want):
    """The differences of two values that are no tensors, as (kind, ours, theirs)."""
    if isinstance(want, (float, complex)) and type(got) is type(want):
        if not close(numbers(got), numbers(want), "float32"):
            yield "values", got, want
    elif want is None or isinstance(want, (bool, int, str, list, bytes)):
        if type(got) is not type(want) or got != want:
            yield "object", got, want
    else:
        ours, theirs = (repr(v) if type(v).__name__ in NAMED else type(v).__name__ for v in (got, want))
        if ours != theirs:
            yield "type", ours, theirs


def compare_versions(pairs, first, is_excused):
    """How often each tensor was written to since it was first seen; what happened before is nobody's promise."""
    for path, *tensors in pairs:
        ours, theirs = (t._version - first.setdefault(id(t), (t, t._version))[1] for t in tensors)
        if ours != theirs and not is_excused("version", path):
            return "version", path, ours, theirs
    return None


def compare_aliasing(pairs):
    """Which tensors are one object, and which share memory."""
    for kind, key in (("identity", id), ("aliasing", storage_of)):
        if kind == "aliasing":
            pairs = [(path, g, w) for path, g, w in pairs if w.numel()]
        ours = first_with_same_key(pairs, [key(g) for _, g, _ in pairs])
        theirs = first_with_same_key(pairs, [key(w) for _, _, w in pairs])
        for (path, _, _), mine, other in zip(pairs, ours, theirs):
            if mine != other:
                return kind, path, f"same as {mine}", f"same as {other}"
    return None


def storage_of(tensor):
    """A key of the memory; a zero tensor of PyTorch's backward has none."""
    try:
        return tensor.untyped_storage().data_ptr()
    except RuntimeError:
        return id(tensor)


def first_with_same_key(pairs, keys):
    first = {}
    return [first.setdefault(key, path) for (path, _, _), key in zip(pairs, keys)]


def synchronize(ours, theirs):
    """Gives our tensors the oracle's last digits, so that rounding does not add up over a program; and its signs of
    zero and nan, which count where one divides by them. What is recorded stays: what was saved of it would not fit.
    """
    for (_, got), (_, want) in zip(leaves(ours), leaves(theirs)):
        rounds = is_tensor(want) and (want.is_floating_point() or want.is_complex())
        if rounds and observe(is_leaf, want) is True and numbers(got).tobytes() != numbers(want).tobytes():
            np.copyto(memory(got), memory(want.clone()))
