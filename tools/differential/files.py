"""Programs of files: what one library saves, the other one loads.

``mine`` is the folder of the library that runs the line, ``theirs`` that of the other.
"""

from .views import VIEWS, unpack
from .writer import Over, Row

CONTENTS = [
    "{x}", "[{x}, {x2}]", "{{'a': {x}, 'b': [{x2}, 1.5]}}", "({x}, None, True, 'text', 3, 2.5)", "[{x}, {x}]",
    "{{1: {x}, (2, 'k'): {x2}}}", "{{'n': {{'m': ({x},)}}}}", "collections.OrderedDict(a={x}, b={x2})",
    "torch.nn.Parameter({x})", "[torch.nn.Parameter({x}), {x}]", "{x}.requires_grad_()", "{x}.detach()", "{x}[:0]",
    "{x}.T", "{x}.real", "{x}.expand(2, *{x}.shape)", "{x}.shape", "[{x}.dtype, {x}.device]", "{{'set'}}", "b'bytes'",
    "slice(1, 2)", "range(3)", "1j", "2**80", "{x}.untyped_storage()",
]
LAYERS = [
    "Linear(2, 3)", "BatchNorm1d(2)", "Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())", "Embedding(3, 2)",
    "Conv1d(2, 2, 1)", "PReLU()", "LayerNorm(2)", "ParameterList([torch.ones(2)])", "LazyLinear(2)",
    "ModuleDict({{'a': torch.nn.Linear(1, 1)}})",
]
OPTIONS = ["weights_only=True", "weights_only=False", "map_location='cpu'", "mmap=True"]


def write(writer):
    """Tensors, views of them, a file with some of them, and what comes back."""
    writer.special = False
    if writer.seldom(4):
        return state(writer)
    writer.new(writer.shape(), "fibc")
    while writer.seldom(2):
        writer.apply(writer.pick(VIEWS))
        unpack(writer)
        if len(writer.pair.steps) > 6:
            raise Over
    content = writer.pick(CONTENTS)
    second = {"x2": writer.tensor()} if "{x2}" in content else {}
    writer.apply(Row(f"torch.save({content}, mine / 'f.pt')"), target="", **second)
    loaded = writer.do("torch.load(theirs / 'f.pt', {options})", options=writer.pick(OPTIONS))
    change(writer, loaded)


def change(writer, loaded):
    """Writes to what was loaded, to see what shares its memory."""
    value = writer.pair.oracle[loaded]
    path = "[0]" if isinstance(value, list) else ""
    if hasattr(value[0] if path else value, "zero_"):
        writer.do("{x}{path}.detach().zero_()", target="", x=loaded, path=path)


def state(writer):
    """The state of a module, from one library into the other."""
    layer = writer.pick(LAYERS)
    module, other = writer.do(f"torch.nn.{layer}"), writer.do(f"torch.nn.{layer}")
    if writer.seldom(2):
        writer.do("{m}.to(torch.bfloat16)", target="", m=module)
    writer.do("torch.save({m}.state_dict(), mine / 'f.pt')", target="", m=module)
    writer.do("{m}.load_state_dict(torch.load(theirs / 'f.pt'), assign={flag})", m=other, flag=str(writer.seldom(2)))
