"""What an experiment says in sentences, from plain data; the terminal and the page share them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from .._tools.text_tables import p_text, relation
from ..evaluation.phrases import listed

#: Fewest data bases with which a sign or signed-rank test, two-sided, can reach the level 0.05:
#: even if all agree its p-value is 2 / 2^n, which is 0.0625 for five bases and 0.031 for six.
FEWEST_BASES = 6
#: Verdict of comparisons over fewer.
TOO_FEW = "too few data sets to tell"


def plain_metrics(metrics: list[str], truth: str) -> list[str]:
    """Metrics that have no settings but those of the truth; if there are none, those with fewest.

    >>> plain_metrics(["mae_within", "mae_po(tau=horizon)", "mae_po(tau=horizon, tail=hold)"],
    ...               "mae(tau=horizon)")
    ['mae_within', 'mae_po(tau=horizon)']
    """
    shared = _settings(truth)
    own = {name: len(_settings(name) - shared) for name in metrics}
    return [name for name in metrics if own[name] == min(own.values())]


def _settings(label: str) -> set[str]:
    return set(label.partition("(")[2].removesuffix(")").split(", ")) - {""}


def percent(value: float | None, digits: int = 1) -> str:
    """Write a share as a percentage.

    >>> percent(0.1234), percent(None)
    ('12.3 %', '-')
    """
    return "-" if value is None or value != value else f"{100 * value:.{digits}f} %"


def lead(data: dict[str, Any], truth: str) -> str:
    """Say which metric orders models best, and which is closest to the truth."""
    order, size = (data["leaders"][truth][measure] for measure in ("tau", "relative"))
    if order is None or size is None:
        return f"No metric has a value for all models on all data sets (truth: {truth})."
    rows = {row["metric"]: row for row in data["summary_plain"][truth]}
    sets = data_sets(len(_sets_of(data, truth)))
    tau, far = rows[order["metric"]]["tau"], percent(rows[size["metric"]]["relative"])
    if len(rows) == 1:
        return (
            f"{order['metric']} orders the models with a mean Kendall's tau of {tau:.2f} with the "
            f"true order over {sets}, and is off by {far} on average."
        )
    among = "" if len(rows) == len(data["summary"][truth]) else "Of the metrics without settings, "
    parts = [
        f"{among}{order['metric']} orders the models most as the truth does (mean Kendall's tau "
        f"{tau:.2f} over {sets}){_beside(order)}.",
        f"{'It' if size['metric'] == order['metric'] else size['metric']} is closest to the true "
        f"value (off by {far} on average){_beside(size)}.",
    ]
    if order["verdict"] == TOO_FEW:
        parts.append(
            f"This describes these data: there are {TOO_FEW} whether it holds for others "
            f"({_needed(order)})."
        )
    return " ".join(parts)


def _beside(leader: dict[str, Any]) -> str:
    """Say how the best metric stands to the others."""
    if leader["verdict"] == TOO_FEW:
        return ""
    if not leader["tied"]:
        return ", clearly better than the others"
    return f"; there is no clear difference from {listed(leader['tied'])}"


def _needed(found: dict[str, Any]) -> str:
    """Give the reason why there are too few data sets."""
    bases = f"{found['bases']} data base{'s' if found['bases'] != 1 else ''}"
    return f"they come from {bases}; a test needs at least {FEWEST_BASES}"


def data_sets(count: int) -> str:
    """Count data sets.

    >>> data_sets(1), data_sets(2)
    ('1 data set', '2 data sets')
    """
    return f"{count} data set{'s' if count != 1 else ''}"


def _sets_of(data: dict[str, Any], truth: str) -> set[tuple[str, str]]:
    return {(r["dataset"], r["censoring"]) for r in data["ranking"] if r["truth"] == truth}


def best_models(data: dict[str, Any], truth: str) -> str:
    """Say which models are truly best, and on how many data sets that is not clear."""
    sets: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in data["models_by_truth"]:
        if row["truth"] == truth:
            sets.setdefault((row["dataset"], row["censoring"]), []).append(row)
    if not sets:
        return ""
    firsts = Counter(r["model"] for rows in sets.values() for r in rows if r["difference"] == 0)
    count = len(sets)
    won = [f"{model} on {n}" for model, n in firsts.most_common()]
    won[0] += f" of {data_sets(count)}"
    unclear = sum(sum(not r["clearly_worse"] for r in rows) > 1 for rows in sets.values())
    none = "On each of them it is clearly better than every other model."
    where = "each" if unclear == count else str(unclear)
    some = f"On {where} of them some other model is not clearly worse."
    return f"By the true {truth}, the best model is {listed(won)}. {some if unclear else none}"


def advice(row: dict[str, Any]) -> str:
    """Say what the paper advises, and what these data say about it."""
    few = row["verdict"] == TOO_FEW
    verdict = {"holds": "this holds here", "does not hold": "this does not hold here"}.get(
        row["verdict"], row["verdict"]
    )
    if few:
        verdict += f" ({_needed(row)})"
    tests = "" if few else (
        f" Over {row['bases']} data bases, p {relation(row['p_value'])} for the distance and "
        f"p {relation(row['p_tau'])} for tau (Wilcoxon)."
    )  # fmt: skip
    first, other = row["recommended"], row["other"]
    return (
        f"The paper advises {first} rather than {other} under {row['situation']}: {verdict}. "
        f"{first} is closer on {row['closer']} of {data_sets(row['data_sets'])} (mean distance "
        f"{percent(row['recommended_relative'])} against {percent(row['other_relative'])}), with a "
        f"mean tau of {row['recommended_tau']:.2f} against {row['other_tau']:.2f}.{tests}"
    )


def advice_p(row: dict[str, Any], name: str) -> str:
    """Write a p-value of the advice; a test that cannot find anything has none to show."""
    return "-" if row["verdict"] == TOO_FEW else p_text(row[name])


def rule() -> str:
    """Say when something is concluded from a comparison over data sets."""
    return (
        "Data sets that come from one data base are not independent, so tests compare the means "
        "of data bases (Wilcoxon's signed-rank test, level 0.05). With fewer than "
        f"{FEWEST_BASES} data bases no such test can reach its level, whatever the numbers are: "
        f'there are "{TOO_FEW}".'
    )


def interval_words(bases: Iterable[str]) -> str:
    """Say what the intervals of means over data sets are about.

    >>> interval_words(["a", "b", "a"])[:60]
    'Intervals are over the runs on these 2 data bases; other dat'
    """
    count = len(set(bases))
    if count >= FEWEST_BASES:
        return f"Intervals are over the {count} data bases."
    these = "this data base" if count == 1 else f"these {count} data bases"
    return (
        f"Intervals are over the runs on {these}; other data bases may differ by more, which only "
        f"{FEWEST_BASES} or more of them would show."
    )
