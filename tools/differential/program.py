"""Programs as data, and the machine that executes them on two libraries at once."""

from __future__ import annotations

import collections
import copy
import math
import pickle
import re
import warnings
from typing import NamedTuple

import numpy as np

from .compare import Disagreement, compare, synchronize
from .precision import is_rounding

HARMLESS = ("is_view", "version")  # kinds of differences after which a program may go on
# What a line may use beside `torch` and earlier results.
NAMES = {"inf": math.inf, "nan": math.nan, "copy": copy, "collections": collections, "pickle": pickle}


def header(text):
    """The lines that a program needs before it runs by itself."""
    lines = {
        "import collections": r"collections\.",
        "import pathlib": "mine",
        "import copy": r"copy\.",
        "import pickle": r"pickle\.",
        "from math import inf, nan": r"\b(inf|nan)\b",
        "torch.manual_seed(0)": r"nn\.|rand",
        "mine, theirs = map(pathlib.Path, ('ours', 'theirs'))  # exchanged for the other library": "mine",
    }
    return "".join(f"{line}\n" for line, words in lines.items() if re.search(words, text))


class Step(NamedTuple):
    """One line of a program: ``target = template``, where the template names its arguments in braces."""

    template: str
    arguments: dict[str, str] = {}
    target: str = ""

    @property
    def expression(self):
        return self.template.format(**self.arguments)

    @property
    def text(self):
        return f"{self.target} = {self.expression}" if self.target else self.expression


class Pair:
    """A program that runs on two libraries, step by step; they are compared after each."""

    def __init__(self, ours, theirs, folders=("", ""), is_deliberate=lambda disagreement: False):
        self.scopes = [{"torch": library, **NAMES} for library in (ours, theirs)]
        for scope, mine, other in zip(self.scopes, folders, reversed(folders)):
            scope.update(mine=mine, theirs=other)
            scope["torch"].manual_seed(0)
        self.hidden = {*self.scopes[0], "__builtins__", "__warningregistry__"}
        self.first_versions = {}
        self.is_deliberate = is_deliberate
        self.passed_over = set()  # (kind, where) of differences that were decided on, and change nothing that follows
        self.steps = []
        self.failed = False

    def do(self, step):
        """Executes a step. Returns the Disagreement that it shows, or None."""
        self.steps.append(step)
        code = compile(step.text, "program", "exec")
        got, want = (execute(code, scope) for scope in self.scopes)
        self.failed = want is not None or got is not None
        if self.failed:
            if class_name(got) == class_name(want):
                return None
            return Disagreement("exception", "", describe(got), describe(want), step, self)
        while (difference := compare(*self.values(), self.first_versions, self.is_excused)) is not None:
            disagreement = Disagreement(*difference, step, self)
            if disagreement.kind not in HARMLESS or not self.is_deliberate(disagreement):
                return disagreement
            self.passed_over.add((disagreement.kind, disagreement.where))
        synchronize(*self.values())
        return None

    def is_excused(self, kind, where):
        return (kind, where) in self.passed_over or is_rounding(self, kind, where)

    def values(self):
        """The variables of the program in both libraries, as {name: value}."""
        return [{name: v for name, v in scope.items() if name not in self.hidden} for scope in self.scopes]

    @property
    def oracle(self):
        """The variables as the second library has them: what the next step is drawn from."""
        return self.values()[1]

    @property
    def text(self):
        return "\n".join(step.text for step in self.steps)


def execute(code, scope):
    """The exception that the code raises, or None."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            exec(code, scope)
        except Exception as error:
            return error.with_traceback(None)
    return None


def class_name(error):
    """The public name: PyTorch's LinAlgError has an underscore in its own."""
    return type(error).__name__.lstrip("_")


def describe(error):
    if error is None:
        return "no exception"
    return f"{class_name(error)}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"[:300]
