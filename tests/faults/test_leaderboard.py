"""Leaderboards that are killed, that run on Dask, and that R submits to: the same numbers."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("pandas")
pytest.importorskip("sklearn")
pytest.importorskip("joblib")
pytest.importorskip("pyarrow")
pytest.importorskip("SurvSet")

import numpy as np
from boards import same_tables

from survgauge.bench.leaderboard import run, submit, tasks

SECONDS = ("seconds_fit", "seconds_predict")
SETTINGS = {"models": ["coxph", "gbm_c"], "datasets": ["veteran", "colon"], "truth": ["colon"]}
SETTINGS |= {"max_rows": 200, "progress": False}
PAGE = Path(__file__).parents[2] / "docs/howto/leaderboard.md"
CARD = 'authors = "R"\ncode = "coxph"\ntraining_data = "tasks"\nhardware = "any"\n'
CHILD = """
import sys
from survgauge.bench.leaderboard import run
if __name__ == "__main__":
    run(**{settings!r}, store=sys.argv[1], jobs=2)
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run in this process."""
    store = tmp_path_factory.mktemp("finished") / "store"
    return store, run(**SETTINGS, store=store, jobs=1)


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_a_run_that_is_killed_goes_on_to_the_same_tables(finished, tmp_path):
    store, script = tmp_path / "store", tmp_path / "child.py"
    script.write_text(CHILD.format(settings=SETTINGS))
    process = subprocess.Popen([sys.executable, str(script), str(store)], start_new_session=True)
    try:
        end = time.monotonic() + 90
        while len(list((store / "cells").glob("*/*/[!.]*.parquet"))) < 5:
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.01)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)
    kept = len(list((store / "cells").glob("*/*/[!.]*.parquet")))
    assert 5 <= kept < 45
    same_tables(finished[1], run(**SETTINGS, store=store, jobs=1, resume=True), without=SECONDS)


def test_two_dask_workers_give_the_same_tables(finished, tmp_path):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            2, threads_per_worker=1, dashboard_address=None, local_directory=str(tmp_path)
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        board = run(**SETTINGS, store=tmp_path / "store", engine=client)
    same_tables(finished[1], board, without=SECONDS)


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="Rscript is not here")
@pytest.mark.skipif(not PAGE.is_file(), reason="docs are not part of this tree")
def test_cox_by_r_from_the_written_tasks_scores_as_our_own(finished, tmp_path):
    """By the R code of the page, with the ties that `coxph` has."""
    store = tmp_path / "store"
    shutil.copytree(finished[0], store)
    folder, script = tasks(tmp_path / "tasks", store=store), Path(tmp_path, "cox.R")
    (code,) = re.findall(r"```r\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert code.count("data = train)") == 1
    script.write_text(code.replace("data = train)", 'data = train, ties = "breslow")'))
    done = subprocess.run(
        ["Rscript", str(script), str(folder), str(tmp_path / "pred")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (tmp_path / "pred" / "card.toml").write_text(CARD)
    board = submit("r-cox", tmp_path / "pred", store)
    key = ["track", "dataset", "metric"]
    own, theirs = (
        board.scores[board.scores["model"] == name].set_index(key)["value"]
        for name in ("coxph", "r-cox")
    )
    # Ties in the rounding of curves turn single pairs of C around.
    np.testing.assert_allclose(own, theirs, rtol=2e-3)
    apart = np.abs(own / theirs - 1)[own.index.get_level_values("metric") != "uno"]
    assert apart.max() < 1e-5
