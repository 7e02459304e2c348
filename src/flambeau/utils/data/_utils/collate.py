"""Collation: batches from lists of samples. Tensors are stacked, containers traversed, everything else is rejected."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence

import numpy as np

from ...._dtypes import float64
from ...._tensor import Tensor
from ....functions.from_data import as_tensor, tensor
from ....functions.join import stack
from .worker import stack_shared

WRONG_TYPE = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {kind}"
LENGTHS = "each element in list of batch should be of equal size, got sizes {sizes}"
TEXT_KINDS = "SUO"  # NumPy dtype kinds that tensors cannot hold: text and objects


def default_convert(data):
    """Converts the NumPy arrays in ``data`` to tensors, recursing into dicts, lists and tuples; the rest is unchanged.

    Example::

        >>> import numpy as np
        >>> default_convert({"x": np.ones(2, np.float32), "name": "a"})
        {'x': tensor([1., 1.]), 'name': 'a'}
    """
    if isinstance(data, Tensor):
        return data
    if isinstance(data, np.ndarray | np.generic):
        return data if data.dtype.kind in TEXT_KINDS else as_tensor(data)
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: default_convert(value) for key, value in data.items()})
    if _is_named(data):
        return type(data)(*map(default_convert, data))
    if isinstance(data, tuple):
        return [default_convert(value) for value in data]
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return _like_sequence(data, [default_convert(value) for value in data])
    return data


def default_collate(batch):
    """Collates a list of samples into a batch.

    Tensors, arrays and numbers become a tensor with an additional dimension, dicts a dict of batches, sequences a list
    of batches; strings stay a list. Everything else is an error: pass a custom ``collate_fn`` to the DataLoader, or use
    ``collate`` with a table of functions.

    Example::

        >>> default_collate([{"x": 1, "name": "a"}, {"x": 2, "name": "b"}])
        {'x': tensor([1, 2]), 'name': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch, *, collate_fn_map: dict[type | tuple[type, ...], Callable] | None = None):
    """Collates a list of samples into a batch, with functions by type.

    Args:
        batch: the samples.
        collate_fn_map: functions ``(batch, *, collate_fn_map)`` by sample type or tuple of types. A missing type is
            looked up by isinstance, in the order of the table. Dicts and sequences without an entry are traversed.
    """
    sample = batch[0]
    if collate_fn_map is not None and (function := _function_for(type(sample), collate_fn_map)) is not None:
        return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(sample, Mapping):
        return _collate_mappings(batch, collate_fn_map)
    if _is_named(sample):
        return type(sample)(*[collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)])
    if isinstance(sample, Sequence):
        return _collate_sequences(batch, collate_fn_map)
    raise TypeError(WRONG_TYPE.format(kind=type(sample)))


def _function_for(kind, table):
    if kind in table:
        return table[kind]
    return next((function for kinds, function in table.items() if issubclass(kind, kinds)), None)


def _collate_mappings(batch, table):
    first = batch[0]
    return _like_mapping(first, {key: collate([d[key] for d in batch], collate_fn_map=table) for key in first})


def _collate_sequences(batch, table):
    sizes = [len(sample) for sample in batch]
    if len(set(sizes)) > 1:
        raise RuntimeError(LENGTHS.format(sizes=sizes))
    columns = [collate(column, collate_fn_map=table) for column in zip(*batch)]
    return columns if isinstance(batch[0], tuple) else _like_sequence(batch[0], columns)


def _is_named(value):
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _like_mapping(like, entries):
    """The entries in a mapping of the type of `like`, or in a dict if that cannot be constructed."""
    with contextlib.suppress(TypeError):
        if not isinstance(like, MutableMapping):
            return type(like)(entries)
        out = copy.copy(like)  # keeps other state, such as a defaultdict's factory
        out.update(entries)
        return out
    return entries


def _like_sequence(like, values):
    """The values in a sequence of the type of `like`, or in a list if that cannot be constructed."""
    with contextlib.suppress(TypeError):
        if not isinstance(like, MutableSequence):
            return type(like)(values)
        out = copy.copy(like)
        for i, value in enumerate(values):
            out[i] = value
        return out
    return values


# ---- by type


def collate_tensor_fn(batch, *, collate_fn_map=None):
    """Stacks tensors; in a worker, into shared memory."""
    stacked = stack_shared(batch)
    return stack(batch, 0) if stacked is None else stacked


def collate_numpy_array_fn(batch, *, collate_fn_map=None):
    """Stacks arrays into a tensor."""
    if batch[0].dtype.kind in TEXT_KINDS:
        raise TypeError(WRONG_TYPE.format(kind=batch[0].dtype))
    return collate([as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch, *, collate_fn_map=None):
    """Converts NumPy scalars to a tensor."""
    return as_tensor(batch)


def collate_float_fn(batch, *, collate_fn_map=None):
    """Converts floats to a double-precision tensor."""
    return tensor(batch, dtype=float64)


def collate_int_fn(batch, *, collate_fn_map=None):
    """Converts ints to a tensor."""
    return tensor(batch)


def collate_str_fn(batch, *, collate_fn_map=None):
    """Returns strings unchanged."""
    return batch


default_collate_fn_map: dict[type | tuple[type, ...], Callable] = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}
