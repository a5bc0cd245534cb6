"""What a run writes: the measured part of the README, the page of the docs, the figure."""

from __future__ import annotations

import argparse
from pathlib import Path

from results import Results
from tables import (
    plain_table,
    promises_table,
    registry_table,
    summary_table,
    works_table,
    yardstick_growth,
)

HERE = Path(__file__).resolve().parent
README = HERE / "README.md"
DOCS = HERE.parent / "docs"
START, END = "<!-- measured -->", "<!-- end -->"

_ABOUT = """\
Least CPU seconds of several repeats, one thread. Each task is run with this package and its peers
in turn on the same data: Weibull proportional hazards, 40 % censored, as many training as test
subjects, curves on 100 points. "Growth" is the exponent between the two largest sizes that were
measured: 1 is linear, 2 is quadratic. MB is the rise of the peak of resident memory during a call,
on top of its input. `~` marks an extrapolation from smaller sizes, where one call of a peer would
take longer than 90 seconds."""

_DOCS = """\
# Speed and memory

<!-- Written by benchmarks/pages.py from benchmarks/measured.json: do not edit. -->

Evaluation should cost what reading the predictions costs, for a million subjects too. This page
compares this package with the others that compute the same things, and lists where we miss our
targets. `make bench` repeats all of it on your machine, in an environment of its own, and writes
this page; `make bench-check` says whether a change made something slower.

![CPU seconds by number of subjects, one panel per task, one line per package](../images/speed.svg)

CPU seconds against the number of test subjects. A dashed end is an extrapolation: one call would
take longer than 90 seconds. Lines that stop early ran out of memory or failed.

## At 100,000 subjects

{summary}

A peer may compute less or more than we do in the same row: SurvivalEVAL's and lifelines'
concordance have no standard error, pycox reads curves as steps, R and the Rust package take the
test subjects as their own reference, hazardous ranks by the incidence at a horizon.

## What is measured

{about}

Timings exclude imports, compilation and building evaluators. Each cell runs in a fresh
process that may use 45 % of the memory. In this run `evaluate`
computed antolini by default up to 100,000 subjects (now 20,000) and left it out above, which is why
its growth looks better than linear. R is timed
inside R. The Rust package `survival` also has functions named after D-calibration, 1-calibration
and the calibration index; they ignore censoring, give other numbers, and are not
compared. pycox's integrals ask for a function that SciPy 1.14 removed; we restore it before we
time them.

Measured with {machine}. Other programs ran at the same time: expect 30 % noise, more below a
millisecond. What changed after that commit (see the changelog) is not in these numbers.

## Everything

{works}

## Every metric

As `evaluate(..., metrics=[name], confidence=None)`, reference set and checks of the input included;
time errors get predicted times, concordances get risks, the others get curves.

{registry}

{yardsticks}

## Targets

{promises}

{imported}
## Not measured

{gaps}
"""


def _sections(results: Results) -> dict[str, str]:
    gaps = [f"- {line}" for line in results.gaps()] or ["- nothing was left out"]
    imported = ["```text", *results.imported, "```", ""] if results.imported else []
    tables = {
        "summary": summary_table(results),
        "works": works_table(results),
        "registry": registry_table(results),
        "promises": promises_table(results),
        "imported": imported,
        "gaps": gaps,
    }
    facts = {key: value for key, value in results.machine.items() if key != "commit"}
    machine = ", ".join(f"{key} {value}" for key, value in facts.items())
    loads = sorted(float(result.load or 0) for result in results.works.values())
    if loads:
        machine += f"; load between {loads[0]:.1f} and {loads[-1]:.1f}"
    commits = sorted({result.commit for result in results.works.values()} - {""})
    if commits:
        machine += f"; this package at commit {', '.join(commits)}"
    shown = {name: "\n".join(lines) for name, lines in tables.items()}
    elementary = yardstick_growth(results)
    return {**shown, "machine": machine, "about": _ABOUT, "yardsticks": elementary}


def docs_page(results: Results) -> str:
    """Return the page of the documentation."""
    return _DOCS.format(**_sections(results))


def readme_part(results: Results) -> str:
    """Return what lies between the markers of the README."""
    parts = _sections(results)
    return "\n\n".join(
        [
            parts["machine"] + ".",
            "\n".join(plain_table(results)),
            "Every metric of the registry by itself, without intervals:",
            parts["registry"],
            parts["yardsticks"],
            parts["promises"],
            parts["imported"].rstrip(),
            "Not measured:",
            parts["gaps"],
        ]
    )


def between_markers(text: str, new: str) -> str:
    """Replace what lies between the markers."""
    head, rest = text.split(START)
    tail = rest.split(END)[1]
    return f"{head}{START}\n{new}\n{END}{tail}"


def write_pages(results: Results) -> None:
    """Write README, page and figure."""
    from figure import draw

    README.write_text(between_markers(README.read_text(), readme_part(results)))
    (DOCS / "explanation" / "speed.md").write_text(docs_page(results))
    draw(results, DOCS / "images" / "speed.svg")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=HERE / "measured.json")
    write_pages(Results.read(parser.parse_args().json))


if __name__ == "__main__":
    main()
