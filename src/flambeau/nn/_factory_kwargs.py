"""The arguments with which a module creates its parameters."""

NAMES = ("device", "dtype", "memory_format")


def factory_kwargs(kwargs):
    """``device``, ``dtype`` and ``memory_format`` from a module's keyword arguments, or from their ``factory_kwargs``.

    Example::

        >>> factory_kwargs({"device": "cpu", "factory_kwargs": {"dtype": float64}})
        {'dtype': torch.float64, 'device': 'cpu'}
    """
    if kwargs is None:
        return {}
    unexpected = set(kwargs).difference(NAMES, ["factory_kwargs"])
    if unexpected:
        raise TypeError(f"unexpected kwargs {unexpected}; the arguments of factories are {', '.join(NAMES)}")
    found = dict(kwargs.get("factory_kwargs", {}))
    for name in NAMES:
        if name in kwargs:
            if name in found:
                raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
            found[name] = kwargs[name]
    return found
