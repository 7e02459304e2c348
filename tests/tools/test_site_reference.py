"""Docstrings as Markdown, and their layout in the reference."""

import site_reference

DOCSTRING = """\
Multiplies ``a_b`` by *c*, see :class:`Other` and x[0].

Args:
    size: how many,
        or how large.
    *more: the rest.

Example::

    >>> double(2)
    4

Afterwards.
"""
MARKDOWN = """\
Multiplies `a_b` by \\*c\\*, see `Other` and x\\[0\\].

**Args**

- `size`: how many,
  or how large.
- `*more`: the rest.

**Example**

```pycon
>>> double(2)
4
```

Afterwards."""


def test_docstring_as_markdown():
    assert site_reference.markdown(DOCSTRING) == MARKDOWN


def test_names_of_a_module():
    page = site_reference.page_of("flambeau.nn", "en")
    for heading in ("# flambeau.nn", "## Linear", "## Module", "### Module.register_forward_hook"):
        assert f"{heading}\n" in page
    assert "### Linear.register_forward_hook\n" not in page, "inherited"
    assert "class nn.Linear(in_features, out_features, bias=True, device=None, dtype=None)" in page


def test_chinese_pages_have_chinese_headings():
    page = site_reference.page_of("flambeau.nn", "zh")
    assert "**参数**\n" in page and "**Args**" not in page
    assert "| [`flambeau.nn`](flambeau.nn.md) | 模块、层与损失 |" in site_reference.index_of("zh")
