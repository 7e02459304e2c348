"""Records module calls, with their paths, alongside those of ops."""

from __future__ import annotations

from ..autograd import profiler
from ..autograd._recorder import Call, Recorder
from ..nn.modules.module import Module


class ModuleRecorder(Recorder):
    """A recorder for ops and modules."""

    def __init__(self, *settings):
        super().__init__(*settings)
        self._paths: dict[int, str] = {}
        self.kinds[Module.__call__.__code__] = self._call_of_module

    def _call_of_module(self, frame):
        module = frame.f_locals["self"]
        if id(module) not in self._paths:
            self._paths.update({id(m): path or type(module).__name__ for path, m in module.named_modules()})
        return Call(frame, f"nn.Module: {self._paths[id(module)]} ({type(module).__name__})", "module")


class ModuleProfile(profiler.profile):
    """A profile with modules."""

    _recorder_class = ModuleRecorder
