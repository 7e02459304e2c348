"""The settings of PyTorch's code generator: kept, and without effect."""

import sys

from .._settings import Settings

sys.modules[__name__].__class__ = Settings
