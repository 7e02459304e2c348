"""Draws the steps of one program: tensors of all shapes, layouts, dtypes and values, and the arguments of templates."""

from __future__ import annotations

import math
import re
import string
from typing import NamedTuple

from hypothesis import strategies as st

from .arguments import ARGUMENTS
from .literals import EXTREME, KIND_OF, KINDS, LIMITS, MILD, SPECIAL, VALUES, is_mild, kind_of, nested
from .program import Step
from .subjects import SUBJECTS

FIELD = re.compile(r"\{(\w+)\}")
ALTERNATIVES = re.compile(r"\{([^{}|]*\|[^{}]*)\}")  # {this|that}, of which one is drawn


class Found(Exception):
    """Both libraries did something else at the last step."""

    def __init__(self, disagreement):
        self.disagreement = disagreement


class Over(Exception):
    """The program has come to its end, for instance by an exception that both libraries raise."""


class Row(NamedTuple):
    """One entry of a table of templates."""

    template: str
    kinds: str = "fibc"  # kinds of dtypes that {x} may have
    mild: bool = False  # the inputs are to be small numbers: the result depends on the order of summation otherwise
    x: str = ""  # how {x} is drawn (`subjects.py`), if not any tensor will do


def rows(kinds, template, names="", mild=False, x=""):
    """One row for each of the names, which stand for NAME in the template."""
    return [Row(template.replace("NAME", name), kinds, mild, x) for name in names.split() or [""]]


class Writer:
    """Writes one program: draws steps by hypothesis, and executes them as it goes."""

    def __init__(self, draw, pair, special=True):
        self.draw = draw
        self.pair = pair
        self.special = special  # whether values may be non-finite or extreme
        self.names = iter([*string.ascii_lowercase, *(f"v{i}" for i in range(100))])

    # Choices. All of them shrink to the first, that is the simplest.

    def integer(self, low, high):
        return self.draw(st.integers(low, high))

    def pick(self, options):
        return options[self.integer(0, len(options) - 1)]

    def seldom(self, one_in):
        return self.integer(0, one_in - 1) == one_in - 1

    def choose(self, text):
        """A text with a field in the place of each {this|that}, and {field: what was drawn}."""
        chosen = {}

        def field(match):
            name = f"choice{len(chosen)}"
            chosen[name] = self.pick(match[1].split("|"))
            return f"{{{name}}}"

        return ALTERNATIVES.sub(field, text), chosen

    # Steps.

    def do(self, template, target=None, **arguments):
        """Executes a step, and returns the name of its result; target="" if it has none."""
        target = next(self.names) if target is None else target
        step = Step(template, arguments, target)
        disagreement = self.pair.do(step)
        if disagreement is not None:
            raise Found(disagreement)
        if self.pair.failed:
            raise Over
        return target

    def apply(self, row, target=None, **arguments):
        """Draws what a template needs, and executes it."""
        template, chosen = self.choose(row.template)
        row, arguments = row._replace(template=template), {**arguments, **chosen}
        mild, self.special = self.special, self.special and not row.mild
        try:
            for field in sorted(FIELD.findall(row.template), key=lambda field: field != "x"):
                if field not in arguments:
                    arguments[field] = self.argument(field, row, arguments)
        finally:
            self.special = mild
        return self.do(row.template, target, **arguments)

    def argument(self, field, row, arguments):
        if field == "x":
            return SUBJECTS[row.x](self, row) if row.x else self.tensor(row.kinds)
        x = self.tensors()[arguments["x"]] if "x" in arguments else None
        return ARGUMENTS[field.rstrip("0123456789")](self, x, row)

    # Tensors.

    def tensors(self, kinds="fibc"):
        """{name: the oracle's tensor} of the variables of these kinds."""
        found = {name: v for name, v in self.pair.oracle.items() if hasattr(v, "untyped_storage")}
        return {name: v for name, v in found.items() if kind_of(v) in kinds}

    def tensor(self, kinds="fibc", suits=lambda tensor: True, least=0, most=4):
        """The name of a tensor, an old one or one that is made now."""
        if self.seldom(25):
            kinds = "fibc"
        old = [name for name, v in self.tensors(kinds).items() if suits(v) and (self.special or is_mild(v))]
        if old and not self.seldom(4):
            return self.pick(old[::-1])
        return self.new(self.shape(least, most), kinds)

    def size(self):
        return self.pick((2, 3, 1, 4, 2, 0))

    def shape(self, least=0, most=4):
        return tuple(self.size() for _ in range(self.pick([n for n in (1, 2, 2, 0, 3, 4) if least <= n <= most])))

    def dtype(self, kinds):
        return self.pick(KINDS[self.pick([kind for kind in "fibc" if kind in kinds])])

    def new(self, shape, kinds="f", dtype=None, suffix=""):
        """Makes a tensor of a shape, in some layout."""
        dtype = dtype or self.dtype(kinds)
        before, layout = self.layout(shape)
        return self.do(self.literal(before, dtype) + layout + suffix)

    def layout(self, shape):
        """The shape of a contiguous tensor, and what turns it into one of `shape` with other strides."""
        options = [(shape, "")]
        if shape:
            options += [((*shape[:-1], 2 * shape[-1]), "[..., ::2]"), ((shape[0] + 1, *shape[1:]), "[1:]")]
        if len(shape) >= 2:
            options.append(((*shape[:-2], shape[-1], shape[-2]), ".transpose(-1, -2)"))
            options.append(((1, *shape[1:]), f".expand{shape}"))
        if len(shape) == 4:
            options.append((shape, ".contiguous(memory_format=torch.channels_last)"))
        return self.pick(options) if self.seldom(2) else options[0]

    def literal(self, shape, dtype):
        """An expression that makes a contiguous tensor."""
        size = math.prod(shape)
        if size == 0:
            return f"torch.zeros({shape}, dtype=torch.{dtype})"
        if size > 8:
            return f"(torch.arange({size}) % 7 - 3).to(torch.{dtype}).reshape{shape}"
        if KIND_OF[dtype] == "f" and self.special and self.seldom(3):
            values = (*MILD[:3], *SPECIAL, *EXTREME[dtype])
        elif KIND_OF[dtype] == "i" and self.special and self.seldom(3):
            values = (1, 0, *LIMITS[dtype])
        else:
            values = VALUES[KIND_OF[dtype]] if dtype != "uint8" else (1, 0, 2, 3, 4)
        return f"torch.tensor({nested([self.pick(values) for _ in range(size)], shape)}, dtype=torch.{dtype})"
