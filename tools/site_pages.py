"""Generates the parts of the site that are not in docs/, while mkdocs builds it (`hooks` of mkdocs.yml).

- pictures: the pages that `inspect` creates in the chapters, by running these;
- results: the tables of bench/results, of times and of comparisons with PyTorch;
- the API reference, from docstrings (tools/site_reference.py);
- for each page, the navigation and theme of its language, and a link to its counterpart in the other.
"""

import re
import statistics
import sys
from pathlib import Path

from mkdocs.structure.files import File
from mkdocs.structure.nav import Navigation

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]  # mkdocs restores it after loading this file

import site_reference  # noqa: E402

import flambeau  # noqa: E402, F401, so that it is this tree's
from _docs import run_guide  # noqa: E402

LANGUAGES = {"en": "English", "zh": "中文"}
TABLE = re.compile(r"^\|.*\n\|[ :|-]+\n((?:\|.*\n)+)", re.MULTILINE)
HEADING = re.compile(r"^## (.+)\n", re.MULTILINE)
COMPARED = ("conformance", "ecosystem", "libraries")  # the tables of bench/results other than times
OUTSIDE = re.compile(r"\]\(\.\./(?:\.\./)?bench/results/(\w+)\.md\)")  # a link out of docs/
CHINESE = r"[\u3000-\u9fff\uff00-\uffef“”]"
BROKEN_LINE = re.compile(rf"(?<={CHINESE})\n(?={CHINESE})")  # to be joined without a space

WORDS = {
    "en": {
        "performance": "Performance",
        "measured": "Written by the benchmarks in `bench/`, interleaved with PyTorch on one machine. Ratios below 1 "
        "mean that Flambeau is faster; cases in which it is slower are listed too.",
        "overview": "| benchmark | cases | Flambeau is faster in | median of the ratios |\n|---|---:|---:|---:|\n",
        "compatibility": "Compatibility",
        "compared": "Counted from the result tables of the repository when this site was built. Deliberate "
        "differences are listed in [differences](../differences.md).",
        "scores": "| compared with PyTorch | cases | agree |\n|---|---:|---:|\n",
        "programs": "programs that use libraries",
    },
    "zh": {
        "performance": "性能",
        "measured": "由 `bench/` 中的基准程序写成，每一项都在同一台机器上与 PyTorch 交替测量。比值小于 1 表示 Flambeau "
        "用时更少；更慢的项目也全部列出。表中的项目名称为英文原文。",
        "overview": "| 基准 | 项目数 | Flambeau 更快的项目 | 比值的中位数 |\n|---|---:|---:|---:|\n",
        "compatibility": "兼容性",
        "compared": "构建本站时，由仓库中的结果表统计得出。有意为之的差异见[差异](../differences.md)。"
        "表中的文字为英文原文。",
        "scores": "| 与 PyTorch 比较 | 项目数 | 一致 |\n|---|---:|---:|\n",
        "programs": "使用第三方库的程序",
    },
}


def on_config(config):
    for language, folder in zip(config.nav, ("reference", "zh/reference")):
        (sections,) = language.values()
        sections[-1]["API"] += [f"{folder}/{name}.md" for name in site_reference.MODULES]
    return config


def on_files(files, config):
    pages = {**pictures(), **site_reference.pages()}
    for language, folder in (("en", "results"), ("zh", "zh/results")):
        pages[f"{folder}/performance.md"] = performance(WORDS[language])
        pages[f"{folder}/compatibility.md"] = compatibility(WORDS[language])
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


# ---- pictures


def pictures():
    """The `page` that the code blocks of each chapter with a picture create."""
    return {
        f"pictures/{path.stem}.html": run_guide(path)["page"].html()
        for path in sorted((ROOT / "docs" / "guide").glob("*.md"))
        if f"pictures/{path.stem}.html" in path.read_text()
    }


# ---- results


def rows(text):
    """The cells of all tables in a text, row by row, without the headings."""
    lines = "".join(TABLE.findall(text)).splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def benchmarks():
    """{name: text} of the tables of times."""
    paths = sorted((ROOT / "bench" / "results").glob("*.md"))
    return {path.stem: path.read_text() for path in paths if path.stem not in COMPARED}


def performance(words):
    overview, details = words["overview"], ""
    for name, text in benchmarks().items():
        cases = rows(text)
        faster, median = summary([float(row[-1]) for row in cases]) if "median ratio" in text else ("–", "–")
        overview += f"| [{name}](#{name}) | {len(cases)} | {faster} | {median} |\n"
        details += "\n" + re.sub(r"\A# .+", f"## {name}", text)
    return f"# {words['performance']}\n\n{words['measured']}\n\n{overview}{details}"


def summary(ratios):
    """The number of cases in which Flambeau is faster, and the median ratio."""
    return sum(ratio < 1 for ratio in ratios), f"{statistics.median(ratios):.2f}"


def compatibility(words):
    names, programs, libraries = ((ROOT / "bench" / "results" / f"{name}.md").read_text() for name in COMPARED)
    scores = [*rows(names), score(words["programs"], [row[-1].startswith("equal") for row in rows(programs)])]
    _, *sections = HEADING.split(libraries)
    for library, text in zip(sections[::2], sections[1::2]):
        scores.append(score(library, [row[1] == "yes" for row in rows(text)]))
    table = words["scores"] + "".join(f"| {' | '.join(row)} |\n" for row in scores)
    details = "\n".join(re.sub("^#", "##", text, flags=re.MULTILINE) for text in (names, programs, libraries))
    return f"# {words['compatibility']}\n\n{words['compared']}\n\n{table}\n{details}"


def score(name, agree):
    return name, str(len(agree)), str(sum(agree))


# ---- languages


def language_of(uri):
    return "zh" if uri.startswith("zh/") else "en"


def twin_of(uri):
    """The path of the page in the other language."""
    return uri.removeprefix("zh/") if language_of(uri) == "zh" else f"zh/{uri}"


def on_page_markdown(markdown, page, config, files):
    return OUTSIDE.sub(result_link, BROKEN_LINE.sub("", markdown))


def result_link(link):
    return "](results/compatibility.md)" if link[1] in COMPARED else f"](results/performance.md#{link[1]})"


def on_page_context(context, page, config, nav):
    language = language_of(page.file.src_uri)
    config.theme["language"] = language
    section = next(item for item in nav.items if item.title == LANGUAGES[language])
    context["nav"] = Navigation(section.children, nav.pages)
    context["nav"].homepage = section.children[0]
    config.extra["alternate"] = [alternative(code, page, nav) for code in LANGUAGES]
    return context


def alternative(code, page, nav):
    """An entry of the language selector: the same page in the other language, or its home page."""
    here = page.file.src_uri
    wanted = here if code == language_of(here) else twin_of(here)
    urls = {other.file.src_uri: other.url for other in nav.pages}
    home = "zh/index.md" if code == "zh" else "index.md"
    return {"name": LANGUAGES[code], "lang": code, "link": urls.get(wanted, urls[home])}
