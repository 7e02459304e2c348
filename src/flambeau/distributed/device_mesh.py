"""Meshes of devices: there is one device."""

from . import ONE_PROCESS

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """A mesh of devices; here for ``isinstance`` and annotations. Making one raises."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(ONE_PROCESS.format(name="DeviceMesh"))


def init_device_mesh(*args, **kwargs):
    """Not supported: it raises."""
    raise NotImplementedError(ONE_PROCESS.format(name="init_device_mesh"))
