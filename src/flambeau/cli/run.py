"""``flambeau run``: runs a PyTorch script like ``python script.py``."""

import builtins
import importlib.util
import io
import os
import runpy
import sys
import types

from .. import alias

CANNOT_OPEN = "flambeau run: can't open file {path!r}: [Errno {number}] {reason}"
NO_MODULE = "flambeau run: No module named {name}"


def run_script(path, arguments):
    """Runs the script at `path` as ``__main__``; returns the exit status."""
    try:
        with open(path, "rb") if not os.path.isdir(path) else io.BytesIO() as file:
            source = file.read()
    except OSError as error:
        path = os.path.abspath(path)
        print(CANNOT_OPEN.format(path=path, number=error.errno, reason=error.strerror), file=sys.stderr)
        return 2
    sys.argv = [path, *arguments]
    alias.install()
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        return _run(lambda: runpy.run_path(path, run_name="__main__"))
    sys.path[0] = os.path.dirname(os.path.realpath(path))
    return _run(lambda: exec(compile(source, path, "exec", dont_inherit=True), vars(_main_module(path))))


def run_module(name, arguments):
    """Runs a module as ``python -m name`` would; returns the exit status."""
    sys.argv = [name, *arguments]
    sys.path[0] = os.getcwd()
    alias.install()
    if not _can_find(name):
        print(NO_MODULE.format(name=name), file=sys.stderr)
        return 1
    return _run(lambda: runpy.run_module(name, run_name="__main__", alter_sys=True))


def _can_find(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            return False
        raise


def _main_module(path):
    """A module ``__main__`` for the script, which pickle and multiprocessing need to find its classes."""
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=path, __builtins__=builtins, __cached__=None)
    sys.modules["__main__"] = main
    return main


def _run(program):
    """Calls `program`; shows exceptions without the frames of this file, and exits as Python does."""
    try:
        program()
    except SystemExit:
        raise
    except BaseException as error:
        trace = error.__traceback__
        while trace and trace.tb_frame.f_code.co_filename in (__file__, runpy.__file__, "<frozen runpy>"):
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        if isinstance(error, KeyboardInterrupt):
            sys.excepthook = lambda *exc: None
            raise  # exits with the signal
        return 1
    return 0
