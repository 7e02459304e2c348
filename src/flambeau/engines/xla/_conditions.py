"""Conditions on elements, such as an index within bounds, which recorded programs check after they ran.

A violated condition raises an error after the program has run, with a note that names the line of the recorded call.
The program's results cannot be read then.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref

import numpy as np

PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
RECORDED_AT = "recorded at {file}, line {line}, and found when the recorded operations ran"

recording_lock = threading.RLock()  # for graphs and pending runs


class Run:
    """A program that ran, until it is known whether all conditions held, in it and before it.

    ``holds`` are arrays that tell for each condition whether it held; ``wrong`` has the values that violate them.
    """

    pending: list[Run] = []

    def __init__(self, arrays, holds, wrong, conditions):
        self.arrays = [weakref.ref(array) for array in arrays]
        self.holds = holds
        self.wrong = wrong
        self.conditions = conditions
        for array in holds:
            array.copy_to_host_async()  # so that reading it later does not wait for the device

    @classmethod
    def note(cls, arrays, holds, wrong, conditions):
        if holds or cls.pending:
            cls.pending.append(cls(arrays, holds, wrong, conditions))

    def is_done(self):
        return all([array.is_ready() for array in self.holds])

    def verify(self):
        """Raises the error of the first violated condition; results of this and later runs become unreadable.

        It must be the oldest pending run.
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
    """Waits for all programs with conditions on elements; raises the error of a violated one."""
    with recording_lock:
        while Run.pending:
            verify_first()


def verify_early():
    """Like ``verify``, for the programs that are known to be done."""
    with recording_lock:
        while len(Run.pending) > 1 and Run.pending[0].is_done():  # the last one is still being copied
            verify_first()


def verify_first():
    """Verifies the oldest pending run. It stays pending if an interrupt comes first."""
    Run.pending[0].verify()
    del Run.pending[0]


def is_verified():
    """Whether all conditions of programs that ran are known to have held."""
    return not Run.pending


def users_line():
    """(file, line) of the innermost code outside this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((PACKAGE, "<")):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
