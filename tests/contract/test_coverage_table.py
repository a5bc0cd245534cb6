"""The page on intervals and tests: it shows what was measured, and leaves no metric out."""

from __future__ import annotations

import json

import pytest
from coverage_table import simulation

from survgauge.metrics.registry import REGISTRY, metrics_of

page, results = simulation("page"), simulation("results")
if not page.DATA.exists():
    pytest.skip("the pages are not in a source distribution", allow_module_level=True)
DATA = json.loads(page.DATA.read_text(encoding="utf-8"))
FOUND = results.Results(DATA["rows"])


def test_the_page_is_what_the_numbers_say():
    assert page.PAGE.read_text(encoding="utf-8") == page.render(DATA)


def test_no_part_of_the_page_was_forgotten():
    assert "<<" not in page.render(DATA)


#: What to do about a metric without simulated numbers.
SIMULATE = "run PYTHONPATH=src:benchmarks python -m simulation --metrics {}"

# With a target, the interval of the true model has to cover that.
TARGETS = [name for name, metric in metrics_of().items() if metric.target is not None]
INTERVALS = [n for n, m in metrics_of().items() if m.inference != "test" and n not in TARGETS]


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_is_covered_for_the_true_model(name):
    for kind in results.KINDS:
        for n in results.SIZES:
            row = FOUND.get(metric=name, study="tests", model="true", censoring=kind, n=n)
            assert row is not None, f"{name}, {kind}, {n}: {SIMULATE.format(name)}"
            assert row["limit"] == REGISTRY[name].target
            if kind in results.INDEPENDENT:  # one Kaplan-Meier for all subjects is wrong elsewhere
                assert 90 <= row["covers_limit"] <= 99


@pytest.mark.parametrize("name", INTERVALS)
def test_every_interval_was_simulated_by_censoring_and_size(name):
    far = name in FOUND.metrics("distances")
    study = "distances" if far else page.study_of(FOUND, name)
    for kind in results.INDEPENDENT if far else results.KINDS:
        for n in results.SIZES:
            key = {"study": study, "censoring": kind, "train": 1000, "model": "twin a"}
            row = FOUND.get(metric=name, n=n, **key)
            assert row is not None, f"{name}, {kind}, {n}: {SIMULATE.format(name)}"
            assert row["reps"] > row["undefined"]
            assert 0 <= row[f"covers_{page.target_of(name)}"] <= 100


@pytest.mark.parametrize("name", [n for n, m in metrics_of().items() if m.inference == "test"])
@pytest.mark.parametrize("model", ["true", "late"])
def test_every_test_has_a_size_and_a_power(name, model):
    for kind in results.KINDS:
        for n in results.SIZES:
            key = {"study": "tests", "censoring": kind, "n": n, "model": model}
            row = FOUND.get(kind="test", metric=f"{name} in evaluate", **key)
            assert row is not None, f"{name}, {kind}, {n}: {SIMULATE.format(name)}"
            assert 0 <= row["rejected"] <= 100
