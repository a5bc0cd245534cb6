"""Small faults of the page and of messages that new users met."""

from __future__ import annotations

import re

import numpy as np
import pytest

import survgauge as sg
from survgauge.cli.main import main
from survgauge.report import evaluation_html

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
