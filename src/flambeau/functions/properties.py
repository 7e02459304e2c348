"""Tensor properties: dtype tests, sizes, device, memory order."""

from .. import _dtypes, _layout
from .._device import CPU, META, channels_last, contiguous_format, memory_format, sparse_coo, strided
from .._storage import address
from .._tensor import Tensor, storage_of
from ._args import dim_in_range, need_tensor
from ._attach import methods

__all__ = [
    "get_device", "is_complex", "is_conj", "is_floating_point", "is_inference", "is_neg", "is_same_size", "is_signed",
    "is_tensor", "numel", "resolve_conj", "resolve_neg",
]

NO_NBYTES = (
    "nbytes is not defined for sparse tensors. Add those of the indices and the values, or multiply numel() by "
    "element_size() for those of a dense tensor."
)


def is_tensor(obj, /):
    """Whether `obj` is a tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input):
    """Whether the dtype is floating."""
    return need_tensor(input, "is_floating_point").dtype.category == _dtypes.FLOAT


def is_complex(input):
    """Whether the dtype is complex."""
    return need_tensor(input, "is_complex")._a.dtype.kind == "c"


def is_signed(input):
    """Whether the dtype is signed."""
    return need_tensor(input, "is_signed").dtype.is_signed


def is_inference(input):
    """Whether the tensor was created in ``inference_mode``."""
    return need_tensor(input, "is_inference").is_inference()


def is_conj(input):
    """Whether the conjugate bit is set: always False, conjugation is not lazy here."""
    need_tensor(input, "is_conj")
    return False


def is_neg(input):
    """Whether the negative bit is set: always False, negation is not lazy here."""
    need_tensor(input, "is_neg")
    return False


def resolve_conj(input):
    """The tensor itself: conjugation is not lazy here."""
    return need_tensor(input, "resolve_conj")


def resolve_neg(input):
    """The tensor itself: negation is not lazy here."""
    return need_tensor(input, "resolve_neg")


def is_same_size(input, other):
    """Whether two tensors have the same shape."""
    need_tensor(input, "is_same_size")
    return input._a.shape == need_tensor(other, "is_same_size", "other")._a.shape


def is_set_to(self, tensor):
    """Whether both tensors are the same view of the same memory."""
    mine, other = self._a, need_tensor(tensor, "is_set_to", "tensor")._a
    return (
        address(mine) == address(other) and mine.shape == other.shape and mine.strides == other.strides
        and address(storage_of(self).array) == address(storage_of(tensor).array)
    )


# ---- sizes


def size(self, dim=None):
    """The shape, or the size of one dimension."""
    shape = self._a.shape
    if dim is None:
        return self.shape
    if not shape:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return shape[dim_in_range(dim, len(shape))]


def numel(input):
    """The number of elements."""
    return need_tensor(input, "numel")._a.size


def element_size(self):
    """The size of an element in bytes."""
    return self._a.itemsize


def get_device(input):
    """The index of the tensor's GPU; -1 for the CPU."""
    index = need_tensor(input, "get_device").device.index
    return -1 if index is None else index


def dim_order(self, *, ambiguity_check=False):
    """The dimensions from outermost to innermost in memory.

    Args:
        ambiguity_check: True raises if more than one order fits; a list of memory formats raises unless the order
            fits exactly one of them.
    """
    order = tuple(_layout.order_of(self.shape, self.stride()))
    in_rows, in_channels = (self.is_contiguous(memory_format=f) for f in (contiguous_format, channels_last))
    if in_rows != in_channels:  # strides of dimensions of size one are arbitrary
        order = tuple(range(self._a.ndim)) if in_rows else (0, 2, 3, 1)
    if ambiguity_check is True:
        steps = [s for s, n in zip(self.stride(), self._a.shape, strict=True) if n > 1]
        if len(set(steps)) < self._a.ndim:
            raise RuntimeError(f"The tensor does not have unique dim order: strides {self.stride()}.")
    elif isinstance(ambiguity_check, (list, tuple)):
        if not all(isinstance(f, memory_format) for f in ambiguity_check):
            raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
        fitting = [f for f in ambiguity_check if self.is_contiguous(memory_format=f)]
        if len(fitting) > 1:
            raise RuntimeError(f"The tensor fits more than one memory format: {fitting}.")
        if fitting and fitting[0] is contiguous_format:
            return tuple(range(self._a.ndim))
    elif not isinstance(ambiguity_check, bool):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    return order


def _nbytes(t):
    if t.layout is not strided:
        raise RuntimeError(NO_NBYTES)
    return t._a.size * t._a.itemsize


def _attribute(name, answer, doc):
    setattr(Tensor, name, property(answer, doc=doc))


_attribute("itemsize", lambda t: t._a.itemsize, "The bytes of one element.")
_attribute("nbytes", _nbytes, "The bytes of all elements.")
_attribute("is_cpu", lambda t: t.device is CPU, "Whether the tensor lies in the CPU's memory.")
_attribute("is_meta", lambda t: t.device is META, "Whether the tensor has a shape and a dtype only.")
_attribute("is_cuda", lambda t: t.device.type == "cuda", "Whether the tensor lies on a GPU.")
_attribute("is_xla", lambda t: t.device.type == "xla", "Whether the tensor is the XLA engine's.")
_attribute("name", lambda t: None, "Always None.")
_attribute("is_sparse", lambda t: t.layout is sparse_coo, "Whether the elements that are not zero are kept only.")
for _kind in ("sparse_csr", "quantized", "mkldnn", "nested", "mps", "xpu", "mtia", "vulkan", "ipu", "maia"):
    _attribute(f"is_{_kind}", lambda t: False, "Always False.")

methods(dim_order, element_size, get_device, is_complex, is_conj, is_floating_point, is_neg, is_same_size,
        is_set_to, is_signed, resolve_conj, resolve_neg, size,
        nelement=Tensor.numel, ndimension=Tensor.dim)
