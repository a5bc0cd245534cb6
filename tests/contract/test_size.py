"""The package does not grow again: lower these bounds whenever it has become smaller."""

from __future__ import annotations

import pytest
from contract import size

#: Lines of code, files and public names, at most: 45,000, 279 and 129 on 19 November 2026.
CODE, FILES, NAMES = 45_200, 280, 129
#: Functions and files that run in a call, at most, measured then. The aims are 33,000 lines, 230
#: files, 60 functions in 15 files for `mae`, and 550 in 65 for `evaluate`.
WALKS = {
    "mae": (195, 23),
    "mae, method": (147, 23),
    "brier_score": (137, 22),
    "evaluate, one metric": (399, 52),
    "evaluate": (832, 82),
    "evaluate_stream": (879, 86),
}


def test_lines_and_files():
    whole = size.total(size.rooms())
    assert whole.code <= CODE
    assert whole.files <= FILES


def test_public_names():
    assert size.public_names() <= NAMES


@pytest.mark.parametrize("name", WALKS)
def test_walks(name):
    found = size.walk(name)
    functions, files = WALKS[name]
    assert found.functions <= functions
    assert found.files <= files


def test_docstrings_comments_and_blanks_are_no_code():
    source = (
        '"""Doc\nof two lines."""\n\n# why\nx = [\n    1,  # one\n]\n\n\ndef f():\n    "Doc."\n'
    )
    assert size.lines_of_code(source) == 4
