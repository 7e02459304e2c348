"""``flambeau inspect``: a page that shows a model, or compares two checkpoints."""

import importlib
import inspect as inspect_module
import os
import pickle
import runpy
import sys

from .. import alias
from ..functions.random import randint, randn
from ..inspection import compare, inspect
from ..nn.modules.module import Module

WRONG_TARGET = "flambeau inspect: expected FILE.py:NAME or MODULE:NAME, got {target!r}"
NO_NAME = "flambeau inspect: {file} has no {name!r}; its modules are: {found}"
NO_MODEL = "flambeau inspect: {name} must be a Module, a Module class or a function that returns one, but is a {kind}"
NEEDS_ARGUMENTS = (
    "flambeau inspect: {name}{signature} needs arguments ({error}): name a module, or a function without parameters "
    "that makes one"
)
WRONG_SHAPE = "flambeau inspect: --input must be sizes such as 1,3,32,32 (prefixed by i for integers), got {text!r}"


class Mistake(Exception):
    """A user error."""


def inspect_target(target, shapes, path):
    """Writes the page of a model defined in a file or module; returns the exit status."""
    try:
        model = model_of(target)
        inputs = [input_of(text) for text in shapes]
    except Mistake as error:
        print(error, file=sys.stderr)
        return 2
    page = inspect(model, *inputs, path=path)
    print(f"{page!r}\nwritten to {os.path.abspath(path)}")
    return 0


def compare_files(first, second, path):
    """Writes the page that compares two checkpoints; returns the exit status."""
    try:
        page = compare(first, second, path=path)
    except (OSError, TypeError, pickle.UnpicklingError) as error:
        print(f"flambeau inspect: {error}", file=sys.stderr)
        return 2
    states = [row["state"] for row in page.data["comparison"]]
    for state in dict.fromkeys(states):
        print(f"{states.count(state):6} {state}")
    print(f"written to {os.path.abspath(path)}")
    return 0


def model_of(target):
    """The model for ``file.py:Name``: a Module, or something that creates one without arguments."""
    place, _, name = target.rpartition(":")
    if not place or not name:
        raise Mistake(WRONG_TARGET.format(target=target))
    alias.install()
    if place.endswith(".py"):
        if not os.path.exists(place):
            raise Mistake(f"flambeau inspect: can't open file {place!r}")
        sys.path.insert(0, os.path.dirname(os.path.abspath(place)))
        names = runpy.run_path(place, run_name="__inspect__")
    else:
        sys.path.insert(0, os.getcwd())
        names = vars(importlib.import_module(place))
    if name not in names:
        found = [n for n, value in names.items() if isinstance(value, Module) or is_own_class(value, names)]
        raise Mistake(NO_NAME.format(file=place, name=name, found=", ".join(found) or "none"))
    value = names[name]
    model = value if isinstance(value, Module) or not callable(value) else construct(value, name)
    if not isinstance(model, Module):
        raise Mistake(NO_MODEL.format(name=name, kind=type(model).__name__))
    return model


def construct(function, name):
    """Calls a class or function without arguments."""
    try:
        signature = inspect_module.signature(function)
    except ValueError:  # for some builtins
        return function()
    try:
        signature.bind()
    except TypeError as error:
        raise Mistake(NEEDS_ARGUMENTS.format(name=name, signature=signature, error=error)) from None
    return function()


def is_own_class(value, names):
    """Whether a value is a module class defined in the file itself."""
    return isinstance(value, type) and issubclass(value, Module) and value.__module__ == names.get("__name__")


def input_of(text):
    """A random tensor for sizes such as ``1,3,32,32``, or of small integers for ``i2,16``."""
    kind, sizes = ("i", text[1:]) if text[:1] == "i" else ("f", text)
    try:
        shape = [int(n) for n in sizes.split(",")]
    except ValueError:
        raise Mistake(WRONG_SHAPE.format(text=text)) from None
    return randint(0, 2, shape) if kind == "i" else randn(shape)
