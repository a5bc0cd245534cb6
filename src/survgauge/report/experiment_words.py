"""An experiment as plain data, and what that says in sentences, on the page and elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from .._tools.text import p_text, relation, six_digits
from ..errors import InputError
from ..estimators.surrogates import METHODS
from ..evaluation.phrases import listed
from ..metrics.registry import REGISTRY

if TYPE_CHECKING:
    from ..bench.experiment.results import Results

#: Fewest sources with which a sign or signed-rank test, two-sided, can reach the level 0.05:
#: even if all agree its p-value is 2 / 2^n, which is 0.0625 for five bases and 0.031 for six.
FEWEST_BASES = 6
#: What wins a dataset, wherever wins are counted.
WINS = (
    "A metric wins a dataset if it has most of the truly best three models among its best three, "
    "then by being closest to the truth; ties share a win."
)
#: Verdict of comparisons over fewer.
TOO_FEW = "too few datasets to tell"


def experiment_content(results: Results) -> dict[str, Any]:
    """Gather the tables of an experiment."""
    truths = list(dict.fromkeys(panel.truth for panel in results.panels))
    if not truths:
        raise InputError(
            "results: there is nothing to compare: no metric has a true counterpart on at least "
            "two models with all runs; finish the run first (survgauge bench ... --resume)"
        )
    metrics = {
        truth: list(dict.fromkeys(m for p in results.panels if p.truth == truth for m in p.metrics))
        for truth in truths
    }
    plain = {truth: plain_metrics(names, truth) for truth, names in metrics.items()}
    among = {truth: results.select(truth=truth, metrics=plain[truth]) for truth in truths}
    return {
        "name": results.name,
        "truths": truths,
        "sets": [list(pair) for pair in results.sets],
        "models": list(dict.fromkeys(m for p in results.panels for m in p.models)),
        "metrics": list(dict.fromkeys(m for names in metrics.values() for m in names)),
        "plain": plain,
        "summary": {truth: _records(results.summary(truth).reset_index()) for truth in truths},
        "summary_plain": {t: _records(r.summary(t).reset_index()) for t, r in among.items()},
        "ranking": _records(results.ranking),
        "proximity": _records(results.proximity),
        "winners": _records(results.winners),
        "winners_plain": [row for r in among.values() for row in _records(r.winners)],
        "leaders": {
            t: {measure: r.leader(measure, t) for measure in ("tau", "relative")}
            for t, r in among.items()
        },
        "models_by_truth": _records(results.models),
        "by_model": _records(results.by_model),
        "advice": _records(results.advice("mae")) if "mae" in truths else [],
        "failed_metrics": _records(results.failed_metrics),
        "failures": [_failure(f) for f in results.failures],
        "left_out": [
            {**row, "message": f"Left out for truth {row['truth']}: some of its cells are missing."}
            for row in _records(results.left_out)
        ],
    }


def _failure(record: dict[str, Any]) -> dict[str, Any]:
    cell = record["cell"]
    names = ("dataset", "censoring", "model", "repeat", "fold")
    return {k: cell[k] for k in names} | {"message": f"{record['error']}: {record['message']}"}


def _records(frame: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = six_digits(frame.to_dict("records"))
    return rows


def plain_metrics(metrics: list[str], truth: str) -> list[str]:
    """Metrics that have no settings but those of the truth; if there are none, those with fewest.

    >>> plain_metrics(["mae_within", "mae_po(tau=horizon)", "mae_po(tau=horizon, tail=hold)"],
    ...               "mae(tau=horizon)")
    ['mae_within', 'mae_po(tau=horizon)']
    """
    shared = _settings(truth)
    own = {name: len(_settings(name) - shared) for name in metrics}
    return [name for name in metrics if own[name] == min(own.values())]


def _settings(label: str) -> set[str]:
    return set(label.partition("(")[2].removesuffix(")").split(", ")) - {""}


def title_of(label: str) -> str:
    """Return the title of a metric with its settings; a truth or an unknown name stays.

    >>> title_of("harrell"), title_of("mae(tau=horizon)"), title_of("own(x=1)")
    ("Harrell's C", 'MAE within the horizon', 'own (x=1)')
    """
    name, bracket, settings = label.partition("(")
    if name in ("mae", "mse", "rmse") and settings == "tau=horizon)":
        return f"{name.upper()} within the horizon"
    known = REGISTRY[name].title if name in REGISTRY else name
    known = name.upper() if name in ("mae", "mse", "rmse") else known
    return f"{known} ({settings}" if bracket else known


def in_sentence(label: str, truth: str = "") -> str:
    """Return the title of a metric without commas and the settings of the truth, for sentences.

    >>> in_sentence("mae_po"), in_sentence("mae_po(tail=hold)"), in_sentence("uno")
    ('MAE (pseudo-observations)', 'MAE (pseudo-observations; tail=hold)', "Uno's C")
    >>> in_sentence("mae_po(tau=horizon)", "mae(tau=horizon)")
    'MAE (pseudo-observations)'
    """
    family, comma, method = title_of(_without(label, truth)).partition(", ")
    return f"{family} ({method.replace(' (', '; ').rstrip(')')})" if comma else family


def method_of(label: str, truth: str) -> str:
    """Return what tells a metric from the others with the same truth, for rows of a chart.

    >>> method_of("mae_po(tau=horizon)", "mae(tau=horizon)"), method_of("uno", "harrell")
    ('Pseudo-observations', "Uno's C")
    """
    title = title_of(_without(label, truth))
    method = title.partition(", ")[2] or title
    return method[:1].upper() + method[1:]


def _without(label: str, truth: str) -> str:
    """Leave out the settings that a metric shares with the truth."""
    name, own = label.partition("(")[0], _settings(label) - _settings(truth)
    kept = [part for part in label.partition("(")[2].removesuffix(")").split(", ") if part in own]
    return f"{name}({', '.join(kept)})" if kept else name


def percent(value: float | None, digits: int = 1) -> str:
    """Write a share as a percentage.

    >>> percent(0.1234), percent(None)
    ('12.3 %', '-')
    """
    return "-" if value is None or value != value else f"{100 * value:.{digits}f} %"


def lead(
    data: dict[str, Any], truth: str, name: Callable[[str], str] = str, *, few: bool = True
) -> str:
    """Say which metric orders models best, and which is closest to the truth.

    `name` gives the name of a metric; without `few`, nothing is said of too few datasets.
    """
    order, size = (data["leaders"][truth][measure] for measure in ("tau", "relative"))
    if order is None or size is None:
        return f"No metric has a value for all models on all datasets (truth: {title_of(truth)})."
    rows = {row["metric"]: row for row in data["summary_plain"][truth]}
    sets = data_sets(len(_sets_of(data, truth)))
    tau, far = rows[order["metric"]]["tau"], percent(rows[size["metric"]]["relative"])
    first, closest = name(order["metric"]), name(size["metric"])
    if len(rows) == 1:
        return (
            f"{first} ranks the models with a mean Kendall's tau of {tau:.2f} with the "
            f"true order over {sets}, and is off by {far} on average."
        )
    among = "" if len(rows) == len(data["summary"][truth]) else "Of metrics with usual settings, "
    parts = [
        f"{among}{first} ranks the models most like the truth (mean Kendall's tau "
        f"{tau:.2f} over {sets}){_beside(order, name)}.",
        f"{'It' if size['metric'] == order['metric'] else closest} is closest to the true "
        f"value (off by {far} on average){_beside(size, name)}.",
    ]
    if few and order["verdict"] == TOO_FEW:
        parts.append(
            f"This describes these data: there are {TOO_FEW} whether it holds for others "
            f"({_needed(order)})."
        )
    return " ".join(parts)


def _beside(leader: dict[str, Any], name: Callable[[str], str]) -> str:
    """Say how the best metric stands to the others."""
    if leader["verdict"] == TOO_FEW:
        return ""
    if not leader["tied"]:
        return ", clearly better than the others"
    return f"; there is no clear difference from {listed([name(m) for m in leader['tied']])}"


def _needed(found: dict[str, Any]) -> str:
    """Give the reason why there are too few datasets."""
    bases = f"{found['bases']} source{'s' if found['bases'] != 1 else ''}"
    return f"they come from {bases}; a test needs at least {FEWEST_BASES}"


def data_sets(count: int) -> str:
    """Count datasets.

    >>> data_sets(1), data_sets(2)
    ('1 dataset', '2 datasets')
    """
    return f"{count} dataset{'s' if count != 1 else ''}"


def _sets_of(data: dict[str, Any], truth: str) -> set[tuple[str, str]]:
    return {(r["dataset"], r["censoring"]) for r in data["ranking"] if r["truth"] == truth}


def best_models(data: dict[str, Any], truth: str) -> str:
    """Say which models are truly best, and on how many datasets that is not clear."""
    sets: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in data["models_by_truth"]:
        if row["truth"] == truth:
            sets.setdefault((row["dataset"], row["censoring"]), []).append(row)
    if not sets:
        return ""
    firsts = Counter(r["model"] for rows in sets.values() for r in rows if r["difference"] == 0)
    count = len(sets)
    won = [f"{model} on {n}" for model, n in firsts.most_common()]
    won[0] += f" of {data_sets(count)}"
    unclear = sum(sum(not r["clearly_worse"] for r in rows) > 1 for rows in sets.values())
    none = "On each of them it is clearly better than every other model."
    where = "each" if unclear == count else str(unclear)
    some = f"On {where} of them some other model is not clearly worse."
    best = f"By the true {title_of(truth)}, the best model is {listed(won)}"
    return f"{best}. {some if unclear else none}"


def advice(row: dict[str, Any]) -> str:
    """Say what the paper advises, and what these data say about it."""
    few = row["verdict"] == TOO_FEW
    verdict = {"holds": "this holds here", "does not hold": "this does not hold here"}.get(
        row["verdict"], row["verdict"]
    )
    tests = "" if few else (
        f" Over {row['bases']} sources, p {relation(row['p_value'])} for the distance and "
        f"p {relation(row['p_tau'])} for tau (Wilcoxon)."
    )  # fmt: skip
    first, other = (METHODS[row[name]].title for name in ("recommended", "other"))
    return (
        f"The paper advises {first} rather than {other} under {row['situation']}: {verdict}. "
        f"{first[:1].upper()}{first[1:]} are closer on {row['closer']} of "
        f"{data_sets(row['data_sets'])} (mean distance "
        f"{percent(row['recommended_relative'])} against {percent(row['other_relative'])}), with a "
        f"mean tau of {row['recommended_tau']:.2f} against {row['other_tau']:.2f}.{tests}"
    )


def advice_p(row: dict[str, Any], name: str) -> str:
    """Write a p-value of the advice; a test that cannot find anything has none to show."""
    return "-" if row["verdict"] == TOO_FEW else p_text(row[name])


def rule() -> str:
    """Say when something is concluded from a comparison over datasets."""
    return (
        "Datasets that come from one source are not independent, so tests compare the means "
        "of sources (Wilcoxon's signed-rank test, level 0.05). With fewer than "
        f"{FEWEST_BASES} sources no such test can reach its level, whatever the numbers are: "
        f'there are "{TOO_FEW}".'
    )


def interval_words(bases: Iterable[str]) -> str:
    """Say what the intervals of means over datasets are about.

    >>> interval_words(["a", "b", "a"])[:60]
    'Intervals are over the runs on these 2 sources; other source'
    """
    count = len(set(bases))
    if count >= FEWEST_BASES:
        return f"Intervals are over the {count} sources."
    these = "this source" if count == 1 else f"these {count} sources"
    return (
        f"Intervals are over the runs on {these}; other sources may differ by more, which only "
        f"{FEWEST_BASES} or more of them would show."
    )
