"""Batching rules: how an op is computed for all samples of a vmap at once.

A rule is ``rule(op, operands, settings, size)``. The operands are Batched arrays (at least one with a batch dimension,
which is the first one of its tensor), numbers and None. It returns the op's result for all samples, a tensor with the
batch dimension in front, or a tuple of such.

Most ops belong to a class of ops with one rule, in ``classes.py``; the others have rules of their own, by family. An
op that is in none of the tables is mapped sample by sample, and warns.
"""

from __future__ import annotations

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
    """The rule of an op, None if it has none. Pointwise kernels need no row in a table."""
    rule = RULES.get(op.name)
    return aligned if rule is None and op.by_element else rule
