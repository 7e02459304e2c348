"""Writes checkpoint files atomically.

A regular file is replaced: the new one is written next to it and renamed when complete, with the mode, owner and
extended attributes of the old one, so the old checkpoint exists until the new one does. Symbolic links are followed.
What cannot be replaced is overwritten:

- pipes, terminals and other devices;
- a file with several hard links, one whose owner cannot be preserved, and one in an unwritable folder. The new contents
  are first completed in a second file, which is kept if overwriting fails.
"""

import contextlib
import errno
import os
import secrets
import shutil
import stat

NO_FOLDER = "Parent directory {folder} does not exist."
NOT_WRITTEN = "save(): open file failed with strerror: {why}: {path!r} cannot be written."
HALF_WRITTEN = "save(): {path!r} could be overwritten only in part: {why}. The complete checkpoint is in {draft!r}."

_MAX_LINKS = 40
_OPEN_FILES = "/proc/self/fd"


def write_file(path, write):
    """Calls ``write(file)`` to write the contents of the file at `path`."""
    try:
        _write_file(os.fsdecode(path), write)
    except OSError as error:
        raise RuntimeError(NOT_WRITTEN.format(path=path, why=error.strerror or error)) from error


def _write_file(path, write):
    place = _follow(path)
    old = _status(place)
    if place is None or (old is not None and not stat.S_ISREG(old.st_mode)):
        with open(path, "wb") as file:
            write(file)
        return
    if old is not None and not os.access(place, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    if old is None or old.st_nlink == 1:
        with contextlib.suppress(_CannotReplace):
            return _replace(place, old, write)
    _overwrite(place, write)


def _follow(path):
    """Resolves symbolic links; None for an open file of a process, such as /dev/stdout."""
    for _ in range(_MAX_LINKS):
        folder = os.path.realpath(os.path.dirname(path) or os.curdir)
        if folder.startswith("/proc/"):
            return None
        if not os.path.isdir(folder):
            raise RuntimeError(NO_FOLDER.format(folder=folder))
        path = os.path.join(folder, os.path.basename(path))
        if not os.path.islink(path):
            return path
        path = os.path.join(folder, os.readlink(path))
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)


def _status(place):
    """The ``stat`` of a path, or None."""
    try:
        return None if place is None else os.stat(place)
    except FileNotFoundError:
        return None


class _CannotReplace(Exception):
    """The file must be overwritten because it cannot be replaced."""


def _replace(place, old, write):
    """Replaces a file atomically."""
    try:
        draft = _Draft(os.path.dirname(place), 0o666 if old is None else 0o600)
    except PermissionError:
        if old is None:
            raise
        raise _CannotReplace from None
    with draft:
        if old is not None:
            _take_over(draft, place, old)
        draft.fill(write)
        draft.move_to(place, replacing=old is not None)


def _take_over(draft, place, old):
    """Copies owner, extended attributes and mode of the old file to the new one."""
    handle = draft.file.fileno()
    new = os.fstat(handle)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.chown(handle, old.st_uid, old.st_gid)
        except OSError:
            raise _CannotReplace from None
    if hasattr(os, "listxattr"):
        with contextlib.suppress(OSError):  # not supported by every file system
            for name in os.listxattr(place):
                os.setxattr(handle, name, os.getxattr(place, name))
    if hasattr(os, "fchmod"):
        os.fchmod(handle, stat.S_IMODE(old.st_mode))


def _overwrite(place, write):
    """Overwrites the contents of a file."""
    import tempfile  # imported here because it is slow and rarely needed

    folder = os.path.dirname(place)
    with _Draft(folder if os.access(folder, os.W_OK) else tempfile.gettempdir(), 0o600) as draft:
        draft.fill(write)
        draft.name_it()
        try:
            with open(place, "r+b") as file:
                draft.file.seek(0)
                shutil.copyfileobj(draft.file, file)
                file.truncate()
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            kept, draft.path = draft.path, None
            raise RuntimeError(HALF_WRITTEN.format(path=place, why=error.strerror, draft=kept)) from error


class _Draft:
    """A new file in a folder. Where the system supports unnamed files, it has no name until complete, so that a killed
    process leaves nothing behind (except in the instant before the final rename)."""

    def __init__(self, folder, mode):
        self.folder = folder
        self.path = None
        flags = os.O_RDWR | getattr(os, "O_BINARY", 0)
        try:
            if not os.path.isdir(_OPEN_FILES):
                raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
            handle = os.open(folder, flags | os.O_TMPFILE, mode)
        except (AttributeError, OSError):
            self.path = self._free_path()
            handle = os.open(self.path, flags | os.O_CREAT | os.O_EXCL, mode)
        self.file = os.fdopen(handle, "w+b")

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        with contextlib.suppress(OSError):
            self.file.close()
        if self.path is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)

    def _free_path(self):
        return os.path.join(self.folder, f".checkpoint-{secrets.token_hex(8)}.tmp")

    def fill(self, write):
        """Writes the contents, synced to disk."""
        write(self.file)
        self.file.flush()
        os.fsync(self.file.fileno())

    def name_it(self, path=None):
        """Gives the file a name, if it has none."""
        if self.path is None:
            path = path or self._free_path()
            handle = self.file.fileno()
            # With src_dir_fd, Python calls linkat, which follows the link in /proc; the descriptor itself is unused.
            os.link(f"{_OPEN_FILES}/{handle}", path, src_dir_fd=handle, follow_symlinks=True)
            self.path = path

    def move_to(self, place, replacing):
        """Renames the file to its final name."""
        if not replacing and self.path is None:
            with contextlib.suppress(FileExistsError):  # another process was faster
                self.name_it(place)
                self.path = None
                return
        self.name_it()
        if os.name == "nt":
            self.file.close()  # on Windows, an open file cannot be renamed
        try:
            os.replace(self.path, place)
        except OSError as error:
            if error.errno not in (errno.EBUSY, errno.EPERM, errno.EACCES, errno.EXDEV):
                raise
            raise _CannotReplace from None  # a mount point, or a folder with the sticky bit
        self.path = None
