"""The stored result of mutation names modules that are there, or says what became of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RESULT = ROOT / "tests" / "mutation" / "result.md"
if not RESULT.exists():
    pytest.skip("tests/mutation is not part of this tree", allow_module_level=True)


def test_modules_of_the_result_are_found() -> None:
    from mutation import suites

    text = RESULT.read_text(encoding="utf-8")
    there = {path.stem for path in suites.modules().values()}
    drawn = re.findall(r"^\| `(\w+)` \| \d+ of \d+ \|", text, re.MULTILINE)
    now = dict(re.findall(r"^\| `(\w+)` \| [^|`]*`(\w+)`[^|]*\|$", text, re.MULTILINE))
    assert len(drawn) > 20
    assert {now.get(name, name) for name in drawn} <= there
    assert not set(now) & there
    assert suites.words()
