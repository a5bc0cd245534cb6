"""Copy seconds at 100,000 subjects from benchmarks/README.md into explanation/comparison.md."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE, PAGE = ROOT / "benchmarks" / "README.md", ROOT / "docs" / "explanation" / "comparison.md"
SIZE = "100,000"


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def measured(text: str) -> dict[str, dict[str, str]]:
    """Seconds at SIZE by work and by whose code, in the order of the table."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if re.match(r"\| work \| who \|", line))
    column = cells(lines[start]).index(SIZE)
    found: dict[str, dict[str, str]] = {}
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        work, who, *_ = row = cells(line)
        if row[column]:
            found.setdefault(work, {})[who] = row[column]
    return found


def short(seconds: str) -> str:
    """Two digits are all that the noise leaves."""
    mark, number = ("~", seconds[1:]) if seconds.startswith("~") else ("", seconds)
    value = float(number.replace(",", ""))
    return mark + (f"{value:.0f}" if value >= 10 else f"{float(f'{value:.2g}'):g}")


def table(text: str) -> str:
    rows = ["| work | survgauge | others |", "|---|---|---|"]
    for work, times in measured(text).items():
        if "survgauge" not in times or len(times) < 2:
            continue
        others = ", ".join(f"{who} {short(s)}" for who, s in times.items() if who != "survgauge")
        rows.append(f"| {work} | {short(times['survgauge'])} | {others} |")
    return "\n".join(rows)


def page(text: str, source: str) -> str:
    block = f"<!-- speed -->\n{table(source)}\n<!-- end speed -->"
    return re.sub(r"<!-- speed -->.*<!-- end speed -->", lambda _: block, text, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(
        page(PAGE.read_text(encoding="utf-8"), SOURCE.read_text(encoding="utf-8")),
        encoding="utf-8",
    )
