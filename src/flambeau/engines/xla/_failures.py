"""Failures of programs: what is raised where results are read that a program did not compute."""

from jax.errors import JaxRuntimeError

from ..._device import OutOfMemoryError

NO_MEMORY_LEFT = "RESOURCE_EXHAUSTED"  # the code of jax's error
FAILED = (
    "this tensor cannot be read: it was computed together with, or after, an operation that failed on the device: "
    "{error}. Load what was written from a checkpoint, or run with FLAMBEAU_LAZY=0 to stop at the operation."
)


def as_pytorch_error(error):
    """PyTorch's class for an error of jax: ``torch.cuda.OutOfMemoryError`` if the device is out of memory."""
    no_memory = isinstance(error, JaxRuntimeError) and error.error_code_string == NO_MEMORY_LEFT
    return OutOfMemoryError(str(error)) if no_memory else error


def failure_of(array):
    """The error of the program that was to compute a jax array; None if it succeeded.

    Accelerators run programs asynchronously, and report a failure to whoever waits for a result.
    """
    try:
        array.block_until_ready()
    except JaxRuntimeError as error:
        return as_pytorch_error(error)
    return None


def note_failure(arrays, error):
    """Makes reading any of these lazy arrays raise the error of the program that was to compute them."""
    failure = error if isinstance(error, Exception) else RuntimeError(f"{type(error).__name__} stopped it")
    for array in arrays:
        if array._value is None:
            array._value = failure
