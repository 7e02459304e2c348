"""The functional forms of the layers, one file per family."""

from .activation import *
from .attention import *
from .conv import *
from .ctc_loss import *
from .distance import *
from .dropout import *
from .embedding import *
from .fold import *
from .fractional_pooling import *
from .grid import *
from .linear import *
from .linear_cross_entropy import *
from .loss import *
from .margin_loss import *
from .normalization import *
from .padding import *
from .pooling import *
from .shuffle import *
from .upsampling import *
