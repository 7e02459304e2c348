"""Programs of files: what one library saves, the other one loads. ``mine`` is the folder of the library that runs the
line, ``theirs`` that of the other."""

from __future__ import annotations

from .views import VIEWS, unpack
from .writer import Over, rows

CONTENTS = """{x} [{x},{x2}] {{'a':{x},'b':[{x2},1.5]}} ({x},None,True,'text',3,2.5) {{1:{x},(2,'k'):{x2}}} [{x},{x}]
              {x}.shape [{x}.dtype,{x}.device] torch.nn.Parameter({x}) {{'n':{{'m':({x},)}}}} {x}[:0] {x}.detach()
              [torch.nn.Parameter({x}),{x}] {x}.T {x}.expand(2,*{x}.shape) {x}.untyped_storage() {x}.requires_grad_()
              collections.OrderedDict(a={x},b={x2}) {{'set'}} b'bytes' slice(1,2) 1j 2**80 range(3) {x}.real""".split()
LAYERS = """Linear(2,3) BatchNorm1d(2) Sequential(torch.nn.Linear(2,2),torch.nn.ReLU()) Embedding(3,2) Conv1d(2,2,1)
            PReLU() LayerNorm(2) ParameterList([torch.ones(2)]) ModuleDict({{'a':torch.nn.Linear(1,1)}})""".split()
LOADS = rows("", "torch.load(theirs / 'f.pt', NAME)", "weights_only=True weights_only=False map_location='cpu'")


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
    content = writer.pick(rows("fibc", "torch.save(NAME, mine / 'f.pt')", " ".join(CONTENTS)))
    arguments = {"x2": writer.tensor()} if "{x2}" in content.template else {}
    writer.apply(content, target="", **arguments)
    loaded = writer.apply(writer.pick(LOADS))
    if hasattr(writer.pair.oracle[loaded], "untyped_storage"):
        writer.do("{x}.zero_()", target="", x=loaded)
    elif isinstance(writer.pair.oracle[loaded], list):
        writer.do("{x}[0].zero_()", target="", x=loaded)


def state(writer):
    """The state of a module, from one library into the other."""
    layer = writer.pick(LAYERS)
    module, other = writer.do(f"torch.nn.{layer}"), writer.do(f"torch.nn.{layer}")
    if writer.seldom(2):
        writer.do("{m}.to(torch.bfloat16)", target="", m=module)
    writer.do("torch.save({m}.state_dict(), mine / 'f.pt')", target="", m=module)
    writer.do("{m}.load_state_dict(torch.load(theirs / 'f.pt'), assign={flag})", m=other, flag=str(writer.seldom(2)))
