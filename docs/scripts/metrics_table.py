"""Write docs/metrics.md and the facts on its pages: `python docs/scripts/metrics_table.py`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import survgauge as sg

PAGE = Path(__file__).parents[1] / "metrics.md"
PAGES = PAGE.parent / "metrics"
#: What has a section on a page and is no registered metric: the page, the section and what it is.
BESIDE = {
    "losses": (
        "other_errors",
        "squared-relative-and-log-errors",
        "squared, relative, log and normalised losses of all time errors",
    ),
    "skill": ("probabilities", "skill-scores", "share of the baseline's loss that a model saves"),
    "coverage": (
        "calibration_of_curves",
        "coverage-of-prediction-intervals",
        "share of subjects inside their prediction intervals",
    ),
    "residuals": (
        "calibration_of_curves",
        "residuals",
        "Cox-Snell, martingale and deviance residuals",
    ),
}
#: Metrics described in a section of a page: the page, and the anchor of the section.
SECTIONS = {
    "mae_po": ("other_errors", "pseudo-observations"),
    "mae_margin": ("other_errors", "margin-times"),
    "mae_ipcw_d": ("other_errors", "events-weighted-by-1g"),
    "mae_uncensored": ("other_errors", "events-only"),
    "mae_hinge": ("other_errors", "one-sided-for-the-censored"),
    "mae_ipcw_t": ("other_errors", "mean-of-later-events"),
    "mae_pop_po": ("other_errors", "population-mean"),
    "mae_expected": ("other_errors", "expected-absolute-error"),
    "uno": ("ranking", "unos-c"),
    "auc": ("ranking", "auc-at-a-time"),
    "harrell": ("ranking", "harrells-c"),
    "antolini": ("ranking", "antolinis-c"),
    "royston_d": ("ranking", "royston-and-sauerbreis-d"),
    "brier": ("probabilities", "brier-score-at-a-time"),
    "ibs": ("probabilities", "integrated-brier-score"),
    "ipa": ("probabilities", "index-of-prediction-accuracy"),
    "ibll": ("probabilities", "integrated-binomial-log-loss"),
    **dict.fromkeys(
        ("brier_dr", "ibs_dr", "crps_dr"), ("probabilities", "scores-that-use-covariates")
    ),
    "log_likelihood": ("probabilities", "log-likelihood"),
    "crps": ("probabilities", "survival-crps"),
    "multi_log_loss": ("probabilities", "log-loss-and-brier-score-of-all-causes"),
    "multi_brier": ("probabilities", "log-loss-and-brier-score-of-all-causes"),
    "net_benefit": ("probabilities", "net-benefit"),
    "observed_expected": ("calibration", "observed-over-expected-events"),
    "calibration_slope": ("calibration", "calibration-slope-and-intercept"),
    "calibration_intercept": ("calibration", "calibration-slope-and-intercept"),
    "ici": ("calibration", "integrated-calibration-index"),
    "one_calibration": ("calibration", "1-calibration"),
    "calibration_slope_cox": ("calibration", "the-slope-by-a-cox-model"),
    "ici_cox": ("calibration", "the-index-by-a-cox-model"),
    "km_calibration": ("calibration_of_curves", "km-calibration"),
    "d_calibration": ("calibration_of_curves", "d-calibration"),
    "a_calibration": ("calibration_of_curves", "a-calibration"),
}
#: Metrics without a line of facts of their own, because they share the section of another one.
SHARED = ("brier_dr", "ibs_dr", "crps_dr", "multi_brier", "calibration_intercept")
INTERVALS = {
    "analytic": "analytic",
    "own": "test inversion",
    "test": "none, the value is a p-value",
}
HEAD = """# Metrics

Use these names in `sg.evaluate(metrics=...)`, `sg.scorer(...)` and `survgauge evaluate --metrics`.
Each links to its description with example, pitfalls, formula and conventions.
[Which metric should I use?](choose.md) starts from your question. For errors in time use
`mae_within`; the other methods (`mae_po`, ...) are published definitions.
"Needs" is the minimum that a prediction must provide: curves can be converted to times
(median or mean), and both to a risk (minus the median).

| name | what it is | better | range | needs | proper | interval | reference |
|---|---|---|---|---|---|---|---|
"""
BESIDE_HEAD = """
Further measures:

| name | what it is |
|---|---|
"""
#: The pages, as the table of contents lists them.
ORDER = (
    "mae_dr",
    "other_errors",
    "probabilities",
    "ranking",
    "calibration",
    "calibration_of_curves",
    "intervals",
)
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


def place_of(name: str) -> tuple[str, str]:
    """Return the page and the section where a metric is described."""
    if name in SECTIONS:
        return SECTIONS[name]
    if name.startswith(("mse_", "rmse_")):
        return BESIDE["losses"][:2]
    if name.startswith(("interval_", "turnbull_")):
        return "intervals", ""
    return "mae_dr" if name == "mae_within" else name, ""


def link(page: str, section: str) -> str:
    """Return the link to a section of a page, from the folder above."""
    return f"metrics/{page}.md" + (f"#{section}" if section else "")


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
        home, section = place_of(m["name"])
        rows.append(
            f"| [`{m['name']}`]({link(home, section)}) | **{m['title']}**{unit}: {m['about']} | "
            f"{better(m).removesuffix(' is better')} | "
            f"{low} to {high} | {m['needs']} | {m['proper']} | {interval_of(m)} | "
            f"{m['reference']} |"
        )
        pages.append(home)
    beside = [f"| [{name}]({link(*place)}) | {what} |" for name, (*place, what) in BESIDE.items()]
    toc = [f"metrics/{name}" for name in sorted(set(pages), key=ORDER.index)]
    return HEAD + "\n".join(
        [*rows, BESIDE_HEAD.rstrip("\n"), *beside, TOC.rstrip("\n"), "", *toc, "```", ""]
    )


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")
    for metric in sg.available_metrics():
        path = PAGES / f"{place_of(metric['name'])[0]}.md"
        text = path.read_text(encoding="utf-8")
        path.write_text(with_facts(text, metric), encoding="utf-8")


if __name__ == "__main__":
    main()
