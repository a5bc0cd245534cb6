"""Warnings of one kind are one, in text and on the page."""

from __future__ import annotations

import re

import numpy as np
import pytest

import survgauge as sg
from survgauge.evaluation.text import _OPTIONS, first_screen, plain_text
from survgauge.evaluation.verdict import first_metrics
from survgauge.evaluation.warning_kinds import EvaluationWarning
from survgauge.evaluation.warnings import (
    WEIGHTS,
    by_weight,
    counted,
    graded,
    joined,
    marked_advice,
    warnings_of,
)
from survgauge.report import evaluation_html


@pytest.fixture(scope="module")
def evaluation():
    rng = np.random.default_rng(1)
    n, grid = 300, np.array([0.0, 365.0, 730.0])
    x = rng.normal(size=n)
    t, c = rng.weibull(1.3, n) * 800 * np.exp(-0.5 * x), rng.uniform(0, 2500, n)
    y = sg.Outcomes(np.minimum(t, c), t <= c)
    models = {
        name: sg.SurvivalCurves(grid, np.exp(-((grid / (800 * np.exp(-b * x))[:, None]) ** 1.3)))
        for name, b in (("cox", 0.5), ("forest", 0.3))
    }
    sex = np.where(rng.random(n) < 0.5, "f", "m")
    return sg.evaluate(models, y, y_train=y, by=sex, metrics=["mae_po", "ibs", "ibll", "crps"])


def test_a_remark_names_metrics_models_and_groups(evaluation):
    text = evaluation.to_text()
    past = [line for line in text.split("\n") if "[past-curve]" in line]
    assert len([w for w in evaluation.cases if w.code == "past-curve"]) == 18
    assert len([w for w in evaluation.warnings if w.code == "past-curve"]) == 2
    assert len(past) == 2
    assert past[0].startswith(
        "  [past-curve] ibs and ibll (all models; also in groups f and m): the last predicted time "
    )
    assert (
        "crps (all models; also in groups f and m): for example cox, all subjects: the" in past[1]
    )
    # What to do is said once.
    assert all(line.count("predict up to") == 1 for line in past)
    assert str(evaluation).count("[past-curve]") == 2


def test_the_page_tells_each_remark_once(evaluation):
    page = evaluation_html(evaluation)
    assert page.count("Integrated Brier score and Integrated log loss (all") == 1
    assert sum(len(warning.cases) for warning in evaluation.warnings) == len(evaluation.cases)
    assert warnings_of(evaluation.to_dict()) == evaluation.warnings


def test_numbers_of_pairs_are_counted():
    cases = [
        EvaluationWarning("tail-decides", f"{a} and {b} compare differently", metric="mae_po")
        for a, b in (("m1", "m2"), ("m1", "m11"), ("m1", "the Kaplan-Meier baseline"))
    ]
    data = {"models": ["m1", "m2", "m11"], "metrics": [], "support": {}}
    [warning] = joined(cases, data)
    assert warning.text() == ("mae_po", "m1 and m2 compare differently (2 more of this kind)")
    # An earlier version wrote every case by itself.
    assert warnings_of(data | {"warnings": [case.to_dict() for case in cases]}) == [warning]


def test_one_count_everywhere(evaluation):
    warnings = evaluation.warnings
    n, data = len(warnings), evaluation.to_dict()
    assert n < len(evaluation.cases)
    assert len(data["warnings"]) == n
    assert f"{n} warnings" in repr(evaluation)
    assert f"of {n}" in str(evaluation).split("\nWarnings (")[1].split("\n")[0]
    assert f"{counted(warnings)}: .warnings" in str(evaluation)
    assert f"Warnings ({n})" in evaluation.to_text()
    shown = plain_text(first_screen(evaluation, 80, shell=True))
    told, total = re.search(r"Warnings \((\d+) of (\d+)\)", shown).groups()
    assert int(total) == n
    assert len(re.findall(r"^  \[", shown, flags=re.MULTILINE)) == int(told)
    assert counted(warnings) in shown
    page = evaluation_html(evaluation)
    assert by_weight(warnings) in page
    badges = re.findall(r'<span class="badge">(\w+)</span>', page)
    assert sorted(badges) == sorted(warning.weight for warning in warnings)
    assert counted(warnings) in evaluation._repr_html_()


def test_warnings_on_the_first_screen_are_about_what_it_shows(evaluation):
    shown = first_metrics(evaluation.to_dict())
    places = [
        (w.weight == "note", not w.about(shown), WEIGHTS.index(w.weight))
        for w in evaluation.warnings
    ]
    assert places == sorted(places)


def _case(code, metric, affected=None):
    return EvaluationWarning(code, f"about {metric}", "m", metric, affected=affected)


def test_order_is_by_relevance_then_gravity_then_share():
    rows = [
        {"metric": name, "model": "m", "value": 1.0}
        for name in ("mae_within", "ibs", "harrell", "mae_po", "mae_dr", "ici", "auc", "crps")
    ]
    data = {"models": ["m"], "metrics": rows, "support": {}}
    cases = [
        _case("excluded", "mae_within"),
        _case("tail-decides", "mae_po"),
        _case("tail-times", "mae_within", 0.2),
        _case("unseen-times", "mae_within", 0.3),
        _case("distribution-tail", "mae_within", 0.7),
        _case("robust-differs", "mae_dr", 0.6),
    ]
    found = [(w.code, w.weight) for w in joined(cases, data)]
    assert found == [
        ("distribution-tail", "problem"),
        ("unseen-times", "caution"),
        ("tail-times", "caution"),
        ("tail-decides", "problem"),
        ("robust-differs", "problem"),
        ("excluded", "note"),
    ]


def test_weight_goes_by_how_much_is_affected():
    assert graded("tail-times", 0.49) == "caution"
    assert graded("tail-times", 0.5) == "problem"
    assert graded("past-curve", 0.049) == "caution"
    assert graded("past-curve") == graded("past-curve", 0.05) == "problem"
    assert graded("excluded", 1.0) == "note"
    assert graded("of a later version") == "caution"
    cases = [_case("tail-times", "mae_po", share) for share in (0.1, 0.8, 0.3)]
    [warning] = joined(cases, {"models": ["m"], "metrics": [], "support": {}})
    assert (warning.weight, warning.affected) == ("problem", 0.8)
    assert [case.affected for case in warning.cases] == [0.8, 0.3, 0.1]


def test_advice_that_a_score_cannot_follow_is_not_given():
    # Its horizon is the last time that the data support: a tau next to that changes nothing.
    support = {"tau": None, "horizon": 83.995}
    told = marked_advice("mean-weight", "ibs", support)
    assert told.startswith("set an earlier `tau` than 83.995, or a G")
    assert "set `tau` (for example 83)" in marked_advice("mean-weight", "mae_ipcw_d", support)
    late = marked_advice("mean-weight", "ibs", {**support, "delayed_entry": 9})
    assert "`landmark`" in late
    assert "G" not in late


def test_a_shell_has_names_of_its_own(evaluation):
    case = EvaluationWarning("large-weight", "one subject stands for 30", metric="ibs")
    [warning] = joined([case], evaluation.to_dict())
    told = warning.advice(evaluation.support, _OPTIONS)
    assert "--tau" in told
    assert "min_g (in Python)" in told
