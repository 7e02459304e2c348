"""The channel shuffle layer."""

from .. import functional as F
from .module import Module

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """Permutes the channels of ``(N, C, ...)``: the first of each group, then the second of each, and so on.

    Args:
        groups: the number of groups.

    Example::

        >>> ChannelShuffle(2)(arange(4.0).reshape(1, 4, 1)).flatten()
        tensor([0., 2., 1., 3.])
    """

    __constants__ = ["groups"]

    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, input):
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self):
        return f"groups={self.groups}"
