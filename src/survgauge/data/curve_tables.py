"""How curves lie in a table: times in the header, or times in the first column."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from .._tools.arrays import Floats
from ..errors import InputError
from .curve_checks import ROUNDING
from .tables import Table, is_number

#: Names of a first column that holds the index of a frame, or the row names of R.
UNNAMED = ("", "Unnamed: 0", "__index_level_0__")
#: R puts an X before a name that starts with a digit.
_R_NUMBER = re.compile(r"X\d.*")
#: What R calls the columns of a matrix that have no names.
_R_COLUMN = re.compile(r"V\d+")


def header_numbers(names: list[str]) -> list[str]:
    """Return names without the X that R puts before numbers, where every name has one.

    >>> header_numbers(["X0", "X365.5"]), header_numbers(["X1", "age"])
    (['0', '365.5'], ['X1', 'age'])
    """
    return [name[1:] for name in names] if all(map(_R_NUMBER.fullmatch, names)) else names


def header_times(path: Path, names: list[str]) -> Floats:
    """Return the times that a header holds; refuse another header, saying what to do."""
    numbers = header_numbers(names)
    if all(map(is_number, numbers)):
        return np.array([float(number) for number in numbers])
    numbers = [*names[:1], *header_numbers(names[1:])]
    odd = [name for name, number in zip(names, numbers, strict=True) if not is_number(number)]
    raise InputError(
        f"{path}: predictions must have one column 'time' or 'risk', or curves with "
        f"times as column names; got {', '.join(map(repr, odd[:5]))}{_hint(names, odd)}"
    )


def _hint(names: list[str], odd: list[str]) -> str:
    if all(map(_R_COLUMN.fullmatch, names)):
        return (
            ": R wrote columns without names; give them their times first, colnames(S) <- times, "
            "then write.csv(S, ..., row.names = FALSE)"
        )
    if len(names) == 1:
        return ": call it time (a predicted time) or risk (a score, higher meaning sooner)"
    others = [name for name in names if name not in ("time", "risk")]
    named = others[0] if len(others) < len(names) else names[0]
    if len(others) == 1 or all(map(is_number, header_numbers(names[1:]))):
        return f": if column {named!r} says who the subjects are, give --id {named}"
    if any(_R_NUMBER.fullmatch(name) for name in odd):
        return ": write the times without exponents (R: format(times, scientific = FALSE))"
    return ""


def is_frame(table: Table, names: list[str], subjects: int | None) -> bool:
    """Whether a table is a frame as lifelines and pycox write it: times down, subjects across.

    The number of subjects decides, or else along which axis the numbers fall.
    """
    first, others = names[0], names[1:]
    if is_number(header_numbers([first])[0]) or not others or not _rises(table, first):
        return False
    across, down = len(others) == subjects, len(table) == subjects
    if across != down:
        return across
    if not across and first not in UNNAMED:
        return False
    values = np.column_stack([table.numbers(name) for name in others])
    falls = bool((np.diff(values, axis=0) <= ROUNDING).all())
    times = header_numbers(others)
    if not falls or not all(map(is_number, times)):
        return falls
    along = values[:, np.argsort([float(time) for time in times], kind="stable")]
    if (np.diff(along, axis=1) <= ROUNDING).all():
        raise InputError(
            f"{table.path}: curves fall along rows and down columns, so that it cannot be seen "
            "which are the subjects; write one row per subject, without the first column "
            f"{first!r}"
        )
    return True


def refuse_row_numbers(table: Table, name: str) -> None:
    """Refuse row numbers of R in the place of times, unless the column says that it is times."""
    if name not in UNNAMED or table.labels(name).tolist() != [
        str(k + 1) for k in range(len(table))
    ]:
        return
    raise InputError(
        f"{table.path}: there is one column per subject, but no times: the first column has no "
        f"name and holds the row numbers 1 to {len(table)}, as R writes them; in R, turn the "
        "matrix and name its times: S <- t(S); colnames(S) <- times; write.csv(S, ...). If these "
        "numbers are the times, call the first column time"
    )


def _rises(table: Table, name: str) -> bool:
    """Whether a column holds times from an early to a late one."""
    values = table.values(name)
    return values.dtype.kind == "f" and bool((values >= 0).all() and (np.diff(values) > 0).all())
