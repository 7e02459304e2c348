"""How a trace observes what a function reads and sets besides tensors.

Attribute accesses of modules, optimizers and user objects are reported by methods that are put on their classes during
tracing. Global variables, closures, and reads from classes are noted when a function is called whose code names them.

Before each run, what was read is compared (see _guards.py). What was changed is restored after the trace, and changed
again by every run of the program.
"""

import builtins
import contextlib
import gc
import random
import sys
import threading
import types

import numpy as np

from .._interrupts import defer_interrupts
from ..nn.modules._hooks import global_hooks
from ..nn.modules.module import Module
from ..optim.optimizer import _global_hooks as global_step_hooks
from ._compiled import EagerOnly
from ._notes import Notes
from ._patches import NamesOf, Patches, may_be_class
from ._places import MISSING, Argument, ClassItem, Item, Slot
from ._pytree import flatten, opaque_leaves
from ._trust import (
    IDENTITY,
    IMPURE_CALL,
    OF_JAX,
    PLACE_NAMES,
    UNSEEN,
    UNSEEN_NAMES,
    WHOLE_STATE,
    is_constructor_of_namedtuple,
    is_foreign,
    is_ours,
    is_pure,
    is_users,
)

TABLES = ("_parameters", "_buffers", "_modules")
DRAWN = "it draws random numbers from Python or NumPy, which a program would not draw anew"
INSPECTS_CLASSES = (
    "{name} may list the attributes of a class, or compare its methods, and user classes have different ones while a "
    "function is traced. Do this before the call, and pass the result as an argument"
)
PLACE = (
    "it reads {name}, which differs while a function is traced. Read it before the call, and pass it as an "
    "argument"
)
_importers = ("importlib._bootstrap", "importlib._bootstrap_external")


class Watch(Notes):
    """Notes what is read and set while it runs.

    Args:
        arguments: the tensors among the arguments of the function.
        call: all its arguments.
        floats: replaces floats by proxies; with None they are constants.
    """

    def __init__(self, arguments, call, floats):
        super().__init__(call, floats)
        self.reads = set()  # (id, name) of attributes that were read
        self.codes = {}  # (id of user code that ran, id of its globals) -> NamesOf
        self.modules = set()  # the names of the modules of such code
        self.ignored_codes = {}  # id -> foreign code whose calls need not be noted
        self.import_depth = 0  # code run by the import system does not belong to the function
        self.prints = False  # nor does code run by print()
        self.compares_identities = False  # whether tensors may not be replaced by others
        self.error = None  # why the function cannot be traced
        self.compares_tensors = False  # whether the code may compare tensors by identity
        self.asks_for_types = False  # whether the code asks for exact types
        self.thread = threading.get_ident()
        self.call = arguments, call

    @contextlib.contextmanager
    def running(self):
        """A context that observes the function, and then restores everything that it changed."""
        self.draws, profile = random_state(), sys.getprofile()
        with no_collector():
            try:
                with defer_interrupts():
                    self.patches = Patches(self)
                self.start()
                sys.setprofile(self.profile)
                yield
            finally:
                with defer_interrupts():
                    set_profile(profile)
                    if self.patches is not None:
                        self.patches.remove()
                    self.restore()
        self.note_draws()

    def note_draws(self):
        """Notes whether Python or NumPy has drawn random numbers."""
        if random_state() != self.draws:
            self.make_volatile(DRAWN)

    def stop_listening(self):
        """Stops observing calls: from now on they are not the function's."""
        sys.setprofile(None)

    def start(self):
        arguments, call = self.call
        for nr, t in enumerate(arguments):
            self.note_tensor(t, Argument(nr), "an argument")
        for value in opaque_leaves(flatten(call, [])):
            self.note_value(value, "an argument")
        self.note_value(global_hooks, "hooks on all modules")
        self.note_value(global_step_hooks, "hooks on all optimizers")

    # ---- attributes of objects

    def is_outside(self, thing):
        return (id(thing) not in self.created and threading.get_ident() == self.thread
                and not self.import_depth and not self.prints)

    def on_read(self, thing, name):
        """Called when an attribute of an object is read."""
        if (id(thing), name) not in self.reads and self.is_outside(thing):
            without_profile(self.note_attribute)(thing, name)

    def note_attribute(self, thing, name):
        self.reads.add((id(thing), name))
        self.objects[id(thing)] = thing
        label = f"{label_of(thing)}.{name}"
        tables = tables_of(thing)
        if name in WHOLE_STATE:
            self.note_state(thing, tables, label)
            return
        may_vary = not is_ours(type(thing).__module__)
        for table in tables:
            if name in table:
                self.note_table(tables[0], table)
                self.note_read(Item(table, name), table[name], label, may_vary)
                return
        for cls in type(thing).__mro__:
            if name in cls.__dict__:
                self.on_read_at_class(thing, cls, name, tables, label)
                return
        for table in tables:
            self.note_table(tables[0], table)
            self.note_read(Item(table, name), MISSING, label)

    def note_state(self, thing, tables, label):
        """All attributes of an object are read."""
        if tables:
            self.note_value(tables[0], label)
        for cls in type(thing).__mro__:
            for member in [*vars(cls).values()] if is_users(cls) else ():
                if isinstance(member, types.MemberDescriptorType):
                    place = Slot(thing, member)
                    self.note_read(place, place.value(), label)

    def on_read_at_class(self, thing, cls, name, tables, label):
        found = cls.__dict__[name]
        if isinstance(found, types.MemberDescriptorType) and found.__objclass__ is cls:
            place = Slot(thing, found)
            self.note_read(place, place.value(), label)
            return
        if tables and not hasattr(type(found), "__set__"):
            self.note_read(Item(tables[0], name), MISSING, label)
        self.note_read(ClassItem(cls, name), found, label, False)

    def on_write(self, thing, name):
        """Called when an attribute of an object is about to be set or deleted."""
        if not self.is_outside(thing):
            return
        self.objects[id(thing)] = thing
        label = f"{label_of(thing)}.{name}"
        for table in tables_of(thing):
            self.note_write(Item(table, name), label)
        member = getattr(type(thing), name, None)
        if isinstance(member, types.MemberDescriptorType):
            self.note_write(Slot(thing, member), label)

    # ---- functions

    def profile(self, frame, event, arg):
        """The profile function: called when a function is called or returns, which is rarely a user's.

        Cheap checks come first. The code of a frame, and identities, are expensive to get if audit hooks are installed.
        """
        module = frame.f_globals.get("__name__", "")
        if event[:2] == "c_":
            if module in self.modules and self.is_users_frame(frame) and not self.import_depth:
                self.prints = event == "c_call" and arg is print
                if event == "c_call":
                    self.on_builtin_call(arg)
            return
        if module in _importers:
            self.import_depth += (event == "call") - (event == "return")
        if event != "call" or self.import_depth or self.prints or self.is_among_others(frame, module):
            return
        code = frame.f_code
        if id(code) not in self.ignored_codes:
            self.on_call(frame, code, module)

    def is_among_others(self, frame, module):
        """Whether jax or its dependencies are called by anything but user code."""
        caller = frame.f_back
        return (type(module) is str and module.startswith(OF_JAX)
                and (caller is None or caller.f_globals.get("__name__", "") not in self.modules))

    def on_call(self, frame, code, module):
        if code.co_name == "__init__" and code.co_argcount:
            self.on_creation(frame.f_locals.get(code.co_varnames[0]))
        if is_foreign(module):
            may_vary = not is_pure(module, code.co_name)
            if not may_vary and code.co_name not in ("__init__", "__hash__"):
                self.ignored_codes[id(code)] = code
            elif module == "inspect" and self.is_users_frame(frame.f_back):
                self.give_up(INSPECTS_CLASSES.format(name=f"inspect.{code.co_name}"))
            elif may_vary and self.is_users_frame(frame.f_back):
                self.make_volatile(IMPURE_CALL.format(name=f"{module}.{code.co_qualname}"))
            elif code.co_name == "__hash__" and self.is_users_frame(frame.f_back):
                self.compares_identities = True
            return
        if is_constructor_of_namedtuple(module, code):
            return
        key = id(code), id(frame.f_globals)
        names, is_first = self.codes.get(key), key not in self.codes
        if is_first:
            names = self.codes[key] = NamesOf(code)
            self.modules.add(module)
        if names.computes_names and not self.reads_all_names:
            self.read_all_names()
        if names.inspections and any(may_be_class(path, frame) for path in names.inspections):
            self.give_up(INSPECTS_CLASSES.format(name=code.co_qualname))
        if is_first:
            self.on_first_call(frame, code, names)
        for value in list(frame.f_locals.values()):
            cls = value if isinstance(value, type) else type(value)
            if is_users(cls):
                self.patches.add(cls)
                self.note_namespace(cls, cls.__name__)
                if names.is_dynamic:
                    self.read_from(cls, {name for base in cls.__mro__ for name in base.__dict__ if name[:2] != "__"})

    def give_up(self, why):
        """Raises an error: the function cannot be traced, not even for this call."""
        self.stop_listening()
        has_begun = len(self.codes) > 1 and self.volatile is not None  # and may have done what cannot be done again
        self.error = EagerOnly(why, has_begun)
        raise self.error

    def is_users_frame(self, frame):
        """Whether a frame runs user code. (Functions may share a code object, so globals are compared too.)"""
        return frame is not None and (id(frame.f_code), id(frame.f_globals)) in self.codes

    def on_first_call(self, frame, code, names):
        """Called when user code runs for the first time: notes its global names."""
        if "type" in names.globals:
            self.asks_for_types = True
        self.compares_tensors |= names.compares_objects
        for name in PLACE_NAMES & names.reads:
            self.give_up(PLACE.format(name=name))
        for name in UNSEEN_NAMES & names.reads:
            self.make_volatile(UNSEEN.format(name=name))
        inner = (c for other in self.codes.values() for c in other.code.co_consts)
        if id(code) not in self.known_codes and not any(code is c for c in inner):
            for function in gc.get_referrers(code):
                if isinstance(function, types.FunctionType):
                    self.note_function(function)
        table = frame.f_globals
        for name in names.globals | names.stores | ({*table} if "globals" in names.globals else set()):
            self.note_read(Item(table, name), table.get(name, MISSING), f"the global name {name}")
            if name not in table and name in vars(builtins):
                self.read_from_foreign(builtins, vars(builtins), name)
        for name in modules_named(names.imports, table) & sys.modules.keys():
            self.note_read(Item(sys.modules, name), sys.modules[name], f"the module {name}")
        self.note_names(names)

    def on_builtin_call(self, function):
        """Called when user code calls a function written in C."""
        owner, name = function.__self__, function.__name__
        if owner is None or isinstance(owner, types.ModuleType):
            module = function.__module__
        else:
            module = (owner if isinstance(owner, type) else type(owner)).__module__
        if (module, name) in IDENTITY:
            self.compares_identities = True
        elif is_foreign(module) and not is_pure(module, name):
            self.make_volatile(IMPURE_CALL.format(name=f"{module}.{name}"))

    def on_creation(self, thing):
        """Called when the function creates an object: nothing else refers to it yet."""
        if id(thing) not in self.objects and not any(tables_of(thing)):
            self.created[id(thing)] = thing


def modules_named(names, table):
    """The modules, with their packages, that imports of `names` may import in code with the globals `table`."""
    packages = containing(str(table.get("__package__") or ""))
    return {part for name in names for base in ("", *packages) for part in containing(f"{base}.{name}".strip("."))}


def containing(name):
    """The names of a module and of the packages that contain it."""
    parts = name.split(".")
    return {".".join(parts[:n + 1]) for n in range(len(parts))}


def label_of(thing):
    return thing.__name__ if isinstance(thing, types.ModuleType) else type(thing).__name__


def tables_of(thing):
    """The dicts with the attributes of an object."""
    try:
        attributes = object.__getattribute__(thing, "__dict__")
    except AttributeError:
        return []
    if not isinstance(thing, Module):
        return [attributes]
    return [attributes, *[attributes[t] for t in TABLES if t in attributes]]


@contextlib.contextmanager
def no_collector():
    """A context without garbage collection, whose finalizers would run as if the function called them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def random_state():
    """The states of the random generators of Python and NumPy."""
    kind, words, *rest = np.random.get_state()
    return random.getstate(), kind, words.tobytes(), *rest


def without_profile(function):
    """The function, unobserved: most of a trace is spent in jax, which makes a thousand calls per op."""

    def call(*args, **kwargs):
        profile = sys.getprofile()
        sys.setprofile(None)
        try:
            return function(*args, **kwargs)
        finally:
            sys.setprofile(profile)

    return call


def set_profile(profile):
    """``sys.setprofile``, also for profilers written in C."""
    sys.setprofile(profile if callable(profile) else None)
    if hasattr(profile, "enable"):
        profile.enable()
