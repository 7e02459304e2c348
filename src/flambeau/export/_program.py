"""Exported programs: their signature, and saving and loading them.

A file is a zip with three members: the program (StableHLO, as written by JAX), its tensors (safetensors), and a
description (JSON). None of them contains code that Python runs.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from typing import Any, NamedTuple

import numpy as np

from .. import _dtypes
from .._device import CPU, resolve
from .._tensor import wrap
from .._version import __version__
from ..engines import engine_on
from ..serialization import safetensors
from ..serialization._files import write_file
from ._dims import Dim
from ._trees import OTHER_NEST, build, describe

FORMAT, VERSION = "flambeau.export", 1
PROGRAM, STATE, DESCRIPTION = "program.bin", "state.safetensors", "program.json"
LARGEST_DESCRIPTION = 16 << 20

NOT_A_FILE = "{source} is not an exported program: {why}"
NEWER = "it has format {found}, but this version of flambeau supports {known}: load it with a newer one"
WRONG_DTYPE = "input {nr} of {name} must be {want}, but got {got}"
WRONG_SHAPE = "input {nr} of {name} must have shape {want}, but got {got}"
WRONG_SIZE = "dimension {name} must be between {min} and {max}, but got {got}"
TWO_SIZES = "dimension {name} has size {first} in one input and {second} in another"
WRONG_PLATFORM = (
    "{name} was exported for {platforms}, and cannot run on {device}. Move its inputs, or export it with platforms=..."
)
TWO_DEVICES = "Expected all tensors to be on the same device, but the inputs of {name} are on {devices}"


class Specification(NamedTuple):
    """The inputs and outputs of a program.

    ``shapes`` has, for each tensor among the arguments, a list of sizes and Dims.
    """

    name: str
    input_tree: Any
    output_tree: Any
    dtypes: list
    shapes: list

    def check(self, tensors):
        """Raises unless the program can be called with these tensors."""
        sizes: dict[str, int] = {}
        for nr, (t, dtype, shape) in enumerate(zip(tensors, self.dtypes, self.shapes, strict=True)):
            if t.dtype is not dtype:
                raise TypeError(WRONG_DTYPE.format(nr=nr, name=self.name, want=dtype, got=t.dtype))
            fits = len(shape) == t.dim() and all([isinstance(n, Dim) or n == own for n, own in zip(shape, t.shape)])
            if not fits:
                want = [n.name if isinstance(n, Dim) else n for n in shape]
                raise ValueError(WRONG_SHAPE.format(nr=nr, name=self.name, want=want, got=list(t.shape)))
            for dim, size in zip(shape, t.shape):
                if isinstance(dim, Dim):
                    check_size(dim, size, sizes)

    def to_json(self):
        dims = {n.name: n for shape in self.shapes for n in shape if isinstance(n, Dim)}
        return {
            "name": self.name, "inputs": self.input_tree, "outputs": self.output_tree,
            "dtypes": [str(dtype).removeprefix("torch.") for dtype in self.dtypes],
            "shapes": [[n.name if isinstance(n, Dim) else n for n in shape] for shape in self.shapes],
            "dims": {name: [dim.min, dim.max] for name, dim in dims.items()},
        }

    @classmethod
    def from_json(cls, found):
        dims = {name: Dim(name, min=low, max=high) for name, (low, high) in found["dims"].items()}
        shapes = [[dims[n] if isinstance(n, str) else n for n in shape] for shape in found["shapes"]]
        dtypes = [getattr(_dtypes, "bool_" if name == "bool" else name) for name in found["dtypes"]]
        return cls(found["name"], found["inputs"], found["outputs"], dtypes, shapes)


def check_size(dim, size, sizes):
    if size < dim.min or (dim.max is not None and size > dim.max):
        raise ValueError(WRONG_SIZE.format(name=dim.name, min=dim.min, max=dim.max, got=size))
    first = sizes.setdefault(dim.name, size)
    if first != size:
        raise ValueError(TWO_SIZES.format(name=dim.name, first=first, second=size))


class ExportedProgram:
    """A model as a program that runs without its code. It is called like the model, but is not differentiable.

    ``state_dict`` has the tensors it uses, ``platforms`` those it was exported for, and ``versions`` those it was
    created with.
    """

    def __init__(self, exported, state, specification, versions=None):
        import jax

        self.exported = exported  # of JAX
        self.state_dict = state
        self.specification = specification
        self.versions = versions or {"flambeau": __version__, "jax": jax.__version__}
        self._run = jax.jit(exported.call)
        self._state_on = {}  # by JAX device

    @property
    def platforms(self):
        """The names of the platforms that it was exported for, such as "cpu"."""
        return tuple(self.exported.platforms)

    def __call__(self, *args, **kwargs):
        import jax

        spec, tensors = self.specification, []
        tree = describe((args, kwargs), tensors, "arguments")
        if tree != spec.input_tree:
            raise TypeError(OTHER_NEST.format(what="arguments", want=spec.input_tree, got=tree))
        spec.check(tensors)
        device = self._device_of(tensors)
        target = jax.local_devices(backend="cpu")[0] if device is CPU else engine_on(device).jax_device(device)
        if target.platform not in {{"cuda": "gpu", "rocm": "gpu"}.get(p, p) for p in self.platforms}:
            raise ValueError(WRONG_PLATFORM.format(name=spec.name, platforms=", ".join(self.platforms), device=device))
        with jax.default_device(target):
            found = self._run(self._state_at(target), [array_of(t) for t in tensors])
        results = [wrap(np.array(a)) if device is CPU else wrap(a, device) for a in found]
        return build(spec.output_tree, iter(results))

    def _device_of(self, tensors):
        devices = {t.device: None for t in tensors}
        if len(devices) > 1:
            raise RuntimeError(TWO_DEVICES.format(name=self.specification.name, devices=", ".join(map(str, devices))))
        return next(iter(devices), CPU)

    def _state_at(self, target):
        import jax

        if target not in self._state_on:
            self._state_on[target] = [jax.device_put(array_of(t), target) for t in self.state_dict.values()]
        return self._state_on[target]

    def module(self, check_guards=True):
        """Returns the program itself, which is called like the model."""
        return self

    def eval(self):
        """Returns the program itself: its mode is that of the model at export."""
        return self

    def __repr__(self):
        spec = self.specification.to_json()
        inputs = ", ".join([f"{dtype}{shape}" for dtype, shape in zip(spec["dtypes"], spec["shapes"])])
        return f"ExportedProgram({spec['name']}: {inputs}; for {', '.join(self.platforms)})"

    def save(self, f):
        """Writes the program to a file: a path, or an object with ``write``."""
        save(self, f)


def array_of(t):
    return t._a if t.device is CPU else engine_on(t.device).concrete(t._a)


def save(ep, f):
    """Writes an exported program to a file: a path, or an object with ``write``."""
    description = {"format": FORMAT, "version": VERSION, "versions": ep.versions, "state": list(ep.state_dict),
                   **ep.specification.to_json()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(DESCRIPTION, json.dumps(description, indent=1))
        archive.writestr(PROGRAM, bytes(ep.exported.serialize()))
        archive.writestr(STATE, safetensors.save({k: t.contiguous() for k, t in ep.state_dict.items()}))
    if hasattr(f, "write"):
        f.write(buffer.getvalue())
    else:
        write_file(f, lambda stream: stream.write(buffer.getvalue()))


def load(f):
    """Reads an exported program from a file: a path, or an object with ``read``. Runs no code from the file."""
    import jax
    import jax.export

    engine_on(resolve("xla"))  # importing the engine switches jax to 64 bits
    source = "the stream" if hasattr(f, "read") else repr(os.fspath(f))
    data = io.BytesIO(f.read()) if hasattr(f, "read") else f
    try:
        with zipfile.ZipFile(data) as archive:
            if archive.getinfo(DESCRIPTION).file_size > LARGEST_DESCRIPTION:
                raise ValueError("its description is too large")
            description = json.loads(archive.read(DESCRIPTION))
            if not isinstance(description, dict) or description.get("format") != FORMAT:
                raise ValueError("it has another format")
            if description["version"] > VERSION:
                raise ValueError(NEWER.format(found=description["version"], known=VERSION))
            state = safetensors.load(archive.read(STATE))
            exported = jax.export.deserialize(bytearray(archive.read(PROGRAM)))
            specification = Specification.from_json(description)
            state = {name: state[name] for name in description["state"]}
    except (zipfile.BadZipFile, safetensors.SafetensorError, LookupError, AttributeError, TypeError,
            ValueError) as error:
        raise ValueError(NOT_A_FILE.format(source=source, why=error)) from error
    return ExportedProgram(exported, state, specification, description["versions"])
