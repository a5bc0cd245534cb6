"""The script behind docs/results/competing.md: its truths by loops, its page from its numbers."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPTS = Path(__file__).parents[3] / "docs" / "scripts"
if not SCRIPTS.is_dir():
    pytest.skip("the scripts are not in a source distribution", allow_module_level=True)
pytest.importorskip("sklearn")
pytest.importorskip("pandas")
pytest.importorskip("threadpoolctl")
pytest.importorskip("matplotlib")

import survgauge as sg  # noqa: E402


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import competing_truth

    yield competing_truth
    sys.modules.pop("competing_truth", None)


def scenario(script, censored):
    made = sg.datasets.synthetic_causes(120, 3, causes=script.CAUSES)
    drawn = sg.semisynthetic(made.X, made.y, "exponential", 1) if censored else None
    true = made.y if drawn is None else made.y[drawn.rows]
    y = true if drawn is None else drawn.y
    rows = np.arange(len(true))
    train, test = rows[rows % 2 == 0], rows[rows % 2 == 1]
    X = made.X if drawn is None else drawn.X
    curves = sg.models.build("cause_specific_cox").fit(X[train], y[train])
    q = script.Question(y[test], y[train], true[test], 2, 3.0, 6.0)
    return curves.predict_incidence(X[test]), q


def test_truths_are_plain_loops_over_subjects(script):
    curves, q = scenario(script, censored=True)
    _, truth = script.measured(curves, q)
    at, end = curves.at(q.time, 2), curves.at(q.tau, 2)
    median, lost = curves.quantile(0.5, 2), curves.rmtl(q.tau, 2)
    brier, absolute, squared, agree, pairs = [], [], [], 0.0, 0
    case_wins, case_pairs = 0.0, 0
    for i in range(len(q.true)):
        t, mine = q.true.time[i], q.true.cause[i] == 2
        brier.append((float(mine and t <= q.time) - at[i]) ** 2)
        free = t if mine and t < q.tau else q.tau
        said = q.tau if np.isnan(median[i]) or median[i] > q.tau else median[i]
        absolute.append(abs(said - free))
        squared.append((q.tau - lost[i] - free) ** 2)
        for j in range(len(q.true)):
            later = q.true.time[j] > t or q.true.cause[j] != 2  # no event of the cause by t
            if mine and t < q.tau and j != i and later:
                pairs += 1
                agree += (end[i] > end[j]) + 0.5 * (end[i] == end[j])
            control = q.true.time[j] > q.time or q.true.cause[j] != 2
            if mine and t <= q.time and control:
                case_pairs += 1
                case_wins += (at[i] > at[j]) + 0.5 * (at[i] == at[j])
    assert truth["brier"] == pytest.approx(np.mean(brier))
    assert truth["mae_dr"] == truth["mae_po"] == pytest.approx(np.mean(absolute))
    assert truth["rmse_dr"] == pytest.approx(np.sqrt(np.mean(squared)))
    assert truth["c_uno"] == pytest.approx(agree / pairs)
    assert truth["c_harrell"] == pytest.approx(agree / pairs)
    assert truth["auc"] == pytest.approx(case_wins / case_pairs)
    assert set(truth) >= {f"{name} ({script.MISTAKE})" for name in ("brier", "mae_dr", "auc")}


def test_without_censoring_the_right_metrics_are_the_truth(script):
    curves, q = scenario(script, censored=False)
    values, truth = script.measured(curves, q)
    right = [name for name in values if script.MISTAKE not in name]
    assert len(right) == 11
    for name in right:
        assert values[name] == pytest.approx(truth[name], rel=1e-9), name
    wrong = values[f"brier ({script.MISTAKE})"]
    assert abs(wrong - truth["brier"]) > 0.005


def test_the_page_has_the_stored_numbers(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import competing_page

    page, _ = competing_page.pages()
    assert page == (competing_page.HERE / "competing.md").read_text()
    assert "{{" not in page
