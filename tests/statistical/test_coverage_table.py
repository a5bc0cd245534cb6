"""Promises about intervals and tests, on a small part of what `make coverage-table` simulates."""

from __future__ import annotations

from functools import cache

import pytest
from coverage_table import simulation

pytestmark = pytest.mark.slow

plan, run, results = (simulation(name) for name in ("plan", "run", "results"))
Scenario = simulation("scenario").Scenario
SEED = 13


@cache
def simulated(study, reps, scenario):
    """Rows of one cell."""
    return run.simulate([plan.Cell(study, scenario, reps)], SEED)


def kept(share, reps, promise):
    """Whether a simulated share may come from one that is promised."""
    low, high = (2.6 * results.error_of(reps, edge) / 1.96 for edge in promise)
    return promise[0] - low <= share <= promise[1] + high


def check(rows, metric, model="right", variant=None, promise=None):
    key = {"metric": metric, "model": model, "variant": variant}
    (row,) = [r for r in rows if all(r.get(name) == value for name, value in key.items())]
    usual = results.SIZE if row["kind"] == "test" else results.COVERAGE
    assert "undefined" not in row
    assert kept(results.share(row), row["reps"], promise or usual), row


PROMISED = ["mae_within", "mae_dr", "mae_ipcw_d", "brier", "ibs", "uno", "harrell", "antolini",
            "auc", "net_benefit", "observed_expected"]  # fmt: skip
USUAL = Scenario("crossing", n=200)


@pytest.mark.parametrize("metric", PROMISED)
@pytest.mark.parametrize("model", results.MODELS)
def test_intervals_cover_where_hazards_cross(metric, model):
    check(simulated("intervals", 450, USUAL), metric, model)


@pytest.mark.parametrize("metric", ["mae_within", "brier", "ibs"])
def test_differences_are_covered(metric):
    check(simulated("intervals", 450, USUAL), metric, "late - right")


@pytest.mark.parametrize("metric", ["d_calibration", "a_calibration", "one_calibration"])
def test_tests_do_not_reject_the_right_model(metric):
    rows = simulated("intervals", 450, USUAL)
    check(rows, metric)
    late = [r for r in rows if r["metric"] == metric and r["model"] == "late"]
    assert late[0]["rejected"] > 30


@pytest.mark.parametrize("metric", ["mae_within", "ibs", "uno", "verdict: is best"])
def test_equal_models_do_not_differ(metric):
    rows = simulated("equals", 450, Scenario("cure", n=200))
    check(rows, metric, "two equal", promise=(0.0, 7.0))


@pytest.mark.parametrize("metric", PROMISED)
@pytest.mark.parametrize(
    "scenario",
    [
        Scenario("lognormal", n=200, causes=2), Scenario(n=200, entry=True),
        Scenario("crossing", n=800, clusters=40), Scenario(n=200, weights=True),
    ],
    ids=lambda s: s.name,
)  # fmt: skip
def test_causes_entry_clusters_and_weights_are_covered(metric, scenario):
    rows = simulated("intervals", 300, scenario)
    if any(row["metric"] == metric for row in rows):
        check(rows, metric)


@pytest.mark.parametrize("metric", ["auc", "brier", "ibs", "mae_ipcw_d"])
def test_another_censoring_in_training_does_no_harm(metric):
    check(simulated("shift", 300, Scenario(n=800)), metric, variant="default")


@pytest.mark.parametrize("metric", ["mae_within", "ibs"])
def test_the_best_of_ten_is_not_better_by_selection(metric):
    rows = simulated("selection", 400, Scenario(n=200))
    check(rows, metric, "best of ten", variant="p_holm", promise=(0.0, 2.5))


def test_an_area_close_to_one_is_covered_within_its_range():
    rows = simulated("intervals", 450, Scenario("sharp", share=20, n=100))
    (row,) = [r for r in rows if (r["metric"], r["model"]) == ("auc", "right")]
    assert "outside" not in row
    assert "zero" not in row
    assert row["covers_truth"] > 90
