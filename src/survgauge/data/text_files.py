"""Text of CSV files, and what is said of files that hold something else."""

from __future__ import annotations

from pathlib import Path

from ..errors import InputError

READABLE = "CSV (.csv, .csv.gz, .tsv, .txt), Parquet (.parquet) or Feather (.feather)"
_PICKLES = (".pkl", ".pickle", ".p", ".joblib")
#: Formats that are not tables of text, by the ending of the name.
_OTHERS = {
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
    kind = _OTHERS.get(path.suffix.lower())
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
