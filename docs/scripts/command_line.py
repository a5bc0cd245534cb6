"""Write docs/api/command_line.rst, what --help prints: `python docs/scripts/command_line.py`."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

PAGE = Path(__file__).parents[1] / "api" / "command_line.rst"
COMMANDS = (
    "evaluate", "study", "audit", "report", "metrics", "models", "datasets", "censor", "bench",
)  # fmt: skip
HEAD = """.. Made by docs/scripts/command_line.py.

Command line
============

``survgauge evaluate`` prints a first screen that fits a terminal of 80 columns and 40 lines: the
verdict, the most telling metrics, what to watch out for, and how to see more (``--all``). It
is in colour where ``rich`` is installed, unless ``NO_COLOR`` is set; files and pipes get plain
text, 80 columns wide or as many as ``COLUMNS`` says. Rows in messages are counted from 1, without
the header. :doc:`Your own CSV </guides/csv>` shows which files are read.

- ``evaluate`` says how good predictions in files are:
  ``survgauge evaluate --test test.csv --train train.csv --pred cox=cox.csv --html report.html``
- ``study`` writes the tables, figures and methods paragraph of a validation paper into a folder:
  ``survgauge study --test test.csv --train train.csv --pred cox=cox.csv --time 1825 --out study``
- ``audit`` finds out which metric can be trusted on these data:
  ``survgauge audit --test test.csv --train train.csv --pred cox=cox.csv --pred lr=lr.csv``
- ``report`` makes a page from results: ``survgauge report runs/paper --html page.html``
- ``metrics`` lists the metrics, here those of calibration: ``survgauge metrics calibration``
- ``models`` lists the models: ``survgauge models``
- ``datasets`` lists the data sets, or fetches one: ``survgauge datasets --search cancer``
- ``censor`` censors the events of a data set anew and keeps the truth:
  ``survgauge censor --data study.csv --type uniform --rate 0.5 --out half.csv``
- ``bench`` runs an experiment: ``survgauge bench demo``

Exit status 0 on success, 1 if cells of an experiment failed, 2 for bad input, with one line on
standard error that says what to do; ``--debug`` shows the traceback. ``python -m survgauge`` is
the same command.
"""


def help_of(*words: str) -> str:
    """Return what a command prints when it is asked for help."""
    command = [sys.executable, "-m", "survgauge", *words, "--help"]
    environment = {**os.environ, "COLUMNS": "90", "NO_COLOR": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def page() -> str:
    """Return the page: a section for each command."""
    parts = [HEAD, _block(help_of())]
    for name in COMMANDS:
        parts += [f"{name}\n{'-' * len(name)}\n", _block(help_of(name))]
    return "\n".join(parts)


def _block(text: str) -> str:
    return f".. code-block:: text\n\n{textwrap.indent(text.rstrip(), '   ')}\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
