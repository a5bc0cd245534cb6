"""The simulations of coverage: their world, what they count, and that a stopped run goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from coverage_table import BENCHMARKS, simulation

from survgauge.metrics.registry import metrics_of

world, tally, plan, run = (simulation(name) for name in ("world", "tally", "plan", "run"))
results, words, studies = (simulation(name) for name in ("results", "words", "studies"))
NOTHING = simulation("targets").Targets({"truth": {"twin a": {}}, "by_time": {}, "limit": {}})


@pytest.mark.parametrize("name", list(world.CENSORING))
def test_censoring_rates_are_those_named_and_the_horizon_is_identified(name):
    censoring = world.CENSORING[name]
    sample = world.draw(world.stream(1, name), 100_000, censoring)
    assert 1 - sample.y.event.mean() == pytest.approx(int(name[:2]) / 100, abs=0.01)
    assert (sample.censoring_time > censoring.tau).mean() > 0.1
    assert 0.1 < (sample.event_time > censoring.tau).mean() < 0.9


def test_twins_are_equally_good_and_the_truth_is_better():
    sample = world.draw(world.stream(1, "twins"), 50_000, world.CENSORING["30i"])
    off = {
        model: float(np.abs(np.log(world.scale_of(sample, model) / sample.scale)).mean())
        for model in ("twin a", "twin b", "true", "late")
    }
    assert off["true"] == 0
    assert off["twin a"] == pytest.approx(off["twin b"], rel=0.02)
    assert off["late"] == pytest.approx(np.log(1.25))


def test_shares_are_counted_by_hand():
    parts = []
    for low, high in ((1.0, 3.0), (2.5, 3.0), (2.0, 2.0)):
        part = tally.Tally()
        row = {"value": 2.0, "low": low, "high": high}
        part.interval({"study": "s"}, row, limit=2.0, truth=4.0, within=(1.5, 9.0))
        part.test({"study": "s"}, 0.04 if low > 1 else float("nan"))
        parts.append(part.rows())
    missing = tally.Tally()
    missing.interval({"study": "s"}, {"value": 2.0, "low": np.nan, "high": np.nan}, 2.0)
    interval, test = (tally.summary(row) for row in tally.added([*parts, missing.rows()]))
    assert (interval["reps"], interval["undefined"]) == (4, 1)
    assert interval["covers_limit"] == 66.7
    assert interval["covers_truth"] == 0
    assert (interval["outside"], interval["zero"]) == (33.3, 33.3)
    assert interval["bias_truth"] == -50
    assert interval["width"] == pytest.approx(2.5 / 3, abs=1e-4)
    assert (test["reps"], test["undefined"], test["rejected"]) == (3, 1, 100)


def test_marks_stand_where_a_share_lies_outside():
    assert [results.cell(share) for share in (92.9, 93.0, 97.0, 97.1, None)] == [
        "93↓", "93", "97", "97↑", "-",
    ]  # fmt: skip
    assert results.error_of(1500) == pytest.approx(1.1, abs=0.01)


def test_words_name_an_interval_that_is_too_short_and_no_other():
    rows = [
        {"kind": "interval", "study": "core", "censoring": "60i", "n": 300, "train": 1000,
         "metric": metric, "model": "twin a", "reps": 1500, "undefined": 0, "covers_limit": share}
        for metric, share in (("harrell", 84.0), ("crps", 95.0))
    ]  # fmt: skip
    first = words.findings(results.Results(rows))[0]
    assert "1 of 2" in first
    assert "`harrell` (84 %)" in first
    assert "crps" not in first


def small_parts():
    return [
        part
        for part in plan.parts(3, 1, ("tests",))
        if part.given["n"] == 100 and part.given["censoring"] == "60i"
    ]


def test_what_is_done_is_not_done_again(tmp_path):
    store, said = run.Store(tmp_path), []
    first = run.run(small_parts(), store, 1, said.append)
    assert any(f"{plan.BLOCKS} of {plan.BLOCKS} parts" in line for line in said)
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    said.clear()
    assert run.run(small_parts(), store, 1, said.append) == first
    assert any(f"0 of {plan.BLOCKS} parts" in line for line in said)
    assert {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()} == kept


def test_results_depend_on_the_seed_alone():
    first, again = run.simulate(small_parts()), run.simulate(small_parts())
    assert first == again
    assert first[0]["sums"]["reps"] == plan.BLOCKS * small_parts()[0].given["reps"]
    names = [part.name for part in plan.parts(30, 1)]
    assert len(names) == len(set(names))


def test_parts_of_another_setting_or_seed_are_others():
    one, other = small_parts()[0], next(iter(plan.parts(3, 2, ("tests",))))
    assert one.name != other.name
    assert len({part.name for part in plan.parts(30, 1)} & {one.name}) == 0


def test_metrics_that_are_simulated_later_take_their_place():
    def row(metric, share, n=100):
        return {"study": "core", "kind": "interval", "n": n, "metric": metric, "covers": share}

    earlier = [row("a", 1), row("c", 2), row("a", 3, 300), row("c", 4, 300)]
    found = results.merged(earlier, [row("b", 5), row("c", 6)], ["a", "b", "c"])
    assert found == [row("a", 1), row("b", 5), row("c", 6), row("a", 3, 300)]


def test_some_metrics_can_be_simulated_alone():
    few = [
        part
        for part in plan.parts(3, 1, ("core",), "mae_dr mse_dr")
        if part.given["n"] == 100 and part.given["censoring"] == "60i"
    ][:1]
    assert studies.chosen(["mae_dr", "brier"], few[0].given) == ["mae_dr"]
    assert studies.chosen(["mae_dr", "brier"], {}) == ["mae_dr", "brier"]
    assert {p.given.get("metrics") for p in plan.needed(few[0]) if p.study == "limits"} == {
        "mae_dr mse_dr"
    }
    found = studies.core({**few[0].given, "reps": 1}, np.random.default_rng(0), NOTHING)
    assert {row["metric"] for row in found.rows()} == {"mae_dr"}


@pytest.mark.parametrize("name", [*studies.DISTANCES, "ibs_dr", "a_calibration", "harrell"])
def test_every_metric_can_be_simulated_alone(name, monkeypatch):
    targets = simulation("targets")
    monkeypatch.setattr(targets, "PIECE", 200)
    monkeypatch.setattr(targets, "PIECES", 1)
    few = [
        part
        for part in plan.parts(3, 1, plan.BY_METRIC, name)
        if part.given["n"] == 100 and part.given["censoring"] == "60i" and part.given["block"] == 1
    ]
    found = {row["metric"].removesuffix(" in evaluate") for row in run.simulate(few)}
    assert found == {name}


def test_every_metric_that_can_be_named_is_simulated_somewhere():
    known = [*studies.remaining_metrics(), *studies.DISTANCES, *studies.judged_metrics()]
    assert set(metrics_of()) <= set(known)


#: A run that never ends by itself, and says who works for it.
ENDLESS = """
import multiprocessing, signal, time
from simulation.workers import workers

if __name__ == "__main__":
    # A shell starts what runs in its background deaf to interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with workers(2) as pool:
        waiting = [pool.submit(time.sleep, 600) for _ in range(5)]
        print(*(child.pid for child in multiprocessing.active_children()), flush=True)
        waiting[0].result()
"""


def _is_there(pid):
    """Whether a process is there and not a zombie that nobody has waited for."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked up in /proc")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_workers_end_with_the_process_that_started_them(name, tmp_path):
    script = tmp_path / "endless.py"
    script.write_text(ENDLESS, encoding="utf-8")
    path = os.pathsep.join([str(BENCHMARKS), *sys.path])
    with subprocess.Popen(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as run_of_its_own:
        found = [int(pid) for pid in run_of_its_own.stdout.readline().split()]
        time.sleep(0.5)  # until the workers have begun
        run_of_its_own.send_signal(getattr(signal, name))
        try:
            run_of_its_own.wait(timeout=20)
            until = time.monotonic() + 20
            while any(map(_is_there, found)) and time.monotonic() < until:
                time.sleep(0.05)
            assert len(found) == 2
            assert not any(map(_is_there, found))
        finally:
            run_of_its_own.kill()
            for pid in filter(_is_there, found):
                os.kill(pid, signal.SIGKILL)
