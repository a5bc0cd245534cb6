"""Markdown tables of a run."""

from __future__ import annotations

from collections.abc import Callable

from growth import measured, slope
from results import Results
from targets import OURS, Cell, Cells
from works import BY_NAME, WORKS, Work

SIZES = (1000, 10_000, 100_000, 1_000_000)
#: A number and its unit stay on one line.
SPACE = "\u00a0"


def human(seconds: float) -> str:
    """Three digits and a unit that suits."""
    for limit, factor, unit in ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms")):
        if seconds < 0.9995 * limit:
            return f"{_digits(seconds * factor)}{SPACE}{unit}"
    return f"{_digits(seconds)}{SPACE}s"


def _digits(number: float, digits: int = 3) -> str:
    """Round to so many digits, without an exponent."""
    rounded = float(f"{number:.{digits}g}")
    return f"{rounded:,.0f}" if rounded >= 10 ** (digits - 1) else f"{rounded:.{digits}g}"


def seconds_of(cell: Cell | None) -> str:
    """Return a time, or the word that stands for it."""
    if cell is None:
        return ""
    if cell.seconds is None:
        why = cell.why_not or ""
        if any(words in why for words in ("MemoryError", "cannot allocate", "would need")):
            return "out of memory"
        return "failed" if why.startswith("failed") else "not measured"
    return f"{'~' if cell.extrapolated else ''}{human(cell.seconds)}"


def _megabytes(cell: Cell | None) -> str:
    return "" if cell is None or cell.megabytes is None else f"{cell.megabytes:,.0f}"


def _times_ours(cells: Cells, who: str, n: int) -> str:
    ours, theirs = cells.get((OURS, n)), cells.get((who, n))
    if who == OURS or not ours or not ours.seconds or not theirs or not theirs.seconds:
        return ""
    return f"{'~' if theirs.extrapolated else ''}{_digits(theirs.seconds / ours.seconds, 2)}"


def _row(*columns: str) -> str:
    return f"| {' | '.join(columns)} |"


def _table(head: tuple[str, ...], rows: list[str]) -> list[str]:
    return [_row(*head), _row(*["---"] * len(head)), *rows]


def _growth(cells: Cells, who: str) -> str:
    exponent = slope(measured(cells, who))
    return "" if exponent is None else f"{exponent:.2f}"


def _works(results: Results, *, registry: bool) -> list[Work]:
    found = [BY_NAME[name] for name in results.works if name in BY_NAME]
    found.sort(key=WORKS.index)
    return [work for work in found if (work.group == "registry") == registry]


def plain_seconds(cell: Cell | None) -> str:
    """Return seconds as a number that programs can read; empty where there are none."""
    if cell is None or cell.seconds is None:
        return ""
    return f"{'~' if cell.extrapolated else ''}{cell.seconds:.3g}"


def works_table(results: Results) -> list[str]:
    """Seconds, memory and growth of everybody, under a line that names the work."""
    rows = []
    for work in _works(results, registry=False):
        cells = results.works[work.name].cells
        rows.append(_row(f"**{work.name}**", *[""] * 8))
        for who in _everybody(work, cells):
            rows.append(_row(who, *_columns(cells, who, seconds_of)))
    return _table(("", *_HEAD), rows)


def plain_table(results: Results) -> list[str]:
    """Return the same for programs: the work on every line, times in seconds without a unit."""
    rows = []
    for work in _works(results, registry=False):
        cells = results.works[work.name].cells
        for who in _everybody(work, cells):
            rows.append(_row(work.name, who, *_columns(cells, who, plain_seconds)))
    return _table(("work", "who", *_HEAD), rows)


_HEAD = (
    *(f"{n:,}" for n in SIZES),
    "times ours at 100,000",
    "MB at 100,000",
    "MB at 1,000,000",
    "growth",
)


def _everybody(work: Work, cells: Cells) -> list[str]:
    return [who for who in (OURS, *work.peers) if any(name == who for name, _ in cells)]


def _columns(cells: Cells, who: str, show: Callable[[Cell | None], str]) -> list[str]:
    return [
        *(show(cells.get((who, n))) for n in SIZES),
        _times_ours(cells, who, 100_000),
        _megabytes(cells.get((who, 100_000))),
        _megabytes(cells.get((who, 1_000_000))),
        _growth(cells, who),
    ]


def registry_table(results: Results) -> list[str]:
    """Return every metric of the registry by itself; empty where none was measured."""
    rows = []
    for work in _works(results, registry=True):
        cells = results.works[work.name].cells
        rows.append(
            _row(
                work.name.removeprefix("metric "),
                *(seconds_of(cells.get((OURS, n))) for n in SIZES),
                _megabytes(cells.get((OURS, 1_000_000))),
                _growth(cells, OURS),
            )
        )
    sizes = tuple(f"{n:,}" for n in SIZES)
    return _table(("metric", *sizes, "MB at 1,000,000", "growth"), rows) if rows else []


def yardstick_growth(results: Results) -> str:
    """Say how something elementary grows on this machine; empty where that is not known."""
    names = {"po": "NumPy's argsort of as many times", "IBS, 100 times": "one pass over the curves"}
    parts = []
    for work, name in names.items():
        cells = results.works[work].cells if work in results.works else {}
        points = [(n, cells[OURS, n].yardstick) for n in SIZES[-2:] if (OURS, n) in cells]
        exponent = slope([(n, seconds) for n, seconds in points if seconds])
        if exponent is not None:
            parts.append(f"{name} {exponent:.2f}")
    return (
        f"For comparison, exponents of elementary work here: {', '.join(parts)}." if parts else ""
    )


def fastest_peer(cells: Cells, n: int) -> tuple[str, float] | None:
    """Return the quickest of the others at this size, measured there; None without one."""
    found = [
        (cell.seconds, who)
        for (who, size), cell in cells.items()
        if size == n and who != OURS and cell.seconds and not cell.extrapolated
    ]
    return (min(found)[1], min(found)[0]) if found else None


def summary_table(results: Results, n: int = 100_000) -> list[str]:
    """Ours beside the quickest peer, at one size."""
    rows = []
    for work in _works(results, registry=False):
        cells = results.works[work.name].cells
        ours, other = cells.get((OURS, n)), fastest_peer(cells, n)
        if ours is None or not ours.seconds or other is None:
            continue
        who, theirs = other
        ratio = theirs / ours.seconds
        rows.append(_row(work.name, human(ours.seconds), who, human(theirs), _digits(ratio, 2)))
    return _table(("work", "survgauge", "quickest peer", "its time", "times ours"), rows)


def promises_table(results: Results) -> list[str]:
    """What was promised, what was measured; metrics of the registry share a line."""
    rows, grown = [], {}
    for work in (*_works(results, registry=False), *_works(results, registry=True)):
        for target in work.targets:
            found, kept = target.check(results.works[work.name].cells)
            if work.group == "registry":
                grown.setdefault(target.text, []).append((work.name, found, kept))
                continue
            word = {True: "yes", False: "**no**", None: "not measured"}[kept]
            rows.append(_row(work.name, target.text, found, word))
    for text, checks in grown.items():
        known = [check for check in checks if check[2] is not None]
        missed = [f"{n.removeprefix('metric ')} {f}" for n, f, kept in known if kept is False]
        found = f"{len(known) - len(missed)} of {len(known)}"
        if missed:
            found += f"; not {', '.join(missed)}"
        word = "not measured" if not known else "**no**" if missed else "yes"
        rows.append(_row("every metric but antolini", text, found, word))
    return _table(("work", "promise", "measured", "kept"), rows)


def missed(results: Results) -> list[str]:
    """Promises that the run did not keep."""
    return [row for row in promises_table(results) if row.endswith("**no** |")]
