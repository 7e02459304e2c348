"""Programs of modules: trees with shared parts, hooks that look and hooks that change, modes, state, optimizers."""

import math

from .writer import Row

VECTORS = [
    "Linear(3, 3)", "ReLU()", "Tanh()", "Identity()", "Linear(3, 3, bias=False)", "LayerNorm(3)", "BatchNorm1d(3)",
    "PReLU()", "Softmax(-1)", "Dropout(0.0)", "Dropout(0.5)", "GELU()", "RMSNorm(3)", "BatchNorm1d(3, affine=False)",
    "BatchNorm1d(3, track_running_stats=False)", "BatchNorm1d(3, momentum=None)", "LazyLinear(3)", "Sequential()",
    "LeakyReLU(0.2)", "ELU()", "SiLU()", "Softplus()", "Hardtanh()", "Mish()", "Dropout1d(0.5)", "AlphaDropout(0.5)",
    "LayerNorm(3, bias=False)", "LocalResponseNorm(2)", "Unflatten(1, (3,))", "Flatten()", "LogSoftmax(-1)",
    "utils.parametrizations.weight_norm(torch.nn.Linear(3, 3))",
]
IMAGES = [
    "Conv2d(3, 3, 1)", "ReLU()", "BatchNorm2d(3)", "Conv2d(3, 3, 3, padding=1)", "MaxPool2d(1)", "InstanceNorm2d(3)",
    "GroupNorm(3, 3)", "Conv2d(3, 3, 1, groups=3, bias=False)", "Dropout2d(0.5)", "ConvTranspose2d(3, 3, 1)",
    "AvgPool2d(3, 1, 1)", "Identity()", "ZeroPad2d(0)", "Sequential()", "PReLU(3)", "AdaptiveAvgPool2d(2)",
    "LPPool2d(2, 1)", "BatchNorm2d(3, momentum=None)", "InstanceNorm2d(3, affine=True, track_running_stats=True)",
    "ReflectionPad2d(0)", "ChannelShuffle(3)", "Upsample(scale_factor=1)", "MaxPool2d(3, 1, 1)", "Softmax2d()",
]
HOOKS = [
    "forward_hook(lambda module, args, output: output * 2)",
    "forward_pre_hook(lambda module, args: (args[0] + 1,))",
    "forward_hook(lambda module, args, output: log.append(('forward', output.detach().clone())), prepend={flag})",
    "forward_pre_hook(lambda module, args: log.append(('pre', args[0].detach().clone())), prepend={flag})",
    "forward_hook(lambda m, args, kwargs, y: log.append((kwargs, len(args))), with_kwargs=True, always_call={flag})",
    "full_backward_hook(lambda module, inputs, outputs: log.append(('backward', inputs, outputs)))",
    "full_backward_hook(lambda module, inputs, outputs: tuple(None if g is None else g * 2 for g in inputs))",
    "full_backward_pre_hook(lambda module, outputs: log.append(('backward pre', outputs)), prepend={flag})",
    "full_backward_pre_hook(lambda module, outputs: (outputs[0] * 3,))",
    "state_dict_pre_hook(lambda module, prefix, keep_vars: log.append(prefix))",
    "load_state_dict_post_hook(lambda module, keys: log.append(list(keys.missing_keys)))",
]
CHANGES = [
    "{m}{part}.train()",
    "{m}{part}.eval()",
    "{m}{part}.requires_grad_({flag})",
    "{m}{part}.zero_grad(set_to_none={flag})",
    "{m}{part}.double()",
    "{m}{part}.float()",
    "{m}{part}.half()",
    "{m}{part}.to(torch.bfloat16)",
    "{m}{part}.apply(lambda module: log.append(type(module).__name__))",
    "{m}.append(torch.nn.Tanh())",
    "{m}.insert(0, torch.nn.Linear(3, 3))",
    "{m}.extend([torch.nn.ReLU()])",
    "{m}.pop(0)",
    "del {m}[0]",
    "{m}[0] = {m}[-1]",
    "{m}[0].weight = {m}[-1].weight",
    "{m}[0].weight.register_hook(lambda g: g * 2)",
    "{m}.extra = torch.nn.Parameter(torch.ones(2))",
    "{m}.extra = None",
    "{m}.register_buffer('seen', torch.ones(2), persistent={flag})",
    "{m}.load_state_dict({{k: v + 1 for k, v in {m}.state_dict().items()}})",
    "{m}.load_state_dict(dict(list({m}.state_dict().items())[1:]), strict={flag})",
    "with torch.no_grad(): [p.mul_(2) for p in {m}.parameters()]",
]
READS = [
    "list({m}.state_dict())",
    "{m}.state_dict(prefix='p.', keep_vars={flag})",
    "[name for name, _ in {m}.named_modules(remove_duplicate={flag})]",
    "[name for name, _ in {m}.named_parameters(remove_duplicate={flag})]",
    "[name for name, _ in {m}.named_buffers()]",
    "{m}.get_parameter('0.weight').shape",
    "{m}.get_submodule('{i}').training",
    "len({m})",
    "{m}[{i}]",
    "{m}[1:]",
    "copy.deepcopy({m})",
]
OPTIMIZERS = {
    "SGD": ["", ", momentum=0.9", ", momentum=0.9, nesterov=True", ", weight_decay=0.1", ", maximize=True",
            ", momentum=0.5, dampening=0.5"],
    "Adam": ["", ", weight_decay=0.1", ", amsgrad=True", ", maximize=True", ", betas=(0.5, 0.5)"],
    "AdamW": ["", ", weight_decay=0.5"],
    "RMSprop": ["", ", centered=True, momentum=0.5"],
    "Adagrad": ["", ", lr_decay=0.5"],
    "NAdam": ["", ", decoupled_weight_decay=True, weight_decay=0.1"],
    "Adamax": [""], "Adadelta": [""], "RAdam": [""], "ASGD": [""], "Rprop": [""],
}


def write(writer):
    """A tree, hooks on its parts, steps of training, and changes of the tree between them."""
    writer.special = False
    images = writer.seldom(4)
    module = tree(writer, IMAGES if images else VECTORS)
    writer.do("[]", target="log")
    leaf = ".requires_grad_()" if writer.seldom(2) else ""
    shape = (2, 3, 2, 2) if images else (4, 3)  # samples that differ: a batch norm of equal ones gives noise
    x = writer.do(f"torch.arange({math.prod(shape)}.).sin().reshape{shape}{leaf}")
    while not writer.seldom(8):
        writer.pick((hook, forward, change, read, remove, optimize))(writer, module, x)
        if len(writer.pair.steps) > 12:
            break
    forward(writer, module, x)


def tree(writer, layers):
    """Layers in Sequentials, one of them perhaps twice."""
    parts = [f"torch.nn.{writer.pick(layers)}" for _ in range(writer.integer(1, 3))]
    if writer.seldom(3):
        parts[-1] = f"torch.nn.Sequential({parts[-1]}, torch.nn.Tanh())"
    if writer.seldom(4):
        parts[0] = writer.do(parts[0])
        parts.append(parts[0])
    return writer.do(f"torch.nn.Sequential({', '.join(parts)})")


def forward(writer, module, x):
    y = writer.do("{m}({x})", m=module, x=x)
    if writer.pair.oracle[y].requires_grad and not writer.seldom(4):
        loss = "({y} * {y} * {y} + {y}).sum()"  # the sums of what is normalized, and of its squares, have no gradients
        writer.do(f"{loss}.backward()", target="", y=y)


def hook(writer, module, x):
    """One hook, or several whose order counts."""
    where = part(writer)
    for _ in range(writer.integer(1, 3)):
        writer.apply(Row("{m}{part}.register_" + writer.pick(HOOKS)), m=module, part=where)


def change(writer, module, x):
    writer.apply(Row(writer.pick(CHANGES)), target="", m=module, part=part(writer))


def read(writer, module, x):
    writer.apply(Row(writer.pick(READS)), m=module, i=str(writer.integer(-1, 2)))


def remove(writer, module, x):
    """Takes a hook back."""
    handles = variables(writer, "RemovableHandle")
    if handles:
        writer.do("{handle}.remove()", target="", handle=writer.pick(handles))


def optimize(writer, module, x):
    optimizers = [name for kind in OPTIMIZERS for name in variables(writer, kind)]
    if optimizers and not writer.seldom(4):
        call = writer.pick(("{o}.step()", "{o}.zero_grad()", "{o}.load_state_dict({o}.state_dict())"))
        writer.do(call, target="", o=writer.pick(optimizers))
    else:
        kind = writer.pick(list(OPTIMIZERS))
        options = writer.pick(OPTIMIZERS[kind])
        writer.do(f"torch.optim.{kind}({{m}}.parameters(), lr=0.1{options})", m=module)


def variables(writer, kind):
    return [name for name, value in writer.pair.oracle.items() if type(value).__name__ == kind]


def part(writer):
    """The path of a part of a Sequential; most often the whole."""
    return writer.pick(("", "[0]", "[-1]"))
