"""Formulas as MathML, which browsers draw themselves: no script, no font, no network."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

# What docutils' converter does not know, in words that it knows.
SPELLINGS = (
    (re.compile(r"\\(big|Big|bigg|Bigg)m?(?=\||\\\||\\mid)"), ""),
    (re.compile(r"\\(big|Big|bigg|Bigg)(?=[(\[]|\\[{l])"), r"\\\1l"),
    (re.compile(r"\\(big|Big|bigg|Bigg)(?=[)\]]|\\[}r])"), r"\\\1r"),
    (re.compile(r"\\dots\b"), r"\\ldots"),
    (re.compile(r"\\iff\b"), r"\\Longleftrightarrow"),
    (re.compile(r"\\([td]?frac)(\d)(\d)"), r"\\\1{\2}{\3}"),
    (re.compile(r"\\dfrac\b"), r"\\displaystyle\\frac"),
)


def spelled(formula: str) -> str:
    for pattern, replacement in SPELLINGS:
        formula = pattern.sub(replacement, formula)
    return formula


def _convert(self: Any, node: nodes.Element, as_block: bool) -> str:
    try:
        return latex2mathml.tex2mathml(spelled(node.astext()), as_block=as_block)
    except MathError as error:
        logger.warning("formula cannot be drawn: %s: %s", error, node.astext(), location=node)
        return self.encode(node.astext())


def visit_inline(self: Any, node: nodes.math) -> None:
    self.body.append(_convert(self, node, as_block=False))
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math-block"))
    self.body.append(_convert(self, node, as_block=True))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
