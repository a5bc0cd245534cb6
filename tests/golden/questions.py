"""Seeded datasets and every kind of question that `evaluate` is asked, by the public API only."""

from __future__ import annotations

from typing import Any

import numpy as np

import survgauge as sg

GRID = np.arange(0.0, 61.0, 2.0)
COARSE = np.array([0.0, 3.0, 7.0, 12.0, 20.0, 33.0, 60.0])
CAUSES = ("relapse", "death")
N, N_TRAIN = 72, 84
#: Settings of every question, so that every metric has what it needs.
COMMON = {"threshold": 0.3, "n_boot": 20}


def uniforms(seed: int, n: int, k: int) -> np.ndarray:
    return np.random.default_rng(seed).random((n, k))


def halves(values: np.ndarray) -> np.ndarray:
    """Times in whole and half units: with ties, and without digits that a library decides."""
    return np.ceil(values * 2) / 2


class Data:
    """One seeded dataset: outcomes in all forms, features, and two models of each kind."""

    def __init__(self, seed: int, n: int) -> None:
        u = uniforms(seed, n, 10)
        self.n, self.x = n, u[:, 0] * 2 - 1
        self.scale = 10 * np.exp(-0.8 * self.x)
        true = halves(self.scale * (-np.log(u[:, 1])) ** 0.8)
        censored = halves(3 + 27 * u[:, 2])
        self.true_time = true
        self.time, self.event = np.minimum(true, censored), true <= censored
        self.cause = np.where(self.event, np.where(u[:, 3] < 0.6 + 0.2 * self.x, 1, 2), 0)
        self.entry = np.where(u[:, 4] < 0.5, 0.0, np.floor(self.time * u[:, 4]))
        self.frequency = np.floor(u[:, 5] * 4)
        self.sampling = 0.5 + np.round(u[:, 6] * 3, 2)
        self.cluster = np.floor(u[:, 7] * 15).astype(int)
        self.group = np.where(u[:, 8] < 0.45, "a", "b")
        self.X = np.stack([self.x, u[:, 8], u[:, 9]], axis=1)
        self.noise = u[:, 9]
        every = 2.0 + np.floor(u[:, 7] * 3)
        lower = np.floor((self.time - 0.25) / every) * every
        self.lower = np.where(self.event, lower, self.time)
        self.upper = np.where(self.event, lower + every, np.inf)

    def rows(self, keep: np.ndarray) -> Data:
        part = object.__new__(Data)
        for name, value in vars(self).items():
            setattr(part, name, value[keep] if isinstance(value, np.ndarray) else value)
        part.n = int(np.count_nonzero(keep))
        return part

    def outcomes(self, **more: Any) -> sg.Outcomes:
        causes = more.pop("causes", None)
        event = self.event if causes is None else self.cause
        return sg.Outcomes(self.time, event, causes=causes, **more)

    def intervals(self, **more: Any) -> sg.IntervalOutcomes:
        return sg.IntervalOutcomes(self.lower, self.upper, **more)

    def survival(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        good = np.exp(-((GRID / self.scale[:, None]) ** 1.2))
        other = np.exp(-COARSE / (4 + 14 * self.noise[:, None])) ** (0.7 + 0.2 * self.x[:, None])
        return {"good": (GRID, good), "poor": (COARSE, other)}

    def curves(self) -> dict[str, Any]:
        return {name: sg.SurvivalCurves(*pair) for name, pair in self.survival().items()}

    def times(self) -> dict[str, np.ndarray]:
        return {"good": 0.8 * self.scale, "poor": 3 + 12 * self.noise}

    def risks(self) -> dict[str, Any]:
        return {
            "good": sg.RiskScores(self.x),
            "poor": sg.RiskScores(np.round(0.3 * self.x - self.noise, 1)),
        }

    def probabilities(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        made = {}
        for name, (times, survival) in self.survival().items():
            share = (0.6 + 0.2 * self.x if name == "good" else 0.4 + 0.2 * self.noise)[:, None]
            values = np.stack([share * (1 - survival), (1 - share) * (1 - survival)], axis=1)
            made[name] = (times, values)
        return made

    def incidence(self) -> dict[str, Any]:
        made = self.probabilities()
        return {name: sg.IncidenceCurves(*pair, causes=CAUSES) for name, pair in made.items()}


TEST, TRAIN = Data(11, N), Data(12, N_TRAIN)
TEST.entry[TEST.entry >= TEST.time] = 0.0
TRAIN.entry[TRAIN.entry >= TRAIN.time] = 0.0
TAU = {"tau": 9.0}


def asked(predictions: Any, y: Any, **settings: Any) -> Any:
    """One call of `sg.evaluate`."""

    common = {} if isinstance(y, sg.IntervalOutcomes) else COMMON

    def call(metrics: list[str], **more: Any) -> Any:
        return sg.evaluate(predictions, y, metrics=metrics, **{**common, **settings, **more})

    # Whether a metric is refused does not hang on the features, which take long to fit.
    call.quick = {"X_train": None} if "X_train" in settings else {}  # type: ignore[attr-defined]
    return call


def special(**settings: Any) -> dict[str, Any]:
    """What only specialists change, as `evaluate` and the functions take it."""
    return settings


def streamed(
    columns: dict[str, Any], y_train: Any, *, causes: bool = False, **settings: Any
) -> Any:
    """One call of `sg.evaluate_stream`, on two batches of `TEST`."""
    columns, layout = dict(columns), {}
    for name, (times, values) in (TEST.probabilities() if causes else TEST.survival()).items():
        if causes:
            parts = {cause: f"{name}_{cause}" for cause in CAUSES}
            columns.update({part: values[:, k] for k, part in enumerate(parts.values())})
            layout[name] = sg.IncidenceColumns(parts, times)
        else:
            columns[name] = values
            layout[name] = sg.CurveColumns(name, times)
    cuts = (slice(0, 30), slice(30, N))
    batches = [{key: value[rows] for key, value in columns.items()} for rows in cuts]

    common = {} if "lower" in columns else COMMON

    def call(metrics: list[str], **more: Any) -> Any:
        options = {**common, **settings, **more}
        return sg.evaluate_stream(
            batches, y_train=y_train, predictions=layout, metrics=metrics, **options
        )

    return call


def in_batches(y_train: Any, **settings: Any) -> Any:
    """One call of `sg.Evaluator`, on two batches of `TEST`."""

    def call(metrics: list[str], **more: Any) -> Any:
        evaluator = sg.Evaluator(y_train, metrics=metrics, **{**COMMON, **settings, **more})
        for rows in (np.arange(N) < 30, np.arange(N) >= 30):
            part = TEST.rows(rows)
            evaluator.update(part.curves(), part.outcomes())
        return evaluator.compute()

    return call


def questions() -> dict[str, Any]:
    """Every kind of question by its name: a function of the metrics to ask for."""
    y, train = TEST.outcomes(), TRAIN.outcomes()
    curves, times, risks = TEST.curves(), TEST.times(), TEST.risks()
    with_km = {**curves, "km": sg.reference_curves(train, N)}
    y_entry, train_entry = TEST.outcomes(entry=TEST.entry), TRAIN.outcomes(entry=TRAIN.entry)
    counted = TEST.outcomes(weight=TEST.frequency)
    counted_train = TRAIN.outcomes(weight=TRAIN.frequency)
    y_cause, train_cause = TEST.outcomes(causes=CAUSES), TRAIN.outcomes(causes=CAUSES)
    both = {"causes": CAUSES}
    y_both = TEST.outcomes(entry=TEST.entry, **both)
    train_both = TRAIN.outcomes(entry=TRAIN.entry, **both)
    incidence = TEST.incidence()
    seen, seen_train = TEST.intervals(), TRAIN.intervals()
    columns = {"time": TEST.time, "event": TEST.event}
    cause_columns = {"time": TEST.time, "event": TEST.cause}
    own = {"y_train": train}
    one = {"y_train": train_cause, "cause": "relapse"}
    made = {
        "plain": asked(with_km, y, **own),
        "tau": asked(with_km, y, **own, **TAU),
        "times": asked(curves, y, **own, time=[4.0, 8.0]),
        "own_reference": asked(curves, y),
        "own_reference_tau": asked(curves, y, **TAU),
        "redrawn": asked(curves, y, **own, **TAU, reference="redrawn", n_boot=10),
        "censoring_train": asked(curves, y, **own, **TAU, censoring="train"),
        "censoring_km": asked(
            curves, y, **own, **TAU, censoring=sg.KaplanMeier.fit_censoring(train)
        ),
        "frequencies": asked(curves, counted, y_train=counted_train, **TAU),
        "sampling_weights": asked(curves, y, **own, **TAU, sample_weight=TEST.sampling),
        "clusters": asked(curves, y, **own, **TAU, cluster=TEST.cluster),
        "groups": asked(curves, y, **own, tau=7.0, by=TEST.group),
        "cause": asked(incidence, y_cause, **one),
        "cause_tau": asked(incidence, y_cause, **one, **TAU),
        "second_cause": asked(incidence, y_cause, y_train=train_cause, cause="death", **TAU),
        "cause_weights": asked(incidence, y_cause, **one, **TAU, sample_weight=TEST.sampling),
        "cause_clusters": asked(incidence, y_cause, **one, **TAU, cluster=TEST.cluster),
        "entry": asked(curves, y_entry, y_train=train_entry),
        "entry_tau": asked(curves, y_entry, y_train=train_entry, **TAU),
        "entry_clusters": asked(curves, y_entry, y_train=train_entry, **TAU, cluster=TEST.cluster),
        "cause_entry": asked(incidence, y_both, y_train=train_both, cause="relapse", **TAU),
        "intervals": asked(curves, seen, y_train=seen_train),
        "intervals_tau": asked(curves, seen, y_train=seen_train, **TAU),
        "intervals_weights": asked(
            curves, seen, y_train=seen_train, **TAU, sample_weight=TEST.sampling
        ),
        "landmark": asked(curves, y, **own, landmark=3.0, tau=6.0),
        "landmark_cause": asked(incidence, y_cause, **one, landmark=3.0, tau=6.0),
        "stream": streamed(columns, train),
        "stream_tau": streamed(columns, train, **TAU),
        "stream_frequencies": streamed(
            {**columns, "count": TEST.frequency}, counted_train, weight_column="count", **TAU
        ),
        "stream_entry": streamed({**columns, "entry": TEST.entry}, train_entry, **TAU),
        "stream_cause": streamed(cause_columns, train_cause, causes=True, cause="relapse", **TAU),
        "stream_groups": streamed({**columns, "group": TEST.group}, train, by="group", tau=7.0),
        "stream_intervals": streamed({"lower": TEST.lower, "upper": TEST.upper}, seen_train, **TAU),
        "batches": in_batches(train, **TAU),
        "features_test": asked(curves, y, **own, **TAU, X_test=TEST.X),
        "features": asked(curves, y, **own, **TAU, X_test=TEST.X, X_train=TRAIN.X),
        "point_times": asked(times, y, **own, **TAU),
        "risks": asked(risks, y, **own, **TAU),
        "settings": asked(
            curves,
            y,
            **own,
            **special(floor=0.2, tail="exponential", min_g=0.2, min_at_risk=5),
            **special(normalize="weights", area="trapezoid", weighted=False),
        ),
        "unsupported_nan": asked(curves, y, **own, time=25.0, **special(on_unsupported="nan")),
    }
    for preset in ("sksurv", "survivaleval", "pycox"):
        made[f"convention_{preset}"] = asked(curves, y, **own, **TAU, convention=preset)
    return made
