"""Optimizers. Each module is imported on first use."""

from typing import TYPE_CHECKING

from .._lazy import lazy_submodules
from . import optimizer
from .optimizer import Optimizer
from .sgd import SGD

if TYPE_CHECKING:
    from . import lr_scheduler as lr_scheduler
    from . import swa_utils as swa_utils
    from ._adafactor import Adafactor as Adafactor
    from ._muon import Muon as Muon
    from ._swap import swap_in_optimizer_params_and_state as swap_in_optimizer_params_and_state
    from .adadelta import Adadelta as Adadelta
    from .adagrad import Adagrad as Adagrad
    from .adam import Adam as Adam
    from .adamax import Adamax as Adamax
    from .adamw import AdamW as AdamW
    from .asgd import ASGD as ASGD
    from .lbfgs import LBFGS as LBFGS
    from .nadam import NAdam as NAdam
    from .radam import RAdam as RAdam
    from .rmsprop import RMSprop as RMSprop
    from .rprop import Rprop as Rprop
    from .sparse_adam import SparseAdam as SparseAdam

_LAZY = {
    "Adadelta": "adadelta", "Adafactor": "_adafactor", "Adagrad": "adagrad", "Adam": "adam", "Adamax": "adamax",
    "AdamW": "adamw", "ASGD": "asgd", "LBFGS": "lbfgs", "Muon": "_muon", "NAdam": "nadam", "RAdam": "radam",
    "RMSprop": "rmsprop", "Rprop": "rprop", "SparseAdam": "sparse_adam",
    "swap_in_optimizer_params_and_state": "_swap",
}
__all__ = ["SGD", "Optimizer", "lr_scheduler", "optimizer", "swa_utils", *_LAZY]
__getattr__, __dir__ = lazy_submodules(__name__, ["lr_scheduler", "swa_utils"], _LAZY)
