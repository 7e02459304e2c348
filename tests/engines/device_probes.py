"""What probes of foot-guns share. A probe is a function of the library and of a device."""

import numpy as np

PROBES = {}


def probe(function):
    PROBES[function.__name__] = function
    return function


def error_of(call):
    """The name of the type of the error that a call raises; its result where it raises none."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__


def arange(torch, device, *shape, **kwargs):
    return torch.arange(float(np.prod(shape)), **kwargs).view(shape).to(device)
