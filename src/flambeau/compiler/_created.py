"""Objects that a function creates and returns, or stores: each run of a program must create new ones."""

import functools
import types

from .._tensor import Tensor
from ..nn.modules.module import Module
from ._contents import CONTAINERS
from ._notes import PARTS
from ._patches import is_watched
from ._trust import advances, is_constant, is_foreign, is_ours, is_users


def is_new(notes, value):
    """Whether the function has created an object that a program can rebuild around other tensors."""
    kind = type(value)
    if kind is types.SimpleNamespace:
        return id(value) not in notes.contents
    if isinstance(value, (*CONTAINERS, Module)):
        return False
    if id(value) in notes.created:
        return is_users(kind) or is_watched(kind)
    return is_watched(kind) and is_users(kind) and id(value) not in notes.reached  # its class has no __init__


def attributes_of(value):
    """The attributes of an object by name, including those in slots."""
    members = [name for cls in type(value).__mro__ for name, member in vars(cls).items()
               if isinstance(member, types.MemberDescriptorType) and name != "__dict__"]
    return {name: getattr(value, name) for name in members if hasattr(value, name)} | getattr(value, "__dict__", {})


def is_unrepeatable(notes, value):
    """Whether the function has created a value that a program can neither rebuild nor share."""
    if isinstance(value, types.FunctionType):
        is_known = id(value) in notes.functions or is_foreign(value.__module__) or not value.__closure__
        return not is_known
    if isinstance(value, functools.partial):
        parts = (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, types.MethodType):
        parts = value.__self__, value.__func__
    elif type(value) in PARTS:
        parts = PARTS[type(value)](value)
    else:
        if isinstance(value, Tensor):
            return id(value) not in notes.tensors
        if id(value) in notes.created or advances(value):
            return True
        is_known = id(value) in notes.contents or id(value) in notes.reached or id(value) in notes.objects
        return not (is_known or is_constant(value) or isinstance(value, types.ModuleType | Module)
                    or is_ours(type(value).__module__) or is_users(type(value)))
    return any(is_unrepeatable(notes, part) for part in parts)
