"""What the groups of an evaluation say together, in a few sentences."""

from __future__ import annotations

from collections import Counter
from typing import Any

from .._tools.text_tables import number
from ..evaluation.sentences import listed
from ..evaluation.verdict import best_rows, headline
from ..metrics.registry import REGISTRY

_MOST_NAMES = 6


def group_words(data: dict[str, Any]) -> list[str]:
    """Say in few sentences how the models do in the groups; nothing where there are none.

    Parameters
    ----------
    data : dict
        From `Evaluation.to_dict`.
    """
    metric = headline(data)
    best = {
        group: row
        for (group, name, _), row in best_rows(data["metrics"]).items()
        if name == metric and group is not None
    }
    if not best:
        return []
    unit = data.get("unit") or "" if REGISTRY[metric].unit == "time" else ""
    several = "groups were" if len(best) > 1 else "group was"
    start = f"{len(best)} {several} evaluated by {REGISTRY[metric].title}"
    found = [f"{start}."]
    if len(data["models"]) > 1:
        wins = Counter(row["model"] for row in best.values()).most_common()
        named = [f"{model} in {count}" for model, count in wins[:_MOST_NAMES]]
        if len(wins) > _MOST_NAMES:
            named.append(f"another model in {sum(count for _, count in wins[_MOST_NAMES:])}")
        where = f"{listed(named)} of them" if len(wins) > 1 else f"{wins[0][0]} in all of them"
        found = [f"{start}: the best value is that of {where}."]
    ends = sorted(best.items(), key=lambda item: item[1]["value"])
    (low, least), (high, most) = ends[0], ends[-1]
    found.append(
        f"The best values of the groups lie between {number(least['value'], 3)} ({low}) and "
        f"{number(most['value'], 3)} {unit}".rstrip()
        + f" ({high}). The forest plot below shows all groups."
    )
    if data["confidence"] is not None:
        found += _clear(data, metric, list(best))
    return found


def _clear(data: dict[str, Any], metric: str, groups: list[Any]) -> list[str]:
    """Say in which groups models differ clearly, and where they beat Kaplan-Meier clearly."""
    found, level = [], 1 - data["confidence"]
    if len(data["models"]) > 1:
        differ = _groups_with(data["comparisons"], metric, level)
        where = f"in {len(differ)} of {len(groups)} groups" if differ else "in no group"
        named = f" ({listed(differ[:_MOST_NAMES])})" if 0 < len(differ) <= _MOST_NAMES else ""
        which = "The two models" if len(data["models"]) == 2 else "Two models"
        found.append(f"{which} differ clearly {where}{named}.")
    better = [
        row
        for row in data["baseline_comparisons"]
        if isinstance(row["difference"], float) and row["difference"] < 0  # of losses
    ]
    if any(row["metric"] == metric for row in data["baseline_comparisons"]):
        ahead = len(_groups_with(better, metric, level))
        where = f"In {ahead} of {len(groups)} groups" if ahead else "In no group"
        found.append(
            f"{where} is a model clearly better than Kaplan-Meier for everybody. p-values are "
            "adjusted within a group, not for the number of groups."
        )
    return found


def _groups_with(rows: list[dict[str, Any]], metric: str, level: float) -> list[str]:
    """Groups with a difference that is clear after the adjustment for several comparisons."""
    return list(
        dict.fromkeys(
            str(row["group"])
            for row in rows
            if row["metric"] == metric
            and row.get("group") is not None
            and row["p_simultaneous"] is not None
            and row["p_simultaneous"] < level
        )
    )
