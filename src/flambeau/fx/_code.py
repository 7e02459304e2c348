"""Generates Python code from graphs."""

from __future__ import annotations

import builtins
import keyword
import math
import operator
import re
from typing import Any

import flambeau

from .node import Node, qualified_name

SYMBOLS = {
    operator.add: "{} + {}", operator.sub: "{} - {}", operator.mul: "{} * {}", operator.floordiv: "{} // {}",
    operator.truediv: "{} / {}", operator.mod: "{} % {}", operator.pow: "{} ** {}", operator.lshift: "{} << {}",
    operator.rshift: "{} >> {}", operator.and_: "{} & {}", operator.or_: "{} | {}", operator.xor: "{} ^ {}",
    operator.getitem: "{}[{}]", operator.matmul: "{} @ {}", operator.eq: "{} == {}", operator.ne: "{} != {}",
    operator.lt: "{} < {}", operator.gt: "{} > {}", operator.le: "{} <= {}", operator.ge: "{} >= {}",
    operator.pos: "+{}", operator.neg: "-{}", operator.invert: "~{}",
}
INPLACE = {
    operator.iadd: "+=", operator.isub: "-=", operator.imul: "*=", operator.ifloordiv: "//=", operator.itruediv: "/=",
    operator.imod: "%=", operator.ipow: "**=", operator.iand: "&=", operator.ior: "|=", operator.ixor: "^=",
    operator.imatmul: "@=", operator.ilshift: "<<=", operator.irshift: ">>=",
}
ALWAYS_THERE = {"torch": flambeau, "device": flambeau.device, "inf": math.inf, "nan": math.nan}  # in the globals
WRITTEN_AS_REPR = (
    bool, int, float, complex, str, bytes, type(None), type(Ellipsis), flambeau.device, flambeau.dtype, flambeau.layout,
    flambeau.memory_format,
)
_ILLEGAL = re.compile("[^0-9a-zA-Z_]+")
_NUMBERED = re.compile(r"(.*)_(\d+)$")


class Namespace:
    """Generates unique names, with number suffixes for duplicates."""

    def __init__(self):
        self.used: set[str] = set()
        self._last: dict[str, int] = {}

    def create_name(self, candidate):
        """A free name similar to `candidate`, that is neither a keyword nor a builtin."""
        candidate = _ILLEGAL.sub("_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        found = _NUMBERED.match(candidate)
        base, number = (found[1], int(found[2])) if found else (candidate, None)
        name = candidate if number is None else f"{base}_{number}"
        if name in self.used or self._is_reserved(name):
            number = max(self._last.get(base, 0), number or 0)
            while name in self.used or self._is_reserved(name):
                number += 1
                name = f"{base}_{number}"
        self.used.add(name)
        self._last[base] = max(self._last.get(base, 0), number or 0)
        return name

    @staticmethod
    def _is_reserved(name):
        return name in keyword.kwlist or name in vars(builtins) or name in ("inf", "nan", "NoneType", "torch", "device")


def snake_case(text):
    """Converts ``BatchNorm`` to ``batch_norm``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text).lower()


class Writer:
    """Writes a graph as the source of a function ``forward``, with the globals it uses."""

    def __init__(self, root):
        self.root = root  # the name of the module in the code
        self.globals: dict[str, Any] = dict(ALWAYS_THERE)

    def function(self, nodes):
        """(source, globals) of the function."""
        last_uses = self._last_uses(nodes)
        inputs, lines = [], []
        for node in nodes:
            if node.op == "placeholder":
                inputs.append(node.target + (f" = {self.text(node.args[0])}" if node.args else ""))
                if node.target.lstrip("*") != node.name:
                    lines.append(f"{node.name} = {node.target.lstrip('*')}")
            elif node.op == "output":
                lines.append(f"return {self.text(node.args[0])}")
            else:
                dead = "".join(f"{user.name} = " for user in last_uses[node])
                after = f";  {dead}None" if dead else ""
                lines.append(self.statement(node) + after)
        if not any(node.op == "output" for node in nodes):
            lines.append("pass" if not lines else "return None")
        body = "".join(f"    {line}\n" for line in lines)
        return f"\n\n\ndef forward({', '.join(['self', *inputs])}):\n{body}    ", self.globals

    @staticmethod
    def _last_uses(nodes):
        """{node: the values whose last use it is}; unused values are deleted right away."""
        last, dead = {}, {node: [] for node in nodes}
        for node in reversed(nodes):
            for used in node.all_input_nodes:
                if used not in last:
                    last[used] = node
                    dead[node].append(used)
            if node.op not in ("placeholder", "output") and not node.users:
                dead[node].append(node)
        return dead

    def statement(self, node):
        """The assignment for a node."""
        args, target = node.args, node.target
        if node.op == "get_attr":
            return f"{node.name} = {path_text(self.root, target)}"
        if node.op == "call_module":
            return f"{node.name} = {path_text(self.root, target)}({self.arguments(args, node.kwargs)})"
        if node.op == "call_method":
            return f"{node.name} = {path_text(self.text(args[0]), target)}({self.arguments(args[1:], node.kwargs)})"
        if target in SYMBOLS and not node.kwargs and SYMBOLS[target].count("{}") == len(args):
            return f"{node.name} = {SYMBOLS[target].format(*map(self.text, args))}"
        if target in INPLACE:
            return f"{self.text(args[0])} {INPLACE[target]} {self.text(args[1])};  {node.name} = {self.text(args[0])}"
        if target is getattr and len(args) == 2 and isinstance(args[1], str) and args[1].isidentifier():
            return f"{node.name} = {path_text(self.text(args[0]), args[1])}"
        return f"{node.name} = {self.name_of(target)}({self.arguments(args, node.kwargs)})"

    def arguments(self, args, kwargs):
        return ", ".join([*map(self.text, args), *(f"{key} = {self.text(value)}" for key, value in kwargs.items())])

    def name_of(self, thing):
        """The expression that refers to a function or class."""
        name = qualified_name(thing)
        if name.startswith("torch.") and self._resolves(name, thing):
            return name
        if "." not in name and hasattr(builtins, name):
            return name
        name = f"_{name}" if name.startswith("operator.") else name
        return self._add_global(name.replace(".", "_"), thing)

    @staticmethod
    def _resolves(name, thing):
        found = flambeau
        for part in name.split(".")[1:]:
            found = getattr(found, part, None)
        return found is thing

    def _add_global(self, name, value):
        candidate, number = name, 0
        while self.globals.get(candidate, value) is not value:
            number += 1
            candidate = f"{name}_{number}"
        self.globals[candidate] = value
        return candidate

    def text(self, a):
        """An argument as an expression."""
        if isinstance(a, Node):
            return a.name
        if isinstance(a, tuple):
            if hasattr(a, "_fields"):
                return f"{self.name_of(type(a))}({', '.join(map(self.text, a))})"
            inner = ", ".join(map(self.text, a))
            return f"({inner},)" if len(a) == 1 else f"({inner})"
        if isinstance(a, list):
            return f"[{', '.join(map(self.text, a))}]"
        if isinstance(a, dict):
            return "{" + ", ".join(f"{key!r}: {self.text(value)}" for key, value in a.items()) + "}"
        if isinstance(a, slice):
            return f"slice({self.text(a.start)}, {self.text(a.stop)}, {self.text(a.step)})"
        if isinstance(a, WRITTEN_AS_REPR):
            return repr(a)
        if isinstance(a, type) or callable(a):
            return self.name_of(a)
        return self._add_global(f"_constant_{type(a).__name__}", a)


def path_text(root, path):
    """``root.layer1`` and so on, with getattr for non-identifiers, such as the children of Sequential."""
    for part in path.split("."):
        root = f"{root}.{part}" if part.isidentifier() and not keyword.iskeyword(part) else f'getattr({root}, "{part}")'
    return root
