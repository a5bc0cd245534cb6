"""What a dataset is: loaded, and as a record of ``sets.json``; the counts that it must have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._tools.arrays import Floats
from ...data.outcomes import Outcomes
from ...errors import InputError
from .files import FileSource

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Dropped:
    """A column that the source has and the dataset leaves out, with the reason."""

    column: str
    reason: str


@dataclass(frozen=True, eq=False)
class Dataset:
    """A survival dataset: features as they were measured, outcomes, and where they come from.

    Attributes
    ----------
    X : pandas.DataFrame
        Features, one row per subject: float columns, unordered categories, ordered categories.
        Gaps are left open; they are filled inside a fold.
    y : Outcomes
        Times and event flags, or the causes of the events.
    name, source, licence : str
        What it is called, where it was read from, and on which terms.
    fill : mapping
        Official values for gaps in some columns; other gaps take the median or the mode.
    dropped : tuple of Dropped
        Columns that were left out, such as other outcomes and predictions of other models.
    notes : tuple of str
        What else to know, for example how many times are zero.
    time_unit : str
        Unit of `y.time`, empty where the source does not say.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"age": [61.0, None, 70.0], "sex": pd.Categorical(["f", "m", "f"])})
    >>> ds = Dataset(X, Outcomes([5, 8, 3], [1, 0, 1]), name="small")
    >>> ds
    Dataset('small': 3 rows, 2 events, 33.3 % censored, 2 features)
    >>> ds.encoded()
        age  sex_m
    0  61.0    0.0
    1  65.5    1.0
    2  70.0    0.0
    """

    X: pd.DataFrame
    y: Outcomes
    name: str
    source: str = ""
    licence: str = ""
    fill: Mapping[str, Any] = field(default_factory=dict)
    dropped: tuple[Dropped, ...] = ()
    notes: tuple[str, ...] = ()
    time_unit: str = ""

    def __post_init__(self) -> None:
        if len(self.X) != len(self.y):
            raise InputError(
                f"X and y must have the same length; got {len(self.X)} and {len(self.y)} rows"
            )

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        events = int(self.y.event.sum())
        return (
            f"Dataset({self.name!r}: {len(self)} rows, {events} events, "
            f"{100 - 100 * events / len(self):.1f} % censored, {self.X.shape[1]} features)"
        )

    def encoded(self, drop_first: bool = True) -> pd.DataFrame:
        """All rows, filled and encoded as numbers, not standardised.

        For statistics of the whole dataset only (the paper draws censoring times from a Cox model
        on it). To train a model, use `preprocessor`, which learns from training rows alone.
        """
        import pandas as pd

        from ...data.preprocessing import Encoding

        plan = Encoding.fit(self.X, fill=self.fill, drop_first=drop_first)
        return pd.DataFrame(plan.transform(self.X), columns=list(plan.names), index=self.X.index)

    def preprocessor(self, **options: Any) -> Any:
        """Build an unfitted `sg.preprocessing.Preprocessor` with this dataset's fills."""
        from ...data.preprocessing import Preprocessor

        return Preprocessor(**{"fill": dict(self.fill) or None, **options})

    def prepared(self, train: Any, test: Any) -> tuple[Floats, Floats, tuple[str, ...]]:
        """Fill, encode and standardise both, learning from training rows alone; and the names."""
        # A level that is missing from a fold would leave a constant column, which some models
        # refuse.
        prepare = self.preprocessor(drop_constant=True).fit(train)
        names = tuple(map(str, prepare.get_feature_names_out()))
        if not names:  # one column of zeros, so that every model can be fitted
            return np.zeros((len(train), 1)), np.zeros((len(test), 1)), ("nothing",)
        return prepare.transform(train), prepare.transform(test), names


@dataclass(frozen=True)
class Counts:
    """What identifies a dataset; None is not compared."""

    rows: int
    events: int
    max_event_time: float | None = None
    features: int | None = None
    encoded: int | None = None
    #: Events of each cause by its name; empty where there is one kind of event.
    causes: Mapping[str, int] = field(default_factory=dict)

    @property
    def censored(self) -> float:
        """Percentage of censored subjects."""
        return 100.0 * (1.0 - self.events / self.rows)

    @classmethod
    def of(cls, dataset: Dataset) -> Counts:
        """Count in a loaded dataset."""
        from ...data.preprocessing import encoded_width

        event = dataset.y.event
        last = float(dataset.y.time[event].max()) if event.any() else 0.0
        features = dataset.X.shape[1]
        encoded, causes = encoded_width(dataset.X), _by_cause(dataset.y)
        return cls(len(dataset), int(event.sum()), last, features, encoded, causes)

    def differences(self, found: Counts) -> list[str]:
        """Say, with both numbers, where `found` is not what was expected."""
        lines = []
        for what, label, slack in (
            ("rows", "rows", 0.0),
            ("events", "events", 0.0),
            # Published to the nearest whole unit.
            ("max_event_time", "largest event time", 0.5),
            ("features", "features", 0.0),
            ("encoded", "columns after encoding", 0.0),
        ):
            expected, actual = getattr(self, what), getattr(found, what)
            if expected is not None and abs(expected - actual) > slack:
                lines.append(f"{label}: expected {expected:,.10g}, found {actual:,.10g}")
        if self.causes and dict(self.causes) != dict(found.causes):
            lines.append(
                f"events of each cause: expected {dict(self.causes)}, found {dict(found.causes)}"
            )
        return lines


def _by_cause(y: Outcomes) -> dict[str, int]:
    if y.cause is None or y.causes is None:
        return {}
    counts = np.bincount(y.cause, minlength=len(y.causes) + 1)[1:]
    return dict(zip(y.causes, counts.tolist(), strict=True))


@dataclass(frozen=True)
class SetRecord:
    """What is known of a dataset before it is loaded."""

    name: str
    #: Where it comes from: file, mimic, SurvSet, lifelines or sksurv.
    home: str
    counts: Counts
    source: str = ""
    licence: str = ""
    unit: str = ""
    #: Columns that are features; empty for all that are not outcomes or under `drop`.
    columns: tuple[str, ...] = ()
    #: Columns that are left out, with the reason.
    drop: Mapping[str, str] = field(default_factory=dict)
    fill: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    #: Columns of time and event.
    time: str = ""
    event: str = ""
    #: Of another package: its loader or its name there, and what the loader takes.
    call: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    #: Places of a file.
    file: FileSource = field(default_factory=lambda: FileSource("", ()))

    @classmethod
    def of(cls, name: str, entry: dict[str, Any]) -> SetRecord:
        """Read an entry of ``sets.json``."""
        about: dict[str, Any] = {
            key: tuple(v) if isinstance(v, list) else v for key, v in entry.items()
        }
        about["counts"] = Counts(**entry["counts"])
        about["file"] = FileSource.of(name, **entry.get("file", {"filenames": ()}))
        return cls(name, **about)

    def dataset(self, X: Any, y: Outcomes, **more: Any) -> Dataset:
        """Make the dataset of features and outcomes."""
        dropped = [Dropped(column, why) for column, why in self.drop.items()]
        return Dataset(
            X=X,
            y=y,
            name=self.name,
            source=more.get("source", self.source),
            licence=self.licence or HOMES[self.home]["licence"],
            fill=dict(self.fill),
            dropped=(*dropped, *more.get("dropped", ())),
            notes=(*self.notes, *more.get("notes", ()), *zero_times(y)),
            time_unit=self.unit,
        )


def zero_times(y: Outcomes) -> tuple[str, ...]:
    """Mention subjects whose time is zero."""
    zeros = int((y.time == 0).sum())
    return (f"{zeros} subject{'s have' if zeros > 1 else ' has'} time 0; kept",) if zeros else ()


_TABLE = json.loads(Path(__file__).with_name("sets.json").read_text(encoding="utf-8"))
#: Packages that bundle datasets, by the name of their module: package, extra, licence.
HOMES: dict[str, dict[str, str]] = _TABLE["homes"]
#: Why other sets of SurvSet are not offered.
UNSUITABLE: dict[str, str] = _TABLE["unsuitable"]
#: All datasets by name.
SETS = {name: SetRecord.of(name, entry) for name, entry in _TABLE["sets"].items()}


def check_counts(dataset: Dataset, expected: Counts, where: str) -> None:
    """Refuse a dataset that is not the one its name promises."""
    differences = expected.differences(Counts.of(dataset))
    if differences:
        raise InputError(
            f"{dataset.name} read from {where} is not the expected dataset: "
            f"{'; '.join(differences)}. Give the right file, or load it as it is with check=False"
        )
