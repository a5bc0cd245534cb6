"""What the numbers say, in sentences that are made from the numbers alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .results import INDEPENDENT, Results, Row, error_of
from .targets import estimates_truth

LOWEST, HIGHEST = 93.0, 97.0


def findings(results: Results) -> list[str]:
    """Return the sentences at the head of the page."""
    makers = (
        _intervals, _dependent, _true_errors, _small, _distances, _differences, _selection,
        _tests, _clusters, _weights, _shift, _edge,
    )  # fmt: skip
    return [sentence for make in makers for sentence in make(results)]


def covers(row: Row) -> float | None:
    """Return how often a metric's interval covers what it promises."""
    column = "covers_truth" if estimates_truth(row["metric"]) else "covers_limit"
    return row.get(column)


def too_low(row: Row) -> bool:
    """Whether it covers less than 93 %, and not by the chance of the simulation."""
    share = covers(row)
    return share is not None and share < LOWEST and share + error_of(row["reps"]) < 95


def _span(shares: Iterable[float | None]) -> str:
    known = [round(share) for share in shares if share is not None]
    if not known:
        return "nothing known"
    low, high = min(known), max(known)
    return f"{low} %" if low == high else f"{low} to {high} %"


def _named(rows: list[Row]) -> str:
    """Metrics with the range of their coverage."""
    names = dict.fromkeys(row["metric"] for row in rows)
    return ", ".join(
        f"`{name}` ({_span(covers(r) for r in rows if r['metric'] == name)})" for name in names
    )


def _main_rows(results: Results, kinds: tuple[str, ...]) -> list[Row]:
    """Rows of the first table: of each metric the study with more replications."""
    core = results.metrics("core")
    found = []
    for row in results.rows:
        wanted = "core" if row["metric"] in core else "more"
        ours = row["study"] == wanted and row.get("train") == 1000 and row.get("model") == "twin a"
        if ours and row["kind"] == "interval" and row["censoring"] in kinds:
            found.append(row)
    return [row for row in found if covers(row) is not None]


def _intervals(results: Results) -> Iterator[str]:
    rows = _main_rows(results, INDEPENDENT)
    for sizes, words in (((300, 1000), "300 and 1,000"), ((100,), "100")):
        some = [row for row in rows if row["n"] in sizes]
        good = [row for row in some if LOWEST <= (covers(row) or 0) <= HIGHEST]
        low = [row for row in some if too_low(row)]
        text = (
            f"With independent censoring and {words} test subjects, {len(good)} of {len(some)} "
            f"simulated intervals cover {LOWEST:.0f} to {HIGHEST:.0f} % of the time."
        )
        yield text + (f" Too short are {_named(low)}." if low else " None is clearly too short.")


def _dependent(results: Results) -> Iterator[str]:
    rows = [row for row in _main_rows(results, ("60d", "80d")) if estimates_truth(row["metric"])]
    low = [row for row in rows if too_low(row)]
    if low:
        yield (
            "Where drop-out depends on a feature, weights from one G for everybody are wrong and "
            f"no interval mends that: {_named(low)}. Give `censoring` a G that knows the feature."
        )
    elif rows:
        yield "Drop-out that depends on a feature left no interval clearly too short."


def _true_errors(results: Results) -> Iterator[str]:
    parts = []
    for metric in ("mae_po", "mae_expected", "mae_ipcw_d", "mae_dr"):
        rows = results.coverages("core", metric, "covers_truth", n=1000, train=1000, model="twin a")
        rows = [row for row in rows if row["censoring"] in INDEPENDENT]
        if rows:
            parts.append(f"`{metric}` {_span(row['covers_truth'] for row in rows)}")
    if parts:
        yield (
            "The interval of a time error is about that metric's own limit. The *true* error up "
            "to the horizon (n = 1,000, independent censoring) is covered by "
            f"{', '.join(parts)}."
        )


def _small(results: Results) -> Iterator[str]:
    rows = [r for r in results.rows if r["study"] == "core" and r.get("train") == 200]
    rows = [r for r in rows if r["kind"] == "interval" and r["model"] == "twin a"]
    low = [row for row in rows if too_low(row)]
    if rows:
        yield "With 200 training subjects " + (
            f"these are too short: {_named(low)}." if low else "no interval is clearly too short."
        )


def _distances(results: Results) -> Iterator[str]:
    for metric in results.metrics("distances"):
        good, true = (
            [row["covers_limit"] for row in results.coverages(
                "distances", metric, "covers_limit", model=model)]
            for model in ("twin a", "true")
        )  # fmt: skip
        yield (
            f"`{metric}` covers its limit in {_span(good)} for a good model, and 0 in "
            f"{_span(true)} for the truth."
        )


def _rejected(results: Results, study: str, **key: object) -> list[Row]:
    wanted = {"kind": "test", "study": study, **key}
    found = (r for r in results.rows if all(r.get(k) == v for k, v in wanted.items()))
    return [row for row in found if row.get("rejected") is not None]


def _differences(results: Results) -> Iterator[str]:
    rows = [r for r in _rejected(results, "core") if r["censoring"] in INDEPENDENT]
    if rows:
        high = [row for row in rows if row["rejected"] > 7 and _beyond(row, 5)]
        names = ", ".join(f"`{name}`" for name in dict.fromkeys(row["metric"] for row in high))
        yield (
            "Two equally good models differ significantly at the 5 % level in "
            f"{_span(row['rejected'] for row in rows)} of the simulations"
            + (f"; above 7 % are {names}." if high else ", and in no setting clearly more than 7.")
        )


def _beyond(row: Row, level: float) -> bool:
    return row["rejected"] - error_of(row["reps"], level) > level


def _selection(results: Results) -> Iterator[str]:
    labels = dict.fromkeys(row["variant"] for row in _rejected(results, "selection"))
    for label in labels:
        shares = [row["rejected"] for row in _rejected(results, "selection", variant=label)]
        how = "without adjustment" if label == "p_value" else f"adjusted over the models ({label})"
        yield (
            "The best of ten models that know nothing is said to beat Kaplan-Meier in "
            f"{_span(shares)}, {how}; 2.5 % would be right for one model chosen beforehand."
        )


def _tests(results: Results) -> Iterator[str]:
    rows = [r for r in _rejected(results, "tests", model="true") if r["censoring"] in INDEPENDENT]
    rough = "log_rank of medians"
    names = [name for name in dict.fromkeys(row["metric"] for row in rows) if name != rough]
    kept, lost = [], []
    for name in names:
        own = [row for row in rows if row["metric"] == name]
        above = [row for row in own if row["rejected"] > 7 and _beyond(row, 5)]
        (lost if above else kept).append(f"{name} ({_span(r['rejected'] for r in own)})")
    if kept:
        yield f"Tests that do not reject the truth too often (nominal 5 %): {', '.join(kept)}."
    if lost:
        yield f"Tests that do, in at least one setting: {', '.join(lost)}."
    shares = [row["rejected"] for row in rows if row["metric"] == rough]
    if shares:
        yield (
            "`log_rank` of observed times against predicted medians is no test of a model: it "
            f"rejects the truth in {_span(shares)}."
        )
    power = {
        name: [r["rejected"] for r in _rejected(results, "tests", model="late", metric=name)
               if r["censoring"] in INDEPENDENT and r["n"] >= 300]
        for name in ("d_calibration, ks", "d_calibration, chi2")
    }  # fmt: skip
    if all(power.values()):
        yield (
            "Curves 25 % late are found (n = 300 and 1,000) by D-calibration's "
            f"Kolmogorov-Smirnov form in {_span(power['d_calibration, ks'])}, by chi-squared in "
            f"{_span(power['d_calibration, chi2'])}."
        )


def _variants(results: Results, study: str) -> list[tuple[str, str]]:
    rows = [row for row in results.rows if row["study"] == study]
    return [
        (name, _span(covers(row) for row in rows if row["variant"] == name))
        for name in dict.fromkeys(row["variant"] for row in rows)
    ]


def _clusters(results: Results) -> Iterator[str]:
    parts = [f"{share} ({name})" for name, share in _variants(results, "clusters")]
    if parts:
        yield f"Twenty hospitals of fifty patients: intervals cover {', '.join(parts)}."


def _weights(results: Results) -> Iterator[str]:
    parts = [f"{share} ({name})" for name, share in _variants(results, "weights")]
    if parts:
        yield f"Subjects sampled by a feature: intervals cover {', '.join(parts)}."


def _shift(results: Results) -> Iterator[str]:
    rows = [r for r in results.rows if r["study"] == "shift" and r.get("bias_truth") is not None]
    for variant, share in _variants(results, "shift"):
        own = [row for row in rows if row["variant"] == variant]
        worst = max(own, key=lambda row: abs(row["bias_truth"]), default=None)
        if worst is not None:
            how = "by default" if variant == "default" else 'with `censoring="train"`'
            yield (
                f"Test subjects censored more than training subjects: coverage {how} {share}, "
                f"largest bias {worst['bias_truth']:+.0f} % (`{worst['metric']}`)."
            )


def _edge(results: Results) -> Iterator[str]:
    rows = [r for r in results.rows if r["study"] == "edge" and r["metric"] == "auc"]
    rows.sort(key=lambda row: row["n"])
    if rows:
        shares = " / ".join(f"{row['covers_truth']:.0f}" for row in rows if "covers_truth" in row)
        sizes = " / ".join(str(row["n"]) for row in rows)
        outside = _span(row.get("outside") for row in rows)
        yield (
            f"An AUC of {rows[0].get('truth', float('nan')):.3f} is covered in {shares} % at n = "
            f"{sizes}; limits lie outside 0 to 1 in {outside}."
        )
