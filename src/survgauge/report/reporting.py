"""What to report in a paper, and where the numbers come from."""

from __future__ import annotations

from typing import Any

from ..data.event_words import EventWords, counted_events, training_events
from ..evaluation.verdict import glance, headline, stops_at
from ..evaluation.when import rounded
from ..metrics.registry import REGISTRY
from .markup import Markup, join, tag


def reporting(data: dict[str, Any]) -> Markup | None:
    """Return a list of what readers need, with what this evaluation has to say to it."""
    if not data["metrics"]:
        return None
    items = [
        tag("li", tag("strong", f"{name}. "), told) for name, told in _items(data) if told
    ]  # fmt: skip
    return join(
        tag(
            "p",
            "A reader can judge a comparison of survival models if the paper says this. The "
            "numbers are those of this evaluation.",
            class_="soft",
        ),
        tag("ol", *items),
    )


def time_text(data: dict[str, Any], *values: Any) -> str:
    """Write times of an evaluation with their unit."""
    known = [rounded(value) for value in values if isinstance(value, int | float)]
    return f"{' / '.join(known)} {data.get('unit') or ''}".rstrip() if known else "-"


def reference_text(data: dict[str, Any]) -> str:
    """Say what the reference set is, and how large where it is of its own."""
    support = data["support"]
    if "training_subjects" not in support:
        return str(support["reference"])
    counts = f"{support['training_subjects']:,} subjects, {training_events(support)}"
    return f"{support['reference']} ({counts})"


def times_of_interest(data: dict[str, Any]) -> str:
    """Write at which times Brier score, AUC and calibration are read."""
    support = data["support"]
    return time_text(data, *(support.get("times") or [support["time"]]))


def _items(data: dict[str, Any]) -> list[tuple[str, str]]:
    support = data["support"]
    words = EventWords.of(support)
    censored = support["subjects"] - support["events"]
    share = f"{100 * censored / support['subjects']:.0f} %" if support["subjects"] else "none"
    metrics = list(dict.fromkeys(row["metric"] for row in data["metrics"]))
    main = headline(data)
    stop = stops_at(data, main)
    until = f" up to {time_text(data, stop)}" if stop is not None else ""
    others = "; ".join(REGISTRY[name].title for name in glance(metrics) if name != main)
    return [
        (
            "Test subjects",
            f"{support['subjects']:,} subjects with {counted_events(support, ',')}; {censored:,} "
            f"({share}) were censored. Say how they were chosen and kept apart from training.",
        ),
        (
            "Competing events",
            words.remark and f"{words.remark} Say how the cause of an event was ascertained.",
        ),
        (
            "Follow-up",
            f"The data support statements up to {time_text(data, support['horizon'])}; "
            f"{support['subjects_past_horizon']:,} subjects were observed longer.",
        ),
        (
            "Main metric",
            f"{REGISTRY[main].title}{words.of_cause}{until}. Say whether it and its "
            "horizon were chosen before the models were compared.",
        ),
        (
            "Further metrics",
            f"{others}. Report one of ranking, of probabilities and of calibration, and the time "
            f"that they are read at where they have one (here {times_of_interest(data)}).",
        ),
        (
            "Censored subjects",
            "How they count in the main metric and whose censoring the weights 1/G describe: see "
            f"the conventions under All numbers. Reference set: {reference_text(data)}.",
        ),
        ("Intervals and comparisons", _inference(data)),
        (
            "Baseline",
            f"The same metrics of {words.estimate} of the reference set, predicted for everybody.",
        ),
        ("What limits the result", "The problems and cautions of the section What to trust."),
        ("Software and data", origin(data)),
    ]


def _inference(data: dict[str, Any]) -> str:
    if data["confidence"] is None:
        return "This evaluation was made without intervals; make it again with them."
    told = f"{100 * data['confidence']:g} % intervals of all values"
    if len(data["models"]) > 1:
        return (
            f"{told}, and paired differences on the same subjects, adjusted for the number of "
            "pairs of models."
        )
    return f"{told}."


def origin(data: dict[str, Any]) -> str:
    """Say in one sentence by which version, when and from which files the numbers were made."""
    made = data.get("provenance")
    if not made:
        return ""
    names = [entry["name"] for entry in made["inputs"]]
    files = f" from {', '.join(names)}" if names else ""
    return f"survgauge {made['version']}, {made['date'][:10]}{files}."


def provenance(data: dict[str, Any]) -> Markup | None:
    """Return date, versions, call, and the files with their checksums."""
    made = data.get("provenance")
    if not made:
        return None
    facts = [
        ("Date", made["date"].replace("T", " ").replace("Z", " UTC")),
        ("survgauge", made["version"]),
        *([("Computed with", made["computed_with"])] if "computed_with" in made else []),
        ("Call", tag("code", made["call"])),
        ("Seed", str(data["random_state"])),
    ]
    rows = [tag("tr", tag("th", name, scope="row"), tag("td", value)) for name, value in facts]
    for entry in made["inputs"]:
        several = f" ({entry['files']} files)" if entry["files"] > 1 else ""
        checksum = entry["sha256"] or "too large for a checksum"
        told = join(f"{entry['bytes']:,} bytes{several}, SHA-256 ", tag("code", checksum))
        rows.append(tag("tr", tag("th", entry["name"], scope="row"), tag("td", told)))
    note = None
    if not made["inputs"]:
        note = tag("p", "The data came from memory, not from files.", class_="soft small")
    return join(tag("div", tag("table", tag("tbody", *rows)), class_="table origin"), note)
