"""What the numbers say: sentences and tables made from the numbers alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .plan import HAZARDS, SIZES
from .results import COVERAGE, SIZE, Results, Row, cell, outside, pooled, span
from .tables import INDEPENDENT, has_best, is_surrogate, table, views
from .truth import estimates_truth

Group = tuple[str, dict[str, Any]]


def findings(results: Results) -> list[str]:
    """Return the sentences at the head of the page."""
    makers = (
        _as_promised, _features, _dependent, _po, _tests, _equal, _functions, _selection,
    )  # fmt: skip
    return [sentence for make in makers for sentence in make(results)]


def _designs() -> Iterator[tuple[str, list[Group]]]:
    """Designs whose coverage is promised, and their scenarios."""
    yield (
        "Independent censoring",
        [
            (f"{hazard}, n = {n}", {"hazard": hazard, "n": n, "column": INDEPENDENT})
            for hazard in HAZARDS
            for n in SIZES
        ],
    )
    yield (
        "Two causes",
        [(f"{c}, n = {n}", {"causes": 2, "column": c, "n": n}) for c in INDEPENDENT for n in SIZES],
    )
    yield "Delayed entry", [(f"n = {n}", {"entry": True, "n": n}) for n in SIZES]
    yield "Clusters", [(f"{k} clusters", {"clusters": k}) for k in (12, 40)]
    yield "Sampling weights", [(f"n = {n}", {"weights": True, "n": n}) for n in SIZES]


@dataclass(frozen=True)
class Judged:
    """Coverage of a metric in a scenario, with an arrow where it is not as promised."""

    metric: str
    title: str
    scenario: str
    coverage: float
    arrow: str

    @property
    def by_cox(self) -> bool:
        """Whether the metric assumes proportional hazards."""
        return self.metric.endswith("_cox")


def _judged(results: Results, groups: list[Group]) -> list[Judged]:
    found = []
    names = dict.fromkeys(name for _, wanted in groups for name in results.metrics(**wanted))
    asked = [(name, *view) for name in names if not is_surrogate(name) for view in views(name)]
    for name, title, model, promise in asked:
        for scenario, wanted in groups:
            value = pooled(results.select(metric=name, **model, **wanted))
            if value is not None:
                found.append(Judged(name, title, scenario, value[0], outside(value, promise)))
    return found


def _as_promised(results: Results) -> Iterator[str]:
    """How many combinations keep the promise, and what the forms by Cox models do."""
    by_cox: list[Judged] = []
    told = []
    for design, groups in _designs():
        judged = _judged(results, groups)
        by_cox += [j for j in judged if j.by_cox]
        plain = [j for j in judged if not j.by_cox]
        if plain:
            kept = sum(not j.arrow for j in plain)
            told.append(f"{design.lower()} {kept} of {len(plain)}")
    if told:
        yield (
            "**Where censoring is independent, intervals cover as they should, with few "
            "exceptions.** Combinations of metric, model and scenario that do not clearly differ "
            f"from the target: {', '.join(told)}. [All others](#exceptions) are listed below."
        )
    if by_cox:
        covered = sorted(round(j.coverage) for j in by_cox)
        yield (
            "**`calibration_slope_cox` and `ici_cox` assume proportional hazards** and are not "
            f"among the default metrics. Their intervals cover {covered[0]} to {covered[-1]} %: "
            "use `calibration_slope` and `ici`, which make no such assumption."
        )


def exceptions(results: Results) -> str:
    """Table of metrics whose intervals cover less, or more, than promised."""
    lines = []
    for design, groups in _designs():
        wrong = [j for j in _judged(results, groups) if j.arrow and not j.by_cox]
        for title in dict.fromkeys(j.title for j in wrong):
            told = [f"{j.scenario}: {j.coverage:.0f}{j.arrow}" for j in wrong if j.title == title]
            lines.append([design, title, "; ".join(told)])
    return table(["design", "metric", "coverage in %"], lines)


def _truths(rows: list[Row]) -> list[Row]:
    return [
        row for row in rows
        if estimates_truth(row["metric"])
        and not has_best(row["metric"]) and not is_surrogate(row["metric"])
    ]  # fmt: skip


_GIVEN, _NOT_GIVEN = ("50m", "75s"), ("50m", "50s", "75m", "75s")


def _features(results: Results) -> Iterator[str]:
    rows = _truths(results.select(features=True))
    names = dict.fromkeys(row["metric"] for row in rows)
    values = {name: _columns(rows, name, _GIVEN) for name in names}
    lost = [n for n, found in values.items() if any(outside(v, COVERAGE) == "↓" for v in found)]
    if rows:
        covered = sorted(round(value) for found in values.values() for value, _ in found)
        yield (
            "**Where censoring depends on covariates that are given** (`X_train=`, `X_test=`), "
            f"intervals cover {covered[0]} to {covered[-1]} % (800 subjects, all hazards "
            "together), "
            + (f"**which is below the target for {', '.join(lost)}**." if lost else "as promised.")
        )


def _dependent(results: Results) -> Iterator[str]:
    if _truths(results.select(column=_NOT_GIVEN, n=800)):
        yield (
            "**Where censoring depends on covariates that are not given, coverage is too low**, "
            "and nothing in the numbers shows it. [The table](#covariates-given-and-not-given) "
            "compares both."
        )


def _columns(rows: list[Row], name: str, columns: tuple[str, ...]) -> list[tuple[float, int]]:
    own = [row for row in rows if row["metric"] == name]
    values = [pooled(row for row in own if row["column"] == column) for column in columns]
    return [value for value in values if value is not None]


def covariates(results: Results) -> str:
    """Table of coverage under dependent censoring, without and with covariates."""
    given = _truths(results.select(features=True))
    without = _truths(results.select(column=_NOT_GIVEN, n=800))
    lines = []
    for name in dict.fromkeys(row["metric"] for row in without):
        own = [[row for row in rows if row["metric"] == name] for rows in (without, given)]
        cells = [
            cell(row for row in rows if row["column"] == column)
            for rows, columns in zip(own, (_NOT_GIVEN, _GIVEN), strict=True)
            for column in columns
        ]
        if set(cells) != {"–"}:
            lines.append([f"`{name}`", *cells])
    head = ["metric", *(f"{c}, not given" for c in _NOT_GIVEN), *(f"{c}, given" for c in _GIVEN)]
    return table(head, lines)


def _po(results: Results) -> Iterator[str]:
    rows = results.select(metric="mae_po", column=INDEPENDENT)
    shares = [row["covers_truth"] for row in rows if "covers_truth" in row]
    if shares:
        yield (
            "**Errors with imputed times** have intervals for their own limit, not for the true "
            f"error. That of `mae_po` covers the true error up to the horizon in {min(shares):.0f} "
            f"to {max(shares):.0f} %."
        )


def _tests(results: Results) -> Iterator[str]:
    kept, lost = [], []
    for name in results.metrics("test", model="right", column=INDEPENDENT):
        values = [
            pooled(results.select("test", metric=name, model="right", hazard=h, n=n,
                                  column=INDEPENDENT))
            for h in HAZARDS for n in SIZES
        ]  # fmt: skip
        known = [value for value in values if value]
        text = f"`{name}` {_range(known)}"
        (lost if any(outside(value, SIZE) == "↑" for value in known) else kept).append(text)
    if kept:
        yield f"Tests with the correct size (nominal 5 %): {', '.join(kept)}."
    if lost:
        yield f"Tests that reject the right model too often in a scenario: {', '.join(lost)}."


def _range(values: list[tuple[float, int]]) -> str:
    shares = sorted(round(value) for value, _ in values)
    return f"({shares[0]} to {shares[-1]} %)" if shares else ""


def _equal(results: Results) -> Iterator[str]:
    key: dict[str, Any] = {"study": "equals"}
    shares = [
        [pooled(results.select("test", metric="verdict: is best", model=m, n=n, **key))
         for n in SIZES]
        for m in ("two equal", "five equal")
    ]  # fmt: skip
    if all(value is not None for pair in shares for value in pair):
        two, five = (" and ".join(f"{v[0]:.1f}" for v in pair if v) for pair in shares)
        yield (
            f"The verdict calls one of two equally good models best in {two} % of the samples "
            f"(n = 200 and 800), and one of five in {five} %."
        )
    names = [n for n in results.metrics("test", model="two equal", **key) if "verdict" not in n]
    sizes = [
        pooled(results.select("test", metric=name, model="two equal", n=n, **key))
        for name in names for n in SIZES
    ]  # fmt: skip
    if names:
        told = _range([size for size in sizes if size]).strip("()")
        yield f"Two equally good models differ at the 5 % level in {told}, by metric and n."
    rows = results.select("test", model="wrong sign", column=INDEPENDENT)
    mistaken = [row["rejected"] for row in rows if not is_surrogate(row["metric"])]
    if mistaken:
        yield (
            "Under independent censoring the worse model is significantly better in at most "
            f"{max(mistaken):.1f} % of the samples of a cell."
        )


def _functions(results: Results) -> Iterator[str]:
    key: dict[str, Any] = {"study": "functions", "hazard": "weibull", "model": "right"}
    lost = []
    for name in results.metrics("test", **key):
        values = [
            pooled(results.select("test", metric=name, n=n, column=c, **key))
            for c in INDEPENDENT for n in SIZES
        ]  # fmt: skip
        known = [value for value in values if value]
        if any(outside(value, SIZE) == "↑" for value in known):
            lost.append(f"{name} {_range(known)}")
    if lost:
        yield (
            "Tests that `evaluate` does not use, and that reject the right model too often: "
            f"{', '.join(lost)}."
        )


def _selection(results: Results) -> Iterator[str]:
    key: dict[str, Any] = {"study": "selection", "model": "best of ten"}
    rows = [results.select("test", variant=variant, **key) for variant in ("p_value", "p_holm")]
    if all(rows):
        plain, adjusted = map(span, rows)
        yield (
            "The best of ten models without information is significantly better than Kaplan-Meier "
            f"in {plain} without adjustment for the choice among ten, and in {adjusted} with it "
            "(nominal 2.5 %)."
        )
