"""Fourier transforms: against PyTorch, against NumPy, and back and forth."""

import numpy as np
import pytest

import flambeau
from _matrices import check_derivatives, check_value, lines
from flambeau import fft

# ---- against PyTorch

VALUES = lines("""
torch.fft.fft(i)
torch.fft.rfft(i.bool())
torch.fft.fft(f, n=5, norm='ortho').dtype
torch.fft.fft(a, n=2, dim=0, norm='forward')
torch.fft.ifft(c, n=4)
torch.fft.rfft(x, dim=1)
torch.fft.irfft(c)
torch.fft.irfft(c, n=5, norm='ortho')
torch.fft.hfft(c, n=5, norm='forward')
torch.fft.hfft(a)
torch.fft.ihfft(a, norm='ortho')
torch.fft.fft2(x, s=(4, -1))
torch.fft.ifft2(x, dim=(0, 1), norm='forward')
torch.fft.rfft2(x)
torch.fft.irfft2(torch.fft.fft2(x), s=(2, 3))
torch.fft.hfft2(c, norm='ortho')
torch.fft.ihfft2(x, s=(3, 2))
torch.fft.fftn(x)
torch.fft.fftn(x, s=(3,))
torch.fft.fftn(torch.tensor(2.))
torch.fft.fftn(x, dim=())
torch.fft.ifftn(x, dim=(0, 2))
torch.fft.rfftn(x, s=(2, 4), norm='forward')
torch.fft.irfftn(x, dim=(1, 2))
torch.fft.hfftn(x, s=(4, 5))
torch.fft.ihfftn(x, dim=(0, 1))
torch.fft.fftshift(x)
torch.fft.fftshift(x, dim=(0,))
torch.fft.ifftshift(x, dim=1)
torch.fft.fftfreq(5, 0.25)
torch.fft.fftfreq(4, dtype=torch.float64)
torch.fft.fftfreq(0)
torch.fft.rfftfreq(5, d=2)
torch.fft.rfftfreq(6)
torch.fft.fft(a, n=0)
torch.fft.fft(a, n=-1)
torch.fft.fft(torch.zeros(0))
torch.fft.fft(a, dim=2)
torch.fft.fft(torch.tensor(2.))
torch.fft.fft(a, norm='other')
torch.fft.fft(h)
torch.fft.fft(bf)
torch.fft.rfft(c)
torch.fft.ihfft(c)
torch.fft.irfft(c[:1, :1])
torch.fft.fft2(v)
torch.fft.fft2(a, dim=(0, 0))
torch.fft.fft2(a, s=(2,))
torch.fft.fftn(a, s=(2, 2, 2))
torch.fft.rfftn(torch.tensor(2.))
torch.fft.rfftn(a, dim=())
torch.fft.fftfreq(4, dtype=torch.int64)
torch.fft.fftfreq(-1)
torch.fft.fftshift(a, dim=4)
torch.fft.fft([1.])
torch.fft.fft(a, out=torch.empty(0, dtype=torch.complex128))
torch.stft(wave(2, 16), 4, return_complex=True)
torch.stft(wave(16), 4, hop_length=3, win_length=3, window=v, center=False, return_complex=True)
torch.stft(wave(16), 4, normalized=True, onesided=False, pad_mode='circular', return_complex=False)
torch.stft(torch.complex(wave(16), wave(16)), 4)
torch.stft(wave(2, 16), 6, win_length=4, center=False, align_to_window=True, return_complex=True)
torch.stft(wave(2, 16), 4)
torch.stft(wave(2, 2, 16), 4, return_complex=True)
torch.stft(wave(16), 40, center=False, return_complex=True)
torch.stft(wave(16), 4, hop_length=0, return_complex=True)
torch.stft(wave(16), 4, win_length=8, return_complex=True)
torch.stft(wave(16), 4, window=wave(3), return_complex=True)
torch.istft(torch.stft(wave(2, 16), 4, window=wave(4).cosh(), return_complex=True), 4, window=wave(4).cosh())
torch.istft(torch.stft(wave(16), 4, normalized=True, return_complex=True), 4, normalized=True, length=14)
torch.istft(torch.stft(wave(16), 4, onesided=False, return_complex=True), 4, onesided=False, return_complex=True)
torch.istft(a, 4)
torch.istft(c, 6)
torch.istft(c, 4, window=torch.zeros(4).double())
""")

DERIVATIVES = lines("""
a: torch.fft.fft(a)
a: torch.fft.fft(a, n=5, norm='ortho')
a: torch.fft.fft(a, n=2)
c: torch.fft.ifft(c, dim=0)
x: torch.fft.fftn(x, norm='forward')
x: torch.fft.rfft(x, dim=1)
b: torch.fft.rfft(b, n=5, norm='forward')
x: torch.fft.rfftn(x)
c: torch.fft.irfft(c)
c: torch.fft.irfft(c, n=5, norm='ortho')
c: torch.fft.irfft2(c, s=(4, 3))
c: torch.fft.hfft(c, norm='forward')
a: torch.fft.ihfft(a)
c: torch.fft.hfftn(c)
x: torch.fft.ihfftn(x, norm='ortho')
a: torch.fft.fftshift(a)
y: torch.stft(y.reshape(3, 20), 4, window=torch.arange(1., 5).double(), return_complex=True)
c: torch.istft(c, 4)
""")


@pytest.mark.oracle
@pytest.mark.parametrize("expression", VALUES)
def test_value(expression):
    check_value(expression)


@pytest.mark.oracle
@pytest.mark.parametrize("case", DERIVATIVES)
def test_derivatives(case):
    check_derivatives(case)


# ---- against NumPy, which has the same names, and back and forth

NORMS = ["backward", "ortho", "forward"]


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize("n", [None, 3, 8])
@pytest.mark.parametrize("norm", NORMS)
def test_one_dimension_is_numpys(name, n, norm):
    x = np.random.default_rng(0).standard_normal((3, 5))
    if name in ("irfft", "hfft"):
        x = x + 1j
    for axis in (0, 1):
        got = getattr(fft, name)(flambeau.from_numpy(x), n, axis, norm)
        np.testing.assert_allclose(got.numpy(), getattr(np.fft, name)(x, n, axis, norm), atol=1e-12)


@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"])
@pytest.mark.parametrize("norm", NORMS)
def test_many_dimensions_are_numpys(name, norm):
    x = np.random.default_rng(0).standard_normal((3, 4, 5))
    got = getattr(fft, name)(flambeau.from_numpy(x), norm=norm)
    np.testing.assert_allclose(got.numpy(), getattr(np.fft, name)(x, norm=norm), atol=1e-12)


@pytest.mark.parametrize("name", ["fft", "rfft", "ihfft", "fftn", "rfftn", "ihfftn"])
@pytest.mark.parametrize("norm", NORMS)
def test_inverse_undoes(name, norm):
    x = flambeau.from_numpy(np.random.default_rng(0).standard_normal((4, 6)))
    back = name[1:] if name.startswith("i") else "i" + name
    again = getattr(fft, back)(getattr(fft, name)(x, norm=norm), norm=norm)
    np.testing.assert_allclose(again.numpy(), x.numpy(), atol=1e-12)


@pytest.mark.parametrize("given, made", [("float32", "complex64"), ("float64", "complex128"), ("int64", "complex64")])
def test_dtypes(given, made):
    x = flambeau.ones(4).to(getattr(flambeau, given))
    assert fft.fft(x).dtype is getattr(flambeau, made)
    assert fft.rfft(x).dtype is getattr(flambeau, made)


def test_frequencies():
    assert fft.fftfreq(5).tolist() == pytest.approx([0, 0.2, 0.4, -0.4, -0.2])
    assert fft.rfftfreq(4, 0.5).tolist() == [0, 0.5, 1]
    shifted = fft.fftshift(flambeau.arange(5))
    assert shifted.tolist() == [3, 4, 0, 1, 2]
    assert fft.ifftshift(shifted).tolist() == [0, 1, 2, 3, 4]


def test_stft_and_back():
    x = flambeau.from_numpy(np.random.default_rng(0).standard_normal((2, 50)))
    window = flambeau.from_numpy(np.hanning(10)[:-2] + 0.1)
    spectrum = flambeau.stft(x, 8, 2, window=window, return_complex=True)
    assert spectrum.shape == (2, 5, 26)
    again = flambeau.istft(spectrum, 8, 2, window=window, length=50)
    np.testing.assert_allclose(again.numpy(), x.numpy(), atol=1e-12)


MESSAGES = [
    (lambda: fft.fft(flambeau.ones(3), n=0), RuntimeError, "Invalid number of data points (0) specified"),
    (lambda: fft.fft(flambeau.ones(3), norm="x"), RuntimeError, 'Invalid normalization mode: "x"'),
    (lambda: fft.rfft(flambeau.ones(3) * 1j), RuntimeError, "rfft expects a real input tensor, but got ComplexFloat"),
    (lambda: fft.fft(flambeau.ones(3).half()), RuntimeError, "Unsupported dtype Half"),
    (lambda: fft.fft(flambeau.tensor(1.0)), IndexError, "tensor has no dimensions"),
    (lambda: fft.fft2(flambeau.ones(3, 3), dim=(0, 0)), RuntimeError, "FFT dims must be unique"),
    (lambda: flambeau.stft(flambeau.ones(9), 4), RuntimeError, "stft requires the return_complex parameter"),
]


@pytest.mark.parametrize("call, kind, message", MESSAGES, ids=[m for _, _, m in MESSAGES])
def test_messages(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert message in str(caught.value)
