"""The card that notebooks show of an evaluation."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import survgauge as sg
from survgauge.evaluation.sentences import verdict_sentences


class Elements(HTMLParser):
    """Elements with their attributes, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.found)


def draw(n: int = 80) -> tuple[sg.Outcomes, Any]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    time, censoring = 300 * np.exp(-0.6 * x) * rng.weibull(1.5, n), rng.uniform(0, 800, n)
    return sg.Outcomes(np.minimum(time, censoring), time <= censoring), x


def card(models: dict[str, Any], **options: Any) -> Elements:
    y, _ = draw()
    ev = sg.evaluate(models, y, unit="days", **options)
    found = Elements(ev._repr_html_())
    for sentence in verdict_sentences(ev.to_dict()):
        assert sentence in found.text
    return found


def test_a_card_has_the_verdict_and_a_table() -> None:
    _, x = draw()
    found = card({"a": 300 * np.exp(-0.6 * x), "b": 300 * np.exp(-0.1 * x)})
    assert (found.count("table"), found.count("svg")) == (1, 0)
    assert "MAE within the horizon" in found.text


def test_a_card_runs_and_fetches_nothing_and_names_stay_names() -> None:
    _, x = draw()
    name = '<script>alert(1)</script>" onload="x'
    found = card({name: 300 * np.exp(-0.6 * x), "b" * 300: 300 * np.exp(-0.1 * x)})
    assert found.count("script") == 0
    assert name in found.text
    for _, attributes in found.found:
        assert not {key for key in attributes if key.startswith("on") or key in ("src", "href")}


@pytest.mark.parametrize(
    "options", [{"confidence": None}, {"by": np.arange(80) % 2}, {"metrics": ["harrell"]}]
)
def test_every_evaluation_has_a_card(options: dict[str, Any]) -> None:
    _, x = draw()
    found = card({"a": 300 * np.exp(-0.6 * x)}, **options)
    assert found.count("div") >= 1
    card({f"m{k}": 300 * np.exp(-0.1 * k * x) for k in range(15)}, **options)
    card({"r": sg.RiskScores(x)}, **options)
