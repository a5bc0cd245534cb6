"""The methods paragraph, its references, and the list of TRIPOD+AI items."""

from __future__ import annotations

import io
import re

import pytest
from study_parts import evaluation, features

import survgauge as sg
from survgauge.metrics.registry import REGISTRY
from survgauge.report.study.printed import REFERENCES, Prose, keys_of


def text_of(ev, **options):
    return " ".join(ev.study(**options).methods.plain())


def test_metrics_of_a_study_have_references():
    for metric in REGISTRY.values():
        if metric.reported:
            assert keys_of(metric.reference), metric.name


def test_the_paragraph_tells_the_question():
    ev = evaluation()
    text = text_of(ev, reference="cox_ph")
    support = ev.support
    assert f"{support['subjects']} test subjects, of whom {support['events']} " in text
    assert "Performance at a time was assessed at 300 days." in text
    assert f"survgauge {sg.__version__}" in text
    assert "95 % confidence intervals, which take the training set as given" in text
    assert "The other model was compared with cox_ph by paired differences" in text
    assert "G comes from the Kaplan-Meier estimate of the censoring times of the test" in text
    assert "read as lines between their times" in text


def test_the_paragraph_follows_the_settings():
    text = text_of(evaluation(train=False, tau=250.0, confidence=0.9))
    assert "No training outcomes were used" in text
    assert "up to 250 days, the horizon that was chosen" in text
    assert "90 % confidence intervals." in text
    text = text_of(evaluation(censoring="train", confidence=None))
    assert "censoring times of the training subjects" in text
    assert "No confidence intervals were computed." in text
    text = text_of(evaluation(convention="sksurv", groups=True))
    assert "the convention sksurv" in text
    assert "at the event or" in text
    assert "Cochran's Q" in text


def test_every_number_of_a_citation_is_in_the_list():
    prose = evaluation(groups=True).study(reference="cox_ph").methods
    entries = prose.references()
    numbers = {int(n) for m in re.findall(r"\[([\d, ]+)\]", " ".join(prose.plain()))
               for n in m.split(",")}  # fmt: skip
    assert numbers == set(range(1, len(entries) + 1))
    assert [entry.partition(".")[0] for entry in entries] == [
        str(k) for k in range(1, len(entries) + 1)
    ]
    keys = re.findall(r"^@\w+\{(\w+),", prose.bibtex(), re.MULTILINE)
    assert keys == prose.keys
    cited = {key for group in re.findall(r"\\cite\{([\w,]+)\}", prose.latex())
             for key in group.split(",")}  # fmt: skip
    assert cited == set(keys)


def test_a_name_that_looks_like_a_citation_stays_a_name():
    prose = Prose("Methods", ("The model [@mine; @uno2011] by C [@uno2011].",))
    assert prose.plain() == ["The model [@mine; @uno2011] by C [1]."]
    assert prose.keys == ["uno2011"]
    assert prose.latex().count(r"\cite{") == 1


def test_bibtex_braces_balance():
    for reference in REFERENCES.values():
        assert reference.bibtex.count("{") == reference.bibtex.count("}")


def test_word_document_of_a_text():
    docx = pytest.importorskip("docx")
    prose = Prose("Methods", ("By C [@uno2011].",))
    document = docx.Document(io.BytesIO(prose.word()))
    texts = [paragraph.text for paragraph in document.paragraphs]
    assert texts[:2] == ["Methods", "By C [1]."]
    assert texts[-1].startswith("1. Uno, H.")


def test_tripod_tells_what_is_covered():
    bare = {row[1]: row for row in evaluation(train=False).study().tripod().rows}
    full = evaluation(groups=True).study(
        X_test=features(slice(120, None)), X_train=features(slice(0, 120))
    )
    told = {row[1]: row for row in full.tripod(["calibration"]).rows}
    assert bare["Comparison with the development data"][2] == "needs --train and --describe"
    assert told["Comparison with the development data"][2] == "Table 1"
    assert bare["Fairness"][2] == "not examined (--by)"
    assert "figures: calibration" in told["Performance with intervals, also in subgroups"][2]
