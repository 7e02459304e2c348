"""Functions for spawned processes, which import them from here."""

import os
import signal
import sys
import time


def write_index(index, x):
    x[index] = index + 1


def fail_in_second(index):
    if index == 1:
        raise ValueError("the second fails")
    time.sleep(60)


def end_itself(index, how):
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.exit(7)


def fill_what_comes(inbox, outbox):
    """Writes to each tensor that comes, and tells what it was."""
    for x in iter(inbox.get, None):
        outbox.put([list(x.shape), x.is_shared(), float(x.detach().sum())])
        x.detach().fill_(5)
        outbox.put(x)
    outbox.put(None)
