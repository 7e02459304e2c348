"""Neural networks: parameters, modules, containers, layers and the functions behind them."""

from . import functional, init, modules, parameter, utils
from .modules import *
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
