"""What to watch out for: the warnings of an evaluation, in one line each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ..evaluation.explanations import EXPLANATIONS, WEIGHTS
from ..evaluation.joined import JoinedWarning, counted, warnings_of
from .output import Line

_STYLES = {"problem": "bold red", "caution": "yellow", "note": "dim"}
#: Lines of warnings on the first screen.
_MOST = 6
#: A clause of fewer characters does not say enough.
_LEAST = 15
#: Options of the command by what they are called in Python.
_OPTIONS = {
    "tau": "--tau", "time": "--time", "metrics": "--metrics", "by": "--by", "y_train": "--train",
    "sample_weight": "--sample-weight", "cluster": "--cluster", "X_test": "--features",
    "censoring": "--censoring", "landmark": "--landmark", "threshold": "--threshold",
    "dependence": "--dependence",
}  # fmt: skip


def problems(data: dict[str, Any], width: int) -> Iterator[Line]:
    """Yield a line for each warning but notes, and how many more there are."""
    found = warnings_of(data)
    told = [warning for warning in found if warning.weight != WEIGHTS[-1]][:_MOST]
    if told:
        count = str(len(told)) if len(told) == len(found) else f"{len(told)} of {len(found)}"
        yield [("Watch out for", "bold"), (f" ({count} warning{'s' * (len(found) > 1)})", "dim")]
    else:
        yield [("No problems with these metrics.", "")]
    for warning in told:
        text = _told(warning, data, width - 11)
        yield [(f"  {warning.weight:<7}  ", _STYLES[warning.weight]), (text, "")]
    rest = [warning for warning in found if warning not in told]
    if rest:
        more = "more: " if told else ""
        yield [(shortened(f"  {more}{counted(rest)}, with --all", width), "dim")]


def _told(warning: JoinedWarning, data: dict[str, Any], width: int) -> str:
    """Say in one line what a warning is about, and what it says or means."""
    code, cases = warning.code, warning.cases
    about = [
        _some(warning.groups, "groups"),
        _some(warning.models, "models", len(data["models"])),
        _some(warning.metrics, "metrics"),
    ]
    where = "; ".join(filter(None, about))
    head = f"{code} ({where}): " if where else f"{code}: "
    known = EXPLANATIONS.get(code)
    several = len({case.message for case in cases}) > 1 and cases[0].model is not None
    lead = f"for example {cases[0].model}: " if several else ""
    texts = [(lead, cases[0].message), *([] if known is None else [("", known.meaning)])]
    for first, text in texts:  # what it is about goes before what it says
        said = _for_shell(text)
        for part in (first + said, first + _clause(said)):
            for start in (head, f"{code}: "):
                if len(start + part) <= width:
                    return start + part
    return shortened(f"{code}: {lead}{_for_shell(cases[0].message)}", width)


def _clause(text: str) -> str:
    """Return the first part of a sentence, unless it is too short to say something.

    >>> _clause("weights that are not 1 on average (by more than 5 %): G differs")
    'weights that are not 1 on average'
    """
    first = re.split(r"; |: | \(|, so |, because ", text)[0]
    return first if len(first) >= _LEAST else text


def _for_shell(text: str) -> str:
    """Name the options of the command instead of the arguments in Python.

    >>> _for_shell("give `tau`, or pass `y_train`")
    'give --tau, or pass --train'
    """
    named = re.sub(r"`(\w+)`", lambda m: _OPTIONS.get(m[1], m[1]), text)
    return named.replace("`", "")


def _some(names: Iterable[Any], what: str, total: int = 0) -> str:
    """Name one or two, or say how many.

    >>> _some(["a", "b", "a"], "models", 2), _some(["x", "y", "z"], "metrics")
    ('all models', '3 metrics')
    """
    found = list(dict.fromkeys(str(name) for name in names if name is not None))
    if 1 < len(found) == total:
        return f"all {what}"
    return ", ".join(found) if len(found) < 3 else f"{len(found)} {what}"


def shortened(text: str, width: int) -> str:
    """Cut a text to one line, after a word.

    >>> shortened("two models that are called by long names", 20)
    'two models that ...'
    """
    if len(text) <= width:
        return text
    return f"{text[: width - 3].rpartition(' ')[0]} ..."
