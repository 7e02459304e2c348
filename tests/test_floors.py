"""The architecture: which files may import which, who writes to memory, and who dispatches on what.

The order of the floors is the table in docs/tour.md. Each rule has a list of exceptions, with the reason; an exception
that is not needed any more fails too.
"""

import ast
import json
import os
import re
import subprocess
import sys
import textwrap
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "flambeau"
FILES = sorted(PACKAGE.rglob("*.py"))
ROW = re.compile(r"^\| (\w+) \| (.+?) \| .+ \|$", re.MULTILINE)


def floors():
    """(name, files) of every floor, from the bottom to the top; from the tour."""
    text = (ROOT / "docs" / "tour.md").read_text()
    text = text[text.index("## The floors"):text.index("## How a call travels")]
    return [(name, re.findall(r"`([\w./]+)`", files)) for name, files in reversed(ROW.findall(text)) if name != "floor"]


FLOORS = floors()
NUMBERS = {file.rstrip("/").removesuffix(".py"): nr for nr, (_, files) in enumerate(FLOORS) for file in files}


class Import(NamedTuple):
    source: str  # the file, from the package on
    target: str  # the module, without "flambeau."
    name: str  # in the importing file


def name_of(path):
    return path.relative_to(PACKAGE).as_posix()


def floor_of(module):
    return NUMBERS.get(re.split(r"[./]", module)[0].removesuffix(".py"))


@cache
def nodes_of(path):
    return list(ast.walk(ast.parse(path.read_text())))


def imports_of(path):
    """All imports from the package, also those inside of functions."""
    package = path.relative_to(PACKAGE).parent.parts
    for node in nodes_of(path):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = package[: len(package) - node.level + 1] + tuple((node.module or "").split("."))
        for alias in node.names:
            parts = [part for part in base if part]
            folder = PACKAGE.joinpath(*parts, alias.name)
            if folder.is_dir() or folder.with_suffix(".py").is_file():
                parts.append(alias.name)
            yield Import(name_of(path), ".".join(parts), alias.asname or alias.name)


IMPORTS = [found for path in FILES for found in imports_of(path)]


def check(found, exceptions):
    """What was found are the exceptions: no more, and no fewer."""
    found, exceptions = set(found), set(exceptions)
    assert found <= exceptions, f"the tour does not allow this: {sorted(found - exceptions)}"
    assert exceptions <= found, f"exceptions that nobody needs any more: {sorted(exceptions - found)}"


# ---- imports


def test_every_module_has_a_floor():
    modules = {name_of(path).split("/")[0].removesuffix(".py") for path in FILES} - {"__init__"}
    assert modules == set(NUMBERS) - {"_kernels"}


def test_no_floor_imports_from_above():
    above = [
        f"{i.source}: {i.target}" for i in IMPORTS
        if i.source != "__init__.py" and floor_of(i.target or i.name) > floor_of(i.source)
    ]
    check(above, ())


WHOLE_PACKAGE = {
    "_C/__init__.py": "its names are those of the package",
    "_ops.py": "operators are found in the package by name",
    "alias/_finder.py": "it gives the modules of the package another name",
    "alias/site/torch/__init__.py": "a folder for sys.path, outside of the package",
    "fx/_code.py": "generated code names functions of the package",
    "fx/node.py": "the same",
    "vision/boxes.py": "written as a user's program is",
    "vision/deform.py": "the same",
    "vision/images.py": "the same",
    "vision/roi.py": "the same",
}
IMPORTS_BY_NAME = {
    "_lazy.py": "submodules that a package declares, when they are first asked for",
    "alias/__init__.py": "the modules of this package under the name torch",
    "alias/_finder.py": "the same",
    "alias/_paths.py": "the same",
    "amp/_casts.py": "the functions to cast for, by PyTorch's lists of names",
    "cli/_script.py": "the script's imports",
    "cli/doctor.py": "whether the extension was built",
    "cli/inspect.py": "the user's model",
    "engines/__init__.py": "an engine, when its device is first named",
    "engines/xla/__init__.py": "the files of its folder",
    "vision/__init__.py": "its submodules",
}
FINDS_MODULES = {
    "alias/__init__.py": "modules under the name torch",
    "alias/_classes.py": "the same",
    "engines/xla/_digests.py": "the module that a function says it is of",
    "engines/xla/_sources.py": "the modules that a program's code is of",
    "overrides.py": "the public functions, of any floor, that classes override",
    "utils/data/_iterators.py": "whether jax was imported",
    "compiler/_watch.py": "modules that the user's code imports",
}


def test_the_package_is_not_imported_as_a_whole():
    found = [
        name_of(path) for path in FILES for node in nodes_of(path)
        if (isinstance(node, ast.Import) and any(a.name.split(".")[0] == "flambeau" for a in node.names))
        or (isinstance(node, ast.ImportFrom) and not node.level and node.module.split(".")[0] == "flambeau")
    ]
    check(found, WHOLE_PACKAGE)


def test_no_module_is_looked_up_by_name():
    by_name = re.compile(r"\bimport_module\(|\b__import__\(")
    finds = re.compile(r"\bsys\.modules\b(?!\[(__name__|package|\"__main__\")\])|from sys import [^\n]*modules")
    check([name_of(path) for path in FILES if by_name.search(path.read_text())], IMPORTS_BY_NAME)
    check([name_of(path) for path in FILES if finds.search(path.read_text())], FINDS_MODULES)


BY_DEVICE = re.compile(r"\.type (==|!=|in|not in) |\bis (not )?(NUMPY|XLA|META)\b")
DEVICES_ASKED_FOR = {
    "ops/convert.py": "elements are not fetched for a device that wants none",
}


def test_ops_do_not_check_their_engine():
    """The families of ops; what calls them (``ops/_*.py``) knows the engine."""
    families = (PACKAGE / "ops").glob("[!_]*.py")
    check([name_of(path) for path in families if BY_DEVICE.search(path.read_text())], DEVICES_ASKED_FOR)


def test_kernels_are_reached_on_an_engine():
    folders = re.compile(r"engines\.(numpy|xla|meta)\b")
    check([f"{i.source}: {i.target}" for i in IMPORTS if folders.match(i.target) and floor_of(i.source) > floor_of("engines")], ())


def test_engines_are_independent():
    """NumPy's engine knows no other one; the others may use what it knows about NumPy's memory."""
    found = [
        f"{i.source}: {i.target}" for i in IMPORTS
        if i.source.startswith("engines/numpy/") and re.match(r"engines\.(xla|meta|_views)", i.target)
    ]
    check(found, ())


# ---- what is decided by the type of an array

OF_ARRAYS = re.compile(
    r"\bis (not )?(np\.|_)?ndarray\b|isinstance\([^\n]*(ndarray|ViewArray|MetaArray|jax\.Array)\b|is (not )?ViewArray"
)
TYPES_OF_ARRAYS = {
    "_storage.py": "a ViewArray is what storages show tensors that share elements",
    "_tensor.py": "wrap: arrays of NumPy have no storage until one is needed",
    "ops/_templates.py": "the generated calls: they are inline for NumPy",
    "ops/_calls.py": "the same of views",
    "ops/elementary.py": "an exponent that promotion has made an array of",
    "functions/_data.py": "arrays of the user's",
    "functions/from_data.py": "arrays of the user's",
    "functions/_key.py": "arrays of the user's, as indices",
    "functions/operators.py": "arrays of the user's, as operands",
    "utils/data/_utils/collate.py": "arrays of the user's, as samples",
    "utils/tensorboard/_convert_np.py": "arrays of the user's, to be logged",
    "compiler/_contents.py": "arrays of the user's, which a program depends on",
    "compiler/_pytree.py": "arrays of the user's, as arguments of a program",
    "compiler/_inputs.py": "the memory that tensors share",
    "compiler/_notes.py": "arrays of the user's, which a program has seen",
    "compiler/_lifted.py": "views inside of a trace",
}


def test_only_engines_dispatch_on_the_type_of_an_array():
    above = [path for path in FILES if name_of(path) != "__init__.py" and floor_of(name_of(path)) > floor_of("engines")]
    check([name_of(path) for path in above if OF_ARRAYS.search(path.read_text())], TYPES_OF_ARRAYS)


# ---- writes

COUNTS = {
    "_storage.py": "a storage begins to count",
    "autograd/_writes.py": "the one way to write",
    "compiler/_lifted.py": "a storage of a trace goes on counting where the one it stands for is",
    "compiler/_trace.py": "the same",
    "functions/_untyped_storage.py": "the copy of a storage goes on counting where that one is",
}
BY_MANY = {  # what sets the counts of many storages
    "_storage.py": "count_writes itself",
    "_slots.py": "their fallbacks in Python",
    "autograd/_writes.py": "fill_all and exchange_all",
}
FILLS = {
    "functions/_determinism.py": "memory that is new, and that nobody has seen",
}


def targets_of(nodes):
    """(what is assigned to, statement) of every assignment among the nodes of a file."""
    for node in nodes:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            for target in targets:
                for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                    yield part, node


def counts_writes(path):
    """Whether a file sets the version of a storage. Views have a version too: that of their place in the graph."""
    owners = [ast.unparse(target.value) for target, _ in targets_of(nodes_of(path))
              if isinstance(target, ast.Attribute) and target.attr == "version"]
    if name_of(path) == "_tensor.py":
        owners = [owner for owner in owners if owner != "self"]  # of a View
    return any(owner.split(".")[-1] not in ("view", "_view") for owner in owners)


def sets_by_name(path):
    """Whether a file sets the attribute "version" by its name."""
    return any(
        isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("setattr", "__setattr__")
        and any(isinstance(a, ast.Constant) and a.value == "version" for a in node.args) for node in nodes_of(path)
    )


def fills_memory(path):
    """Whether a file stores elements in the array of a tensor."""
    return any(
        isinstance(target, ast.Subscript) and isinstance(target.value, ast.Attribute) and target.value.attr == "_a"
        for target, _ in targets_of(nodes_of(path))
    )


def test_writes_are_counted_in_one_place():
    by_many = re.compile(r"\b(_storage\.count_writes|def count_writes\(storages|increment_slot|exchange_each|_storage\.WRITTEN)\b")
    check([name_of(path) for path in FILES if counts_writes(path)], COUNTS)
    check([name_of(path) for path in FILES if sets_by_name(path)], ())
    files = [path for path in FILES if not name_of(path).startswith(("serialization/", "engines/"))]
    check([name_of(path) for path in files if by_many.search(path.read_text())], BY_MANY)


def test_the_memory_of_tensors_is_filled_in_one_place():
    above = [path for path in FILES if name_of(path) != "__init__.py" and floor_of(name_of(path)) > floor_of("ops")]
    check([name_of(path) for path in above if fills_memory(path)], FILLS)


# ---- what upper floors do to lower ones

SET_FROM_ABOVE = {
    "compiler/_trace.py: Tensor": "while a trace runs, the slots of Tensor are watched",
}
SWITCHES = ("modes", "in_use")  # of _modes.py: they are there to be set


def names_from_below(path):
    own = name_of(path)
    return {i.name for i in IMPORTS if i.source == own and floor_of(i.target or i.name) < floor_of(own)}


def set_from_above(path):
    """The names imported from lower floors whose attributes a file sets; methods of Tensor are attached by `methods`."""
    below, attaching = names_from_below(path), name_of(path).startswith(("functions/", "autograd/", "_pickle", "overrides"))
    for node in nodes_of(path):
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "setattr":
            roots = [root_of(node.args[0])]
        elif isinstance(node, ast.Assign | ast.AugAssign):
            roots = [root_of(t) for t, _ in targets_of([node]) if isinstance(t, ast.Attribute | ast.Subscript)]
        else:
            continue
        for root in roots:
            if root in below and root not in SWITCHES and not (root == "Tensor" and attaching):
                yield f"{name_of(path)}: {root}"


def root_of(node):
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return getattr(node, "id", None)


def test_nothing_is_set_on_what_belongs_to_a_lower_floor():
    check([found for path in FILES if name_of(path) != "__init__.py" for found in set_from_above(path)], SET_FROM_ABOVE)


def test_bases_are_not_rewritten():
    found = [
        name_of(path) for path in FILES for target, _ in targets_of(nodes_of(path))
        if isinstance(target, ast.Attribute) and target.attr == "__bases__"
    ]
    check(found, ())


# ---- calls

UPWARDS = {
    "engines/_views.py: replay": "the steps of a view are ops; who replays them need not know them",
}
HANDED_UP = {  # what calls a function or an object that it was handed from above, without knowing whose it is
    **UPWARDS,
    "_fp_errors.py: call_without_fp_warnings": "a function to be run without warnings",
    "_modes.py: inside": "the function that no_grad and its like decorate",
    "_intercept.py": "the other body of a public function: here autocast's",
    "_format.py: _grad_suffix": "the name of a node, for its text",
    "_tape.py: _pull": "the vjps that ops have declared",
    "engines/levels.py": "what the array of a level stands for",
    "engines/numpy/random.py: _fill_normal_in_blocks": "the generator to draw from",
    "engines/numpy/random_tools.py: floats": "the same",
    "engines/numpy/shape.py: put_view": "the function that views an array",
    "ops/_calls.py: on_arrays": "the level of an array",
    "ops/_op.py: call": "the same",
    "ops/_codegen.py: call": "what an operator does with operands that are no tensors",
}


@cache
def frames(*having):
    """What tests/_frames.py prints, with the kernels in NumPy, which have frames to be seen.

    In a process of its own: a subclass of Tensor made by a test changes the paths.
    """
    command = [sys.executable, "-W", "error", "tests/_frames.py", *having]
    env = os.environ | {"FLAMBEAU_NATIVE": "0"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def written(title):
    """What the tour says: the files of a call by floor."""
    text = (ROOT / "docs" / "tour.md").read_text()
    return re.search(rf"^`{re.escape(title)}`(?:.+\n)+\n((?:    .+\n)+)", text, re.MULTILINE)[1]


def drawn(calls):
    """The files of a call by floor, from the top to the bottom, as the tour shows them."""
    files = dict.fromkeys(file for _, (file, _) in calls)
    lines = []
    for nr, (floor, _) in reversed(list(enumerate(FLOORS))[1:]):
        if own := [file for file in files if floor_of(file) == nr]:
            lines += textwrap.wrap(f"{floor:11}{', '.join(own)}", 120, initial_indent=" " * 4, subsequent_indent=" " * 15)
    return "\n".join(lines) + "\n"


CALLS = ["m(x)", "x[1:] += 2", pytest.param("compile(step)()", marks=pytest.mark.jax)]


@pytest.mark.parametrize("title", CALLS)
def test_the_tour_shows_the_files_of_a_call(title):
    files = drawn(frames(*["jax"] * ("compile" in title))[title])
    assert written(title) == files
    assert files in (ROOT / "docs" / "zh" / "tour.md").read_text()


def upward(calls):
    """"file: function" of those that call functions of floors above them."""
    return {f"{a[0]}: {a[1]}" for a, b in calls if a is not None and floor_of(b[0]) > floor_of(a[0])}


@pytest.mark.parametrize("title", CALLS)
def test_a_call_goes_downwards(title):
    assert upward(frames(*["jax"] * ("compile" in title))[title]) <= set(UPWARDS)


def test_a_session_goes_downwards():
    """However a function was found, as an import or as an attribute of an object: nobody calls one from above."""
    found = upward(frames()["a session"])
    check([name if name in HANDED_UP else name.split(":")[0] if name.split(":")[0] in HANDED_UP else name
           for name in found], HANDED_UP)
