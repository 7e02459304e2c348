"""Finds the names of torch that a file uses, by static analysis.

Names are followed through imports (``import torch.nn.functional as F``, ``from torch import nn``), assignments
(``F = nn.functional``) and scopes. Ambiguous names are skipped: those bound in several ways, or to the result of a
call.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

# Conditions with one of these guard against missing names.
QUESTIONS = {
    "hasattr", "find_spec", "is_available", "is_built", "is_initialized", "is_scripting", "is_tracing", "is_compiling",
    "is_in_onnx_export", "device_count", "TYPE_CHECKING", "__version__", "version",
}
ABSENCES = {"AttributeError", "ImportError", "ModuleNotFoundError", "NotImplementedError"}
OTHER = ""  # the path of anything outside torch
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Use(NamedTuple):
    """A place where a name of torch is used."""

    path: str  # torch.nn.functional.relu
    line: int
    is_called: bool
    is_guarded: bool  # by a condition or an except clause that handles its absence


class Import(NamedTuple):
    """An imported module, and the names imported from it."""

    module: str
    level: int  # the number of leading dots
    names: tuple[str, ...]


class Scope:
    """The bindings of a function, class, comprehension or file."""

    def __init__(self, node):
        self.is_class = isinstance(node, ast.ClassDef)
        self.bindings: dict[str, set] = {}  # paths, or nodes that are evaluated lazily
        self.outer: set[str] = set()  # global and nonlocal names assigned here
        if isinstance(node, FUNCTIONS):
            for argument in ast.walk(node.args):
                if isinstance(argument, ast.arg):
                    self.bind(argument.arg, OTHER)
        for child in _own_children(node):
            self._collect(child)

    def bind(self, name, value):
        self.bindings.setdefault(name, set()).add(value)

    def _collect(self, node):
        """Records the bindings made by `node` and its descendants in the same scope."""
        match node:
            case ast.Import(names=names):
                for each in names:
                    top = each.name.partition(".")[0]
                    self.bind(each.asname or top, _path(each.name if each.asname else top))
            case ast.ImportFrom(module=module, names=names, level=level):
                for each in names:
                    self.bind(each.asname or each.name, OTHER if level else _path(f"{module}.{each.name}"))
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                self.bind(name, OTHER)
                return
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.bind(name, value)
                return
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                self.bind(name, OTHER)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                self.bind(name, OTHER)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                self.outer.update(names)
        if not isinstance(node, (ast.Lambda, *COMPREHENSIONS)):
            for child in ast.iter_child_nodes(node):
                self._collect(child)


def _own_children(node):
    """The child nodes in the scope that `node` opens."""
    match node:
        case ast.Lambda():
            return []
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return [each.target for each in node.generators]
        case _:
            return node.body


def _path(name):
    return name if name == "torch" or name.startswith("torch.") else OTHER


class Reader(ast.NodeVisitor):
    """Collects a file's uses of torch, its imports, and the attributes of unknown objects.

    Attributes:
        uses: list of Use.
        imports: list of Import.
        methods: {name: line} of attributes of non-modules, possibly of tensors.
        defined: paths of torch, and method names, that the program itself defines.
    """

    def __init__(self, tree):
        self.uses: list[Use] = []
        self.imports: list[Import] = []
        self.methods: dict[str, int] = {}
        self.defined: set[str] = set()
        self._scopes: list[Scope] = []
        self._guards = 0
        self._questions: set[str] = set()  # paths that the file checks with hasattr or getattr anywhere
        self._lazy_annotations = any(
            isinstance(node, ast.ImportFrom) and node.module == "__future__"
            and any(each.name == "annotations" for each in node.names) for node in tree.body
        )
        self._in_scope(tree, tree.body)
        self.uses = [use._replace(is_guarded=use.is_guarded or use.path in self._questions) for use in self.uses]

    # resolving names

    def path_of(self, node):
        """The path of torch that an expression refers to, OTHER if it is something else or ambiguous."""
        if isinstance(node, ast.Attribute):
            base = self.path_of(node.value)
            return f"{base}.{node.attr}" if base else OTHER
        if isinstance(node, ast.Name):
            return self._lookup(node.id)
        return OTHER

    def _lookup(self, name):
        for depth, scope in reversed([*enumerate(self._scopes, 1)]):
            if scope.is_class and depth < len(self._scopes):
                continue
            if name in scope.bindings and name not in scope.outer:
                return self._resolve(name, depth)
        return OTHER

    def _resolve(self, name, depth):
        """The single path that a name is bound to, as seen from the scope at `depth`.

        ``torch = None``, as a fallback for a failed import, does not count.
        """
        here, self._scopes = self._scopes, self._scopes[:depth]
        bindings = self._scopes[-1].bindings
        values, bindings[name] = bindings[name], {OTHER}  # stops at self-referential assignments
        bindings[name] = {value if isinstance(value, str) else self._value(value) for value in values} - {None}
        self._scopes = here
        return next(iter(bindings[name])) if len(bindings[name]) == 1 else OTHER

    def _value(self, node):
        return None if isinstance(node, ast.Constant) and node.value is None else self.path_of(node)

    # traversal

    def _in_scope(self, node, children):
        self._scopes.append(Scope(node))
        for child in children:
            self.visit(child)
        self._scopes.pop()

    def _visit_all(self, nodes):
        for node in nodes:
            if node is not None:
                self.visit(node)

    def visit_FunctionDef(self, node):
        self.defined.add(node.name)
        for decorator in node.decorator_list:
            self._add(decorator, is_called=True)
        self._visit_all([*node.args.defaults, *node.args.kw_defaults])
        if not self._lazy_annotations:
            arguments = [each for each in ast.walk(node.args) if isinstance(each, ast.arg)]
            self._visit_all([*(each.annotation for each in arguments), node.returns])
        self._in_scope(node, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node):
        self._visit_all([*node.args.defaults, *node.args.kw_defaults])
        self._in_scope(node, [node.body])

    def visit_ClassDef(self, node):
        self._visit_all([*node.decorator_list, *node.bases, *(each.value for each in node.keywords)])
        self._in_scope(node, node.body)

    def _visit_comprehension(self, node):
        self.visit(node.generators[0].iter)
        self._in_scope(node, ast.iter_child_nodes(node))

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension

    def visit_AnnAssign(self, node):
        self._visit_all([node.target, node.value, None if self._lazy_annotations else node.annotation])

    def visit_Import(self, node):
        for each in node.names:
            self.imports.append(Import(each.name, 0, ()))
            self._use(_path(each.name), node.lineno)

    def visit_ImportFrom(self, node):
        names = [each for each in node.names if each.name != "*"]
        self.imports.append(Import(node.module or "", node.level, tuple(each.name for each in names)))
        if not node.level and _path(node.module):
            self._use(node.module, node.lineno)
            for each in names:
                self._use(f"{node.module}.{each.name}", each.lineno)

    def visit_Call(self, node):
        self._note_question(node)
        self._add(node.func, is_called=True)
        self._visit_all([*node.args, *(each.value for each in node.keywords)])

    def visit_Name(self, node):
        self._add(node)

    def visit_Attribute(self, node):
        self._add(node)

    def _add(self, node, is_called=False):
        """Records the name or attribute chain `node`; visits other nodes."""
        if not isinstance(node, ast.Name | ast.Attribute):
            return self.visit(node)
        path, attribute = self.path_of(node), getattr(node, "attr", "")
        if not isinstance(node.ctx, ast.Load):
            self.defined.update({path, attribute} if attribute else ())
        elif path:
            self._use(path, node.end_lineno, is_called)
        elif attribute:
            self.methods.setdefault(attribute, node.end_lineno)
        if attribute and not path:
            self.visit(node.value)

    def _use(self, path, line, is_called=False):
        if path:
            self.uses.append(Use(path, line, is_called, self._guards > 0))

    # guards

    def _note_question(self, node):
        """Records ``hasattr(torch, "name")``, and getattr with a default; without one, getattr is a use."""
        match node:
            case ast.Call(func=ast.Name(id=function), args=[owner, ast.Constant(value=str(name)), *default]):
                path = self.path_of(owner)
                if path and (function == "hasattr" or (function == "getattr" and default)):
                    self._questions.add(f"{path}.{name}")
                elif path and function == "getattr":
                    self._use(f"{path}.{name}", node.lineno)

    def _visit_guarded(self, nodes):
        self._guards += 1
        self._visit_all(nodes)
        self._guards -= 1

    def visit_Try(self, node):
        caught = {name for handler in node.handlers for name in _names_in(handler.type)}
        only_imports = all(isinstance(each, ast.Import | ast.ImportFrom) for each in node.body)
        visit = self._visit_guarded if caught & ABSENCES or only_imports else self._visit_all
        visit([*node.body, *node.handlers, *node.orelse])
        self._visit_all(node.finalbody)

    def visit_If(self, node):
        self.visit(node.test)
        branches = [node.body, node.orelse] if isinstance(node, ast.IfExp) else [*node.body, *node.orelse]
        visit = self._visit_guarded if _names_in(node.test) & QUESTIONS else self._visit_all
        visit(branches)

    visit_IfExp = visit_If

    def visit_BoolOp(self, node):
        first, *rest = node.values
        self.visit(first)
        visit = self._visit_guarded if _names_in(first) & QUESTIONS else self._visit_all
        visit(rest)


def _names_in(node):
    """The names and attributes in an expression."""
    nodes = ast.walk(node) if node is not None else ()
    return {getattr(each, "id", None) or getattr(each, "attr", None) for each in nodes}
