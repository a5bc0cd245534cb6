"""The two MIMIC-IV cohorts of the paper, built with DuckDB from the user's own copy."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._tools.extras import need
from ..data.outcomes import Outcomes
from ..errors import InputError
from .mimic_sql import (
    ALL_CAUSE_COHORT,
    FIRST_DAY_TABLES,
    HOSPITAL_COHORT,
    HOSPITAL_FEATURES,
    HOSPITAL_TABLES,
    ICU_TABLES,
    first_day_query,
    quoted,
)
from .record import Counts, Dataset, Dropped, check_counts
from .storage import data_folder
from .tables import tidy

if TYPE_CHECKING:
    import pandas as pd

LICENCE = "PhysioNet credentialed: your own copy only, never reposted"
MIMIC_COUNTS = {
    "mimic_a": Counts(38_520, 12_845, 4_404, 91, 91),
    "mimic_h": Counts(293_907, 6_780, 248, 10, 10),
}
# The open demo has 100 patients, the full release 300,000: nothing lies in between.
FULL_PATIENTS = 100_000
MAX_MISSING = 0.4
_FOLDERS = ("", "hosp", "icu", "derived", "mimiciv_hosp", "mimiciv_icu", "mimiciv_derived")
_ENDINGS = (".csv.gz", ".csv", ".parquet")
_DATABASES = (".duckdb", ".db", ".ddb")
_KNOWN_NAMES = ("mimic_iv", "mimiciv", "mimic-iv", "mimic4")
_INSTRUCTIONS = (
    "MIMIC-IV is credentialed: get it from PhysioNet (physionet.org/content/mimiciv; the paper "
    "used version 2.0), then pass path=..., or put it as mimic_iv into the SURVGAUGE_DATA folder."
)
_DERIVED_HELP = (
    "The first-day tables are built by the scripts of the mimic-code repository "
    "(mimic-iv/concepts_duckdb); give the DuckDB database that they fill, or a folder with hosp/, "
    "icu/ and the tables as derived/NAME.csv or .parquet."
)


@dataclass
class Tables:
    """Tables of a MIMIC copy under their plain names, in a database that is cut off from files."""

    connection: Any
    path: Path

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Run a query and return its rows."""
        return list(self._one(query).fetchall())

    def frame(self, query: str) -> pd.DataFrame:
        """Run a query and return a frame."""
        return self._one(query).df()

    def _one(self, query: str) -> Any:
        """Run one statement: DuckDB would run several, and names in a query come from files."""
        statements = self.connection.extract_statements(query)
        if len(statements) != 1:
            raise InputError(f"{self.path}: a query must be one statement; got {len(statements)}")
        return self.connection.execute(statements[0])


def find_mimic(path: str | Path | None) -> Path | None:
    """Take the path that the user gives, or a MIMIC copy in the folder of ``SURVGAUGE_DATA``."""
    if path is not None:
        place = Path(path).expanduser()
        if not place.exists():
            raise InputError(f"path must be a folder or a DuckDB database; no such path: {place}")
        return place
    folder = data_folder()
    if folder is None:
        return None
    candidates = [folder / name for name in _KNOWN_NAMES]
    candidates += [folder / f"{name}{end}" for name in _KNOWN_NAMES for end in _DATABASES]
    return next((place for place in candidates if place.exists()), None)


def load_mimic(name: str, path: str | Path | None, check: bool) -> Dataset:
    """Build a cohort; the paper's counts are compared when the copy is the full one."""
    place = find_mimic(path)
    if place is None:
        raise InputError(f"{name} is not on this machine. {_INSTRUCTIONS}{_derived_help(name)}")
    build = _hospital if name == "mimic_h" else _all_cause
    needed = HOSPITAL_TABLES if name == "mimic_h" else (*ICU_TABLES, *FIRST_DAY_TABLES)
    duckdb = need("duckdb", f"building {name}")
    try:
        with closing(open_tables(place, needed, name)) as tables:
            patients = int(tables.rows("SELECT count(*) FROM patients")[0][0])
            dataset = build(tables, place)
    except duckdb.Error as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"{name} cannot be built from {place}: {reason}") from error
    if check and patients >= FULL_PATIENTS:
        check_counts(dataset, MIMIC_COUNTS[name], f"{place} (the paper used MIMIC-IV 2.0)")
    elif check:
        warnings.warn(
            f"{name}: {place} has {patients} patients, so it is not the full MIMIC-IV; the paper's "
            f"counts were not compared (check=False says that this is known)",
            UserWarning,
            stacklevel=3,
        )
    return dataset


def _derived_help(name: str) -> str:
    return f" {_DERIVED_HELP}" if name == "mimic_a" else ""


def open_tables(place: Path, needed: Iterable[str], name: str) -> Tables:
    """Make the needed tables reachable under their plain names, from files or a database."""
    duckdb = need("duckdb", f"building {name}")
    wanted = list(needed)
    connection = duckdb.connect(":memory:")
    try:
        connection.execute("SET enable_progress_bar = false")
        connection.execute("SET autoinstall_known_extensions = false")  # no network behind the back
        found: dict[str, Any]
        if place.is_dir():
            found = {table: _file_of(place, table) for table in wanted}
        else:
            connection.execute(f"ATTACH {_text(str(place))} AS source (READ_ONLY)")
            _cut_off(connection)
            found = {table: _stored(connection, table) for table in wanted}
        missing = [table for table, where in found.items() if where is None]
        if missing:
            raise InputError(
                f"{name} needs the table(s) {', '.join(missing)}, which {place} does not hold. "
                f"{_INSTRUCTIONS}{_derived_help(name)}"
            )
        if place.is_dir():
            for table, file in found.items():
                connection.execute(f"CREATE TABLE {quoted(table)} AS {_scan(file)}", [str(file)])
            _cut_off(connection)
        else:
            for table, where in found.items():
                connection.execute(f"CREATE VIEW {quoted(table)} AS SELECT * FROM {where}")
    except BaseException:
        connection.close()
        raise
    return Tables(connection, place)


def _cut_off(connection: Any) -> None:
    """Close the way to files and the network for good: what follows was written by others."""
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _text(value: str) -> str:
    """Quote a value for SQL."""
    return "'" + value.replace("'", "''") + "'"


def _file_of(folder: Path, table: str) -> Path | None:
    """Find the file of a table, if the folder has one."""
    files = (folder / inner / f"{table}{end}" for inner in _FOLDERS for end in _ENDINGS)
    return next((file for file in files if file.is_file()), None)


def _scan(file: Path) -> str:
    """SQL that reads a file whose name is bound to it as a parameter."""
    if file.suffix == ".parquet":
        return "SELECT * FROM read_parquet($1)"
    # Everything as text: the queries cast, so no type depends on a sample of the rows.
    options = "header=true, all_varchar=true, delim=',', quote='\"', escape='\"'"
    return f"SELECT * FROM read_csv($1, {options})"


def _stored(connection: Any, table: str) -> str | None:
    """Full name of a table in the attached database, whichever schema it is in."""
    rows = connection.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'source' "
        "AND lower(table_name) = lower($1) UNION ALL "
        "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'source' "
        "AND lower(view_name) = lower($1)",
        [table],
    ).fetchall()
    # A copy of a table in another schema must not win over the schemas of mimic-code.
    rows.sort(key=lambda row: (not row[0].startswith("mimiciv"), row[0]))
    return f"source.{quoted(rows[0][0])}.{quoted(rows[0][1])}" if rows else None


def _hospital(tables: Tables, place: Path) -> Dataset:
    frame = tables.frame(HOSPITAL_COHORT)
    if frame.empty:
        raise InputError(f"mimic_h: no admission in {place} meets the rule of the cohort")
    subjects = int(frame["subject_id"].nunique())
    return Dataset(
        X=tidy(frame[list(HOSPITAL_FEATURES)]),
        y=Outcomes(frame["time"], frame["event"]),
        name="mimic_h",
        source=f"MIMIC-IV, hospital mortality, built from {place}",
        licence=LICENCE,
        notes=(f"one row per admission: {len(frame)} admissions of {subjects} patients",),
        time_unit="days",
    )


def _all_cause(tables: Tables, place: Path) -> Dataset:
    cohort = tables.rows(f"SELECT count(*), count(dod) FROM ({ALL_CAUSE_COHORT})")[0]
    described = {
        table: [row[0] for row in tables.rows(f"DESCRIBE {quoted(table)}")]
        for table in FIRST_DAY_TABLES
    }
    frame = tables.frame(first_day_query(described))
    if frame.empty:
        raise InputError(f"mimic_a: no ICU stay in {place} meets the rule of the cohort")
    early = frame["time"] < 1
    kept = frame[~early].reset_index(drop=True)
    features = kept.drop(columns=["subject_id", "time", "event"])
    share = features.isna().mean()
    sparse = sorted(share.index[share > MAX_MISSING])
    X = _with_ranges(tidy(features.drop(columns=sparse)))
    reason = f"missing in more than {MAX_MISSING:.0%} of the stays"
    return Dataset(
        X=X,
        y=Outcomes(kept["time"], kept["event"]),
        name="mimic_a",
        source=f"MIMIC-IV, all-cause mortality, built from {place}",
        licence=LICENCE,
        dropped=tuple(Dropped(column, reason) for column in sparse),
        notes=(
            f"{cohort[0]} patients and {cohort[1]} deaths meet the rule; "
            f"{int(early.sum())} with a time below one day are left out",
        ),
        time_unit="days",
    )


def _with_ranges(X: pd.DataFrame) -> pd.DataFrame:
    """Add the range (largest minus smallest) of every vital sign and lab value."""
    import pandas as pd

    ranges = {
        f"{column[: -len('_min')]}_range": X[f"{column[: -len('_min')]}_max"] - X[column]
        for column in X.columns
        if column.endswith("_min")
        and f"{column[: -len('_min')]}_max" in X.columns
        and not column.startswith("weight")
    }
    return pd.concat([X, pd.DataFrame(ranges, index=X.index)], axis=1)
