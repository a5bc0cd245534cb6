"""Pages run as doctests, each in a folder of its own; what only Sphinx reads is left out."""

from __future__ import annotations

import pytest
from docs_files import write_files

from survgauge.estimators.surrogates import METHODS
from survgauge.metrics.registry import REGISTRY

collect_ignore = ["conf.py", "check_site.py", "_ext", "_build", "_generated"]


@pytest.fixture(autouse=True)
def _registries_as_before():
    saved = dict(REGISTRY), dict(METHODS)
    yield
    for known, before in zip((REGISTRY, METHODS), saved, strict=True):
        known.clear()
        known.update(before)


@pytest.fixture(autouse=True)
def _in_its_own_folder(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if request.node.path.suffix == ".md":
        write_files(request.node.path, tmp_path)
        monkeypatch.syspath_prepend(str(tmp_path))
