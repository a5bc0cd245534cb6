"""Editors and type checkers see every public name, with its arguments."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import survgauge as sg

SOURCE = Path(sg.__file__).parent.parent

SCRIPT = """\
import survgauge as sg

value: float = sg.mae(([2, 4], [1, 0]), [3, 3], method="po", tau=5.0)
table: sg.Evaluation = sg.evaluate([3, 3], ([2, 4], [1, 0]), tau=5.0, time=2.0)
"""


def _complaints(tmp_path, script):
    """What mypy says of a user's script."""
    pytest.importorskip("mypy")
    (tmp_path / "script.py").write_text(script, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), "script.py"]
    environment = {**os.environ, "MYPYPATH": str(SOURCE)}
    done = subprocess.run(
        [*command, "--ignore-missing-imports"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return [line for line in done.stdout.splitlines() if " error: " in line]


def test_mypy_reads_the_names_and_refuses_others(tmp_path):
    wrong = SCRIPT + "sg.no_such_name\nsg.mae(([2], [1]), [3], taau=5.0)\n"
    found = _complaints(tmp_path, wrong)
    assert [line.split(":")[1] for line in found] == ["5", "6"]
    assert 'has no attribute "no_such_name"' in found[0]
    assert 'Unexpected keyword argument "taau"' in found[1]


@pytest.mark.parametrize("name", ["mae", "evaluate", "time_error", "brier_score"])
def test_jedi_shows_the_arguments(name):
    jedi = pytest.importorskip("jedi")
    project = jedi.Project(SOURCE, sys_path=[str(SOURCE), *sys.path])
    script = jedi.Script(f"import survgauge as sg\nsg.{name}(", project=project)
    (signature,) = script.get_signatures()
    assert [p.name for p in signature.params] == list(
        inspect.signature(getattr(sg, name)).parameters
    )


def test_settings_of_details_and_of_evaluate_are_arguments():
    names = [n for n in sg.__all__ if n.endswith("_details")]
    names += ["evaluate", "mae", "mse", "rmse", "time_error", "brier_skill"]
    for name in names:
        kinds = {p.kind for p in inspect.signature(getattr(sg, name)).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds, name
