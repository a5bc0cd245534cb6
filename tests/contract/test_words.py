"""One term for one thing: words that occur neither in code nor in what users read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
if not DOCS.is_dir():
    pytest.skip("the pages are not in a source distribution", allow_module_level=True)

#: What is not said, and the field's term for it.
WORDS = {
    "laws?": "distribution",
    "data bases?": "dataset, source",
    "remarks?": "warning",
    "worlds?": "scenario",
    "census": "counts",
    "tall(?:y|ies)": "counts",
    "partners?": "comparator",
    "pulls": "derivative",
    "psi": "influence, contributions",
    "absent": "zero weight, left out",
    "whoever": "a subject who, users who",
    "surrogates?": "imputed time",
    "heeds?": "takes into account",
    "on target": "within the target",
    "stands? in for": "replaces",
    "any ?body|some ?body": "users, any subject",
    "rooms?": "package",
    "mend(?:s|ed)?": "fix, recalibrate",
}
#: Where a word stands for something else: names that stay (`sg.surrogate_times`), DuckDB's files.
ELSEWHERE = re.compile(
    r"sg\.Surrogates|`Surrogates|surrogate_times|estimators/surrogates|far-surrogates|\\psi"
)
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "RELEASING.md")),
    *(
        page
        for page in sorted(DOCS.rglob("*.md"))
        if not {"_build", "_generated"} & set(page.parts)
    ),
]


def found(text: str) -> list[str]:
    """Return the words of a text that are not used, each with what stands around it."""
    text = ELSEWHERE.sub("", text)
    return [
        f"{text[max(0, m.start() - 30) : m.end() + 20]!r}: write {term}"
        for word, term in WORDS.items()
        for m in re.finditer(rf"(?<![\w\\-]){word}(?![\w-])", text, re.IGNORECASE)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_pages_use_the_terms_of_the_field(page):
    assert found(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text",
    ["under the law of T", "Two data bases", "a remark", "Surrogates of po", "It heeds tau"],
)
def test_a_word_that_is_not_used_is_found(text):
    assert len(found(text)) == 1
