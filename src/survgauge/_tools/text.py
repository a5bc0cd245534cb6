"""Text and plain data out of results: tables, short forms, terminals, LaTeX, JSON."""

from __future__ import annotations

import math
import os
import shutil
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TextIO

from .extras import need


def number(value: float | None, digits: int = 4) -> str:
    """Four significant digits, without exponents where people would not write one.

    >>> number(1234.5678), number(0.012345), number(float("nan"))
    ('1235', '0.01235', '-')
    """
    if value is None or math.isnan(value):
        return "-"
    if math.isinf(value) or value == 0:
        return str(value) if value else "0"
    size = math.floor(math.log10(abs(value)))
    if size >= 9 or size < -5:
        return f"{value:.3g}"
    return f"{value:.{max(0, digits - 1 - size)}f}"


#: A last column of text is not wrapped to fewer characters than this.
_LEAST_TEXT = 24
_GAP = "  "


def columns(
    header: list[str],
    rows: list[list[str]],
    left: int | tuple[int, ...] = 1,
    width: int | None = None,
    under: list[str] | None = None,
) -> str:
    """Align columns: the first `left`, or those at the places `left`, to the left, others right.

    `under` is a second line of the header. What is wider than `width` is wrapped, if the last
    column is one of text; other tables are printed part by part, each with the columns of text
    that come first.

    >>> print(columns(["a", "b"], [["x", "10"], ["yy", "7"]]))
    a    b
    --  --
    x   10
    yy   7
    >>> print(columns(["a", "b", "c"], [["x", "10", "11"]], width=6))
    a   b
    -  --
    x  10
    <BLANKLINE>
    a   c
    -  --
    x  11
    """
    # A name with a line break must not break the table.
    heads = [header] if under is None else [header, under]
    table = [[" ".join(cell.split()) or cell for cell in row] for row in [*heads, *rows]]
    places = tuple(range(left)) if isinstance(left, int) else left
    size = [max(len(row[k]) for row in table) for k in range(len(header))]
    if width is None or sum(size) + len(_GAP) * (len(size) - 1) <= width:
        return _aligned(table, places, size, len(heads))
    last = len(header) - 1
    room = width - sum(size[:-1]) - len(_GAP) * last
    if last in places and room >= _LEAST_TEXT:
        return _aligned(_wrapped(table, room), places, [*size[:-1], room], len(heads))
    lead = next((k for k in range(len(header)) if k not in places), last)
    parts, part = [], list(range(lead))
    taken = sum(size[:lead]) + len(_GAP) * lead
    used = taken
    for k in range(lead, len(header)):
        if k > lead and len(part) > lead and used + size[k] > width:
            parts.append(part)
            part, used = list(range(lead)), taken
        part.append(k)
        used += size[k] + len(_GAP)
    return "\n\n".join(
        _aligned(
            [[row[k] for k in part] for row in table],
            tuple(place for place, k in enumerate(part) if k in places),
            [size[k] for k in part],
            len(heads),
        )
        for part in [*parts, part]
    )


def _wrapped(table: list[list[str]], room: int) -> list[list[str]]:
    """Break the last cell of a row into several rows."""
    found = []
    for *cells, text in table:
        first, *more = textwrap.wrap(text, room) or [""]
        found += [[*cells, first], *([""] * len(cells) + [line] for line in more)]
    return found


def _aligned(table: list[list[str]], places: tuple[int, ...], size: list[int], heads: int) -> str:
    """Join the cells of a header and its rows, with a rule below the header of `heads` lines."""

    def line(row: list[str]) -> str:
        cells = [
            cell.ljust(size[k]) if k in places else cell.rjust(size[k])
            for k, cell in enumerate(row)
        ]
        return _GAP.join(cells).rstrip()

    rows = [*table[:heads], ["-" * w for w in size], *table[heads:]]
    return "\n".join(map(line, rows))


def p_text(p: float | None) -> str:
    """p-values as people print them.

    >>> p_text(0.0004), p_text(0.0321), p_text(None)
    ('<0.001', '0.032', '-')
    """
    return "-" if p is None or math.isnan(p) else "<0.001" if p < 0.001 else f"{p:.3f}"


def percent(share: float) -> str:
    """A share in whole percent, without calling a small one nothing.

    >>> percent(0.123), percent(0.004), percent(0.0)
    ('12 %', '<1 %', '0 %')
    """
    return "<1 %" if 0 < share < 0.005 else f"{share * 100:.0f} %"


def relation(p: float | None) -> str:
    """The same after the letter p: "= 0.032", "< 0.001"."""
    text = p_text(p)
    return text.replace("<", "< ") if text.startswith("<") else f"= {text}"


#: Arrays up to this size are shown, longer ones counted.
_FEW = 12


class ShortRepr:
    """A dataclass (with ``repr=False``) that shows its numbers, and counts long arrays.

    Dictionaries, private fields and what is None are left out.

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> @dataclass(repr=False)
    ... class Found(ShortRepr):
    ...     value: float
    ...     each: object
    ...     rules: dict
    >>> Found(1 / 3, np.zeros(300), {"a": 1})
    Found(value=0.3333, each=<300 numbers>)
    """

    def __repr__(self) -> str:
        shown = {
            field.name: _shown(getattr(self, field.name))
            for field in fields(self)  # type: ignore[arg-type]
            if field.repr and not field.name.startswith("_")
        }
        told = ", ".join(f"{name}={text}" for name, text in shown.items() if text)
        return f"{type(self).__name__}({told})"


def _shown(value: Any) -> str:
    """Show a value; nothing where it would only take room."""
    import numpy as np  # here, as the shell shows its help without it

    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    if isinstance(value, np.ndarray):
        few = value.ndim == 1 and value.size <= _FEW and value.dtype.kind in "fiub"
        if few:
            return f"[{', '.join(f'{entry:.4g}' for entry in value.tolist())}]"
        return f"<{' x '.join(map(str, value.shape))} numbers>"
    plain = isinstance(value, int | str | ShortRepr)
    return repr(value) if plain else ""


#: Columns of a file or a pipe, which have no width of their own.
PLAIN_WIDTH = 80


def width() -> int:
    """Return how many columns standard output has; ``COLUMNS`` sets another number."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS"):
        return max(40, shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns)
    return PLAIN_WIDTH


# Control characters move the cursor, colour or rewrite what is on the screen; the marks of writing
# direction show text in another order than it has.
_HARMFUL = [*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_SPELLED = {
    code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
    for code in _HARMFUL
    if chr(code) not in "\n\t"
}


def visible(text: str) -> str:
    r"""Spell out control characters, other than line breaks and tabs.

    >>> visible("\x1b[31mred\n")
    '\\x1b[31mred\n'
    """
    return text.translate(_SPELLED)


class Visible:
    """A text stream that spells out control characters; all else is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        #: The stream itself, for text that is known to be harmless.
        self.shown = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.shown, name)

    def write(self, text: str) -> int:
        """Write the text without what a terminal would obey."""
        return self.shown.write(visible(text))

    def writelines(self, lines: list[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)


_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    # The standard encoding of fonts has no straight quotes.
    '"': "''",
    # Either would be an argument of the line break before it.
    "[": "{[}", "*": "{*}",
}  # fmt: skip
#: Rules of the package booktabs where it is loaded, plain ones where it is not.
_RULES = "".join(
    rf"\providecommand{{\{name}}}{{\hline}}" for name in ("toprule", "midrule", "bottomrule")
)


class Best(str):
    """A cell that is set in bold face: the best of its row or column."""


def escaped(text: str) -> str:
    r"""Spell a text so that LaTeX sets it as it is.

    >>> escaped("mae_po(tau=5), 12 %")
    'mae\\_po(tau=5), 12 \\%'
    """
    return "".join(_SPECIAL.get(character, character) for character in " ".join(text.split()))


def tabular(header: list[str], rows: list[list[str]], left: int, comment: str = "") -> str:
    r"""Return a table, with the rules of booktabs if the document loads it; `left` columns lead.

    A row of a single cell is a heading over all columns.

    >>> print(tabular(["metric", "wins"], [["mae_po", Best("7")]], 1, "Wins"))
    % Wins
    \providecommand{\toprule}{\hline}\providecommand{\midrule}{\hline}\providecommand{\bottomrule}{\hline}
    \begin{tabular}{lr}
    \toprule
    metric & wins \\
    \midrule
    mae\_po & \textbf{7} \\
    \bottomrule
    \end{tabular}
    <BLANKLINE>
    """
    across = rf"\multicolumn{{{len(header)}}}{{l}}"
    lines = [
        rf"{across}{{\textit{{{escaped(row[0])}}}}} \\"
        if len(row) == 1 < len(header)
        else _line(row)
        for row in rows
    ]
    body = [r"\toprule", _line(header), r"\midrule", *lines, r"\bottomrule"]
    shape = "l" * left + "r" * (len(header) - left)
    told = [f"% {' '.join(comment.split())}"] if comment else []
    made = [*told, _RULES, rf"\begin{{tabular}}{{{shape}}}", *body, r"\end{tabular}"]
    return "\n".join(made) + "\n"


def _line(cells: list[str]) -> str:
    told = (rf"\textbf{{{escaped(c)}}}" if isinstance(c, Best) else escaped(c) for c in cells)
    return " & ".join(told) + r" \\"


def plain(value: Any) -> Any:
    """Plain data for JSON: NumPy scalars unwrapped, NaN and infinities as None or text.

    >>> import numpy as np
    >>> plain({"a": np.float64("nan"), "b": [np.int64(2), float("inf")]})
    {'a': None, 'b': [2, 'inf']}
    """
    import numpy as np

    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return [plain(v) for v in value.tolist()]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None if np.isnan(value) else ("inf" if value > 0 else "-inf")
    return value if value is None or isinstance(value, str | int | float) else str(value)


def six_digits(value: Any) -> Any:
    """Plain data with numbers of six digits; NaN, infinities and missing cells of frames are None.

    >>> six_digits({"a": [2 / 3, float("inf")], 1: "b"})
    {'a': [0.666667, None], '1': 'b'}
    """
    if isinstance(value, Mapping):
        return {str(k): six_digits(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [six_digits(v) for v in value]
    found = plain(value)
    if isinstance(found, float):
        return float(f"{found:.6g}")
    return None if found in ("inf", "-inf") and not isinstance(value, str) else found


def as_frame(rows: list[dict[str, Any]], what: str = "a table as a pandas frame") -> Any:
    """Rows as a pandas frame; `what` needs it."""
    return need("pandas", what, "pandas").DataFrame(rows)
