"""Reads the examples of docstrings and guides, and runs those of a guide:

    python tests/_docs.py docs/tour.md              # all blocks that need nothing but Flambeau
    python tests/_docs.py docs/tour.md torch jax    # and those that need torch or jax

A block of a guide opens with ```` ```python ````, and names after that word the packages that it needs. The blocks of a
guide run from top to bottom in one namespace, empty at first: a reader can paste them. A block with prompts is a
doctest; the output of the others is not looked at.
"""

import ast
import doctest
import re
import sys
import traceback
from pathlib import Path
from typing import NamedTuple
from unittest import mock

FENCE = re.compile(r"^```python([ \w]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTIONS = doctest.ELLIPSIS


class Example(NamedTuple):
    """A text with examples, and where it stands."""

    path: Path
    line: int
    name: str  # of the function or class it documents
    text: str
    needs: tuple[str, ...] = ()

    def __str__(self):
        return f"{self.path}:{self.line} {self.name}".rstrip()


def in_source(path, root):
    """Every string in a Python file that holds a prompt: docstrings, and those handed to a maker of functions."""
    found = []

    def visit(node, names):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and ">>> " in node.value:
            found.append(Example(path.relative_to(root), node.lineno, ".".join(names), node.value))
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names = (*names, node.name)
        for child in ast.iter_child_nodes(node):
            visit(child, names)

    visit(ast.parse(path.read_text()), ())
    return found


def in_guide(path):
    """The Python blocks of a Markdown file."""
    text = path.read_text()
    return [
        Example(path, text.count("\n", 0, block.start()) + 2, "", block[2], tuple(block[1].split()))
        for block in FENCE.finditer(text)
    ]


def run_example(example, names):
    """Runs the examples of a text in the namespace `names`; returns the report of what differs, empty if nothing."""
    report = []
    test = doctest.DocTestParser().get_doctest(example.text, names, str(example), str(example.path), example.line - 1)
    test.globs = names  # not a copy: the next block of a guide goes on with it
    runner = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False)
    with mock.patch.object(doctest.traceback, "format_exception_only", exception_text):
        runner.run(test, out=report.append, clear_globs=False)
    return "".join(report)


def exception_text(*error, format_only=traceback.format_exception_only):
    """The message and the notes of an exception as one piece: before 3.11.4 doctest compares nothing but the last."""
    return ["".join(format_only(*error))]


def run_guide(path, having=()):
    """Runs the blocks of a guide that need no other package than those of `having`; raises where one is wrong.

    Returns the names that they have defined.
    """
    names = {"__name__": "__main__"}
    for example in in_guide(path):
        if not set(example.needs) <= set(having):
            continue
        if ">>> " not in example.text:
            exec(compile("\n" * (example.line - 1) + example.text, str(path), "exec"), names)
        elif report := run_example(example, names):
            raise AssertionError(report)
    return names


if __name__ == "__main__":
    run_guide(Path(sys.argv[1]), sys.argv[2:])
