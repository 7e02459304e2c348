"""Neural networks: parameters, modules, containers, layers and the functions behind them."""

from . import (
    attention as attention,
    functional as functional,
    init as init,
    modules as modules,
    parameter as parameter,
    utils as utils,
)
from .modules import *
from .parameter import (
    Buffer as Buffer,
    Parameter as Parameter,
    UninitializedBuffer as UninitializedBuffer,
    UninitializedParameter as UninitializedParameter,
)
