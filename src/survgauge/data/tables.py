"""Tables in files: every CSV, Parquet and Feather file of the package is opened here."""

from __future__ import annotations

import csv
import io
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._tools.arrays import EVENTS, Floats
from .._tools.extras import need
from ..errors import InputError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd


READABLE = "CSV (.csv, .csv.gz, .tsv, .txt), Parquet (.parquet) or Feather (.feather)"
_PICKLES = (".pkl", ".pickle", ".p", ".joblib")
#: Formats that are not tables of text, by the ending of the name.
_NOT_READ = {
    ".json": "JSON",
    ".jsonl": "JSON",
    ".ndjson": "JSON",
    ".xlsx": "an Excel workbook",
    ".xls": "an Excel workbook",
    ".ods": "a spreadsheet",
    ".feather": "Feather",
    ".rds": "a file of R",
    ".rda": "a file of R",
    ".rdata": "a file of R",
    ".sav": "a file of SPSS",
    ".dta": "a file of Stata",
    ".sas7bdat": "a file of SAS",
}
#: The first bytes of files that are not text, what they are and what to do.
_SIGNS = {
    b"\x1f\x8b": "it is compressed (gzip); unpack it first",
    b"BZh": "it is compressed (bzip2); unpack it first",
    b"\xfd7zXZ": "it is compressed (xz); unpack it first",
    b"\x28\xb5\x2f\xfd": "it is compressed (zstd); unpack it first",
    b"PK\x03\x04": "it is a zip archive or an Excel workbook; unpack it, or save the sheet as CSV",
    b"PAR1": "it is Parquet; give its name the ending .parquet",
    b"\xff\xfe": "it is UTF-16 text; save it as UTF-8 (in Excel: 'CSV UTF-8')",
    b"\xfe\xff": "it is UTF-16 text; save it as UTF-8 (in Excel: 'CSV UTF-8')",
}


def refuse_pickle(path: Path, readable: str = READABLE) -> None:
    """Refuse pickles by the ending of their name."""
    if path.suffix.lower() in _PICKLES:
        raise InputError(f"{path.name}: pickles are not read, they can run code; use {readable}")


def refuse_kind(path: Path) -> None:
    """Refuse what neither CSV nor Parquet can be, by the ending of its name."""
    refuse_pickle(path, "CSV or Parquet")
    kind = _NOT_READ.get(path.suffix.lower())
    if kind is not None:
        raise InputError(f"{path}: {kind} is not read here; save the table as CSV or Parquet")


def read_text(path: Path) -> str:
    """Return the text of a CSV file in UTF-8; anything else is refused by what it seems to be."""
    content = path.read_bytes()
    sign = next((said for start, said in _SIGNS.items() if content.startswith(start)), None)
    if sign is not None:
        raise InputError(f"{path}: cannot be read as CSV: {sign}")
    nul = content.find(b"\0")
    if nul >= 0:
        line = content.count(b"\n", 0, nul) + 1
        raise InputError(
            f"{path}: cannot be read as CSV: line {line} has a NUL byte, so that the file is "
            "damaged, not text, or UTF-16; save it as UTF-8 text"
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}: cannot be read as CSV: not UTF-8 text (byte 0x{content[error.start]:02x} in "
            f"line {line}), probably Latin-1 or Windows-1252; save it as UTF-8 (in Excel: 'CSV "
            "UTF-8'; elsewhere: iconv -f WINDOWS-1252 -t UTF-8)"
        ) from error


PARQUET = (".parquet", ".pq", ".parq")
#: What stands for a missing value among features.
_GAPS = {"", "NA", "NaN", "nan", "NULL", "null", "None", "?"}
_TRUE, _FALSE = {"true", "t", "yes"}, {"false", "f", "no"}
#: What else is said where a column has more than two values.
_OTHERS = (
    "; all others then count as censored, which is wrong for events that compete with it: for "
    "those give --cause"
)
#: A column with more values than this does not say who had the event.
_CODES = 4
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+(e[-+]?\d+)?\s*", re.IGNORECASE)
_DECIMAL_POINT = re.compile(r"\s*[-+]?\d+\.\d+(e[-+]?\d+)?\s*", re.IGNORECASE)


# -- Parquet ---------------------------------------------------------------------------------------


def parquet_files(where: Any) -> list[Path]:
    """Files of a path, a folder (by name, hidden ones left out), a glob, or a list of these.

    Numbers in names count as numbers: part2 comes before part10. The same file twice is refused.
    """
    found = _listed(where)
    known: dict[Path, Path] = {}
    for path in found:
        other = known.setdefault(path.resolve(), path)
        if other is not path:
            raise InputError(f"{path}: the same file as {other}; its rows would count twice")
    return found


def _listed(where: Any) -> list[Path]:
    if isinstance(where, list | tuple):
        return [path for item in where for path in _listed(item)]
    path = Path(where)
    if path.is_dir():
        found = sorted((p for p in path.rglob("*") if _is_part(p, path)), key=_natural)
        if not found:
            raise InputError(f"{path}: this folder has no Parquet files (*.parquet, *.pq)")
        return found
    if path.is_file():
        return [path]
    if any(mark in str(where) for mark in "*?["):
        matched = Path(path.anchor or ".").glob(str(path.relative_to(path.anchor)))
        found = sorted(matched, key=_natural)
        if found:
            return found
    raise InputError(f"{path}: no such file or folder")


def _is_part(path: Path, folder: Path) -> bool:
    """Whether a path below a folder is one of its files; hidden ones and their folders are not."""
    if any(part.startswith((".", "_")) for part in path.relative_to(folder).parts):
        return False
    if path.is_symlink() and path.is_dir():
        raise InputError(f"{path}: a link to a folder is not followed; name that folder itself")
    return path.suffix.lower() in PARQUET and path.is_file()


def _natural(path: Path) -> list[tuple[int, int, str]]:
    """Sort by this: runs of digits as numbers, the rest as text.

    >>> sorted(["p10", "p9", "p1"], key=lambda name: _natural(Path(name)))
    ['p1', 'p9', 'p10']
    """
    parts = re.findall(r"\d+|\D+", str(path))
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]


def open_parquet(source: Any, extra: str = "parquet", **options: Any) -> Any:
    """Return an open Parquet file; pages that carry a checksum are compared with it when read."""
    pq = need("pyarrow.parquet", "reading Parquet", extra)
    return pq.ParquetFile(source, page_checksum_verification=True, **options)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn what Arrow raises into an error of one line that names the file."""
    pa = need("pyarrow", "reading Parquet", "parquet")
    try:
        yield
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        text = " ".join(str(error).split())
        raise InputError(f"{path}: cannot be read as Parquet ({text})") from error


# -- frames ----------------------------------------------------------------------------------------


def read_frame(
    path: str | os.PathLike[str], content: Any = None, *, kind: str = "", **options: Any
) -> pd.DataFrame:
    """Return a table as a frame of pandas, read by the ending of its name.

    The file is CSV (.csv, .csv.gz, .tsv, .txt), Parquet or Feather; `content` has its bytes if they
    are not in a file of that name, and `kind` the ending that says the format, whatever the name
    ends in. `options` are those of `pandas.read_csv`.
    """
    pd = need("pandas", "reading tables", "pandas")
    path = Path(path)
    source = path if content is None else content
    endings = [ending.lower() for ending in path.suffixes]
    last = endings[-1] if endings else ""
    kind = kind or (endings[-2] if last == ".gz" and len(endings) > 1 else last)
    refuse_pickle(path)
    try:
        if kind in (".csv", ".tsv", ".txt"):
            compression = "gzip" if last == ".gz" else None
            usual = {"sep": "," if kind == ".csv" else "\t", "compression": compression}
            frame: Any = pd.read_csv(source, **{**usual, **options})
        elif kind in PARQUET:
            with open_parquet(source) as file:
                frame = file.read().to_pandas()
        elif kind == ".feather":
            feather = need("pyarrow.feather", "reading Feather", "parquet")
            frame = feather.read_table(source).to_pandas()
        else:
            raise InputError(f"{path.name}: the ending must be one of {READABLE}")
    except FileNotFoundError as error:
        raise InputError(f"no such file: {path}") from error
    except (OSError, UnicodeDecodeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path.name} cannot be read as {kind[1:]}: {error}") from error
    return frame


# -- columns, with the base install ----------------------------------------------------------------


class Table:
    """Columns of a file, as text (CSV) or typed (Parquet)."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.is_dir():
            raise InputError(f"{self.path}: is a folder, not a file")
        if not self.path.exists():
            raise InputError(f"{self.path}: no such file")
        refuse_kind(self.path)
        read = _parquet_columns if self.path.suffix.lower() in PARQUET else _csv_columns
        self.names: list[str]
        self._columns: list[Any]
        self.names, self._columns = read(self.path)
        repeated = sorted(name for name, count in Counter(self.names).items() if count > 1)
        if repeated:
            raise InputError(f"{self.path}: columns appear twice: {', '.join(repeated[:5])}")
        self._places = {name: k for k, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self._columns[0]) if self._columns else 0

    def numbers(self, name: str) -> Floats:
        """Return a column as numbers; a gap or text is refused with its line."""
        column = self._columns[self._index(name)]
        if getattr(column, "dtype", None) is not None and column.dtype.kind in "mM":
            raise InputError(
                f"{self.path}: column {name!r} must be numbers; it holds dates or durations "
                f"({column.dtype}): choose a unit"
            )
        try:
            values = np.asarray(column, dtype=np.float64)
            words = getattr(column, "dtype", np.dtype(object)).kind == "O"
            if words and any(map(_read_by_python_only, column)):
                raise ValueError
        except (TypeError, ValueError):
            # Infinity is a number, and not what could not be read.
            line = next(i for i, text in enumerate(column) if not is_number(text, finite=False))
            cell = column[line]
            comma = isinstance(cell, str) and _DECIMAL_COMMA.fullmatch(cell)
            raise InputError(
                f"{self.path}: column {name!r} must be numbers; row {line + 1} has {cell!r}"
                + ("; write decimals with points" if comma else "")
            ) from None
        if np.isnan(values).any():
            line = int(np.argmax(np.isnan(values)))
            raise InputError(f"{self.path}: column {name!r} has no number in row {line + 1}")
        return values

    def values(self, name: str) -> Any:
        """Return a column as numbers where every cell is one or a gap (NaN), else as text."""
        given = self._columns[self._index(name)]
        gaps = (cell is None or cell != cell or str(cell).strip() in _GAPS for cell in given)
        column = [None if gap else cell for gap, cell in zip(gaps, given, strict=True)]
        if all(cell is None or is_number(cell) for cell in column):
            return np.array([np.nan if cell is None else float(cell) for cell in column])
        return np.array([None if cell is None else str(cell) for cell in column], dtype=object)

    def flags(self, name: str, event: str | None = None) -> Any:
        """Return a column as flags of events: 0/1, true/false, or the cells that are `event`."""
        column = self._columns[self._index(name)]
        if event is not None:
            return self._equal_to(name, event)
        if len(column) == 0 or is_number(column[0]):
            values = self.numbers(name)
            if not np.isin(values, (0.0, 1.0)).all():
                raise self._which_is_event(name)
            return values
        words = [word.strip().lower() for word in self.labels(name)]
        if not set(words) <= _TRUE | _FALSE:
            raise self._which_is_event(name)
        return np.array([word in _TRUE for word in words])

    def _equal_to(self, name: str, event: str) -> Any:
        """Return where a column has a value, as text or as a number."""
        words = np.char.strip(self.labels(name))
        found: Any = words == event.strip()
        if is_number(event):
            # Numbers may be written in several ways: 1, 1.0.
            found = np.array([is_number(word) and float(word) == float(event) for word in words])
        if not found.any():
            close = did_you_mean(event, list(dict.fromkeys(words.tolist())))
            raise InputError(
                f"{self.path}: no row of column {name!r} has the --event-value {event!r}{close}; "
                f"it holds {self._counted(name)}"
            )
        return found

    def _which_is_event(self, name: str) -> InputError:
        """Ask which value of a column means an event."""
        words = sorted(set(np.char.strip(self.labels(name)).tolist()))
        told = f"{self.path}: column {name!r} must be 0 (censored) or 1 (event)"
        if len(words) > _CODES:
            return InputError(
                f"{told}; it holds {self._counted(name)}: if another column says who had the "
                "event, name it with --event-column"
            )
        likely = next((word for word in words if word.lower() in EVENTS), words[-1])
        return InputError(
            f"{told}; it holds {self._counted(name)}: say which value means an event, such as "
            f"--event-value {shlex.quote(likely)}{_OTHERS if len(words) > 2 else ''}"
        )

    def _counted(self, name: str) -> str:
        """Name the values of a column and how often they occur, the most frequent first."""
        counts = Counter(self.labels(name).tolist()).most_common()
        shown = [f"{word!r} ({count} row{'s' * (count > 1)})" for word, count in counts[:_CODES]]
        more = len(counts) - len(shown)
        return " and ".join([", ".join(shown), f"{more} other values"] if more else shown)

    def labels(self, name: str) -> Any:
        """Return a column as text; a gap is refused with its row."""
        words = list(self._columns[self._index(name)])
        for line, word in enumerate(words):
            if word is None or word != word or word == "":
                raise InputError(f"{self.path}: column {name!r} has no value in row {line + 1}")
        return np.asarray([str(word) for word in words])

    def _index(self, name: str) -> int:
        if name not in self._places:
            shown = ", ".join(one or "(no name)" for one in self.names[:20]) + (
                ", ..." if len(self.names) > 20 else ""
            )
            hint = {
                "time": "; name it with --time-column",
                "event": "; name it with --event-column",
            }.get(name, "")
            close = did_you_mean(name, self.names)
            raise InputError(f"{self.path}: no column {name!r}{close}; columns are {shown}{hint}")
        return self._places[name]


def is_number(text: Any, *, finite: bool = True) -> bool:
    """Whether a cell of a table is a finite number; without `finite`, also an infinite one.

    >>> is_number("1e3"), is_number("1_0"), is_number("nan"), is_number("inf", finite=False)
    (True, False, False, True)
    """
    if _read_by_python_only(text):
        return False
    try:
        value = float(text)
        return bool(np.isfinite(value) or (not finite and np.isinf(value)))
    except (TypeError, ValueError):
        return False


def _read_by_python_only(text: Any) -> bool:
    """Whether Python reads a cell in its own way: 1_0 as ten, digits of other scripts."""
    return isinstance(text, str) and ("_" in text or not text.strip().isascii())


def _csv_columns(path: Path) -> tuple[list[str], list[Sequence[Any]]]:
    names, rows, _, decimal = csv_rows(path)
    columns: list[Sequence[Any]] = list(zip(*rows, strict=True)) or [() for _ in names]
    if decimal == ",":
        columns = [_with_points(path, n, c) for n, c in zip(names, columns, strict=True)]
        names = [_point(name) for name in names]
    return names, columns


def csv_rows(path: Path) -> tuple[list[str], list[list[str]], str, str]:
    """Return names and rows of a CSV file as text, its separator and its decimal sign.

    Where fields are separated by semicolons or tabs, decimals may be written with commas, as
    spreadsheets do in many countries.
    """
    try:
        lines = io.StringIO(read_text(path), newline="").readlines()
        separator = _separator(lines)
        reader = csv.reader(lines, delimiter=separator)
        names = [name.strip() for name in next(reader, [])]
        rows = [row for row in reader if row]
    except (csv.Error, OSError) as error:
        raise InputError(f"{path}: cannot be read as CSV ({error})") from error
    if not names:
        raise InputError(f"{path}: empty file; expected a header line and one row per subject")
    for line, row in enumerate(rows):
        if len(row) != len(names):
            hint = "; write decimals with points" if separator == "," and len(row) > 1 else ""
            raise InputError(
                f"{path}: row {line + 1} has {len(row)} fields, the header has {len(names)}{hint}"
            )
    cells = (cell for row in rows for cell in row)
    commas = separator != "," and any(map(_DECIMAL_COMMA.fullmatch, cells))
    return names, rows, separator, "," if commas else "."


def _separator(lines: list[str]) -> str:
    """Return what separates the fields: header and first row have as many, of two or more.

    Fields between semicolons or tabs have commas in numbers only.
    """
    head = lines[:2]
    for mark in (";", "\t", ","):
        rows = list(csv.reader(head, delimiter=mark))
        commas = [cell for row in rows for cell in row if mark != "," and "," in cell]
        same = len({len(row) for row in rows}) == 1 and len(rows[0]) > 1
        if same and all(map(_DECIMAL_COMMA.fullmatch, commas)):
            return mark
    return next((mark for mark in ";\t" if head and mark in head[0] and "," not in head[0]), ",")


def _with_points(path: Path, name: str, column: Sequence[Any]) -> Sequence[Any]:
    """Write the decimals of a column with points; a column that has both is refused."""
    commas = [line for line, cell in enumerate(column) if _DECIMAL_COMMA.fullmatch(cell)]
    if not commas:
        return column
    line = next((k for k, cell in enumerate(column) if _DECIMAL_POINT.fullmatch(cell)), None)
    if line is not None:
        raise InputError(
            f"{path}: column {name!r} mixes decimal commas (row {commas[0] + 1}: "
            f"{column[commas[0]]!r}) and points (row {line + 1}: {column[line]!r})"
        )
    return [_point(cell) for cell in column]


def _point(cell: str) -> str:
    return cell.replace(",", ".") if _DECIMAL_COMMA.fullmatch(cell) else cell


def _parquet_columns(path: Path) -> tuple[list[str], list[Any]]:
    with naming(path), open_parquet(path) as file:
        table = file.read()
    return list(table.column_names), [c.to_numpy(zero_copy_only=False) for c in table.columns]
