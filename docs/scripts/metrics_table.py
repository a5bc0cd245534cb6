"""Write docs/metrics.md and the facts on its pages: `python docs/scripts/metrics_table.py`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import survgauge as sg

PAGE = Path(__file__).parents[1] / "metrics.md"
PAGES = PAGE.parent / "metrics"
#: What has a page and is no registered metric.
BESIDE = {
    "losses": "squared, relative, log and normalised losses of all time errors",
    "skill": "share of the baseline's loss that a model saves",
    "coverage": "share of subjects inside their prediction intervals",
    "residuals": "Cox-Snell, martingale and deviance residuals",
}
#: Metrics described in a section of another page: the page, and the anchor of the section.
SECTIONS = {
    **dict.fromkeys(("brier_dr", "ibs_dr", "crps_dr"), ("brier", "scores-that-use-covariates")),
    "mae_uncensored": ("mae_other", "events-only"),
    "mae_hinge": ("mae_other", "one-sided-for-the-censored"),
    "mae_ipcw_t": ("mae_other", "mean-of-later-events"),
    "mae_pop_po": ("mae_other", "population-mean"),
    "mae_expected": ("mae_other", "expected-absolute-error"),
    "ici_cox": ("ici", "the-index-by-a-cox-model"),
    "calibration_slope_cox": ("calibration_slope", "the-slope-by-a-cox-model"),
    "ibll": ("ibs", "integrated-binomial-log-loss"),
    "ipa": ("skill", "index-of-prediction-accuracy"),
    "a_calibration": ("d_calibration", "a-calibration"),
}
INTERVALS = {
    "analytic": "analytic",
    "own": "test inversion",
    "test": "none, the value is a p-value",
}
HEAD = """# Metrics

Use these names in `sg.evaluate(metrics=...)`, `sg.scorer(...)` and `survgauge evaluate --metrics`.
Each links to a page with example, pitfalls, formula and conventions.
[Which metric should I use?](choose.md) starts from your question. For errors in time use
`mae_within`; the other methods (`mae_po`, ...) are published definitions.
"Needs" is the minimum that a prediction must provide: curves can be converted to times
(median or mean), and both to a risk (minus the median).

| name | what it is | better | range | needs | proper | interval | reference |
|---|---|---|---|---|---|---|---|
"""
BESIDE_HEAD = """
Further pages:

| page | what it is |
|---|---|
"""
TOC = """
```{toctree}
:hidden:
:maxdepth: 1

"""


def bound(value: float) -> str:
    return "∞" if value == float("inf") else "-∞" if value == float("-inf") else f"{value:g}"


def better(metric: dict[str, Any]) -> str:
    """Which values are better."""
    if metric["target"] is not None:
        return f"{metric['target']:g} is best"
    return f"{metric['direction']} is better"


def interval_of(metric: dict[str, Any]) -> str:
    """Where the standard error comes from, and on which scale the interval is symmetric."""
    told = INTERVALS[metric["inference"]]
    return told if metric["interval"] in ("none", "own") else f"{told}, {metric['interval']} scale"


def page_of(name: str) -> str:
    """Return where a metric is described: squared errors share a page, and so do some others."""
    if name in SECTIONS:
        return SECTIONS[name][0]
    if name.startswith(("mse_", "rmse_")):
        return "losses"
    if name.startswith(("interval_", "turnbull_")):
        return "intervals"
    if name == "mae_within":
        return "mae_dr"
    if name == "calibration_intercept":
        return "calibration_slope"
    if name == "multi_brier":
        return "multi_log_loss"
    return name


def link_to(name: str) -> str:
    """Return the link to where a metric is described, from the folder above."""
    anchor = f"#{SECTIONS[name][1]}" if name in SECTIONS else ""
    return f"metrics/{page_of(name)}.md{anchor}"


def facts(metric: dict[str, Any]) -> str:
    """What a page says of its metric, in one line."""
    low, high = map(bound, metric["range"])
    parts = [
        f"`{metric['name']}`",
        better(metric),
        f"{low} to {high}" + (f", in units of {metric['unit']}" if metric["unit"] else ""),
        f"needs {metric['needs']}",
        f"proper: {metric['proper']}",
        f"interval: {interval_of(metric)}",
    ]
    return "> " + " · ".join(parts)


def with_facts(text: str, metric: dict[str, Any]) -> str:
    """The page with the line of facts of a metric up to date."""
    line = rf"^> `{metric['name']}` · .*$"
    return re.sub(line, lambda _: facts(metric), text, count=1, flags=re.MULTILINE)


def page() -> str:
    rows, pages = [], []
    for m in sg.available_metrics():
        low, high = map(bound, m["range"])
        unit = f" ({m['unit']})" if m["unit"] else ""
        home = page_of(m["name"])
        rows.append(
            f"| [`{m['name']}`]({link_to(m['name'])}) | **{m['title']}**{unit}: {m['about']} | "
            f"{better(m).removesuffix(' is better')} | "
            f"{low} to {high} | {m['needs']} | {m['proper']} | {interval_of(m)} | "
            f"{m['reference']} |"
        )
        if home not in BESIDE:
            pages.append(home)
    beside = [f"| [{name}](metrics/{name}.md) | {what} |" for name, what in BESIDE.items()]
    toc = [f"{name} <metrics/{name}>" for name in dict.fromkeys((*pages, *BESIDE))]
    return HEAD + "\n".join(
        [*rows, BESIDE_HEAD.rstrip("\n"), *beside, TOC.rstrip("\n"), "", *toc, "```", ""]
    )


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")
    for metric in sg.available_metrics():
        path = PAGES / f"{page_of(metric['name'])}.md"
        if metric["name"] in (path.stem, *SECTIONS):
            text = path.read_text(encoding="utf-8")
            path.write_text(with_facts(text, metric), encoding="utf-8")


if __name__ == "__main__":
    main()
