"""`survgauge datasets` and `survgauge datasets fetch NAME`."""

from __future__ import annotations

import json

import pytest

from survgauge.bench.datasets import catalogue
from survgauge.cli.main import main
from survgauge.errors import InputError


def run(*words: str) -> int:
    return main(["--debug", *words])


@pytest.fixture(autouse=True)
def machine(tmp_path, monkeypatch):
    monkeypatch.delenv("SURVGAUGE_DATA", raising=False)
    monkeypatch.setenv("SURVGAUGE_CACHE", str(tmp_path / "cache"))


def test_list(capsys):
    assert run("datasets") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["name", "rows", "events"]
    assert lines[2].split()[0] == "gbm"


def test_list_as_json(capsys):
    assert run("datasets", "--json") == 0
    entries = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert entries["support"]["events"] == 6201
    assert entries["support"]["available"] is False


def test_fetch_prints_the_place_and_reports_progress(capsys, monkeypatch, tmp_path):
    def download(source, progress):
        progress(f"{source.name}: half way")
        return tmp_path / "support2.csv"

    monkeypatch.setattr(catalogue, "download", download)
    assert run("datasets", "fetch", "support") == 0
    streams = capsys.readouterr()
    assert streams.out == f"{tmp_path / 'support2.csv'}\n"
    assert streams.err == "support: half way\n"
    assert run("datasets", "fetch", "support", "--quiet") == 0
    assert capsys.readouterr().err == ""


def test_fetch_of_an_unknown_name():
    with pytest.raises(InputError, match="did you mean metabric"):
        run("datasets", "fetch", "metabrik")
