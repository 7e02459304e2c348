"""Counting floating-point operations, which is not supported yet."""

__all__ = ["FlopCounterMode"]


class FlopCounterMode:
    """Not supported: making one raises."""

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        raise NotImplementedError("torch.utils.flop_counter is not supported: Flambeau does not count operations.")
