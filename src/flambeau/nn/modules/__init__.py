"""The modules, a file a family."""

from . import container, lazy, module
from .activation import *
from .batchnorm import *
from .container import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .conv import *
from .dropout import *
from .embedding import *
from .flatten import *
from .linear import *
from .loss import *
from .module import Module
from .normalization import *
from .padding import *
from .pooling import *
