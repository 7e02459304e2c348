"""The API reference of the site: a page per module, from the docstrings that users see at run time.

Many functions are generated in loops, so the modules are imported and inspected rather than parsed.
"""

import functools
import importlib
import inspect
import re
import textwrap

MODULES = {  # what users import, and its description
    "flambeau": {"en": "tensors and functions of them", "zh": "张量与张量的函数"},
    "flambeau.Tensor": {"en": "methods of tensors", "zh": "张量的方法"},
    "flambeau.nn": {"en": "modules, layers, losses", "zh": "模块、层与损失"},
    "flambeau.nn.functional": {"en": "their functions", "zh": "它们的函数形式"},
    "flambeau.nn.init": {"en": "initial weights", "zh": "权重初始化"},
    "flambeau.nn.utils": {"en": "clipping, parametrizations, packed sequences", "zh": "裁剪、参数化、变长序列"},
    "flambeau.optim": {"en": "optimizers", "zh": "优化器"},
    "flambeau.optim.lr_scheduler": {"en": "learning rates", "zh": "学习率调度"},
    "flambeau.autograd": {"en": "gradients", "zh": "梯度"},
    "flambeau.func": {"en": "transforms of functions", "zh": "函数变换"},
    "flambeau.utils.data": {"en": "datasets and loaders", "zh": "数据集与加载器"},
    "flambeau.linalg": {"en": "linear algebra", "zh": "线性代数"},
    "flambeau.fft": {"en": "Fourier transforms", "zh": "傅里叶变换"},
    "flambeau.special": {"en": "special functions", "zh": "特殊函数"},
    "flambeau.distributions": {"en": "distributions", "zh": "概率分布"},
    "flambeau.amp": {"en": "mixed precision", "zh": "混合精度"},
    "flambeau.debug": {"en": "finding out what a model does", "zh": "查明模型的行为"},
    "flambeau.testing": {"en": "comparing and checking", "zh": "比较与检查"},
    "flambeau.alias": {"en": "the name torch", "zh": "名称 torch"},
}
INDEX = {
    "en": "# API reference\n\nMade of the docstrings.\n\n| module | what is in it |\n",
    "zh": "# API 参考\n\n由源码中的文档字符串生成，说明文字为英文原文。\n\n| 模块 | 内容 |\n",
}
CHINESE = {
    "Args": "参数", "Returns": "返回", "Yields": "产出", "Raises": "异常", "Attributes": "属性", "Shape": "形状",
    "Note": "说明", "Input": "输入", "Inputs": "输入", "Output": "输出", "Outputs": "输出", "Example": "例子",
}
HEADED = re.compile(rf"^\*\*({'|'.join(CHINESE)})\*\*$", re.MULTILINE)
SECTION = re.compile(r"^(Args|Returns|Yields|Raises|Attributes|Shape|Note|Inputs?|Outputs?):\s*$")
CODE = re.compile(r"^(.*)::\s*$")
ENTRY = re.compile(r"^(\*{0,2}\w[\w, *.]*?):\s")


def pages():
    """{path in the site: Markdown} in both languages; docstrings are English in both."""
    found = {}
    for folder, language in (("reference", "en"), ("zh/reference", "zh")):
        found[f"{folder}/index.md"] = index_of(language)
        found |= {f"{folder}/{name}.md": page_of(name, language) for name in MODULES}
    return found


def index_of(language):
    listed = "".join(f"| [`{name}`]({name}.md) | {about[language]} |\n" for name, about in MODULES.items())
    return f"{INDEX[language]}|---|---|\n{listed}"


def page_of(name, language):
    owner = owner_of(name)
    shown = name.removeprefix("flambeau.")
    entries = "".join(entry_of(shown, member, value) for member, value in members(owner))
    text = f"# {name}\n\n{markdown(inspect.getdoc(owner) or '')}\n\n{entries}"
    return HEADED.sub(lambda found: f"**{CHINESE[found[1]]}**", text) if language == "zh" else text


def owner_of(name):
    if name == "flambeau.Tensor":
        return importlib.import_module("flambeau").Tensor
    return importlib.import_module(name)


def members(owner):
    """The public functions and classes of a module, or the methods of a class, by name."""
    names = vars(owner) if inspect.isclass(owner) else getattr(owner, "__all__", None) or vars(owner)
    for name in sorted({n for n in names if n[:1] != "_"}, key=str.lower):
        value = getattr(owner, name, None)
        if callable(value) and inspect.getdoc(value):
            yield name, value


def entry_of(owner, name, value):
    """A function, or a class with its own methods, unless they have a page."""
    if not inspect.isclass(value):
        return described(f"## {name}", f"{owner}.{name}", value)
    methods = () if f"{owner}.{name}" in MODULES else methods_of(value)
    return described(f"## {name}", f"class {owner}.{name}", value) + "".join(
        described(f"### {name}.{method}", f"{name}.{method}", function) for method, function in methods
    )


def methods_of(cls):
    """The documented methods of a class, except those inherited from another class in the reference."""
    inherited = {name for base in cls.__mro__[1:] if base in public_classes() for name in dir(base)}
    for name in dir(cls):
        method = getattr(cls, name, None)
        own = name in vars(cls) or name not in inherited
        if own and name[:1] != "_" and inspect.isfunction(method) and method.__doc__:
            yield name, method


@functools.cache
def public_classes():
    owners = [owner_of(name) for name in MODULES]
    return {value for owner in owners for _, value in [("", owner), *members(owner)] if inspect.isclass(value)}


def described(heading, call, value):
    return f"{heading}\n\n```python\n{call}{signature_of(value)}\n```\n\n{markdown(inspect.getdoc(value))}\n\n"


def signature_of(value):
    """The text between the parentheses; ops that are public functions get PyTorch's names for their first operands."""
    try:
        text = re.sub(r" at 0x[0-9a-f]+", "", str(inspect.signature(value)))
    except (TypeError, ValueError):
        return "(...)"
    return re.sub(r"\bx1\b", "other", re.sub(r"\bx0\b", "input", text))


# ---- docstrings to Markdown


def markdown(text):
    """A docstring with sections ("Args:"), literal blocks ("::") and ``names`` as Markdown."""
    lines, out = text.splitlines(), []
    while lines:
        line = lines.pop(0)
        if CODE.match(line) and "`" not in line:
            title = CODE.match(line)[1].strip()
            out += [f"**{title}**" if title else "", "", "```pycon", block(lines), "```", ""]
        elif SECTION.match(line.strip()):
            out += [f"**{line.strip().rstrip(':')}**", "", *entries(block(lines)), ""]
        elif line.lstrip().startswith(">>> "):
            lines.insert(0, line)
            out += ["```pycon", *doctest(lines), "```", ""]
        else:
            out.append(escaped(line))
    return "\n".join(out)


def block(lines):
    """Removes the leading indented lines, and empty ones among them; returns their text."""
    taken = []
    while lines and (not lines[0].strip() or lines[0][0] == " "):
        taken.append(lines.pop(0))
    return textwrap.dedent("\n".join(taken)).strip("\n")


def doctest(lines):
    taken = []
    while lines and lines[0].strip():
        taken.append(lines.pop(0).strip())
    return taken


def entries(text):
    """Formats a list of `name: description`, with indented continuation lines; returns other text unchanged."""
    out = []
    for line in text.splitlines():
        found = ENTRY.match(line)
        if found:
            out.append(f"- `{found[1]}`: {escaped(line[found.end():])}")
        else:
            out.append(("  " if out and line[:1] == " " else "") + escaped(line.strip()))
    return out


def escaped(line):
    """Turns ``name`` into `name`, and escapes Markdown and HTML outside of code."""
    line = re.sub(r":\w+:(?=`)", "", line)  # roles, as in :class:`Adam`
    text, code = re.split(r"``?(.+?)``?", line)[::2], re.findall(r"``?(.+?)``?", line)
    parts = [re.sub(r"(?<!^)([\[\]<*_])", r"\\\1", part) for part in text]
    return parts[0] + "".join(f"`{name}`{part}" for name, part in zip(code, parts[1:]))
