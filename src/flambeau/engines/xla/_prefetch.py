"""Preloading of programs: while Python records the first step, a thread loads the programs of the script's last run.

Loading a large program takes some tenths of a second. So the folder of compiled programs (_cache.py) also stores, for
each script, which programs it used, with the same arguments and with any. Programs are identified by jax's own keys,
which cover the compiler options, and are only used if jax asks for that key on the same devices: an outdated list costs
time, but is otherwise harmless.
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

MOST = 16  # programs to preload
PARAMETERS = ["cache_key", "compile_options", "backend", "executable_devices"]  # of jax's function that loads a program
CALLBACKS = "host_callbacks"  # an additional one from jax 0.11 on: host functions that the program calls


@dataclasses.dataclass(frozen=True)
class Request:
    """jax's request for a program."""

    key: str
    options: str = dataclasses.field(compare=False)  # serialized, in base64; equal options may differ in text
    platform: str
    devices: tuple

    @classmethod
    def of(cls, key, options, backend, devices):
        options = base64.b64encode(options.SerializeAsString()).decode()
        return cls(key, options, backend.platform, tuple([device.id for device in devices]))

    @property
    def arguments(self):
        """The arguments for jax's function."""
        options = xla_client.CompileOptions.ParseFromString(base64.b64decode(self.options))
        devices = {device.id: device for device in jax.local_devices(backend=self.platform)}
        found = xla_client.DeviceList(tuple([devices[i] for i in self.devices]))
        return self.key, options, jax.local_devices(backend=self.platform)[0].client, found


class Missing(BaseException):
    """The program does not exist. (jax would catch an Exception, warn, and compile what it was passed.)"""


class Here(threading.local):
    """What a thread has asked jax for; see ``Prefetch.asking_for`` and ``noting``."""

    key: str | None = None
    keys: list[str] | None = None


class Prefetch:
    """Preloads the programs of a script's last run, and notes those of this one. It replaces the folder for jax.

    Args:
        folder: the folder of programs.
        load: jax's function that loads a program.
        runs: the keys of this run of a script; see ``runs_like_this``.
    """

    def __init__(self, folder, load, runs):
        self.folder = folder
        self._path = folder.path
        self.load = load
        self.names = ["script-" + hashlib.sha256(json.dumps(run).encode()).hexdigest() for run in runs]
        self.requests: dict[str, Request] = {}
        self.uses: list[Request] = []  # of this run
        self.history = self.read_history()  # of the last run, or as last written
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
        """Starts loading. Called when jax knows its devices."""
        if self.thread is not None or jax.process_count() > 1:
            return
        self.queue = [request for request in self.history[:MOST] if request not in self.uses]
        log.debug("preloading %d compiled programs", len(self.queue))
        self.thread = threading.Thread(target=self.work, daemon=True, name="flambeau-programs")
        self.thread.start()
        atexit.register(self.stop)  # before jax releases the devices

    def work(self):
        while True:
            with self.change:
                if not self.queue:
                    return
                self.current = request = self.queue.pop(0)
            found = None, None
            try:
                found = self.load(*request.arguments)
            except Exception as error:  # it is raised where the program is needed
                log.info("a compiled program could not be preloaded: %s", error)
            with self.change:
                if self.current is request:
                    self.current = None
                    if found[0] is not None:
                        self.executables[request] = found
                self.change.notify_all()

    def forget(self):
        """Cancels loading, and drops programs that nobody has asked for."""
        with self.change:
            self.queue.clear()
            self.executables.clear()
            self.current = None
            self.change.notify_all()

    def stop(self):
        """Cancels loading, and waits for the thread."""
        self.forget()
        self.thread.join()

    def take(self, request):
        """(executable, compile time) if the program was preloaded, or is being loaded; otherwise None."""
        with self.change:
            self.change.wait_for(lambda: self.current != request)
            if request in self.queue:
                self.queue.remove(request)
            found = self.executables.pop(request, None)
        log.debug("a compiled program was %spreloaded: %s", "not " if found is None else "", request.key)
        return found

    @contextlib.contextmanager
    def asking_for(self, key):
        """A context in which jax gets the program with this key, whichever it asks for; Missing if that fails."""
        self.here.key = key
        try:
            yield
            if self.here.key is not None:
                raise Missing("jax has not asked for it")
        finally:
            self.here.key = None

    def find_asked_for(self, *others):
        """The result of ``get_executable_and_time`` within ``asking_for``."""
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
        """A context that lists the keys of programs that jax loads, or compiles and stores, in it."""
        self.here.keys = found = []
        try:
            yield found
        finally:
            self.here.keys = None

    def get_executable_and_time(self, cache_key, compile_options, backend, executable_devices, host_callbacks=()):
        """Replaces jax's function."""
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
        """Stores a newly compiled program."""
        self.folder.put(key, contents)
        self.note(key)

    def note(self, key):
        """Notes that a stored program was used."""
        if self.here.keys is not None:
            self.here.keys.append(key)
        request = self.requests.get(key)
        if request is None or request in self.uses or len(self.uses) == MOST:
            return
        if request not in self.history:
            self.forget()  # this run differs from the last
        self.uses.append(request)
        if self.uses != self.history[:len(self.uses)]:
            self.history = self.uses.copy()
            for name in self.names:
                self.folder.put(name, json.dumps([*map(dataclasses.astuple, self.history)]).encode())


def runs_like_this():
    """The keys of this run of a script: the script with its arguments, and the script alone."""
    arguments = [*map(str, getattr(sys, "argv", ()))]
    if not arguments or not os.path.isfile(arguments[0]):  # python -c, interactive, or embedded
        return [[os.getcwd(), *sys.orig_argv]]
    script = os.path.abspath(arguments[0])
    return [[script, *arguments[1:]], [script]]


def with_prefetch(folder):
    """A Prefetch for the folder; the folder itself if jax's function for loading is not as expected."""
    load = getattr(cache_of_jax, "get_executable_and_time", None)
    if load is None or [*inspect.signature(load).parameters] not in (PARAMETERS, [*PARAMETERS, CALLBACKS]):
        return folder
    prefetch = Prefetch(folder, load, runs_like_this())
    cache_of_jax.get_executable_and_time = prefetch.get_executable_and_time
    return prefetch
