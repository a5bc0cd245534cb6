"""Which datasets there are, whether they are here, and how to load them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..._tools.text import columns
from ...errors import InputError, MissingExtraError, closest
from .files import Reporter, download, find_at, find_here, missing_help, silent, to_stderr
from .mimic import find_mimic, load_mimic, missing_mimic
from .readers import from_file, load_file, load_packaged
from .record import HOMES, SETS, UNSUITABLE, Dataset, SetRecord, check_counts

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Entry:
    """One line of the list of datasets."""

    name: str
    rows: int
    events: int
    censored: float
    features: int | None
    source: str
    licence: str
    available: bool
    where: str
    causes: int = 1

    def cells(self) -> list[str]:
        """Return the line of a printed table; `HEADER` names its columns."""
        return [
            self.name,
            f"{self.rows:,}",
            f"{self.events:,}",
            f"{self.censored:.1f}",
            "" if self.features is None else f"{self.features:,}",
            "yes" if self.available else "no",
            self.where,
        ]


HEADER = ["name", "rows", "events", "censored %", "features", "here", "where"]
#: Columns of text.
TEXT = (0, 5, 6)


class Listing:
    """The list of datasets: iterate over it, print it, or take `frame`."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = tuple(entries)
        self._by_name = {entry.name: entry for entry in self.entries}

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, name: str) -> Entry:
        return self._by_name[name]

    @property
    def names(self) -> list[str]:
        """Names that `load` takes."""
        return list(self._by_name)

    def frame(self) -> pd.DataFrame:
        """Return the list as a table."""
        import pandas as pd

        names = [item.name for item in fields(Entry)]
        rows = [[getattr(entry, name) for name in names] for entry in self.entries]
        return pd.DataFrame(rows, columns=names)

    def __str__(self) -> str:
        return columns(HEADER, [entry.cells() for entry in self.entries], TEXT)

    __repr__ = __str__


def available() -> Listing:
    """List the datasets with their counts and whether they are on this machine.

    Looks at files and installed packages only: nothing is downloaded or imported.

    Examples
    --------
    >>> listing = available()
    >>> listing["support"].rows, listing["support"].events
    (9105, 6201)
    >>> round(listing["gbm"].censored, 2)
    17.65
    >>> [entry.name for entry in listing if entry.causes > 1][:2]
    ['follic_causes', 'mgus_causes']
    """
    return Listing(_entry(record) for record in SETS.values())


def _entry(record: SetRecord) -> Entry:
    """Line of a dataset, with where it is or how to get it."""
    counts, home = record.counts, HOMES.get(record.home, {})
    here, where = _where(record)
    return Entry(
        record.name,
        counts.rows,
        counts.events,
        round(counts.censored, 2),
        counts.features,
        record.source or home["package"],
        record.licence or home["licence"],
        here is not None,
        where,
        max(len(counts.causes), 1),
    )


def _where(record: SetRecord) -> tuple[Path | None, str]:
    """Place of a dataset on this machine if it is here, and where that is or how to get it."""
    if record.home == "file":
        found = find_here(record.file)
        if found is None:
            return None, f"survgauge datasets fetch {record.name}, or pass path="
        return found[0], f"{found[1]}: {found[0]}"
    if record.home == "mimic":
        place = find_mimic(None)
        how = "pass path= to your own copy of MIMIC-IV"
        return place, how if place is None else f"SURVGAUGE_DATA: {place}"
    home, spec = HOMES[record.home], find_spec(record.home)
    if spec is None or spec.origin is None:
        return None, f"pip install 'survgauge[{home['extra']}]'"
    return Path(spec.origin).parent, f"package {home['package']}"


def load(
    name: str | None = None,
    path: str | Path | None = None,
    *,
    time: str | None = None,
    event: str | None = None,
    drop: Iterable[str] = (),
    check: bool = True,
    fetch_missing: bool = True,
    progress: bool | Reporter = False,
) -> Dataset:
    """Load a dataset by name, or a table of your own by path.

    A named file is looked for in this order: `path`; the folder that ``SURVGAUGE_DATA`` names; the
    cache (``SURVGAUGE_CACHE`` or the platform's); a data package through pip; the address of the
    people who publish it.

    Parameters
    ----------
    name : str, optional
        A name out of `available`. Without it (or with a name of your own), `path` is a table for
        `from_file`.
    path : path, optional
        A file, a folder with the file, or your copy of MIMIC-IV (a folder, or a DuckDB database).
    time, event, drop
        Columns of a table of your own, see `from_file`.
    check : bool
        Compare rows, events, largest event time and columns with the known ones, and refuse a
        different dataset.
    fetch_missing : bool
        Whether to download what is not on this machine.
    progress : bool or callable
        Where to report a download: True for standard error, or a function that takes a line.

    Examples
    --------
    >>> load("no such set")
    Traceback (most recent call last):
    survgauge.errors.InputError: unknown dataset 'no such set'; ...
    """
    own = {"time": time, "event": event, "drop": tuple(drop) or None}
    given = {key: value for key, value in own.items() if value is not None}
    if name is None and path is None:
        raise InputError("load needs a name (see available()) or a path to a table of your own")
    if name is None or (name not in SETS and path is not None):
        return from_file(path, name=name, **given)  # type: ignore[arg-type]
    _refuse_unknown(name)
    if given:
        raise InputError(f"{', '.join(given)} are for tables of your own; {name} has its columns")
    record = SETS[name]
    if record.home == "mimic":
        return load_mimic(name, path, check)
    if record.home == "file":
        here = find_here(record.file)
        if path is not None:
            file = find_at(record.file, path)
        elif here is not None:
            file = here[0]
        elif fetch_missing:
            file = download(record.file, _reporter(progress))
        else:
            raise InputError(f"{name} is not on this machine. {missing_help(record.file)}")
        dataset, where = load_file(record, file), str(file)
    else:
        package = HOMES[record.home]["package"]
        if path is not None:
            raise InputError(f"{name} comes inside the package {package} and takes no path")
        dataset, where = load_packaged(record), f"the package {package}"
    if check:
        check_counts(dataset, record.counts, where)
    return dataset


def fetch(name: str, *, progress: bool | Reporter = True, force: bool = False) -> Path:
    """Get a dataset onto this machine and return where it is.

    Parameters
    ----------
    name : str
        A name out of `available`.
    progress : bool or callable
        Where to report: True for standard error, or a function that takes a line.
    force : bool
        Download again even if a copy is in the cache.
    """
    _refuse_unknown(name)
    report, record = _reporter(progress), SETS[name]
    here, where = _where(record)
    if here is not None and not (force and where.startswith("cache")):
        report(f"{name}: already here ({where})")
        return here
    if record.home == "mimic":
        raise InputError(missing_mimic(name))
    if record.home != "file":
        raise MissingExtraError(f"the dataset {name}", HOMES[record.home]["extra"])
    return download(record.file, report)


def _reporter(progress: bool | Reporter) -> Reporter:
    if callable(progress):
        return progress
    return to_stderr if progress else silent


def _refuse_unknown(name: Any) -> None:
    if name in SETS:
        return
    if name in UNSUITABLE:
        raise InputError(f"{name} (SurvSet) is not offered: {UNSUITABLE[name]}")
    close = closest(str(name), list(SETS))
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    raise InputError(
        f"unknown dataset {name!r}; {hint}`survgauge datasets` lists them; "
        f"for a table of your own pass path="
    )
