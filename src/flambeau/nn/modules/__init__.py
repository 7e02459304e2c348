"""The modules, a file a family."""

from . import container, lazy, module
from .activation import *
from .container import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .dropout import *
from .flatten import *
from .linear import *
from .module import Module
