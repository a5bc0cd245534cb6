"""What an audit found: the table, the recommendation and its risks, as data and as text."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from .._tools.plain import as_frame, plain
from ..evaluation.tipping import TippingPoint
from .risks import Risk, WorldResults
from .scoring import AuditQuestion
from .text import audit_text, heading, reason, sentence, tipping_text


@dataclass(frozen=True, eq=False)
class Audit:
    """Result of `audit`.

    Attributes
    ----------
    models : tuple of str
        Whose predictions were audited.
    risks : list of Risk
        One for everything that was asked: what is estimated (the mean absolute error first) within
        and without a horizon.
    draws : list of int
        Number of draws of each scenario.
    max_bias : float
        Bias, as a share of the truth, from which on a metric is said to be off.
    left_out : dict
        What could not be asked, by what is estimated and the horizon, and why.
    """

    models: tuple[str, ...]
    questions: list[AuditQuestion]
    results: WorldResults
    risks: list[Risk]
    draws: list[int]
    seed: int
    max_bias: float
    subjects: int
    events: int
    unit: str
    left_out: dict[tuple[str, float | None], str]
    #: The two best models on the real data; None where there are no two, or no time error.
    pair: TippingPoint | None = None

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics that were audited."""
        return tuple(dict.fromkeys(question.metric.name for question in self.questions))

    @property
    def asked(self) -> Risk:
        """The risks of what was asked first: the mean absolute error, unless metrics are named."""
        return self.risks[0]

    @property
    def recommended(self) -> str | None:
        """Name of the metric to take: the doubly robust error within the horizon.

        None where it was not among the metrics, or where the data support no horizon.
        """
        return self.asked.metric

    @property
    def horizon(self) -> float | None:
        """Horizon of what was asked first; None: none."""
        return self.asked.horizon

    @property
    def tipping(self) -> float | None:
        """Kendall's tau of event and censoring times at which the two best models change places.

        The least over several copulas, see `tipping_point`; None where none up to 0.9 does.
        """
        return None if self.pair is None else self.pair.kendall_tau

    @property
    def reason(self) -> str:
        """Why this metric is recommended and what it risks, or why none is."""
        return reason(self)

    @property
    def sentence(self) -> str:
        """One sentence for a paper."""
        return sentence(self)

    def rows(self) -> list[dict[str, Any]]:
        """Return the table as plain dictionaries, without pandas."""
        found = []
        parts = zip(self.results.worlds, self.results.tallies, self.draws, strict=True)
        for world, tally, number in parts:
            for place, question in enumerate(self.questions):
                found.append(
                    {
                        "world": world.name,
                        "kind": world.kind,
                        "metric": question.metric.name,
                        "asks": question.asks,
                        "horizon": question.horizon,
                        "time": question.time,
                        **{name: float(getattr(tally, name)[place]) for name in MEASURES},
                        "draws": number,
                    }
                )
        return found

    def summary(self) -> list[dict[str, Any]]:
        """Return means over the scenarios with independent censoring, one row per question.

        Kinds of scenarios have equal weight; `off` is the largest of a kind.
        """
        means = {name: self.results.average(name) for name in MEASURES}
        means["off"] = self.results.worst("off")
        return [
            {
                "metric": question.metric.name,
                "asks": question.asks,
                "horizon": question.horizon,
                "time": question.time,
                **{name: float(values[place]) for name, values in means.items()},
                "stderr": self.results.stderr(place),
            }
            for place, question in enumerate(self.questions)
        ]

    @property
    def table(self) -> Any:
        """Frame with a row per scenario and metric, within and without a horizon.

        Columns: world (the scenario), kind, metric, asks (what it estimates), horizon (None:
        none), bias, relative_bias, off (mean size of the models' relative biases), rmse,
        relative_rmse, tau (Kendall's, with the true order of the models), best (how often the truly
        best model is picked), loss (true error of the picked model minus that of the best),
        relative_loss, stderr (Monte Carlo, of relative_loss), undefined (share of draws without a
        value), draws.
        """
        return as_frame(self.rows())

    def plot(self, ax: Any = None) -> Any:
        """Draw loss and bias of every metric in every scenario; returns the figure.

        Parameters
        ----------
        ax : sequence of matplotlib Axes, optional
            Where to draw, one per panel; by default on a new figure.
        """
        # By name: displays know audits, not the other way round.
        return import_module("survgauge.displays").AuditDisplay.from_audit(self).plot(ax)

    def to_html(self, path: Any, *, title: str = "Audit of metrics") -> Any:
        """Write a report: one page that works offline, with tables, a chart and downloads.

        Parameters
        ----------
        path : path-like
            The HTML file.
        title : str
            Heading of the page.

        Returns
        -------
        Path
            The file.
        """
        return import_module("survgauge.report").write_audit(self, path, title)

    def _repr_html_(self) -> str:
        return str(import_module("survgauge.report").audit_fragment(self.to_dict()))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON (NaN becomes None)."""
        return plain(
            {
                "models": list(self.models),
                "subjects": self.subjects,
                "events": self.events,
                "recommended": self.recommended,
                "horizon": self.horizon,
                "heading": heading(self),
                "reason": self.reason,
                "sentence": self.sentence,
                "tipping_text": tipping_text(self),
                "tipping": self.tipping,
                "pair": None if self.pair is None else self.pair.to_dict(self.unit),
                "risks": [found.to_dict() for found in self.risks],
                "summary": self.summary(),
                "table": self.rows(),
                "max_bias": self.max_bias,
                "unit": self.unit,
                "random_state": self.seed,
            }
        )

    def __str__(self) -> str:
        return audit_text(self)

    def __repr__(self) -> str:
        return (
            f"Audit({len(self.models)} models x {len(self.metrics)} metrics x "
            f"{len(self.draws)} scenarios, recommended: {self.recommended})"
        )


#: What the table has of every world and question.
MEASURES = (
    "bias", "relative_bias", "off", "rmse", "relative_rmse", "tau", "best", "loss",
    "relative_loss", "stderr", "undefined",
)  # fmt: skip
