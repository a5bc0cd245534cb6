"""Random subjects, reference sets, curves and settings: small, tied, awkward, all valid."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import survgauge as sg

TAILS = ("linear", "exponential", "hold", "nan")
SCALES = (1.0,) * 8 + (1e-8, 1e-3, 365.25, 1e6, 1e12)


@dataclass(frozen=True)
class Case:
    """Subjects as plain lists; `scale` is the unit of time."""

    time: list
    event: list
    weight: list | None
    train: list | None  # (time, event, weight)
    grid: list  # of times, or one list a subject
    survival: list
    interpolation: str
    tail: str
    single: bool  # float32
    predicted: list
    risk: list
    sample_weight: list | None
    scale: float

    def __len__(self):
        return len(self.time)

    @property
    def shared(self):
        return not isinstance(self.grid[0], list)

    def y(self):
        """Outcomes for the package."""
        if self.weight is None and len(self) % 2:
            return self.time, self.event
        return sg.Outcomes(self.time, self.event, self.weight)

    def rows(self):
        """Subjects for the loops: (time, event, frequency)."""
        return list(zip(self.time, self.event, self.weight or [1.0] * len(self), strict=True))

    def y_train(self):
        if self.train is None:
            return None
        time, event, weight = zip(*self.train, strict=True)
        return sg.Outcomes(time, event, weight if set(weight) != {1.0} else None)

    def reference(self):
        """Reference set for the loops, absent subjects left out."""
        known = self.rows() if self.train is None else self.train
        return [row for row in known if row[2] > 0]

    def sampled_reference(self):
        """Reference set where sampling weights are given: subjects whose is 0 are absent."""
        if self.train is not None:
            return self.reference()
        return [row for row, m in zip(self.rows(), self.subject_weight(), strict=True) if m > 0]

    def sampled(self):
        """Subjects with their weight, by which G is estimated; absent ones left out."""
        rows = zip(self.rows(), self.subject_weight(), strict=True)
        return [(t, e, m) for (t, e, _), m in rows if m > 0]

    def subject_weight(self):
        """Weights of an average: frequencies times sample weights."""
        given = self.sample_weight or [1.0] * len(self)
        return [a * w for a, (_, _, w) in zip(given, self.rows(), strict=True)]

    def curves(self):
        dtype = np.float32 if self.single else np.float64
        survival = np.array(self.survival, dtype=dtype)
        return sg.SurvivalCurves(self.grid, survival, self.interpolation, self.tail)

    def curve(self, i):
        """Nodes of one curve: [(time, S)]."""
        grid = self.grid if self.shared else self.grid[i]
        return list(zip(grid, self.survival[i], strict=True))

    def take(self, rows):
        """Some of the subjects, in this order."""
        pick = lambda values: None if values is None else [values[i] for i in rows]  # noqa: E731
        return replace(
            self,
            time=pick(self.time),
            event=pick(self.event),
            weight=pick(self.weight),
            grid=self.grid if self.shared else pick(self.grid),
            survival=pick(self.survival),
            predicted=pick(self.predicted),
            risk=pick(self.risk),
            sample_weight=pick(self.sample_weight),
        )

    def in_unit(self, factor):
        """The same subjects with another unit of time."""
        times = lambda values: [t * factor for t in values]  # noqa: E731
        train = self.train and [(t * factor, e, w) for t, e, w in self.train]
        grid = times(self.grid) if self.shared else [times(row) for row in self.grid]
        return replace(
            self,
            time=times(self.time),
            train=train,
            grid=grid,
            predicted=times(self.predicted),
            scale=self.scale * factor,
        )

    def replicated(self):
        """Every subject as often as its frequency says."""
        rows = [i for i, (_, _, w) in enumerate(self.rows()) for _ in range(round(w))]
        return replace(self.take(rows), weight=None)

    @property
    def whole_weights(self):
        return self.weight is None or all(w == round(w) for w in self.weight)

    def smaller(self):
        """Simpler cases to try."""
        n = len(self)
        for i in range(n if n > 1 else 0):
            rows = [k for k in range(n) if k != i]
            fewer = self.take(rows)
            if sum(fewer.subject_weight()) > 0 and sum(w for _, _, w in fewer.rows()) > 0:
                yield fewer
        if self.train is not None and len(self.train) > 1:
            for i in range(len(self.train)):
                yield replace(self, train=self.train[:i] + self.train[i + 1 :])
        for name in ("weight", "sample_weight"):
            if getattr(self, name) is not None:
                yield replace(self, **{name: None})
        if self.single:
            yield replace(self, single=False)


def draw(rng):
    """One case."""
    n = rng.choice((1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 10, 12))
    scale = rng.choice(SCALES)
    style = rng.choice(("ties", "ties", "whole", "spread"))
    time, event = _outcomes(rng, n, style, 1.0)
    train = None
    if rng.random() < 0.6:
        m = rng.choice((1, 2, 3, 5, 8, 12))
        past, died = _outcomes(rng, m, style, rng.choice((0.5, 1.0, 1.0, 2.0)))
        weight = _weights(rng, m) or [1.0] * m
        train = list(zip(past, died, weight, strict=True))
    last = max(time) or 1.0
    grid, survival, single = _curves(rng, n, last, style)
    largest = 1.5 * last
    case = Case(
        time,
        event,
        _weights(rng, n),
        train,
        grid,
        survival,
        rng.choice(("linear", "linear", "step", "step", "pchip")),
        rng.choice(("linear", "linear", "exponential", "hold", "nan")),
        single,
        [rng.choice((round(rng.uniform(0, largest), 1), rng.uniform(0, largest))) for _ in time],
        [rng.choice((float(rng.randint(0, 3)), rng.gauss(0, 1))) for _ in time],
        _weights(rng, n) if rng.random() < 0.25 else None,
        1.0,
    )
    if case.sample_weight is not None and not sum(case.subject_weight()) > 0:
        case = replace(case, sample_weight=None)
    return case if scale == 1 else case.in_unit(scale)


def _outcomes(rng, n, style, stretch):
    if style == "ties":
        time = [float(rng.randint(0, 6)) for _ in range(n)]
    elif style == "whole":
        time = [float(rng.randint(1, 30)) for _ in range(n)]
    else:
        time = [rng.expovariate(0.1) for _ in range(n)]
    share = rng.choice((0.0, 0.3, 0.5, 0.7, 0.7, 1.0))
    return [t * stretch for t in time], [rng.random() < share for _ in range(n)]


def _weights(rng, n):
    """None, whole numbers with zeros, or quarters."""
    kind = rng.random()
    if kind < 0.6:
        return None
    if kind < 0.85:
        weight = [float(rng.randint(0, 3)) for _ in range(n)]
    else:
        weight = [rng.randint(0, 12) / 4 for _ in range(n)]
    return weight if sum(weight) > 0 else None


def _curves(rng, n, last, style):
    """(grid or grids, survival, float32): falling, in [0, 1], with ties and flat stretches."""
    m = rng.choice((1, 2, 3, 3, 4, 6))
    single = rng.random() < 0.15
    reach = rng.choice((1.0, 1.0, 1.2, 2.0, 0.6))

    def one_grid():
        if style == "spread":
            times = {rng.uniform(0, reach * last) for _ in range(m - 1)}
        else:
            times = {float(rng.randint(1, 12)) * reach * last / 12 for _ in range(m - 1)}
        times = {t for t in times if t < 0.99 * reach * last} | {reach * last}
        return sorted(times)

    def one_curve(size, from_zero):
        if rng.random() < 0.5:
            values = [rng.randint(0, 8) / 8 for _ in range(size)]
        else:
            values = [rng.random() for _ in range(size)]
        if single:
            values = [float(np.float32(v)) for v in values]
        values.sort(reverse=True)
        if from_zero:
            values[0] = 1.0
        return values

    zero = rng.random() < 0.5
    if rng.random() < 0.7:
        grid = one_grid()
        grid = [0.0, *grid] if zero else grid
        return grid, [one_curve(len(grid), zero) for _ in range(n)], single
    grids = [one_grid() for _ in range(n)]
    size = min(map(len, grids))
    grids = [([0.0] if zero else []) + g[-size:] for g in grids]
    return grids, [one_curve(len(grids[0]), zero) for _ in range(n)], single
