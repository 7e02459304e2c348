"""Optimizers. The families are imported when they are first asked for."""

from typing import TYPE_CHECKING

from .._lazy import lazy_submodules
from . import optimizer
from .optimizer import Optimizer
from .sgd import SGD

if TYPE_CHECKING:
    from .adadelta import Adadelta as Adadelta
    from .adagrad import Adagrad as Adagrad
    from .adam import Adam as Adam
    from .adamax import Adamax as Adamax
    from .adamw import AdamW as AdamW
    from .asgd import ASGD as ASGD
    from .nadam import NAdam as NAdam
    from .radam import RAdam as RAdam
    from .rmsprop import RMSprop as RMSprop
    from .rprop import Rprop as Rprop

_LAZY = {
    "Adadelta": "adadelta", "Adagrad": "adagrad", "Adam": "adam", "Adamax": "adamax", "AdamW": "adamw", "ASGD": "asgd",
    "NAdam": "nadam", "RAdam": "radam", "RMSprop": "rmsprop", "Rprop": "rprop",
}
__all__ = ["SGD", "Optimizer", "optimizer", *_LAZY]
__getattr__, __dir__ = lazy_submodules(__name__, [], _LAZY)
