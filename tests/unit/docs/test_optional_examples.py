"""Examples of the documentation that need a large library run where it is installed.

Such a block of code follows a comment, `<!-- needs catboost -->`, and may use what the examples
at the beginning of its page and of its section have defined.
"""

from __future__ import annotations

import doctest
import re
import warnings
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[3] / "docs" / "howto"
BLOCK = re.compile(r"<!-- needs ([\w.]+) -->\n```python\n(.*?)```", re.DOTALL)


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """Return the examples at the beginnings, the library and the code of each such block."""
    first, *sections = page.read_text(encoding="utf-8").split("\n## ")
    return [
        (first + section.partition("\n### ")[0], needed, code)
        for section in sections
        for needed, code in BLOCK.findall(section)
    ]


FOUND = [
    pytest.param(page, *block, id=f"{page.stem}-{block[1]}")
    for page in sorted(PAGES.glob("*.md"))
    for block in blocks(page)
]


def test_there_are_some():
    assert {"catboost", "flaml", "autogluon.tabular", "lightning"} <= {p.values[2] for p in FOUND}


@pytest.mark.parametrize(("page", "before", "needed", "code"), FOUND)
def test_example(page, before, needed, code, tmp_path, monkeypatch):
    pytest.importorskip(needed, reason=f"{needed} is large and left out of the test extra")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the library
        for example in doctest.DocTestParser().get_examples(before):
            if example.exc_msg is None:  # an error that the page shows defines nothing
                exec(example.source, names)
        exec(compile(code, f"{page.name}: {needed}", "exec"), names)
