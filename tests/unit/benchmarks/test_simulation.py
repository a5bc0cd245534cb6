"""The simulations of coverage: scenarios, true values, counts, and that a stopped run goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from coverage_table import BENCHMARKS, simulation

import survgauge as sg
from survgauge.metrics.registry import metrics_of

scenario, truth, quality, plan = (
    simulation(name) for name in ("scenario", "truth", "quality", "plan")
)
run, results, findings = (simulation(name) for name in ("run", "results", "findings"))
studies = simulation("studies")
Scenario = scenario.Scenario
SCENARIOS = {one.population: None for _, one, _ in plan.scenarios()}


@pytest.fixture
def few(monkeypatch):
    """True values from few subjects: these tests look at the way, not at the numbers."""
    monkeypatch.setattr(truth, "PIECE", 300)
    monkeypatch.setattr(truth, "PIECES", 1)


@pytest.mark.parametrize("one", [s for s in SCENARIOS if not s.entry], ids=lambda s: s.name)
def test_censoring_is_as_named_and_the_horizon_is_supported(one):
    at = scenario.setting(one)
    sample = scenario.draw(scenario.stream(1, one.name), one, 40_000)
    assert 1 - sample.y.event.mean() == pytest.approx(one.share / 100, abs=0.015)
    assert 0 < at.time < at.tau < at.end
    assert (sample.y.time > at.tau).mean() > 0.1
    assert 0.15 < (sample.event_time <= at.tau).mean() < 0.72


@pytest.mark.parametrize("hazard", list(scenario.HAZARDS))
def test_times_are_drawn_from_the_survival_that_the_right_model_predicts(hazard):
    rng = np.random.default_rng(0)
    x, u = rng.normal(size=(500, 5)), rng.uniform(size=500)
    time, _ = scenario._times(rng, Scenario(hazard), x, u)
    known = np.isfinite(time)
    np.testing.assert_allclose(scenario.survival(hazard, time, x)[known], u[known], rtol=1e-9)
    assert known.all() == (hazard != "cure")


@pytest.mark.parametrize(
    "one", [Scenario(clusters=12), Scenario("cure"), Scenario("crossing", causes=2)],
    ids=lambda s: s.name,
)  # fmt: skip
def test_the_right_model_is_right_and_the_others_are_not(one):
    at = scenario.setting(one)
    draws = [scenario.draw(scenario.stream(k, one.name), one, 4000) for k in range(10)]
    gaps = {}
    for model in ("right", "late"):
        pairs = []
        for sample in draws:
            curves = scenario.predict(sample, model)
            risk = curves.at([at.tau], "relapse") if one.causes > 1 else 1 - curves.at([at.tau])
            had = (sample.event_time <= at.tau) & (sample.cause == 1)
            pairs.append((had.mean(), risk.mean()))
        seen, predicted = np.mean(pairs, axis=0)
        gaps[model] = abs(seen - predicted)
    assert gaps["right"] < 0.03 < gaps["late"]


def test_sampling_weights_give_the_population_back():
    one = Scenario(weights=True)
    sample = scenario.draw(scenario.stream(1, "w"), one, 20_000)
    assert sample.x[:, 0].mean() > 0.2
    assert np.average(sample.x[:, 0], weights=sample.weight) == pytest.approx(0, abs=0.05)


@pytest.mark.parametrize("one", [Scenario("cure"), Scenario(entry=True)], ids=lambda s: s.name)
def test_true_values_equal_the_metrics_of_subjects_whose_times_are_known(one, monkeypatch):
    n, at = 250, scenario.setting(one)
    monkeypatch.setattr(truth, "PARTNERS", n - 1)
    sample = scenario.draw(scenario.stream(3, "known"), one, n)
    risks = truth._Risks(sample, "wrong")
    last = np.where(np.isfinite(sample.event_time), sample.event_time, 10 * at.end)
    entry = sample.entry if one.entry else None
    known = sg.Outcomes(last, np.isfinite(sample.event_time), entry=entry)
    found = truth._of_pairs(risks, np.array([at.tau, at.end]))
    for k, tau in enumerate((at.tau, at.end)):
        c = sg.concordance_index(known, -risks.curves.median(), tau=tau)
        assert found["uno"][k] == pytest.approx(c, abs=1e-12)
    curves = risks.curves
    expected = sg.concordance_index(sample.y, -curves.median())
    assert found["harrell"][1] == pytest.approx(expected, abs=1e-12)
    assert found["antolini"][1] == pytest.approx(sg.concordance_td(sample.y, curves), abs=1e-12)
    mae = sg.mae(known, curves, method="uncensored", tau=at.tau)
    assert risks.errors(np.array([at.tau]))[0] == pytest.approx(mae, abs=1e-9)
    entered = sample.entry < at.time
    risk, had = risks.by(np.array([at.time]))[:, 0], risks.happened(at.time)
    brier = sg.brier_score(known, curves, [at.time]).mean
    assert np.mean(((had - risk) ** 2)[entered]) == pytest.approx(brier, abs=1e-9)
    auc = sg.cumulative_dynamic_auc(known, curves, [at.time]).mean
    assert truth._area(risk[entered], had[entered]) == pytest.approx(auc, abs=1e-9)


def test_the_right_model_has_the_best_values(few):
    found = truth.Truth(truth.truth(1, Scenario("lognormal", n=0)))
    assert found.value("right", "observed_expected", None) == 1
    assert found.value("right", "ici", None) == 0
    assert found.value("right", "km_calibration", 5.0) == 0
    for metric in ("brier", "ibs", "mae_within", "mae_dr"):
        assert found.value("right", metric, 8.0) < found.value("wrong", metric, 8.0)
    assert found.value("right", "uno", 8.0) == found.value("late", "uno", 8.0)
    assert np.isnan(found.value("late", "calibration_slope", None))
    assert np.isnan(found.value("right", "mae_within", 1e9))  # past what was simulated


def test_shares_are_counted_by_hand():
    parts = []
    for low, high in ((1.0, 3.0), (2.5, 3.0), (2.0, 2.0)):
        part = quality.Quality()
        row = {"value": 2.0, "low": low, "high": high}
        part.interval({"metric": "m"}, row, limit=2.0, truth=4.0, within=(1.5, 9.0))
        part.test({"metric": "m"}, 0.04 if low > 1 else float("nan"))
        parts.append(part.rows())
    missing = quality.Quality()
    missing.interval({"metric": "m"}, {"value": 2.0, "low": np.nan, "high": np.nan}, 2.0)
    interval, test = (quality.summary(row) for row in quality.added([*parts, missing.rows()]))
    assert (interval["reps"], interval["undefined"]) == (3, 1)
    assert interval["covers_limit"] == 66.7
    assert interval["covers_truth"] == 0
    assert (interval["outside"], interval["zero"]) == (33.3, 33.3)
    assert interval["width"] == pytest.approx(2.5 / 3, abs=1e-4)
    assert (test["reps"], test["undefined"], test["rejected"]) == (2, 1, 100)


def row(metric, share, draws=1500, **more):
    where = {**vars(Scenario("lognormal")), "column": "50i", "study": "intervals", "draws": draws}
    found = {"kind": "interval", "metric": metric, "model": "right", "reps": draws}
    return {**where, **found, "covers_truth": share, **more}


def test_marks_stand_where_a_share_lies_outside_and_not_by_chance():
    shares = [results.cell([row("brier", share)]) for share in (92.0, 93.5, 97.0, 98.4)]
    assert shares == ["92↓", "94", "97", "98↑"]
    assert results.cell([row("brier", 92.0, 60)]) == "92"
    assert results.cell([]) == "–"
    assert results.error_of(1500) == pytest.approx(1.1, abs=0.01)


def test_shares_are_pooled_by_samples_and_models_of_a_sample_count_once():
    some = [row("brier", 90.0), row("brier", 100.0, model="late"), row("brier", 92.0, n=200)]
    assert results.pooled(some) == (94.0, 3000)


def test_the_page_names_an_interval_that_is_too_short_and_no_other():
    found = results.Results({})
    for one in (row("brier", 84.0), row("auc", 95.0)):
        found.add(one)
    (told, *_) = findings.findings(found)
    assert "independent censoring 1 of 2" in told
    table = findings.exceptions(found)
    assert "| Independent censoring | `brier` | lognormal, n = 800: 84↓ |" in table
    assert "auc" not in table


SMALL = plan.Cell("equals", Scenario("weibull", n=200), 4)


def test_what_is_done_is_not_done_again(tmp_path):
    store, said = run.Store(tmp_path), []
    first = run.run([SMALL], 1, store, 1, said.append)
    assert any(f"{plan.BLOCKS} of {plan.BLOCKS} parts" in line for line in said)
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    said.clear()
    assert run.run([SMALL], 1, store, 1, said.append) == first
    assert any(f"0 of {plan.BLOCKS} parts" in line for line in said)
    assert {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()} == kept


def test_a_part_that_fails_is_told_and_takes_no_other_with_it(tmp_path):
    said = []
    broken = plan.Cell("equals", Scenario("no such hazard", n=200), 1)
    found = run.run([broken, SMALL], 1, run.Store(tmp_path), 1, said.append)
    assert list(found) == [SMALL.name]
    assert any("failed: equals-no such hazard" in line for line in said)


def test_results_depend_on_the_seed_alone():
    first, again = run.simulate([SMALL], 1), run.simulate([SMALL], 1)
    assert first == again
    assert first[0]["reps"] == SMALL.reps
    assert run.simulate([SMALL], 2) != first


def test_cells_and_parts_have_names_of_their_own():
    every = plan.cells(30, 3)
    assert len({cell.name for cell in every}) == len(every)
    names = [part.name for cell in every for part in plan.parts(cell, 1)]
    assert len(set(names)) == len(names)
    assert sum(part.reps for part in plan.parts(SMALL, 1)) == SMALL.reps


def test_words_choose_cells():
    some = plan.cells(30, 3, "features weights")
    assert all(cell.scenario.features or cell.scenario.weights for cell in some)
    assert {cell.reps for cell in some if cell.scenario.features} == {3}
    others = plan.cells(30, 3, "no-features no-weights")
    assert len(others) + len(some) == len(plan.cells(30, 3))
    assert plan.cells(30, 3, "entry no-200") == plan.cells(30, 3, "800-entry")
    assert plan.cells(30, 3, "nothing like this") == []


def test_every_metric_is_simulated_where_times_are_weibull():
    assert set(metrics_of()) == set(studies.metrics_for(Scenario(share=20)))
    others = studies.metrics_for(Scenario("cure"))
    assert {"mae_within", "brier", "harrell", "ici", "d_calibration"} <= set(others)
    assert not {"mse_hinge", "crps", "mae_hinge"} & set(others)


@pytest.mark.parametrize(
    "one",
    [
        Scenario(n=200), Scenario("crossing", n=200, causes=2), Scenario(n=200, entry=True),
        Scenario(n=200, clusters=12), Scenario(n=200, weights=True),
    ],
    ids=lambda s: s.name,
)  # fmt: skip
def test_scenarios_of_all_kinds_give_intervals_with_a_target(one, few):
    rows = run.simulate([plan.Cell("intervals", one, 1)], 1)
    found = {(r["metric"], r["model"]) for r in rows if results.covers(r) is not None}
    assert {("brier", "right"), ("uno", "late"), ("harrell", "wrong")} <= found
    told = {r.get("variant") for r in rows}
    assert ("ignored" in told) == bool(one.clusters or one.weights)


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
