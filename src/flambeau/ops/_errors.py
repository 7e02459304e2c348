"""Translation of the array library's errors to PyTorch's types and messages."""

import numpy as np

from .. import _dtypes
from .._device import CPU, strided
from .._tensor import Tensor
from ..engines import MissingKernel, engine_of, is_traced_error, needs_elements

BROADCAST = (
    "The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {dim}"
    " (shapes {shapes})"
)
NOT_IMPLEMENTED = (
    '"{op}" not implemented for \'{word}\': {operands}. '
    "Convert the operands first, for example with .{cure}()."
)
NO_KERNEL = (
    "Could not run 'aten::{op}' with arguments from the '{backend}' backend: there is no such operation on {operands}. "
    "Use to_dense() first."
)
NO_MEMORY = "not enough memory: {op} on {operands} tried to allocate more than there is: {cause}"


MIXED_DEVICES = (
    "Tensor on device {other} is not on the expected device {first}! Expected all tensors to be on the same device, "
    "but found at least two devices, {first} and {other}: {op} got {operands}. Move them to one device first, with "
    ".to()."
)


def common_device(spec, inputs):
    """The common device of the tensors among the inputs. Zero-dimensional tensors and indices may be on the CPU."""
    tensors = [x for x in inputs if isinstance(x, Tensor)]
    device = tensors[0].device
    if device is CPU and tensors[0]._a.ndim == 0:
        device = next((t.device for t in tensors if t._a.ndim), CPU)
    for t in tensors:
        if t.device is not device and not (t.device is CPU and t._a.ndim == 0) and spec.variadic != "indices":
            operands = ", ".join([f"{describe(t._a)} on {t.device}" for t in tensors])
            raise RuntimeError(MIXED_DEVICES.format(first=device, other=t.device, op=spec.name, operands=operands))
    return device


class LinAlgError(RuntimeError):
    """Raised if a matrix has no such result, for example the inverse of a singular one."""


def describe(operand):
    """Describes an operand: float32[2, 3], or the value of a number."""
    if hasattr(operand, "dtype"):
        return f"{operand.dtype}{list(operand.shape)}"
    return repr(operand)


def is_of(dtype, kinds):
    """Whether a dtype is one of the kinds "b" bool, "i" integers, "f" floating, "c" complex."""
    return ("i" if dtype.kind == "u" else dtype.kind) in kinds


def refuse_kinds(name, array, kinds):
    """Raises PyTorch's NotImplementedError for a dtype that the function `name` is not implemented for."""
    if is_of(array.dtype, kinds):
        raise not_implemented(name, array.dtype, [array])


def refuse(spec, arrays):
    """Raises PyTorch's NotImplementedError if the op does not support an operand's dtype."""
    for a in arrays:
        dtype = getattr(a, "dtype", None)
        if dtype is not None and is_of(dtype, spec.refuses):
            shapes = [a.shape for a in arrays if hasattr(a, "shape")] if spec.promote else []
            clash = broadcast_clash(shapes)
            raise RuntimeError(clash) if clash else not_implemented(spec.name, dtype, arrays)


def not_implemented(name, dtype, arrays):
    operands = ", ".join(describe(a) for a in arrays if a is not None)
    cure = "float" if dtype.kind in "biu" else "long" if dtype.kind == "f" else "abs"
    word = _dtypes.type_word(_dtypes.from_np(dtype))
    return NotImplementedError(NOT_IMPLEMENTED.format(op=name, word=word, operands=operands, cure=cure))


def missing_op(name, engine, arrays):
    """The error for an op that an engine of another layout does not support."""
    operands = ", ".join([f"{describe(a)} ({engine_of(a).layout})" for a in arrays if a is not None])
    return NotImplementedError(NO_KERNEL.format(op=name, backend=f"{engine.name.capitalize()}CPU", operands=operands))


def translate_error(spec, error, arrays):
    """The exception to raise for `error`, raised by the forward of an op."""
    engine = engine_of(*arrays)
    if engine.layout is not strided and isinstance(error, (MissingKernel, TypeError)):
        return missing_op(spec.name, engine, arrays)
    if type(error) in (RuntimeError, IndexError, NotImplementedError) or isinstance(error, LinAlgError):
        return error
    try:  # the op's own message is better than NumPy's
        if spec.check is not None:
            spec.check(*arrays)
        refuse(spec, arrays)
    except Exception as complaint:
        raise complaint from None
    operands = ", ".join(describe(a) for a in arrays if a is not None)
    if is_traced_error(error):
        return needs_elements(spec.name, operands)
    clash = broadcast_clash([a.shape for a in arrays if hasattr(a, "shape")])
    if isinstance(error, TypeError) and type(error) is not TypeError:  # NumPy's: a ufunc has no loop for the dtypes
        dtype = next(a.dtype for a in arrays if hasattr(a, "dtype"))
        return RuntimeError(clash) if clash else not_implemented(spec.name, dtype, arrays)
    if isinstance(error, np.linalg.LinAlgError):
        return LinAlgError(f"linalg.{spec.name.removeprefix('linalg_')}: {error} (input {operands})")
    if isinstance(error, MemoryError):
        return RuntimeError(NO_MEMORY.format(op=spec.name, operands=operands, cause=error))
    if isinstance(error, ValueError) and clash:
        return RuntimeError(clash)
    if isinstance(error, OverflowError) and any(type(a) is int for a in arrays):
        return OverflowError(f"{spec.name}: int too big to convert (input {operands})")
    if isinstance(error, IndexError):
        return IndexError(f"{spec.name}: {error} (input {operands})")
    if isinstance(error, TypeError):  # Python's: a setting is of a wrong type
        return TypeError(f"{spec.name}(): {error} (input {operands})")
    if isinstance(error, (ValueError, OverflowError)):
        return RuntimeError(f"{spec.name}: {error} (input {operands})")
    return error


def broadcast_clash(shapes):
    """PyTorch's message for shapes that do not broadcast, or None."""
    for i, a in enumerate(shapes):
        for b in shapes[i + 1:]:
            for d in range(1, min(len(a), len(b)) + 1):
                if a[-d] != b[-d] and 1 not in (a[-d], b[-d]):
                    dim = max(len(a), len(b)) - d
                    text = ", ".join(str(list(s)) for s in shapes)
                    return BROADCAST.format(a=a[-d], b=b[-d], dim=dim, shapes=text)
    return None
