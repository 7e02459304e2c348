"""The alias ``torch``, by which programs and libraries written for PyTorch import Flambeau.

``install()`` makes ``import torch`` and its submodules resolve to Flambeau, in this process and its child processes;
``uninstall()`` undoes that. ``flambeau run script.py`` installs it for one script, and ``flambeau torch install`` for a
virtual environment. An installed PyTorch is otherwise unaffected.
"""

import importlib
import os
import pathlib
import sys

from ._classes import restore_classes, name_classes
from ._finder import Absent, Finder, is_installed

__all__ = ["install", "is_installed", "replace_package", "uninstall"]

SITE = str(pathlib.Path(__file__).with_name("site"))  # contains a package torch that installs the alias on import

ALREADY_PYTORCH = (
    "PyTorch {version} is imported already, so `torch` cannot become another name of Flambeau in this process. Call "
    "flambeau.alias.install() before the first `import torch`."
)

_finder, _absent = Finder(), Absent()


def install():
    """Makes ``import torch`` resolve to Flambeau from now on."""
    if is_installed():
        return
    if "torch" in sys.modules:
        raise RuntimeError(ALREADY_PYTORCH.format(version=getattr(sys.modules["torch"], "__version__", "")))
    sys.meta_path.insert(0, _finder)
    sys.meta_path.append(_absent)
    name_classes()
    # Child processes find the package in SITE before an installed PyTorch.
    sys.path.insert(1, SITE)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), SITE]))


def uninstall():
    """Undoes ``install()``; modules already imported as torch keep working."""
    if not is_installed():
        return
    sys.meta_path.remove(_finder)
    sys.meta_path.remove(_absent)
    for name in [name for name in sys.modules if name == "torch" or name.startswith("torch.")]:
        del sys.modules[name]
    restore_classes()
    sys.path.remove(SITE)
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path != SITE]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)


def replace_package():
    """Called by the package in SITE during import: installs the alias, whose ``torch`` replaces that package."""
    sys.modules.pop("torch", None)
    install()
    importlib.import_module("torch")
