"""How the arguments of templates are drawn: by the name in braces (digits at its end are dropped), and fitting {x}."""

import math

from .literals import KINDS, kind_of


def dim(w, x, row):
    """A dimension of x; now and then one that it has not."""
    n = max(x.ndim, 1)
    if w.seldom(40):
        return w.pick((str(n + 1), "torch.tensor(0)", "True"))
    return str(w.pick([*range(n), *range(-n, 0)]))


def dims(w, x, row):
    chosen = [d for d in range(x.ndim) if w.seldom(2)]
    return f"({''.join(f'{d}, ' for d in chosen)})" if chosen else "(-1,)"


def flag(w, x, row):
    return w.pick(("False", "True"))


def count(w, x, row):
    return str(w.integer(0, 3))


def positive_count(w, x, row):
    return str(w.integer(1, 3))


def length(w, x, row):
    return w.pick(("None", "3", "4", "1", "5", "2"))


def norm(w, x, row):
    return w.pick(("None", "'ortho'", "'forward'", "'backward'"))


def step(w, x, row):
    return w.pick(("1", "0.5", "2", "-1", "-0.75"))


def fraction(w, x, row):
    return w.pick(("0.5", "0.25", "1.0", "0.0", "0.9"))


def index(w, x, row):
    return str(w.pick((0, 1, -1, 2, -2)))


def number(w, x, row):
    """A Python number, now and then as a tensor."""
    chosen = plain_number(w, x, row)
    return f"torch.tensor({chosen})" if w.seldom(20) else chosen


def plain_number(w, x, row):
    options = ["2", "0.5", "-1", "3.0", "0", "True", "-2.5", "0.1"]
    if w.special:
        options += ["nan", "inf", "1e30", "300"]
    if "c" in row.kinds:
        options.append("(1+2j)")
    return w.pick(options)


def positive(w, x, row):
    return w.pick(("1.0", "0.5", "2", "3.0"))


def dtype(w, x, row):
    return f"torch.{w.dtype(row.kinds)}"


def other(w, x, row):
    """Something to compute with x: a tensor that broadcasts, or a number."""
    if w.seldom(4):
        return number(w, x, row)
    return peer(w, x, row)


def peer(w, x, row):
    """A tensor that broadcasts with x."""
    old = [name for name, v in w.tensors(row.kinds).items() if broadcasts(v.shape, x.shape)]
    if old and w.seldom(2):
        return w.pick(old)
    if w.seldom(20):
        return w.tensor(row.kinds)
    shape = [1 if w.seldom(5) else size for size in x.shape]
    shape = tuple(shape[w.integer(0, len(shape)) if w.seldom(5) else 0 :])
    return w.new(shape, kind_of(x) if not w.seldom(3) and kind_of(x) in row.kinds else row.kinds)


def same(w, x, row):
    """A tensor of the shape and dtype of x."""
    old = [name for name, v in w.tensors().items() if v.shape == x.shape and v.dtype == x.dtype]
    if old and w.seldom(3):
        return w.pick(old)
    return w.new(tuple(x.shape), dtype=str(x.dtype).removeprefix("torch."))


def mask(w, x, row):
    return w.new(tuple(1 if w.seldom(5) else size for size in x.shape), "b")


def positions(w, x, row):
    """Distinct indices into the first dimension of x, as a tensor."""
    size = x.shape[0] if x.ndim else 1
    chosen = [i for i in range(size) if not w.seldom(3)]
    if chosen and w.seldom(2):
        chosen = chosen[::-1]
    return f"torch.tensor({chosen}, dtype=torch.int64)"


def position(w, x, row):
    """One index into the first dimension of x, as a tensor."""
    return f"torch.tensor([{w.integer(0, max(x.shape[0] - 1 if x.ndim else 0, 0))}])"


def indices(w, x, row):
    """Indices along any dimension of x, with as many dimensions as x."""
    smallest = min(x.shape, default=1)
    shape = tuple(size if smallest and not w.seldom(5) else min(size, 1) for size in x.shape)
    numbers = [w.integer(0, max(smallest - 1, 0)) for _ in range(math.prod(shape))]
    return f"torch.tensor({numbers}, dtype=torch.int64).reshape({shape})"


def places(w, x, row):
    """Indices into x as if it were flat."""
    size = x.numel()
    chosen = [w.integer(-size, size - 1) for _ in range(w.integer(0, 3))] if size else []
    return f"torch.tensor({chosen}, dtype=torch.int64)"


def place(w, x, row):
    return f"torch.tensor([{w.integer(-x.numel(), max(x.numel() - 1, 0))}])"


def key(w, x, row):
    """A basic or advanced key into x."""
    parts = []
    for size in x.shape[: w.integer(0, x.ndim)]:
        parts.append(w.pick(basic_parts(size)) if w.seldom(2) else w.pick(advanced_parts(w, size)))
    if w.seldom(4) or not parts:
        parts.insert(w.integer(0, len(parts)), "...")
    return ", ".join(parts)


def basic_parts(size):
    if not size:
        return [":", "::2", "None"]
    return [":", "0", "-1", "::2", "1:", "None", "-2:", ":-1", "1::3", f"{size}:"]


def advanced_parts(w, size):
    """Lists and tensors of indices of several shapes and dtypes, masks, numbers as tensors."""
    mask = [not w.seldom(2) for _ in range(size)]
    found = [str(mask) if mask else ":", f"torch.tensor({mask}, dtype=torch.bool)", "True", "torch.tensor(False)", "[]",
             "torch.zeros(0, dtype=torch.int64)"]
    if size:
        last = size - 1
        found += [f"[{last}, 0]", f"torch.tensor([[0, {-size}], [{last}, -1]])", f"[[0, {last}]]", "(0,)", "range(1)",
                  f"torch.tensor([[{last}], [0]], dtype=torch.int32)", f"torch.tensor({last})", "[0, 0]"]
    if size not in (0, 2):  # two bytes would be a mask
        found.append(f"torch.tensor([{last}, 0], dtype=torch.uint8)")
    return found


def basic_key(w, x, row):
    """A key that makes a view."""
    parts = []
    for size in x.shape[: w.integer(0, x.ndim)]:
        parts.append(w.pick(basic_parts(size)))
    if w.seldom(4) or not parts:
        parts.insert(w.integer(0, len(parts)), "...")
    return ", ".join(parts)


def shape(w, x, row):
    """A shape with as many elements as x."""
    size = math.prod(x.shape)
    last = x.shape[-1] if x.ndim else 1
    options = ["(-1,)", str(tuple(x.shape)[::-1]), f"({size},)", f"(1, {size})", f"(-1, {last})"]
    if size % 2 == 0:
        options.append("(2, -1)")
    return w.pick(options)


def larger(w, x, row):
    """A shape that x expands to."""
    sizes = [w.pick((size, 2)) if size == 1 else size for size in x.shape]
    return str((*([2] if w.seldom(3) else []), *sizes))


def smaller(w, x, row):
    """A shape that expands to that of x."""
    sizes = [w.pick((size, 1)) for size in x.shape]
    return str(tuple(sizes[1:] if w.seldom(3) else sizes))


def vector(w, x, row):
    """A vector as long as the last dimension of x."""
    return w.new(tuple(x.shape[-1:]), dtype=str(x.dtype).removeprefix("torch."))


def order(w, x, row):
    """A permutation of the dimensions of x."""
    rest, chosen = list(range(x.ndim)), []
    while rest:
        chosen.append(rest.pop(w.integer(0, len(rest) - 1)))
    return str(tuple(chosen))


def right(w, x, row):
    """What x can be multiplied with as a matrix."""
    inner = x.shape[-1] if x.ndim else 1
    shape = w.pick([(inner, 2), (inner,), (inner, 1), (inner, 3)])
    if x.ndim == 3 and (row.x or w.seldom(2)):
        shape = (x.shape[0], inner, 2)
    return w.new(shape, dtype=str(x.dtype).removeprefix("torch."))


def out(w, x, row):
    """A tensor to write a result of about the shape of x to."""
    kinds = kind_of(x) if not w.seldom(4) else "fibc"
    dtype = str(x.dtype).removeprefix("torch.") if not w.seldom(4) else w.dtype(kinds)
    size = tuple(x.shape) if not w.seldom(5) else (0,)
    return w.new(size, dtype=dtype)


def outer_dtype(w, x, row):
    return f"torch.{w.pick(KINDS['f'] + KINDS['i'] + KINDS['b'] + KINDS['c'])}"


def contraction(w, x, row):
    """An equation of ``einsum``, x, and perhaps another operand."""
    letters = "abcdefg"
    left, sizes = "", {}
    for i, size in enumerate(x.shape):
        same = [letter for letter in left if sizes[letter] == size]
        letter = w.pick(same) if same and w.seldom(6) else letters[i]
        left, sizes[letter] = left + letter, size
    operands, names = [left], [row_name(w, x)]
    if not w.seldom(3):
        chosen = [letter for letter in dict.fromkeys(left) if not w.seldom(2)] + (["h"] if w.seldom(2) else [])
        sizes["h"] = w.size()
        chosen = chosen[::-1] if w.seldom(3) else chosen
        shape = tuple(1 if w.seldom(8) else sizes[letter] for letter in chosen)
        operands.append("".join(chosen))
        names.append(w.new(shape, dtype=str(x.dtype).removeprefix("torch.")))
    if w.seldom(5):
        operands[0] = "..." + operands[0][1:] if operands[0] else operands[0]
    used = dict.fromkeys("".join(operands).replace(".", ""))
    result = [letter for letter in used if not w.seldom(2)]
    result = "".join(result[::-1] if w.seldom(3) else result)
    dots = "..." if "..." in operands[0] and not w.seldom(3) else ""
    arrow = "" if w.seldom(4) else f"->{dots}{result}"
    return ", ".join([repr(",".join(operands) + arrow), *names])


def row_name(w, x):
    return next(name for name, value in w.pair.oracle.items() if value is x)


def broadcasts(left, right):
    return all(a == b or 1 in (a, b) for a, b in zip(reversed(left), reversed(right)))


ARGUMENTS = {
    "dim": dim,
    "dims": dims,
    "flag": flag,
    "count": count,
    "positive_count": positive_count,
    "length": length,
    "norm": norm,
    "step": step,
    "fraction": fraction,
    "index": index,
    "number": number,
    "plain_number": plain_number,
    "positive": positive,
    "dtype": dtype,
    "any_dtype": outer_dtype,
    "other": other,
    "peer": peer,
    "same": same,
    "mask": mask,
    "positions": positions,
    "position": position,
    "indices": indices,
    "places": places,
    "place": place,
    "key": key,
    "basic_key": basic_key,
    "shape": shape,
    "larger": larger,
    "smaller": smaller,
    "row": vector,
    "order": order,
    "right": right,
    "out": out,
    "contraction": contraction,
}
