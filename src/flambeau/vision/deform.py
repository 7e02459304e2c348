"""Deformable convolution, which samples its input at offset positions."""

import flambeau as torch


def deform_conv2d(
    input, weight, offset, mask, bias, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups,
    use_mask,
):
    """See ``torchvision.ops.deform_conv2d``.

    Args:
        input: [N, C, H, W].
        weight: [out, C / groups, KH, KW].
        offset: [N, 2 * offset_groups * KH * KW, OH, OW]; row and column offsets alternate.
        mask: [N, offset_groups * KH * KW, OH, OW], multiplied with the samples if `use_mask`.
        bias: [out].
    """
    batch, channels, _, _ = input.shape
    taps, (out_height, out_width) = weight.size(2) * weight.size(3), offset.shape[2:]
    offset = offset.reshape(batch, offset_groups, taps, 2, out_height, out_width)
    rows = offset[..., 0, :, :] + _places(weight.size(2), out_height, stride_h, pad_h, dilation_h, offset).view(
        weight.size(2), 1, out_height, 1
    ).expand(-1, weight.size(3), -1, out_width).reshape(taps, out_height, out_width)
    columns = offset[..., 1, :, :] + _places(weight.size(3), out_width, stride_w, pad_w, dilation_w, offset).view(
        1, weight.size(3), 1, out_width
    ).expand(weight.size(2), -1, out_height, -1).reshape(taps, out_height, out_width)
    samples = _bilinear(input.reshape(batch, offset_groups, -1, *input.shape[2:]), rows, columns)
    if use_mask:
        samples = samples * mask.reshape(batch, offset_groups, 1, taps, out_height, out_width)
    samples = samples.reshape(batch, groups, channels // groups * taps, out_height * out_width)
    out = weight.reshape(groups, -1, channels // groups * taps) @ samples
    return out.reshape(batch, -1, out_height, out_width) + bias.view(-1, 1, 1)


def _places(kernel, count, stride, padding, dilation, like):
    """The position that each kernel tap reads for each output, without offsets: [kernel, count]."""
    first = torch.arange(count, dtype=like.dtype, device=like.device) * stride - padding
    return torch.arange(kernel, dtype=like.dtype, device=like.device)[:, None] * dilation + first


def _bilinear(images, rows, columns):
    """Bilinear samples of images [N, G, C, H, W] at positions [N, G, ...], zero outside: [N, G, C, ...]."""
    height, width = images.shape[-2:]
    top, left = rows.detach().floor(), columns.detach().floor()
    flat, total = images.flatten(-2), 0
    for row, row_share in ((top, top + 1 - rows), (top + 1, rows - top)):
        for column, column_share in ((left, left + 1 - columns), (left + 1, columns - left)):
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            index = (row.clamp(0, height - 1) * width + column.clamp(0, width - 1)).long()
            index = index.flatten(2).unsqueeze(2).expand(-1, -1, images.size(2), -1)
            values = flat.gather(-1, index).unflatten(-1, rows.shape[2:])
            total = total + values * (row_share * column_share * inside).unsqueeze(2)
    return total
