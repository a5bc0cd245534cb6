"""The verdict in sentences: the same words in `print`, in notebooks, on pages and in a shell."""

from __future__ import annotations

import re
from typing import Any

from .._tools.text import number, relation
from ..data.causes import EventWords
from ..metrics.registry import REGISTRY
from .phrases import (
    DIGITS,
    amount,
    at_least,
    at_most,
    in_brackets,
    interval_text,
    listed,
    rounded,
    tail_range,
)
from .verdict import (
    Against,
    Standing,
    Verdict,
    adjusted_for,
    best_rows,
    cell_of,
    headline,
    stops_at,
    twins,
    verdicts,
)

NOTHING = "No metric has a value on these data and predictions."
NOBODY = "The metric to judge by has no value for all subjects together."
_UNSEEN = "No {} was observed among the test subjects, so they do not tell which model is better."
#: How many models are named, and how many are told one by one, with intervals and p-values.
_MOST_MODELS, _ONE_BY_ONE = 4, 2
#: Titles that begin with a name or a letter that stands for one, also within a sentence.
_NAME = re.compile(r"Brier|\w+'s|Royston|Turnbull|[A-Z]([A-Z]|\W)")


def verdict_sentences(data: dict[str, Any]) -> list[str]:
    """Say who is best, by how much and how surely; the first sentence stands alone.

    `data` comes from `Evaluation.to_dict`.
    """
    everybody, between = verdict_parts(data)
    return everybody + between


def verdict_parts(data: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the sentences of the verdict on all subjects, and those on how groups differ."""
    words, counted = EventWords.of(data["support"]), data["support"].get("events_by_cause") or {}
    if counted.get(words.cause) == 0:
        return [_UNSEEN.format(words.event)], []
    found = verdicts(data, headline(data))
    if not found:
        return [NOTHING if best_rows(data["metrics"]) == {} else NOBODY], []
    told = [text for verdict in found for text in _Words(data, verdict).sentences()]
    told += [words.competing] if words.competing else []
    told += [data["support"]["assumes"]] if data["support"].get("assumes") else []
    return told, _between_groups(data, found)


def _between_groups(data: dict[str, Any], everybody: list[Verdict]) -> list[str]:
    """Say for the best models whether the metric differs between groups, and which are extreme."""
    differences = data.get("group_differences")
    if not differences:
        return []
    sentences = []
    values = {
        (row.get("group"), row["metric"], row.get("time"), row["model"]): row["value"]
        for row in data["metrics"]
    }
    for v in everybody:
        words, (_, metric, time) = _Words(data, v), v.cell
        best = [standing.model for standing in v.best]
        unclear: dict[str, list[dict[str, Any]]] = {}
        for row in differences:
            if (row["metric"], row["time"]) != (metric, time) or row["model"] not in best:
                continue
            groups = f"groups of {row['by']}" if row["by"] else "groups"
            if row["p_holm"] is None or row["p_holm"] >= 1 - (data["confidence"] or 0.95):
                unclear.setdefault(groups, []).append(row)
                continue
            whose = f"{words.title} of {row['model']}"
            p = f"p {relation(row['p_holm'])}{_adjusted(differences, row)}"
            ends = [
                f"{amount(values[group, metric, time, row['model']], words.unit)} ({group})"
                for group in (row["least"], row["largest"])
            ]
            sentences.append(f"{whose} differs between {groups} ({p}): {' to '.join(ends)}.")
        for groups, rows in unclear.items():  # one sentence for all models of a column
            whose = f"{words.title} of {listed([row['model'] for row in rows])}"
            known = [row["p_holm"] for row in rows if row["p_holm"] is not None]
            least = min(known, default=None)
            p = at_least(least, len(rows) > 1)
            p += _adjusted(differences, rows[0])
            sentences.append(f"{whose} shows no clear difference between {groups} ({p}).")
    return sentences


def _adjusted(differences: list[dict[str, Any]], row: dict[str, Any]) -> str:
    """Say over how many models the p-value of a difference between groups was adjusted."""
    cell = [row[name] for name in ("by", "metric", "time")]
    family = sum([r[name] for name in ("by", "metric", "time")] == cell for r in differences)
    return f", adjusted for {family} models" if family > 1 else ""


class _Words:
    """Sentences of one verdict; no difference is called better unless it is clear."""

    def __init__(self, data: dict[str, Any], v: Verdict) -> None:
        self.data, self.v, self.metric = data, v, REGISTRY[v.metric]
        #: Name of the metric, with the cause that it is of.
        self.title = f"{self.metric.title}{EventWords.of(data['support']).of_cause}"
        time = data.get("unit") or ""
        self.unit = time if self.metric.unit == "time" else ""
        #: Whether the metric says by how much time predictions are off.
        self.in_time = self.metric.loss == "absolute"
        stop, at = stops_at(data, v.metric), v.cell[2]
        landmark = data["support"].get("landmark")
        since = f" from {rounded(landmark, time)} on" if landmark else ""
        self.stop = "" if stop is None else f"{rounded(stop, time)}{since}"
        self.when = self.stop and f" up to {self.stop}"
        if at is not None:
            self.when = f" at {rounded(at, time)}{since}"
        if self.metric.reads_threshold:
            rows = [row for row in data["metrics"] if cell_of(row) == v.cell]
            known = [row["convention"]["threshold"] for row in rows if row["convention"]]
            self.when += "".join(f" and a threshold of {100 * risk:g} %" for risk in known[:1])

    def sentences(self) -> list[str]:
        """Return the best models with their values, the comparisons, and what is in doubt."""
        if self.v.withheld:
            return [*self._open(), *self._doubts()]
        if not self.metric.ranks_models:
            return [self._side_by_side(), *self._doubts()]
        parts = (self._ties, self._baselines, self._others, self._doubts)
        return [self._first(), *(text for part in parts for text in part())]

    def _open(self) -> list[str]:
        """Say errors that the assumed tail decides, without calling one of them better."""
        data = self.data
        rows = [r for r in data["metrics"] if cell_of(r) == self.v.cell]
        known = [row for row in rows if isinstance(row["value"], float)]
        told = []
        for row in known[:_MOST_MODELS]:
            ends = tail_range(row)
            over = "" if ends is None else f"{' to '.join(number(end, DIGITS) for end in ends)}"
            name = row["model"] if len(known) > 1 or row["model"] != "model" else ""
            told.append(amount(row["value"], self.unit) + in_brackets(name, over))
        more = len(known) - _MOST_MODELS
        told += [f"{more} more"] if more > 0 else []
        what = "The predicted times are off by" if self.in_time else f"{self.title} is"
        ranges = " over assumed tails" if any(map(tail_range, known)) else ""
        first = f"{what} {listed(told)}{self._on_average()}"
        first += f", in brackets the range{ranges}." if ranges else "."
        hint = "; `mae_within`, or a `tau`, stops where the data end"
        if any(row["until"] is not None for row in known):  # it stops there already
            hint = ""
        return [
            first,
            f"No interval or test is given and no model is called best, because {self.v.withheld}"
            f"{hint}.",
        ]

    def _side_by_side(self) -> str:
        """Say the values of all models by a metric that makes none better than another."""
        rows = [
            Standing(row["model"], row["value"], row["low"], row["high"], None)
            for row in self.data["metrics"]
            if cell_of(row) == self.v.cell and isinstance(row["value"], float)
        ]
        told = listed([self._of(standing) for standing in rows])
        return f"{self.title}{self.when} ({self.metric.better}): {told}."

    def _of(self, s: Standing) -> str:
        """Say a value with whose it is, and its interval."""
        test = self.metric.inference == "test"
        value = f"p {relation(s.value)}" if test else amount(s.value, self.unit)
        return value + in_brackets(s.model, interval_text(self.data, s.low, s.high))

    # -- the best ------------------------------------------------------------------------------

    def _first(self) -> str:
        """Name the best models with their values."""
        best = self.v.best
        if len(best) == 2:
            rank = "have the smallest errors" if self._doubtful else "are best"
            who = f"{listed([s.model for s in best])} {rank}, with {self._difference()}: "
            return f"{who}{self._measured('their')} {self._values()}."
        if len(best) > 2:
            first, *rest = (s.model for s in best)
            rank = "has the smallest error" if self.in_time else "has the best value"
            ties, many = len(rest), len(self.v.others)
            them = f"{ties} of the {many} other models" if ties > _MOST_MODELS else listed(rest)
            them = f"any of the {many} other models" if ties == many > _ONE_BY_ONE else them
            who = f"{first} {rank}, with {self._difference()} from {them}"
            return f"{who}{self._tie()}: {self._measured('their')} {self._values()}."
        one = best[0]
        who = f"{one.model} {self._rank()}: " if self.v.others else ""
        measured = self._measured("its" if who else f"of {one.model}")
        told = f"{measured} {amount(one.value, self.unit)}{self._on_average()}{self._limits(one)}"
        if one.baseline is not None:
            told += f"{';' if one.baseline.tied else ','} {self._compared(one.baseline)}"
        return f"{who}{told}."

    @property
    def _doubtful(self) -> bool:
        """Whether assumptions decide, so that the least error does not make the best model."""
        # Curves at a few times against curves at many: what is assumed between them may decide.
        uneven = 0 < len(self.v.coarse) < 1 + len(self.v.others)
        return self.in_time and (self.v.unsettled or bool(self.v.beyond) or uneven)

    def _rank(self) -> str:
        """Say how the model with the best value stands; it is the best only where that is clear."""
        if all(other.clear for other in self.v.others) and not self._doubtful:
            return "is best"
        return "has the smallest error" if self.in_time else "has the best value"

    @property
    def _tied(self) -> list[Against]:
        return [other for other in self.v.others if other.tied]

    def _difference(self) -> str:
        """Say that the best models do not differ, or not clearly."""
        clear = "" if all(other.same for other in self._tied) else "clear "
        return f"no {clear}difference{' between them' * (len(self._tied) == 1)}"

    def _tie(self) -> str:
        """Say of several models how surely they do not differ from the first."""
        known = [o for o in self._tied if not o.same and o.p_value is not None]
        if not known:
            return ""
        least = min(known, key=lambda other: other.p_value or 0.0)
        return in_brackets(at_least(least.p_value, len(known) > 1), adjusted_for(least))

    def _ties(self) -> list[str]:
        """Say by how much the two best models differ."""
        if len(self._tied) != 1 or self._tied[0].same:
            return []
        [other] = self._tied
        told = in_brackets(self._sure(other), adjusted_for(other))
        return [f"They differ by {amount(abs(other.better_by), self.unit)}{told}."]

    def _measured(self, whose: str) -> str:
        """Begin to say a value: what is measured, of whom."""
        of = f" {whose}" if whose.startswith("of ") else ""
        if self.in_time:
            first = "The" if of else whose
            words = EventWords.of(self.data["support"])
            until = "" if words.cause is None else f" until {words.the_event}"
            return f"{first} predicted times{of if of != ' of model' else ''}{until} are off by"
        title = self.title
        if whose == "its":
            title = f"its {title if _NAME.match(title) else title[0].lower() + title[1:]}"
        return f"{title}{of}{self.when} is"

    def _on_average(self) -> str:
        """Say of an error in time that it is a mean, and up to which time."""
        if not self.in_time:
            return ""
        # Who enters late, as at an age, was not there within the first part of the time.
        until = " up to" if self.data["support"].get("delayed_entry") else " within the first"
        return f" on average{self.stop and f'{until} {self.stop}'}"

    def _limits(self, standing: Standing) -> str:
        return in_brackets(interval_text(self.data, standing.low, standing.high))

    def _values(self) -> str:
        """Values of several models: one by one, or the range of many."""
        best = self.v.best
        if len(best) > _ONE_BY_ONE:
            values = [standing.value for standing in best]
            told = f"{number(min(values), DIGITS)} to {amount(max(values), self.unit)}"
        else:
            told = listed([self._of(standing) for standing in best])
        return f"{told}{self._on_average()}"

    # -- comparisons ---------------------------------------------------------------------------

    def _baselines(self) -> list[str]:
        """Compare several best models with the baseline; one is compared in the first sentence."""
        known = [(s.model, s.baseline) for s in self.v.best if s.baseline is not None]
        if len(self.v.best) == 1 or not known:
            return []
        name, over = known[0][1].model, adjusted_for(known[0][1])
        if len(known) > _ONE_BY_ONE:
            number_of = sum(km.clear and km.better_by > 0 for _, km in known)
            of = {0: "None", len(known): "All"}.get(number_of, str(number_of))
            sure = in_brackets(over)
            verb = "is" if number_of < 2 else "are"
            return [f"{of} of these models {verb} clearly better than {name}{sure}."]
        if all(km.same for _, km in known):
            return [f"None of them shows a difference from {name}{over and f', {over}'}."]
        told = []
        for model, km in known:
            if km.tied:
                sure = "" if km.same else in_brackets(self._gap(km), self._sure(km))
                told.append(f"{model} shows no {'' if km.same else 'clear '}difference{sure}")
            else:
                told.append(f"{model} is {self._gap(km)}{in_brackets(self._sure(km))}")
        return [f"Compared with {name}, {listed(told)}{over and f', {over}'}."]

    def _others(self) -> list[str]:
        """Say which models the first of the best ones leaves behind."""
        rest = [other for other in self.v.others if not other.tied]
        if not rest:
            return []
        over = adjusted_for(rest[0])
        who = "It" if len(self.v.best) == 1 else self.v.first.model
        if len(rest) > _ONE_BY_ONE:
            return [f"{who} is {self._better_than(rest)}."]
        parts = [
            f"{self._gap(other)} than {self._name(other)}{in_brackets(self._sure(other))}"
            for other in rest
        ]
        return [f"{who} is {listed(parts)}{over and f', {over}'}."]

    def _better_than(self, rest: list[Against]) -> str:
        """Say by how much one model is better than several, and how surely at the least."""
        gaps = sorted(other.better_by for other in rest)
        names = [self._name(other) for other in rest[:_MOST_MODELS]]
        more = len(rest) - _MOST_MODELS
        names += [f"{more} more model{'s' * (more > 1)}"] if more > 0 else []
        largest = max((o.p_value for o in rest if o.p_value is not None), default=None)
        sure = "" if largest is None else at_most(largest)
        by = f"{number(gaps[0], DIGITS)} to {amount(gaps[-1], self.unit)}"
        return f"{by} better than {listed(names)}{in_brackets(sure, adjusted_for(rest[0]))}"

    def _name(self, other: Against) -> str:
        """Name another model; one that is the baseline says so."""
        estimate = EventWords.of(self.data["support"]).estimate
        if not other.twin:
            return other.model
        named = estimate.lower() in other.model.lower()
        return f"the {'' if named else f'{estimate} '}baseline {other.model}"

    def _compared(self, other: Against) -> str:
        """Compare with another model as a part of a sentence."""
        if other.same:
            return f"no difference from {other.model}"
        sure, over = self._sure(other), adjusted_for(other)
        if other.tied:
            told = in_brackets(self._gap(other), sure, over)
            return f"no clear difference from {other.model}{told}"
        return f"{self._gap(other)} than {other.model}{in_brackets(sure, over)}"

    def _gap(self, other: Against) -> str:
        side = "better" if other.better_by >= 0 else "worse"
        share = ""
        if other.share is not None and not self.in_time:
            share = f" or {abs(other.share) * 100:.0f} %"
        return f"{amount(abs(other.better_by), self.unit)}{share} {side}"

    def _sure(self, other: Against) -> str:
        """Interval and p-value of a difference, adjusted alike."""
        if other.p_value is None:
            return "no standard error" if self.data["confidence"] is not None else ""
        low, high = other.low, other.high
        if other.better_by < 0 and low is not None and high is not None:
            low, high = -high, -low
        return f"{interval_text(self.data, low, high)}, p {relation(other.p_value)}"

    # -- doubts --------------------------------------------------------------------------------

    def _doubts(self) -> list[str]:
        """Name what puts the verdict in doubt, and who is not part of it."""
        v, found = self.v, []
        same = [standing.model for standing in v.best if standing.model in twins(self.data)]
        if same:
            words = EventWords.of(self.data["support"])
            found.append(f"The predictions of {listed(same)} are those of {words.baseline}.")
        if self.data["confidence"] is None and v.others:
            found.append("No intervals were asked for, so these differences are not tested.")
        if v.unsettled and not v.withheld:
            found.append(
                "The comparison depends on how curves are extended past their last time (see the "
                "warning tail-decides)."
            )
        elif v.beyond and not v.withheld:
            found.append(
                "Part of this error is past the follow-up, where no subject was observed (see the "
                f"warning{'s' * (len(v.beyond) > 1)} {listed(list(v.beyond))})."
            )
        if v.coarse:
            found.append(
                f"The curves of {listed(list(v.coarse))} have few predicted times, and this "
                "depends on what is assumed between them (see the warning coarse-grid)."
            )
        if v.missing:
            one = len(v.missing) == 1
            found.append(
                f"{listed(list(v.missing))} {'has' if one else 'have'} no value of this metric, "
                f"so {'it is' if one else 'they are'} not compared."
            )
        return found
