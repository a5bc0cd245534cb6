"""Datasets by name, read from their files or through the loaders of other packages; own files."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._tools.extras import need
from ..._tools.frames import kinds_of, levels_of
from ...data.outcomes import Outcomes
from ...data.tables import read_frame
from ...errors import InputError, MissingExtraError
from .files import is_archive, read_member
from .record import HOMES, SETS, Dataset, Dropped, SetRecord, zero_times

if TYPE_CHECKING:
    import pandas as pd


def widened(column: pd.Series) -> pd.Series:
    """Turn single into double precision by the shortest decimal, as a CSV of it would read.

    So that the same data are the same numbers whether they come as CSV or in a binary format.
    """
    if str(column.dtype).lower() != "float32":
        return column
    values = column.to_numpy(dtype=np.float32, na_value=np.nan)
    return column.__class__(
        values.astype(str).astype(np.float64), index=column.index, name=column.name
    )


def tidy(frame: pd.DataFrame) -> pd.DataFrame:
    """Numbers and flags as float, text as unordered categories, categories as they are."""
    import pandas as pd

    if not frame.columns.is_unique:
        raise InputError("columns must have distinct names; some occur twice")
    kinds = kinds_of(frame)
    changed: dict[Any, Any] = {}
    for name, dtype, kind in zip(frame.columns, frame.dtypes, kinds, strict=True):
        if dtype == np.float64:
            continue
        column = frame[name]
        if getattr(dtype, "categories", None) is not None:
            changed[name] = column.cat.remove_unused_categories()
        elif kind == "number":
            values = widened(column).to_numpy(dtype=np.float64, na_value=np.nan)
            changed[name] = pd.Series(values, index=frame.index)
        else:
            changed[name] = column.astype(pd.CategoricalDtype(levels_of(column)))
    kept = frame[[name for name in frame.columns if name not in changed]]
    tidied = pd.concat([kept, pd.DataFrame(changed, index=frame.index)], axis=1)
    return tidied[list(frame.columns)].reset_index(drop=True)


def ordered(column: pd.Series, levels: Iterable[Any]) -> pd.Series:
    """Make a column an ordered category; a value outside the levels is refused."""
    import pandas as pd

    names = list(levels)
    strange = sorted({str(v) for v in column.dropna().unique() if v not in names})
    if strange:
        raise InputError(f"column {column.name!r} must hold one of {names}; got {strange[:5]}")
    return column.astype(pd.CategoricalDtype(names, ordered=True))


def columns_needed(frame: pd.DataFrame, names: Iterable[str], where: str) -> None:
    """Refuse a table without the columns that are needed, showing those that it has."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise InputError(
            f"{where} lacks the column(s) {', '.join(map(repr, missing))}; it has "
            f"{[str(c) for c in frame.columns[:12]]}{' ...' if frame.shape[1] > 12 else ''}"
        )


def from_file(
    path: str | Path,
    *,
    time: str = "time",
    event: str = "event",
    drop: Iterable[str] = (),
    name: str | None = None,
    time_unit: str = "",
) -> Dataset:
    """Load any CSV, Parquet or Feather table with a time and an event column.

    Parameters
    ----------
    path : path
        The table: a row per subject; all other columns are features.
    time, event : str
        Names of the columns with the observed time and the event flag (True or 1 if observed).
    drop : iterable of str
        Columns to leave out, such as identifiers and other outcomes.
    name : str, optional
        What to call the dataset; the name of the file if not given.
    time_unit : str
        For axis labels.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = Path(folder.name) / "study.csv"
    >>> _ = file.write_text("months,died,age,arm\\n5,1,61,a\\n8,0,70,b\\n3,1,58,a\\n")
    >>> ds = from_file(file, time="months", event="died")
    >>> ds
    Dataset('study': 3 rows, 2 events, 33.3 % censored, 2 features)
    >>> folder.cleanup()
    """
    path = Path(path)
    frame = read_frame(path)
    left_out = [drop] if isinstance(drop, str) else list(drop)
    columns_needed(frame, [time, event, *left_out], path.name)
    X = tidy(frame.drop(columns=[time, event, *left_out]))
    _warn_of_identifiers(X, path.name)
    y = Outcomes(frame[time], frame[event])
    return Dataset(
        X=X,
        y=y,
        name=name or path.name.partition(".")[0],
        source=str(path),
        licence="your own file",
        dropped=tuple(Dropped(column, "left out on request") for column in left_out),
        notes=zero_times(y),
        time_unit=time_unit,
    )


def _warn_of_identifiers(X: pd.DataFrame, where: str) -> None:
    """A text column with a level for every row is a name, not a feature."""
    suspects = [
        str(column)
        for column in X.columns
        if len(X) > 20
        and getattr(X[column].dtype, "categories", None) is not None
        and len(X[column].dtype.categories) > 0.9 * len(X)
    ]
    if suspects:
        warnings.warn(
            f"{where}: column(s) {suspects} have a different text in nearly every row; identifiers "
            f"are no features, leave them out with drop={suspects}",
            UserWarning,
            stacklevel=3,
        )


# -- files: the three datasets of the paper that anyone can get ------------------------------------

INCOME = ("under $11k", "$11-$25k", "$25-$50k", ">$50k")


def _content(path: Path, names: tuple[str, ...], **options: Any) -> pd.DataFrame:
    """Read the table of a path, out of an archive if it is one."""
    if not is_archive(path):
        return read_frame(path, **options)
    wanted = [name for name in names if not is_archive(Path(name))]
    content = read_member(path, wanted)
    # The member's own ending says how to read it; the first known name has the right one.
    return read_frame(wanted[0], io.BytesIO(content), **options)


def _picked_clinical(path: Path) -> pd.DataFrame:
    """TCGA's picked clinical file: features in rows, patients in columns."""
    text: dict[str, Any] = {"header": None, "dtype": str, "index_col": 0}
    if path.name.endswith(".txt"):
        table = read_frame(path, **text)
    else:
        content = read_member(path, ["GBM.clin.merged.picked.txt"])
        table = read_frame("picked.txt", io.BytesIO(content), **text)
    pd = need("pandas", "reading tables", "pandas")
    frame = table.T.reset_index(drop=True)
    needed = ["vital_status", "days_to_death", "days_to_last_followup", *SETS["gbm"].columns]
    columns_needed(frame, needed, path.name)
    event = pd.to_numeric(frame["vital_status"]) == 1
    followed = pd.to_numeric(frame["days_to_last_followup"])
    frame["time"] = pd.to_numeric(frame["days_to_death"]).where(event, followed)
    frame["delta"] = event.astype(int)
    numeric = (
        "years_to_birth",
        "date_of_initial_pathologic_diagnosis",
        "karnofsky_performance_score",
    )
    for name in numeric:
        frame[name] = pd.to_numeric(frame[name])
    return frame[frame["time"].notna()]


def _deepsurv_h5(path: Path) -> pd.DataFrame:
    """Training part, then test part, of DeepSurv's file."""
    pd = need("pandas", "reading tables", "pandas")
    h5py = need("h5py", "reading HDF5 files")
    try:
        with h5py.File(path, "r") as file:
            parts = [
                pd.DataFrame(file[part]["x"][:], columns=list(SETS["metabric"].columns)).assign(
                    duration=file[part]["t"][:], event=file[part]["e"][:]
                )
                for part in ("train", "test")
            ]
    except (OSError, KeyError, ValueError) as error:
        raise InputError(f"{path.name} is not DeepSurv's METABRIC file: {error}") from error
    return pd.concat(parts, ignore_index=True)


def load_file(record: SetRecord, path: Path) -> Dataset:
    """Load a set from its file, or from an archive with it."""
    if record.name == "gbm" and path.name.endswith((".txt", ".tar.gz", ".tgz")):
        frame = _picked_clinical(path)
    elif record.name == "metabric" and path.suffix.lower() in (".h5", ".hdf5"):
        frame = _deepsurv_h5(path)
    else:
        frame = _content(path, record.file.filenames, skipinitialspace=True)
    columns_needed(frame, [*record.columns, record.time, record.event], path.name)
    X, outcome = frame[list(record.columns)], tidy(frame[[record.time, record.event]])
    if record.name == "support":
        X = _levels_of_support(X.copy())
    return record.dataset(tidy(X), Outcomes(outcome[record.time], outcome[record.event]))


def _levels_of_support(X: pd.DataFrame) -> pd.DataFrame:
    """Make an indicator of the three levels of cancer, and order those of income."""
    known = {"no", "yes", "metastatic"}
    strange = sorted({str(v) for v in X["ca"].dropna().unique()} - known)
    if strange:
        raise InputError(f"column 'ca' must hold one of {sorted(known)}; got {strange}")
    X["ca"] = (X["ca"] == "metastatic").astype(float).where(X["ca"].notna(), np.nan)
    X["income"] = ordered(X["income"], INCOME)
    return X


# -- datasets that come inside other packages, read through their public loaders ------------------


def _follic(frame: pd.DataFrame) -> Outcomes:
    return Outcomes(frame["time"], frame["event"], causes=["relapse", "death"])


def _mgus(frame: pd.DataFrame) -> Outcomes:
    """Progression where its time is known, else death."""
    columns_needed(frame, ["num_pctime"], "SurvSet's mgus")
    progressed = frame["num_pctime"].notna()
    time = frame["num_pctime"].fillna(frame["time"])
    codes = (2 * frame["event"]).where(~progressed, 1)
    return Outcomes(time, codes, causes=["progression", "death"])


def _flchain(frame: pd.DataFrame) -> Outcomes:
    """Chapter of the cause of death; it is empty for the living."""
    columns_needed(frame, ["fac_chapter"], "SurvSet's flchain")
    chapter = frame["fac_chapter"].astype(str)
    codes = frame["event"] * chapter.map({"Circulatory": 1, "Neoplasms": 2}).fillna(3).astype(int)
    return Outcomes(frame["time"], codes, causes=["circulatory", "neoplasm", "other"])


#: Sets of SurvSet whose table tells the causes of events, and how to read them.
_CAUSES = {"follic_causes": _follic, "mgus_causes": _mgus, "flchain_causes": _flchain}


def load_packaged(record: SetRecord) -> Dataset:
    """Load a set that another package bundles."""
    if record.home == "SurvSet":
        return _survset(record)
    package = HOMES[record.home]["package"]
    found = _called(record)
    frame, outcome = (found, found) if record.home == "lifelines" else found
    given = [record.time, record.event] if record.time else []
    columns_needed(frame, [*given, *record.drop], f"{package}'s {record.call}")
    X, causes = frame.drop(columns=[*given, *record.drop]), tuple(record.counts.causes)
    if record.home == "sksurv" and not causes:
        y = Outcomes.of(outcome)
    elif record.home == "sksurv":
        y = Outcomes(outcome["ftime"], outcome["status"], causes=causes)
    elif not causes:
        y = Outcomes(frame[record.time], frame[record.event])
    else:
        words = frame[record.event].astype(object).where(frame["observed"], "censored").str.lower()
        kept = words.isin([*causes, "censored"])
        X = X[kept]
        y = Outcomes(frame[record.time][kept], words[kept].tolist(), causes=causes)
    return record.dataset(tidy(X), y, source=f"{package}, datasets.{record.call}")


def _called(record: SetRecord) -> Any:
    extra = HOMES[record.home]["extra"]
    module = need(f"{record.home}.datasets", f"the dataset {record.name}", extra)
    loader = getattr(module, record.call, None)
    if loader is None:
        raise MissingExtraError(f"the dataset {record.name} (a newer version of it)", extra)
    return loader(**record.arguments)


def _survset(record: SetRecord) -> Dataset:
    """Load a set of SurvSet without its leaking columns and its repeated ones."""
    theirs = record.call or record.name
    module = need("SurvSet.data", f"the dataset {theirs}", "survset")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the loader, about pandas internals
        answer = module.SurvLoader().load_dataset(ds_name=theirs)
    frame = answer["df"]
    columns_needed(frame, ["event", "time"], f"SurvSet's {theirs}")
    read = _CAUSES.get(record.name)
    y = Outcomes(frame["time"], frame["event"]) if read is None else read(frame)
    features = frame.drop(columns=["pid", "event", "time"], errors="ignore")
    # SurvSet marks numbers with num_ and factors with fac_; of variables that come as both, the
    # number is taken.
    numbers = {c[4:] for c in features.columns if c.startswith("num_")}
    twice = [c[4:] for c in features.columns if c.startswith("fac_") and c[4:] in numbers]
    X = features.drop(columns=[f"fac_{c}" for c in twice])
    X.columns = [c[4:] if c[:4] in ("num_", "fac_") else c for c in X.columns]
    columns_needed(X, record.drop, f"SurvSet's {theirs}")
    return record.dataset(
        tidy(X.drop(columns=list(record.drop))),
        y,
        source=f"SurvSet; {answer.get('ref', 'no reference given')}",
        dropped=[Dropped(f"fac_{c}", f"the same as num_{c}") for c in twice],
    )
