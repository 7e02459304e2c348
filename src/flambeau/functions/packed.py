"""Packed sequences: sequences of different lengths in one unpadded tensor, time step by time step."""

from __future__ import annotations

import numpy as np

from .._dtypes import type_word
from ..engines import on_host
from ._args import tensor_on
from .index import index_select
from .join import cat
from .pointwise import where

__all__: list[str] = []

LENGTHS = "'lengths' argument should be a 1D CPU int64 tensor, but got {dims}D {device} {dtype} tensor"
NO_SEQUENCES = "Cannot pack empty tensors. Every sequence needs at least one element, and there must be a sequence."
COUNT = "Expected `len(lengths)` to be equal to batch_size, but got {got} (batch_size={batch}). Give a length of each."
EMPTY_SEQUENCE = (
    "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0. Leave empty "
    "sequences out."
)
NOT_SORTED = (
    "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. Pass `enforce_sorted=False`, "
    "to have the sequences sorted, and restored to their order afterwards."
)
TOO_LONG = "a sequence of length {length} does not fit in a padded input of {times} time steps: check 'lengths'"
TOTAL_LENGTH = (
    "Expected total_length to be at least the length of the longest sequence in input, but got "
    "total_length={total} and max sequence length being {times}"
)


class Packing:
    """The positions of packed elements in a padded tensor, ``(times, batch)``."""

    def __init__(self, batch_sizes, device):
        sizes = on_host(batch_sizes._a, "a PackedSequence")
        self.times, self.batch = len(sizes), int(sizes[0])
        there = np.arange(self.batch) < sizes[:, None]
        self.lengths = there.sum(0)
        self.mask = tensor_on(there[..., None], device)
        self._to_packed = tensor_on(np.flatnonzero(there), device)
        self._to_padded = tensor_on(np.where(there.ravel(), np.cumsum(there) - 1, 0), device)

    def pad(self, data):
        """Returns ``(times, batch, *)``, with arbitrary elements of data as padding."""
        return index_select(data, 0, self._to_padded).reshape(self.times, self.batch, *data.shape[1:])

    def pack(self, padded):
        return index_select(padded.reshape(self.times * self.batch, *padded.shape[2:]), 0, self._to_packed)


def _pack_padded_sequence(input, lengths, batch_first):
    """(the packed elements of padded sequences, sorted by decreasing length; the batch size at each time step)."""
    _check_lengths(lengths)
    padded = input.transpose(0, 1) if batch_first else input
    if not padded.numel():
        raise RuntimeError(NO_SEQUENCES)
    sizes, times, batch = on_host(lengths._a, "pack_padded_sequence"), padded.size(0), padded.size(1)
    if len(sizes) != batch:
        raise RuntimeError(COUNT.format(got=len(sizes), batch=batch))
    if sizes[-1] <= 0:
        raise RuntimeError(EMPTY_SEQUENCE)
    if (sizes[1:] > sizes[:-1]).any():
        raise RuntimeError(NOT_SORTED)
    if sizes[0] > times:
        raise RuntimeError(TOO_LONG.format(length=sizes[0], times=times))
    batch_sizes = tensor_on((sizes > np.arange(sizes[0])[:, None]).sum(1))
    return Packing(batch_sizes, input.device).pack(padded[:sizes[0]]), batch_sizes


def _check_lengths(lengths):
    if lengths.dim() != 1 or lengths._a.dtype != np.int64:
        word = type_word(lengths.dtype)
        raise RuntimeError(LENGTHS.format(dims=lengths.dim(), device=lengths.device.type, dtype=word))


def _pad_packed_sequence(data, batch_sizes, batch_first, padding_value, total_length):
    """(the padded sequences; their lengths); a `total_length` <= 0 means that of the longest sequence."""
    packing = Packing(batch_sizes, data.device)
    padded = packing.pad(data)
    if packing.lengths.min() < packing.times:
        padding = data.new_full((), padding_value)
        padded = where(packing.mask.reshape(*padded.shape[:2], *[1] * (padded.dim() - 2)), padded, padding)
    if total_length > 0:
        padded = _lengthen(padded, total_length, padding_value)
    return padded.transpose(0, 1) if batch_first else padded, tensor_on(packing.lengths)


def _lengthen(padded, total, padding_value):
    times = padded.shape[0]
    if total < times:
        raise ValueError(TOTAL_LENGTH.format(total=total, times=times))
    if total == times:
        return padded
    return cat([padded, padded.new_full((total - times, *padded.shape[1:]), padding_value)])
