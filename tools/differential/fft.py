"""Fourier transforms, forth and back, along one dimension and along several."""

from .writer import rows

FFT = [
    *rows("fc", "torch.fft.NAME({x}, dim={dim}, norm={norm})", "fft ifft", x="wide", mild=True),
    *rows("fc", "torch.fft.NAME({x}, n={length}, dim={dim}, norm={norm})", "fft ifft hfft irfft", x="wide", mild=True),
    *rows("f", "torch.fft.NAME({x}, n={length}, dim={dim}, norm={norm})", "rfft ihfft", x="wide", mild=True),
    *rows("ib", "torch.fft.NAME({x})", "fft ifft rfft irfft hfft ihfft fft2 rfft2 fftn ifftn rfftn irfftn", mild=True),
    *rows("fc", "torch.fft.NAME({x}, dim={dims}, norm={norm})", "fftn ifftn irfftn hfftn", x="wide", mild=True),
    *rows("f", "torch.fft.NAME({x}, dim={dims}, norm={norm})", "rfftn ihfftn", x="wide", mild=True),
    *rows("fc", "torch.fft.NAME({x}, norm={norm})", "fft2 ifft2 irfft2 hfft2", x="wide_matrix", mild=True),
    *rows("f", "torch.fft.NAME({x}, norm={norm})", "rfft2 ihfft2", x="wide_matrix", mild=True),
    *rows("fc", "torch.fft.NAME({x}, s=({positive_count1}, {positive_count2}))",
          "fft2 ifft2 irfft2 hfft2 fftn irfftn hfftn", x="wide_matrix", mild=True),
    *rows("f", "torch.fft.NAME({x}, s=({positive_count1}, {positive_count2}))", "rfft2 rfftn ihfft2 ihfftn",
          x="wide_matrix", mild=True),
    *rows("fibc", "torch.fft.NAME({x}, dim={dims})", "fftshift ifftshift"),
    *rows("fibc", "torch.fft.NAME({x})", "fftshift ifftshift"),
    *rows("fibc", "torch.fft.NAME({count}, d={number}, dtype={any_dtype})", "fftfreq rfftfreq"),
    *rows("fc", "torch.stft({x}, 4, hop_length=2, window=torch.ones(4, dtype={x}.real.dtype), center={flag},"
          " normalized={flag2}, return_complex=True)", x="signal", mild=True),
    *rows("f", "NAMEistft(torch.stft({x}, 4, window=torch.ones(4, dtype={x}.dtype), return_complex=True), 4,"
          " window=torch.ones(4, dtype={x}.dtype))", "torch. torch.Tensor.", x="signal", mild=True),
]
