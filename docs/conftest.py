"""Pages run as doctests, each in an empty folder of its own; what only Sphinx reads is left out."""

from __future__ import annotations

import pytest

collect_ignore = ["conf.py", "check_site.py", "_ext", "_build"]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
