"""How a checkpoint comes to its place on the disk.

A regular file is replaced: the new one is written beside it and takes its name when it is complete, with the mode, the
owner and the extended attributes of the old one. So the old checkpoint is there until the new one is. Symbolic links
are followed. What cannot be replaced is written to:

- pipes, terminals and other devices;
- a file with several hard links, one whose owner cannot be kept, and one in a folder that cannot be written to. The
  new contents are complete in a second file before the first byte is overwritten, and stay there if that fails.
"""

from __future__ import annotations

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
    """Lets ``write(file)`` make the contents of the file at `path`."""
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
    """Where a path leads through symbolic links; None if to an open file of a process, as /dev/stdout does."""
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
    """What is at a place, or None."""
    try:
        return None if place is None else os.stat(place)
    except FileNotFoundError:
        return None


class _CannotReplace(Exception):
    """The file has to be written to, because a new one could not take its place."""


def _replace(place, old, write):
    """Puts a new file at a place, all at once."""
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
    """Gives a new file the owner, the extended attributes and the mode of the old one."""
    handle = draft.file.fileno()
    new = os.fstat(handle)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.chown(handle, old.st_uid, old.st_gid)
        except OSError:
            raise _CannotReplace from None
    if hasattr(os, "listxattr"):
        with contextlib.suppress(OSError):  # not every file system has them
            for name in os.listxattr(place):
                os.setxattr(handle, name, os.getxattr(place, name))
    if hasattr(os, "fchmod"):
        os.fchmod(handle, stat.S_IMODE(old.st_mode))


def _overwrite(place, write):
    """Writes into a file that must stay the same one."""
    import tempfile  # here, as few programs need it and it takes its time to import

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
    """A new file in a folder. It has no name before it is complete, where the system knows such files: then nothing
    is left of it if the process is killed, but for the instant in which it has a name and not yet its final one."""

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
        """Writes the contents, to the disk."""
        write(self.file)
        self.file.flush()
        os.fsync(self.file.fileno())

    def name_it(self, path=None):
        """Gives the file a name, if it has none."""
        if self.path is None:
            path = path or self._free_path()
            handle = self.file.fileno()
            # With a folder's handle Python calls linkat, which follows the link in /proc; the handle is not used.
            os.link(f"{_OPEN_FILES}/{handle}", path, src_dir_fd=handle, follow_symlinks=True)
            self.path = path

    def move_to(self, place, replacing):
        """Gives the file its final name."""
        if not replacing and self.path is None:
            with contextlib.suppress(FileExistsError):  # somebody else was faster
                self.name_it(place)
                self.path = None
                return
        self.name_it()
        if os.name == "nt":
            self.file.close()  # an open file cannot be moved there
        try:
            os.replace(self.path, place)
        except OSError as error:
            if error.errno not in (errno.EBUSY, errno.EPERM, errno.EACCES, errno.EXDEV):
                raise
            raise _CannotReplace from None  # a mount point, or a folder where only owners may remove
        self.path = None
