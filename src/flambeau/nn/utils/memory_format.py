"""Converting convolution weights to a memory format."""

from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def convert_conv2d_weight_memory_format(module, memory_format):
    """Converts the weights of all Conv2d and ConvTranspose2d in a module to a memory format, in place."""
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module, memory_format):
    """Converts the weights of all Conv3d and ConvTranspose3d in a module to a memory format, in place."""
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))


def _convert(module, memory_format, classes):
    for m in module.modules():
        if isinstance(m, classes):
            m.weight.data = m.weight.detach().clone(memory_format=memory_format)
    return module
