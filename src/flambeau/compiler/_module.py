"""Modules with compiled calls."""

import functools

from ..nn.modules.module import Module


class OptimizedModule(Module):
    """A module whose calls are compiled, if the backend does so; all else is that of the original, ``_orig_mod``."""

    def __init__(self, module, call, settings):
        super().__init__()
        self._orig_mod = module
        self.__dict__["forward"] = call
        self.__dict__["_settings"] = settings  # of ``compile``
        self.training = module.training

    def __getattr__(self, name):
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name, value):
        if name in ("_orig_mod", "training") or "_orig_mod" not in self.__dict__.get("_modules", ()):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name):
        delattr(self._orig_mod, name)

    def __len__(self):
        return len(self._orig_mod)

    def __bool__(self):
        return True  # ``or`` would skip an empty container

    def __dir__(self):
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __reduce__(self):
        from . import compile

        return functools.partial(compile, **self._settings), (self._orig_mod,)
