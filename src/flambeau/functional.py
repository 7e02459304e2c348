"""Functions that PyTorch also has in ``torch.functional``."""

from .functions.broadcast import *
from .functions.contract import *
from .functions.distance import *
from .functions.einsum import *
from .functions.join import *
from .functions.linalg.top_level import *
from .functions.move import *
from .functions.shape import *
from .functions.sort import *
from .functions.stft import *
from .functions.views import *
