"""Checkpoints without their elements: for files that are filled, or tensors that are read, by other means."""

from __future__ import annotations

import threading

_state = threading.local()


class skip_data:
    """A context in which ``save`` writes zeros for the elements of tensors, and ``load`` does not read them.

    What ``load`` makes in it has the shapes, dtypes and strides of the file, and elements that are not initialised.

    Args:
        materialize_fake_tensors: makes no difference: there are no fake tensors here.

    Example::

        >>> import io
        >>> file = io.BytesIO()
        >>> with flambeau.serialization.skip_data():
        ...     flambeau.save(ones(3), file)
        >>> _ = file.seek(0)
        >>> flambeau.load(file)
        tensor([0., 0., 0.])
    """

    def __init__(self, materialize_fake_tensors=False):
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self):
        self.before = is_skipping()
        _state.skips = True

    def __exit__(self, *exc):
        _state.skips = self.before


def is_skipping():
    """Whether this thread is in a ``skip_data`` context."""
    return getattr(_state, "skips", False)
