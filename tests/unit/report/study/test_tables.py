"""Table 1 and Table 2 of a study."""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pytest
from study_parts import evaluation, features, outcomes

import survgauge as sg
from survgauge.metrics.registry import metrics_of
from survgauge.report.study.table_one import table_one


def cells(table):
    return {row[0]: row[1:] for row in table.rows}


def test_table_one_has_training_beside_test():
    _, y, _ = outcomes()
    study = evaluation().study(X_test=features(slice(120, None)), X_train=features(slice(0, 120)))
    table = study.table_one
    assert table.header == ("Characteristic", "Training set", "Test set")
    found = cells(table)
    assert found["Subjects"] == ("120", "120")
    died = [int(y[:120].event.sum()), int(y[120:].event.sum())]
    assert found["Events, n (%)"] == tuple(f"{d} ({100 * d / 120:.0f})" for d in died)
    assert found["age: missing, n (%)"] == ("3 (2)", "3 (2)")
    assert found["Longest follow-up, days"][1] == f"{y[120:].time.max():.4g}"
    age = features(slice(120, None))["age"]
    low, median, high = np.nanquantile(age, (0.25, 0.5, 0.75))
    assert found["age, median (quartiles)"][1] == f"{median:.4g} ({low:.4g} to {high:.4g})"
    stage = features(slice(0, 120))["stage"]
    n = int(np.sum(stage == "III"))
    assert found["stage: III, n (%)"][0] == f"{n} ({100 * n / 120:.0f})"
    # Numbers that are codes are counted.
    assert "flag: 1, n (%)" in found


def test_table_one_says_what_was_not_observed():
    y = sg.Outcomes([1, 2, 3, 4], [1, 1, 1, 0])
    table = table_one({"Test set": y}, [2.0, 9.0])
    found = [row[1] for row in table.rows if row[0].startswith("Event-free")]
    assert found[0].startswith("50.0 (")
    assert found[1] == "not observed"
    assert any(note.startswith("Not observed") for note in table.notes)
    assert cells(table)["Median follow-up (95 % CI)"] == ("4 (4 to not reached)",)


def test_table_one_tells_a_limit_from_the_left():
    y = sg.Outcomes([1, 2, 52, 52], [1, 0, 1, 0])
    table = table_one({"Test set": y}, [float(np.nextafter(52, 0)), 52.0], unit="weeks")
    rows = list(table.rows)
    first = rows.index(("Just before 52 weeks",))
    assert rows[first + 1] == ("Events until then", "1")
    second = rows.index(("At 52 weeks",))
    assert rows[second + 1] == ("Events until then", "2")


def test_features_need_names_and_a_value_for_everybody():
    study = evaluation().study
    with pytest.raises(sg.InputError, match="mapping of names"):
        _ = study(X_test=np.zeros((120, 2))).table_one
    with pytest.raises(sg.InputError, match="one value per subject"):
        _ = study(X_test={"age": [1, 2]}).table_one
    with pytest.raises(sg.InputError, match="y_train"):
        evaluation(train=False).study(X_train={"age": [1]})


def test_many_categories_share_a_row():
    y = sg.Outcomes(np.arange(1, 31), np.ones(30))
    labels = [f"c{k % 15:02}" for k in range(30)]
    table = table_one({"Test set": y}, [], features={"Test set": {"site": labels}})
    rows = [row for row in table.rows if row[0].startswith("site")]
    assert len(rows) == 10
    assert rows[-1] == ("site: 6 other values, n (%)", "12 (40)")


def test_many_groups_share_a_row():
    y = sg.Outcomes(np.arange(1, 31), np.ones(30))
    groups = {f"g{k}": {"subjects": k, "events": 1} for k in range(1, 26)}
    rows = table_one({"Test set": y}, [], groups=groups).rows
    assert rows[-1] == ("5 smaller groups", "15, 5")
    assert len([row for row in rows if row[0].startswith("g")]) == 20


def test_sampling_weights_are_told():
    ev = evaluation(sample_weight=(1.0, 2.0) * 60, metrics="study")
    assert "sampling weights" in ev.study().table_one.notes[-1]
    assert "effective number" in " ".join(ev.study().methods.plain())


def test_table_two_rows_come_from_the_evaluation():
    ev = evaluation()
    table = ev.study().table_two
    assert table.header == ("Metric", "Model", "Estimate (95 % CI)")
    rows = [row for row in table.rows if len(row) > 1]
    place = next(k for k, row in enumerate(rows) if row[0] == "AUC, at 300 days")
    for k, model in enumerate(ev.models):
        score = next(s for s in ev.scores if s.metric.name == "auc" and s.model == model)
        assert rows[place + k][1:] == (
            model, f"{score.value:.3f} ({score.low:.3f} to {score.high:.3f})",
        )  # fmt: skip
    headings = [row[0] for row in table.rows if len(row) == 1]
    assert headings[:3] == ["Discrimination", "Calibration", "Overall performance"]
    named = [row[0] for row in rows if row[0]]
    assert any(re.match(r"MAE within the horizon \(days\), up to [\d.]+ days", n) for n in named)
    # Neither tests nor errors without a horizon belong to the table of a study.
    assert not any("D-calibration" in name or "pseudo" in name for name in named)


def test_differences_are_from_the_reference_and_adjusted_alike():
    ev = evaluation(("cox_ph", "a & b", "risk"))
    table = ev.study(reference="cox_ph").table_two
    assert table.header[3:] == ("Difference from cox_ph (95 % CI)", "p")
    rows = [row for row in table.rows if len(row) > 1]
    place = next(k for k, row in enumerate(rows) if row[0] == "Harrell's C")
    assert rows[place][3:] == ("reference", "-")
    pairs = {
        (row["model_a"], row["model_b"]): row
        for row in ev.comparisons("cox_ph")
        if row["metric"] == "harrell"
    }
    assert set(pairs) == {("a & b", "cox_ph"), ("risk", "cox_ph")}
    assert all(row["family"] == 2 for row in pairs.values())
    values = {s.model: s.value for s in ev.scores if s.metric.name == "harrell"}
    row = pairs["risk", "cox_ph"]
    assert row["difference"] == pytest.approx(values["risk"] - values["cox_ph"], abs=1e-15)
    shown = rows[place + 2][3]
    assert shown.startswith(f"{row['difference']:.3f} (")
    # The interval leaves out 0 exactly where p is below 0.05.
    zero_inside = row["low_simultaneous"] <= 0 <= row["high_simultaneous"]
    assert zero_inside == (row["p_simultaneous"] >= 0.05)
    note = next(note for note in table.notes if "Bonferroni" in note)
    assert "model minus cox_ph" in note


def test_a_single_model_has_no_column_of_models():
    table = evaluation(("cox_ph",)).study().table_two
    assert table.header == ("Metric", "Estimate (95 % CI)")
    assert table.title == "Performance of the model"


def test_named_metrics_are_all_reported():
    ev = evaluation(metrics=("mae_po", "d_calibration", "harrell"))
    assert [row[0] for row in ev.study().table_two.rows] == ["Discrimination", "Harrell's C", ""]
    study = ev.study(metrics=["d_calibration", "mae_po"])
    named = [row[0] for row in study.table_two.rows if row[0]]
    assert named[1] == "D-calibration"
    assert {score.metric.name for score in study.evaluation.scores} == {"d_calibration", "mae_po"}
    with pytest.raises(sg.InputError, match="metrics"):
        ev.study(metrics=["brier"])


def test_a_word_stands_for_the_metrics_of_a_study():
    wanted = {metric.name for metric in metrics_of().values() if metric.reported}
    ev = evaluation(metrics="study", threshold=0.3)
    assert {score.metric.name for score in ev.scores} == wanted
    assert "net_benefit" in wanted
    named = [row[0] for row in ev.study().table_two.rows]
    assert "Net benefit at a threshold of 30 %, at 300 days" in named
    assert "Calibration intercept, at 300 days" in named
    without = evaluation(metrics="study")
    assert {score.metric.name for score in without.scores} == wanted - {"net_benefit"}
    names = np.array(["harrell", "uno"])
    _, y, _ = outcomes()
    ev = sg.evaluate(np.arange(240.0), y, metrics=names)
    assert [row[0] for row in ev.study(metrics=names).table_two.rows][1:2] == ["Harrell's C"]
    # A model of risks alone has no undefined rows.
    alone = evaluation(("risk",), metrics="study")
    assert {score.metric.name for score in alone.scores} == {"harrell", "uno", "auc"}
    assert [remark.code for remark in alone.warnings if remark.code == "undefined-metric"] == []


def test_bad_references_are_named():
    with pytest.raises(sg.InputError, match="reference"):
        evaluation().study(reference="coxph")
    with pytest.raises(sg.InputError, match="no other model"):
        evaluation(("cox_ph",)).study(reference="cox_ph")
    with pytest.raises(sg.InputError, match="reference"):
        evaluation().comparisons("nobody")


def test_without_intervals():
    ev = evaluation(confidence=None)
    table = ev.study(reference="a & b").table_two
    assert table.header == ("Metric", "Model", "Estimate", "Difference from a & b")
    assert all("(" not in row[2] for row in table.rows if len(row) > 1)


def test_long_tables_are_cut_into_pages_that_compile(tmp_path):
    models = ("cox_ph", "a & b", "risk")
    table = evaluation(models, time=(100.0, 200.0, 300.0)).study(reference="cox_ph").table_two
    text = table.latex()
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") > 1
    assert text.count(r"\caption{") == 1
    if shutil.which("pdflatex") is None:
        pytest.skip("needs pdflatex")
    document = "\\documentclass{article}\n\\begin{document}\n%s\\end{document}\n"
    (tmp_path / "t.tex").write_text(document % text)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Float too large" not in done.stdout
