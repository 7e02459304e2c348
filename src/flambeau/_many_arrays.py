"""Many NumPy arrays at once, as a program has them that counts the steps of an optimizer for each parameter.

The extension ``flambeau._kernels`` has the same functions; they are used where it was built.
"""

from __future__ import annotations

import contextlib
import os
from operator import attrgetter

_form = attrgetter("dtype", "shape", "strides")


def forms_of(arrays):
    """Dtypes, shapes and strides of arrays, as a value to compare with another."""
    return [*map(_form, arrays)]


def are_plain(arrays):
    """Whether the elements of all arrays lie in row-major order and may be written to."""
    return all([a.flags.carray for a in arrays])


def are_equal_numbers(arrays):
    """Whether arrays hold one number, or the same ones, down to the sign of zero."""
    return len({(a.dtype, a.shape, a.tobytes()) for a in arrays}) < 2


def fill_each(arrays, values):
    """Makes values the elements of arrays."""
    for own, value in zip(arrays, values, strict=True):
        own[...] = value


if os.environ.get("FLAMBEAU_NATIVE") != "0":
    with contextlib.suppress(ImportError):  # it was not built, or from other sources
        from ._kernels import are_equal_numbers, are_plain, fill_each, forms_of  # noqa: F401
