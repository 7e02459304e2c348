"""The modules, one file per family."""

from . import container as container, lazy as lazy, module as module
from .activation import *
from .adaptive import *
from .batchnorm import *
from .channelshuffle import *
from .container import *
from .conv import *
from .distance import *
from .dropout import *
from .embedding import *
from .flatten import *
from .fold import *
from .linear import *
from .linear_cross_entropy import *
from .loss import *
from .margin_loss import *
from .module import Module as Module
from .multihead_attention import *
from .normalization import *
from .padding import *
from .pixelshuffle import *
from .pooling import *
from .rnn import *
from .transformer import *
from .upsampling import *

from ..._lazy import lazy_submodules as _lazy_submodules
from ..._utils import name_constructors as _name_constructors

_name_constructors(globals())
__getattr__, __dir__ = _lazy_submodules(__name__, ["utils"])
