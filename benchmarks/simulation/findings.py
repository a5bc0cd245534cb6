"""What the numbers say, in sentences that are made from the numbers alone; failures first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .plan import HAZARDS, SIZES
from .results import COVERAGE, SIZE, Results, Row, outside, pooled, span
from .tables import INDEPENDENT, has_best, is_surrogate, views
from .truth import estimates_truth

Group = tuple[str, dict[str, Any]]


def findings(results: Results) -> list[str]:
    """Return the sentences at the head of the page."""
    makers = (
        _dependent, _features, _independent, _special, _po, _tests, _equal, _functions, _selection,
    )  # fmt: skip
    return [sentence for make in makers for sentence in make(results)]


def _judged(results: Results, groups: list[Group]) -> tuple[int, list[str], list[str]]:
    """Count what was simulated, and name what covers less and more than promised."""
    total, low, high = 0, [], []
    names = dict.fromkeys(name for _, wanted in groups for name in results.metrics(**wanted))
    asked = [(name, *view) for name in names if not is_surrogate(name) for view in views(name)]
    for name, title, model, promise in asked:
        found: dict[str, list[str]] = {"↓": [], "↑": []}
        for label, wanted in groups:
            value = pooled(results.select(metric=name, **model, **wanted))
            if value is None:
                continue
            total += 1
            arrow = outside(value, promise)
            if arrow:
                found[arrow].append(f"{label}: {value[0]:.0f} %")
        for arrow, told in (("↓", low), ("↑", high)):
            if found[arrow]:
                told.append(f"{title} ({'; '.join(found[arrow])})")
    return total, low, high


def _sentence(start: str, total: int, low: list[str], high: list[str]) -> str:
    if not total:
        return ""
    text = f"**{start}**: {total} combinations of metric and scenario were simulated. "
    text += (
        f"Intervals are too short for {', '.join(low)}."
        if low
        else "No interval is clearly too short."
    )
    return text + (f" They are too wide for {', '.join(high)}." if high else "")


def _independent(results: Results) -> Iterator[str]:
    groups = [
        (f"{hazard}, n = {n}", {"hazard": hazard, "n": n, "column": INDEPENDENT})
        for hazard in HAZARDS
        for n in SIZES
    ]
    yield _sentence("Independent censoring", *_judged(results, groups))


def _special(results: Results) -> Iterator[str]:
    cases: dict[str, list[Group]] = {
        "Two causes": [
            (f"{c}, n = {n}", {"causes": 2, "column": c, "n": n}) for c in INDEPENDENT
            for n in SIZES
        ],
        "Delayed entry": [(f"n = {n}", {"entry": True, "n": n}) for n in SIZES],
        "Clusters": [(f"{k} clusters", {"clusters": k}) for k in (12, 40)],
        "Sampling weights": [(f"n = {n}", {"weights": True, "n": n}) for n in SIZES],
    }  # fmt: skip
    for start, groups in cases.items():
        yield _sentence(start, *_judged(results, groups))


def _truths(rows: list[Row]) -> list[Row]:
    return [
        row for row in rows
        if estimates_truth(row["metric"])
        and not has_best(row["metric"]) and not is_surrogate(row["metric"])
    ]  # fmt: skip


def _by_column(rows: list[Row], columns: tuple[str, ...]) -> list[tuple[float, str, bool]]:
    """Return metrics with their coverage by column, the worst first, and whether all is well."""
    found = []
    for name in dict.fromkeys(row["metric"] for row in rows):
        own = [row for row in rows if row["metric"] == name]
        values = [pooled(row for row in own if row["column"] == c) for c in columns]
        known = [value for value in values if value is not None]
        text = " / ".join("–" if value is None else f"{value[0]:.0f}" for value in values)
        if not known:  # no interval was given
            continue
        good = all(outside(value, COVERAGE) != "↓" for value in known)
        found.append((min(known)[0], f"`{name}` {text}", good))
    return sorted(found)


def _dependent(results: Results) -> Iterator[str]:
    columns = ("50m", "50s", "75m", "75s")
    rows = _truths(results.select(column=columns, n=800))
    if rows:
        told = ", ".join(text for _, text, good in _by_column(rows, columns) if not good)
        yield (
            "**If censoring depends on features that are not given, coverage is too low**, and "
            "nothing in the numbers shows it. Coverage in % with 800 subjects under "
            f"{' / '.join(columns)} (percent censored; moderate, strong dependence): {told}. Give "
            "the features (`X_train=`, `X_test=`)."
        )


def _features(results: Results) -> Iterator[str]:
    columns = ("50m", "75s")
    rows = _truths(results.select(features=True))
    if rows:
        found = _by_column(rows, columns)
        kept = ", ".join(text for _, text, good in found if good)
        lost = ", ".join(text for _, text, good in found if not good)
        yield (
            f"**With the features given**, coverage in % under {' / '.join(columns)} with 800 "
            "subjects is "
            + (f"within the target for {kept}. " if kept else "")
            + (f"**It is below the target** for {lost}." if lost else "")
        )


def _po(results: Results) -> Iterator[str]:
    for n in SIZES:
        rows = results.select(metric="mae_po", column=INDEPENDENT, n=n)
        shares = [r["covers_truth"] for r in rows if "covers_truth" in r]
        if shares:
            yield (
                f"`mae_po` covers the *true* error up to the horizon in {min(shares):.0f} to "
                f"{max(shares):.0f} % (n = {n}): its interval refers to its own limit, like that "
                "of every error with imputed times."
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
            f"The verdict names one of two equally good models as best in {two} % of the samples "
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
        yield f"Tests outside `evaluate` that reject the right model too often: {', '.join(lost)}."


def _selection(results: Results) -> Iterator[str]:
    for variant, words in (("p_value", "without"), ("p_holm", "with")):
        rows = results.select("test", study="selection", model="best of ten", variant=variant)
        if rows:
            yield (
                "The best of ten models without information is significantly better than "
                f"Kaplan-Meier in {span(rows)} {words} adjustment for the choice (nominal 2.5 %)."
            )
