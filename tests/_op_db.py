"""PyTorch's own database of operations, ``op_db``, converted for both libraries."""

import types

import torch
from torch.testing._internal.common_methods_invocations import op_db

import flambeau

SPACES = ("nn.functional", "linalg", "special", "fft", "signal.windows", "")


class Unavailable(LookupError):
    """There is no such function, or no such tensor, in flambeau."""


def _at(root, path):
    for name in path.split(".") if path else ():
        if not hasattr(root, name):
            raise Unavailable(f"{root.__name__} has no {name}")
        root = getattr(root, name)
    return root


def _paths():
    """The path below ``torch`` of each public function, by its id."""
    found = {}
    for space in SPACES:
        for name, value in vars(_at(torch, space)).items():
            if callable(value):
                found.setdefault(id(value), f"{space}.{name}".lstrip("."))
    for name in dir(torch.Tensor):
        found.setdefault(id(getattr(torch.Tensor, name)), f"Tensor.{name}")
    return found


PATHS = _paths()


def function_of(op):
    """Flambeau's function for an entry of op_db."""
    if _is_of_the_database(op.op):
        return _with_flambeau(op.op)
    return _at(flambeau, PATHS.get(id(op.op), op.name))


def _is_of_the_database(value):
    return isinstance(value, types.FunctionType) and value.__module__.startswith("torch.testing")


def _with_flambeau(value):
    """A function of the database in which ``torch`` is flambeau; other values as they are."""
    if not _is_of_the_database(value):
        return _at(flambeau, PATHS[id(value)]) if callable(value) and id(value) in PATHS else value
    scope = dict(value.__globals__, torch=flambeau, F=flambeau.nn.functional)
    scope["wrapper_set_seed"] = lambda function, *args, **kwargs: function(*args, **kwargs)
    for name in {*value.__code__.co_names} - {"wrapper_set_seed", value.__name__}:
        if _is_of_the_database(scope.get(name)):
            scope[name] = _with_flambeau(scope[name])
    cells = value.__closure__ and tuple(types.CellType(_with_flambeau(c.cell_contents)) for c in value.__closure__)
    copy = types.FunctionType(value.__code__, scope, value.__name__, value.__defaults__, cells)
    copy.__kwdefaults__ = value.__kwdefaults__
    return copy


def carry(value, storages=None):
    """The same for flambeau; tensors keep their strides, and what shares memory still does."""
    storages = {} if storages is None else storages
    if isinstance(value, torch.Tensor):
        return _tensor(value, storages)
    if isinstance(value, torch.Size):
        return flambeau.Size(value)
    if isinstance(value, torch.dtype | torch.layout | torch.memory_format):
        return _at(flambeau, str(value).rpartition(".")[2])
    if isinstance(value, torch.device):
        return flambeau.device(str(value))
    if isinstance(value, tuple | list):
        return type(value)([carry(v, storages) for v in value])
    if isinstance(value, dict):
        return {key: carry(v, storages) for key, v in value.items()}
    if type(value).__module__.startswith("torch"):
        raise Unavailable(f"a {type(value).__name__} is not carried over")
    return value


def _tensor(x, storages):
    dtype = _at(flambeau, str(x.dtype).rpartition(".")[2])
    if x.layout is not torch.strided or x.dim() > 64:
        raise Unavailable(f"layout {x.layout}, {x.dim()} dimensions")
    if x.device.type == "meta":
        return flambeau.empty(tuple(x.shape), dtype=dtype, device="meta")
    x = x.resolve_conj().resolve_neg()
    storage = x.untyped_storage()
    if x.numel() and not storage.nbytes():
        raise Unavailable("a tensor without memory")
    if storage._cdata not in storages:
        raw = torch.empty(0, dtype=torch.uint8).set_(storage, 0, (storage.nbytes(),)).numpy().copy()
        storages[storage._cdata] = flambeau.from_numpy(raw).untyped_storage()
    out = flambeau.empty(0, dtype=dtype)
    out.set_(storages[storage._cdata], x.storage_offset(), tuple(x.shape), tuple(x.stride()))
    return out.requires_grad_(x.requires_grad)


def tensors_in(value):
    """The tensors of PyTorch in nested tuples, lists and dicts."""
    if isinstance(value, torch.Tensor):
        return [value]
    values = value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list) else ()
    return [t for v in values for t in tensors_in(v)]


def outcome_of(function, args, kwargs):
    """The exception of a call; None if it returns."""
    try:
        function(*args, **kwargs)
    except Exception as error:
        return error
    return None


__all__ = ["Unavailable", "carry", "function_of", "op_db", "outcome_of", "tensors_in"]
