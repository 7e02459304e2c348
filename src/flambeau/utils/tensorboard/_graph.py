"""The graph of a model for TensorBoard: from a symbolic trace, with the shapes of a run."""

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.step_stats_pb2 import DeviceStepStats, StepStats
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.versions_pb2 import VersionDef

from ..._modes import no_grad
from ..._tensor import Tensor
from ...fx import GraphModule, Interpreter, TraceError, Tracer

CANNOT_TRACE = (
    "add_graph(): {model} cannot be drawn, for its forward decides by the values of tensors, and the graph is traced "
    "without any: {error}"
)


class _Scopes(Tracer):
    """Records the module of each node."""

    def __init__(self, model):
        super().__init__()
        self.path = [type(model).__name__]
        self.scopes = {}

    def call_module(self, m, forward, args, kwargs):
        name = self.path_of_module(m).rpartition(".")[2]
        self.path.append(f"{type(m).__name__}[{name}]")
        try:
            return super().call_module(m, forward, args, kwargs)
        finally:
            self.path.pop()

    def create_node(self, *args, **kwargs):
        node = super().create_node(*args, **kwargs)
        self.scopes[node] = "/".join(self.path)
        return node


class _Shapes(Interpreter):
    """Runs the graph and records the shapes of the results."""

    def run(self, *args):
        self.shapes = {}
        return super().run(*args)

    def run_node(self, n):
        result = super().run_node(n)
        results = result if isinstance(result, tuple | list) else [result]
        self.shapes[n] = [tuple(x.shape) for x in results if isinstance(x, Tensor)]
        return result


def graph(model, args, verbose=False):
    """(the graph, its device) of a model called with `args`."""
    tracer = _Scopes(model)
    try:
        traced = tracer.trace(model)
    except TraceError as error:
        raise RuntimeError(CANNOT_TRACE.format(model=type(model).__name__, error=error)) from error
    shapes = {}
    if args is not None:
        runner = _Shapes(GraphModule(model, traced))
        with no_grad():
            runner.run(*(args if isinstance(args, tuple | list) else (args,)))
        shapes = runner.shapes
    if verbose:
        print(traced)
    names = {node: _name(node, scope) for node, scope in tracer.scopes.items()}
    nodes = [each for node in traced.nodes for each in _records(node, model, names, shapes.get(node, ()))]
    stats = RunMetadata(step_stats=StepStats(dev_stats=[DeviceStepStats(device="/device:CPU:0")]))
    return GraphDef(node=nodes, versions=VersionDef(producer=22)), stats


def _name(node, scope):
    folder = {"placeholder": "input", "output": "output"}.get(node.op, scope)
    return f"{folder}/{node.name}"


def _records(node, model, names, shapes):
    """The record of a node, preceded by those of its layer's parameters."""
    inputs = [names[each] for each in node.all_input_nodes]
    kind = node.op
    if node.op in ("placeholder", "output"):
        kind = "IO Node"
    elif node.op == "call_module":
        layer = model.get_submodule(node.target)
        kind, folder = type(layer).__name__, names[node].rpartition("/")[0]
        for name, parameter in layer.named_parameters():
            yield _record(f"{folder}/{name}", "Parameter", [], [tuple(parameter.shape)])
            inputs.append(f"{folder}/{name}")
    elif node.op in ("call_function", "call_method"):
        kind = getattr(node.target, "__name__", node.target)
    yield _record(names[node], kind, inputs, shapes)


def _record(name, op, inputs, shapes):
    record = NodeDef(name=name, op=op, input=inputs)
    if shapes:
        dims = [TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in shape]) for shape in shapes]
        record.attr["_output_shapes"].CopyFrom(AttrValue(list=AttrValue.ListValue(shape=dims)))
    return record
