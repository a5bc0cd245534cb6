"""A study of one cause: tables, methods and figures name it, its estimate and what competes."""

import numpy as np
import pytest
from cause_data import draw

import survgauge as sg

GROUP = np.where(np.arange(150) % 2, "a", "b")


@pytest.fixture(scope="module")
def study():
    train, _ = draw(120, 1)
    y, curves = draw(150, 2)
    flat = sg.AalenJohansen.fit(train).curves(150)
    given = {"y_train": train, "cause": "relapse", "unit": "years", "tau": 8.0, "by": GROUP}
    return sg.evaluate({"true": curves, "flat": flat}, y, metrics="study", **given).study()


def test_table_one_has_each_cause(study):
    y, rows = study.evaluation.task.y, {row[0]: row[1:] for row in study.table_one.rows}
    for code, name in enumerate(y.causes, 1):
        count = int((y.cause == code).sum())
        assert rows[f"Events of {name}, n (%)"][1].startswith(f"{count} (")
        early = int(((y.cause == code) & (y.time <= 8.0)).sum())
        assert rows[f"Events of {name} until then"][1] == str(early)
        share = 100 * float(sg.AalenJohansen.fit(y).at(8.0, name))
        told = rows[f"Incidence of {name} (Aalen-Johansen), % (95 % CI)"][1]
        assert told.startswith(f"{share:.1f} (")
    free = 100 * float(sg.KaplanMeier.fit(y.any_cause()).at(8.0))
    assert rows["Event-free (Kaplan-Meier of any event), % (95 % CI)"][1].startswith(
        f"{free:.1f} ("
    )
    of_a = int(((y.cause == 1) & (GROUP == "a")).sum())
    assert rows["a"][1] == f"75, {of_a}"


def test_methods_name_the_cause(study):
    told = " ".join(study.methods.paragraphs)
    y = study.evaluation.task.y
    first = int((y.cause == 1).sum())
    assert f"The first event was relapse in {first} (" in told
    assert "Events of death are counted as competing events" in told
    assert "Aalen-Johansen estimate [@aalen1978]" in told
    assert "probability of relapse by 8 years [@wolbers2014]" in told
    assert "Kaplan-Meier estimate for everybody" not in told
    assert "[@kaplan1958]" not in told
    names = {entry.partition(". ")[2].partition(",")[0] for entry in study.methods.references()}
    assert {"Aalen", "Wolbers", "van Geloven"} <= names


def test_table_two_counts_events_of_each_cause(study):
    notes = " ".join(study.table_two.notes)
    assert "events of relapse" in notes
    assert "competing" in notes


def test_figures_of_a_cause_are_written(study, tmp_path):
    pytest.importorskip("matplotlib")
    written = study.write(tmp_path / "study")
    assert {"incidence.pdf", "risk_groups.pdf"} <= set(written.files)
    assert {"calibration.pdf", "decision_curve.pdf"} <= set(written.files)
    assert not set(written.missing) - {"Word documents"}
    paper = (tmp_path / "study" / "paper.tex").read_text(encoding="utf-8")
    assert "Aalen-Johansen estimates by group of predicted risk" in paper
