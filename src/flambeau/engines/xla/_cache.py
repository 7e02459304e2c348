"""The on-disk cache of compiled programs: jax's compilation cache, made robust.

Each entry is a file that is written atomically, so several processes can share a folder. A damaged entry is deleted,
and the program compiled again. The environment variable ``FLAMBEAU_CACHE`` sets another folder, or ``0`` for no cache;
jax's own settings (``JAX_COMPILATION_CACHE_DIR``) take precedence.
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
LARGEST = 4 << 30  # bytes in the folder; above, the least recently used entries are deleted
SETTINGS = {
    "jax_persistent_cache_min_compile_time_secs": 0.1,
    "jax_persistent_cache_min_entry_size_bytes": -1,
    "jax_persistent_cache_enable_xla_caches": "none",
}


def default_folder():
    """The user's cache folder."""
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
    """Whether a folder is writable; creates it if necessary."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError as error:
        log.info("compiled programs are not cached: %s", error)
        return False


def write_whole(file, contents):
    """Writes a file atomically; nothing remains if that fails."""
    descriptor, temporary = tempfile.mkstemp(".tmp", dir=file.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(contents)
        os.replace(temporary, file)
    except OSError:
        os.unlink(temporary)
        raise


class Folder:
    """A folder of entries, in jax's interface. Each file has the digest of its contents, then the contents."""

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
            log.info("deleted a damaged entry of the program cache: %s", file)
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
        except OSError as error:  # the disk is full or the folder gone: not needed to run
            log.info("a compiled program was not cached: %s", error)

    def make_room(self, size):
        """Deletes the least recently used entries if there is too much."""
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
    """Makes jax cache compiled programs, unless it has been configured; returns the cache, or None."""
    if jax.config.jax_compilation_cache_dir is not None or not jax.config.jax_enable_compilation_cache:
        return None
    folder = folder_from_environment()
    if folder is None or not is_usable(folder):
        return None
    for name, value in SETTINGS.items():
        jax.config.update(name, value)
    jax.config.update("jax_compilation_cache_dir", str(folder))
    others = getattr(cache_of_jax, "get_file_cache", None)  # without this function jax uses files of its own
    programs = with_prefetch(Folder(folder))

    def get_file_cache(path):
        return (programs, path) if path == str(folder) else others(path)

    cache_of_jax.get_file_cache = get_file_cache
    return programs


programs = install()


def load_ahead():
    """Starts loading the programs that the script used before. Called when jax knows its devices."""
    if isinstance(programs, Prefetch):
        programs.start()
