"""im2col and col2im: sliding windows of images as columns, and the transpose."""

from ._op import op


@op(node="Im2ColBackward0", row_major=True)
def im2col(k, x, *, kernel, dilation, padding, stride):
    """Maps (samples, channels, height, width) to (samples, channels * kernel, windows)."""
    return k.im2col(x, kernel, dilation, padding, stride)


@op(node="Col2ImBackward0", opmath=True, row_major=True)
def col2im(k, columns, *, sizes, kernel, dilation, padding, stride):
    """Sums columns into images of the spatial sizes `sizes`."""
    return k.col2im(columns, sizes, kernel, dilation, padding, stride)


im2col.vjp(x=lambda g, x_shape, kernel, dilation, padding, stride: col2im(
    g, sizes=tuple(x_shape[2:]), kernel=kernel, dilation=dilation, padding=padding, stride=stride
))
col2im.vjp(columns=lambda g, kernel, dilation, padding, stride: im2col(
    g, kernel=kernel, dilation=dilation, padding=padding, stride=stride
))
