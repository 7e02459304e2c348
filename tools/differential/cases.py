"""Programs of one layer or function: it is made, called, differentiated, changed, copied and called again.

A family of such programs is a table of cases. In their texts, ``{this|that}`` stands for one of these, which is drawn;
the first is the simplest.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from .compare import is_tensor
from .writer import Over, Row

SIZES = {"BATCH": "{2, |1, |0, |}", "PAIR": "(2, 1, 3)", "LENGTHS": "{5|4|6}, {4|5|2}, {4|3}"}
FLOATING = ("float64", "bfloat16", "float16")


class Case(NamedTuple):
    """A call on some inputs: shapes of floating numbers, or expressions of other tensors, which name torch."""

    make: str  # what makes the module {m}; "" for a function
    inputs: tuple[str, ...]
    call: str = ""

    @property
    def name(self):
        """What findings of this case have in common."""
        return re.match(r"(torch\.)?([\w.]+)", self.make or self.call)[2]


def layer(make, *inputs, call=""):
    names = ", ".join("{x}" if i == 0 else f"{{x{i + 1}}}" for i in range(len(inputs)))
    return Case(f"torch.nn.{make}", inputs, call or f"{{m}}({names})")


def function(call, *inputs):
    return Case("", inputs, f"torch.nn.functional.{call}")


def each(write, *texts, dims=(1, 2, 3), **options):
    """A case for one, two and three dimensions; PAIR is a tuple of RANK numbers, LENGTHS are so many sizes."""
    for n in dims:
        pair = {"PAIR": str((2, 1, 3)[:n]), "LENGTHS": ", ".join(SIZES["LENGTHS"].split(", ")[:n]), "Nd": f"{n}d", "RANK": str(n)}
        yield write(*[with_words(text, pair) for text in texts], **{k: with_words(v, pair) for k, v in options.items()})


def with_words(text, words):
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    return text


def write(writer, cases):
    """A program of one case of a table."""
    writer.special = False
    case = writer.pick(cases)
    module = {"m": writer.apply(Row(case.make))} if case.make else {}
    dtype = "float32"
    if writer.seldom(6):
        dtype = writer.pick(FLOATING)
        if module and not writer.seldom(8):
            writer.do("{m}.to(torch.NAME)".replace("NAME", dtype), target="", **module)
    inputs = draw_inputs(writer, case, dtype)
    use(writer, case, module, inputs)
    while not writer.seldom(3) and len(writer.pair.steps) < 12:
        if module and writer.seldom(2):
            change(writer, case, module)
        else:
            use(writer, case, module, inputs)


def draw_inputs(writer, case, dtype):
    names = ["x", *(f"x{i}" for i in range(2, 9))]
    return {name: draw_input(writer, text, dtype, 7 * i) for i, (name, text) in enumerate(zip(names, case.inputs))}


def draw_input(writer, text, dtype, start):
    """A tensor that a case needs; now and then one that does not suit it, but for a shape after "=": PyTorch would crash."""
    if "torch." in text:
        return writer.apply(Row(text))
    template, chosen = writer.choose(with_words(text.removeprefix("="), SIZES))
    shape = eval(f"({template.format(**chosen)},)".replace("(,)", "()").replace(",,", ",").replace(", ,", ","))
    if writer.seldom(25) and not text.startswith("="):
        i = writer.integer(0, len(shape))
        shape = (*shape[:i], shape[i] + 1, *shape[i + 1 :]) if i < len(shape) else shape[1:]
    return numbers(writer, shape, dtype, start)


def numbers(writer, shape, dtype="float32", start=0):
    """A tensor of floating numbers, in some layout, most often a leaf that requires a gradient."""
    if writer.seldom(25):
        dtype = writer.pick(("int64", "complex64", "bool", *FLOATING, "float32"))
    before, layout = writer.layout(shape)
    values = writer.pick(VALUES) if writer.seldom(3) else VALUES[0]
    limits = f"{start}., {start + math.prod(before)}." if start else f"{math.prod(before)}."
    if dtype == "float64":
        limits += ", dtype=torch.float64"  # not the roundings of float32
    to = "" if dtype in ("float32", "float64") else f".to(torch.{dtype})"
    leaf = ".requires_grad_()" if dtype in ("float32", "complex64", *FLOATING) and not writer.seldom(4) else ""
    return writer.do(values.replace("LIMITS", limits) + f".reshape{before}{to}{layout}{leaf}")


VALUES = (  # none alike; some alike, with zeros; some not finite
    "torch.arange(LIMITS).sin()",
    "(torch.arange(LIMITS) % 5 - 2)",
    "(torch.arange(LIMITS) * 40).sin()",
    "(torch.arange(LIMITS) % 7 - 3)",
    "((torch.arange(LIMITS) % 5 - 2) / 0)",
)


def use(writer, case, module, inputs):
    """A call, and a gradient or two of its result."""
    mark = f"  # {case.name}" if case.make else ""
    given = {name: value for name, value in inputs.items() if f"{{{name}}}" in case.call}
    y = writer.apply(Row(case.call + mark), **module, **given)
    differentiate(writer, y, case.name, module, inputs)


def differentiate(writer, y, name, module=None, inputs=None, losses=None):
    """A gradient of a result, which may be a tuple, and perhaps the gradient of a gradient."""
    path, value = "", writer.pair.oracle[y]
    while isinstance(value, (tuple, list)) and len(value):
        i = writer.integer(0, len(value) - 1)
        path, value = f"{path}[{i}]", value[i]
    if not getattr(value, "requires_grad", False):
        return
    leaves = [f"{{{x}}}" for x, v in (inputs or {}).items() if writer.pair.oracle[v].requires_grad]
    leaves += ["*{m}.parameters()"] if module else []
    result = "{y}" + path
    loss = writer.pick(losses or LOSSES).replace("Y", result)
    if leaves and writer.seldom(3) and is_finite(writer.pair.oracle.values()):
        names = {**(module or {}), **(inputs or {})}
        text = f"torch.autograd.grad({loss}, [{', '.join(leaves)}], create_graph=True, allow_unused=True)  # {name}"
        given = {k: v for k, v in names.items() if f"{{{k}}}" in text}
        gradients = writer.do(text, y=y, **given)
        found = [g for g in writer.pair.oracle[gradients] if g is not None and g.requires_grad]
        if found:
            text = "sum((g * g).abs().sum() for g in {gs} if g is not None and g.requires_grad).backward()"
            writer.do(f"{text}  # {name}", target="", gs=gradients)
    else:
        writer.do(f"{loss}.backward()  # {name}", target="", y=y)


def is_finite(values):
    """Whether zeros in a chain of gradients are zeros: PyTorch computes with some of them, and others are a sign."""
    return all(bool(v.detach().isfinite().all()) for v in values if is_tensor(v) and v.is_floating_point())


LOSSES = ("(Y * Y * Y + Y).abs().sum()", "Y.abs().sum()", "(Y * Y).abs().mean()")

CHANGES = [
    "{m}.train()", "{m}.eval()", "{m}.requires_grad_({flag})", "{m}.zero_grad(set_to_none={flag})",
    "{m}.double()", "{m}.float()", "{m}.bfloat16()", "{m}.half()", "{m}.reset_parameters()",
    "{m}.load_state_dict({{k: v * 0.5 for k, v in {m}.state_dict().items()}})",
    "with torch.no_grad(): [p.mul_(2) for p in {m}.parameters()]",
    "{m}.to(memory_format=torch.channels_last)",
]
COPIES = ["copy.deepcopy({m})", "copy.copy({m})", "pickle.loads(pickle.dumps({m}))"]
READS = [
    "list({m}.state_dict())",
    "{{k: v for k, v in sorted(vars({m}).items()) if k[0] != '_' and not hasattr(v, 'numel') and not callable(v)}}",
    "{m}.state_dict(keep_vars={flag})",
]


def change(writer, case, module):
    kind = writer.integer(0, 4)
    if kind < 2:
        writer.apply(Row(f"{writer.pick(CHANGES)}  # {case.name}"), target="", **module)
    elif kind == 2:
        writer.apply(Row(f"{writer.pick(READS)}  # {case.name}"), **module)
    else:
        module["m"] = writer.apply(Row(f"{writer.pick(COPIES)}  # {case.name}"), **module)
    if writer.pair.failed:
        raise Over
