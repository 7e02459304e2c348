"""Loss kernels, and checks of targets."""

import numpy as np

from .. import NUMPY as engine
from .._formulas import DISTANCES, define

NO_SUCH_CLASS = "Target {index} is out of bounds: there are {size} classes."
NO_PROBABILITY = "all elements of {name} should be between 0 and 1"

define(engine, *DISTANCES)


@engine.kernel
def class_targets(target, ignore, classes):
    """A mask of the targets that are not ignored, and the targets with a valid class in place of the ignored ones."""
    kept = target != ignore
    safe = np.where(kept, target, 0)
    if target.size and not 0 <= safe.min() <= safe.max() < classes:
        wrong = safe[(safe < 0) | (safe >= classes)].flat[0]
        raise IndexError(NO_SUCH_CLASS.format(index=wrong, size=classes))
    return kept, safe


@engine.kernel
def probabilities(x, name):
    """x, the argument called `name`; raises unless its elements are probabilities."""
    if not ((x >= 0) & (x <= 1)).all():
        raise RuntimeError(NO_PROBABILITY.format(name=name))
    return x
