"""What a leaderboard says in sentences: who is best and how sure, against Cox, by other metrics."""

from __future__ import annotations

from typing import Any

from .._tools.text import percent, relation
from ..evaluation.phrases import listed
from ..metrics.registry import REGISTRY
from .experiment_words import FEWEST_BASES, data_sets

Record = dict[str, Any]
_SHORT = {
    "mae_within": "MAE", "ibs": "IBS", "calibration_slope": "Calibration slope", "ici": "ICI",
    "observed_expected": "O/E",
}  # fmt: skip
#: More names than this are counted.
_MOST_NAMES = 6


def titled(metric: Record) -> str:
    """Return what is averaged over datasets, for people.

    >>> titled({"name": "ibs", "kind": "skill"}), titled({"name": "uno", "kind": "value"})
    ('Skill in IBS', "Uno's C")
    """
    title = short(metric["name"])
    if metric["kind"] == "skill":
        return f"Skill in {title}"
    if metric["kind"] == "distance":
        return f"{title}: distance from {REGISTRY[metric['name']].target:g}"
    return title


def axis(metric: Record) -> str:
    """Label an axis of what is averaged, with its unit."""
    if metric["kind"] == "skill":
        return f"Share of Kaplan-Meier's {short(metric['name'])} saved (%)"
    return titled(metric)


def short(metric: str) -> str:
    """Name a metric shortly, for heads of columns.

    >>> short("observed_expected"), short("uno")
    ('O/E', "Uno's C")
    """
    return _SHORT.get(metric, REGISTRY[metric].title)


def meaning(metric: Record) -> str:
    """Say what is averaged over datasets, and what a model that failed counts."""
    name, title = metric["name"], REGISTRY[metric["name"]].title
    if metric["kind"] == "skill":
        return (
            f"Skill: the share of Kaplan-Meier's loss ({title}) that a model saves; 0 % is no "
            "better than Kaplan-Meier. Means over datasets are geometric, of the ratio of losses. "
            "Where a model failed, Kaplan-Meier's predictions stand in for its own."
        )
    if metric["kind"] == "distance":
        return (
            f"{title}: distance from {REGISTRY[name].target:g}, at most 1; 0 is best. Datasets "
            "without a value are left out."
        )
    if REGISTRY[name].direction == "higher":
        return f"{title}: higher is better; a missing value counts as 0.5."
    return f"{title}: lower is better. Datasets without a value are left out."


def shown(value: float | None, kind: str, sign: bool = False) -> str:
    """Write a number of a metric.

    >>> shown(0.1234, "skill"), shown(0.7126, "value"), shown(-0.004, "skill", sign=True)
    ('12.3 %', '0.713', '−0.4 %')
    """
    if value is None:
        return "-"
    digits = {"skill": 3, "distance": 2}.get(kind, 3)
    value = round(value, digits) + 0.0  # and not minus zero
    plus = "+" if sign and value else ""
    if kind == "skill":
        text = f"{100 * value:{plus}.1f} %"
    else:
        text = f"{value:{plus}.{2 if kind == 'distance' else 3}f}"
    return text.replace("-", "\u2212")


def interval(low: float | None, high: float | None, kind: str, sign: bool = False) -> str:
    """Write an interval; nothing where there is none.

    >>> interval(0.1, 0.2, "skill"), interval(None, None, "skill")
    ('10.0 to 20.0 %', '')
    """
    if low is None or high is None:
        return ""
    first = shown(low, kind, sign)
    return f"{first.removesuffix(' %')} to {shown(high, kind, sign)}"


def counts(dataset: Record) -> str:
    """Say how large a dataset is.

    >>> counts({"n": 1200, "censored": 0.3, "features": 8})
    '1,200 subjects, 30 % censored, 8 features'
    """
    n, features = dataset["n"], dataset["features"]
    return f"{n:,} subjects, {percent(dataset['censored'])} censored, {features} features"


def named(names: list[str]) -> str:
    """Name models, or count them where they are many.

    >>> named(["a", "b"]), named(list("abcdefgh"))
    ('a and b', '8 models')
    """
    return listed(names) if len(names) <= _MOST_NAMES else f"{len(names)} models"


def lead(rows: list[Record], kind: str, titles: dict[str, str], datasets: int) -> str:
    """Say who has the best mean, and whether that is clear."""
    first = rows[0]
    title = titles.get(first["model"], "")
    called = f"{first['model']} ({title})" if title and title != first["model"] else first["model"]
    ends = interval(first["low"], first["high"], kind)
    sure = f" (95 % interval {ends})" if ends else ""
    does = f"saves most, {shown(first['mean'], kind)} of Kaplan-Meier's error in time{sure}"
    where = f"On average over {data_sets(datasets)}"
    if len(rows) == 1:
        saved = shown(first["mean"], kind)
        return f"{where}, {called} saves {saved} of Kaplan-Meier's error in time{sure}."
    if datasets < FEWEST_BASES:
        return (
            f"{where}, {called} {does}. These are too few datasets to tell whether that is more "
            f"than chance: a test needs {FEWEST_BASES}."
        )
    others = [r["model"] for r in rows if r["may_be_best"] and r["model"] != first["model"]]
    if not others:
        return f"{called} is clearly the best model: {where[0].lower()}{where[1:]} it {does}."
    if len(others) == len(rows) - 1:
        none = f"none of the other {len(others)} models is"
        none = f"{others[0]} is not" if len(others) == 1 else none
        return f"No model is clearly best. {where}, {called} {does}, but {none} clearly worse."
    are = "is" if len(others) == 1 else "are"
    return (
        f"No model is clearly best. {where}, {called} {does}, but {named(others)} {are} not "
        "clearly worse."
    )


def against_reference(rows: list[Record], reference: str, title: str) -> str | None:
    """Say whether anything clearly beats the reference model, usually Cox regression."""
    there = [r for r in rows if r.get("to_cox") is not None]
    if not there or there[0].get("to_cox_p") is None:
        return None
    name = f"{reference} ({title})" if title and title != reference else reference
    clear = [r for r in there if r["beats_cox"]]
    adjusted = f", adjusted for {len(there)} comparisons" if len(there) > 1 else ""
    if clear:
        told = [f"{r['model']} {_saves(r)}" for r in clear[:_MOST_NAMES]]
        more = f" and {len(clear) - _MOST_NAMES} more" if len(clear) > _MOST_NAMES else ""
        what = "One model is" if len(clear) == 1 else f"{len(clear)} models are"
        return f"{what} clearly better than {name}: {listed(told)}{more}{adjusted}."
    best = max(there, key=lambda r: r["to_cox"])
    p = f", p {relation(best['to_cox_p'])}{adjusted}"
    if best["to_cox"] > 0:
        return f"Nothing clearly beats {name}: {best['model']} {_saves(best)}{p}."
    return (
        f"Nothing beats {name}, which has the least error on average: {best['model']} comes "
        f"closest, with {_more(best)}{p}."
    )


def _saves(row: Record) -> str:
    """Say how much of the reference's error a model saves."""
    ends = interval(row["to_cox_low"], row["to_cox_high"], "skill", sign=True)
    return f"saves {shown(row['to_cox'], 'skill')} of its error{f' ({ends})' if ends else ''}"


def _more(row: Record) -> str:
    """Say how much a model adds to the reference's error.

    >>> _more({"to_cox": -0.004, "to_cox_low": -0.03, "to_cox_high": 0.02})
    '0.4 % more error (−2.0 to +3.0 %)'
    """
    low, high = (None if row[k] is None else -row[k] for k in ("to_cox_high", "to_cox_low"))
    limits = interval(low, high, "skill", sign=True)
    return f"{shown(-row['to_cox'], 'skill')} more error{f' ({limits})' if limits else ''}"


def by_other_metrics(data: Record, view: Record) -> str | None:
    """Say whether other metrics agree on who leads, and in which order."""
    metrics, tau = view["sensitivity"]["metrics"], view["sensitivity"]["tau"]
    headline = data["headline"]
    if headline not in metrics or len(metrics) < 2 or view["sensitivity"]["models"] < 3:
        return None
    k = metrics.index(headline)
    parts, leaders = [], []
    for j, other in enumerate(metrics):
        if j == k or tau[k][j] is None:
            continue
        parts.append(f"{tau[k][j]:.2f} ({short(other)})".replace("-", "\u2212"))
        leaders.append(view["standings"][other][0]["model"])
    first = view["standings"][headline][0]["model"]
    same = sum(leader == first for leader in leaders)
    told = f"{same} of the {len(leaders)} other metrics have the same model first"
    if same == 0:
        told = "no other metric has the same model first"
    return (
        f"Other metrics order the {view['sensitivity']['models']} models like this one to a "
        f"Kendall's tau of {listed(parts)}; {told}."
    )


def truth_lead(found: Record, headline: str) -> str:
    """Say how far the headline metric is from the truth where that is known."""
    mine = [r for r in found["metrics"] if r["metric"] == headline]
    told = (
        f"On {data_sets(found['datasets'])} censoring was drawn for subjects whose event "
        "times are all known, so that the true error of every model is known."
    )
    if not mine or mine[0]["bias"] is None:
        return told
    r = mine[0]
    off = f"{shown(r['bias'], 'skill', sign=True)} of the true error on average"
    ends = interval(r["bias_low"], r["bias_high"], "skill", sign=True)
    tau = "" if r["tau"] is None else (
        f" Its order of the models agrees with the true one to a Kendall's tau of "
        f"{shown(r['tau'], 'distance')}, "
        f"and the model that it calls best on a dataset has an error "
        f"{shown(r['loss'], 'skill')} above that of the truly best one."
    )  # fmt: skip
    return f"{told} {REGISTRY[headline].title} is off by {off}{f' ({ends})' if ends else ''}.{tau}"


def rule(datasets: int) -> str:
    """Say how models are compared."""
    if datasets < FEWEST_BASES:
        return f"Nothing is tested with fewer than {FEWEST_BASES} datasets."
    return (
        "Intervals are over datasets, each of which counts once, however large it is and however "
        "often it was split. \u2248 marks the models that may be the best: the truly best one is "
        "among them with a probability of at least 95 % (multiple comparisons with the best), if "
        "no model fails badly on single datasets. "
        "Models that share a letter do not differ clearly: p-values are adjusted for all pairs, "
        "by turning the signs of whole datasets. The first question is easier than the second, so "
        "a model may be clearly worse than the best and still share its letter."
    )
