"""The command: what it prints, writes and returns."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("pandas")
pytest.importorskip("sklearn")
pytest.importorskip("pyarrow")

from experiment_plans import toy_plan

from survgauge.cli.main import main
from survgauge.errors import InputError


def bench(*words):
    return main(["--debug", "bench", *map(str, words)])


@pytest.fixture
def plan(tmp_path):
    table = toy_plan(tmp_path)
    file = tmp_path / "plan.toml"
    lines = [f"{key} = {json.dumps(value)}" for key, value in table.items() if key != "metrics"]
    lines[1] = 'datasets = [{name = "toy", path = "toy.csv"}]'
    lines.append('metrics = ["mae_margin", "mae_po", {name = "mae_po", weighted = false}]')
    file.write_text("\n".join(lines))
    return file


def test_bench_runs_prints_and_writes(plan, tmp_path, capsys):
    store, out = tmp_path / "store", tmp_path / "out"
    assert bench(plan, "--store", store, "--jobs", 1, "--out", out, "--keep-predictions") == 0
    printed, progress = capsys.readouterr()
    assert "Wins over 2 datasets; truth: mae" in printed
    assert "18/18 cells, 0 failed" in progress
    assert (out / "summary.md").is_file()
    assert (out / "tables" / "ranking.csv").is_file()
    with pytest.raises(InputError, match="earlier run"):
        bench(plan, "--store", store)
    assert bench(plan, "--store", store, "--jobs", 1, "--resume", "--quiet") == 0
    text = plan.read_text().replace('"mae_margin", ', '"mae_expected", ')
    plan.write_text(text)
    assert bench(plan, "--store", store, "--jobs", 1, "--resume", "--quiet") == 0
    shown = capsys.readouterr().out
    assert "mae_expected" in shown
    assert len(shown.splitlines()) <= 30
    assert "Models by the true mae" not in shown
    assert bench(plan, "--store", store, "--jobs", 1, "--resume", "--quiet", "--all") == 0
    assert "Models by the true mae" in capsys.readouterr().out


def test_part_of_a_plan(plan, tmp_path, capsys):
    words = ["--store", tmp_path / "store", "--jobs", 1, "--quiet"]
    assert bench(plan, *words, "--models", "km,lr", "--censoring", "uniform") == 0
    assert "Wins over 1 dataset; truth: mae" in capsys.readouterr().out
    with pytest.raises(InputError, match="the plan has no 'cox'"):
        bench(plan, *words, "--models", "cox")


def test_failed_cells_show_in_the_status(plan, tmp_path, capsys, monkeypatch):
    text = plan.read_text().replace('"coxph"]', '{name = "b", class = "experiment_parts:Constant", '
                                    'trouble = "raise"}]')  # fmt: skip
    plan.write_text(text)
    assert bench(plan, "--store", tmp_path / "store", "--jobs", 1) == 1
    printed, progress = capsys.readouterr()
    assert "Failed cells: 6" in printed
    assert "first error" in printed
    assert printed.count("ArithmeticError: on purpose") == 2  # once for each kind of censoring
    assert "ArithmeticError: on purpose" in progress


def test_list_runs_nothing(plan, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert bench(plan, "--list") == 0
    printed = capsys.readouterr().out
    assert "models          3  km, lr, coxph" in printed
    assert "\n18 cells, each a model" in printed
    assert bench(plan, "--list", "--all", "--models", "km,lr") == 0
    *cells, total = capsys.readouterr().out.splitlines()
    assert len(cells) == 12
    assert cells[0] == "toy / uniform / repeat 0 / fold 0 / km"
    assert total.startswith("12 cells")
    assert not (tmp_path / "bench-toy").exists()


def test_help_names_the_shipped_plans(capsys):
    with pytest.raises(SystemExit):
        bench("--help")
    assert "demo (minutes), paper (hours)" in capsys.readouterr().out
