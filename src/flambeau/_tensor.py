"""The structure of Tensor: its fields, its memory and views, its place in the graph.

Arithmetic and all other operations are attached from ``flambeau.functions``.
"""

import itertools
import warnings

import numpy as np

from . import _dtypes
from ._device import CPU, strided
from ._hooks import move_hooks
from ._modes import in_use, modes
from ._size import Size
from ._slots import are_in_slots, maker, read_slot, set_slot, unheld
from ._storage import DeviceStorage, Storage, address, clear_all, new_storages
from .engines import NUMPY, engine_of, needs_elements
from .engines._views import replay
from .engines.levels import LevelArray

_new = object.__new__
_ndarray = np.ndarray
_new_size = tuple.__new__

LEAF = -1  # the output number in an edge that ends at a leaf tensor

LEAF_INPLACE = (
    "a leaf Variable that requires grad is being used in an in-place operation. Write to it under no_grad(), or to a "
    "clone()."
)
GRAD_SIZE = (
    "attempting to assign a gradient of size '{got}' to a tensor of size '{own}'. Please ensure that the gradient and "
    "the tensor are the same size"
)
GRAD_DTYPE = (
    "attempting to assign a gradient with dtype '{got}' to a tensor with grad_dtype '{own}': assigned grad has data of "
    "a different type; convert it with .to({own})"
)
VIEW_OF_LEAF_INPLACE = "a view of " + LEAF_INPLACE
_STALE = "its base or another view of its base has been modified inplace"
STALE_VIEW = {
    "multi": "{made} is a view and " + _STALE + ". This view is the output of a function that returns multiple views. "
             "Such functions do not allow the output views to be modified inplace. You should replace the inplace "
             "operation by an out-of-place one.",
    "no_grad": "A view was created in no_grad mode and " + _STALE + " with grad mode enabled. Given that this use case "
               "is ambiguous and error-prone, it is forbidden. Make the view again after the write, or do both in the "
               "same mode.",
    "custom": "{made} is a view and " + _STALE + ". This view was created inside a custom Function; clone the output "
              "of the custom Function first.",
    "inference": "A view was created in inference mode and " + _STALE + " in normal mode. Make the view again after "
                 "the write, or do both in the same mode.",
}
NON_LEAF_FLAG = (
    "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph "
    "that doesn't require differentiation use var_no_grad = var.detach()."
)
FLAG_IN_TRANSFORM = (
    "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) inside of "
    "a function being transformed by a functorch transform. Use the transforms of func there (grad, vjp, jacrev, "
    "jacfwd, hessian), or call requires_grad_() outside of the function."
)
ONLY_FLOATS_GRAD = "only Tensors of floating point and complex dtype can require gradients"
NON_LEAF_GRAD = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
    "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
    "Tensor, use .retain_grad() on the non-leaf Tensor."
)


class Unconnected:
    """The node of a view that is not connected to its base in the graph, though the base requires a gradient.

    The view was created in no_grad or inference mode, or before the base required a gradient. As in PyTorch, results
    computed from it require a gradient, which ends here. Users never see this node: to them the view is a leaf.
    """

    __slots__ = ("_dtype", "_seq", "_shape")

    _edges = ()
    _count = 1
    _hooked = _is_index = False
    _out_hooks = _pre_hooks = _post_hooks = _trace = None
    _ages = itertools.count(1)

    def __init__(self, array):
        self._shape, self._dtype = array.shape, array.dtype
        self._seq = -next(Unconnected._ages)  # older than all recorded nodes

    def _pull(self, grads, graph):
        return []

    def _pull_undefined(self, graph):
        return []

    def _free(self):
        pass


NO_FUNCTION = (type(None), Unconnected)  # the types of ``_node`` in leaves


class View:
    """How a view was derived: ``step`` is the (op, settings, output number) that made it from ``parent``."""

    __slots__ = ("base", "origin", "parent", "step", "version")

    @classmethod
    def of(cls, tensor, step, version, origin):
        """The view of `tensor` by `step`."""
        self, above = cls(), tensor._view
        self.parent = above  # the View of the source tensor, if that is a view itself
        self.step = step
        self.version = version  # the storage's version when the view's place in the graph was last updated
        self.origin = origin  # why writing to it with grad is refused: "no_grad", "multi", "inference"; or None
        if above is None:
            self.base = tensor
        else:
            self.base = above.base
            self.origin = origin or above.origin
        return self

    @property
    def chain(self):
        """The steps from the base to here."""
        steps, view = [], self
        while view is not None:
            steps.append(view.step)
            view = view.parent
        return tuple(reversed(steps))


class Tensor:
    """A multi-dimensional array with autograd: PyTorch's tensor, on NumPy memory."""

    __slots__ = ("__dict__", "__weakref__", "_a", "_grad", "_hooks", "_node", "_nr", "_rg", "_storage", "_view")

    __module__ = "flambeau"  # its public module
    __array_priority__ = 1000
    __hash__ = object.__hash__

    # ---- shape and memory

    @property
    def shape(self):
        """The size of each dimension."""
        return _new_size(Size, self._a.shape)

    @property
    def dtype(self):
        """The element type."""
        return _dtypes.BY_NUM[self._a.dtype.num]

    @property
    def device(self):
        """The device of the tensor."""
        storage = self._storage
        return CPU if storage is None else storage.device

    @property
    def layout(self):
        """The layout of the elements: ``strided`` or ``sparse_coo``."""
        storage = self._storage
        return strided if storage is None else storage.engine.layout

    @property
    def ndim(self):
        """The number of dimensions."""
        return self._a.ndim

    def dim(self):
        """The number of dimensions."""
        return self._a.ndim

    def numel(self):
        """The number of elements."""
        return self._a.size

    def stride(self, dim=None):
        """The distance in memory, in elements, between neighbours along each dimension (or along ``dim``)."""
        strides = engine_for(self).strides_of(self._a)
        if dim is None:
            return strides
        ndim = len(strides)
        if not -max(ndim, 1) <= dim < max(ndim, 1):
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {dim})"
            )
        return strides[dim]

    def data_ptr(self):
        """The address of the first element; 0 for an empty tensor, or one that is not on the CPU."""
        return address(self._a) if self._a.size and self.device is CPU else 0

    def storage_offset(self):
        """The tensor's offset in its storage, in elements."""
        offset = storage_of(self).offset(self._a)
        if offset is None:
            raise needs_elements("storage_offset() of a view by an index", f"{self._a.dtype}{list(self._a.shape)}")
        return offset

    @property
    def _version(self):
        if self._storage is None:
            return 0
        if self._storage.inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        return self._storage.version

    # ---- place in the graph

    @property
    def requires_grad(self):
        """Whether operations on this tensor are recorded for backward."""
        view = self._view
        if view is None:
            return self._rg
        if view.origin is None:
            refresh(self)
        return self._rg or view.base._rg  # also for a view created in no_grad mode, though no gradient flows through it

    @requires_grad.setter
    def requires_grad(self, value):
        if not isinstance(value, (bool, np.bool_)):
            raise RuntimeError(f"requires_grad must be a bool, not {type(value).__name__}")
        if value and not _dtypes.is_inexact(self._a.dtype):
            raise RuntimeError(ONLY_FLOATS_GRAD)
        if not self.is_leaf:
            if value:
                return
            raise RuntimeError(NON_LEAF_FLAG)
        if value and self.is_inference() and modes.grad is not None:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        self._node, self._rg = None, bool(value)

    def requires_grad_(self, requires_grad=True):
        """Sets ``requires_grad`` and returns the tensor."""
        if not isinstance(requires_grad, (bool, np.bool_)):
            kind = type(requires_grad).__name__
            raise TypeError(f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {kind}")
        if requires_grad and in_use.levels and modes.transforms:
            raise RuntimeError(FLAG_IN_TRANSFORM)
        self.requires_grad = requires_grad
        return self

    @property
    def is_leaf(self):
        """Whether the tensor is a leaf of the graph: created by the user, or not recorded."""
        return self.grad_fn is None

    @property
    def grad_fn(self):
        """The graph node that produced this tensor, or None for a leaf."""
        if self._view is not None:
            refresh(self)
        return None if type(self._node) is Unconnected else self._node

    @property
    def _backward_hooks(self):
        """The hooks on this tensor, by handle id; None if there are none."""
        return (None if self._hooks is None else self._hooks.grad) or None

    @property
    def _post_accumulate_grad_hooks(self):
        """The hooks that run after this leaf has accumulated its gradient, by handle id; None if there are none."""
        return (None if self._hooks is None else self._hooks.post_accumulate) or None

    @property
    def output_nr(self):
        """The number of this output among those of its node."""
        return self._nr

    @property
    def grad(self):
        """The gradient that backward has accumulated, or None."""
        if self._grad is None and type(self._node) not in NO_FUNCTION and not self.retains_grad:
            warnings.warn(NON_LEAF_GRAD, UserWarning, stacklevel=2)
        return self._grad

    @grad.setter
    def grad(self, value):
        if value is not None:
            check_grad_fits(self, value)
        self._grad = value

    @grad.deleter
    def grad(self):
        self._grad = None

    @property
    def retains_grad(self):
        """Whether a non-leaf keeps its gradient."""
        return self._hooks is not None and self._hooks.retain is not None

    def is_inference(self):
        """Whether the tensor was created in ``inference_mode``."""
        return self._storage is not None and self._storage.inference

    @property
    def _base(self):
        return self._view.base if self._view is not None else None

    def _is_view(self):
        return self._view is not None

    @property
    def data(self):
        """A tensor over the same memory, without history and with its own version counter."""
        return share(_new(Tensor), self, storage_of(self).with_own_version())

    @data.setter
    def data(self, value):
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if self._rg and value._a.dtype is not self._a.dtype and not _dtypes.is_inexact(value._a.dtype):
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        self._storage = storage_of(value).with_own_version(0 if self._storage is None else self._storage.version)
        self._storage.attach(self, value._a, value)


SLOTS = {name: Tensor.__dict__[name] for name in Tensor.__slots__ if not name.startswith("__")}
_WITHOUT_HISTORY = {"_rg": False, "_node": None, "_nr": 0, "_view": None, "_grad": None, "_hooks": None}

def _new_tensor(array):
    """``wrap`` of a NumPy array, where inference mode is taken into account elsewhere."""
    t = _new(Tensor)
    t._a = array
    t._storage = t._node = t._view = t._grad = t._hooks = None
    t._rg = False
    t._nr = 0
    return t


_constants = {SLOTS[name]: value for name, value in {**_WITHOUT_HISTORY, "_storage": None}.items()}
new_tensor = maker(Tensor, SLOTS["_a"], _constants, _new_tensor)


def wrap(array, device=None, engine=None):
    """A new tensor without history over `array`; `device` and `engine`, if known, are those of the array."""
    t = new_tensor(array)
    if type(array) is not _ndarray:
        t._storage = DeviceStorage(array, engine, device) if engine else device_storage(array, device)
    if in_use.inference and modes.grad is None:
        storage_of(t).inference = True
    return t



def wrap_all(arrays, device, engine, blank=()):
    """``wrap``, for many arrays on a device that are not views; reuses the tensors in `blank`, from ``reclaim``."""
    blank = blank[:len(arrays)]
    count = len(arrays) - len(blank)
    tensors = [*map(_new, itertools.repeat(Tensor, count))]
    for name, value in _WITHOUT_HISTORY.items():
        set_slot(SLOTS[name], tensors, [value] * count)
    tensors = [*blank, *tensors]
    storages = new_storages(arrays, engine, device, modes.grad is None, read_slot(SLOTS["_storage"], blank))
    set_slot(SLOTS["_storage"], tensors, storages)
    set_slot(SLOTS["_a"], tensors, arrays)
    return tensors


def reclaim(tensors, device, engine):
    """The tensors of a list that have no other references, cleared for reuse by ``wrap_all``.

    An empty list if one of them is not as ``wrap_all`` creates them.
    """
    tensors = unheld(tensors, 1)
    count = len(tensors)
    members, values = zip(*[(SLOTS[name], [value] * count) for name, value in _WITHOUT_HISTORY.items()])
    if not {*map(type, tensors)} <= {Tensor} or not are_in_slots(members, tensors, values):
        return []
    if not clear_all(read_slot(SLOTS["_storage"], tensors), engine, device):
        return []
    set_slot(SLOTS["_a"], tensors, [None] * count)
    return tensors


def device_storage(array, device=None, version=0):
    """A storage for an array that is not NumPy's."""
    engine = engine_of(array)
    if engine is NUMPY:
        raise TypeError(f"there is no engine for arrays of type {type(array).__name__}")
    return DeviceStorage(array, engine, device or engine.device_of(array), version=version)


def note_shared(t):
    """Notes, for a trace, that something that is no tensor has the same memory; returns the tensor."""
    if modes.tracer.active and t.device is CPU:
        storage_of(t).shared_outside = True
    return t


def storage_of(t):
    """The tensor's storage, created on first use."""
    array = t._a  # during a trace, this lifts the tensor, which replaces its storage
    storage = t._storage
    if storage is None:
        storage = t._storage = Storage(array)
    return storage


def engine_for(t):
    """The engine that computes on the tensor's device."""
    _ = t._a  # during a trace, this lifts the tensor, which replaces its storage
    return NUMPY if t._storage is None else t._storage.engine


def share(t, source, storage=None):
    """Makes `t`, whose slots may be unset, a leaf over the memory of `source`; with another `storage`, if passed."""
    array = source._a
    t._storage = storage or source._storage or storage_of(source)
    t._node = t._view = t._grad = t._hooks = None
    t._nr = 0
    t._rg = False
    if type(array) is _ndarray:
        t._a = array
    else:
        t._storage.attach(t, array, source)
    return t


def leaf_over(t):
    """A leaf over the memory of `t`."""
    if in_use.levels and isinstance(t._a, LevelArray):
        return wrap(t._a.level.detach(t._a), t.device)
    return share(_new(Tensor), t)


def refresh(t):
    """Updates a view's place in the graph after a write to its base or to another view of it."""
    view = t._view
    version = t._storage.version
    base = view.base
    if view.version == version:
        if t._rg is not base._rg:
            follow_base(t, base)
        return
    if view.origin is not None:
        if modes.grad and (t._node is not None or base._rg):
            made = "The view" if type(t._node) in NO_FUNCTION else f"Output {t._nr} of {t._node.name()}"
            raise RuntimeError(STALE_VIEW[view.origin].format(made=made))
        return
    view.version = version
    if base._node is None and (type(t._node) not in NO_FUNCTION or not base._rg):
        return
    grad, modes.grad = modes.grad, True
    try:
        take_place(t, replay(base, view.chain))
    finally:
        modes.grad = grad
    if t._hooks is not None:
        move_hooks(t)


def follow_base(t, base):
    """Makes a view that is not connected to its base require a gradient if, and as long as, the base does."""
    if base._rg and _dtypes.is_inexact(t._a.dtype):
        t._node, t._rg = Unconnected(t._a), True
    elif type(t._node) is Unconnected:
        t._node, t._rg = None, False


def take_place(t, other):
    """Moves `t` to the place of `other` in the graph."""
    t._node, t._nr, t._rg = other._node, other._nr, other._rg


def edge_of(t):
    """The target of the gradient of `t`: (node, output number), (leaf tensor, LEAF), or None."""
    if t._view is not None:
        refresh(t)
    if not t._rg or type(t._node) is Unconnected:
        return None
    return (t, LEAF) if t._node is None else (t._node, t._nr)


def check_grad_fits(t, grad):
    """Raises PyTorch's errors if `grad` cannot be the gradient of `t`."""
    if not isinstance(grad, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(grad).__name__}")
    if grad is t:
        raise RuntimeError("can't assign Variable as its own grad")
    if grad._a.dtype != t._a.dtype:
        raise RuntimeError(GRAD_DTYPE.format(got=grad.dtype, own=t.dtype))
    if grad.device != t.device:
        raise RuntimeError(f"assigned grad has data located on a different device: {grad.device}, expected {t.device}")
    if grad._a.shape != t._a.shape:
        raise RuntimeError(GRAD_SIZE.format(got=list(grad.shape), own=list(t.shape)))
