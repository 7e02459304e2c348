"""The functions behind the layers, a file a family."""

from .activation import *
from .dropout import *
from .linear import *
