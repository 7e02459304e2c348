"""Tensors that are spread over devices: there are none."""

from . import ONE_PROCESS
from .device_mesh import DeviceMesh

__all__ = ["DTensor", "DeviceMesh", "Replicate", "Shard", "distribute_tensor"]


class DTensor:
    """A tensor that is spread over devices; here for ``isinstance``. Making one raises."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(ONE_PROCESS.format(name="DTensor"))


class Placement:
    """How a tensor is spread over a dimension of a mesh."""


class Replicate(Placement):
    """It is whole on each device."""


class Shard(Placement):
    """Each device has a part of it, along one of its dimensions."""

    def __init__(self, dim):
        self.dim = dim


def distribute_tensor(*args, **kwargs):
    """Not supported: it raises."""
    raise NotImplementedError(ONE_PROCESS.format(name="distribute_tensor"))
