"""What to watch out for: the warnings of an evaluation, gravest first, in one line each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ..evaluation.explanations import EXPLANATIONS, WEIGHTS, marked_advice, weight_of
from .output import Line

_STYLES = {"problem": "bold red", "caution": "yellow", "note": "dim"}
#: Lines of warnings on the first screen.
_MOST = 8
#: A clause of fewer characters does not say enough.
_LEAST = 15
#: Options of the command by what they are called in Python.
_OPTIONS = {
    "tau": "--tau", "time": "--time", "metrics": "--metrics", "by": "--by", "y_train": "--train",
    "sample_weight": "--sample-weight", "cluster": "--cluster", "X_test": "--features",
    "censoring": "--censoring", "landmark": "--landmark", "threshold": "--threshold",
    "dependence": "--dependence",
}  # fmt: skip


def problems(data: dict[str, Any], shown: list[str], width: int) -> Iterator[Line]:
    """Yield a line for each kind of warning that is grave or about the metrics `shown`.

    Of the others the codes are named.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    for warning in sorted(data["warnings"], key=lambda w: WEIGHTS.index(weight_of(w["code"]))):
        found.setdefault(warning["code"], []).append(warning)
    told = [code for code in found if _matters(code, found[code], shown)][:_MOST]
    yield [("Watch out for", "bold")] if told else [("No problems with these metrics.", "")]
    for code in told:
        weight = weight_of(code)
        text = _told(code, found[code], data, width - 11)
        yield [(f"  {weight:<7}  ", _STYLES[weight]), (text, "")]
    for weight in WEIGHTS:
        codes = [code for code in found if weight_of(code) == weight and code not in told]
        if codes:
            more = "more " if any(weight_of(code) == weight for code in told) else ""
            noun = f"{len(codes)} {more}{weight}{'s' * (len(codes) > 1)}"
            if weight == "caution" and len(told) < _MOST:
                noun += " about other metrics"
            yield [(shortened(f"  {noun}: {', '.join(codes)}", width), "dim")]


def _matters(code: str, warnings: list[dict[str, Any]], shown: list[str]) -> bool:
    """Whether a warning is grave, or a caution about the data or a metric that is shown."""
    weight = weight_of(code)
    about = any(w["metric"] is None or w["metric"] in shown for w in warnings)
    return weight == WEIGHTS[0] or (weight == WEIGHTS[1] and about)


def _told(code: str, warnings: list[dict[str, Any]], data: dict[str, Any], width: int) -> str:
    """Say in one line what warnings of one kind are about, and what they say or advise."""
    about = [
        _some([w["group"] for w in warnings], "groups"),
        _some([w["model"] for w in warnings], "models", len(data["models"])),
        _some([w["metric"] for w in warnings], "metrics"),
    ]
    where = "; ".join(filter(None, about))
    head = f"{code} ({where}): " if where else f"{code}: "
    known = EXPLANATIONS.get(code)
    advice = marked_advice(code, warnings[0]["metric"], data["support"])
    texts = [] if known is None else [known.meaning, advice]
    messages = {w["message"] for w in warnings}
    if len(messages) == 1:
        texts = [*messages, *texts]
    texts = [_for_shell(text) for text in texts]
    whole = [part for text in texts for part in (text, _clause(text))]
    for start in dict.fromkeys([head, f"{code}: "]):  # what it is about goes before what it says
        for part in whole:
            if len(start + part) <= width:
                return start + part
    return shortened(f"{code}: {texts[-1]}" if texts else head, width)


def _clause(text: str) -> str:
    """Return the first part of a sentence, unless it is too short to say something.

    >>> _clause("weights that are not 1 on average (by more than 5 %): G differs")
    'weights that are not 1 on average'
    """
    first = re.split(r"; |: | \(", text)[0]
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
