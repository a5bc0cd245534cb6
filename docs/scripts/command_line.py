"""Write docs/api/command_line.rst, the help of every command, by running this file."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

PAGE = Path(__file__).parents[1] / "api" / "command_line.rst"
COMMANDS = (
    "evaluate", "study", "audit", "report", "metrics", "models", "datasets", "censor", "bench",
    "leaderboard",
)  # fmt: skip
HEAD = """.. Made by docs/scripts/command_line.py.

Command line
============

``survgauge evaluate`` first prints a summary that fits a terminal of 80 columns and 40 lines: the
verdict, the most informative metrics, warnings, and how to see more (``--all``). It is in colour
if ``rich`` is installed, unless ``NO_COLOR`` is set. Files and pipes get plain text, 80 columns
wide or as many as ``COLUMNS`` gives. Messages count rows from 1, without the header.
:doc:`Your own CSV </howto/csv>` describes the files that can be read.

- ``evaluate`` evaluates predictions in files:
  ``survgauge evaluate --test test.csv --train train.csv --pred cox=cox.csv --html report.html``
- ``study`` writes the tables, figures and methods paragraph of a validation paper into a folder:
  ``survgauge study --test test.csv --train train.csv --pred cox=cox.csv --tau 1825 --out study``
- ``audit`` examines how far metrics can be trusted on these data:
  ``survgauge audit --test test.csv --train train.csv --pred cox=cox.csv --pred lr=lr.csv``
- ``report`` makes an HTML page from results: ``survgauge report runs/paper --html page.html``
- ``metrics`` lists the metrics, here those of calibration: ``survgauge metrics calibration``
- ``models`` lists the models: ``survgauge models``
- ``datasets`` lists the datasets, or fetches one: ``survgauge datasets --search cancer``
- ``censor`` censors the events of a dataset artificially and keeps the true times:
  ``survgauge censor --data study.csv --type uniform --rate 0.5 --out half.csv``
- ``bench`` runs an experiment, or the leaderboard: ``survgauge bench demo``
- ``leaderboard`` writes tasks for models that are fitted elsewhere, and takes their predictions:
  ``survgauge leaderboard submit --name mine --pred predictions --store run``

The exit status is 0 on success, 1 if cells of an experiment failed, and 2 for bad input. In that
case one line on standard error says what to do; ``--debug`` shows the traceback. ``python -m
survgauge`` is the same command.
"""


def help_of(*words: str, flag: str = "--help-all") -> str:
    """Return what a command prints when it is asked for help."""
    command = [sys.executable, "-m", "survgauge", *words, flag]
    environment = {**os.environ, "COLUMNS": "90", "NO_COLOR": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def page() -> str:
    """Return the page: a section for each command."""
    parts = [HEAD, _block(help_of(flag="--help"))]
    for name in COMMANDS:
        parts += [f"{name}\n{'-' * len(name)}\n", _block(help_of(name))]
    return "\n".join(parts)


def _block(text: str) -> str:
    return f".. code-block:: text\n\n{textwrap.indent(text.rstrip(), '   ')}\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
