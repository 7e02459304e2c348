"""Neural networks: parameters, modules, containers, layers and their functional forms."""

from . import (
    attention as attention,
    common_types as common_types,
    functional as functional,
    init as init,
    modules as modules,
    parallel as parallel,
    parameter as parameter,
    utils as utils,
)
from ._factory_kwargs import factory_kwargs as factory_kwargs
from .modules import *
from .parallel import DataParallel as DataParallel
from .parameter import (
    Buffer as Buffer,
    Parameter as Parameter,
    UninitializedBuffer as UninitializedBuffer,
    UninitializedParameter as UninitializedParameter,
)
