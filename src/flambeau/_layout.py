"""Memory layouts as integers: shapes and strides, in elements, and rules to compute them.

NumPy arrays have strides of their own; tensors of other engines store theirs as integers. On every engine, the same
rules determine the strides of a view, an elementwise result or a copy.
"""

from ._device import channels_last, channels_last_3d, contiguous_format, memory_format, preserve_format

# The dimensions of a channels-last tensor from the outermost to the innermost in memory.
CHANNELS_LAST = {channels_last: (0, 2, 3, 1), channels_last_3d: (0, 2, 3, 4, 1)}


def contiguous_strides(shape):
    """Row-major strides; empty dimensions count as size 1."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def dense_strides(shape, order):
    """The strides of a tensor without gaps whose dimensions, from the outermost to the innermost, are `order`."""
    strides, step = [0] * len(shape), 1
    for axis in reversed(order):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


def is_contiguous(shape, strides):
    """Whether the layout is row-major without gaps; dimensions of size 1 may have any stride."""
    return _is_dense_in(range(len(shape)), shape, strides)


def _is_dense_in(order, shape, strides):
    if 0 in shape:
        return True
    step = 1
    for axis in reversed(order):
        if shape[axis] != 1:
            if strides[axis] != step:
                return False
            step *= shape[axis]
    return True


def is_in_format(shape, strides, format):
    """Whether the layout matches a memory format without gaps."""
    order = CHANNELS_LAST.get(format)
    if order is None:
        return is_contiguous(shape, strides)
    return len(shape) == len(order) and 0 not in shape and _is_dense_in(order, shape, strides)


def format_of(shape, strides):
    """The memory format that the strides suggest; contiguous if they are ambiguous."""
    for format, order in CHANNELS_LAST.items():
        if len(shape) == len(order) and _suggests(shape, strides, order):
            return format
    return contiguous_format


def _suggests(shape, strides, order):
    if strides[1] == 0 or 0 in shape:
        return False
    least = 0
    for axis in reversed(order):
        if strides[axis] < least or (axis == 0 and least == strides[1]):
            return False
        least = strides[axis] * max(shape[axis], 1)
    return True


def check_format(format, ndim):
    """Raises unless `format` is possible for a tensor of `ndim` dimensions."""
    if not isinstance(format, memory_format):
        raise TypeError(f"argument 'memory_format' must be torch.memory_format, not {type(format).__name__}")
    order = CHANNELS_LAST.get(format)
    if order is not None and len(order) != ndim:
        raise RuntimeError(f"required rank {len(order)} tensor to use {format.name} format")


def strides_in(shape, strides, format):
    """The strides of a copy in a memory format; ``preserve_format`` follows the `strides` of the source."""
    if format is preserve_format:
        return preserved_strides(shape, strides)
    order = CHANNELS_LAST.get(format)
    return contiguous_strides(shape) if order is None else dense_strides(shape, order)


def preserved_strides(shape, strides):
    """The strides of a dense tensor that keeps the order of the dimensions."""
    if _is_dense(shape, strides):
        return strides
    return dense_strides(shape, order_of(shape, strides))


def _is_dense(shape, strides):
    """Whether the elements fill their memory without gaps or overlaps, in any order."""
    expected = 1
    for step, n in sorted(zip(strides, shape, strict=True)):
        if n != 1:
            if step != expected:
                return False
            expected *= n
    return True


def order_of(shape, strides):
    """The axes from outermost to innermost, by insertion sort; a stride of 0 compares with no other."""
    order = list(range(len(shape)))[::-1]  # from the innermost
    for last in range(1, len(order)):
        moving = last
        for i in reversed(range(last)):
            near, far = order[i], order[moving]
            if not strides[near] or not strides[far]:
                continue
            if strides[near] < strides[far]:
                break
            if (strides[near], shape[near]) > (strides[far], shape[far]):
                order[i], order[moving] = far, near
                moving = i
    return order[::-1]


def elementwise_strides(shape, operands):
    """The strides of an elementwise result of `shape`, which follows the operands' order of dimensions.

    `operands` are (shape, strides) pairs. As in NumPy, row-major order wins if operands disagree.
    """
    aligned = [align_strides(shape, *operand) for operand in operands]
    inward = list(range(len(shape)))[::-1]  # the axes from the innermost to the outermost
    for i in range(1, len(inward)):  # an insertion sort, since two axes may be incomparable
        axis, place = inward[i], i
        for j in reversed(range(i)):
            lies_inside = _lies_inside(axis, inward[j], aligned)
            if lies_inside is False:
                break
            if lies_inside:
                place = j
        inward.insert(place, inward.pop(i))
    return dense_strides(shape, inward[::-1])


def align_strides(shape, own, strides):
    """The strides of an operand broadcast to `shape`."""
    lead = len(shape) - len(own)
    return (0,) * lead + tuple([0 if n == 1 else s for n, s in zip(own, strides)])


def _lies_inside(axis, other, operands):
    """Whether `axis` is inside `other` in all operands whose strides tell; None if none does."""
    found = None
    for strides in operands:
        a, b = strides[axis], strides[other]
        if a and b:
            if abs(b) <= abs(a):
                return False
            found = True
    return found


def view_strides(shape, strides, new):
    """The strides of a view in shape `new` of memory with `shape` and `strides`; None if there is no such view.

    Adjacent old dimensions that are contiguous in memory form a block; each block must be split among
    consecutive new dimensions.
    """
    if not shape:
        return (1,) * len(new)
    out = [0] * len(new)
    at = len(new) - 1
    block, step = 1, strides[-1]
    for i in range(len(shape) - 1, -1, -1):
        block *= shape[i]
        if i and (shape[i - 1] == 1 or strides[i - 1] == block * step):
            continue
        filled = 1
        while at >= 0 and (filled < block or new[at] == 1):
            out[at] = filled * step
            filled *= new[at]
            at -= 1
        if filled != block:
            return None
        if i:
            block, step = 1, strides[i - 1]
    return tuple(out) if at < 0 else None


def is_expanded(shape, strides):
    """Whether a dimension has stride 0 and so repeats elements."""
    return 0 not in shape and any([s == 0 and n > 1 for s, n in zip(strides, shape)])


def overlaps(shape, strides):
    """Whether two indices may refer to the same memory location."""
    reach = 0
    for step, n in sorted(zip(strides, shape)):
        if n > 1:
            if step <= reach:
                return True
            reach += (n - 1) * step
    return False


def extent(shape, strides, offset=0):
    """The number of storage elements that a tensor spans, counted from the start of the storage."""
    return 0 if 0 in shape else offset + 1 + sum([(n - 1) * s for n, s in zip(shape, strides)])
