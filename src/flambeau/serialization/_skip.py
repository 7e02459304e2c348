"""Checkpoints without tensor data, which is filled in by other means."""

import threading

_state = threading.local()


class skip_data:
    """A context manager in which ``save`` writes zeros for tensor data and ``load`` does not read it.

    ``load`` then returns uninitialised tensors with the shapes, dtypes and strides of the file.

    Args:
        materialize_fake_tensors: ignored, as there are no fake tensors.

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
