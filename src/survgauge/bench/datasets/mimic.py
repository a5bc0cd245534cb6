"""The two MIMIC-IV cohorts of the paper, built with DuckDB from the user's own copy."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..._tools.extras import need
from ...data.outcomes import Outcomes
from ...errors import InputError
from .files import data_folder
from .readers import tidy
from .record import SETS, Dataset, Dropped, check_counts

if TYPE_CHECKING:
    import pandas as pd

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


def ask(tables: Any, query: str) -> Any:
    """Run one statement: DuckDB would run several, and names in a query come from files."""
    statements = tables.extract_statements(query)
    if len(statements) != 1:
        raise InputError(f"a query must be one statement; got {len(statements)}")
    return tables.execute(statements[0])


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
        raise InputError(missing_mimic(name))
    build = _hospital if name == "mimic_h" else _all_cause
    needed = HOSPITAL_TABLES if name == "mimic_h" else (*ICU_TABLES, *FIRST_DAY_TABLES)
    duckdb = need("duckdb", f"building {name}")
    try:
        with closing(open_tables(place, needed, name)) as tables:
            patients = int(ask(tables, "SELECT count(*) FROM patients").fetchone()[0])
            dataset = build(tables, place)
    except duckdb.Error as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"{name} cannot be built from {place}: {reason}") from error
    if check and patients >= FULL_PATIENTS:
        check_counts(dataset, SETS[name].counts, f"{place} (the paper used MIMIC-IV 2.0)")
    elif check:
        warnings.warn(
            f"{name}: {place} has {patients} patients, so it is not the full MIMIC-IV; the paper's "
            f"counts were not compared (check=False says that this is known)",
            UserWarning,
            stacklevel=3,
        )
    return dataset


def missing_mimic(name: str) -> str:
    """Say how a user can provide a cohort."""
    return f"{name} is not on this machine. {_help(name)}"


def _help(name: str) -> str:
    return f"{_INSTRUCTIONS} {_DERIVED_HELP}" if name == "mimic_a" else _INSTRUCTIONS


def open_tables(place: Path, needed: Iterable[str], name: str) -> Any:
    """Open a database with the needed tables under their plain names, cut off from files."""
    connection = need("duckdb", f"building {name}").connect(":memory:")
    try:
        connection.execute("SET enable_progress_bar = false")
        connection.execute("SET autoinstall_known_extensions = false")  # no network behind the back
        found: dict[str, Any]
        if place.is_dir():
            found = {table: _file_of(place, table) for table in needed}
        else:
            connection.execute(f"ATTACH {_text(str(place))} AS source (READ_ONLY)")
            _cut_off(connection)
            found = {table: _stored(connection, table) for table in needed}
        missing = [table for table, where in found.items() if where is None]
        if missing:
            raise InputError(
                f"{name} needs the table(s) {', '.join(missing)}, which {place} does not hold. "
                f"{_help(name)}"
            )
        for table, where in found.items():
            if isinstance(where, Path):
                connection.execute(f"CREATE TABLE {quoted(table)} AS {_scan(where)}", [str(where)])
            else:
                connection.execute(f"CREATE VIEW {quoted(table)} AS SELECT * FROM {where}")
        if place.is_dir():
            _cut_off(connection)
    except BaseException:
        connection.close()
        raise
    return connection


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


def _hospital(tables: Any, place: Path) -> Dataset:
    frame = ask(tables, HOSPITAL_COHORT).df()
    if frame.empty:
        raise InputError(f"mimic_h: no admission in {place} meets the rule of the cohort")
    subjects = int(frame["subject_id"].nunique())
    return SETS["mimic_h"].dataset(
        tidy(frame[list(HOSPITAL_FEATURES)]),
        Outcomes(frame["time"], frame["event"]),
        source=f"MIMIC-IV, hospital mortality, built from {place}",
        notes=[f"one row per admission: {len(frame)} admissions of {subjects} patients"],
    )


def _all_cause(tables: Any, place: Path) -> Dataset:
    cohort = ask(tables, f"SELECT count(*), count(dod) FROM ({ALL_CAUSE_COHORT})").fetchone()
    described = {
        table: [row[0] for row in ask(tables, f"DESCRIBE {quoted(table)}").fetchall()]
        for table in FIRST_DAY_TABLES
    }
    frame = ask(tables, first_day_query(described)).df()
    if frame.empty:
        raise InputError(f"mimic_a: no ICU stay in {place} meets the rule of the cohort")
    early = frame["time"] < 1
    kept = frame[~early].reset_index(drop=True)
    features = kept.drop(columns=["subject_id", "time", "event"])
    share = features.isna().mean()
    sparse = sorted(share.index[share > MAX_MISSING])
    X = _with_ranges(tidy(features.drop(columns=sparse)))
    reason = f"missing in more than {MAX_MISSING:.0%} of the stays"
    return SETS["mimic_a"].dataset(
        X,
        Outcomes(kept["time"], kept["event"]),
        source=f"MIMIC-IV, all-cause mortality, built from {place}",
        dropped=[Dropped(column, reason) for column in sparse],
        notes=[
            f"{cohort[0]} patients and {cohort[1]} deaths meet the rule; "
            f"{int(early.sum())} with a time below one day are left out"
        ],
    )


def _with_ranges(X: pd.DataFrame) -> pd.DataFrame:
    """Add the range (largest minus smallest) of every vital sign and lab value."""
    import pandas as pd

    names = [column.removesuffix("_min") for column in X.columns if column.endswith("_min")]
    ranges = {
        f"{name}_range": X[f"{name}_max"] - X[f"{name}_min"]
        for name in names
        if f"{name}_max" in X.columns and not name.startswith("weight")
    }
    return pd.concat([X, pd.DataFrame(ranges, index=X.index)], axis=1)


# -- the rules of the cohorts, as SQL over tables by their plain names ----------------------------

HOSPITAL_COHORT, ALL_CAUSE_COHORT = (
    Path(__file__).with_name(f"{name}.sql").read_text(encoding="utf-8")
    for name in ("mimic_h", "mimic_a")
)
HOSPITAL_TABLES = ("patients", "admissions", "drgcodes")
ICU_TABLES = ("patients", "admissions", "icustays")
FIRST_DAY_TABLES = (
    "first_day_height",
    "first_day_weight",
    "first_day_sofa",
    "first_day_vitalsign",
    "first_day_lab",
)
HOSPITAL_FEATURES = (
    "male",
    "age",
    "white",
    "medicare",
    "medicaid",
    "english",
    "married",
    "emergency",
    "drg_severity",
    "drg_mortality",
)
_IDENTIFIERS = ("subject_id", "hadm_id", "stay_id")


def quoted(name: str) -> str:
    """Quote a name for SQL: names of columns come from files, and may hold anything.

    >>> quoted('a"; DROP TABLE b; --')
    '"a""; DROP TABLE b; --"'
    """
    return '"' + name.replace('"', '""') + '"'


def first_day_query(columns: Mapping[str, Sequence[str]]) -> str:
    """Join the cohort with every measurement of the first-day tables.

    A column that two tables share (glucose is a vital sign and a lab value) gets the table's name
    in front in the later one.
    """
    taken = {"subject_id", "age", "male", "time", "event"}
    selected, joins = [], []
    for table in columns:
        alias = quoted(table)
        joins.append(f"LEFT JOIN {alias} ON CAST({alias}.stay_id AS BIGINT) = c.stay_id")
        for column in columns[table]:
            if column.lower() in _IDENTIFIERS:
                continue
            name = column
            while name.lower() in taken:  # names in SQL do not differ by case alone
                name = f"{table.removeprefix('first_day_')}_{name}"
            taken.add(name.lower())
            selected.append(f"TRY_CAST({alias}.{quoted(column)} AS DOUBLE) AS {quoted(name)}")
    measurements = "".join(f",\n    {item}" for item in selected)
    return (
        f"WITH c AS ({ALL_CAUSE_COHORT})\n"
        f"SELECT c.subject_id, c.time, c.event, c.age, c.male{measurements}\n"
        f"FROM c\n{chr(10).join(joins)}\nORDER BY c.subject_id"
    )
