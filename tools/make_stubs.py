"""Writes the type stubs of the public surface from the running library.

Most methods of Tensor and many functions are attached or generated in loops, which type checkers and editors cannot
follow. The stubs declare them: names and signatures from the library itself, types from ``stub_types.py``.

    PYTHONPATH=src python tools/make_stubs.py
"""

import ast
import importlib
import inspect
import json
import pathlib
import re

from stub_types import (
    ALIASES,
    DUNDERS,
    EXCEPTIONS,
    FIELDS,
    FLAGS,
    OPERAND,
    PARAMETERS,
    PROPERTIES,
    RETURNS,
    SIGNATURES,
    SLOTS,
    SPREAD,
    STARRED,
)

import flambeau
from flambeau._tensor import Tensor
from flambeau.functions._results import Result

PACKAGE = pathlib.Path(flambeau.__file__).parent
HEAD = "# Written by tools/make_stubs.py from the running library: change that, or the library, and run it.\n"
WIDTH = 120
OF_FUNCTIONS = ("fft", "linalg", "nn.functional", "signal.windows", "special")  # modules of functions only

IMPORTS = {  # where the names in a stub come from; each stub imports those that it uses
    "collections.abc": ("Callable", "Iterator", "Sequence"),
    "contextlib": ("AbstractContextManager",),
    "typing": ("Any", "Literal", "NamedTuple", "Self", "TypeAlias", "overload"),
    "._generator": ("Generator",),
    "._hooks": ("RemovableHandle",),
    "._size": ("Size",),
    "._storage": ("Storage",),
    "._tensor": ("Tensor",),
    "._types": tuple(sorted(ALIASES, key=str.lower)),
    ".functions.storage": ("TypedStorage", "UntypedStorage"),
}


def stubs():
    """{path: text} of all stubs, as they should be now."""
    return {
        PACKAGE / "_types.pyi": aliases(),
        PACKAGE / "return_types.pyi": return_types(),
        PACKAGE / "_tensor.pyi": tensor_module(),
        PACKAGE / "__init__.pyi": top_module(),
        **dict(function_module(name) for name in OF_FUNCTIONS),
    }


# ---- the parts of a signature


def type_of(parameter, function, module=""):
    """The type of a parameter, by the tables or by its default."""
    name, default = parameter.name, parameter.default
    if parameter.kind is parameter.VAR_POSITIONAL:
        return STARRED.get(name, "Any")
    if name == "out":
        known = "Tensor" if returned(function, module) == "Tensor" else "Sequence[Tensor]"
    else:
        by_default = {bool: "Bool", int: "Int", float: "Float", str: "str"}.get(type(default), "Any")
        known = EXCEPTIONS.get(f"{function}.{name}") or PARAMETERS.get(name) or by_default
    return f"{known} | None" if default is None and known != "Any" and "None" not in known else known


def written(parameter, function, module=""):
    """A parameter as written in a stub."""
    star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    text = f"{star}{parameter.name}: {type_of(parameter, function, module)}"
    default = parameter.default
    if default is parameter.empty:
        return text
    if isinstance(default, str):
        return f"{text} = {json.dumps(default)}"
    plain = default is None or (isinstance(default, bool | int | float | tuple) and "inf" not in repr(default))
    return f"{text} = {default if plain else '...'}"


def listed(parameters, function, module="", first=None):
    """Parameters with the markers / and *; `first` replaces the first parameter."""
    texts, before = [], None
    for i, p in enumerate(parameters):
        if before is p.POSITIONAL_ONLY and p.kind is not p.POSITIONAL_ONLY:
            texts.append("/")
        if p.kind is p.KEYWORD_ONLY and before not in (p.KEYWORD_ONLY, p.VAR_POSITIONAL):
            texts.append("*")
        texts.append(first if i == 0 and first else written(p, function, module))
        before = p.kind
    return ", ".join([*texts, "/"] if before is inspect.Parameter.POSITIONAL_ONLY else texts)


def returned(function, module=""):
    """The type of a result."""
    if f"{module}_{function}" in NAMED:
        return f"return_types.{module}_{function}"
    return RETURNS.get(function) or (f"return_types.{function}" if function in NAMED else "Tensor")


def signatures(name, function, module="", method=False):
    """All overloads of a function, or of a method of Tensor, as "(parameters) -> result"."""
    parameters = list(inspect.signature(function).parameters.values())
    first = "self" if method else None
    result = "Self" if method and name.endswith("_") and not name.endswith("__") else returned(name, module)
    given = SIGNATURES.get(f"{'Tensor' if method else module}.{name}") or SIGNATURES.get(name) or []
    given = [text.replace("{x}", "self" if method else "input: Tensor").replace("{name}", name) for text in given]
    if name in SPREAD and any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return [*spread(name, parameters, result, first), *given]
    if given:
        return given
    flag = next((p for p in parameters if p.name in FLAGS), None)
    if flag is not None and result == "Tensor":
        return flagged(name, parameters, flag, first)
    return [f"({listed(parameters, name, module, first)}) -> {result}"]


def spread(name, parameters, result, first):
    """``f((2, 3))`` and ``f(2, 3)``."""
    argument = SPREAD[name]
    rest = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != argument]
    keywords = "".join(f", {written(p, name)}" for p in rest)
    own = [first] if first else []
    return [
        f"({', '.join([*own, f'{argument}: Sequence[Int]'])}{', *' if rest else ''}{keywords}) -> {result}",
        f"({', '.join([*own, f'*{argument}: Int'])}{keywords}) -> {result}",
    ]


def flagged(name, parameters, flag, first):
    """The overloads of a function whose result depends on a flag: off, on, or not known."""
    off = [p.replace(name="FLAG") if p is flag else p for p in parameters]
    on = [p for p in parameters if p is not flag and p.kind is not p.KEYWORD_ONLY]
    late = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p is not flag]
    on += [flag.replace(name="FLAG", kind=flag.KEYWORD_ONLY, default=flag.empty), *late]
    off_text, on_text = listed(off, name, first=first), listed(on, name, first=first)
    return [
        "(" + re.sub(r"FLAG: \w+ = False", f"{flag.name}: Literal[False] = False", off_text) + ") -> Tensor",
        "(" + re.sub(r"FLAG: \w+", f"{flag.name}: Literal[True]", on_text) + f") -> {FLAGS[flag.name]}",
        "(" + re.sub(r"FLAG: \w+", f"{flag.name}: Bool", off_text) + ") -> Any",
    ]


def definition(name, ways, indent="", decorator=None, ignore=""):
    """The lines of a function in a stub, one ``def`` per overload."""
    lines = []
    for way in ways:
        if decorator:
            lines.append(f"{indent}@{decorator}")
        if len(ways) > 1:
            lines.append(f"{indent}@overload")
        lines += wrapped(f"{indent}def {name}{way}: ...{ignore}", indent)
    return lines


def wrapped(line, indent):
    """A line that is too long, with its parameters on separate lines."""
    if len(line) <= WIDTH:
        return [line]
    head, rest = line.split("(", 1)
    parameters, tail = rest.rsplit(") ->", 1)
    lines = [""]
    for parameter in re.split(r", (?![^\[(]*[\])])", parameters):
        if len(indent) + 4 + len(lines[-1]) + len(parameter) + 1 > WIDTH:
            lines.append("")
        lines[-1] += f"{parameter}, "
    return [f"{head}(", *(f"{indent}    {line.rstrip()}" for line in lines), f"{indent}) ->{tail}"]


# ---- whole stubs


def stub(lines, depth=0, imports=(), own=()):
    """A stub of these lines, with the imports they need; `own` are names that the module defines."""
    text = "\n".join(lines) + "\n"
    needed = list(imports)
    for module, names in IMPORTS.items():
        used = [name for name in names if name not in own and re.search(rf"(?<![\w.]){name}\b", text)]
        if used:
            needed.append(f"from {'.' * depth if module[0] == '.' else ''}{module} import {', '.join(used)}")
    if "return_types." in text and "return_types" not in own:
        needed.append(f"from .{'.' * depth} import return_types as return_types")
    if re.search(r"\bnp\.", text):
        needed.append("import numpy as np")
    return HEAD + "\n" + "\n".join(ordered(needed)) + "\n\n" + text


def ordered(imports):
    """Imports in order: the standard library, NumPy, the package from the top level down."""

    def key(line):
        _, module, _, name, *_ = line.split()
        by_number = re.sub(r"\d+", lambda n: n[0].zfill(3), name.lower())  # int8 before int16
        return module.replace(".", " "), name[0].islower(), by_number  # classes first

    package = sorted((line for line in imports if line.startswith("from .")), key=key)
    numpy = [line for line in imports if line.startswith("import")]
    standard = sorted(line for line in imports if line.startswith("from") and line not in package)
    return [line for group in (standard, numpy, package) if group for line in [*group, ""]][:-1]


def aliases():
    lines = [f"{name}: TypeAlias = {meaning}" for name, meaning in ALIASES.items()]
    imports = ["from ._device import device, layout, memory_format", "from ._dtypes import dtype"]
    return stub(lines, imports=imports, own=ALIASES)


NAMED = {kind.__name__: kind for kind in Result.__subclasses__() if not kind.__name__.startswith("_")}


def return_types():
    lines = []
    for name, kind in sorted(NAMED.items()):
        lines += ["", f"class {name}(NamedTuple):"]
        lines += [f"    {field}: {FIELDS.get(f'{name}.{field}', 'Tensor')}" for field in kind._fields]
    return stub(lines[1:])


def function_module(name):
    """(path, text) of the stub of a module of functions."""
    module = importlib.import_module(f"flambeau.{name}")
    names = getattr(module, "__all__", None)
    if names is None:
        names = [n for n, v in vars(module).items() if not n.startswith("_") and not inspect.ismodule(v)]
    path = pathlib.Path(module.__file__).with_suffix(".pyi")
    depth = len(path.relative_to(PACKAGE).parts) - 1
    imports, lines = exported(module, names, name, depth)
    return path, stub(lines, depth, imports)


def exported(module, names, called, depth=0):
    """The imports and definitions for these names of a module."""
    imports, lines = [], []
    for name in sorted(set(names)):
        value = getattr(module, name)
        if inspect.isfunction(value) and "return" not in value.__annotations__:
            lines += definition(name, signatures(name, value, called))
        elif inspect.isfunction(value) or (inspect.isclass(value) and defined_in(value, name)):
            source = "." * (depth + 1) + value.__module__.partition(".")[2]
            imports.append(f"from {source} import {name} as {name}")
        else:
            lines.append(f"{name}: {constant_type(name, value)}")
    return imports, lines


def defined_in(kind, name):
    """Whether a class is defined literally in its module, so that type checkers can import it from there."""
    module = importlib.import_module(kind.__module__) if kind.__module__.startswith("flambeau") else None
    return module is not None and re.search(rf"^class {name}\b", inspect.getsource(module), re.MULTILINE) is not None


def constant_type(name, value):
    if isinstance(value, type):
        return "type[TypedStorage]" if name.endswith("Storage") else "type[Tensor]"
    kinds = {"dtype": "DType", "layout": "Layout", "memory_format": "MemoryFormat", "float": "Float", "int": "Int",
             "NoneType": "None", "Generator": "Generator", "str": "str"}
    return kinds.get(type(value).__name__, "Any")


def top_module():
    """The stub of ``flambeau`` itself: its imports, with star imports expanded, and its own names."""
    kept = {}  # name -> the import that type checkers can follow
    for node in ast.parse((PACKAGE / "__init__.py").read_text()).body:
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            name, source = alias.asname or alias.name, "." * node.level + (node.module or "")
            if alias.name != "*" and not name.startswith("_") and not inspect.isfunction(getattr(flambeau, name)):
                kept[name] = f"from {source} import {alias.name} as {name}"
    kept |= {name: f"from . import {name} as {name}" for name in flambeau._LAZY}
    kept |= {name: f"from .{home} import {name} as {name}" for name, home in flambeau._MEMBERS.items()}
    rest = [n for n, v in vars(flambeau).items() if n[0] != "_" and n not in kept and not inspect.ismodule(v)]
    imports, lines = exported(flambeau, rest, "flambeau")
    have = {*kept, *(line.split()[-1] for line in imports)}
    return stub([*lines, "__version__: str"], imports=[*kept.values(), *imports], own=have)


def tensor_module():
    """The stub of ``flambeau._tensor``: Tensor with everything attached to it, and the other names of the module."""
    module = importlib.import_module("flambeau._tensor")
    lines = []
    for node in ast.parse((PACKAGE / "_tensor.py").read_text()).body:
        if isinstance(node, ast.ClassDef):
            lines += ["", *(tensor_class() if node.name == "Tensor" else core_class(getattr(module, node.name))), ""]
        elif isinstance(node, ast.FunctionDef):
            result = {"wrap": "Tensor", "storage_of": "Storage"}.get(node.name, "Any")
            lines += definition(node.name, [core_signature(getattr(module, node.name), result)])
        elif isinstance(node, ast.Assign):
            name = node.targets[0].id
            lines.append(f"{name}: {constant_type(name, getattr(module, name))}")
    return stub(lines, imports=["from ._device import device as _device"], own={"Tensor"})


def core_class(kind):
    """An internal class: its attributes are not declared individually."""
    own = [core_signature(kind.__init__, "None")] if "__init__" in vars(kind) else []
    return [
        f"class {kind.__name__}:",
        *definition("__init__", own, "    "),
        "    def __getattr__(self, name: str) -> Any: ...",
        "    def __setattr__(self, name: str, value: Any) -> None: ...",
    ]


def core_signature(function, result):
    """The signature of something inside: names only."""
    parameters = inspect.signature(function).parameters.values()
    return f"({', '.join(anything(p) for p in parameters)}) -> {result}"


def anything(parameter):
    if parameter.name == "self":
        return "self"
    return f"{parameter.name}: Any" + ("" if parameter.default is parameter.empty else " = ...")


def tensor_class():
    lines = ["class Tensor:", "    __array_priority__: Int", *(f"    {name}: {type}" for name, type in SLOTS.items())]
    for name, value in sorted(vars(Tensor).items()):
        if isinstance(value, property):
            lines += attribute(name, value)
        elif name in DUNDERS:
            ignore = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
            lines += definition(name, [DUNDERS[name]], "    ", ignore=ignore)
        elif isinstance(value, staticmethod):
            lines += definition(name, [core_signature(value.__func__, "Any")], "    ", "staticmethod")
        elif inspect.isfunction(value):
            lines += definition(name, method(name, value), "    ")
    return lines


def method(name, function):
    if not name.startswith("__"):
        return signatures(name, function, method=True)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    if parameters and parameters[0].name in ("other", "exponent"):
        in_place = name[2] == "i" and hasattr(Tensor, f"__{name[3:]}")  # __iadd__, of __add__
        return [f"(self, other: {OPERAND}) -> {'Self' if in_place else 'Tensor'}"]
    return [f"({', '.join(['self', *map(anything, parameters)])}) -> {RETURNS.get(name, 'Tensor')}"]


def attribute(name, value):
    """A property, with its setter where it has one."""
    type = PROPERTIES.get(name, "Any").replace("device", "_device")
    lines = ["    @property", f"    def {name}(self) -> {type}: ..."]
    if value.fset is not None:
        lines += [f"    @{name}.setter", f"    def {name}(self, value: {type}) -> None: ..."]
    if value.fdel is not None:
        lines += [f"    @{name}.deleter", f"    def {name}(self) -> None: ..."]
    return lines


if __name__ == "__main__":
    for target, text in stubs().items():
        target.write_text(text)
        print(target.relative_to(PACKAGE.parent))
