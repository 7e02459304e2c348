"""Finds compiled programs by the digest of their parts, so that jax need not trace and lower them.

The folder of compiled programs (_cache.py) has an entry for each program, named by the digest of its parts and of the
environment (_digests.py). The entry has jax's key for the program, and the forms of its inputs and outputs. jax then
compiles a stand-in with the same inputs and outputs, a single call that does nothing; when it looks for that in the
folder, it gets the real program. If this fails, the program is traced and lowered as usual.
"""

from __future__ import annotations

import json
import logging
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import mlir

from ..._interrupts import is_interrupt
from . import _cache, _inferred
from ._digests import NoDigest, check_code, digest, environment
from ._prefetch import Missing, Prefetch

log = logging.getLogger("flambeau.compiler")


class Form(NamedTuple):
    """The inputs and outputs of a program."""

    key: str  # of jax's cache
    places: list  # indices of the arguments that it uses, among all leaves
    results: list  # (shape, dtype name, weak_type)
    tree: Any  # the structure of the results, with numbers as leaves

    @classmethod
    def of(cls, key, compiled, results):
        """The form of a program compiled by jax with these `results`; None if its calling convention is not known."""
        executable, parameters = getattr(compiled, "_executable", None), getattr(compiled, "_params", None)
        kept = getattr(executable, "_kept_var_idx", None)
        calls_host = getattr(getattr(executable, "unsafe_call", None), "has_host_callbacks", None)
        if kept is None or calls_host is not False or getattr(parameters, "const_args", None) != []:
            return None
        leaves, tree = jax.tree.flatten(results)
        forms = [(x.shape, x.dtype.name, x.weak_type) for x in leaves]
        return cls(key, sorted(kept), forms, jax.tree.unflatten(tree, range(len(leaves))))

    @classmethod
    def read(cls, contents):
        """The form in an entry; None if it is invalid."""
        try:
            key, places, results, tree = json.loads(contents or "null")
            results = [(tuple(shape), np.dtype(dtype), bool(weak)) for shape, dtype, weak in results]
            return cls(key, places, results, tree)
        except (ValueError, TypeError, RecursionError):
            return None

    def stand_in(self, *arguments):
        leaves = jax.tree.leaves(arguments)
        found = known_program.bind(*[leaves[i] for i in self.places], results=tuple(self.results))
        return jax.tree.map(found.__getitem__, self.tree)


known_program = Primitive("known_program")
known_program.multiple_results = True
known_program.def_abstract_eval(lambda *_, results: [
    jax.core.ShapedArray(shape, dtype, weak_type=weak) for shape, dtype, weak in results])


def _lower(context, *operands, results):
    return jax.ffi.ffi_lowering("flambeau_known_program")(context, *operands)  # it is never run


mlir.register_lowering(known_program, _lower)


def compile_program(function, arguments, donated, options, parts):
    """``jax.jit(function)``, compiled for arguments like these on the default device.

    Args:
        donated: the indices of the arguments whose memory may be reused.
        options: of the compiler.
        parts: returns the parts of the program's key; may raise NoDigest.
    """
    settings = dict(donate_argnums=donated, compiler_options=options)
    programs = _cache.programs
    if not isinstance(programs, Prefetch) or jax.process_count() > 1:
        return jax.jit(function, **settings).lower(*arguments).compile()
    name = name_of(arguments, settings, parts)
    found = None if name is None else find(programs, name, arguments, settings)
    if found is None:
        found = compile_and_note(programs, name, function, arguments, settings)
    _inferred.table.save()
    return found


def find(programs, name, arguments, settings):
    """The program of an entry, or None."""
    form = Form.read(programs.get(name))
    if form is None:
        return None
    try:
        lowered = jax.jit(form.stand_in, **settings).lower(*arguments)
        with programs.asking_for(form.key):
            return lowered.compile()
    except (Exception, Missing) as error:
        if is_interrupt(error):
            raise
        log.info("a compiled program could not be reused: %s", error)
        return None


def compile_and_note(programs, name, function, arguments, settings):
    """Compiles a program, and writes its entry, unless the name is None."""
    jitted = jax.jit(function, **settings)
    lowered = jitted.lower(*arguments)
    with programs.noting() as keys:
        compiled = lowered.compile()
    found = name is not None and len({*keys}) == 1
    form = Form.of(keys[0], compiled, jitted.eval_shape(*arguments)) if found else None
    if form is not None:
        programs.folder.put(name, json.dumps(form).encode())
    return compiled


def name_of(arguments, settings, parts):
    """The name of an entry; None if there cannot be one."""
    try:
        check_code()
        forms = [form_of(x) for x in jax.tree.leaves(arguments)]
        return "form-" + digest(environment(jax.config.jax_default_device), forms, settings, parts())
    except NoDigest as error:
        log.debug("a program has no digest: %s", error)
        return None


def form_of(x):
    """The properties of an argument that a program depends on."""
    sharding = getattr(x, "sharding", None)
    if sharding is None:
        return np.shape(x), np.result_type(x)
    if not isinstance(sharding, jax.sharding.SingleDeviceSharding):
        raise NoDigest(f"{sharding}")
    (own,) = sharding.device_set
    return x.shape, x.dtype, x.weak_type, own, sharding.memory_kind
