"""Files that are no CSV in UTF-8 are refused by what they are, and cells that only Python reads."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import pickle
from pathlib import Path

import numpy as np
import pytest

from survgauge.data.files import read_columns, read_outcomes
from survgauge.data.tables import Table, is_number
from survgauge.errors import InputError

TEXT = "time,event,hôpital\n5,1,Évry\n6,0,Nice\n"
ROWS = b"time,event\n5,1\n6,0\n"
CASES = {
    "latin.csv": (TEXT.encode("latin-1"), "byte 0xf4 in line 1.*Latin-1 or Windows-1252.*UTF-8"),
    "utf16.csv": (TEXT.encode("utf-16"), "it is UTF-16 text; save it as UTF-8"),
    "utf16be.csv": (b"\xfe\xff" + TEXT.encode("utf-16-be"), "it is UTF-16 text"),
    "bare16.csv": (TEXT.encode("utf-16-le"), "line 1 has a NUL byte.*UTF-16"),
    "gz.csv": (gzip.compress(ROWS), r"compressed \(gzip\); unpack it first"),
    "bz.csv": (bz2.compress(ROWS), r"compressed \(bzip2\)"),
    "xz.csv": (lzma.compress(ROWS), r"compressed \(xz\)"),
    "sheet.csv": (b"PK\x03\x04rest", "zip archive or an Excel workbook"),
    "parquet.csv": (b"PAR1rest", "give its name the ending .parquet"),
    "x.json": (json.dumps({"time": [5, 6]}).encode(), "JSON is not read here; save the table as"),
    "x.xlsx": (b"PK\x03\x04rest", "an Excel workbook is not read here"),
    "y.pkl": (pickle.dumps([1, 2]), "pickles are not read, they can run code"),
    "nul.csv": (b"time,event,note\n5,1,a\n6,0,b\0\n", "line 3 has a NUL byte"),
}


@pytest.mark.parametrize("name", CASES)
def test_refused_by_what_they_are(name: str, tmp_path: Path) -> None:
    content, said = CASES[name]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"(?s){name}: .*{said}"):
        read_outcomes(path)


def test_utf8_is_read_with_and_without_a_mark(tmp_path: Path) -> None:
    for encoding in ("utf-8", "utf-8-sig"):
        path = tmp_path / "good.csv"
        path.write_bytes(TEXT.replace("\n", "\r\n").encode(encoding))
        assert Table(path).names == ["time", "event", "hôpital"]
        assert read_outcomes(path).time.tolist() == [5.0, 6.0]
    path.write_bytes("time,event,note\n5,1,a\x85b\n6,0,\u2028\n".encode())
    assert len(Table(path)) == 2  # lines end where CSV says, not where Unicode does


@pytest.mark.parametrize("cell", ["٣", "３", "५", "1_0"])
def test_digits_of_other_scripts_are_text(cell: str, tmp_path: Path) -> None:
    assert not is_number(cell)
    path = tmp_path / "d.csv"
    path.write_text(f"time,event,x\n5,1,2\n{cell},0,{cell}\n", encoding="utf-8")
    with pytest.raises(InputError, match=f"column 'time' must be numbers; row 2 has '{cell}'"):
        read_outcomes(path)
    assert read_columns(path, ["x"])["x"].tolist() == ["2", cell]


def test_a_space_that_does_not_break_is_a_space(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("time,event\n5\u00a0,1\n6,0\n", encoding="utf-8")
    np.testing.assert_array_equal(read_outcomes(path).time, [5.0, 6.0])
