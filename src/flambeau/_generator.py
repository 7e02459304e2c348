"""The CPU random-number generator: a Mersenne Twister that produces PyTorch's stream.

The generator keeps the state and produces raw words; the engine's random kernels turn these into uniform or normal
numbers or permutations.
"""

from __future__ import annotations

import ctypes
import secrets
import threading

import numpy as np

from ._device import device as Device
from ._device import resolve
from ._modes import modes
from ._tensor import Tensor, wrap
from .engines import engine_on

__all__ = ["DEFAULT_SEED", "Generator"]

DEFAULT_SEED = 67280421310721

_WORDS = 624

# The record of a saved state, identical to PyTorch's, so states can be exchanged.
_STATE = np.dtype(
    [
        ("seed", "<u8"),
        ("left", "<i4"),  # number of words until the next twist, plus one
        ("seeded", "<i4"),
        ("next", "<u8"),  # index of the next word
        ("words", "<u8", _WORDS),
        ("normal_x", "<f8"),
        ("normal_y", "<f8"),  # the second normal of the last pair
        ("normal_rho", "<f8"),
        ("normal_is_valid", "<i4"),
        ("_gap", "<i4"),
        ("float_normal", "<f4"),
        ("float_normal_is_valid", "<u4"),
    ]
)

WRONG_SEED_TYPE = "manual_seed expected a long, but got {type}"
SEED_OVERFLOW = "Overflow when unpacking long long: the seed {seed} does not fit in 64 bits"
WRONG_STATE_SIZE = (
    "Expected a CPUGeneratorImplState of size {expected} but found the input RNG state size to be {found}"
)
INVALID_STATE = "Invalid mt19937 state"
SEEDED_IN_PROGRAM = (
    "a generator is made, seeded, or its state is read or set, while a function is traced to be compiled. A "
    "program only draws. Do that before calling the compiled function, and pass the generator to what draws."
)

# With fewer 64-bit words, setting up NumPy's bulk draw costs more than joining halves.
_BULK = 512


class Generator:
    """A source of random numbers with its own state.

    Generators with the same seed produce the same numbers; on the CPU these are PyTorch's.

    Args:
        device: the device the generator belongs to. Devices other than the CPU draw their own numbers, from keys that
            the generator provides.

    Example::

        >>> Generator().manual_seed(7).initial_seed()
        7
    """

    def __init__(self, device="cpu"):
        check_not_traced()
        self._begin(resolve(device), DEFAULT_SEED)

    @classmethod
    def with_seed(cls, device, seed):
        """A generator with a seed, which may be created while tracing."""
        self = cls.__new__(cls)
        self._begin(device, seed)
        return self

    def _begin(self, device, seed):
        self._device = device
        if self._device.type not in ("cpu", "meta"):
            try:
                engine_on(self._device).jax_device(self._device)
            except AssertionError as error:  # the error for moving a tensor to a missing GPU
                raise RuntimeError(f"Cannot get {self._device.type.upper()} generator: {error}") from None
        self._lock = threading.RLock()
        self._twister = np.random.MT19937(0)
        self._bulk = np.random.Generator(self._twister)
        self._capsule = self._twister.capsule  # the twister, for native kernels
        # Its words and position in memory: NumPy's own `state` builds a dict, which is slow.
        words = ctypes.c_uint32 * (_WORDS + 1)
        self._memory = np.frombuffer(words.from_address(self._twister.ctypes.state_address), np.uint32)
        self._restart(seed)

    @property
    def device(self) -> Device:
        """The device the generator belongs to."""
        return Device(self._device)

    def manual_seed(self, seed: int) -> Generator:
        """Seeds the generator and returns it.

        Any signed or unsigned 64-bit integer is valid; negative ones wrap around modulo ``2**64``.
        """
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise RuntimeError(WRONG_SEED_TYPE.format(type=type(seed).__name__))
        if not -(2**63) <= seed < 2**64:
            raise ValueError(SEED_OVERFLOW.format(seed=seed))
        check_not_traced()
        self._restart(seed)
        return self

    def _restart(self, seed):
        with self._lock:
            self._seed = int(seed) % 2**64
            self._twister._legacy_seeding(self._seed & 0xFFFFFFFF)
            self._untouched = True
            self._next_normal: float | None = None

    def seed(self) -> int:
        """Seeds from the operating system's entropy and returns the seed."""
        seed = secrets.randbits(64)
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed the stream was started with."""
        check_not_traced()
        return self._seed

    def clone_state(self) -> Generator:
        """A new, independent generator in the same state."""
        clone = type(self)(self._device)
        clone._set_state_bytes(self._get_state_bytes())
        return clone

    def _words32(self, n: int) -> np.ndarray:
        """The next ``n`` words of 32 bits, as uint64."""
        self._untouched &= n == 0
        return self._twister.random_raw(n)

    def _words64(self, n: int) -> np.ndarray:
        """The next ``n`` words of 64 bits, each composed of two 32-bit words, high half first."""
        self._untouched &= n == 0
        if n >= _BULK:
            return self._bulk.integers(0, 2**64, n, dtype=np.uint64)
        halves = self._twister.random_raw(2 * n)
        words = halves[0::2] << np.uint64(32)
        words |= halves[1::2]
        return words

    def _skip32(self, n: int) -> None:
        """Skips ``n`` words of 32 bits."""
        self._untouched &= n == 0
        self._twister.random_raw(n, output=False)

    def _mark(self):
        """A position in the word stream that :meth:`_rewind` can return to."""
        return self._memory.copy(), self._untouched

    def _rewind(self, mark) -> None:
        self._memory[:], self._untouched = mark

    def _get_state_bytes(self) -> np.ndarray:
        """The state as 5056 bytes in PyTorch's layout."""
        check_not_traced()
        with self._lock:
            position = int(self._memory[_WORDS])
            record = np.zeros((), _STATE)
            record["seed"] = self._seed
            record["left"] = _WORDS + 1 - position
            record["seeded"] = 1
            # In PyTorch, a fresh stream points at word 0, an exhausted one past the end.
            record["next"] = 0 if self._untouched else position
            record["words"] = self._memory[:_WORDS]
            if self._next_normal is not None:
                record["normal_y"] = self._next_normal
                record["normal_is_valid"] = 1
        return np.frombuffer(record.tobytes(), np.uint8).copy()

    def _set_state_bytes(self, state: np.ndarray) -> None:
        """Restores a state from :meth:`_get_state_bytes` or PyTorch."""
        check_not_traced()
        if state.size != _STATE.itemsize:
            raise RuntimeError(WRONG_STATE_SIZE.format(expected=_STATE.itemsize, found=state.size))
        record = np.frombuffer(np.ascontiguousarray(state, np.uint8).tobytes(), _STATE)[0]
        left, position = int(record["left"]), int(record["next"])
        if not (record["seeded"] and 0 < left <= _WORDS and position <= _WORDS):
            raise RuntimeError(INVALID_STATE)
        with self._lock:
            self._seed = int(record["seed"])
            self._untouched = position == 0 and left == 1
            self._next_normal = float(record["normal_y"]) if record["normal_is_valid"] else None
            self._memory[:_WORDS] = record["words"]
            self._memory[_WORDS] = _WORDS + 1 - left

    def get_state(self) -> Tensor:
        """The state as a tensor of bytes, in PyTorch's layout."""
        return wrap(self._get_state_bytes())

    def set_state(self, _new_state: Tensor) -> Generator:
        """Restores a state returned by ``get_state`` (here or in PyTorch)."""
        if not isinstance(_new_state, Tensor) or _new_state._a.dtype != np.uint8:
            kind = _new_state.dtype if isinstance(_new_state, Tensor) else type(_new_state).__name__
            raise TypeError(f"RNG state must be a torch.ByteTensor, as get_state() gives it, but got {kind}")
        self._set_state_bytes(_new_state._a)
        return self

    def __reduce__(self):
        return type(self), (self._device,), (self._seed, None, self.get_state())  # as PyTorch's; None: no offset

    def __setstate__(self, state):
        self.set_state(state[-1])


def check_not_traced():
    """Raises while tracing if a generator is used for anything but drawing numbers."""
    if modes.tracer.active:
        raise modes.tracer.refuse(RuntimeError(SEEDED_IN_PROGRAM))
