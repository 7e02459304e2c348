"""Programs of modules: trees with shared parts, hooks that look and hooks that change, modes, state, optimizers."""

from __future__ import annotations

from .writer import Over, rows

TOLERANCE = 100  # a batch norm of few samples that hardly differ multiplies errors
VECTORS = """nn.Linear(3,3) nn.ReLU() nn.Tanh() nn.Identity() nn.Linear(3,3,bias=False) nn.LayerNorm(3)
             nn.BatchNorm1d(3) nn.PReLU() nn.Softmax(-1) nn.Dropout(0.0) nn.Dropout(0.5) nn.GELU() nn.RMSNorm(3)
             nn.BatchNorm1d(3,affine=False) nn.BatchNorm1d(3,track_running_stats=False) nn.BatchNorm1d(3,momentum=None)
             nn.LazyLinear(3) nn.Sequential() nn.Bilinear(3,3,3)""".split()
IMAGES = """nn.Conv2d(3,3,1) nn.ReLU() nn.BatchNorm2d(3) nn.Conv2d(3,3,3,padding=1) nn.MaxPool2d(1) nn.InstanceNorm2d(3)
            nn.GroupNorm(3,3) nn.Conv2d(3,3,1,groups=3,bias=False) nn.Dropout2d(0.5) nn.ConvTranspose2d(3,3,1)
            nn.AvgPool2d(3,1,1) nn.Identity() nn.ZeroPad2d(0) nn.Sequential()""".split()
HOOKS = [
    *rows("", "{m}{part}.register_forward_hook(lambda module, args, output: output * 2)"),
    *rows("", "{m}{part}.register_forward_pre_hook(lambda module, args: (args[0] + 1,))"),
    *rows("", "{m}{part}.register_forward_hook(lambda module, args, output: log.append(('forward', output.detach().clone())), prepend={flag})"),
    *rows("", "{m}{part}.register_forward_pre_hook(lambda module, args: log.append(('pre', args[0].detach().clone())), prepend={flag})"),
    *rows("", "{m}{part}.register_forward_hook(lambda module, args, kwargs, output: log.append((kwargs, len(args))), with_kwargs=True, always_call={flag})"),
    *rows("", "{m}{part}.register_full_backward_hook(lambda module, inputs, outputs: log.append(('backward', inputs, outputs)))"),
    *rows("", "{m}{part}.register_full_backward_hook(lambda module, inputs, outputs: tuple(None if g is None else g * 2 for g in inputs))"),
    *rows("", "{m}{part}.register_full_backward_pre_hook(lambda module, outputs: log.append(('backward pre', outputs)), prepend={flag})"),
    *rows("", "{m}{part}.register_full_backward_pre_hook(lambda module, outputs: (outputs[0] * 3,))"),
    *rows("", "{m}{part}.register_state_dict_pre_hook(lambda module, prefix, keep_vars: log.append(prefix))"),
    *rows("", "{m}{part}.register_load_state_dict_post_hook(lambda module, keys: log.append(list(keys.missing_keys)))"),
]
CHANGES = [
    *rows("", "{m}{part}.NAME", """train() eval() requires_grad_(False) requires_grad_() zero_grad() double() float()
          to(torch.bfloat16) half() zero_grad(set_to_none=False) apply(lambda&module:log.append(type(module).__name__))"""),
    *rows("", "{m}.NAME", "append(torch.nn.Tanh()) insert(0,torch.nn.Linear(3,3)) pop(0) extend([torch.nn.ReLU()])"),
    *rows("", "{m}.register_buffer('seen', torch.ones(2), persistent={flag})"),
    *rows("", "{m}.load_state_dict({{k: v + 1 for k, v in {m}.state_dict().items()}})"),
    *rows("", "{m}.load_state_dict({{k: v for k, v in list({m}.state_dict().items())[1:]}}, strict={flag})"),
    *rows("", "{m}[0] = {m}[-1]"),
    *rows("", "{m}[0].weight = {m}[-1].weight"),
    *rows("", "{m}.extra = torch.nn.Parameter(torch.ones(2))"),
    *rows("", "{m}.extra = None"),
    *rows("", "del {m}[0]"),
    *rows("", "with torch.no_grad(): [p.mul_(2) for p in {m}.parameters()]"),
    *rows("", "{m}[0].weight.register_hook(lambda g: g * 2)"),
]
READS = [
    *rows("", "list({m}.state_dict())"),
    *rows("", "[name for name, _ in {m}.named_modules(remove_duplicate={flag})]"),
    *rows("", "[name for name, _ in {m}.named_parameters(remove_duplicate={flag})]"),
    *rows("", "[name for name, _ in {m}.named_buffers()]"),
    *rows("", "{m}.get_parameter('0.weight').shape"),
    *rows("", "{m}.get_submodule('{i}').training"),
    *rows("", "len({m})"),
    *rows("", "copy.deepcopy({m})"),
    *rows("", "{m}[{i}]"),
    *rows("", "{m}[1:]"),
    *rows("", "{m}.state_dict(prefix='p.', keep_vars={flag})"),
]
OPTIMIZERS = """lr=0.1 lr=0.1,momentum=0.9 lr=0.1,momentum=0.9,nesterov=True lr=0.1,weight_decay=0.1
                lr=0.1,momentum=0.5,dampening=0.5 lr=0.1,maximize=True""".split()


def write(writer):
    """A tree, hooks on its parts, steps of training, and changes of the tree between them."""
    writer.special = False
    images = writer.seldom(4)
    module = tree(writer, IMAGES if images else VECTORS)
    writer.do("[]", target="log")
    x = writer.new((2, 3, 2, 2) if images else (2, 3), dtype="float32", suffix=".requires_grad_()" if writer.seldom(2) else "")
    while not writer.seldom(8):
        writer.pick((forward, hook, change, read, remove, optimize))(writer, module, x)
        if len(writer.pair.steps) > 12:
            raise Over


def tree(writer, layers):
    """Layers in Sequentials, one of them perhaps twice."""
    count = writer.integer(1, 3)
    parts = ["torch." + writer.pick(layers).replace(",", ", ") for _ in range(count)]
    if writer.seldom(3):
        parts[-1] = f"torch.nn.Sequential({parts[-1]}, torch.nn.Tanh())"
    if writer.seldom(4):
        shared = writer.do(parts[0])
        parts[0] = shared
        parts.append(shared)
    return writer.do(f"torch.nn.Sequential({', '.join(parts)})")


def forward(writer, module, x):
    y = writer.do("{m}({x})", m=module, x=x)
    if writer.pair.oracle[y].requires_grad and not writer.seldom(4):
        writer.do("({y} * {y}).sum().backward()", target="", y=y)


def hook(writer, module, x):
    writer.apply(writer.pick(HOOKS), m=module, part=part(writer, module))


def change(writer, module, x):
    row = writer.pick(CHANGES)
    writer.apply(row._replace(template=row.template.replace("&", " ")), target="", m=module, part=part(writer, module))


def read(writer, module, x):
    writer.apply(writer.pick(READS), m=module, i=str(writer.integer(-1, 2)))


def remove(writer, module, x):
    """Takes a hook back."""
    handles = [name for name, v in writer.pair.oracle.items() if type(v).__name__ == "RemovableHandle"]
    if handles:
        writer.do("{handle}.remove()", target="", handle=writer.pick(handles))


def optimize(writer, module, x):
    options = writer.pick(OPTIMIZERS).replace(",", ", ")
    optimizers = [name for name, v in writer.pair.oracle.items() if type(v).__name__ == "SGD"]
    if optimizers and not writer.seldom(4):
        writer.do("{o}.NAME()".replace("NAME", writer.pick(("step", "zero_grad"))), target="", o=writer.pick(optimizers))
    else:
        writer.do("torch.optim.SGD({m}.parameters(), {options})", m=module, options=options)


def part(writer, module):
    """The path of a part of a Sequential; most often the whole."""
    return writer.pick(("", "[0]", "[-1]"))
