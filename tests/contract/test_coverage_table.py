"""The page on intervals and tests: it shows what was measured, and leaves no metric out."""

from __future__ import annotations

import json

import pytest
from coverage_table import simulation

from survgauge.metrics.registry import metrics_of

page, results, plan = simulation("page"), simulation("results"), simulation("plan")
tables = simulation("tables")
if not page.DATA.exists():
    pytest.skip("the pages are not in a source distribution", allow_module_level=True)
DATA = json.loads(page.DATA.read_text(encoding="utf-8"))
FOUND = results.Results(DATA["cells"])
#: What to do about a metric without simulated numbers.
SIMULATE = "run make coverage-table ONLY=intervals-weibull"


def test_the_page_is_what_the_numbers_say():
    assert page.PAGE.read_text(encoding="utf-8") == page.render(DATA)


def test_no_part_of_the_page_was_forgotten():
    assert "<<" not in page.render(DATA)


@pytest.mark.parametrize("name", [n for n, m in metrics_of().items() if m.inference != "test"])
def test_every_interval_was_simulated_by_share_censored_and_size(name):
    for column in tables.INDEPENDENT:
        for n in plan.SIZES:
            rows = FOUND.select(metric=name, hazard="weibull", column=column, n=n, model="right")
            assert len(rows) == 1, f"{name}, {column}, {n}: {SIMULATE}"
            assert 0 <= results.covers(rows[0]) <= 100


@pytest.mark.parametrize("name", [n for n, m in metrics_of().items() if m.inference == "test"])
@pytest.mark.parametrize("model", results.MODELS)
def test_every_test_has_a_size_and_a_power(name, model):
    for hazard in plan.HAZARDS:
        for n in plan.SIZES:
            key = {"hazard": hazard, "column": "50i", "n": n, "model": model}
            assert FOUND.select("test", metric=name, **key), f"{name}, {key}: {SIMULATE}"


#: What the page promises for independent censoring, with all hazards, shares and models together.
PROMISED = ("mae_within", "mae_dr", "mae_ipcw_d", "brier", "ibs", "uno", "auc", "net_benefit")


@pytest.mark.parametrize("name", [*PROMISED, "harrell", "antolini", "observed_expected"])
def test_promised_coverage_was_found(name):
    for n in plan.SIZES:
        share, _ = results.pooled(FOUND.select(metric=name, column=tables.INDEPENDENT, n=n))
        assert 93 <= share <= 97
