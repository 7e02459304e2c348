"""What asks for ``init_rpc`` first."""

import functools

NOT_INITIALIZED = "RPC has not been initialized. Call torch.distributed.rpc.init_rpc first."


def _require_initialized(function):
    """A function that raises: there are no calls to other processes."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        raise RuntimeError(NOT_INITIALIZED)

    return wrapper
