"""Observes one forward and backward of a model: module calls and data flow."""

import time

import numpy as np

from .._device import strided
from .._modes import modes
from .._tensor import Tensor
from ..autograd._flops import flops_of
from ..autograd._recorder import Call, Calls
from ..debug._module_calls import ModuleCalls
from ..debug._values import tensors_in
from ..nn.modules.module import Module
from ._arrays import array_of, pictures, statistics

__all__ = ["Recording", "Times", "graph_records"]

MOST_PICTURED = 40  # modules with images of filters, features or attention
SATURATED = {"Sigmoid": (0.01, 0.99), "Tanh": (-0.98, 0.98), "Hardsigmoid": (0.0, 1.0), "Hardtanh": (-1.0, 1.0)}
RECTIFIERS = ("ReLU", "ReLU6", "Threshold", "Hardswish")


class Times:
    """A context manager that times each module in forward and backward."""

    def __init__(self, model):
        self.forward, self.backward = {}, {}
        self._model, self._calls = model, ModuleCalls()
        self._starts = []

    def __enter__(self):
        self._handles = []
        for path, module in self._model.named_modules():
            self._handles += [
                module.register_forward_pre_hook(lambda *_, path=path: self._begin(path)),
                module.register_forward_hook(lambda *_, path=path: self._end(path), always_call=True),
            ]
        self._check, modes.gradient_check = modes.gradient_check, self._node
        self._last = time.perf_counter()
        return self

    def __exit__(self, *exc):
        modes.gradient_check = self._check
        for handle in self._handles:
            handle.remove()

    def _begin(self, path):
        self._calls.enter(path)
        self._starts.append(time.perf_counter())

    def _end(self, path):
        self._last = time.perf_counter()
        self.forward[path] = self.forward.get(path, 0.0) + self._last - self._starts.pop()
        self._calls.leave()

    def _node(self, node, results):
        now = time.perf_counter()
        path = self._calls.at(node._seq)
        while path is not None:  # for the module and its ancestors
            self.backward[path] = self.backward.get(path, 0.0) + now - self._last
            path = path.rpartition(".")[0] if path else None
        self._last = now


class Recording(Calls):
    """Records module calls, and the ops between them with the tensors that connect them.

    Attributes:
        modules: {path: record} with calls, shapes, operations, saved bytes, statistics and images.
        ops: records of ops: name, module path, shape of the result, the ops that produced the inputs, and, by path, how
            often enclosing modules had been called, if more than once.
    """

    def __init__(self, model):
        super().__init__()
        self.modules = {}
        self.ops = []
        self.nodes = []  # of the graph: (node, path)
        self._paths = {module: path for path, module in model.named_modules()}
        self._producers = {}  # {id or address of a tensor: index of the op that produced it}
        self._alive = []  # tensors, so that ids and addresses are not reused
        self._known_pointers = {t.data_ptr() for t in (*model.parameters(), *model.buffers()) if t.numel()}
        self._instances = {}  # {module path: number of calls}
        self._busy = False
        self.kinds[Module.__call__.__code__] = self._call_of_module

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc):
        self.stop()

    def add_inputs(self, inputs):
        """Registers the model's input tensors."""
        for t in tensors_in(inputs):
            self._produce("input", None, [t], [])

    def keep_ancestors(self, output):
        """Drops ops that the output does not depend on."""
        wanted = {place for t in tensors_in(output) if (place := self._place_of(t)) is not None}
        for place in range(len(self.ops) - 1, -1, -1):
            if place in wanted:
                wanted.update(self.ops[place]["from"])
        new = {old: i for i, old in enumerate(sorted(wanted))}
        self.ops = [{**self.ops[old], "from": [new[i] for i in self.ops[old]["from"]]} for old in sorted(wanted)]

    def release(self):
        """Releases the tensors and nodes; the records remain."""
        self._alive.clear()
        self._producers.clear()
        self.nodes.clear()

    def _call_of_module(self, frame):
        module = frame.f_locals["self"]
        if module not in self._paths or self._busy:
            return None
        path = self._paths[module]
        self._instances[path] = self._instances.get(path, 0) + 1
        return Call(frame, path, "module")

    def on_end(self, call, result):
        """Called at the end of an op or module."""
        if self._busy:
            return
        self._busy = True  # ignore ops of the recording itself
        try:
            if call.kind == "module":
                self._end_of_module(call, result)
            elif call.op is not None:
                self._end_of_op(call, result)
        finally:
            self._busy = False

    # ---- modules

    def record(self, path):
        """The record of a module."""
        return self.modules.setdefault(path, {
            "calls": 0, "inputs": [], "outputs": [], "flops": 0, "saved": 0, "pictures": [],
        })

    def _end_of_module(self, call, result):
        values = call.frame.f_locals
        module, record = values["self"], self.record(call.name)
        record["calls"] += 1
        if record["calls"] > 1 or result is None:
            return
        arguments = (values.get("args", ()), values.get("kwargs", {}))
        record["inputs"] = [list(t.shape) for t in tensors_in(arguments)]
        outputs = tensors_in(result)
        record["outputs"] = [list(t.shape) for t in outputs]
        if outputs and outputs[0].numel() and not outputs[0].is_meta:
            self._describe_output(module, record, outputs[0])

    def _describe_output(self, module, record, output):
        record["activation"] = statistics(output)
        kind = type(module).__name__
        array = array_of(output)
        if kind in RECTIFIERS and array.ndim > 1:
            units = np.moveaxis(array, 1 if array.ndim > 2 else -1, 0)
            record["dead"] = float((units.reshape(len(units), -1) <= 0).all(1).mean())
        if kind in SATURATED:
            low, high = SATURATED[kind]
            record["saturated"] = float(((array <= low) | (array >= high)).mean())
        if array.ndim == 4 and not module._modules and self._may_picture():
            record["pictures"].append(pictures("feature maps of the first sample", array[0]))
        weight = module._parameters.get("weight")
        if weight is not None and weight.dim() == 4 and "Conv" in kind and self._may_picture():
            filters = array_of(weight)
            filters = filters if filters.shape[1] == 3 else filters[:, 0]
            record["pictures"].append(pictures("filters", filters))
        if output.requires_grad:
            output.register_hook(lambda grad: self._describe_gradient(record, grad))

    def _describe_gradient(self, record, grad):
        self._busy = True
        try:
            record["gradient"] = statistics(grad)
        finally:
            self._busy = False

    def _may_picture(self):
        return sum(bool(record["pictures"]) for record in self.modules.values()) < MOST_PICTURED

    # ---- ops

    def _end_of_op(self, call, result):
        in_backward = any(c.node is not None for c in self.stack)
        inside = any(c.op is not None for c in self.stack)
        results = tensors_in(result)
        if in_backward or inside or not results:
            return
        path = next((c.name for c in reversed(self.stack) if c.kind == "module"), None)
        count = flops_of(call, result, self.stack)[1]
        for outer in {c.name for c in self.stack if c.kind == "module"}:
            self.record(outer)["flops"] += count or 0
        operands = [x for x in call.operands if isinstance(x, Tensor)]
        sources = {place for t in operands if (place := self._place_of(t)) is not None}
        self._produce(call.op.name, path, results, sorted(sources))
        node = results[0]._node
        if node is not None:
            self.nodes.append((node, path))
            self._count_saved(node)
        if call.op.name in ("softmax", "attention"):
            self._picture_attention(call, results[0], path)

    def _place_of(self, t):
        """The op that produced a tensor, or the memory it is a view of; None for parameters and the like."""
        place = self._producers.get(id(t))
        return self._producers.get(("at", t.data_ptr())) if place is None and has_address(t) else place

    def _produce(self, name, path, results, sources):
        for t in results:
            self._alive.append(t)
            self._producers[id(t)] = len(self.ops)
            if has_address(t):
                self._producers["at", t.data_ptr()] = len(self.ops)
        op = {"op": name, "path": path, "shape": list(results[0].shape), "from": sources}
        if again := {c.name: self._instances[c.name] for c in self.stack if self._instances.get(c.name, 1) > 1}:
            op["again"] = again
        self.ops.append(op)

    def _count_saved(self, node):
        """Counts the bytes a node saved for backward, except parameters and tensors counted before."""
        held = [*(getattr(node, "inputs", None) or ()), getattr(node, "out", None)]
        held = [a for part in held for a in (part if isinstance(part, tuple) else (part,))]
        arrays = [a for a in held if hasattr(a, "nbytes") and hasattr(a, "__array_interface__")]
        total = 0
        for array in arrays:
            pointer = array.__array_interface__["data"][0]
            if pointer not in self._known_pointers:
                self._known_pointers.add(pointer)
                total += array.nbytes
        for outer in {c.name for c in self.stack if c.kind == "module"}:
            self.record(outer)["saved"] += total

    def _picture_attention(self, call, result, path):
        if path is None or not self._may_picture():
            return
        weights = array_of(result)
        if call.op.name == "attention":
            weights = attention_weights(*[array_of(x) if isinstance(x, Tensor) else x for x in call.operands[:2]])
        if weights.ndim >= 3 and min(weights.shape[-2:]) > 1:
            heads = weights.reshape(-1, *weights.shape[-2:])[: max(1, np.prod(weights.shape[1:-2], dtype=int))]
            self.record(path)["pictures"].append(pictures("attention of the first sample, by head", heads))


def has_address(t):
    """Whether a tensor owns elements in memory."""
    return t.layout is strided and not t.is_meta and t.numel() > 0


def attention_weights(query, key):
    """The softmax of query-key scores, without a mask."""
    if query.shape[-3:-2] != key.shape[-3:-2]:
        return np.zeros(())
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    return scores / scores.sum(-1, keepdims=True)


def graph_records(root, nodes, names, most=150):
    """The autograd graph from a node as records; None if it has more than `most` nodes."""
    paths = {node: path for node, path in nodes}
    order, places = [root], {root: 0}
    for node in order:
        for target, _ in node.next_functions:
            if target is not None and target not in places:
                places[target] = len(order)
                order.append(target)
        if len(order) > most:
            return None
    return [describe_node(node, places, paths, names) for node in order]


def describe_node(node, places, paths, names):
    """The record of a graph node: name, shape, saved tensors, and next nodes."""
    variable = getattr(node, "variable", None)
    saved = [*(getattr(node, "inputs", None) or ()), getattr(node, "out", None)] if variable is None else []
    saved = [a for a in saved if hasattr(a, "shape") and hasattr(a, "__array_interface__")]
    return {
        "name": names.get(id(variable), "leaf") if variable is not None else type(node).name(node),
        "leaf": variable is not None,
        "shape": list(variable.shape) if variable is not None else list(node._output(0)[0] or ()),
        "path": paths.get(node), "saved": [preview(a) for a in saved],
        "to": [places[target] for target, _ in node.next_functions if target is not None],
    }


def preview(array):
    """A short text preview of an array."""
    flat = np.asarray(array).reshape(-1)[:6]
    more = ", …" if array.size > 6 else ""
    numbers = ", ".join(f"{x:.4g}" if np.issubdtype(flat.dtype, np.floating) else str(x) for x in flat)
    return f"{array.dtype}{list(array.shape)}: {numbers}{more}"
