"""Einstein summation, reduced to batched matrix products.

An equation is parsed into a list of labels per operand and one for the output. A label is a letter, or ``("...", i)``
for the i-th dimension, counted from the end, that an ellipsis covers. Operands are contracted pairwise, from left to
right; each contraction is one (batched) matrix product, so no separate gradient is needed.
"""

import math

from .._modes import in_use
from .._tensor import Tensor
from ..ops.matmul import matmul_batched, mul
from ..ops.reduce import sum_
from ..ops.shape import basic_index, permute, reshape, reshape_shared
from ._args import need_tensors
from ._autocast import autocast
from ._folds import with_sum_dtype
from .matmul import differ, refuse_bool, word

__all__ = ["einsum"]

NEEDS = (
    "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts "
    "list"
)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
DOTS = "..."


def einsum(*args):
    """Sums the products of operands whose dimensions are labelled by an equation such as ``"bij,bjk->bik"``.

    Instead of an equation, each operand may be followed by a list of ints (and Ellipsis) as labels, and the last list
    labels the output: ``einsum(a, [0, 1], b, [1, 2], [0, 2])``.
    """
    if len(args) < 2:
        raise ValueError(NEEDS)
    if isinstance(args[0], Tensor):
        operands, inputs, output = from_lists(args)
    else:
        operands = args[1] if len(args) == 2 and isinstance(args[1], (tuple, list)) else args[1:]
        inputs, output = from_equation(args[0])
    operands = need_tensors(operands, "einsum")
    check_count(len(inputs), len(operands))
    inputs = [expand_ellipsis(labels, x, i) for i, (labels, x) in enumerate(zip(inputs, operands, strict=True))]
    output = output_labels(inputs, output)
    check_sizes(inputs, operands)
    return contract(operands, inputs, output)


# ---- reading


def from_equation(equation):
    """The labels of each operand and of the output (None if the equation has no ``->``)."""
    if not isinstance(equation, str):
        raise TypeError(f"einsum(): argument 'equation' (position 1) must be str, not {type(equation).__name__}")
    left, arrow, right = equation.partition("->")
    inputs = [subscripts(part, i, equation) for i, part in enumerate(split_operands(left))]
    return inputs, subscripts(right, None, equation, len(left) + 2) if arrow else None


def split_operands(text):
    """(text, offset) of each operand."""
    offset, parts = 0, []
    for part in text.split(","):
        parts.append((part, offset))
        offset += len(part) + 1
    return parts


def subscripts(part, operand, equation, offset=0):
    """The labels in one operand's part of the equation; an ellipsis stays "..."."""
    text, offset = (part, offset) if operand is None else part
    where = "the output" if operand is None else f"operand {operand}"
    labels, i = [], 0
    while i < len(text):
        c = text[i]
        if c == ".":
            if DOTS in labels:
                raise RuntimeError(f"einsum(): found '.' for {where} for which an ellipsis was already found")
            if text[i:i + 3] != DOTS:
                raise RuntimeError(f"einsum(): found '.' for {where} that is not part of any ellipsis")
            labels.append(DOTS)
            i += 3
            continue
        if c != " ":
            if c not in LETTERS:
                raise RuntimeError(
                    f"einsum(): invalid subscript given at index {offset + i} in the equation string, subscripts must "
                    f"be in [a-zA-Z]: {equation!r}"
                )
            labels.append(c)
        i += 1
    return labels


def from_lists(args):
    """Operands and labels from ``einsum(x, [0, 1], y, [1], [0])``."""
    pairs, rest = args[:len(args) // 2 * 2], args[len(args) // 2 * 2:]
    return pairs[0::2], [from_list(labels) for labels in pairs[1::2]], from_list(rest[0]) if rest else None


def from_list(labels):
    found = []
    for label in labels:
        if label is Ellipsis:
            found.append(DOTS)
        elif not 0 <= label < len(LETTERS):
            raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
        else:
            found.append(LETTERS[label])
    return found


def check_count(given, operands):
    if given > operands:
        raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
    if given < operands:
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")


def expand_ellipsis(labels, x, i):
    """One label per dimension, with the ellipsis expanded (numbered from the end)."""
    ndim = x._a.ndim
    named = len(labels) - (DOTS in labels)
    if named > ndim or (DOTS not in labels and named < ndim):
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({named}) "
            + (f"does not match the number of dimensions ({ndim}) for operand {i} and no ellipsis was given"
               if DOTS not in labels else f"is more than the number of dimensions ({ndim}) for operand {i}")
        )
    return with_dots(labels, ndim - named)


def with_dots(labels, count):
    if DOTS not in labels:
        return list(labels)
    at = labels.index(DOTS)
    return [*labels[:at], *((DOTS, d) for d in range(count, 0, -1)), *labels[at + 1:]]


def output_labels(inputs, output):
    """The output's labels. Default: the ellipsis, then the labels that occur once, capitals first."""
    every = [label for labels in inputs for label in labels]
    dots = max((label[1] for label in every if type(label) is tuple), default=0)
    if output is None:
        once = sorted(label for label in every if type(label) is str and every.count(label) == 1)
        return with_dots([DOTS, *once], dots)
    seen = set(every)
    output = with_dots(output, dots)
    for label in output:
        if output.count(label) > 1:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
        if label not in seen:
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation for any input operand"
            )
    return output


def check_sizes(inputs, operands):
    sizes = {}
    for i, (labels, x) in enumerate(zip(inputs, operands, strict=True)):
        own = {}
        for label, n in zip(labels, x._a.shape, strict=True):
            if own.setdefault(label, n) != n:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {i} but the sizes don't match, "
                    f"{n} != {own[label]}"
                )
            before = sizes.get(label, 1)
            if before != n and 1 not in (before, n):
                raise RuntimeError(
                    f"einsum(): subscript {label if type(label) is str else DOTS} has size {n} for operand {i} which "
                    f"does not broadcast with previously seen size {before}"
                )
            sizes[label] = n if before == 1 else before


# ---- contracting


def contract(operands, inputs, output):
    x, labels = diagonal_of(operands[0], inputs[0])
    for i in range(1, len(operands)):
        later = set(output).union(*inputs[i + 1:])
        y, y_labels = diagonal_of(operands[i], inputs[i])
        x, labels = contract_pair(x, labels, y, y_labels, later)
    x, labels = sum_labels(x, labels, lambda label: label not in output)
    order = tuple(labels.index(label) for label in output)
    return x if order == tuple(range(len(order))) and len(operands) > 1 else permute(x, axes=order)


def diagonal_of(x, labels):
    """x with repeated labels reduced to one dimension: the diagonal."""
    labels = list(labels)
    while len(set(labels)) < len(labels):
        label = next(label for label in labels if labels.count(label) > 1)
        i = labels.index(label)
        j = labels.index(label, i + 1)
        rest = [d for d in range(len(labels)) if d not in (i, j)]
        n = x._a.shape[i]
        x = permute(x, axes=(*rest, i, j))
        lead = x._a.shape[:-2]
        x = basic_index(reshape_shared(x, (*lead, n * n)), key=(Ellipsis, slice(None, None, n + 1)))
        labels = [labels[d] for d in rest] + [label]
    return x, labels


def sum_labels(x, labels, unwanted):
    """x summed over the dimensions with unwanted labels."""
    axes = tuple(i for i, label in enumerate(labels) if unwanted(label))
    if not axes:
        return x, labels
    x, dtype = with_sum_dtype(x, None)
    return sum_(x, axis=axes, keepdims=False, dtype=dtype), [label for i, label in enumerate(labels) if i not in axes]


def squeeze_labels(x, labels, later):
    """x without the dimensions of size one that are not in `later`: summing over them would widen integers."""
    rest = [i for i, n in enumerate(x._a.shape) if n != 1 or labels[i] in later]
    if len(rest) == len(labels):
        return x, labels
    return reshape_shared(x, tuple(x._a.shape[i] for i in rest)), [labels[i] for i in rest]


def contract_pair(x, x_labels, y, y_labels, later):
    """The product of two operands, summed over the labels that are not in `later`."""
    if in_use.autocast:
        x, y = autocast("bmm", x, y)
    if differ(x._a, y._a):
        raise RuntimeError(f"expected scalar type {word(x._a)} but found {word(y._a)}")
    x, x_labels = squeeze_labels(x, x_labels, later)
    y, y_labels = squeeze_labels(y, y_labels, later)
    x_size = dict(zip(x_labels, x._a.shape, strict=True))
    y_size = dict(zip(y_labels, y._a.shape, strict=True))
    # A label that is summed and that only one side has (with size > 1) is summed there first.
    x, x_labels = sum_labels(x, x_labels, lambda label: label not in later and y_size.get(label, 1) == 1)
    y, y_labels = sum_labels(y, y_labels, lambda label: label not in later and (
        label not in x_labels or x_size[label] == 1))
    x, x_labels = sum_labels(x, x_labels, lambda label: label not in later and label not in y_labels)

    both = [label for label in x_labels if label in y_labels]
    batch = [label for label in both if label in later]
    inner = [label for label in both if label not in later]
    rows = [label for label in x_labels if label not in both]
    columns = [label for label in y_labels if label not in both]
    if not inner:
        return outer_product(x, x_labels, y, y_labels, batch, rows, columns)
    refuse_bool(x._a, "bmm")
    left = group_labels(x, x_labels, batch, rows, inner)
    right = group_labels(y, y_labels, batch, inner, columns)
    product = matmul_batched(left, right)
    lead = product._a.shape[:len(batch)]
    shape = (*lead, *(x_size[label] for label in rows), *(y_size[label] for label in columns))
    if product._a.shape != shape:
        product = reshape(product, shape=shape)
    return product, [*batch, *rows, *columns]


def group_labels(x, labels, batch, first, second):
    """x as a batch of matrices, with the labels of `first` as rows and those of `second` as columns."""
    x = permute(x, axes=tuple(labels.index(label) for label in (*batch, *first, *second)))
    if len(first) == 1 and len(second) == 1:
        return x
    shape, b, f = x._a.shape, len(batch), len(batch) + len(first)
    return reshape_shared(x, (*shape[:b], math.prod(shape[b:f]), math.prod(shape[f:])))


def outer_product(x, x_labels, y, y_labels, batch, rows, columns):
    """A broadcast multiplication, without summation."""
    x = permute(x, axes=tuple(x_labels.index(label) for label in (*batch, *rows)))
    y = permute(y, axes=tuple(y_labels.index(label) for label in (*batch, *columns)))
    if columns and rows:
        x = reshape_shared(x, (*x._a.shape, *(1,) * len(columns)))
        y = reshape_shared(y, (*y._a.shape[:len(batch)], *(1,) * len(rows), *y._a.shape[len(batch):]))
    elif rows:
        y = reshape_shared(y, (*y._a.shape, *(1,) * len(rows)))
    elif columns:
        x = reshape_shared(x, (*x._a.shape, *(1,) * len(columns)))
    return mul(x, y), [*batch, *rows, *columns]
