"""Discrete Fourier transforms.

Each transform's adjoint is the opposite transform under the dual normalization: what one leaves unscaled, the other
scales. The one-sided transforms drop (or imply) the conjugate half, so middle elements are weighted.
"""

from ._op import op

DUAL = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def c2c_node(x, axes, inverse):
    """PyTorch transforms a real x one-sidedly along one axis first; the inverse of that is a conjugate."""
    if x.dtype.kind == "c" or len(axes) != 1:
        return "FftC2CBackward0"
    return "ConjBackward0" if inverse else "FftR2CBackward0"


@op(name="fft_c2c", node=c2c_node)
def c2c(k, x, *, axes, inverse, norm):
    """A transform over all frequencies; a real x is treated as complex."""
    if not axes:
        return k.cast(x, k.result_type(x.dtype, k.complex64))
    return (k.fft.ifftn if inverse else k.fft.fftn)(x, axes=axes, norm=norm)


c2c.vjp(x=lambda g, axes, inverse, norm: c2c(g, axes=axes, inverse=not inverse, norm=DUAL[norm]))


@op(name="fft_r2c", node="FftR2CBackward0", row_major=True)
def r2c(k, x, *, axis, norm):
    """The nonnegative frequencies of a real signal."""
    return k.fft.rfft(x, axis=axis, norm=norm)


r2c.vjp(
    x=lambda g, x_shape, axis, norm:
        c2r(middle_scaled(g, axis=axis, n=x_shape[axis], factor=0.5), n=x_shape[axis], axis=axis, norm=DUAL[norm])
)


@op(name="fft_c2r", node="FftC2RBackward0", row_major=True)
def c2r(k, x, *, n, axis, norm):
    """The real signal of length n with these nonnegative frequencies."""
    return k.fft.irfft(x, n=n, axis=axis, norm=norm)


c2r.vjp(x=lambda g, n, axis, norm: middle_scaled(r2c(g, axis=axis, norm=DUAL[norm]), axis=axis, n=n, factor=2.0))


@op(node="MulBackward0")
def middle_scaled(k, x, *, axis, n, factor):
    """The frequencies that a real signal of length n has twice, times a factor."""
    index = k.arange(x.shape[axis])
    single = (index == 0) | (2 * index == n)
    weights = k.where(single, 1.0, factor).astype(x.real.dtype)
    return x * weights.reshape((-1,) + (1,) * (x.ndim - 1 - axis))


middle_scaled.vjp(x=lambda g, axis, n, factor: middle_scaled(g, axis=axis, n=n, factor=factor))
