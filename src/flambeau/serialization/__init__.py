"""Checkpoints in PyTorch's format, written and read without PyTorch.

A checkpoint is a zip archive (``_archive.py``): ``data.pkl`` is the pickled object, in which each tensor refers to a
storage by a key, and ``data/<key>`` are the bytes of the storages. Tensors that share memory share a storage, in the
file and after loading. Loading is restricted by default: only tensors and plain containers are made, nothing else can
be called. Files of the format before PyTorch 1.6 are read too, and written if asked for (``_legacy.py``). Plain pickles
of tensors and storages are taken apart in ``_reduce.py``, and made in ``_rebuild.py``. How a file comes to its place on
the disk is in ``_files.py``. ``safetensors`` reads and writes the format of that name.
"""

from .._lazy import lazy_submodules as _lazy_submodules
from ._load import load
from ._rebuild import _get_layout
from ._safe import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from ._save import save
from ._skip import skip_data

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save", "skip_data"]

DEFAULT_PROTOCOL = 2  # of pickle, in checkpoints

__getattr__, __dir__ = _lazy_submodules(__name__, ["safetensors"])
