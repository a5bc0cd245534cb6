"""A tiny leaderboard that tests share: two datasets, Kaplan-Meier and Cox, two folds."""

from __future__ import annotations

import pytest

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("sklearn")
pytest.importorskip("joblib")
pytest.importorskip("SurvSet")

from survgauge.bench.leaderboard import run

#: Of every run: small samples, two folds, in this process.
TINY = {"max_rows": 100, "folds": 2, "jobs": 1, "progress": False, "truth": ["colon"]}
DATASETS = ["veteran", "colon"]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """Store of a finished run, and its board; tests that write into it take a copy."""
    place = tmp_path_factory.mktemp("leaderboard") / "store"
    return place, run(["coxph"], DATASETS, store=place, **TINY)
