"""What the whole run consists of: cells, and their parts that any process can do in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import studies
from .quality import Quality
from .scenario import Scenario, stream
from .studies import Task, is_plain, training_set
from .truth import Truth, limits, truth

#: Reference sets, and so parts, of each cell.
BLOCKS = 3
SIZES = (200, 800)
SHARES = (20, 50, 75)
HAZARDS = ("weibull", "lognormal", "loglogistic", "cure", "crossing")
STUDIES: dict[str, Callable[[Task, np.random.Generator], Quality]] = {
    name: getattr(studies, name)
    for name in ("intervals", "equals", "functions", "shift", "selection", "folds")
}
#: Needs no true values.
WITHOUT_TRUTH = ("equals", "functions", "selection", "folds")


@dataclass(frozen=True)
class Cell:
    """A study of a scenario, with so many replications."""

    study: str
    scenario: Scenario
    reps: int

    @property
    def name(self) -> str:
        """Return what tells it from the others."""
        return f"{self.study}-{self.scenario.name}"


@dataclass(frozen=True)
class Part:
    """Some replications of a cell, or ("truth", "limits") what is true about its scenario."""

    study: str
    scenario: Scenario
    block: int
    reps: int
    seed: int

    @property
    def name(self) -> str:
        """Return what tells it from the others, fit for a file."""
        return f"{self.study}-{self.scenario.name}-{self.block}-{self.reps}-{self.seed}"


def scenarios() -> Iterator[tuple[str, Scenario, float]]:
    """List studies and scenarios with their share of the replications."""
    for hazard in HAZARDS:
        shares = [share for share in SHARES if share > 20 or hazard != "cure"]  # 27 % are cured
        for n in SIZES:
            for share in shares:
                yield "intervals", Scenario(hazard, share=share, n=n), 1
                yield "intervals", Scenario(hazard, "moderate", share, n), 1 / 4
                yield "intervals", Scenario(hazard, "strong", share, n), 1 / 4
            yield "equals", Scenario(hazard, n=n), 2 / 3
        yield "intervals", Scenario(hazard, "moderate", 50, features=True), 0
        yield "intervals", Scenario(hazard, "strong", 75, features=True), 0
    yield "intervals", Scenario("lognormal", "strong", 50, features=True, causes=2), 0
    for n in SIZES:
        for share in SHARES:
            yield "intervals", Scenario("lognormal", share=share, n=n, causes=2), 2 / 3
            yield "functions", Scenario(share=share, n=n), 2 / 3
        yield "intervals", Scenario("lognormal", "strong", 50, n, causes=2), 1 / 4
        for hazard in ("weibull", "crossing"):
            yield "intervals", Scenario(hazard, n=n, entry=True), 1
            yield "intervals", Scenario(hazard, n=n, weights=True), 4
    yield "intervals", Scenario("crossing", causes=2), 2 / 3
    for hazard in ("lognormal", "crossing"):
        for clusters in (12, 40):
            yield "intervals", Scenario(hazard, clusters=clusters), 1
    for n in (100, *SIZES):
        yield "intervals", Scenario("sharp", share=20, n=n), 1
    for share in (50, 75):
        yield "shift", Scenario(share=share), 2 / 3
    for share in SHARES:
        yield "selection", Scenario(share=share, n=200), 2 / 3
    yield "folds", Scenario(share=20, n=200), 1 / 2


def cells(reps: int, feature_reps: int, only: str = "") -> list[Cell]:
    """List the cells whose name has one of the words of `only`; all without words.

    A word with "no-" before it leaves the cells out whose name has it ("no-features").
    `feature_reps`: replications of a scenario whose features are given, where learners are fitted
    in each of them.
    """
    every = [
        Cell(study, scenario, feature_reps if scenario.features else max(1, round(share * reps)))
        for study, scenario, share in scenarios()
    ]
    words = only.replace(",", " ").split()
    without = [word.removeprefix("no-") for word in words if word.startswith("no-")]
    wanted = [word for word in words if not word.startswith("no-")]
    return [
        cell
        for cell in every
        if (not wanted or any(word in cell.name for word in wanted))
        and not any(word in cell.name for word in without)
    ]


def parts(cell: Cell, seed: int) -> list[Part]:
    """Split a cell by reference sets."""
    blocks = min(BLOCKS, cell.reps)
    sizes = [len(part) for part in np.array_split(np.arange(cell.reps), blocks)]
    return [Part(cell.study, cell.scenario, k, size, seed) for k, size in enumerate(sizes)]


def needed(part: Part) -> tuple[Part, ...]:
    """Return what must be there before a part: true values and limits, as parts too."""
    if part.study in ("truth", "limits", *WITHOUT_TRUTH):
        return ()
    population = part.scenario.population
    found = [Part("truth", population, 0, 0, part.seed)]
    if is_plain(part.scenario) and part.study == "intervals":
        found.append(Part("limits", population, part.block, 0, part.seed))
    return tuple(found)


def run_part(part: Part, found: list[Any]) -> Any:
    """Do a part; what it needs must be given."""
    scenario, seed = part.scenario, part.seed
    if part.study == "truth":
        return truth(seed, scenario)
    if part.study == "limits":
        return limits(seed, scenario, training_set(seed, scenario, part.block))
    known = dict(zip((p.study for p in needed(part)), found, strict=True))
    empty = {"models": {}, "tau": 0.0}
    task = Task(
        scenario, part.block, part.reps, seed, Truth(known.get("truth", empty)),
        known.get("limits", {}),
    )  # fmt: skip
    return STUDIES[part.study](task, stream(seed, part.name)).rows()
