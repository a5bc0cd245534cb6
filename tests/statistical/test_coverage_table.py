"""Promises about intervals and tests, on a small part of what `make coverage-table` simulates."""

from __future__ import annotations

import pytest
from coverage_table import simulation

pytestmark = pytest.mark.slow

plan, run, results = (simulation(name) for name in ("plan", "run", "results"))
summary = simulation("tally").summary
SEED = 13
#: Coverage and size that are promised, in %.
COVERAGE, SIZE = (93.0, 97.0), (0.0, 7.0)


def simulated(study, reps, **wanted):
    """Results of some settings of a study."""
    parts = [
        part
        for part in plan.parts(round(reps / plan.STUDIES[study].share), SEED, (study,))
        if all(part.given[name] == value for name, value in wanted.items())
    ]
    return results.Results([summary(row) for row in run.simulate(parts)])


def kept(share, reps, promise):
    """Whether a simulated share may come from one that is promised."""
    low, high = (2.6 * results.error_of(reps, edge) / 1.96 for edge in promise)
    return promise[0] - low <= share <= promise[1] + high


def check_coverage(row, column):
    assert row is not None
    assert row["undefined"] == 0
    assert kept(row[column], row["reps"], COVERAGE), row


def check_size(row, promise=SIZE):
    assert row is not None
    assert kept(row["rejected"], row["reps"], promise), row


@pytest.fixture(scope="module")
def usual():
    return simulated("core", 600, censoring="60i", n=300, train=1000)


@pytest.fixture(scope="module")
def small_reference():
    return simulated("core", 450, censoring="80i", n=1000, train=200)


WEIGHTED = ("uno", "auc", "brier", "ibs", "ibll", "mae_ipcw_d")


@pytest.mark.parametrize("metric", WEIGHTED)
def test_weighted_metrics_cover_their_value_without_censoring(usual, metric):
    check_coverage(usual.get(metric=metric, model="twin a"), "covers_truth")


@pytest.mark.parametrize("metric", ["harrell", "crps", "log_likelihood", "mae_po", "mae_hinge"])
def test_other_metrics_cover_their_limit(usual, metric):
    check_coverage(usual.get(metric=metric, model="twin a"), "covers_limit")


@pytest.mark.parametrize("metric", ["harrell", *WEIGHTED, "mae_po"])
def test_differences_between_equal_models_cover_nothing(usual, metric):
    check_size(usual.get(kind="test", metric=metric, model="twin a - twin b"))


@pytest.mark.parametrize("metric", WEIGHTED)
def test_small_training_sets_do_not_shorten_intervals(small_reference, metric):
    check_coverage(small_reference.get(metric=metric, model="twin a"), "covers_truth")


@pytest.fixture(scope="module")
def difference():
    return simulated("more", 240, censoring="60i", n=300)


@pytest.mark.parametrize("metric", ["ibs", "uno", "mae_ipcw_d"])
def test_differences_between_unequal_models_are_covered(difference, metric):
    check_coverage(
        difference.get(study="more", metric=metric, model="twin a - true"), "covers_truth"
    )


@pytest.mark.parametrize("metric", ["antolini", "mse_ipcw_t", "rmse_po", "mse_margin"])
def test_the_rarer_metrics_cover_their_limit(difference, metric):
    check_coverage(difference.get(study="more", metric=metric, model="twin a"), "covers_limit")


@pytest.fixture(scope="module", params=[("60i", 300), ("80i", 1000)], ids=["60i-300", "80i-1000"])
def tests_of_truth(request):
    censoring, n = request.param
    return simulated("tests", 600, censoring=censoring, n=n)


@pytest.mark.parametrize(
    "metric",
    [
        "one_calibration in evaluate",
        "d_calibration in evaluate",
        "d_calibration, ks",
        "log_rank_test of two halves",
    ],
)
def test_tests_do_not_reject_the_truth(tests_of_truth, metric):
    check_size(tests_of_truth.get(kind="test", metric=metric, model="true"), (3.0, 7.0))


def test_evaluate_finds_late_curves(tests_of_truth):
    row = tests_of_truth.get(kind="test", metric="d_calibration in evaluate", model="late")
    assert row["rejected"] > 70


@pytest.mark.parametrize("metric", ["calibration_slope", "coverage"])
def test_intervals_of_single_functions_cover(tests_of_truth, metric):
    check_coverage(tests_of_truth.get(metric=metric, model="true"), "covers_limit")


@pytest.fixture(scope="module")
def shift():
    return simulated("shift", 300, censoring="60i", n=1000)


@pytest.mark.parametrize("metric", ["auc", "brier", "ibs", "mae_ipcw_d"])
def test_another_censoring_in_training_does_no_harm(shift, metric):
    row = shift.get(metric=metric, variant="default")
    assert abs(row["bias_truth"]) < 3
    check_coverage(row, "covers_truth")


def test_the_best_of_ten_is_not_better_by_selection():
    found = simulated("selection", 400, censoring="60i", n=300)
    for metric in ("mae_po", "ibs"):
        rows = [row for row in found.rows if row["metric"] == metric]
        assert min(row["rejected"] for row in rows) < 2.5 + 2.6 * results.error_of(400, 2.5) / 1.96


@pytest.mark.parametrize("metric", ["harrell", "brier", "ibs", "mae_ipcw_d"])
def test_clusters_are_covered(clusters, metric):
    column = "covers_limit" if metric == "harrell" else "covers_truth"
    check_coverage(clusters.get(metric=metric, variant="cluster="), column)


@pytest.fixture(scope="module")
def clusters():
    return simulated("clusters", 300, censoring="30i")


@pytest.fixture(scope="module")
def weights():
    return simulated("weights", 300, censoring="60i")


@pytest.mark.parametrize("metric", ["brier", "ibs", "mae_ipcw_d"])
def test_sampling_weights_are_covered(weights, metric):
    check_coverage(weights.get(metric=metric, variant="sample_weight="), "covers_truth")


def test_an_area_close_to_one_is_covered_within_its_range():
    found = simulated("edge", 600, n=100)
    row = found.get(metric="auc")
    assert row["outside"] == 0
    assert row["zero"] == 0
    assert row["covers_truth"] > 90


@pytest.mark.parametrize("metric", ["ici", "km_calibration"])
def test_distances_cover_their_limit(distances, metric):
    row = distances.get(metric=metric, model="twin a")
    assert row["outside"] == 0
    check_coverage(row, "covers_limit")


@pytest.fixture(scope="module")
def distances():
    return simulated("distances", 120, censoring="60i", n=300)
