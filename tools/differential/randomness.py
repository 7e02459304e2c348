"""Programs of random numbers: one seed gives both libraries the same ones, in the logical order of the elements."""

from .forms import forms
from .writer import Over, rows

G = "{|, generator=torch.Generator().manual_seed(5)}"
SIZE = "{(3,)|(2, 3)|(0, 2)|()|(17,)|(4, 5)|(2, 3, 2, 2)}"
DTYPE = "{|, dtype=torch.float64|, dtype=torch.float16|, dtype=torch.bfloat16}"
INTEGER = "{|, dtype=torch.int32|, dtype=torch.uint8|, dtype=torch.int8|, dtype=torch.float32|, dtype=torch.bool}"
NUMBERS = [
    *rows("f", f"torch.NAME({SIZE}{DTYPE}{G}{{|, requires_grad=True}})", "rand randn"),
    *rows("f", f"torch.NAME({SIZE}, dtype=torch.{{complex64|complex128}}{G})", "rand randn"),
    *rows("f", f"torch.randint({{5|-3, 4|0, 2**40|3, 3|-128, 128|0, 1|0, 300}}, {SIZE}{INTEGER}{G})"),
    *rows("f", f"torch.randperm({{5|0|1|40|300}}{INTEGER}{G})"),
    *rows("f", f"torch.normal({{0.5|-1}}, {{2.0|0|1|-1}}, {SIZE}{DTYPE}{G})"),
]
OF_TENSORS = [
    *rows("f", f"torch.normal({{x}}, {{0.5|2|0|-1}}{G})"),
    *rows("f", f"torch.normal({{x}}, {{x}}.abs(){G})"),
    *rows("f", f"torch.normal({{0.5|2}}, {{x}}.abs(){G})"),
    *rows("fc", "torch.NAME({x}{|, dtype=torch.float64|, memory_format=torch.contiguous_format})", "rand_like randn_like"),
    *rows("fib", "torch.randint_like({x}, {5|-3, 4|1, 2}{|, dtype=torch.int32})"),
    *rows("fib", f"torch.bernoulli({{x}}{{.sigmoid()||.abs()}}{G})"),
    *rows("fib", f"torch.bernoulli({{x}}, {{0.25|0|1|1.5}}{G})"),
    *rows("f", f"torch.poisson({{x}}.abs() * {{1|20}}{G})"),
    *rows("f", f"torch.binomial({{x}}.abs().floor(), torch.full_like({{x}}, {{0.25|1|0|0.9}}){G})"),
    *rows("f", f"torch.multinomial({{x}}.abs() + {{0|0.5}}, {{1|2|3}}{{|, replacement=True|, True}}{G})"),
    *rows("f", f"{{x}}.abs().multinomial({{1|2}}{G})"),
    *rows("fc", "torch.nn.functional.NAME({x}{|, 0.25|, 1.0|, 0.0}{|, training=False|, inplace=True})",
          "dropout alpha_dropout feature_alpha_dropout dropout1d dropout2d dropout3d"),
    *rows("fc", "torch.NAME({x}, {0.25|1.0|0.0}, {True|False})", """dropout alpha_dropout feature_dropout
          feature_alpha_dropout dropout_ alpha_dropout_ feature_dropout_ feature_alpha_dropout_"""),
    *rows("f", "torch.NAME({x}, {0.1, 0.3|0.5, 0.5}, {True|False})", "rrelu rrelu_"),
    *rows("f", "torch.nn.functional.rrelu({x}, {0.1, 0.3|0.5, 0.5}, {True|False}{|, inplace=True})"),
    *rows("f", "torch.nn.functional.gumbel_softmax({x}, {1|0.5}{|, hard=True}{|, dim=0})"),
    *rows("fib", "{x}[torch.randperm({x}.shape[0])]"),
    *rows("f", "torch.nn.init.NAME_({x}.detach())", """uniform normal trunc_normal xavier_uniform xavier_normal kaiming_uniform
          kaiming_normal orthogonal"""),
    *rows("f", "list(torch.utils.data.random_split(range(5), {[2, 3]|[0.5, 0.5]|[1, 1]})[0])"),
]
WRITES = [
    *rows("fc", f"{{x}}.uniform_({{0, 1|-2, 0.5|1, 0|3, 3}}{G})"),
    *rows("fc", f"{{x}}.normal_({{0, 1|-2, 0.5|1, 0|0, -1}}{G})"),
    *rows("fi", f"{{x}}.NAME_({{0.5|0.9|2|-1}}{G})", "exponential geometric"),
    *rows("fi", f"{{x}}.log_normal_({{1, 2|0, 0.5|0, -1}}{G})"),
    *rows("fi", f"{{x}}.cauchy_({{0, 1|-1, 0.5|0, -1}}{G})"),
    *rows("fib", f"{{x}}.bernoulli_({{0.5|0|1|-1|torch.tensor(0.25)}}{G})"),
    *rows("fib", f"{{x}}.bernoulli_({{x}}.double().sigmoid().contiguous(){G})"),
    *rows("fib", f"{{x}}.random_({{0, 2|3|5|-2, 2|2, 2|0, 127}}{G})"),
    *rows("fib", "{x}.random_()"),
    *rows("fi", "torch.NAME({x}.shape, out={x})", "rand randn"),
    *rows("fi", "torch.randint(5, {x}.shape, out={x})"),
    *rows("fi", "torch.randperm({x}.numel(), out={x})"),
    *rows("f", "torch.bernoulli({x}.sigmoid(), out={x})"),
    *rows("f", "torch.normal({x}.clone(), 1.0, out={x})"),
]
STATE = [
    *rows("f", "torch.manual_seed({3|0|-1|2**40})"),
    *rows("f", "torch.get_rng_state().sum()"),
    *rows("f", "torch.set_rng_state(torch.get_rng_state())"),
    *rows("f", "torch.NAME", """initial_seed() random.fork_rng().__enter__() rand(1) rand(3,dtype=torch.float64) randn(20)
          randn(1)"""),
]
TABLES = (WRITES, OF_TENSORS, NUMBERS, OF_TENSORS, STATE)


def write(writer):
    """Some draws, and one more, which shows how far the state has moved."""
    writer.special = False
    while not writer.seldom(5):
        table = writer.pick(TABLES)
        row = writer.pick(table)
        if writer.seldom(4):
            row = writer.pick(forms(row))
        given = {"x": subject(writer, row.kinds)} if "{x}" in row.template else {}
        writer.apply(row, target="" if table is WRITES else None, **given)
        if len(writer.pair.steps) > 10:
            raise Over
    writer.do("torch.rand(1)")


def subject(writer, kinds):
    """A tensor, often of more than sixteen elements, from which on normal numbers are drawn in blocks."""
    if writer.seldom(2):
        return writer.tensor(kinds)
    shape = writer.pick(((20,), (4, 6), (3, 4, 2), (2, 3, 2, 3), (2, 2, 2, 2, 2)))
    name = writer.new(shape, kinds)
    if len(shape) > 2 and writer.seldom(2):
        order = writer.pick(((1, 0), (2, 0, 1), (2, 1, 0), (0, 2, 3, 1), (0, 2, 3, 4, 1)))
        if len(order) == len(shape):
            return writer.do(f"{{x}}.permute{order}", x=name)
    return name
