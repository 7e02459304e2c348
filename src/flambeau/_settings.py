"""Settings for parts of PyTorch that Flambeau does not have: they can be set, and have no effect."""

import contextlib
import types

_GROUPS = frozenset(("triton", "cpp", "trace", "aot_inductor"))  # names of settings that contain settings


class Settings(types.ModuleType):
    """A module that stores settings. Settings that are not set are None."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self.__dict__.setdefault(name, Settings(name) if name in _GROUPS else None)

    @contextlib.contextmanager
    def patch(self, changes=None, **more):
        """A context that changes settings temporarily."""
        before = dict(self.__dict__)
        self.__dict__.update(changes or {}, **more)
        try:
            yield self
        finally:
            self.__dict__.clear()
            self.__dict__.update(before)
