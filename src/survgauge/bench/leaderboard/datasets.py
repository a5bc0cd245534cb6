"""Which datasets the leaderboard uses, on which terms, and which are left out and why."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..datasets.record import HOMES, SETS, Counts

#: Fewest events of a dataset.
FEWEST_EVENTS = 90


@dataclass(frozen=True)
class Listed:
    """A dataset of the leaderboard; `datasets.load(name)` gives it.

    >>> LISTED["veteran"].package, LISTED["veteran"].licence, LISTED["veteran"].counts.events
    ('SurvSet', 'LGPL (>= 2)', 128)
    """

    #: What `survgauge datasets` calls it.
    name: str
    title: str
    #: Package that published the data first, whose licence holds.
    origin: str
    licence: str
    #: Document that says so.
    evidence: str
    #: What the event is, and the unit of time.
    event: str
    unit: str
    #: "medicine", "genes" or "social".
    kind: str
    note: str = ""

    @property
    def counts(self) -> Counts:
        """Rows, events and features; loading refuses a dataset that has others."""
        return SETS[self.name].counts

    @property
    def counted(self) -> str:
        """What the event is, and what else has to be known of the rows."""
        return f"{self.event} ({self.note})" if self.note else self.event

    @property
    def package(self) -> str:
        """Package to install, which has the data inside."""
        return HOMES[SETS[self.name].home]["package"]


def _read() -> tuple[dict[str, Listed], dict[str, str]]:
    path = Path(__file__).with_name("datasets.json")
    table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    terms = table["licences"]
    listed = {
        name: Listed(name=name, **entry, **terms[entry["origin"]])
        for name, entry in table["sets"].items()
    }
    return listed, table["left_out"]


#: Datasets of the leaderboard by name, and why others are left out.
LISTED, LEFT_OUT = _read()
