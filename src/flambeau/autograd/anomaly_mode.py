"""Anomaly detection: finding the forward call behind a bad gradient."""

from .._modes import modes


class set_detect_anomaly:
    """Switches anomaly detection on or off; as a context manager it is undone at the end.

    While on, every recorded operation saves its stack. An error in backward, or a NaN that a backward returns
    (``check_nan``), is raised with that stack as a note.
    """

    def __init__(self, mode, check_nan=True):
        self._before = modes.anomaly, modes.anomaly_check_nan
        modes.set_anomaly(mode, check_nan)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        modes.set_anomaly(*self._before)


class detect_anomaly:
    """A context in which errors and NaNs in backward are reported with the line of the forward call."""

    def __init__(self, check_nan=True):
        self.check_nan = check_nan

    def __enter__(self):
        self._before = modes.anomaly, modes.anomaly_check_nan
        modes.set_anomaly(True, self.check_nan)

    def __exit__(self, *exc):
        modes.set_anomaly(*self._before)


def is_anomaly_enabled():
    """Whether anomaly detection is on in this thread."""
    return modes.anomaly


def is_anomaly_check_nan_enabled():
    """Whether anomaly detection checks for NaN."""
    return modes.anomaly_check_nan


def set_anomaly_enabled(mode, check_nan=True):
    """Switches anomaly detection on or off."""
    modes.set_anomaly(mode, check_nan)
