"""Landmarks: who is at risk, from when time counts, what was predicted then."""

from __future__ import annotations

import naive_entry as naive
import naive_entry_causes as causes
import numpy as np
import pytest

import survgauge as sg
from survgauge.data.conditional_curves import from_landmark, incidence_from_landmark
from survgauge.errors import InputError

Y, CURVES = naive.draw(0, n=200)
TRAIN, _ = naive.draw(1, n=250)


def test_by_hand() -> None:
    s = 2.5
    rows = np.flatnonzero((Y.entry <= s) & (Y.time > s))
    y = sg.Outcomes(Y.time[rows] - s, Y.event[rows])
    grid = np.arange(0.05, 14, 0.05)
    later = CURVES[rows]
    curves = sg.SurvivalCurves(grid, later.at(s + grid) / later.at(s)[:, None])
    kept = (TRAIN.entry <= s) & (TRAIN.time > s)
    train = sg.Outcomes(TRAIN.time[kept] - s, TRAIN.event[kept])
    asked = {"metrics": ["brier", "auc", "uno", "antolini", "mae_po"], "tau": 4.0}
    found = sg.evaluate({"m": CURVES}, Y, y_train=TRAIN, landmark=s, **asked)
    wanted = sg.evaluate({"m": curves}, y, y_train=train, **asked)
    for one, two in zip(found.rows(), wanted.rows(), strict=True):
        assert one["value"] == pytest.approx(two["value"], rel=2e-3), one["metric"]
    assert found.support["landmark"] == s
    assert found.support["subjects_in_all"] == len(Y)
    assert found.cases[0].code == "from-landmark"


@pytest.mark.parametrize("interpolation", ["linear", "step", "pchip"])
@pytest.mark.parametrize("s", [0.3, 2.0, 9.0, 20.0])
def test_curves_from_a_landmark(interpolation: str, s: float) -> None:
    curves = sg.SurvivalCurves(CURVES.times, CURVES.survival**0.2, interpolation)
    found = from_landmark(curves, s)
    u = np.linspace(0, 5, 11)
    inside = u + s <= 14  # past the grid the rule of the tail starts anew
    wanted = curves.at(s + u) / curves.at(s)[:, None]
    loose = 5e-3 if interpolation == "pchip" else 1e-12
    if s < 14:
        np.testing.assert_allclose(found.at(u)[:, inside], wanted[:, inside], atol=loose)
    elif interpolation == "linear":
        np.testing.assert_allclose(found.at(u), wanted, atol=1e-12)


def test_own_grids() -> None:
    times = np.sort(np.random.default_rng(0).uniform(0.5, 14, (4, 6)), axis=1)
    curves = sg.SurvivalCurves(times, np.exp(-times / 8))
    found, u = from_landmark(curves, 3.0), np.linspace(0, 2, 9)
    np.testing.assert_allclose(found.at(u), curves.at(3 + u) / curves.at(3)[:, None], atol=1e-12)
    finite = found.mean()
    assert np.isfinite(finite).all()


def test_landmark_at_zero_is_everybody_from_the_beginning() -> None:
    plain = sg.Outcomes(Y.time, Y.event)
    asked = {"metrics": ["brier", "mae_po"], "tau": 5.0}
    a = sg.evaluate({"m": CURVES}, plain, **asked)
    b = sg.evaluate({"m": CURVES}, plain, landmark=0.0, **asked)
    assert [r["value"] for r in a.rows()] == [r["value"] for r in b.rows()]


def test_times_risks_and_columns_are_cut() -> None:
    n = len(Y)
    predictions = {"t": CURVES.median(), "r": sg.RiskScores(-CURVES.median())}
    ev = sg.evaluate(
        predictions, Y, landmark=2.0, tau=5.0, metrics=["uno", "mae_hinge"],
        by={"g": np.where(np.arange(n) % 2, "a", "b")}, cluster=np.arange(n) // 2,
    )  # fmt: skip
    at_risk = int(Y.observed_at(2.0).sum())
    assert ev.support["subjects"] == at_risk
    assert len(ev.rows()) == 3 * 3


def test_surface(tmp_path: object) -> None:
    found = sg.landmarks({"m": CURVES, "n": CURVES.median()}, Y, [0, 2, 4, 40], [2, 30],
                         y_train=TRAIN, unit="years")  # fmt: skip
    surface = found.surface("brier", "m")
    assert surface.shape == (4, 2)
    assert np.isfinite(surface[:3, 0]).all()
    assert np.isnan(surface[:, 1]).all()
    codes = {warning.code for warning in found.warnings}
    assert codes == {"empty-landmark", "landmark-past-horizon"}
    single = sg.evaluate({"m": CURVES}, Y, y_train=TRAIN, landmark=2, tau=2.0, metrics=["brier"])
    assert surface[1, 0] == single.rows()[0]["value"]
    assert {"landmark", "horizon", "subjects", "low"} <= set(found.table.columns)
    pytest.importorskip("matplotlib")
    assert found.plot("uno") is not None
    page = found.to_html(tmp_path / "page.html").read_text()  # type: ignore[operator]
    assert "Predictions over landmarks" in page
    whole = single.to_html(tmp_path / "whole.html", landmarks=found)  # type: ignore[operator]
    assert "Predictions over landmarks" in whole.read_text()


def test_updated_predictions() -> None:
    updated = {0: CURVES, 2: CURVES[Y.observed_at(2.0)]}
    asked = {"metrics": "brier", "y_train": TRAIN}
    found = sg.landmarks({"once": CURVES, "updated": updated}, Y, [0, 2], [3], **asked)
    assert (found.surface("brier", "once") == found.surface("brier", "updated")).all()
    with pytest.raises(InputError, match="no entry for landmark 3"):
        sg.landmarks({"updated": updated}, Y, [3], [3], **asked)


@pytest.mark.parametrize(
    ("landmark", "said"), [(99.0, "no subject at risk at landmark 99"), (-1, "landmark must be")]
)
def test_refused(landmark: float, said: str) -> None:
    with pytest.raises(InputError, match=said):
        sg.evaluate({"m": CURVES}, Y, landmark=landmark)


def test_predictions_of_another_length() -> None:
    with pytest.raises(InputError, match="one entry per subject"):
        sg.evaluate({"m": CURVES[:7]}, Y, landmark=2.0)


def test_the_verdict_says_from_when_on() -> None:
    rng = np.random.default_rng(1)
    scale = 10 * np.exp(-0.6 * rng.normal(size=120))
    time, limit = scale * rng.weibull(1.3, 120), rng.uniform(2, 25, 120)
    grid = np.linspace(0, 40, 60)
    curves = sg.SurvivalCurves(grid, np.exp(-((grid / scale[:, None]) ** 1.3)))
    y = sg.Outcomes(np.minimum(time, limit), time <= limit)
    found = sg.evaluate(curves, y, landmark=2.0, tau=5.0, unit="years", metrics="mae_within")
    assert "within the first 5 years from 2 years on" in str(found.verdict)


@pytest.mark.parametrize("updated", [False, True])
def test_a_landmark_goes_with_a_cause(updated: bool) -> None:
    y, curves = causes.draw(0, n=200)
    s, asked = 3.0, {"cause": "dementia", "tau": 5.0, "confidence": None}
    rows = y.observed_at(s)
    given = curves[rows] if updated else curves
    found = sg.evaluate({"m": given}, y, landmark=s, y_train=y, **asked)
    late, later = y.from_landmark(s), incidence_from_landmark(curves[rows], s)
    wanted = sg.evaluate({"m": later}, late, y_train=late, **asked)
    assert late.entry is None
    assert [str(row) for row in found.rows()] == [str(row) for row in wanted.rows()]
    assert found.support["landmark"] == s
    assert found.support["subjects_in_all"] == 200
    assert {row["metric"] for row in found.rows()} >= {"antolini", "ici", "mae_pop_po"}
    with pytest.raises(sg.InputError, match="must be IncidenceCurves"):
        sg.evaluate({"m": curves.survival()}, y, landmark=s, **asked)
