"""Compiled programs on disk, so that the next process finds them: jax's compilation cache, made safe for daily use.

Entries are files of their own that appear whole, so that several processes can share a folder. One that cannot be read
is deleted, and the program compiled again. ``FLAMBEAU_CACHE`` in the environment names another folder, or is ``0`` for
no cache; settings of jax itself (``JAX_COMPILATION_CACHE_DIR``) are left as they are.
"""

import contextlib
import hashlib
import logging
import os
import pathlib
import sys
import tempfile

import jax
from jax._src import compilation_cache as cache_of_jax

from ._prefetch import Prefetch, with_prefetch

log = logging.getLogger("flambeau.compiler")

DIGEST = hashlib.sha256().digest_size
LARGEST = 4 << 30  # bytes in the folder, above which the entries that were used least recently go
SETTINGS = {
    "jax_persistent_cache_min_compile_time_secs": 0.1,
    "jax_persistent_cache_min_entry_size_bytes": -1,
    "jax_persistent_cache_enable_xla_caches": "none",
}


def default_folder():
    """Where programs of a user keep what they can compute again."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or pathlib.Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = pathlib.Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "flambeau" / "programs"


def folder_from_environment():
    """The folder to use; None for no cache."""
    wanted = os.environ.get("FLAMBEAU_CACHE")
    if wanted is None:
        return default_folder()
    return None if wanted in ("", "0", "off") else pathlib.Path(wanted).expanduser()


def is_usable(folder):
    """Whether files can be written to a folder, which is created if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError as error:
        log.info("compiled programs are not kept: %s", error)
        return False


def write_whole(file, contents):
    """Writes a file that appears when it is complete; nothing stays behind if that fails."""
    descriptor, temporary = tempfile.mkstemp(".tmp", dir=file.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(contents)
        os.replace(temporary, file)
    except OSError:
        os.unlink(temporary)
        raise


class Folder:
    """A folder of entries, for jax. Each is a file: the digest of its contents, and the contents."""

    def __init__(self, path):
        self._path = self.path = pathlib.Path(path)

    def file_of(self, key):
        return self.path / f"{key}.program"

    def get(self, key):
        file = self.file_of(key)
        try:
            found = file.read_bytes()
        except OSError:
            return None
        digest, contents = found[:DIGEST], found[DIGEST:]
        if hashlib.sha256(contents).digest() != digest:
            log.info("a compiled program that cannot be read is deleted: %s", file)
            with contextlib.suppress(OSError):
                file.unlink()
            return None
        with contextlib.suppress(OSError):
            os.utime(file)
        return contents

    def put(self, key, contents):
        file = self.file_of(key)
        try:
            self.make_room(len(contents))
            write_whole(file, hashlib.sha256(contents).digest() + contents)
        except OSError as error:  # a full disk, a folder that is gone: the program runs all the same
            log.info("a compiled program is not kept: %s", error)

    def make_room(self, size):
        """Deletes the entries that were used least recently, as far as there is too much."""
        entries = []
        for file in self.path.glob("*.program"):
            with contextlib.suppress(OSError):
                entries.append((file.stat().st_mtime, file.stat().st_size, file))
        excess = sum([entry[1] for entry in entries]) + size - LARGEST
        for _, own, file in sorted(entries):
            if excess <= 0:
                break
            with contextlib.suppress(OSError):
                file.unlink()
                excess -= own

    def clear(self):
        for file in self.path.glob("*.program"):
            with contextlib.suppress(OSError):
                file.unlink()


def install():
    """Has jax cache compiled programs, unless it was configured with a folder itself; returns the cache, or None."""
    if jax.config.jax_compilation_cache_dir is not None or not jax.config.jax_enable_compilation_cache:
        return None
    folder = folder_from_environment()
    if folder is None or not is_usable(folder):
        return None
    for name, value in SETTINGS.items():
        jax.config.update(name, value)
    jax.config.update("jax_compilation_cache_dir", str(folder))
    others = getattr(cache_of_jax, "get_file_cache", None)  # if it is gone, there are jax's own files
    programs = with_prefetch(Folder(folder))

    def get_file_cache(path):
        return (programs, path) if path == str(folder) else others(path)

    cache_of_jax.get_file_cache = get_file_cache
    return programs


programs = install()


def load_ahead():
    """Begins to load the programs that the script has used before; jax knows its devices by now."""
    if isinstance(programs, Prefetch):
        programs.start()
