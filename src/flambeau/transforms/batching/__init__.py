"""Batching rules: how to compute an op for all samples of a vmap at once.

A rule is ``rule(op, operands, settings, size)``. The operands are Batched arrays (at least one of them with a batch
dimension, which comes first), numbers and None. It returns the op's result for all samples: a tensor with the batch
dimension first, or a tuple of such.

Most ops belong to a class with a common rule, in ``classes.py``; the others have their own rules, by family. Ops in
none of the tables are computed sample by sample, with a warning.
"""

from .classes import CLASSES, aligned
from .conv import CONV
from .index import INDEX
from .linalg import LINALG
from .loss import LOSS
from .matmul import MATMUL
from .normalization import NORMALIZATION
from .rnn import RNN
from .shape import SHAPE

RULES = CLASSES | SHAPE | MATMUL | CONV | INDEX | LINALG | LOSS | NORMALIZATION | RNN


def find_rule(op):
    """The rule of an op, None if it has none. Pointwise kernels need no table entry."""
    rule = RULES.get(op.name)
    return aligned if rule is None and op.by_element else rule
