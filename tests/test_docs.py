"""The documentation is correct: every example runs, every public name has a docstring."""

import builtins
import importlib
import importlib.util
import inspect
import itertools
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import flambeau
from _docs import in_guide, in_source, run_example
from flambeau import nn

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "flambeau"
DOCS = ROOT / "docs"
GUIDES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
EXAMPLES = [example for path in sorted(SOURCE.rglob("*.py")) for example in in_source(path, SOURCE)]

LINK = re.compile(r"(?:\]\(|src=\")(?!https?:)([\w./-]+\.\w+)[)#\"]")  # of a Markdown text, to another file
FILE = re.compile(r"`([\w./]+(?:/|\.py))`")  # a path in backquotes: from the root, or inside the package
WRITTEN = {"bench/results/"}  # folders that are made by what they hold the results of
GENERATED = re.compile(r"(zh/)?(results|reference)/|pictures/")  # of docs/, when the site is built: mkdocs checks links to them
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r'src="[./]*(.+?)"')

INTERNAL = {  # modules that users do not import: what they define is public through another one, or not at all
    "functions": "flambeau and Tensor",
    "ops": "nothing",
    "engines": "nothing",
    "autograd.engine": "nothing",
    "transforms": "nothing",
    "multiprocessing.reductions": "nothing",
    "autograd.function": "autograd",
    "autograd.hooks": "Tensor",
    "nn.modules": "nn",
    "nn.parameter": "nn",
}
UNDOCUMENTED = {  # public names without a docstring, and why
}


# ---- examples


def names_for(example):
    """What an example may name without importing it: everything public of flambeau, nn and its own packages.

    Python's own names keep their meaning.
    """
    names = {}
    for module in (flambeau, nn, *packages_of(example)):
        names |= {name: value for name, value in vars(module).items() if name[:1] != "_" and not hasattr(builtins, name)}
    return {**names, "flambeau": flambeau, "torch": flambeau, "nn": nn, "F": nn.functional}


def packages_of(example):
    """flambeau.utils and flambeau.utils.data for what stands in flambeau/utils/data/sampler.py, say; none for what is internal."""
    first, *rest = example.path.with_suffix("").parts[1:]
    names = [] if first[:1] == "_" or first in INTERNAL else [first, *itertools.takewhile(lambda part: part[:1] != "_", rest[:-1])]
    return [importlib.import_module(".".join(["flambeau", *names[:depth]])) for depth in range(1, len(names) + 1)]


def mark_for(example):
    return pytest.param(example, id=f"{example.path}::{example.name}",
                        marks=[pytest.mark.jax] if {"export", "xla"} & set(example.path.parts) else [])


@pytest.mark.parametrize("example", [mark_for(example) for example in EXAMPLES])
def test_example_of_a_docstring(example):
    flambeau.manual_seed(0)
    assert not (report := run_example(example, names_for(example))), report


def name_of(path):
    return str(path.relative_to(ROOT).with_suffix(""))


def run_guide(path, *having):
    """In a process of its own: a guide may declare ops, add methods, change defaults."""
    command = [sys.executable, "-W", "error", "tests/_docs.py", str(path.relative_to(ROOT)), *having]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", GUIDES, ids=name_of)
def test_guide(path):
    run_guide(path)


@pytest.mark.oracle
@pytest.mark.jax
@pytest.mark.parametrize("path", [p for p in GUIDES if any(e.needs for e in in_guide(p))], ids=name_of)
def test_guide_with_torch_and_jax(path):
    run_guide(path, "torch", "jax")


@pytest.mark.parametrize("path", GUIDES, ids=name_of)
def test_files_that_a_guide_names(path):
    text = path.read_text()
    targets = [(path.parent / target).resolve() for target in LINK.findall(text)]
    lost = [target for target in targets if not target.exists() and not is_generated(target)]
    named = set(FILE.findall(text)) - WRITTEN
    lost += [name for name in named if not any((root / name).exists() for root in (ROOT, PACKAGE))]
    assert not lost, f"{path.name} names what is not there: {lost}"


def is_generated(path):
    return path.is_relative_to(DOCS) and GENERATED.match(path.relative_to(DOCS).as_posix())


CHINESE = {path.relative_to(DOCS / "zh").as_posix(): path for path in (DOCS / "zh").rglob("*.md")}
ENGLISH = {path.relative_to(DOCS).as_posix(): path for path in GUIDES[1:] if path not in CHINESE.values()}


def test_languages_have_the_same_pages():
    assert CHINESE.keys() == ENGLISH.keys()


@pytest.mark.parametrize("name", sorted(ENGLISH))
def test_languages_have_the_same_structure(name):
    english, chinese = ENGLISH[name].read_text(), CHINESE[name].read_text()
    assert BLOCK.findall(chinese) == BLOCK.findall(english)
    assert PICTURE.findall(chinese) == PICTURE.findall(english)
    assert headings(chinese) == headings(english)


def headings(text):
    """The levels of the headings, in order."""
    return re.findall("^#+(?= )", BLOCK.sub("", text), re.MULTILINE)


def test_site(tmp_path):
    """Builds without a warning, which links that lead nowhere would be; nothing is fetched by who reads it."""
    for package in ("mkdocs", "material"):
        pytest.importorskip(package, reason="the site is built with the extra docs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    for page in ("index.html", "zh/index.html", "zh/reference/flambeau.nn.html", "results/performance.html", "pictures/hooks.html"):
        assert (tmp_path / page).exists()
    fetched = re.compile(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"?(?:https?:)?//")
    assert [page.name for page in tmp_path.rglob("*.html") if fetched.search(page.read_text())] == []
    assert '<html lang="zh"' in (tmp_path / "zh" / "index.html").read_text()


# ---- docstrings


def public_modules():
    yield flambeau
    for found in pkgutil.walk_packages(flambeau.__path__, "flambeau."):
        path = found.name.removeprefix("flambeau.")
        hidden = any(part[:1] == "_" for part in path.split(".")) or needs_an_extra(path)
        if not hidden and not any(path == name or path.startswith(name + ".") for name in INTERNAL):
            yield importlib.import_module(found.name)


def needs_an_extra(path):
    """Whether a module cannot be imported here, for the package that it is written on is not installed."""
    return path.startswith("utils.tensorboard") and not importlib.util.find_spec("tensorboard")


def public_names():
    """{name: function, class, method or property} of everything that users are meant to use, each once."""
    found, seen = {}, set()
    for module in public_modules():
        for name in getattr(module, "__all__", [n for n in vars(module) if n[:1] != "_"]):
            value = getattr(module, name)
            ours = (getattr(value, "__module__", None) or "").partition(".")[0] in ("flambeau", "torch")
            if not ours or id(value) in seen or not (inspect.isclass(value) or inspect.isroutine(value)):
                continue
            seen.add(id(value))
            path = f"{module.__name__}.{name}"
            found[path] = value
            if inspect.isclass(value):
                found |= {f"{path}.{n}": getattr(value, n) for n in vars(value) if n[:1] != "_" and is_member(value, n)}
    return found


def is_member(cls, name):
    member = inspect.getattr_static(cls, name)
    return isinstance(member, property | classmethod | staticmethod) or inspect.isroutine(member)


def documented(value):
    """A class has a docstring of its own; a method may have that of the one it overrides."""
    return bool(vars(value).get("__doc__") if inspect.isclass(value) else inspect.getdoc(value))


def test_public_names_have_docstrings():
    lacking = {path for path, value in public_names().items() if not documented(value)}
    assert sorted(lacking - UNDOCUMENTED.keys()) == []
    assert sorted(UNDOCUMENTED.keys() - lacking) == [], "no longer exceptions"
