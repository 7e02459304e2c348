"""Sequences of different lengths in one tensor: padded to equal length, or packed without padding."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..._device import contiguous_format
from ..._dtypes import int64
from ..._signatures import set_name
from ..._tensor import Tensor
from ...functions import packed as functions
from ...functions.creation import arange, full
from ...functions.from_data import tensor
from ...functions.index import index_select
from ...functions.like import empty_like

__all__ = ["PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
           "pad_sequence", "unpack_sequence", "unpad_sequence"]

BATCH_SIZES_DEVICE = (
    "batch_sizes should always be on CPU, but are on {device}. pack_padded_sequence and pack_sequence make them there."
)
PAIR = "Expected data to be a list or tuple of length 2"
NOT_ITERABLE = "pad_sequence: Expected iterable for input sequences, but got arg of type: {kind}"
NO_SEQUENCES = "received an empty list of sequences: there is no length to pad to"
NO_LENGTH = "pad_sequence: a zero-dimensional tensor has no length to pad (ArrayRef: invalid slice). Use stack()."
NOT_PACKED = (
    "pad_packed_sequence(): argument 'sequence' must be a PackedSequence, not {got}, which has no attribute "
    "'batch_sizes'"
)
SIDE = "Expected padding_side to be one of left or right, but got {side}."


class PackedSequence_(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(PackedSequence_):
    """Sequences of different lengths in the format of recurrent layers: the first elements of all, then the second
    ones, and so on.

    Created by ``pack_padded_sequence`` and ``pack_sequence``.

    Attributes:
        data: the elements, ``(sum of lengths, *)``.
        batch_sizes: the number of sequences at each time step, on the CPU.
        sorted_indices: the indices of the sequences by decreasing length; None if they were sorted already.
        unsorted_indices: the inverse permutation.

    Example::

        >>> packed = nn.utils.rnn.pack_sequence([tensor([1, 2, 3]), tensor([4, 5])])
        >>> packed.data, packed.batch_sizes
        (tensor([1, 4, 2, 5, 3]), tensor([2, 2, 1]))
    """

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if batch_sizes is None:  # a pair
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError(PAIR)
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(BATCH_SIZES_DEVICE.format(device=batch_sizes.device))
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def __getnewargs__(self):
        return tuple(self)

    def to(self, *args, **kwargs):
        """The sequences with ``data.to(...)``; the same object if that changes nothing."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = [
            None if order is None else order.to(data.device, non_blocking=bool(kwargs.get("non_blocking")))
            for order in (self.sorted_indices, self.unsorted_indices)
        ]
        return type(self)(data, self.batch_sizes, *indices)

    def _on(self, kind, args, kwargs):
        if self.data.device.type == kind and not args and not kwargs:
            return self
        return self.to(*args, **{"device": kind, **kwargs} if not args else kwargs)

    def cuda(self, *args, **kwargs):
        """The sequences on the GPU."""
        return self._on("cuda", args, kwargs)

    def cpu(self, *args, **kwargs):
        """The sequences on the CPU."""
        return self._on("cpu", args, kwargs)

    def pin_memory(self):
        """The sequences in page-locked memory."""
        indices = [None if order is None else order.pin_memory() for order in self[2:]]
        return type(self)(self.data.pin_memory(), self.batch_sizes, *indices)

    @property
    def is_cuda(self):
        """Whether the sequences are on a GPU."""
        return self.data.is_cuda

    def is_pinned(self):
        """Whether the sequences are in page-locked memory."""
        return self.data.is_pinned()


def _conversion(name):
    def method(self):
        data = getattr(self.data, name)()
        return self if data is self.data else self._replace(data=data)

    return set_name(method, name, f"The sequences with ``data.{name}()``.")


for _name in ("double", "float", "half", "long", "int", "short", "char", "byte"):
    setattr(PackedSequence, _name, _conversion(_name))


def invert_permutation(permutation):
    """The inverse of a permutation; None for None."""
    if permutation is None:
        return None
    places = arange(0, permutation.numel(), device=permutation.device)
    return empty_like(permutation).scatter_(0, permutation, places)


# ---- packed


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Packs padded sequences.

    Args:
        input: ``(L, B, *)``, or ``(B, L, *)`` with ``batch_first``.
        lengths: the lengths, a list or a tensor on the CPU.
        enforce_sorted: whether sequences must be sorted by decreasing length. If False, they are sorted here, and
            ``pad_packed_sequence`` restores the order.
    """
    lengths = lengths.to(dtype=int64) if isinstance(lengths, Tensor) else tensor(lengths, dtype=int64, device="cpu")
    order = None
    if not enforce_sorted:
        lengths, order = lengths.sort(descending=True)
        order = order.to(input.device)
        input = index_select(input, 0 if batch_first else 1, order)
    data, batch_sizes = functions._pack_padded_sequence(input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, order)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """The sequences of a PackedSequence padded to one length, and their lengths.

    Args:
        total_length: the length to pad to; by default that of the longest sequence.
    """
    if not isinstance(sequence, PackedSequence_):
        raise TypeError(NOT_PACKED.format(got=type(sequence).__name__))
    data, batch_sizes, _, original = sequence
    padded, lengths = functions._pad_packed_sequence(
        data, batch_sizes, batch_first, padding_value, -1 if total_length is None else total_length
    )
    if original is not None:
        return index_select(padded, 0 if batch_first else 1, original), lengths[original.cpu()]
    return padded, lengths


def pack_sequence(sequences, enforce_sorted=True):
    """Packs a list of sequences, each ``(L, *)``."""
    return pack_padded_sequence(pad_sequence(sequences), [s.size(0) for s in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The sequences of a PackedSequence, as a list."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


# ---- padded


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Pads and stacks sequences, each ``(L, *)``: to ``(longest, B, *)``, or ``(B, longest, *)`` with ``batch_first``.

    Example::

        >>> nn.utils.rnn.pad_sequence([tensor([1, 2, 3]), tensor([4])], batch_first=True)
        tensor([[1, 2, 3],
                [4, 0, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(NOT_ITERABLE.format(kind=type(sequences)))
    sequences = tuple(sequences)
    if not sequences:
        raise RuntimeError(NO_SEQUENCES)
    if padding_side not in ("left", "right"):
        raise RuntimeError(SIDE.format(side=padding_side))
    first = sequences[0]
    if isinstance(first, Tensor) and first.dim() == 0:
        raise RuntimeError(NO_LENGTH)
    longest, batch = max([s.size(0) for s in sequences]), len(sequences)
    shape = (batch, longest) if batch_first else (longest, batch)
    padded = full((*shape, *first.shape[1:]), padding_value, dtype=first.dtype, device=first.device)
    for row, sequence in enumerate(sequences):
        length = sequence.size(0)
        times = slice(length) if padding_side == "right" else slice(longest - length, longest)
        padded[(row, times) if batch_first else (times, row)] = sequence
    return padded


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The sequences of a padded tensor, as a list."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    pairs = zip(padded_sequences, lengths.tolist(), strict=True)
    return [row[:max(n, 0)].clone(memory_format=contiguous_format) for row, n in pairs]
