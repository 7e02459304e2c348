"""Flambeau: PyTorch's tensors, autograd and modules, rewritten in Python on NumPy."""

import gc as _gc

_collects = _gc.isenabled()
_gc.disable()  # while importing: nothing becomes garbage, and collections take an eighth of the time

from math import e, inf, nan, pi

from . import _dtypes, _import_time, autograd
from ._device import (
    AcceleratorError,
    OutOfMemoryError,
    channels_last,
    channels_last_3d,
    contiguous_format,
    device,
    get_default_device,
    layout,
    memory_format,
    preserve_format,
    set_default_device,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from ._dtypes import (
    bfloat16,
    can_cast,
    complex64,
    complex128,
    dtype,
    finfo,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    set_default_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ._dtypes import ALIASES as _ALIASES
from ._format import set_printoptions
from ._modes import (
    eager,
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from ._size import Size
from ._tensor import Tensor
from ._version import __version__
from .autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled
from .functions.properties import *
from .functions.convert import *
from .functions.creation import *
from .functions.dlpack import *
from .functions.from_data import *
from .functions.activation import *
from .functions.asserts import *
from .functions.compare import *
from .functions.complex import *
from .functions.elementary import *
from .functions.pointwise import *
from .functions.special import *
from . import special
from .functions import operators as _operators
from .functions.protocol import *
from .functions.storage import *
from .functions.memory import *
from .functions.legacy import *
from .functions.settings import *
from .functions.windows import *
from . import _pickle, signal
from .functions.einsum import *
from .functions import getitem as _getitem
from .functions.index import *
from .functions.matmul import *
from .functions.contract import *
from .functions.linalg.top_level import *
from .functions.reduce import *
from .functions.scan import *
from .functions.sort import *
from .functions.statistics import *
from .functions.histogram import *
from .functions.distance import *
from .functions.fake_quantize import *
from .functions.shape import *
from .functions.broadcast import *
from .functions.views import *
from .functions.join import *
from .functions.move import *
from .functions.scatter import *
from .functions.segment import *
from .random import *
from .functions.random import *
from .functions import random_inplace as _random_inplace
from .functions.dropout import *
from .functions.random_samplers import *
from .functions.rnn import *
from .functions.sparse import *
from .functions.foreach import *
from .functions.grouped import *
from .functions.linalg.lowrank import *
from .functions.stft import *
from . import _C, overrides, return_types
from . import compiler, fft, func, linalg, nn, optim, random, serialization, storage, testing, utils
from ._generator import Generator
from ._lazy import lazy_submodules as _lazy_submodules
from .compiler import compile
from ._layer_functions import *
from .func import vmap
from .serialization import load, save

globals().update(_ALIASES)  # half, float, double, short, int, long, bool, ...: names that Python's builtins have too
newaxis = None
legacy_contiguous_format = contiguous_format

_LAZY = [
    "__config__", "_dynamo", "_inductor", "_tensor_str", "accelerator", "alias", "amp", "ao", "backends", "cpu", "cuda",
    "debug", "distributed", "distributions", "export", "functional", "futures", "fx", "hub", "inspection", "jit",
    "library", "mps", "multiprocessing", "onnx", "profiler", "sparse", "types", "version", "xpu",
]
_AUTOCAST = [
    "autocast", "clear_autocast_cache", "get_autocast_dtype", "is_autocast_cache_enabled", "is_autocast_enabled",
    "set_autocast_cache_enabled", "set_autocast_dtype", "set_autocast_enabled",
]
_MEMBERS = {
    **dict.fromkeys(_AUTOCAST, "amp.autocast_mode"),
    **dict.fromkeys(["Event", "Stream"], "accelerator"),
    "GradScaler": "amp",
    "PyTorchFileReader": "serialization._reader",
    "ScriptModule": "jit",
    "check_training": "debug.training",
    "inspect": "inspection",
    **dict.fromkeys(["SymBool", "SymFloat", "SymInt"], "types"),
    **dict.fromkeys(["load_ipython_extension", "unload_ipython_extension"], "alias.ipython"),
}
__getattr__, __dir__ = _lazy_submodules(__name__, _LAZY, _MEMBERS)

if _collects:
    _gc.enable()
