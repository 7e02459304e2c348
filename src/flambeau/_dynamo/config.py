"""The settings of PyTorch's compiler: kept, and without effect."""

import sys

from .._settings import Settings

sys.modules[__name__].__class__ = Settings
