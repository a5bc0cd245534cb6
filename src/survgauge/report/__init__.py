"""Reports: results as one self-contained HTML page.

One function turns results into plain data, another turns the data into a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..metrics.registry import REGISTRY
from . import charts
from .evaluation_page import (
    audit_fragment,
    audit_html,
    audit_part,
    evaluation_page,
    landmark_part,
    landmarks_html,
)
from .evaluation_tables import evaluation_card
from .experiment_page import experiment_page
from .experiment_words import experiment_content
from .leaderboard_page import leaderboard_page
from .page import Section

if TYPE_CHECKING:
    from ..bench.experiment.results import Results
    from ..evaluation import Evaluation
    from ..evaluation.audit import Audit
    from ..evaluation.landmarks import Landmarks

__all__ = [
    "audit_fragment",
    "audit_html",
    "evaluation_card",
    "evaluation_html",
    "experiment_html",
    "landmarks_html",
    "leaderboard_page",
    "saved_evaluation_html",
]


def evaluation_html(
    ev: Evaluation,
    title: str = "Evaluation of survival models",
    audit: Audit | None = None,
    sections: Sequence[Section] = (),
    landmarks: Landmarks | None = None,
) -> str:
    """Make the page of an evaluation, with sections on an audit and on landmarks if given.

    Further `sections` stand at its end.
    """
    data = ev.to_dict()
    figures = {"overview": charts.overview(data, ev)}
    figures |= charts.from_table(data) | charts.from_evaluation(ev)
    own = []
    for name, found, part in (
        ("audit", audit, audit_part),
        ("landmarks", landmarks, landmark_part),
    ):
        if found is not None:
            data[name] = found.to_dict()
            section, figures[name] = part(data[name])
            own.append(section)
    return evaluation_page(data, figures, title=title, own=own, sections=sections)


def saved_evaluation_html(
    data: dict[str, Any], title: str = "Evaluation of survival models"
) -> str:
    """Make the page from the plain data of `Evaluation.to_dict`, as saved by ``--json``.

    Charts that need the predictions are left out, and so are metrics of other versions.
    """
    try:
        usable = _of_this_version(data)
        figures = {"overview": charts.overview(usable), **charts.from_table(usable)}
        return evaluation_page(usable, figures, title=title)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise InputError(
            f"data must be what Evaluation.to_dict gives; {type(error).__name__}: {error}"
        ) from error


def _of_this_version(data: dict[str, Any]) -> dict[str, Any]:
    """Leave out metrics of another version, and say so."""
    strange = sorted({row["metric"] for row in data["metrics"]} - set(REGISTRY))
    if not strange:
        return data
    tables = {
        name: [row for row in data[name] if row["metric"] in REGISTRY]
        for name in ("metrics", "comparisons", "baseline_comparisons")
    }
    message = f"metrics of another version are left out: {', '.join(strange)}"
    warning = {"code": "unknown-metric", "message": message, "model": None, "metric": None}
    return data | tables | {"warnings": [*data["warnings"], {**warning, "group": None}]}


def experiment_html(results: Results, title: str = "Which metric tells the truth?") -> str:
    """Make the page of an experiment."""
    return experiment_page(experiment_content(results), title=title)
