"""Answers over sources: against plain loops, with gaps, ties and too few bases."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPTS = Path(__file__).parents[3] / "docs" / "scripts"
if not SCRIPTS.is_dir():
    pytest.skip("the scripts are not in a source distribution", allow_module_level=True)
pytest.importorskip("pandas")

import pandas as pd  # noqa: E402
from scipy import stats  # noqa: E402

sys.path.insert(0, str(SCRIPTS))
try:
    from evidence import against, answers_by_set, over_bases, t_interval
finally:
    sys.path.remove(str(SCRIPTS))

from survgauge.bench.experiment import Results  # noqa: E402
from survgauge.errors import InputError  # noqa: E402

METRICS = ("mae_po", "mae_dr", "mae_hinge")
MODELS = ("a", "b", "c", "d")


def made_up(bases=4, kinds=3, repeats=2, folds=2, seed=0):
    """Results with noise that differs between metrics."""
    rng = np.random.default_rng(seed)
    rows = []
    for base in range(bases):
        for kind in range(kinds - (base == 1)):  # one base has a kind of censoring less
            for repeat in range(repeats):
                for fold in range(folds):
                    for model in MODELS:
                        true = rng.uniform(5, 10)
                        for metric, noise in zip(METRICS, (1.0, 0.3, 2.0), strict=True):
                            place = (f"base{base}", f"kind{kind}", repeat, fold, model, metric)
                            rows.append((*place, true + noise * rng.normal(), true))
    names = ["dataset", "censoring", "repeat", "fold", "model", "metric", "value", "true_value"]
    return Results(pd.DataFrame(rows, columns=names))


def naive(results):
    """Tau and relative distance by set and metric, with plain loops."""
    found = {}
    table = results.metrics
    for key, part in table.groupby(["dataset", "censoring", "repeat", "metric"]):
        value = [part[part["model"] == m]["value"].mean() for m in MODELS]
        true = [part[part["model"] == m]["true_value"].mean() for m in MODELS]
        gaps = [abs(v - t) / t for v, t in zip(value, true, strict=True)]
        found[key] = stats.kendalltau(value, true).statistic, sum(gaps) / len(gaps)
    return found


def by_base(found, metric):
    """Means over the sets of each base."""
    bases = sorted({key[0] for key in found})
    return [
        np.mean([v for k, v in found.items() if k[0] == b and k[3] == metric], axis=0)
        for b in bases
    ]


def test_answers_of_each_draw_are_those_of_plain_loops():
    results = made_up()
    answers = answers_by_set(results)
    expected = naive(results)
    assert len(answers) == len(expected) == (4 * 3 - 1) * 2 * 3
    for row in answers.itertuples():
        tau, relative = expected[row.dataset, row.censoring, row.repeat, row.metric]
        assert row.tau == pytest.approx(tau)
        assert row.relative == pytest.approx(relative)
        assert row.models == 4
    winners = answers[answers["winner"]].groupby(["dataset", "censoring", "repeat"]).size()
    assert (winners >= 1).all()
    assert len(winners) == 22


def test_means_are_over_sets_then_over_bases_with_an_interval_over_bases():
    results = made_up()
    table = over_bases(answers_by_set(results))
    expected = naive(results)
    for metric in METRICS:
        means = np.array(by_base(expected, metric))
        for k, measure in enumerate(("tau", "relative")):
            low, high = stats.t.interval(0.95, 3, means[:, k].mean(), stats.sem(means[:, k]))
            row = table.loc[metric]
            assert row[measure] == pytest.approx(means[:, k].mean())
            assert (row[f"{measure}_low"], row[f"{measure}_high"]) == pytest.approx((low, high))
        assert table.loc[metric, "bases"] == 4
        assert table.loc[metric, "sets"] == 22
    assert table["wins"].sum() >= 22
    # Four means of bases, not 22 sets: the sets of a base are not independent.
    answers = answers_by_set(results)
    apart = answers.assign(dataset=range(len(answers)))
    assert over_bases(apart).loc["mae_po", "bases"] == 22


def test_differences_are_paired_on_the_same_sets():
    results = made_up()
    table = against(answers_by_set(results), "mae_po")
    expected = naive(results)
    ours, theirs = (np.array(by_base(expected, m)) for m in ("mae_dr", "mae_po"))
    row = table.loc["mae_dr"]
    gap = ours - theirs
    assert row["tau"] == pytest.approx(gap[:, 0].mean())
    low, high = stats.t.interval(0.95, 3, gap[:, 1].mean(), stats.sem(gap[:, 1]))
    assert (row["relative_low"], row["relative_high"]) == pytest.approx((low, high))
    assert row["ratio"] == pytest.approx(ours[:, 1].mean() / theirs[:, 1].mean())
    assert row["bases_in_both"] == np.mean((gap[:, 0] > 0) & (gap[:, 1] < 0))
    sets = {key[:3] for key in expected}
    at_least = [expected[(*s, "mae_dr")][0] >= expected[(*s, "mae_po")][0] for s in sets]
    closer = [expected[(*s, "mae_dr")][1] < expected[(*s, "mae_po")][1] for s in sets]
    assert row["ranks_as_well"] == pytest.approx(np.mean(at_least))
    assert row["closer"] == pytest.approx(np.mean(closer))
    assert "mae_po" not in table.index


def test_a_metric_equal_to_the_other_ranks_as_well_but_is_better_nowhere():
    results = made_up()
    table = results.metrics
    twin = table[table["metric"] == "mae_po"].assign(metric="twin")
    row = against(answers_by_set(Results(pd.concat([table, twin])))).loc["twin"]
    assert row["ranks_as_well"] == 1
    assert row["closer"] == row["bases_in_order"] == row["bases_in_both"] == 0
    assert row["ratio"] == pytest.approx(1)
    assert row["tau_low"] == row["tau_high"] == pytest.approx(0)


def test_sets_without_a_value_take_no_part():
    results = made_up()
    table = results.metrics.copy()
    hole = (table["metric"] == "mae_dr") & (table["dataset"] == "base0") & (table["repeat"] == 1)
    first = hole & (table["model"] == "a") & (table["fold"] == 0)
    table.loc[first, "value"] = np.nan
    answers = answers_by_set(Results(table))
    assert over_bases(answers).loc["mae_dr", "sets"] == 22 - 3
    assert against(answers).loc["mae_dr", "sets"] == 22 - 3
    assert against(answers).loc["mae_hinge", "sets"] == 22
    everywhere = table.assign(value=table["value"].where(table["metric"] != "mae_dr"))
    answers = answers_by_set(Results(everywhere))
    assert "mae_dr" not in against(answers).index
    assert np.isnan(over_bases(answers).loc["mae_dr", "tau"])


def test_one_base_has_a_mean_and_no_interval():
    row = over_bases(answers_by_set(made_up(bases=1))).loc["mae_po"]
    assert np.isfinite(row["tau"])
    assert np.isnan(row["tau_low"])
    assert np.isnan(against(answers_by_set(made_up(bases=1))).loc["mae_dr", "tau_high"])


def test_a_truth_of_its_own_and_bad_names():
    results = made_up()
    later = results.metrics.assign(truth="mae(tau=horizon)", true_value=1.0)
    both = Results(pd.concat([results.metrics, later]))
    assert answers_by_set(both)["relative"].max() < 2
    assert answers_by_set(both, "mae(tau=horizon)")["relative"].min() > 2
    with pytest.raises(InputError, match="truth"):
        answers_by_set(results, "harrell")
    with pytest.raises(InputError, match="mae_none"):
        against(answers_by_set(results), "mae_none")
    alone = results.metrics[results.metrics["model"] == "a"]
    with pytest.raises(InputError, match="two models"):
        answers_by_set(Results(alone))
    with pytest.raises(InputError, match="level"):
        t_interval([1.0, 2.0], 1.0)


@pytest.mark.parametrize("factor", [0.1, 7.0])
def test_the_unit_of_time_changes_nothing(factor):
    results = made_up()
    scaled = results.metrics.assign(
        value=factor * results.metrics["value"], true_value=factor * results.metrics["true_value"]
    )
    ours, theirs = (against(answers_by_set(r)) for r in (results, Results(scaled)))
    np.testing.assert_allclose(ours.to_numpy(float), theirs.to_numpy(float), rtol=1e-9)
