"""``flambeau torch``: installs a distribution named torch in this environment, whose package is Flambeau.

It makes ``import torch`` resolve to Flambeau in every program of the environment, and satisfies requirements on
PyTorch. It is recorded as if installed by pip, so ``pip list``, ``pip check`` and ``pip uninstall torch`` work. To keep
pip from replacing it for libraries that require a later PyTorch, ``pip.conf`` of a virtual environment gets a
constraint.
"""

import base64
import hashlib
import importlib.metadata
import os
import pathlib
import shutil
import sys
import sysconfig

from ..alias import SITE
from ..alias._finder import VERSION, Distribution

METADATA = f"""\
Metadata-Version: 2.1
Name: torch
Version: {VERSION}
Summary: Flambeau under PyTorch's name
Requires-Dist: flambeau
"""
WHEEL = "Wheel-Version: 1.0\nGenerator: flambeau\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
CONSTRAINT = f"torch=={VERSION}\n"

IS_PYTORCH = (
    "flambeau torch: PyTorch {version} is installed in {where}. It stays; nothing was changed. To have Flambeau in its "
    "place here, `pip uninstall torch` first; `flambeau run script.py` needs neither."
)
IN_THE_WAY = "flambeau torch: {path} exists, and belongs to no distribution. Nothing was changed."
NO_ENVIRONMENT = (
    "flambeau torch: {prefix} is not a virtual environment, and programs of the system may use its packages. Create "
    "one (`python -m venv .venv`), or use `flambeau torch install --force`."
)
NOT_A_DISTRIBUTION = (
    "flambeau torch: Flambeau itself is not installed here, it is only on the path ({path}). `pip install` it into "
    "{prefix} first, where `import torch` will look for it."
)
INSTALLED = "torch {version} in {where} is Flambeau. `flambeau torch remove` or `pip uninstall torch` undo it."
HAS_CONFIGURATION = (
    "{path} exists and was not changed. Libraries that require a later PyTorch would have pip replace Flambeau; add to "
    "its section [install] the line:\nconstraint = {constraint}"
)
ABSENT = "no torch is installed in {prefix}"
NOT_OURS = "flambeau torch: " + ABSENT


def install(force=False):
    """Installs the distribution in this environment; returns the exit status."""
    found = find()
    where = pathlib.Path(sysconfig.get_path("purelib"))
    if found and not is_ours(found):
        return _refuse(IS_PYTORCH.format(version=found.version, where=_where(found)))
    if not found and (where / "torch").exists():
        return _refuse(IN_THE_WAY.format(path=where / "torch"))
    if not _in_environment() and not force:
        return _refuse(NO_ENVIRONMENT.format(prefix=sys.prefix))
    if not any(importlib.metadata.distributions(name="flambeau")):
        return _refuse(NOT_A_DISTRIBUTION.format(path=pathlib.Path(SITE).parents[2], prefix=sys.prefix))
    _write(where)
    print(INSTALLED.format(version=VERSION, where=where))
    return 0


def remove():
    """Removes the distribution from this environment; returns the exit status."""
    found = find()
    if not found:
        return _refuse(NOT_OURS.format(prefix=sys.prefix))
    if not is_ours(found):
        return _refuse(IS_PYTORCH.format(version=found.version, where=_where(found)))
    for path in {found.locate_file(file) for file in found.files or ()}:
        pathlib.Path(path).unlink(missing_ok=True)
    for folder in (found.locate_file("torch"), _info(_where(found))):
        shutil.rmtree(folder)
    return 0


def status():
    """Reports what ``import torch`` resolves to in this environment; returns 0 if it is Flambeau."""
    found = find()
    if not found:
        print(ABSENT.format(prefix=sys.prefix))
    elif is_ours(found):
        print(INSTALLED.format(version=found.version, where=_where(found)))
        return 0
    else:
        print(IS_PYTORCH.format(version=found.version, where=_where(found)).removeprefix("flambeau torch: "))
    return 1


def find():
    """The installed distribution named torch, or None; ignores the alias of this process."""
    found = importlib.metadata.distributions(name="torch")
    return next((each for each in found if not isinstance(each, Distribution)), None)


def is_ours(distribution):
    """Whether a distribution named torch is the one that forwards to Flambeau."""
    return distribution.version.endswith("+flambeau")


def _where(distribution):
    return pathlib.Path(distribution.locate_file(""))


def _info(where):
    return where / f"torch-{VERSION}.dist-info"


def _in_environment():
    return sys.prefix != sys.base_prefix


def _refuse(message):
    print(message, file=sys.stderr)
    return 1


def _write(where):
    """Writes the package and its dist-info to the folder `where`, and finally RECORD, which pip uninstalls by."""
    info = _info(where)
    files = {
        where / "torch" / "__init__.py": pathlib.Path(SITE, "torch", "__init__.py").read_text(),
        info / "METADATA": METADATA,
        info / "WHEEL": WHEEL,
        info / "INSTALLER": "flambeau\n",
        info / "REQUESTED": "",
        info / "top_level.txt": "torch\n",
        info / "constraints.txt": CONSTRAINT,
    }
    if _in_environment():
        files |= _configuration(info / "constraints.txt")
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    record = [_record(path, text, where) for path, text in files.items()]
    (info / "RECORD").write_text("".join(record) + f"{info.name}/RECORD,,\n")


def _configuration(constraint):
    """The environment's pip configuration with the constraint, as {path: text}; empty if there is another one."""
    path = pathlib.Path(sys.prefix, "pip.ini" if os.name == "nt" else "pip.conf")
    text = f"# Written by `flambeau torch install`, removed with it\n[install]\nconstraint = {constraint}\n"
    if path.exists() and path.read_text() != text:
        print(HAS_CONFIGURATION.format(path=path, constraint=constraint))
        return {}
    return {path: text}


def _record(path, text, where):
    """A line of RECORD: the path relative to site-packages, its hash and its size."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    name = os.path.relpath(path, where).replace(os.sep, "/")
    return f"{name},sha256={digest},{len(text.encode())}\n"
