"""Examples of the documentation that need a large library run where it is installed.

Such a block of code follows a comment, `<!-- needs catboost -->`, and may use what the examples
before the first section of its page have defined.
"""

from __future__ import annotations

import doctest
import re
import warnings
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[3] / "docs" / "howto"
BLOCK = re.compile(r"<!-- needs ([\w.]+) -->\n```python\n(.*?)```", re.DOTALL)
FOUND = [
    pytest.param(page, needed, code, id=f"{page.stem}-{needed}")
    for page in sorted(PAGES.glob("*.md"))
    for needed, code in BLOCK.findall(page.read_text(encoding="utf-8"))
]


def test_there_are_some():
    assert {"catboost", "flaml", "autogluon.tabular", "lightning"} <= {p.values[1] for p in FOUND}


@pytest.mark.parametrize(("page", "needed", "code"), FOUND)
def test_example(page, needed, code, tmp_path, monkeypatch):
    pytest.importorskip(needed, reason=f"{needed} is large and left out of the test extra")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the library
        before = page.read_text(encoding="utf-8").partition("\n## ")[0]
        for example in doctest.DocTestParser().get_examples(before):
            exec(example.source, names)
        exec(compile(code, f"{page.name}: {needed}", "exec"), names)
