"""Operations on many NumPy arrays at once, such as the step counts of an optimizer's parameters.

The extension ``flambeau._kernels``, if built, replaces these functions by native ones.
"""

import contextlib
import os
from operator import attrgetter

_form = attrgetter("dtype", "shape", "strides")


def forms_of(arrays):
    """The dtypes, shapes and strides of arrays, as a comparable value."""
    return [*map(_form, arrays)]


def are_plain(arrays):
    """Whether all arrays are C-contiguous and writable."""
    return all([a.flags.carray for a in arrays])


def are_equal_numbers(arrays):
    """Whether arrays are equal to a number, or to other arrays, down to the sign of zero."""
    return len({(a.dtype, a.shape, a.tobytes()) for a in arrays}) < 2


def fill_each(arrays, values):
    """Copies values into arrays."""
    for own, value in zip(arrays, values, strict=True):
        own[...] = value


if os.environ.get("FLAMBEAU_NATIVE") != "0":
    with contextlib.suppress(ImportError):  # not built, or built from other sources
        from ._kernels import are_equal_numbers, are_plain, fill_each, forms_of  # noqa: F401
