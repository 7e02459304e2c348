"""Programs of what is done to parameters: initial values, parametrizations, pruning, fusion, containers, calls with others."""

from .cases import Case, change, differentiate
from .writer import Row

INITIAL = [f"torch.nn.init.{text}" for text in (
    "uniform_({p}{|, -1, 2|, 1, 0})", "normal_({p}{|, 1.0, 2.0|, 0, 0|, 0, -1})", "trunc_normal_({p}{|, 0.0, 2.0}{|, a=-1, b=0.5|, a=5, b=6})",
    "constant_({p}, {2|0.5|float('nan')|True})", "ones_({p})", "zeros_({p})", "eye_({p})", "dirac_({p}{|, groups=2|, groups=3})",
    "xavier_uniform_({p}{|, gain=2.0})", "xavier_normal_({p}{|, gain=2.0})",
    "kaiming_uniform_({p}{|, a=0.5}{|, mode='fan_out'|, mode='fan'}{|, nonlinearity='relu'|, nonlinearity='tanh'|, nonlinearity='other'})",
    "kaiming_normal_({p}{|, a=0.5}{|, mode='fan_out'}{|, nonlinearity='relu'|, nonlinearity='selu'})",
    "orthogonal_({p}{|, gain=2.0})", "sparse_({p}, {0.5|0.0|1.0}{|, std=1.0})",
    "calculate_gain('{relu|linear|conv2d|tanh|leaky_relu|selu|sigmoid|other}'{|, 0.5|, 'x'|, True})",
    "{uniform|normal|xavier_uniform|xavier_normal|kaiming_uniform|kaiming_normal|orthogonal|eye|dirac}({p})", "constant({p}, 2)", "sparse({p}, 0.5)",
)]
SHAPES = ["3, 4", "4, 2, 3", "4", "", "2, 2, 3, 2", "0, 3", "5, 3", "2, 4, 2, 2, 2", "1, 1"]
LAYERS = {"Linear(3, 3)": "4, 3", "Conv2d(3, 3, 2)": "2, 3, 4, 3", "Linear(3, 5, bias=False)": "3", "ConvTranspose1d(3, 2, 2)": "2, 3, 4",
          "Embedding(4, 3)": None, "LSTM(3, 2)": "3, 2, 3", "Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3))": "4, 3"}
WRAPPERS = [f"torch.nn.utils.{text}" for text in (
    "parametrizations.weight_norm({m}{|, dim=1|, dim=None}{|, name='bias'|, name='weight_hh_l0'})",
    "parametrizations.spectral_norm({m}{|, n_power_iterations=3}{|, dim=1}{|, eps=0.1}{|, name='bias'})",
    "parametrizations.orthogonal({m}{|, orthogonal_map='cayley'|, orthogonal_map='matrix_exp'|, orthogonal_map='householder'}{|, use_trivialization=False})",
    "weight_norm({m}{|, dim=1|, dim=None}{|, name='weight_hh_l0'})", "spectral_norm({m}{|, n_power_iterations=3}{|, dim=1}{|, eps=0.1})",
    "remove_weight_norm({m})", "remove_spectral_norm({m})",
    "parametrize.register_parametrization({m}, '{weight|bias}', torch.nn.{Tanh|ReLU|Identity|Softplus}(){|, unsafe=True})",
    "parametrize.remove_parametrizations({m}, 'weight'{|, leave_parametrized=False})",
    "parametrize.is_parametrized({m}{|, 'weight'|, 'bias'})", "parametrize.type_before_parametrizations({m})",
    "parametrize.transfer_parametrizations_and_params({m}, copy.deepcopy({m}))",
    *[f"prune.{text}" for text in (
        "l1_unstructured({m}, '{weight|bias}', {0.5|2|0.0|1.0|100})", "random_unstructured({m}, 'weight', {0.5|2|0.0})",
        "ln_structured({m}, 'weight', {0.5|1|2}, {2|1|float('inf')|-1}, {0|1|-1})", "random_structured({m}, 'weight', {0.5|1}, {0|1})",
        "identity({m}, 'weight')", "remove({m}, 'weight')", "is_pruned({m})",
        "custom_from_mask({m}, 'weight', torch.arange({m}.weight.numel()).reshape({m}.weight.shape) % 2)",
        "global_unstructured([({m}, 'weight'), ({m}, 'bias')], torch.nn.utils.prune.{L1Unstructured|RandomUnstructured}, amount={0.5|3})",
    )],
    "convert_conv2d_weight_memory_format({m}, torch.channels_last)", "convert_conv3d_weight_memory_format({m}, torch.channels_last_3d)",
    "skip_init(torch.nn.Linear, 3, {2|1}{|, bias=False}).weight.shape",
    "fusion.fuse_linear_bn_eval({m}[0].eval(), {m}[1].eval())",
)]
FUSIONS = [
    "torch.nn.utils.fuse_conv_bn_eval(torch.nn.{Conv2d(3, 3, 2)|ConvTranspose2d(3, 3, 2)}.eval(), torch.nn.BatchNorm2d(3).eval(){|, transpose=True})",
    "torch.nn.utils.fuse_linear_bn_eval(torch.nn.Linear(3, {3|1}).eval(), torch.nn.BatchNorm1d(3).eval())",
    "torch.nn.utils.fuse_conv_bn_weights(torch.ones(3, 2, 1), {None|torch.ones(3)}, torch.ones(3), torch.ones(3), 1e-5, {None|torch.ones(3)}, torch.ones(3))",
    "torch.nn.utils.fuse_linear_bn_weights(torch.ones(3, 2), {None|torch.ones(3)}, torch.ones(3), torch.ones(3), 1e-5, torch.ones(3), torch.ones(3))",
]
CONTAINERS = {
    "ModuleList([torch.nn.Linear(2, 2), torch.nn.ReLU()])": [
        "{c}.append(torch.nn.Tanh())", "{c}.extend([torch.nn.Tanh(), {c}[0]])", "{c}.insert({0|1|2}, torch.nn.Tanh())", "{c}.pop({0|-1|5|slice(0, 1)})",
        "{c}[{0|-1|5|0:1|::-1}]", "del {c}[{0|-1|0:1|5}]", "{c}[{0|-1|5}] = torch.nn.Tanh()", "len({c})", "{c} + [torch.nn.Tanh()]",
        "{c} += [torch.nn.Tanh()]", "list({c}.state_dict())", "torch.nn.Sequential(*{c})", "{c}(1)", "{c}.append(3)", "[type(m).__name__ for m in {c}]"],
    "ModuleDict({{'a': torch.nn.Linear(2, 2), 'b': torch.nn.ReLU()}})": [
        "{c}['{a|b|x}']", "{c}['{a|x|a.b}'] = torch.nn.Tanh()", "del {c}['{a|x}']", "{c}.pop('{a|x}')", "{c}.update({{'z': torch.nn.Tanh()}})",
        "{c}.update([['z', torch.nn.Tanh()]])", "list({c}.keys())", "list({c}.items())", "'{a|x}' in {c}", "{c}.clear()", "len({c})", "list({c}.state_dict())",
        "{c}.update({5|[1]})"],
    "ParameterList([torch.ones(2), torch.nn.Parameter(torch.zeros(3))])": [
        "{c}.append({torch.ones(1)|torch.nn.Parameter(torch.ones(1))|3|None})", "{c}.extend([torch.ones(1), torch.ones(2)])", "{c}[{0|-1|5|0:1}]",
        "{c}[{0|-1|5}] = torch.ones({1|2})", "del {c}[0]", "len({c})", "list({c}.state_dict())", "{c} + {c}", "{c}.to(torch.float64)", "{c}(1)",
        "{c}.insert(0, torch.ones(1))", "{c}.pop()", "list({c})", "{c} += [torch.ones(1)]"],
    "ParameterDict({{'a': torch.ones(2), 'b': 3}})": [
        "{c}['{a|b|x}']", "{c}['{a|x}'] = torch.ones(1)", "del {c}['{a|x}']", "{c}.pop('{a|x}')", "{c}.update({{'z': torch.ones(1)}})", "list({c}.keys())",
        "list({c}.values())", "{c}.popitem()", "{c}.setdefault('{a|x}', torch.ones(2))", "{c}.setdefault('x')", "{c}.get('{a|x}', 5)", "{c}.copy()",
        "{c}.fromkeys(['u', 'v'], 2)", "{c} | {{'z': torch.ones(1)}}", "{c} |= {{'z': torch.ones(1)}}", "'a' in {c}", "list(reversed({c}))", "{c}.clear()"],
    "Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())": [
        "{c}.append(torch.nn.Tanh())", "{c}[{0|-1|5|0:1}]", "{c}[{0|-1|5}] = torch.nn.Tanh()", "del {c}[{0|-1|0:1|5}]", "{c}.insert({0|2|1}, torch.nn.Tanh())",
        "{c}.extend([torch.nn.Tanh()])", "{c} + torch.nn.Sequential(torch.nn.Tanh())", "{c} * {2|0|-1}", "{c} *= 2", "{c} += torch.nn.Sequential()",
        "{c}.pop({0|-1|5})", "{c}(torch.ones({1, 2|2|1, 3}))", "2 * {c}", "list({c}.state_dict())"],
    "Module()": ["{c}.register_parameter('{w|a.b|training}', {torch.nn.Parameter(torch.ones(2))|None|torch.ones(2)})",
                 "{c}.register_buffer('{w|b|a.b}', {torch.ones(2)|None|3}{|, persistent=False})", "{c}.add_module('{w|s|a.b}', {torch.nn.ReLU()|None|3})",
                 "{c}.w = {torch.nn.Parameter(torch.zeros(1))|None|torch.ones(2)|torch.nn.Tanh()|3}", "del {c}.{w|b|x}", "{c}.get_parameter('{w|x|w.x}')",
                 "{c}.get_buffer('{b|x}')", "{c}.set_submodule('{s|s.t|x}', torch.nn.Tanh())", "{c}(1)", "{c}.s = torch.nn.Sequential(torch.nn.ReLU())",
                 "{c}.get_submodule('{s|s.0|}')", "{c}.register_module('m', torch.nn.ReLU())", "{c}.to({torch.float64|torch.int64|'cpu'|'meta'})",
                 "{c}.b = torch.nn.{Buffer(torch.ones(2))|Buffer(torch.ones(2), persistent=False)|UninitializedBuffer()}",
                 "{c}.w = torch.nn.UninitializedParameter()"],
}
CALLS = ["torch.func.functional_call({m}, {{'{weight|bias|x}': torch.ones({3, 3|3|2})}}, ({x},){|, strict=True}{|, tie_weights=False})",
         "torch.nn.utils.stateless.functional_call({m}, {{'weight': torch.zeros({3, 3|3|2})}}, {x})", "{m}({x})", "{m}({x})", "{m}({x})"]


def write(writer):
    """One of: initial values, a wrapped layer, a fusion, a container."""
    writer.special = False
    writer.pick((wrap, initialize, contain, wrap, fuse))(writer)


def initialize(writer):
    shape, dtype = writer.pick(SHAPES) or "()", writer.pick(DTYPES)
    p = writer.do(f"torch.zeros({shape}, dtype=torch.{dtype}).requires_grad_()")
    for _ in range(writer.integer(1, 3)):
        row = Row(writer.pick(INITIAL))
        writer.apply(row, **({"p": p} if "{p}" in row.template else {}))


DTYPES = ("float32", "float64", "bfloat16", "float16")


def wrap(writer):
    layer = writer.pick(list(LAYERS))
    module = {"m": writer.do(f"torch.nn.{layer}")}
    shape = LAYERS[layer]
    x = writer.do(f"torch.arange(100.).sin()[:{'*'.join(shape.split(', '))}].reshape({shape})" if shape else "torch.tensor([[0, 2], [1, 1]])")
    case = Case("", (), f"wrapped {layer}")
    while not writer.seldom(7) and len(writer.pair.steps) < 14:
        kind = writer.integer(0, 4)
        if kind < 2:
            writer.apply(Row(writer.pick(WRAPPERS)), **module)
        elif kind < 4:
            y = writer.apply(Row(writer.pick(CALLS)), **module, x=x)
            differentiate(writer, y, case.name, module)
        else:
            change(writer, case, module)


def fuse(writer):
    module = writer.apply(Row(writer.pick(FUSIONS)))
    if hasattr(writer.pair.oracle[module], "named_modules"):
        shape = "4, 3" if "Linear" in writer.pair.text else "2, 3, 4, 4"
        writer.do(f"{{m}}(torch.ones({shape}))", m=module)


def contain(writer):
    kind = writer.pick(list(CONTAINERS))
    c = writer.apply(Row(f"torch.nn.{kind}"))
    while not writer.seldom(6) and len(writer.pair.steps) < 12:
        text = writer.pick(CONTAINERS[kind])
        statement = text.startswith("del ") or " = " in text.split("(")[0] or any(sign in text for sign in ("+= ", "*= ", "|= "))
        writer.apply(Row(f"{text}  # {kind.partition('(')[0]}"), target="" if statement else None, c=c)
