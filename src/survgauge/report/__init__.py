"""Reports: results as one self-contained HTML page.

One function turns results into plain data, another turns the data into a page.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._tools.writing import write_atomically
from ..errors import InputError
from ..metrics.registry import REGISTRY
from . import charts
from .audit_section import audit_charts, audit_fragment, audit_page
from .card import evaluation_card
from .evaluation_page import evaluation_page
from .experiment_content import experiment_content
from .experiment_page import experiment_page
from .landmark_section import landmark_charts, landmark_page
from .shell import Section

if TYPE_CHECKING:
    from ..auditing import Audit
    from ..evaluation import Evaluation
    from ..evaluation.landmarks import Landmarks
    from ..experiment.results import Results

__all__ = [
    "audit_fragment",
    "evaluation_card",
    "evaluation_html",
    "experiment_html",
    "saved_evaluation_html",
    "write_audit",
    "write_evaluation",
    "write_experiment",
    "write_landmarks",
]


def evaluation_html(
    ev: Evaluation,
    title: str = "Evaluation of survival models",
    audit: Audit | None = None,
    sections: Sequence[Section] = (),
    landmarks: Landmarks | None = None,
) -> str:
    """Make the page of an evaluation, with sections on an audit and on landmarks if given.

    Further `sections` come before what to report in a paper.
    """
    data = ev.to_dict()
    figures = charts.from_table(data) | charts.from_evaluation(ev)
    if audit is not None:
        data["audit"] = audit.to_dict()
        figures["audit"] = audit_charts(data["audit"])
    if landmarks is not None:
        data["landmarks"] = landmarks.to_dict()
        figures["landmarks"] = landmark_charts(data["landmarks"])
    tau = data["support"]["tau"]
    return evaluation_page(data, figures, title=title, tau=tau, sections=sections)


def saved_evaluation_html(
    data: dict[str, Any], title: str = "Evaluation of survival models"
) -> str:
    """Make the page from the plain data of `Evaluation.to_dict`, as saved by ``--json``.

    Charts that need the predictions are left out, and so are metrics of other versions.
    """
    try:
        known = _known(data)
        figures = charts.from_table(known)
        return evaluation_page(known, figures, title=title, tau=known["support"].get("tau"))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise InputError(
            f"data must be what Evaluation.to_dict gives; {type(error).__name__}: {error}"
        ) from error


def _known(data: dict[str, Any]) -> dict[str, Any]:
    """Leave out metrics that this version does not know, and say so."""
    strange = sorted({row["metric"] for row in data["metrics"]} - set(REGISTRY))
    if not strange:
        return data
    tables = {
        name: [row for row in data[name] if row["metric"] in REGISTRY]
        for name in ("metrics", "comparisons", "baseline_comparisons")
    }
    message = f"metrics of another version are left out: {', '.join(strange)}"
    remark = {"code": "unknown-metric", "message": message, "model": None, "metric": None}
    return data | tables | {"warnings": [*data["warnings"], {**remark, "group": None}]}


def write_evaluation(
    ev: Evaluation,
    path: str | os.PathLike[str],
    title: str,
    audit: Audit | None = None,
    landmarks: Landmarks | None = None,
) -> Path:
    """Write the page of an evaluation, whole or not at all."""
    return write_atomically(Path(path), evaluation_html(ev, title, audit, landmarks=landmarks))


def write_audit(audit: Audit, path: str | os.PathLike[str], title: str) -> Path:
    """Write the page of an audit, whole or not at all."""
    return write_atomically(Path(path), audit_page(audit.to_dict(), title=title))


def write_landmarks(found: Landmarks, path: str | os.PathLike[str], title: str) -> Path:
    """Write the page of several landmarks, whole or not at all."""
    return write_atomically(Path(path), landmark_page(found.to_dict(), title=title))


def experiment_html(results: Results, title: str = "Which metric tells the truth?") -> str:
    """Make the page of an experiment."""
    return experiment_page(experiment_content(results), title=title)


def write_experiment(results: Results, path: str | os.PathLike[str], title: str) -> Path:
    """Write the page of an experiment, whole or not at all."""
    return write_atomically(Path(path), experiment_html(results, title))
