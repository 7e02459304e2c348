"""The short-time Fourier transform and its inverse."""

import numpy as np

from .._dtypes import is_inexact
from ..ops.matmul import mT, row
from ..ops.move import constant_pad
from ..ops.pointwise import div, mul
from ..ops.shape import basic_index, expand, fold_windows, reshape, reshape_shared, unfold, view_as_real
from . import fft
from ._args import as_int, need_tensor, tensor_on
from ._attach import methods
from ._types import typed
from .padding import pad

__all__ = ["istft", "stft"]

RETURN_COMPLEX = (
    "stft requires the return_complex parameter be given for real inputs, and will further require that "
    "return_complex=True in a future PyTorch release."
)


def stft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False,
         onesided=None, return_complex=None, align_to_window=None):
    """The Fourier transform of windows of ``n_fft`` samples, ``hop_length`` apart: frequencies by frames.

    Args:
        hop_length: the distance between frames; by default a quarter of ``n_fft``.
        win_length: the length of the window, which is centred in the frame; by default ``n_fft``.
        window: the weights of a frame's samples; by default ones.
        center: whether frame t is centred at sample ``t * hop_length``; the signal is then padded by ``pad_mode``.
        normalized: whether to divide by the square root of ``n_fft``.
        onesided: whether to omit the redundant frequencies of a real signal.
        return_complex: whether to return complex values, or real pairs in a last dimension of two.
        align_to_window: without ``center``, whether the first *window* rather than the first frame begins at sample 0.
    """
    need_tensor(input, "stft")
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    n_fft, hop, length = frame_sizes("stft", input, n_fft, hop_length, win_length)
    if input._a.ndim not in (1, 2):
        raise fault("stft", input, n_fft, "expected a 1D or 2D tensor")
    is_complex = input._a.dtype.kind == "c" or (window is not None and window._a.dtype.kind == "c")
    if return_complex is None:
        if not is_complex:
            raise RuntimeError(RETURN_COMPLEX)
        return_complex = True
    if onesided is None:
        onesided = not is_complex
    elif onesided and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")

    signal = input if input._a.ndim == 2 else row(input)
    if center:
        signal = pad(signal, (n_fft // 2, n_fft // 2), pad_mode)
    elif align_to_window:
        margin = (n_fft - length) // 2
        signal = constant_pad(signal, pads=((0, 0), (margin, n_fft - length - margin)), value=0)
    if not is_inexact(input._a.dtype):
        raise fault("stft", input, n_fft, "expected a tensor of floating point or complex values")
    if not 0 < n_fft <= signal._a.shape[1]:
        raise fault("stft", input, n_fft, f"expected 0 < n_fft < {signal._a.shape[1]}, but got n_fft={n_fft}")
    frames = unfold(signal, axis=1, size=n_fft, step=hop)
    if window is not None or length < n_fft:
        frames = mul(frames, full_window("stft", input, window, n_fft, length))
    norm = "ortho" if normalized else "backward"
    spectrum = mT((fft.rfft if onesided else fft.fft)(frames, norm=norm))
    if input._a.ndim == 1:
        spectrum = reshape(spectrum, shape=spectrum._a.shape[1:])
    return spectrum if return_complex else view_as_real(spectrum)


@typed(n_fft=int, hop_length=int, win_length=int)
def istft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None,
          length=None, return_complex=False):
    """The inverse of ``stft``: overlap-adds the frames' inverse transforms, divided by the windows' envelope."""
    need_tensor(input, "istft")
    if input._a.dtype.kind != "c":
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    n_fft, hop, win_length = frame_sizes("istft", input, n_fft, hop_length, win_length)
    if input._a.ndim not in (2, 3) or input._a.size == 0:
        raise fault("istft", input, n_fft, "expected a non-empty tensor of frequencies by frames, batched or not")
    frequencies, count = input._a.shape[-2:]
    onesided = frequencies != n_fft if onesided is None else onesided
    check_frequencies(input, n_fft, frequencies, onesided)
    if return_complex and onesided:
        raise RuntimeError("Cannot have onesided output if window or input is complex")

    spectrum = mT(input if input._a.ndim == 3 else reshape_shared(input, (1, frequencies, count)))
    norm = "ortho" if normalized else "backward"
    if return_complex:
        frames = fft.ifft(spectrum, norm=norm)
    else:
        spectrum = basic_index(spectrum, key=(Ellipsis, slice(n_fft // 2 + 1)))
        frames = fft.irfft(spectrum, n=n_fft, norm=norm)
    weights = full_window("istft", input, window, n_fft, win_length)
    total = n_fft + hop * (count - 1)
    batch = frames._a.shape[0]
    signal = fold_windows(mul(frames, weights), shape=(batch, total), axis=1, size=n_fft, step=hop)
    overlap = fold_windows(
        expand(mul(weights, weights), shape=(1, count, n_fft)), shape=(1, total), axis=1, size=n_fft, step=hop,
    )
    start = n_fft // 2 if center else 0
    stop = start + length if length is not None else total - start
    part = (slice(None), slice(start, stop))
    signal, overlap = basic_index(signal, key=part), basic_index(overlap, key=part)
    if overlap._a.size and abs(overlap._a).min() < 1e-11:
        raise fault("istft", input, n_fft, "window overlap add min: 1, there are samples that no window covers")
    signal = div(signal, overlap)
    if stop > total:
        signal = constant_pad(signal, pads=((0, 0), (0, stop - total)), value=0)
    return signal if input._a.ndim == 3 else reshape(signal, shape=signal._a.shape[1:])


# ---- arguments


def frame_sizes(name, input, n_fft, hop_length, win_length):
    n_fft = as_int(n_fft, name, "n_fft")
    hop = n_fft // 4 if hop_length is None else as_int(hop_length, name, "hop_length")
    length = n_fft if win_length is None else as_int(win_length, name, "win_length")
    if n_fft <= 0:
        raise fault(name, input, n_fft, f"expected n_fft > 0, but got n_fft={n_fft}")
    if hop <= 0:
        raise fault(name, input, n_fft, f"expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise fault(name, input, n_fft, f"expected 0 < win_length <= n_fft, but got win_length={length}")
    return n_fft, hop, length


def check_frequencies(input, n_fft, frequencies, onesided):
    expected = n_fft // 2 + 1 if onesided else n_fft
    if frequencies != expected:
        wanted = "n_fft / 2 + 1 when onesided=True" if onesided else "n_fft when onesided=False"
        raise fault(
            "istft", input, n_fft,
            f"expected the frequency dimension (3rd to the last) of the input tensor to match {wanted}, but got "
            f"{frequencies}",
        )


def full_window(name, input, window, n_fft, length):
    """The window, centred in a frame of n_fft samples."""
    if window is None:
        window = tensor_on(np.ones(length, input.dtype.to_real().np), input.device)
    if window._a.shape != (length,):
        raise fault(
            name, input, n_fft,
            f"expected a 1D window tensor of size equal to win_length={length}, but got window with size "
            f"{list(window._a.shape)}",
        )
    if length == n_fft:
        return window
    left = (n_fft - length) // 2
    return constant_pad(window, pads=((left, n_fft - length - left),), value=0)


def fault(name, input, n_fft, what):
    return RuntimeError(f"{name}({input.dtype}{list(input._a.shape)}, n_fft={n_fft}): {what}")


methods(stft, istft)
