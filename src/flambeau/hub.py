"""Models from directories, and state dicts from files and URLs."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import pathlib
import re
import sys
import tempfile
from urllib.parse import urlparse

from .serialization import load as _load_file

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
ENV_TORCH_HOME, ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR = "TORCH_HOME", "XDG_CACHE_HOME", "~/.cache"
NO_GITHUB = (
    "torch.hub loads from directories only: call it with source='local' and the path of a clone that has a hubconf.py "
    "in place of {repo!r}."
)
NO_ENTRY = "Cannot find callable {name} in hubconf"
NO_DEPENDENCY = "Missing dependencies: {names}"
WRONG_HASH = 'invalid hash value (expected "{expected}", got "{found}")'
BLOCK = 1 << 17

_directory: str | None = None


def get_dir():
    """The directory for downloads."""
    return _directory or os.path.join(_get_torch_home(), "hub")


def set_dir(d):
    """Sets the directory for downloads."""
    global _directory
    _directory = os.path.expanduser(d)


def _get_torch_home():
    cache = os.getenv(ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR)
    return os.path.expanduser(os.getenv(ENV_TORCH_HOME, os.path.join(cache, "torch")))


# ---- models


def _hubconf(repo, source):
    """The module ``hubconf`` of a directory."""
    if source != "local":
        raise NotImplementedError(NO_GITHUB.format(repo=repo))
    path = os.path.join(os.path.expanduser(repo), "hubconf.py")
    spec = importlib.util.spec_from_file_location("hubconf", path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(path))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(os.path.dirname(path))
    missing = [name for name in getattr(module, "dependencies", []) if importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(NO_DEPENDENCY.format(names=", ".join(missing)))
    return module


def _entry(repo, source, name):
    entry = getattr(_hubconf(repo, source), name, None)
    if not callable(entry):
        raise RuntimeError(NO_ENTRY.format(name=name))
    return entry


def load(repo_or_dir, model, *args, source="github", trust_repo=None, force_reload=False, verbose=True,
         skip_validation=False, **kwargs):
    """Calls the entry point `model` of a directory's hubconf.py."""
    return _entry(repo_or_dir, source, model)(*args, **kwargs)


def list(github, force_reload=False, skip_validation=False, trust_repo=None, verbose=True, source="github"):
    """The names of the entry points in a directory's hubconf.py."""
    return [name for name, value in vars(_hubconf(github, source)).items() if callable(value) and name[0] != "_"]


def help(github, model, force_reload=False, skip_validation=False, trust_repo=None, source="github"):
    """The docstring of an entry point."""
    return _entry(github, source, model).__doc__


# ---- files


def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    """Downloads to the file `dst`, which is created once complete, with a SHA-256 that begins with `hash_prefix`."""
    from urllib.request import Request, urlopen

    dst, digest = pathlib.Path(dst).expanduser(), hashlib.sha256()
    part = tempfile.NamedTemporaryFile(delete=False, dir=dst.parent, suffix=".partial")  # noqa: SIM115 (renamed below)
    try:
        with part, urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as response:
            while block := response.read(BLOCK):
                part.write(block)
                digest.update(block)
        if hash_prefix and not digest.hexdigest().startswith(hash_prefix):
            raise RuntimeError(WRONG_HASH.format(expected=hash_prefix, found=digest.hexdigest()))
        os.replace(part.name, dst)
    except BaseException:
        os.unlink(part.name)
        raise


def load_state_dict_from_url(url, model_dir=None, map_location=None, progress=True, check_hash=False, file_name=None,
                             weights_only=False):
    """Loads a file from a URL; a previous download is reused."""
    folder = pathlib.Path(model_dir or os.path.join(get_dir(), "checkpoints"))
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / (file_name or os.path.basename(urlparse(url).path))
    if not file.exists():
        found = HASH_REGEX.search(file.name) if check_hash else None
        download_url_to_file(url, file, found and found[1], progress)
    return _load_file(file, map_location=map_location, weights_only=weights_only)


class _Silent:
    """Replaces the progress bar if tqdm is not installed: shows nothing."""

    def __init__(self, iterable=None, *args, **kwargs):
        self.iterable = iterable

    def __iter__(self):
        return iter(self.iterable or ())

    def update(self, n=1):
        """Nothing to show."""

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return None


def __getattr__(name):
    if name != "tqdm":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        return _Silent
    return tqdm
