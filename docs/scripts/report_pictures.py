"""Draw the figures of docs/howto/figures.md (one of competing_risks.md) and its report.

`python docs/scripts/report_pictures.py` writes docs/images/figures and docs/images/report.png. They
are committed, so that pages show them in the repository too; the report needs chromium.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib as mpl

mpl.use("agg")

from PIL import Image

from survgauge.report.displays import DISPLAYS

DOCS = Path(__file__).parents[1]
FIGURES, REPORT = DOCS / "images" / "figures", DOCS / "images" / "report.png"
COLOURS = 128
BROWSER = ("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
           "--disable-background-networking", "--force-prefers-color-scheme=light",
           "--virtual-time-budget=4000", "--window-size=1280,960")  # fmt: skip


def smaller(picture: Path) -> None:
    """Store a picture with few colours, which is a third of the size."""
    with Image.open(picture) as full:
        full.convert("RGB").quantize(COLOURS).save(picture, optimize=True)


def draw_figures(ev: Any, others: dict[str, Any]) -> None:
    FIGURES.mkdir(exist_ok=True)
    for name, source in {**dict.fromkeys(DISPLAYS, ev), **others}.items():
        kind = {"groups": "metrics", "curves_of_causes": "curves"}.get(name, name)
        source.plot(kind).savefig(FIGURES / f"{name}.png", dpi=120)
        smaller(FIGURES / f"{name}.png")


def photograph(ev: Any) -> None:
    with TemporaryDirectory() as folder:
        page = ev.to_html(Path(folder, "report.html"))
        subprocess.run([*BROWSER, f"--screenshot={REPORT}", page.as_uri()], check=True)
    smaller(REPORT)


if __name__ == "__main__":
    sys.path.insert(0, str(DOCS / "_ext"))
    from example import run

    names = run(DOCS / "howto" / "figures.md")
    causes = run(DOCS / "howto" / "competing_risks.md")["ev"]
    others = {"groups": names["grouped"], "curves_of_causes": causes}
    draw_figures(names["ev"], others)
    photograph(names["ev"])
