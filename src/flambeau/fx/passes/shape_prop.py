"""Shape propagation: records the shapes of values on the nodes of a graph."""

from __future__ import annotations

from typing import NamedTuple

from ..._device import memory_format as MemoryFormat
from ..._device import strided
from ..._dtypes import dtype as Dtype
from ..._size import Size
from ..._tensor import Tensor
from ..interpreter import Interpreter
from ..node import map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """The metadata of a tensor."""

    shape: Size
    dtype: Dtype
    requires_grad: bool
    stride: tuple
    memory_format: MemoryFormat | None
    is_quantized: bool
    qparams: dict


def _metadata(t):
    stride = t.stride() if t.layout is strided else ()
    return TensorMetadata(t.shape, t.dtype, t.requires_grad, stride, None, False, {})


class ShapeProp(Interpreter):
    """Runs a graph and stores shape, dtype and strides of each value in ``node.meta["tensor_meta"]``.

    Example::

        >>> import flambeau
        >>> from flambeau import fx
        >>> from flambeau.fx.passes.shape_prop import ShapeProp
        >>> traced = fx.symbolic_trace(lambda x: x.sum(0))
        >>> _ = ShapeProp(traced).propagate(flambeau.ones(2, 3))
        >>> [tuple(node.meta["tensor_meta"].shape) for node in traced.graph.nodes]
        [(2, 3), (3,), (3,)]
    """

    def run_node(self, n):
        result = super().run_node(n)
        found = []

        def note(value):
            if isinstance(value, Tensor):
                found.append(value)
                return _metadata(value)
            return value

        meta = map_aggregate(result, note)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args):
        """Runs the graph on these inputs."""
        return self.run(*args)
