"""Calls to other processes, which are not supported."""

from .. import ONE_PROCESS
from . import api

__all__ = ["init_rpc", "is_available", "rpc_async", "rpc_sync", "shutdown"]


def is_available():
    """Whether there can be calls to other processes: no."""
    return False


def init_rpc(*args, **kwargs):
    """Not supported: it raises."""
    raise NotImplementedError(ONE_PROCESS.format(name="rpc.init_rpc"))


@api._require_initialized
def rpc_sync(*args, **kwargs):
    """Raises, as there are no other processes."""


rpc_async = shutdown = rpc_sync
