"""A LaTeX document that puts the tables, figures and words of a study together."""

from __future__ import annotations

from collections.abc import Iterable

from .._tools.latex import escaped
from .figures import Figure

_START = r"""% Made by survgauge: pdflatex paper, bibtex paper, pdflatex paper, pdflatex paper
\documentclass[a4paper]{article}
\usepackage[utf8]{inputenc}
\usepackage[margin=2cm]{geometry}
\usepackage{graphicx}
"""
#: Width of the text in inches: a page of A4 with margins of 2 cm.
_TEXT = 17 / 2.54
_FIGURE = r"""\begin{figure}[htbp]
\centering
\includegraphics[width=%.2f\textwidth,height=0.8\textheight,keepaspectratio]{%s.pdf}
\caption{%s.}
\end{figure}
"""


def paper(title: str, figures: Iterable[Figure]) -> str:
    """Return the document; `figures` are those that were drawn."""
    drawn = "".join(
        _FIGURE % (min(1.0, figure.width / _TEXT), figure.name, escaped(figure.caption))
        for figure in figures
    )
    return (
        f"{_START}\\title{{{escaped(title)}}}\n\\author{{}}\n\\date{{}}\n"
        "\\begin{document}\n\\maketitle\n\\input{methods}\n\\input{table1}\n\\input{table2}\n"
        f"{drawn}\\clearpage\n\\bibliographystyle{{unsrt}}\n\\bibliography{{references}}\n\\end{{document}}\n"
    )
