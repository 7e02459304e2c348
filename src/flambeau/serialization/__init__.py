"""Checkpoints in PyTorch's format, without PyTorch.

A checkpoint is a zip archive (``_archive.py``): ``data.pkl`` is the pickled object, in which tensors refer to storages
by key, and ``data/<key>`` are the bytes of the storages. Tensors that share memory share a storage, in the file and
after loading. Loading is restricted by default: it creates only tensors and plain containers, and calls nothing else.
The format before PyTorch 1.6 can be read too, and written on request (``_legacy.py``). Plain pickling of tensors and
storages is implemented in ``_reduce.py``, and unpickling in ``_rebuild.py``. ``_files.py`` writes files atomically.
``safetensors`` reads and writes the format of that name.
"""

from .._lazy import lazy_submodules as _lazy_submodules
from ._load import load
from ._rebuild import _get_layout
from ._safe import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from ._save import save
from ._skip import skip_data

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save", "skip_data"]

DEFAULT_PROTOCOL = 2  # the pickle protocol of checkpoints

__getattr__, __dir__ = _lazy_submodules(__name__, ["safetensors"])
