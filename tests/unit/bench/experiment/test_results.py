"""Results: frames, selections, uncertainty, figures and text, on a table made by hand."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("sklearn")

import pandas as pd
from scipy import stats

from survgauge.bench.experiment import Results
from survgauge.bench.experiment.panels import interval_over_bases, verdict
from survgauge.bench.experiment.writing import markdown, sections, text, write_all
from survgauge.errors import InputError
from survgauge.report import experiment_html

TRUE = {"a": 10.0, "b": 12.0, "c": 15.0, "d": 20.0}
#: What a metric adds to the truth of each model.
OFF = {
    "mae_po": {"a": 0.0, "b": 0.5, "c": 0.0, "d": 0.5},
    "mae_margin": {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0},
    "mae_hinge": {"a": 8.0, "b": 5.0, "c": 1.0, "d": -9.0},
}


def table(runs=4, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    rows = []
    for dataset, censoring in (("p", "uniform"), ("p", "exponential"), ("q", "uniform")):
        scale = 10.0 if dataset == "q" else 1.0
        for fold in range(runs):
            for model, true in TRUE.items():
                bump = rng.normal(0, noise) if noise else 0.0
                for metric, off in OFF.items():
                    # Under exponential censoring the metrics change places.
                    off_ = (
                        OFF["mae_margin" if metric == "mae_po" else "mae_po"]
                        if (censoring == "exponential" and metric != "mae_hinge")
                        else off
                    )
                    value = scale * (
                        true + off_[model] + bump + (rng.normal(0, noise) if noise else 0)
                    )
                    rows.append((dataset, censoring, 0, fold, model, metric, value,
                                 scale * (true + bump), "mae", "lower"))  # fmt: skip
                c_index = 1.0 - true / 40
                rows.append((dataset, censoring, 0, fold, model, "harrell", c_index + 0.02, c_index,
                             "harrell", "higher"))  # fmt: skip
    columns = ["dataset", "censoring", "repeat", "fold", "model", "metric", "value", "true_value",
               "truth", "direction"]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


@pytest.fixture
def results():
    return Results(table(noise=0.3), name="made")


@pytest.fixture
def exact():
    return Results(table())


def of(frame, **keys):
    for column, value in keys.items():
        frame = frame[frame[column] == value]
    assert len(frame) == 1
    return frame.iloc[0]


def test_proximity_by_hand(exact):
    row = of(exact.proximity, dataset="q", metric="mae_po")
    assert row["proximity"] == pytest.approx(2.5)
    assert row["bias"] == pytest.approx(2.5)
    assert row["relative"] == pytest.approx(np.mean([0, 0.5 / 12, 0, 0.5 / 20]))
    assert row["spread"] == pytest.approx(np.std([0, 5, 0, 5], ddof=1))
    assert row["next_best"] == "mae_margin"
    assert (row["low"], row["high"]) == pytest.approx((2.5, 2.5))
    # Paired t-test over models of |0, 5, 0, 5| against |10, 10, 10, 10|.
    assert row["p_value"] == pytest.approx(0.0138, abs=5e-4)
    assert of(exact.proximity, dataset="q", metric="mae_hinge")["next_best"] is None


def test_ranking_by_hand(exact):
    found = exact.ranking
    row = of(found, dataset="p", censoring="uniform", metric="mae_hinge")
    # 18, 17, 16, 11 against 10, 12, 15, 20: the order is turned around.
    assert (row["tau"], row["overlap"], row["in_order"], row["best"]) == (-1, 2, 0, "d")
    row = of(found, dataset="p", censoring="uniform", metric="harrell")
    assert (row["tau"], row["overlap"], row["in_order"], row["best"]) == (1, 3, 3, "a")


def test_winners_and_their_counts(exact):
    wins = exact.winners[exact.winners["truth"] == "mae"]
    assert wins[["dataset", "censoring", "metric"]].to_numpy().tolist() == [
        ["p", "uniform", "mae_po"],
        ["p", "exponential", "mae_margin"],
        ["q", "uniform", "mae_po"],
    ]
    assert wins["share"].tolist() == [1, 1, 1]
    summary = exact.summary("mae")
    assert summary.loc["mae_po", ["uniform", "exponential", "total"]].tolist() == [2, 0, 2]
    assert summary.loc["mae_hinge", "tau"] == -1


def test_two_data_bases_are_too_few_for_advice(exact):
    advice = exact.advice().set_index("situation")
    assert advice["verdict"].tolist() == ["too few datasets to tell"] * 2
    assert advice.loc["other censoring", ["closer", "data_sets", "bases"]].tolist() == [2, 2, 2]
    # Text and page say the same, and show no p-value of a test that cannot find anything.
    shown, page = text(exact), experiment_html(exact)
    for said in (shown, page):
        assert "under other censoring: too few datasets to tell" in " ".join(said.split())
        assert "p = " not in said.partition("The paper advises")[2].partition("Wins ")[0]


def many_bases(bases, kinds=1):
    """Results in which po and margin differ alike on every source, on several kinds each."""
    whole = table(runs=2).query("dataset == 'p'")
    parts = []
    for k in range(bases):
        for kind in range(kinds):
            named = {"uniform": f"uniform{kind}", "exponential": f"exponential{kind}"}
            parts.append(whole.assign(dataset=f"b{k}", value=whole["value"] * (1 + 0.001 * k),
                                      censoring=whole["censoring"].map(named)))  # fmt: skip
    return Results(pd.concat(parts))


@pytest.mark.parametrize(("bases", "verdict"), [(5, "too few datasets to tell"), (6, "holds")])
def test_the_advice_needs_six_data_bases_whatever_the_number_of_sets(bases, verdict):
    found = many_bases(bases, kinds=3).advice().set_index("situation")
    assert found["verdict"].tolist() == [verdict] * 2
    assert found["data_sets"].tolist() == [3 * bases] * 2
    assert found["bases"].tolist() == [bases] * 2
    # Means of sources are compared: the p-value is that of so many, not of three times as many.
    assert found["p_value"].tolist() == pytest.approx([2 / 2**bases] * 2)


def test_a_verdict_says_no_more_than_the_numbers():
    closer, better = -np.arange(1.0, 9.0), np.arange(1.0, 9.0)
    unsure = np.array([1.0, -2, 3, -4, 5, -6, 7, -8])
    assert verdict(closer, better) == "holds"
    assert verdict(closer, unsure) == "holds"
    assert verdict(-closer, unsure) == "does not hold"
    assert verdict(unsure, -better) == "does not hold"
    assert verdict(unsure, unsure) == "no clear difference"
    assert verdict(np.zeros(8), np.zeros(8)) == "no clear difference"
    assert verdict(-closer, better) == "mixed: ranks better, but farther"


def test_the_leader_is_told_with_those_it_cannot_be_told_from():
    few, many = many_bases(3), many_bases(8).select(censoring=["uniform0"])
    assert few.leader("relative", "mae")["verdict"] == "too few datasets to tell"
    found = many.leader("relative", "mae")
    assert (found["metric"], found["verdict"], found["bases"]) == ("mae_po", "clear", 8)
    # All but mae_hinge rank without a mistake.
    tied = many.leader("tau", "mae")
    assert (tied["metric"], tied["tied"]) == ("mae_po", ["mae_margin"])
    sentence = " ".join(text(many).split())
    assert "there is no clear difference from mae_margin" in sentence
    assert "% on average), clearly better than the others." in sentence


# -- models by their true value --------------------------------------------------------------------


def test_models_by_their_true_value(exact):
    found = exact.models.query("dataset == 'q' and truth == 'mae'")
    assert found["model"].tolist() == ["a", "b", "c", "d"]
    assert found["true_value"].tolist() == [100, 120, 150, 200]
    assert found["difference"].tolist() == [0, 20, 50, 100]
    assert found["clearly_worse"].tolist() == [False, True, True, True]  # no noise at all
    # A C-index is better where it is higher.
    c_index = exact.models.query("dataset == 'q' and truth == 'harrell'")
    assert c_index["model"].tolist() == ["a", "b", "c", "d"]
    assert c_index["difference"].iloc[1] == pytest.approx(-2 / 40)
    assert c_index["clearly_worse"].tolist() == [False, True, True, True]
    alone = Results(table(runs=1)).models
    assert alone["low"].isna().all()
    assert not alone["clearly_worse"].any()


def test_intervals_of_models_by_hand():
    rows = [("d", "u", fold, model, "mae_po", value, value)
            for model, values in (("a", (4.0, 5.0, 6.0)), ("b", (5.0, 7.0, 6.0)))
            for fold, value in enumerate(values)]  # fmt: skip
    columns = ["dataset", "censoring", "fold", "model", "metric", "value", "true_value"]
    found = Results(pd.DataFrame(rows, columns=columns)).models.set_index("model")
    # Three folds: t(2) = 4.3027; the variance factor is 1/3 + 1/2, not 1/3.
    half = 4.302653 * 1.0 * np.sqrt(1 / 3 + 1 / 2)
    assert found.loc["a", ["low", "high"]].tolist() == pytest.approx([5 - half, 5 + half])
    gap = 4.302653 * np.std([1, 2, 0], ddof=1) * np.sqrt(1 / 3 + 1 / 2)
    given = found.loc["b", ["difference_low", "difference_high"]].tolist()
    assert given == pytest.approx([1 - gap, 1 + gap])
    assert not found.loc["b", "clearly_worse"]


# -- metrics that failed ---------------------------------------------------------------------------


def test_failed_metrics_are_named_with_their_cells(exact):
    whole = exact.metrics.copy()
    bad = (whole["metric"] == "mae_po") & (whole["dataset"] == "q")
    whole.loc[bad, ["value", "error"]] = [np.nan, "ValueError: no"]
    found = Results(whole)
    assert found.failed_metrics.to_dict("records") == [
        {"metric": "mae_po", "cells": 16, "error": "ValueError: no",
         "first": "q / uniform / 0 / 0 / a"}
    ]  # fmt: skip
    shown = text(found)
    assert "Metrics that failed" in shown
    assert "ValueError: no" in shown
    assert "nan" not in shown
    assert "ValueError: no" in experiment_html(found)


def test_intervals_come_from_the_runs(results):
    found = results.proximity[results.proximity["truth"] == "mae"]
    assert (found["low"] < found["proximity"]).all()
    assert (found["proximity"] < found["high"]).all()
    again = Results(table(noise=0.3)).proximity
    pd.testing.assert_frame_equal(again, results.proximity)  # seeded by names
    alone = Results(table(runs=1)).proximity
    assert alone["low"].isna().all()


def test_intervals_of_means_are_over_data_bases():
    """Sets of one base share what is special about it: eight bases are eight numbers, not 24."""
    bases = [f"base {k // 3}" for k in range(24)]
    rng, covered = np.random.default_rng(0), np.zeros(2)
    for _ in range(400):
        values = 0.5 + np.repeat(rng.normal(0, 0.2, 8), 3) + rng.normal(0, 0.05, 24)
        for k, groups in enumerate((bases, [str(k) for k in range(24)])):
            low, high = interval_over_bases(values[:, None], groups)
            covered[k] += low[0] <= 0.5 <= high[0]
    assert 0.93 <= covered[0] / 400 <= 0.97
    assert covered[1] / 400 < 0.85
    means = values.reshape(8, 3).mean(axis=1)
    half = stats.t.ppf(0.975, 7) * stats.sem(means)
    low, high = interval_over_bases(values[:, None], bases)
    assert (low[0], high[0]) == pytest.approx((means.mean() - half, means.mean() + half))


def test_a_table_says_what_its_intervals_are_over():
    few = Results(table(noise=0.3))
    assert "over the runs on these 2 sources" in experiment_html(few)
    whole = pd.concat(
        table(noise=6.0, seed=k).assign(dataset=lambda t, k=k: t["dataset"] + str(k))
        for k in range(3)
    )
    many = Results(whole)
    assert "Intervals are over the 6 sources." in experiment_html(many)
    row = many.summary().loc["mae_po"]
    assert row["tau_low"] < row["tau"] < row["tau_high"]


def test_spread_shrinks_with_the_number_of_runs():
    few, many = (Results(table(runs, noise=0.5)).proximity for runs in (4, 64))
    width = [(f["high"] - f["low"])[f["truth"] == "mae"].mean() for f in (few, many)]
    assert width[0] > 2 * width[1]


def test_models_that_lack_a_run_are_left_out(exact):
    whole = exact.metrics
    gone = (whole["model"] == "b") & (whole["fold"] == 2) & (whole["dataset"] == "q")
    part = Results(whole[~gone])
    assert part.left_out["model"].unique().tolist() == ["b"]
    panel = next(p for p in part.panels if p.dataset == "q" and p.truth == "mae")
    assert panel.models == ("a", "c", "d")
    assert of(part.proximity, dataset="q", metric="mae_po")["proximity"] == pytest.approx(5 / 3)


def test_a_metric_that_is_undefined_somewhere_takes_no_part(exact):
    changed = exact.metrics.copy()
    hit = (changed["model"] == "a") & (changed["metric"] == "mae_po") & (changed["fold"] == 0)
    changed.loc[hit, "value"] = np.nan
    part = Results(changed)
    assert "mae_po" not in set(part.winners["metric"])
    assert part.ranking[part.ranking["metric"] == "mae_po"]["tau"].isna().all()
    assert part.leader("relative", "mae")["metric"] == "mae_margin"


def test_order_of_rows_does_not_matter(results):
    shuffled = results.metrics.sample(frac=1, random_state=0)
    keys = ["dataset", "censoring", "truth", "metric"]
    frames = [r.ranking.sort_values(keys, ignore_index=True) for r in (results, Results(shuffled))]
    pd.testing.assert_frame_equal(frames[0], frames[1])


def test_select_and_what_it_refuses(results):
    part = results.select(truth="mae", metrics=["mae_po", "mae_hinge"], models=["a", "b", "c"])
    assert set(part.winners["metric"]) == {"mae_po"}
    assert part.panels[0].models == ("a", "b", "c")
    with pytest.raises(InputError, match="truth must be one of"):
        results.select(truth="ibs")
    with pytest.raises(InputError, match="models must be one of"):
        results.select(models=["z"])
    with pytest.raises(InputError, match="measure must be one of"):
        results.leader("speed")
    with pytest.raises(InputError, match="'value' is missing"):
        Results(results.metrics.drop(columns="value"))
    with pytest.raises(InputError, match="true counterpart"):
        Results(results.metrics.assign(truth="")).summary()


def test_scores_are_means_and_spreads(results):
    row = of(results.scores, dataset="p", censoring="uniform", model="a", metric="mae_po")
    rows = results.metrics.query("dataset=='p' and censoring=='uniform' and model=='a'")
    values = rows[rows["metric"] == "mae_po"]["value"]
    assert (row["value"], row["value_sd"]) == pytest.approx((values.mean(), values.std()))
    by_model = of(results.by_model, dataset="p", censoring="uniform", model="a", metric="mae_po")
    assert by_model["difference"] == pytest.approx(row["value"] - row["true_value"])


# -- figures and text ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["grid", "panel", "summary"])
def test_every_figure_is_drawn(results, kind, tmp_path):
    pytest.importorskip("matplotlib")
    figure = results.plot(kind, truth="mae")
    figure.savefig(tmp_path / "figure.png", dpi=40)
    assert (tmp_path / "figure.png").stat().st_size > 2000


def test_figures_are_described(exact):
    """Matplotlib and the page draw from the same description."""
    from survgauge.bench.experiment.figures import GridDisplay, PanelDisplay, SummaryDisplay
    from survgauge.report.charts import figure

    order, distance = PanelDisplay(exact, "p", "uniform").describe().panels
    assert [row.label for row in order.rows] == ["a", "b", "c", "d"]  # the true order
    best = next(mark for mark in order.marks if getattr(mark, "names", ()) == ("1",) * 4)
    # Truth, po and margin have the best model on top; hinge has it at the bottom.
    assert (list(best.x), list(best.y)) == ([0, 1, 2, 3], [0, 0, 0, 3])
    bars = distance.marks[0]
    assert list(bars.top) == pytest.approx([0.25, 1.0, 5.75])
    # A dataset that lacks a kind of censoring leaves its place empty.
    grid = GridDisplay(exact, truth="mae").describe()
    assert [bool(panel.marks) for panel in grid.panels] == [True] * 4 + [True, False] * 2
    wins, tau, _ = SummaryDisplay(exact, truth="mae").describe().panels
    assert [row.label for row in wins.rows] == ["po", "margin", "hinge"]
    assert [mark.label for mark in wins.marks] == ["uniform", "exponential"]
    assert list(tau.marks[0].x) == [1.0, 1.0, -1.0]
    for display in (PanelDisplay(exact), GridDisplay(exact), SummaryDisplay(exact)):
        assert figure("figure", [display.describe()])["specs"][0]["panels"]


def test_the_panel_holds_what_it_draws(exact):
    from survgauge.bench.experiment.figures import GridDisplay, PanelDisplay, short

    frame = PanelDisplay(exact, "p", "uniform").frame()
    assert len(frame) == 3 * 4
    assert frame[frame["metric"] == "mae_hinge"]["rank"].tolist() == [4, 3, 2, 1]
    assert frame[frame["metric"] == "mae_hinge"]["true_rank"].tolist() == [1, 2, 3, 4]
    grid = GridDisplay(exact, metrics=["mae_po"], censoring=["uniform"])
    assert set(grid.frame()["dataset"]) == {"p", "q"}
    assert short("rmse_po(weighted=false)") == "po\nunweighted"
    with pytest.raises(InputError, match="datasets must be one of 'p', 'q'; got 'z'"):
        PanelDisplay(exact, "z")
    with pytest.raises(InputError, match="kind must be one of"):
        exact.plot("pie")


def test_many_columns_are_cut_to_those_without_settings():
    many = [
        table(runs=1).assign(metric=lambda t, k=k: t["metric"] + f"(tau={k})") for k in range(5)
    ]
    wide = Results(pd.concat([table(runs=1), *many]))
    from survgauge.bench.experiment.figures import PanelDisplay

    assert PanelDisplay(wide).panels[0].metrics == ("mae_po", "mae_margin", "mae_hinge")


def test_text_says_who_wins_and_what_failed(results):
    failure = {"cell": {"dataset": "p", "censoring": "uniform", "model": "m", "repeat": 0,
                        "fold": 1}, "error": "FitError", "message": "no"}  # fmt: skip
    whole = Results(results.metrics, [failure], "made")
    shown = text(whole)
    for part in ("Wins over 3 datasets; truth: mae", "mae_margin", "FitError: no", "advice"):
        assert part in shown
    # One metric alone cannot win anything.
    assert "Winners; truth: harrell" not in [section.heading for section in sections(whole)]
    page = markdown(whole)
    assert page.startswith("# Results of the plan made")
    wins = page.partition("## Wins")[2]
    assert wins.index("| mae_po | 2 |") < wins.index("| mae_margin | 1 |")  # winners first


def test_write_all(results, tmp_path):
    pytest.importorskip("matplotlib")
    written = write_all(results.select(truth="mae", datasets=["p"]), tmp_path / "out")
    names = {path.relative_to(tmp_path / "out").as_posix() for path in written}
    assert {"summary.md", "tables/ranking.csv", "figures/grid-mae.png"} <= names
    assert "figures/panel-mae-p-uniform.png" in names
    assert {"tables/wins-mae.tex", "tables/ranking-mae.tex", "tables/models.csv"} <= names
    assert all(path.is_file() for path in written)
    again = write_all(results.select(truth="mae", datasets=["p"]), tmp_path / "two",
                      figures=("svg", "pdf"))  # fmt: skip
    ends = {path.suffix for path in again if path.parent.name == "figures"}
    assert ends == {".svg", ".pdf"}
    assert (tmp_path / "two" / "figures" / "grid-mae.svg").read_text().startswith("<?xml")
    assert (tmp_path / "two" / "figures" / "grid-mae.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_latex_takes_every_table_whatever_the_names(results, tmp_path):
    odd = r"[a_b] 50 % & {c} ~^\#$ <x> *"
    named = Results(results.metrics.replace({"model": {"a": odd}, "dataset": {"p": odd}}))
    tables = [p for p in write_all(named, tmp_path, figures=()) if p.suffix == ".tex"]
    assert len(tables) > 5
    for rules in ("", r"\usepackage{booktabs}"):  # with the package where it is installed
        name = "with" if rules else "without"
        found = subprocess.run(["kpsewhich", "booktabs.sty"], capture_output=True, check=False)
        if rules and found.returncode:
            continue
        inputs = "\n\n".join(rf"\input{{tables/{p.stem}}}" for p in tables)
        body = rf"\documentclass{{article}}{rules}\begin{{document}}\small {inputs}\end{{document}}"
        (tmp_path / f"{name}.tex").write_text(body)
        done = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", name],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-2000:]
        assert (tmp_path / f"{name}.pdf").stat().st_size > 10_000
