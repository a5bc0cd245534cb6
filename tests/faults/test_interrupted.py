"""Runs that are killed, disks that are full, folders that are read-only, two runs at once."""

from __future__ import annotations

import json
import os
import random
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
pytest.importorskip("resource")

import ctypes
import resource

import pandas as pd
from experiment_plans import numbers, toy_plan

from survgauge.bench.experiment import Plan, Results, Store, run
from survgauge.errors import InputError

TESTS = Path(__file__).resolve().parents[1]

#: Runs a plan, or goes on with it; kills itself at the given moment: the k-th file that is about to
#: be made (0), was filled (1) or has its final name (2).
CHILD = """
import json, os, pathlib, signal, sys, tempfile
from survgauge.bench.experiment import Store, run

plan, store, jobs, moment, count = sys.argv[1:]
left = [int(count)]

def deadly(call, before):
    def wrapped(*args, **options):
        left[0] -= 1
        if left[0] == 0 and before:
            os.kill(os.getpid(), signal.SIGKILL)
        found = call(*args, **options)
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return found
    return wrapped

if moment == "0":
    tempfile.mkstemp = deadly(tempfile.mkstemp, True)
if moment in "12":
    os.replace = deadly(os.replace, moment == "1")
if __name__ == "__main__":
    place = Store(store)
    run(json.loads(pathlib.Path(plan).read_text()), store, jobs=int(jobs), progress=False,
        resume=place.is_used())
"""


@pytest.fixture(autouse=True)
def _workers_find_the_parts(monkeypatch):
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("PYTHONPATH", path)


def go(plan, store, **options):
    return run(plan, store, **{"jobs": 1, "progress": False, **options})


def same(one, other):
    pd.testing.assert_frame_equal(numbers(one), numbers(other), check_exact=True)


def start(tmp_path, plan, store, jobs=1, moment="-", count=0):
    script, file = tmp_path / "child.py", tmp_path / "child.json"
    script.write_text(CHILD)
    file.write_text(json.dumps(Plan.of(plan).to_dict()))
    words = [sys.executable, script, file, store, jobs, moment, count]
    return subprocess.Popen(
        [str(word) for word in words], stderr=subprocess.PIPE, start_new_session=True, text=True
    )


def half_written(folder):
    return [p for p in folder.rglob(".survgauge-*") if p.is_file()]


# --- kill -9 --------------------------------------------------------------------------------------


def killed_and_resumed(tmp_path, plan, moments):
    """Kill one run again and again, then let it finish; return how often it was killed."""
    store, kills = tmp_path / "store", 0
    for moment, count in moments:
        process = start(tmp_path, plan, store, moment=moment, count=count)
        _, error = process.communicate(timeout=120)
        assert process.returncode in (0, -signal.SIGKILL), error
        kills += process.returncode != 0
    return go(plan, store, resume=Store(store).is_used()), kills


@pytest.fixture
def plan(tmp_path):
    shifted = {"name": "s", "class": "experiment_parts:Shifted", "label": "s"}
    return toy_plan(
        tmp_path, models=["km", shifted], metrics=["mae_po", "harrell"], keep_predictions=True
    )


def test_killed_while_it_writes(tmp_path, plan):
    """Before the first file, in the middle of one, and between a cell and its predictions."""
    undisturbed = go(plan, tmp_path / "undisturbed")
    rng = random.Random(4)
    moments = [("0", 1), ("1", rng.randrange(2, 5)), ("2", rng.randrange(3, 9))]
    results, kills = killed_and_resumed(tmp_path, plan, moments)
    assert kills == 3
    same(results, undisturbed)
    assert half_written(tmp_path / "store") == []


@pytest.mark.slow
def test_killed_at_many_moments(tmp_path, plan):
    undisturbed = go(plan, tmp_path / "undisturbed")
    rng = random.Random(5)
    for k in range(8):
        folder = tmp_path / str(k)
        folder.mkdir()
        moments = [(rng.choice("012"), rng.randrange(1, 12)) for _ in range(4)]
        results, _ = killed_and_resumed(folder, plan, moments)
        same(results, undisturbed)


@pytest.mark.slow
def test_a_parallel_run_is_killed_at_random_times(tmp_path):
    slow = {"name": "s", "class": "experiment_parts:Shifted", "label": "s", "trouble": "slow"}
    plan = toy_plan(tmp_path, models=["km", slow], metrics=["mae_po"], repeats=4)
    undisturbed = go(plan, tmp_path / "undisturbed", jobs=2)
    rng, store = random.Random(6), tmp_path / "store"
    for _ in range(6):
        process = start(tmp_path, plan, store, jobs=2)
        try:
            process.wait(rng.uniform(1.0, 8.0))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(60)
        process.stderr.close()
    same(go(plan, store, resume=Store(store).is_used()), undisturbed)


# --- Ctrl-C ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupt_says_what_was_kept_and_how_to_go_on(tmp_path, jobs):
    table = toy_plan(tmp_path, metrics=["mae_po"], repeats=20)
    plan, store = tmp_path / "plan.toml", tmp_path / "store"
    lines = [f"{k} = {json.dumps(v)}" for k, v in table.items() if k not in ("datasets", "models")]
    lines += ['datasets = [{name = "toy", path = "toy.csv"}]']
    lines += ['models = [{name = "s", class = "experiment_parts:Shifted", trouble = "slow"}]']
    plan.write_text("\n".join(lines))
    words = [sys.executable, "-m", "survgauge", "bench", plan, "--store", store, "--jobs", jobs]
    process = subprocess.Popen(
        [str(word) for word in words],
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
        # A process that was started in the background would ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        end = time.monotonic() + 90
        while len(list(store.glob("cells/*/*/*.parquet"))) < 3:
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < end
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)  # Ctrl-C reaches the whole group
        _, error = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)
    assert process.returncode == 130
    kept = len(list(store.glob("cells/*/*/*.parquet")))
    last = error.splitlines()[-1]
    assert last.startswith(f"survgauge: interrupted: {kept} of 120 cells are finished and kept in ")
    assert f"{store}; go on with --resume" in last
    assert "Traceback" not in error


# --- two runs on one store ------------------------------------------------------------------------


def test_a_second_run_is_kept_out_and_harms_nothing(tmp_path):
    slow = {"name": "s", "class": "experiment_parts:Shifted", "label": "s", "trouble": "slow"}
    plan = toy_plan(tmp_path, models=[slow], metrics=["mae_po"], repeats=4)
    store = tmp_path / "store"
    process = start(tmp_path, plan, store)
    try:
        end = time.monotonic() + 90
        while not list(store.glob("cells/*/*/*.parquet")):
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < end
            time.sleep(0.02)
        with pytest.raises(InputError, match="in use by another run"):
            go(plan, store, resume=True)
        with pytest.raises(InputError, match="in use by another run"):
            go({**plan, "models": ["km"]}, store, resume=True)
        _, error = process.communicate(timeout=120)
        assert process.returncode == 0, error
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)
        process.stderr.close()
    same(Results.load(store), go(plan, tmp_path / "alone"))


# --- a full disk ----------------------------------------------------------------------------------


def command(words, limit=None, mortal=False, cwd=None):
    """Run a command.

    `limit` is the size in bytes at which a file meets the end of the disk; with `mortal`, file
    permissions hold for root, too.
    """

    def prepare():
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        if mortal and os.getuid() == 0:
            for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
                ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP

    return subprocess.run(
        [sys.executable, "-B", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=180,
        cwd=cwd,
        preexec_fn=prepare,
    )


def survgauge(words, **options):
    return command(["-m", "survgauge", *words], **options)


@pytest.fixture
def data(tmp_path):
    frame = pd.read_csv(toy_plan(tmp_path)["datasets"][0]["path"])
    frame[["time", "event"]].to_csv(tmp_path / "d.csv", index=False)
    frame[["time"]].to_csv(tmp_path / "p.csv", index=False)
    return tmp_path


EVALUATE = ["evaluate", "--test", "d.csv", "--pred", "m=p.csv", "--metrics", "mae_hinge"]


@pytest.mark.parametrize(
    ("words", "target"),
    [
        ([*EVALUATE, "--html", "out.html"], "out.html"),
        ([*EVALUATE, "--json", "out.json"], "out.json"),
        (["censor", "--data", "d.csv", "--type", "uniform", "--out", "out.csv"], "out.csv"),
        (["censor", "--data", "d.csv", "--type", "uniform", "--out", "out.parquet"], "out.parquet"),
    ],
)
def test_a_full_disk_leaves_the_old_file(data, words, target):
    file = data / target
    file.write_text("what was there before")
    before = sorted(os.listdir(data))
    found = survgauge(words, limit=100, cwd=data)
    assert found.returncode == 2, found.stderr
    assert target in found.stderr
    assert found.stderr.count("\n") == 1
    assert file.read_text() == "what was there before"
    assert sorted(os.listdir(data)) == before


ORDER = ["plan.json", "environment.json", "results.parquet"]


@pytest.mark.parametrize("named", ORDER)
def test_a_run_on_a_full_disk_can_go_on_later(data, named):
    toml = data / "plan.toml"
    toml.write_text(
        'name = "n"\ndatasets = [{name = "toy", path = "toy.csv"}]\ncensoring = ["uniform"]\n'
        'models = ["km"]\nmetrics = ["mae_po"]\nfolds = 2\n'
    )
    undisturbed = go(toml, data / "other")
    sizes = {name: (data / "other" / name).stat().st_size for name in ORDER}
    limit = int(0.95 * sizes[named])
    first = next(name for name in ORDER if sizes[name] > limit)  # the plan holds a long path
    words = ["bench", toml, "--store", data / "store", "--jobs", 1, "--quiet"]
    found = survgauge(words, limit=limit, cwd=data)
    assert found.returncode == 2, found.stderr
    assert first in found.stderr
    assert found.stderr.count("\n") == 1
    assert half_written(data) == []
    store = data / "store"
    assert store.exists() == (first != "plan.json")  # a run that never began leaves nothing
    same(go(toml, store, resume=Store(store).is_used()), undisturbed)


# --- read-only ------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    """A folder that permissions protect, even from root."""
    place = tmp_path / "folder"
    place.mkdir()
    place.chmod(0o555)
    probe = command(["-c", "open('new', 'w')"], mortal=True, cwd=place)
    place.chmod(0o755)
    if probe.returncode == 0:
        pytest.skip("permissions do not hold for this user, and the right to pass them stays")
    yield place
    for inner in [place, *place.rglob("*")]:
        if inner.is_dir():
            inner.chmod(0o755)


def protect(folder):
    for place in [folder, *folder.rglob("*")]:
        place.chmod(0o555 if place.is_dir() else 0o444)


def test_a_read_only_store_can_be_read_and_nothing_else(folder):
    plan = toy_plan(folder, metrics=["mae_po", "mae_margin"], models=["km", "lr", "coxph"])
    go(plan, folder / "store")
    out = folder / "out"
    out.mkdir()
    protect(folder)
    out.chmod(0o777)
    before = {p: p.read_bytes() for p in (folder / "store").rglob("*") if p.is_file()}
    found = survgauge(["report", "store", "--html", "out/page.html"], mortal=True, cwd=folder)
    assert (found.returncode, found.stderr) == (0, "")
    assert (out / "page.html").stat().st_size > 10_000
    refused = survgauge(["report", "store", "--html", "page.html"], mortal=True, cwd=folder)
    assert refused.returncode == 2
    assert "page.html" in refused.stderr
    for store in ("store", "new"):
        words = ["bench", "demo", "--store", store, *["--resume"] * (store == "store")]
        found = survgauge(words, mortal=True, cwd=folder)
        assert found.returncode == 2
        assert f"store {store} cannot be written" in found.stderr
        assert found.stderr.count("\n") == 1
    assert {p: p.read_bytes() for p in (folder / "store").rglob("*") if p.is_file()} == before
    assert half_written(folder) == []
