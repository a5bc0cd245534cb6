"""What the whole run consists of: parts that can be done by any process in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import special, studies
from .tally import Tally
from .targets import Targets, limited, with_censoring, without_censoring
from .world import CENSORING, stream, training_set

#: Reference sets, and so parts, of each setting.
BLOCKS = 3
SIZES = (100, 300, 1000)
INDEPENDENT = ("30i", "60i", "80i")
#: Makes an AUC of 0.986.
STRONG = 7.0


@dataclass(frozen=True)
class Study:
    """A function that simulates a part, its settings, and its share of the replications."""

    name: str
    run: Callable[[dict[str, Any], np.random.Generator, Targets], Tally]
    settings: tuple[dict[str, Any], ...]
    share: float = 1.0


def _settings(
    censoring: tuple[str, ...], sizes: tuple[int, ...], train: int = 1000, **others: Any
) -> tuple[dict[str, Any], ...]:
    return tuple(
        {"censoring": c, "n": n, "train": train, **others} for n in sizes for c in censoring
    )


EVERY = tuple(CENSORING)
STUDIES = {
    study.name: study
    for study in (
        Study("core", studies.core, _settings(EVERY, SIZES) + _settings(INDEPENDENT, (1000,), 200)),
        Study("more", studies.more, _settings(EVERY, SIZES), 1 / 3),
        Study("distances", studies.distances, _settings(INDEPENDENT, SIZES), 2 / 3),
        Study("tests", special.tests, _settings(EVERY, SIZES), 2 / 3),
        Study("selection", studies.selection, _settings(INDEPENDENT, (300,)), 2 / 3),
        Study("shift", studies.shift, _settings(("60i", "80i"), (300, 1000)), 2 / 3),
        Study("clusters", special.clusters, _settings(("30i", "60i"), (1000,), frail=True), 2 / 3),
        Study("weights", special.weights, _settings(("30i", "60i"), (500,)), 2 / 3),
        Study("folds", special.folds, _settings(("30i", "60i"), (300,)), 1 / 3),
        Study("edge", studies.edge, _settings(("30i",), (30, 100, 300), strength=STRONG)),
    )
}
#: Studies whose metrics have nothing to do with each other.
BY_METRIC = ("core", "more", "distances", "tests")


@dataclass(frozen=True)
class Part:
    """One call: some replications of a setting of a study."""

    study: str
    fields: tuple[tuple[str, Any], ...]

    @property
    def given(self) -> dict[str, Any]:
        """Return its settings."""
        return dict(self.fields)

    @property
    def name(self) -> str:
        """Return what tells it from the others, fit for a file."""
        return "-".join(
            [self.study, *(v if isinstance(v, str) else f"{k}{v:g}" for k, v in self.fields)]
        )


def parts(
    reps: int, seed: int, names: tuple[str, ...] = tuple(STUDIES), metrics: str = ""
) -> Iterator[Part]:
    """List the parts of a run, those that take longest first.

    `metrics` are names with spaces between them; the studies of single metrics then look at no
    others.
    """
    for name in names:
        study = STUDIES[name]
        each = max(1, round(reps * study.share / BLOCKS))
        for setting in sorted(study.settings, key=lambda s: -s["n"]):
            for block in range(BLOCKS):
                fields = {**setting, "block": block, "reps": each, "seed": seed}
                if metrics:
                    fields["metrics"] = metrics
                yield Part(name, tuple(fields.items()))


def needed(part: Part) -> tuple[Part, ...]:
    """Return what must be known before a part: its targets, as parts too."""
    given = part.given
    common = {"censoring": given["censoring"], "seed": given["seed"]}
    frail, strength = given.get("frail", False), given.get("strength", 1.0)
    if part.study in ("tests", "folds"):
        return ()
    known = Part("known", tuple({**common, "strength": strength, "frail": frail}.items()))
    if part.study in ("edge", "selection", "shift"):
        return (known,)
    if "metrics" in given:
        common["metrics"] = given["metrics"]
    limits = {"train": given["train"], "block": given["block"], "frail": frail}
    wanted = [Part("limits", tuple({**common, **limits}.items()))]
    if given["block"] or given["train"] != 1000:  # what does not look at the reference set
        others = {"train": 1000, "block": 0, "frail": frail}
        wanted.append(Part("limits", tuple({**common, **others}.items())))
    return (known, *wanted)


def targets_of(found: list[dict[str, Any]]) -> Targets:
    """Put what `needed` gave together."""
    data: dict[str, Any] = {"truth": {}, "by_time": {}, "limit": {}}
    for one in reversed(found):  # the reference set's own limits come last, and win
        for name, models in one.items():
            for model, values in models.items():
                data[name][model] = {**data[name].get(model, {}), **values}
    return Targets(data)


def run_part(part: Part, known: list[dict[str, Any]]) -> Any:
    """Do a part: its targets must be given."""
    given = part.given
    censoring, seed = CENSORING[given["censoring"]], given["seed"]
    if part.study == "known":
        return without_censoring(seed, censoring, given["strength"], given["frail"])
    if part.study == "limits":
        train = training_set(seed, censoring, given["train"], given["block"])
        everything = given["block"] == 0 and given["train"] == 1000
        names = studies.chosen(limited(everything), given)
        return {"limit": with_censoring(seed, censoring, train, names, given["frail"])}
    rng = stream(seed, part.name)
    return STUDIES[part.study].run(given, rng, targets_of(known)).rows()
