"""Compiled functions: finding the program for a call, and compiling a new one if there is none."""

import functools
import linecache
import logging
import time
import warnings

from .. import _dtypes
from .._device import current_index, get_default_device
from .._modes import modes
from .._precision import precision
from ..engines import TRACED, is_traced_error
from ._pytree import containers_of, flatten
from ._stack import split, stack_results

log = logging.getLogger("flambeau.compiler")

TOO_MANY = (
    "{name} was compiled {limit} times, the last time because {why}. From now on it runs eagerly. Pass what changes as "
    "a tensor, or raise recompile_limit."
)
VOLATILE = "{name} runs eagerly from now on, because {why}."
ENDLESS = "an argument of it contains itself"
SECOND_CALL = "it is called for the second time"
NEW_KIND_OF_CALL = "it is called in this way for the first time"
WHILE_TRACED = "while {name} was traced to be compiled{line}"


class UserError(Exception):
    """The function raised an error of its own during tracing, which is the cause of this one."""


class NotYet(Exception):
    """Tells the compiler that a function must run eagerly once more before it can be traced."""


class EagerOnly(BaseException):
    """Tells the compiler why a function can run eagerly but cannot be traced.

    Args:
        has_begun: whether the function may have had side effects already, so that it must not run again.
    """

    def __init__(self, why, has_begun):
        super().__init__(why)
        self.has_begun = has_begun


class Compiled:
    """A function that runs as compiled programs: one for each kind of call.

    The first call runs eagerly, so that whatever is created on first use exists before tracing.

    Args:
        function: the function to compile.
        name: its name in messages.
        limit: the maximal number of programs.
    """

    def __init__(self, function, name, limit):
        self.function = function
        self.name = name
        self.limit = limit
        self.programs = {}  # by key
        self.count = 0
        self.was_called = False
        functools.update_wrapper(self, function)

    def __call__(self, *args, **kwargs):
        if modes.tracer.active or modes.watched or modes.levels or self.count > self.limit:
            return self.function(*args, **kwargs)  # in another trace, profiled or transformed
        if not self.was_called:
            self.was_called = True
            return self.function(*args, **kwargs)
        tensors, reasons = [], []
        try:
            containers = containers_of(args, kwargs)
            key = key_of((args, kwargs), tensors, containers)
        except RecursionError:
            self.run_eagerly(ENDLESS)
            return self.function(*args, **kwargs)
        program = self.find(key, tensors, containers, reasons)
        if program is not None:
            return program.run(tensors, containers)
        reasons.append(NEW_KIND_OF_CALL if self.programs else SECOND_CALL)
        return self.compile(key, reasons[0], args, kwargs, tensors)

    def find(self, key, tensors, containers, reasons):
        """A program for a call, or None; then the mismatches of its candidates are appended to `reasons`."""
        for program in self.programs.get(key, ()):
            why = program.mismatch(tensors, containers)
            if why is None:
                return program
            reasons.append(why)
        return None

    def loop(self, *args, **kwargs):
        """Calls the function once for each element along the first dimension of the tensors in the arguments.

        Returns the stacked results, without history. On the second such call, if the function changes nothing but
        tensors, all steps become one program: a loop on the device, in one dispatch.
        """
        tensors = []
        steps = split(flatten((args, kwargs), tensors), tensors)
        first, containers = [], containers_of(*steps[0])
        key = key_of(steps[0], first, containers)
        program = None
        if not (modes.tracer.active or modes.watched or modes.levels):
            program = self.find(key, first, containers, [])
        if len(steps) > 1 and program is not None and program.loop is not None:
            return program.loop.run(tensors, len(steps), first)
        return stack_results(self.name, [self(*own, **named) for own, named in steps])

    def __reduce__(self):
        return Compiled, (self.function, self.name, self.limit)  # copies compile programs of their own

    def __get__(self, instance, owner=None):
        return self if instance is None else CompiledMethod(self, instance)

    def compile(self, key, why, args, kwargs, tensors):
        """Compiles the program for a call, and runs it."""
        from ._program import Program

        self.count += 1
        if self.count > self.limit:
            warnings.warn(TOO_MANY.format(name=self.name, limit=self.limit, why=why), RuntimeWarning, stacklevel=3)
            return self.function(*args, **kwargs)
        start, program = time.perf_counter(), None
        try:
            program = Program.of(self.function, self.name, args, kwargs, tensors)
        except (UserError, NotYet):
            self.count -= 1
        except EagerOnly as error:
            if error.has_begun:
                raise RuntimeError(f"{self.name} cannot be compiled: {error}.") from None
            self.run_eagerly(error)
        except Exception as error:
            note = WHILE_TRACED.format(name=self.name, line=user_line(error.__traceback__))
            if is_traced_error(error) or is_missing_from_tracer(error):
                what = f"something that {self.name} does"
                error = RuntimeError(TRACED.format(what=what, operands="see the error above"))
            error.add_note(note)
            raise error
        if program is None:
            return self.function(*args, **kwargs)  # again, for its side effects before the error
        if program.guards.volatile is not None:
            why = program.guards.volatile
            self.run_eagerly(why)
        result = program.run(tensors, containers_of(args, kwargs))
        if program.error is not None:
            raise program.error
        self.programs.setdefault(key, []).insert(0, program)
        log.info("compiled %s in %.2f s because %s", self.name, time.perf_counter() - start, why)
        return result

    def run_eagerly(self, why):
        """From now on, no call is traced."""
        self.count = self.limit + 1
        warnings.warn(VOLATILE.format(name=self.name, why=why), RuntimeWarning, stacklevel=4)

    def reset(self):
        """Drops all programs."""
        self.programs.clear()
        self.count = 0


class CompiledMethod(functools.partial):
    """A compiled function bound to an object."""

    def loop(self, *args, **kwargs):
        """See ``Compiled.loop``."""
        return self.func.loop(*self.args, *args, **kwargs)


def is_missing_from_tracer(error):
    """Whether the error is that a traced array lacks an attribute of concrete arrays."""
    if not isinstance(error, AttributeError):
        return False
    traceback = error.__traceback__
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return str(traceback.tb_frame.f_globals.get("__name__")).startswith("jax.")


def user_line(traceback):
    """The innermost line of user code in a traceback."""
    from ._trust import is_foreign

    found = ""
    while traceback is not None:
        if not is_foreign(traceback.tb_frame.f_globals.get("__name__", "")):
            file, line = traceback.tb_frame.f_code.co_filename, traceback.tb_lineno
            found = f", at {file}:{line}: {linecache.getline(file, line).strip()}"
        traceback = traceback.tb_next
    return found


def key_of(call, tensors, containers):
    """The key of a call: calls with different keys never share a program. Appends the tensors among the arguments to
    `tensors`."""
    nest = flatten(call, tensors)
    defaults = _dtypes.get_default_dtype(), get_default_device(), current_index("cuda")
    settings = modes.grad, *defaults, precision.key, modes.autocast and modes.autocast.key
    return (nest, *[signature(t) for t in tensors], sharing(tensors), sharing(containers), *settings)


def signature(t):
    a, flag = t._a, t.requires_grad
    extra = flatten(t.__dict__, []) if t.__dict__ else None
    storage = t._storage
    is_inference = storage is not None and storage.inference
    return type(t), t.device, t.layout, a.dtype, a.shape, flag, t._node is None, t.stride(), is_inference, extra


def sharing(things):
    """Which of the tensors, or containers, are identical."""
    first = {}
    return tuple([first.setdefault(id(x), nr) for nr, x in enumerate(things)])
