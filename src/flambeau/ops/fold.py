"""im2col and col2im: sliding windows of images as columns, and the transpose."""

from ._op import kernel_op

# Maps (samples, channels, height, width) to (samples, channels * kernel, windows).
im2col = kernel_op("im2col", inputs="x", settings="kernel, dilation, padding, stride", node="Im2ColBackward0",
                   row_major=True)

# Sums columns into images of the spatial sizes `sizes`.
col2im = kernel_op("col2im", inputs="columns", settings="sizes, kernel, dilation, padding, stride",
                   node="Col2ImBackward0", opmath=True, row_major=True)

im2col.vjp(x=lambda g, x_shape, kernel, dilation, padding, stride: col2im(
    g, sizes=tuple(x_shape[2:]), kernel=kernel, dilation=dilation, padding=padding, stride=stride
))
col2im.vjp(columns=lambda g, kernel, dilation, padding, stride: im2col(
    g, kernel=kernel, dilation=dilation, padding=padding, stride=stride
))
