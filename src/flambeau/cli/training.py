"""``flambeau doctor --training``: diagnoses the first training steps of a script."""

import contextlib
import sys

from ..debug.training import Enough, TrainingObserver, check_observed
from .run import run_script

STEPS = 10
NO_STEP = "flambeau doctor: the script took no step of an optimizer, so there is no training to check"


def check_script(path, arguments):
    """Runs a few optimizer steps of a script and prints problems; returns the exit status."""
    observer = TrainingObserver(enough=STEPS)
    status = 0
    with observer, contextlib.suppress(Enough):
        status = run_script(path, arguments)
    if not observer.steps:
        print(NO_STEP, file=sys.stderr)
        return status or 1
    report = check_observed(observer)
    print(report)
    return status or int(not report)
