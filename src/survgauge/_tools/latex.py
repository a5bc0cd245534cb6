"""Tables as LaTeX, ready for a paper."""

from __future__ import annotations

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
