"""Conditions on elements, such as an index within bounds: a recorded program has them checked, after it ran.

Where one is violated, the error comes when the program has run, and says which line recorded the call. What the program
has computed can then not be read.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref

import numpy as np

PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
RECORDED_AT = "recorded at {file}, line {line}, and found when the recorded operations ran"

recording_lock = threading.RLock()  # of the graphs and of the programs that ran


class Run:
    """A program that ran, as long as it is not known whether all conditions held, in it and before it.

    ``holds`` are arrays that say of the conditions, in their order, whether they held; ``wrong`` has the values that
    are wrong where they did not.
    """

    pending: list[Run] = []

    def __init__(self, arrays, holds, wrong, conditions):
        self.arrays = [weakref.ref(array) for array in arrays]
        self.holds = holds
        self.wrong = wrong
        self.conditions = conditions
        for array in holds:
            array.copy_to_host_async()  # whoever asks for it later does not wait for the device

    @classmethod
    def note(cls, arrays, holds, wrong, conditions):
        if holds or cls.pending:
            cls.pending.append(cls(arrays, holds, wrong, conditions))

    def is_done(self):
        return all([array.is_ready() for array in self.holds])

    def verify(self):
        """Raises the error of the first condition that was violated; what was computed then, or later, is lost.

        It is the first of those that are pending.
        """
        holds = [held for array in self.holds for held in np.asarray(array).reshape(-1)]
        if all(holds):
            return
        first = holds.index(False)
        make, (file, line) = self.conditions[first]
        error = make(np.asarray(self.wrong[first]).item())
        error.add_note(RECORDED_AT.format(file=file, line=line))
        failed, Run.pending = Run.pending, []
        for run in failed:
            for reference in run.arrays:
                array = reference()
                if array is not None:
                    array._value = error
        raise error


def verify():
    """Waits for all programs that have conditions on elements; raises where one is violated."""
    with recording_lock:
        while Run.pending:
            verify_first()


def verify_early():
    """Like ``verify``, as far as nobody has to wait for it."""
    with recording_lock:
        while len(Run.pending) > 1 and Run.pending[0].is_done():  # the last one is still being copied
            verify_first()


def verify_first():
    """Verifies the run that is pending longest, which stays pending where an interrupt comes first."""
    Run.pending[0].verify()
    del Run.pending[0]


def is_verified():
    """Whether all conditions on elements of programs that ran are known to have held."""
    return not Run.pending


def users_line():
    """(file, line) of the code, not of this package, that is running."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((PACKAGE, "<")):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
