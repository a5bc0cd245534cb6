"""A real Dask scheduler and two worker processes on loopback: same numbers, and losses survived."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("distributed")
pytest.importorskip("sklearn")
pytest.importorskip("pyarrow")

import pandas as pd
from experiment_plans import numbers, toy_plan

from survgauge.bench.experiment import run
from survgauge.bench.experiment.runner import connect
from survgauge.errors import InputError

TESTS = Path(__file__).resolve().parents[3]
PARTS = "experiment_parts"


class Cluster:
    """`dask scheduler` and `dask worker` as a user would start them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "scheduler.json"
        self.log = (folder / "log.txt").open("w")
        path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH", "")]))
        self.environment = {**os.environ, "PYTHONPATH": path}
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> str:
        self._launch("scheduler", "--host", "127.0.0.1", "--port", "0", "--dashboard-address", ":0")
        self._wait(self.file.is_file)
        self.workers = [self._worker() for _ in range(2)]
        address: str = json.loads(self.file.read_text())["address"]
        with connect(address) as client:
            client.wait_for_workers(2, timeout=90)
        return address

    def _worker(self) -> subprocess.Popen[bytes]:
        options = ("--nthreads", "1", "--no-dashboard", "--no-nanny", "--host", "127.0.0.1")
        return self._launch("worker", *options, "--local-directory", str(self.folder))

    def _launch(self, what: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", what, "--scheduler-file", str(self.file), *options]
        process = subprocess.Popen(
            command, env=self.environment, stdout=self.log, stderr=self.log, cwd=self.folder
        )
        self.processes.append(process)
        return process

    def _wait(self, ready, seconds=60):
        end = time.monotonic() + seconds
        while not ready():
            if time.monotonic() > end:
                pytest.fail((self.folder / "log.txt").read_text()[-2000:])
            time.sleep(0.05)

    def stop(self) -> None:
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(15)
        self.log.close()


@pytest.fixture
def cluster(tmp_path):
    found = Cluster(tmp_path)
    try:
        yield found
    finally:
        found.stop()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_cluster_gives_the_same_numbers_and_survives_a_lost_worker(tmp_path, cluster):
    address = cluster.start()
    log = tmp_path / "fits"
    log.mkdir()
    models = ["km", "coxph", {"name": "gbm_tree", "n_estimators": 5}]
    bad = {"name": "bad", "class": f"{PARTS}:Constant", "trouble": "raise", "label": "bad"}
    plan = toy_plan(tmp_path, models=[*models, bad], keep_predictions=True)
    options = {"progress": False}
    local = run(plan, tmp_path / "local", jobs=1, **options)
    there = run(plan, tmp_path / "dask", "dask", scheduler=address, **options)
    pd.testing.assert_frame_equal(numbers(local), numbers(there), check_exact=True)
    assert len(there.failures) == len(local.failures) == 6
    assert {f["error"] for f in there.failures} == {"ArithmeticError"}
    kept = [sorted(p.name for p in (tmp_path / s).rglob("*.npz")) for s in ("local", "dask")]
    assert kept[0] == kept[1]
    assert len(kept[0]) == 18
    environment = json.loads((tmp_path / "dask" / "environment.json").read_text())
    assert len(environment["sessions"][0]["workers"]) == 2

    # One worker is killed in mid-run: the other does its cells.
    slow = {"name": "c", "class": f"{PARTS}:Constant", "trouble": "slow", "label": "slow"}
    slow["log"] = str(log)
    long_plan = toy_plan(tmp_path, models=[slow], repeats=8)  # 48 cells of 0.15 seconds

    def kill_one(*ignored):
        if not killed and len(list(log.iterdir())) >= 6:
            killed.append(cluster.workers[0].pid)
            os.kill(cluster.workers[0].pid, signal.SIGKILL)

    killed: list[int] = []
    from survgauge.bench.experiment import runner

    shown = runner.RunProgress.done
    try:
        runner.RunProgress.done = kill_one
        with connect(address) as client:
            results = run(long_plan, tmp_path / "lost", client, **options)
    finally:
        runner.RunProgress.done = shown
    assert killed
    assert results.failures == []
    assert len(results.metrics.drop_duplicates(["censoring", "repeat", "fold"])) == 48


def test_a_scheduler_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="needs the address of a scheduler"):
        run(toy_plan(tmp_path), tmp_path / "store", "dask", progress=False)
    with pytest.raises(InputError, match="no Dask scheduler answers"):
        connect("tcp://127.0.0.1:9", timeout=0.5)
