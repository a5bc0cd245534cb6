"""What the groups of an evaluation say together, in a few sentences."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..data.event_words import EventWords
from ..evaluation.phrases import listed
from ..evaluation.verdict import best_rows, headline
from ..metrics.registry import REGISTRY

#: Models and groups that are named.
_MOST_NAMES = 6


def group_words(data: dict[str, Any]) -> list[str]:
    """Say how the models compare in the groups, by the metric that people judge by.

    `data` comes from `Evaluation.to_dict`.
    """
    metric, found = headline(data), []
    best = {
        cell[0]: row["model"]
        for cell, row in best_rows(data["metrics"]).items()
        if cell[1] == metric and cell[0] is not None
    }
    if len(data["models"]) > 1 and best:
        wins = Counter(best.values()).most_common()
        named = [f"{model} in {count}" for model, count in wins[:_MOST_NAMES]]
        if len(wins) > _MOST_NAMES:
            named.append(f"other models in {sum(count for _, count in wins[_MOST_NAMES:])}")
        many = f"{len(best)} groups" if len(best) > 1 else "1 group"
        title = f"{REGISTRY[metric].title}{EventWords.of(data['support']).of_cause}"
        found.append(f"{title} in {many} is best for {listed(named)}.")
        if data["confidence"] is not None:
            differ = _clear(data, data["comparisons"], metric)
            told = f" ({listed(differ)})" if 0 < len(differ) <= _MOST_NAMES else ""
            where = f"in {len(differ)} of {many}{told}" if differ else "in no group"
            which = "The two models" if len(data["models"]) == 2 else "Two models"
            found.append(f"{which} differ clearly {where}.")
    losses = [row for row in data["baseline_comparisons"] if row["metric"] == metric]
    if data["confidence"] is not None and losses:
        ahead = _clear(data, [r for r in losses if (r["difference"] or 0.0) < 0], metric)
        where = f"In {len(ahead)} of {len(best)} groups" if ahead else "In no group"
        baseline = EventWords.of(data["support"]).baseline
        found.append(
            f"{where} is a model clearly better than {baseline}. The p-values are "
            "adjusted within each group, not for the number of groups."
        )
    return found


def _clear(data: dict[str, Any], rows: list[dict[str, Any]], metric: str) -> list[str]:
    """Return the groups with a clear difference among some rows."""
    level = 1 - data["confidence"]
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
