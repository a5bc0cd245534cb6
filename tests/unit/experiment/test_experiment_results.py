"""Results: frames, selections, uncertainty, figures and text, on a table made by hand."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("sklearn")

import pandas as pd

from survgauge.errors import InputError
from survgauge.experiment import Results, side_by_side
from survgauge.experiment.progress import ProgressLines, RunProgress, TimeLeft
from survgauge.experiment.writing import markdown, sections, text, write_all

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


def test_the_advice_follows_the_numbers(exact):
    advice = exact.advice().set_index("situation")
    assert advice["verdict"].tolist() == ["holds", "holds"]
    assert advice.loc["other censoring", "closer"] == 2


def test_intervals_come_from_the_runs(results):
    found = results.proximity[results.proximity["truth"] == "mae"]
    assert (found["low"] < found["proximity"]).all()
    assert (found["proximity"] < found["high"]).all()
    again = Results(table(noise=0.3)).proximity
    pd.testing.assert_frame_equal(again, results.proximity)  # seeded by names
    alone = Results(table(runs=1)).proximity
    assert alone["low"].isna().all()


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
    assert part.critical_difference(truth="mae").metrics == ("mae_margin", "mae_hinge")


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
        results.critical_difference("speed")
    with pytest.raises(InputError, match="'value' lacks"):
        Results(results.metrics.drop(columns="value"))
    with pytest.raises(InputError, match="true counterpart"):
        Results(results.metrics.assign(truth="")).summary()


def test_critical_difference_by_tau_and_by_distance(results):
    by_distance = results.critical_difference("relative", truth="mae")
    assert by_distance.metrics == ("mae_po", "mae_margin", "mae_hinge")
    assert by_distance.blocks == 3
    assert by_distance.ranks[2] == 3
    by_tau = results.critical_difference("tau", truth="mae")
    assert by_tau.ranks[2] == 3  # a high tau is a good rank


def test_scores_are_means_and_spreads(results):
    row = of(results.scores, dataset="p", censoring="uniform", model="a", metric="mae_po")
    rows = results.metrics.query("dataset=='p' and censoring=='uniform' and model=='a'")
    values = rows[rows["metric"] == "mae_po"]["value"]
    assert (row["value"], row["value_sd"]) == pytest.approx((values.mean(), values.std()))
    by_model = of(results.by_model, dataset="p", censoring="uniform", model="a", metric="mae_po")
    assert by_model["difference"] == pytest.approx(row["value"] - row["true_value"])


def test_side_by_side_compares_what_both_have(exact):
    other = Results(table().query("model != 'd'").assign(truth="mae"))
    both = side_by_side(exact, other.select(metrics=["mae_po", "mae_margin"]))
    assert set(both["metric"]) == {"mae_po", "mae_margin"}
    assert (both["tau_ours"] == both["tau_published"]).all()
    assert both["winner_ours"].dtype == bool
    renamed = Results(other.metrics.replace({"model": {"a": "x", "b": "y", "c": "z"}}))
    with pytest.raises(InputError, match="no models in common"):
        side_by_side(exact, renamed)


# -- figures and text ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["grid", "panel", "summary", "critical"])
def test_every_figure_is_drawn(results, kind, tmp_path):
    pytest.importorskip("matplotlib")
    figure = results.plot(kind, truth="mae")
    figure.savefig(tmp_path / "figure.png", dpi=40)
    assert (tmp_path / "figure.png").stat().st_size > 2000


def test_the_panel_holds_what_it_draws(exact):
    from survgauge.experiment.figures import GridDisplay, PanelDisplay, short

    frame = PanelDisplay(exact, "p", "uniform").frame()
    assert len(frame) == 3 * 4
    assert frame[frame["metric"] == "mae_hinge"]["rank"].tolist() == [4, 3, 2, 1]
    assert frame[frame["metric"] == "mae_hinge"]["true_rank"].tolist() == [1, 2, 3, 4]
    grid = GridDisplay(exact, metrics=["mae_po"], censoring=["uniform"])
    assert set(grid.frame()["dataset"]) == {"p", "q"}
    assert short("rmse_po(weighted=false)") == "po\nunweighted"
    with pytest.raises(InputError, match="no results for dataset 'z'"):
        PanelDisplay(exact, "z")
    with pytest.raises(InputError, match="kind must be one of"):
        exact.plot("pie")


def test_many_columns_are_cut_to_those_without_settings():
    many = [
        table(runs=1).assign(metric=lambda t, k=k: t["metric"] + f"(tau={k})") for k in range(5)
    ]
    wide = Results(pd.concat([table(runs=1), *many]))
    from survgauge.experiment.figures import PanelDisplay

    assert PanelDisplay(wide).panel.metrics == ("mae_po", "mae_margin", "mae_hinge")


def test_text_says_who_wins_and_what_failed(results):
    failure = {"cell": {"dataset": "p", "censoring": "uniform", "model": "m", "repeat": 0,
                        "fold": 1}, "error": "FitError", "message": "no"}  # fmt: skip
    whole = Results(results.metrics, [failure], "made")
    shown = text(whole)
    for part in ("Wins over 3 data sets; truth: mae", "mae_margin", "FitError: no", "advice"):
        assert part in shown
    # One metric alone cannot win anything.
    assert "Winners; truth: harrell" not in [heading for heading, *_ in sections(whole)]
    page = markdown(whole)
    assert page.startswith("# Results of the plan made")
    assert "| mae_po | 2 | 0 | 2 |" in page


def test_write_all(results, tmp_path):
    pytest.importorskip("matplotlib")
    written = write_all(results.select(truth="mae", datasets=["p"]), tmp_path / "out")
    names = {path.relative_to(tmp_path / "out").as_posix() for path in written}
    assert {"summary.md", "tables/ranking.csv", "figures/grid-mae.png"} <= names
    assert "figures/panel-mae-p-uniform.png" in names
    assert all(path.is_file() for path in written)


# -- progress --------------------------------------------------------------------------------------


class FakeCell:
    def __init__(self, dataset, model):
        self.dataset, self.fitted = (type("Spec", (), {"label": x})() for x in (dataset, model))

    def __str__(self):
        return f"{self.dataset.label}/{self.fitted.label}"


def test_time_left_knows_models_and_data_sets():
    cells = [FakeCell("p", m) for m in ("fast", "slow")] + [
        FakeCell("q", m) for m in ("fast", "slow")
    ]
    estimate = TimeLeft(cells, jobs=2)
    assert estimate.seconds() is None
    estimate.done(cells[0], 1.0)
    estimate.done(cells[1], 9.0)
    assert estimate.seconds() == pytest.approx((1.0 + 9.0) / 2)


def test_plain_lines_where_there_is_no_terminal(capsys):
    cells = [FakeCell("p", "a"), FakeCell("p", "b")]
    with ProgressLines(cells, 1) as shown:
        shown.done(cells[0], "failed", 1.0, "FitError: no")
        shown.done(cells[1], "ok", 1.0)
    error = capsys.readouterr().err.splitlines()
    assert error[0] == "failed: p/a: FitError: no"
    assert error[-1].startswith("2/2 cells, 1 failed, 0:00:00 passed")


def test_the_live_display_shows_counts_and_failures():
    rich = pytest.importorskip("rich.console")
    import io

    from survgauge.experiment.progress import ProgressBar

    console = rich.Console(file=io.StringIO(), force_terminal=True, width=120)
    cells = [FakeCell("p", "a"), FakeCell("p", "b")]
    with ProgressBar(cells, 1, console) as shown:
        shown.done(cells[0], "failed", 1.0, "FitError: no")
        shown.done(cells[1], "ok", 1.0)
    output = console.file.getvalue()
    assert "failed: p/a: FitError: no" in output
    assert "2/2 cells, 1 failed" in output


def test_silence(capsys):
    with RunProgress([FakeCell("p", "a")], 1) as shown:
        shown.done(FakeCell("p", "a"), "ok", 1.0)
    assert capsys.readouterr().err == ""
