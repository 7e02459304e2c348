"""Neural networks: parameters, modules, containers and layers."""

from . import modules, parameter, utils
from .modules import *
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
