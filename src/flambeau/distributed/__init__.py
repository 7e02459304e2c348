"""One process: what scripts ask before they decide whether there are several."""

from .._lazy import lazy_submodules
from .._signatures import set_name

__all__ = [
    "ProcessGroup", "barrier", "destroy_process_group", "get_backend", "get_rank", "get_world_size",
    "init_process_group", "is_available", "is_initialized", "is_torchelastic_launched",
]

NOT_INITIALIZED = "Default process group has not been initialized, please make sure to call init_process_group."
ONE_PROCESS = (
    "torch.distributed.{name} is not supported: Flambeau trains in one process. Scripts that ask "
    "torch.distributed.is_available() or is_initialized() first run as they would on one device."
)


class ProcessGroup:
    """A group of processes; here for ``isinstance`` and annotations, as there is none."""


def is_available():
    """Whether there can be groups of processes: no."""
    return False


def is_initialized():
    """Whether there is a group of processes: no."""
    return False


def is_torchelastic_launched():
    """Whether torchrun started the process: no."""
    return False


def is_mpi_available():
    """Whether MPI can be used: no."""
    return False


is_nccl_available = is_gloo_available = is_ucc_available = is_mpi_available


def init_process_group(*args, **kwargs):
    """Not supported: it raises."""
    raise NotImplementedError(ONE_PROCESS.format(name="init_process_group"))


def _needs_group(name):
    def function(*args, **kwargs):
        raise ValueError(NOT_INITIALIZED)

    return set_name(function, name, "Raises, as there is no group of processes.")


barrier, get_backend, all_reduce, all_gather, all_gather_object, broadcast, broadcast_object_list, reduce, gather = map(
    _needs_group, ["barrier", "get_backend", "all_reduce", "all_gather", "all_gather_object", "broadcast",
                   "broadcast_object_list", "reduce", "gather"])
get_rank, get_world_size, destroy_process_group = map(
    _needs_group, ["get_rank", "get_world_size", "destroy_process_group"])


class ReduceOp:
    """How values of several processes become one."""

    SUM, AVG, PRODUCT, MIN, MAX = "SUM", "AVG", "PRODUCT", "MIN", "MAX"


__getattr__, __dir__ = lazy_submodules(__name__, ["device_mesh", "optim", "rpc", "tensor"])
