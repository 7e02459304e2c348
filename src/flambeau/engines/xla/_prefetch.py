"""Programs that this script has run before, loaded ahead: while Python records the first step, a thread reads them.

To load a large program takes some tenths of a second, in which nothing else happens if it begins when the program is
needed. So the folder of compiled programs (_cache.py) also has, for each script, which of them it has used, with these
arguments or with others. Programs are identified by jax's own keys, which cover the options of the compiler, and used
only where jax asks for that very key on the same devices: a list that is out of date costs time, and nothing else.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import dataclasses
import hashlib
import inspect
import json
import logging
import os
import sys
import threading
from typing import Any

import jax
from jax._src import compilation_cache as cache_of_jax
from jax._src.lib import xla_client

log = logging.getLogger("flambeau.compiler")

MOST = 16  # programs that are loaded ahead
PARAMETERS = ["cache_key", "compile_options", "backend", "executable_devices"]  # of jax's function that loads one
CALLBACKS = "host_callbacks"  # a further one from jax 0.11 on: functions of this process that the program calls


@dataclasses.dataclass(frozen=True)
class Request:
    """A program as jax asks for it."""

    key: str
    options: str = dataclasses.field(compare=False)  # serialized, in base64: not always the same text
    platform: str
    devices: tuple

    @classmethod
    def of(cls, key, options, backend, devices):
        options = base64.b64encode(options.SerializeAsString()).decode()
        return cls(key, options, backend.platform, tuple([device.id for device in devices]))

    @property
    def arguments(self):
        """What jax's function takes."""
        options = xla_client.CompileOptions.ParseFromString(base64.b64decode(self.options))
        devices = {device.id: device for device in jax.local_devices(backend=self.platform)}
        found = xla_client.DeviceList(tuple([devices[i] for i in self.devices]))
        return self.key, options, jax.local_devices(backend=self.platform)[0].client, found


class Missing(BaseException):
    """There is no such program. (Of an Exception jax would say so and compile what it has.)"""


class Here(threading.local):
    """What a thread has jax do; see ``Prefetch.asking_for`` and ``noting``."""

    key: str | None = None
    keys: list[str] | None = None


class Prefetch:
    """Loads the programs of the last run of a script, and notes those of this one. For jax it is the folder of them.

    Args:
        folder: that of the programs.
        load: jax's function that loads one.
        runs: the key of this run of a script; see ``runs_like_this``.
    """

    def __init__(self, folder, load, runs):
        self.folder = folder
        self._path = folder.path
        self.load = load
        self.names = ["script-" + hashlib.sha256(json.dumps(run).encode()).hexdigest() for run in runs]
        self.requests: dict[str, Request] = {}
        self.uses: list[Request] = []  # in this run
        self.history = self.read_history()  # in the last one, or what was last written
        self.queue: list[Request] = []
        self.executables: dict[Request, Any] = {}
        self.current: Request | None = None
        self.change = threading.Condition()
        self.thread: threading.Thread | None = None
        self.here = Here()

    def read_history(self):
        contents = next(filter(None, map(self.folder.get, self.names)), b"[]")
        with contextlib.suppress(ValueError, TypeError):
            return [Request(key, options, platform, tuple(devices))
                    for key, options, platform, devices in json.loads(contents)]
        return []

    def start(self):
        """Begins to load; jax knows its devices by now."""
        if self.thread is not None or jax.process_count() > 1:
            return
        self.queue = [request for request in self.history[:MOST] if request not in self.uses]
        log.debug("%d compiled programs are to be loaded ahead", len(self.queue))
        self.thread = threading.Thread(target=self.work, daemon=True, name="flambeau-programs")
        self.thread.start()
        atexit.register(self.stop)  # before jax lets go of the devices

    def work(self):
        while True:
            with self.change:
                if not self.queue:
                    return
                self.current = request = self.queue.pop(0)
            found = None, None
            try:
                found = self.load(*request.arguments)
            except Exception as error:  # whoever needs it will see what is wrong
                log.info("a compiled program is not loaded ahead: %s", error)
            with self.change:
                if self.current is request:
                    self.current = None
                    if found[0] is not None:
                        self.executables[request] = found
                self.change.notify_all()

    def forget(self):
        """Gives up what is not loaded yet, and lets go of what nobody has asked for."""
        with self.change:
            self.queue.clear()
            self.executables.clear()
            self.current = None
            self.change.notify_all()

    def stop(self):
        """Waits for the thread, which loads no more."""
        self.forget()
        self.thread.join()

    def take(self, request):
        """(executable, compile time), if it was loaded, or is just being; else None."""
        with self.change:
            self.change.wait_for(lambda: self.current != request)
            if request in self.queue:
                self.queue.remove(request)
            found = self.executables.pop(request, None)
        log.debug("a compiled program was %sloaded ahead: %s", "not " if found is None else "", request.key)
        return found

    @contextlib.contextmanager
    def asking_for(self, key):
        """A context in which jax finds the program with this key, whichever it asks for; Missing, if it does not."""
        self.here.key = key
        try:
            yield
            if self.here.key is not None:
                raise Missing("jax has not asked for it")
        finally:
            self.here.key = None

    def find_asked_for(self, *others):
        """What ``get_executable_and_time`` returns within ``asking_for``."""
        key, self.here.key = self.here.key, None
        try:
            found = self.get_executable_and_time(key, *others)
        except Exception as error:
            raise Missing(str(error)) from error
        if found[0] is None:
            raise Missing(f"{key} is gone")
        return found

    @contextlib.contextmanager
    def noting(self):
        """A context with the list of the keys of programs that jax finds, or has compiled and kept, in it."""
        self.here.keys = found = []
        try:
            yield found
        finally:
            self.here.keys = None

    def get_executable_and_time(self, cache_key, compile_options, backend, executable_devices, host_callbacks=()):
        """In the place of jax's function."""
        if self.here.key is not None:
            return self.find_asked_for(compile_options, backend, executable_devices)
        if host_callbacks:
            return self.load(cache_key, compile_options, backend, executable_devices, host_callbacks)
        request = Request.of(cache_key, compile_options, backend, executable_devices)
        self.requests[cache_key] = request
        found = self.take(request) or self.load(cache_key, compile_options, backend, executable_devices)
        if found[0] is not None:
            self.note(cache_key)
        return found

    def get(self, key):
        return self.folder.get(key)

    def put(self, key, contents):
        """Keeps a program that was compiled just now."""
        self.folder.put(key, contents)
        self.note(key)

    def note(self, key):
        """Notes that a program was used, which is on disk."""
        if self.here.keys is not None:
            self.here.keys.append(key)
        request = self.requests.get(key)
        if request is None or request in self.uses or len(self.uses) == MOST:
            return
        if request not in self.history:
            self.forget()  # the script does something else this time
        self.uses.append(request)
        if self.uses != self.history[:len(self.uses)]:
            self.history = self.uses.copy()
            for name in self.names:
                self.folder.put(name, json.dumps([*map(dataclasses.astuple, self.history)]).encode())


def runs_like_this():
    """The key of this run of a script: the script and its arguments, else the script alone."""
    arguments = [*map(str, getattr(sys, "argv", ()))]
    if not arguments or not os.path.isfile(arguments[0]):  # python -c, interactive, or embedded
        return [[os.getcwd(), *sys.orig_argv]]
    script = os.path.abspath(arguments[0])
    return [[script, *arguments[1:]], [script]]


def with_prefetch(folder):
    """The folder, with programs that are loaded ahead; itself where jax loads programs in another way than is known."""
    load = getattr(cache_of_jax, "get_executable_and_time", None)
    if load is None or [*inspect.signature(load).parameters] not in (PARAMETERS, [*PARAMETERS, CALLBACKS]):
        return folder
    prefetch = Prefetch(folder, load, runs_like_this())
    cache_of_jax.get_executable_and_time = prefetch.get_executable_and_time
    return prefetch
