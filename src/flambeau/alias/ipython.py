"""``%load_ext flambeau`` in IPython and notebooks: makes ``import torch`` resolve to Flambeau."""

from . import install, uninstall

__all__ = ["load_ipython_extension", "unload_ipython_extension"]


def load_ipython_extension(ipython):
    """Called by ``%load_ext flambeau``."""
    install()


def unload_ipython_extension(ipython):
    """Called by ``%unload_ext flambeau``; also removes the name ``torch`` from the session."""
    uninstall()
    ipython.user_ns.pop("torch", None)
