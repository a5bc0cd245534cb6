"""Small faults of the page and of messages that new users met."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import survgauge as sg
from survgauge.cli.main import main
from survgauge.report import evaluation_html
from survgauge.report.displays import display

Y = (np.arange(1.0, 41.0), np.arange(40) % 3 > 0)


@pytest.fixture(scope="module")
def page():
    return evaluation_html(sg.evaluate({"a": Y[0] + 1, "b": Y[0] * 0 + 20}, Y, y_train=Y))


def test_the_date_of_a_page_stays_on_one_line(page):
    assert re.search(r"<time>\d{4}-\d\d-\d\d</time>", page)
    assert "time { white-space: nowrap; }" in page


def test_the_arrow_of_a_column_stays_with_its_title(page):
    arrows = re.findall(r'button::after { content: "([^"]+)"; color', page)
    assert len(arrows) == 3
    assert all(arrow.startswith("\\a0\\21") for arrow in arrows)


def test_the_call_stands_in_a_cell_of_its_row(page):
    assert re.search(r">Call</th><td><code>survgauge\.evaluate\(", page)


def test_drawings_that_leave_the_page_have_colours_only(page):
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    assert {"soft", "ink", "card", "page", "line"} <= set(data["light"])
    for value in data["light"].values():
        assert re.fullmatch(r"#[0-9a-f]{3,6}|\d+, \d+, \d+", value), value


def test_a_bare_command_shows_the_help(capsys):
    assert main([]) == 0
    assert "survgauge evaluate --test" in capsys.readouterr().out


def test_a_coxnet_without_baseline_is_told_how_to_have_curves():
    linear_model = pytest.importorskip("sksurv.linear_model")
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.array(list(zip(Y[1], Y[0], strict=True)), dtype=[("event", bool), ("time", float)])
    model = linear_model.CoxnetSurvivalAnalysis().fit(X, y)
    told = r"CoxnetSurvivalAnalysis gives risk only; .*baseline_model=True"
    with pytest.raises(sg.InputError, match=told):
        sg.scorer("mae_within")(model, X, y)
    curves = linear_model.CoxnetSurvivalAnalysis(fit_baseline_model=True).fit(X, y)
    assert sg.scorer("mae_within", y_train=Y)(curves, X, y) < 0


@pytest.fixture(scope="module")
def weighted():
    rng = np.random.default_rng(4)
    x, grid = rng.normal(size=200), np.linspace(0, 20, 21)
    time, end = rng.exponential(8 * np.exp(-x)), rng.uniform(2, 20, 200)
    curves = sg.SurvivalCurves(grid, np.exp(-grid / (8 * np.exp(-x))[:, None]))
    y = np.minimum(time, end), time <= end
    sample = {"sample_weight": np.where(x > 0, 3.0, 1.0), "cluster": np.arange(200) % 20}
    return sg.evaluate({"cox": curves}, y, y_train=y, time=5, **sample)


def test_a_page_says_where_charts_leave_sampling_weights_out(weighted):
    page = evaluation_html(weighted)
    assert "<dt>Clusters</dt><dd>20</dd>" in page
    assert re.search(r"<dt>Sampling weights</dt><dd>worth \d+ subjects of equal weight</dd>", page)
    assert "Calibration is shown without the sampling weights" in page
    section = page.partition('id="calibration-title"')[2].partition("<figure")[0]
    assert "as they were sampled, without their sampling weights" in section
    alone = evaluation_html(sg.evaluate({"a": Y[0] + 1}, Y, y_train=Y))
    assert "sampling weights" not in alone


def test_a_study_says_why_a_metric_has_no_value(weighted):
    study = weighted.study(metrics=["ici", "ibs"])
    notes = " ".join(study.table_two.notes)
    assert "n/a: Integrated calibration index (ICI) at 5 (cox): takes no sampling weights" in notes
    assert "X_test" not in notes
    assert "Calibration was measured" not in study.methods.plain()[1]


def test_bands_over_time_stay_in_the_range_of_the_metric(weighted):
    auc = display(weighted, "auc").frame()
    assert auc["high"].max() < 1
    assert display(weighted, "brier").frame()["low"].min() >= 0
    at = auc[~auc["baseline"]]
    ends = np.log(at["high"] / (1 - at["high"])) + np.log(at["low"] / (1 - at["low"]))
    middle = 2 * np.log(at["value"] / (1 - at["value"]))
    np.testing.assert_allclose(ends, middle, rtol=1e-9)


def test_a_heading_is_printed_with_what_it_heads(page):
    printed = page.partition("@media print")[2]
    assert re.search(r"section > div:has\(> h2\) \{ break-after: avoid; \}", printed)


def test_a_message_about_numbers_is_short():
    values = {"relapse": np.zeros((40, 9)), "death": np.ones((40, 9))}
    with pytest.raises(sg.InputError, match="values must be numbers; got dict") as raised:
        sg.IncidenceCurves(np.arange(9.0), values)
    assert len(str(raised.value)) < 100
