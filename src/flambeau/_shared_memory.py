"""Memory shared between processes: an anonymous file that each of them maps."""

import ctypes
import mmap
import os

import numpy as np

NO_MEMORY = "not enough memory: can't map {size} bytes of shared memory: {cause}"

_MAP_FAILED = ctypes.c_void_p(-1).value
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class SharedMemory:
    """Shared bytes behind the file descriptor ``fd``; unmapped and closed with this object.

    ``numpy.asarray`` gives an array that keeps it alive. (It calls libc's mmap: Python's would hold a second
    descriptor for its lifetime, and a program may have thousands of these.)
    """

    __slots__ = ("__weakref__", "address", "fd", "size")

    def __init__(self, fd, size):
        self.fd = fd
        self.size = size
        flags = mmap.PROT_READ | mmap.PROT_WRITE
        self.address = _libc.mmap(None, max(size, 1), flags, mmap.MAP_SHARED, fd, 0)
        if self.address == _MAP_FAILED:
            self.address = None
            raise RuntimeError(NO_MEMORY.format(size=size, cause=os.strerror(ctypes.get_errno())))

    @classmethod
    def create(cls, size):
        """New memory, filled with zeros."""
        fd = _nameless_file()
        try:
            os.ftruncate(fd, max(size, 1))
            return cls(fd, size)
        except BaseException:
            os.close(fd)
            raise

    def close_descriptor(self):
        """Closes the descriptor; the mapping stays, but can no longer be sent to other processes."""
        fd, self.fd = self.fd, None
        if fd is not None:
            os.close(fd)

    @property
    def __array_interface__(self):
        return {"data": (self.address, False), "shape": (self.size,), "typestr": "|u1", "version": 3}

    def __del__(self, munmap=_libc.munmap):
        if getattr(self, "address", None) is not None:
            munmap(self.address, max(self.size, 1))
            self.close_descriptor()


def _nameless_file():
    if hasattr(os, "memfd_create"):
        return os.memfd_create("flambeau")  # not limited by the size of /dev/shm
    import tempfile  # for systems without memfd_create; the import takes 4 ms

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def memory_under(array):
    """The SharedMemory that holds an array, or None."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array if isinstance(array, SharedMemory) else None
