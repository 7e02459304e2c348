"""RoI pooling and alignment: pools regions of feature maps to a fixed size.

A region is a row (image, x1, y1, x2, y2) in image coordinates, which `spatial_scale` maps to the feature map. Each is
divided into pooled_height × pooled_width bins. Except for the maximum in ``roi_pool``, bins are linear in the map, with
separable weights: ``rows @ map @ columns``, per channel. The gradient is the transposed product. As in torchvision,
regions have no gradient.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import flambeau as torch

from ..autograd.function import Function

FIVE = "rois must have shape as Tensor[K, 5], got {shape}"
ONE_DTYPE = "Expected tensor for input to have the same type as tensor for rois; but type {input} does not equal {rois}"
CHANNELS = "input channels must be a multiple of pooling height * pooling width, got {channels} for {height} by {width}"


class Weights(NamedTuple):
    """The weights of a map's rows, or columns, in each bin: [bins, stop - start]; they are zero elsewhere."""

    start: int
    stop: int
    values: np.ndarray


def roi_align(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned):
    """The mean of bilinear samples in each bin: [K, C, pooled_height, pooled_width]."""
    _check(input, rois)
    size = (pooled_height, pooled_width)
    regions = _sampled_regions(input, rois, spatial_scale, size, sampling_ratio, 0.5 if aligned else 0.0, not aligned)
    return Product.apply(input, Pooling(size, regions, input.shape), False)


def ps_roi_align(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio):
    """Like ``roi_align``, with separate channels for each bin. Returns the means and their channel indices."""
    _check(input, rois, pooled_height, pooled_width)
    size = (pooled_height, pooled_width)
    regions = _sampled_regions(input, rois, spatial_scale, size, sampling_ratio, 0.5, False)
    pooling = PoolingByPosition(size, regions, input.shape)
    return Product.apply(input, pooling, False), _channel_mapping(input, rois, size)


def ps_roi_pool(input, rois, spatial_scale, pooled_height, pooled_width):
    """The mean of each bin, with separate channels for each bin. Returns the means and their channel indices."""
    _check(input, rois, pooled_height, pooled_width)
    size, regions = (pooled_height, pooled_width), []
    for image, *corners in rois.numpy(force=True):
        x1, y1, x2, y2 = _round(np.array(corners), spatial_scale)
        rows = _mean_weights(y1, max(y2 - y1, 1), pooled_height, input.size(2), input.dtype)
        columns = _mean_weights(x1, max(x2 - x1, 1), pooled_width, input.size(3), input.dtype)
        regions.append((int(image), rows, columns))
    pooling = PoolingByPosition(size, regions, input.shape)
    return Product.apply(input, pooling, False), _channel_mapping(input, rois, size)


def roi_pool(input, rois, spatial_scale, pooled_height, pooled_width):
    """The maximum of each bin, and its index in the map; 0 and -1 for an empty bin."""
    _check(input, rois)
    height, width = input.shape[2:]
    regions = []
    for image, *corners in rois.numpy(force=True):
        x1, y1, x2, y2 = _round(np.array(corners), spatial_scale)
        rows = _bins(y1, max(y2 - y1 + 1, 1), pooled_height, height, rois.dtype)
        columns = _bins(x1, max(x2 - x1 + 1, 1), pooled_width, width, rois.dtype)
        regions.append((int(image), rows, columns))
    return Maxima.apply(input, (pooled_height, pooled_width), regions)


def _check(input, rois, *size):
    torch._check(rois.dim() == 2 and rois.size(1) == 5, lambda: FIVE.format(shape=tuple(rois.shape)))
    torch._check(input.dtype == rois.dtype, lambda: ONE_DTYPE.format(input=input.dtype, rois=rois.dtype))
    if size:
        channels, (height, width) = input.size(1), size
        message = CHANNELS.format(channels=channels, height=height, width=width)
        torch._check(channels % (height * width) == 0, lambda: message)


def _channel_mapping(input, rois, size):
    """The channel indices of the bins, as torchvision returns them."""
    channels = input.size(1) // (size[0] * size[1])
    mapping = torch.arange(input.size(1), dtype=torch.int32).view(1, channels, *size)
    return mapping.repeat(len(rois), 1, 1, 1).to(input.device)


# ---- what rows and columns count


def _sampled_regions(input, rois, scale, size, sampling_ratio, offset, at_least_one):
    """(image, row weights, column weights) of each region, for means of bilinear samples."""
    height, width = input.shape[2:]
    regions = rois.numpy(force=True)
    scaled = regions[:, 1:] * regions.dtype.type(scale) - regions.dtype.type(offset)
    return [
        (
            int(region[0]),
            _sample_weights(y1, y2, size[0], height, sampling_ratio, at_least_one),
            _sample_weights(x1, x2, size[1], width, sampling_ratio, at_least_one),
        )
        for region, (x1, y1, x2, y2) in zip(regions, scaled)
    ]


def _sample_weights(low, high, bins, size, sampling_ratio, at_least_one):
    """The weights for the mean of bilinear samples in each bin between `low` and `high`."""
    dtype = low.dtype.type
    length = max(high - low, dtype(1)) if at_least_one else high - low
    count = sampling_ratio if sampling_ratio > 0 else int(np.ceil(length / dtype(bins)))
    if count <= 0:
        return Weights(0, 0, np.zeros((bins, 0), dtype))
    step = length / dtype(bins)
    inside = (np.arange(count, dtype=dtype) + dtype(0.5)) * step / dtype(count)
    places = low + np.arange(bins, dtype=dtype)[:, None] * step + inside
    share = ((places >= -1) & (places <= size)) / dtype(count)  # samples further out are zero
    places = np.clip(places, 0, size - 1)
    first = places.astype(np.intp)
    second = np.minimum(first + 1, size - 1)
    fraction = (places - first).astype(dtype)
    start, stop = int(first.min()), int(second.max()) + 1
    values, bin_numbers = np.zeros((bins, stop - start), dtype), np.arange(bins)[:, None]
    np.add.at(values, (bin_numbers, first - start), share.astype(dtype) * (1 - fraction))
    np.add.at(values, (bin_numbers, second - start), share.astype(dtype) * fraction)
    return Weights(start, stop, values)


def _round(corners, scale):
    """Rounds corners in map coordinates, half away from zero."""
    scaled = corners * corners.dtype.type(scale)
    return np.trunc(scaled + np.copysign(corners.dtype.type(0.5), scaled)).astype(int)


def _bins(start, length, bins, size, dtype):
    """The (first, end) elements of each bin; bins may overlap."""
    real = dtype.np.type
    step = real(length) / real(bins)
    numbers = np.arange(bins + 1, dtype=real) * step
    first, end = np.floor(numbers[:-1]).astype(int), np.ceil(numbers[1:]).astype(int)
    return [tuple(pair) for pair in np.clip(np.stack([first, end], 1) + start, 0, size).tolist()]


def _mean_weights(start, length, bins, size, dtype):
    """The weights for the mean of each bin. As in torchvision, the last row and column of a map are never included."""
    pairs = _bins(start, length, bins, size - 1, dtype)
    values = np.zeros((bins, size), dtype.np)
    for row, (first, end) in zip(values, pairs):
        row[first:end] = 1 / max(end - first, 1)
    return Weights(0, size, values)


# ---- products


class Pooling(NamedTuple):
    """Weights rows and columns of each region of a map: [K, C, *size]. The operation is linear, with a transpose."""

    size: tuple
    regions: list  # (image, row weights, column weights)
    shape: tuple  # of the map

    def pool(self, images):
        """The means of the bins of each region."""
        out = np.zeros((len(self.regions), self.shape[1], *self.size), images.dtype)
        for result, (image, rows, columns) in zip(out, self.regions):
            patch = images[image, :, rows.start:rows.stop, columns.start:columns.stop]
            result[...] = rows.values @ (patch @ columns.values.T)
        return out

    def transpose(self, bins):
        """Maps gradients of bins to gradients of images."""
        out = np.zeros(self.shape, bins.dtype)
        for each, (image, rows, columns) in zip(bins, self.regions):
            out[image, :, rows.start:rows.stop, columns.start:columns.stop] += rows.values.T @ (each @ columns.values)
        return out


class PoolingByPosition(Pooling):
    """Like Pooling, for maps with separate channels for each bin: [K, C / bins, *size]."""

    __slots__ = ()

    @property
    def shape_by_bins(self):
        """The shape of the images, with channels grouped by bin."""
        images, _, height, width = self.shape
        return images, self.shape[1] // (self.size[0] * self.size[1]), *self.size, height, width

    def pool(self, images):
        """The mean in each bin of its channels."""
        images = images.reshape(self.shape_by_bins)
        out = np.zeros((len(self.regions), images.shape[1], *self.size), images.dtype)
        for result, (image, rows, columns) in zip(out, self.regions):
            patch = images[image, ..., rows.start:rows.stop, columns.start:columns.stop]
            result[...] = np.einsum("py,qx,cpqyx->cpq", rows.values, columns.values, patch, optimize=True)
        return out

    def transpose(self, bins):
        """Maps gradients of bins to gradients of images."""
        out = np.zeros(self.shape_by_bins, bins.dtype)
        for each, (image, rows, columns) in zip(bins, self.regions):
            out[image, ..., rows.start:rows.stop, columns.start:columns.stop] += np.einsum(
                "py,qx,cpq->cpqyx", rows.values, columns.values, each, optimize=True
            )
        return out.reshape(self.shape)


class Product(Function):
    """Applies a Pooling or its transpose: each is the gradient of the other."""

    @staticmethod
    def forward(ctx, input, pooling, transposed):
        ctx.pooling, ctx.transposed = pooling, transposed
        compute = pooling.transpose if transposed else pooling.pool
        return torch.from_numpy(compute(input.numpy(force=True))).to(input.device)

    @staticmethod
    def backward(ctx, grad):
        return Product.apply(grad, ctx.pooling, not ctx.transposed), None, None


class Maxima(Function):
    """The maxima of the bins of each region, and their indices."""

    @staticmethod
    def forward(ctx, input, size, regions):
        images = input.numpy(force=True)
        _, channels, _, width = images.shape
        out = np.zeros((len(regions), channels, *size), images.dtype)
        places = np.full(out.shape, -1, np.int32)
        for number, (image, rows, columns) in enumerate(regions):
            for (i, (top, bottom)), (j, (left, right)) in _pairs(rows, columns):
                if top < bottom and left < right:
                    patch = images[image, :, top:bottom, left:right].reshape(channels, -1)
                    best = patch.argmax(1)
                    out[number, :, i, j] = patch[np.arange(channels), best]
                    row, column = np.divmod(best, right - left)
                    places[number, :, i, j] = (top + row) * width + left + column
        places = torch.from_numpy(places).to(input.device)
        ctx.images = torch.tensor([image for image, _, _ in regions], device=input.device)
        ctx.shape = input.shape
        ctx.save_for_backward(places)
        ctx.mark_non_differentiable(places)
        return torch.from_numpy(out).to(input.device), places

    @staticmethod
    def backward(ctx, grad, _):
        places, = ctx.saved_tensors
        batch, channels, height, width = ctx.shape
        planes = ctx.images.view(-1, 1, 1, 1) * channels + torch.arange(channels, device=grad.device).view(-1, 1, 1)
        index = (planes * (height * width) + places.clamp(min=0)).flatten()
        flat = grad.new_zeros(batch * channels * height * width)
        return flat.index_add(0, index, (grad * (places >= 0)).flatten()).view(ctx.shape), None, None


def _pairs(rows, columns):
    return ((row, column) for row in enumerate(rows) for column in enumerate(columns))
