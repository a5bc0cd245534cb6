"""What a plan says of its metrics: which, with what settings, and against what truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .._tools.arrays import probability
from ..data.predictions import Prediction
from ..data.tails import TAILS
from ..errors import InputError, one_of
from ..metrics.registry import REGISTRY
from ..reference.g_source import G_SETS
from ..reference.kaplan_meier import AREAS
from .imports import imported
from .laws import KM, MODEL, LawSpec
from .specs import entry_table, label_of, refuse_unknown, shown

#: Plain errors in the real times by their short names (mae, mse, rmse): what metrics compute them
#: where nobody is censored.
PLAIN_ERRORS = {
    metric.name.removesuffix("_uncensored"): metric.name
    for metric in REGISTRY.values()
    if metric.method is not None and metric.method.name == "uncensored"
}
#: Stands for the largest time that a fold's data support, see `survgauge.evaluate`.
HORIZON = "horizon"
#: What a model must offer for a metric of your own, unless the plan says more or less.
_OWN_NEEDS = "times"
_SHARED = ("time", "tau", "convention", "min_g", "min_at_risk", "on_unsupported", "censoring")
#: Of metrics of decisions, which need it.
_DECISION_ONLY = ("threshold",)
#: Of metrics that take the law of the event times given features.
_LAW_ONLY = ("law", "floor")
_TIME_ERROR_ONLY = {
    "weighted": (True, False),
    "area": AREAS,
    "tail": TAILS,
    "normalize": ("n", "weights", "events"),
}


@dataclass(frozen=True)
class MetricSpec:
    """A metric with its settings, and the truth that it is measured against.

    The truth of ``mae_*``, ``mse_*`` and ``rmse_*`` is the error in the real times (``mae``, ...);
    that of ``harrell``, and of ``uno`` without tau, is Harrell's C in the real times; that of any
    other metric is itself with the real times. A setting ``truth`` chooses another metric, an empty
    text none. ``function = "module:name"`` is a metric of your own, called with (problem,
    prediction); its ``truth`` may be such a function, too. ``needs`` says what a model must offer
    for it: curves, times (which curves have, too) or risk. For a metric that was registered by
    `register_metric` its name is enough.

    Examples
    --------
    >>> spec = MetricSpec.of({"name": "mae_po", "weighted": False})
    >>> spec.label, spec.truth
    ('mae_po(weighted=false)', 'mae')
    >>> MetricSpec.of({"name": "mae_po", "tau": "horizon"}).truth_label
    'mae(tau=horizon)'
    >>> MetricSpec.of("mae_within").truth_label
    'mae(tau=horizon)'
    """

    label: str
    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    truth: str = ""
    function: str | None = None
    direction: str = "lower"
    needs: str = _OWN_NEEDS

    @classmethod
    def of(cls, entry: Any) -> MetricSpec:
        """Read an entry."""
        if isinstance(entry, cls):
            return entry
        table = entry_table(entry, "metrics")
        name, function = table.pop("name"), table.pop("function", None)
        truth, direction = table.pop("truth", None), table.pop("direction", None)
        # A stored plan says the direction of metrics that nobody may have registered here.
        if function is None and (direction is None or name in REGISTRY):
            one_of("metrics", name, REGISTRY)
            direction = REGISTRY[name].direction
            if REGISTRY[name].target is not None:
                raise InputError(
                    f"metrics: {name} puts models in no order ({REGISTRY[name].better}), so a plan "
                    "cannot compare its order with the true one; leave it out"
                )
        if direction not in ("lower", "higher"):
            raise InputError(
                f"metric {name!r}: direction must be 'lower' or 'higher', whichever is better; "
                f"got {direction!r}"
            )
        needs = table.pop("needs", _OWN_NEEDS) if function is not None else _OWN_NEEDS
        one_of(f"metric {name!r}: needs", needs, ("curves", "times", "risk"))
        settings = {key: value for key, value in table.items() if key != "label"}
        label = label_of(table, name, settings, "metric")
        settings = _within_horizon(name, settings)
        _check_settings(name, settings)
        truth = _truth_of(name, truth, function, "tau" in settings)
        known = REGISTRY.get(PLAIN_ERRORS.get(truth, truth))
        if function is not None and known is not None and known.direction != direction:
            raise InputError(
                f"metric {name!r}: its truth {truth!r} is better where it is {known.direction}, so "
                f"direction must be {known.direction!r}; got {direction!r}"
            )
        return cls(label, name, settings, truth, function, direction, needs)

    def entry(self) -> dict[str, Any]:
        """Return the table that `of` reads."""
        table = {"name": self.name, "label": self.label, "truth": self.truth, **self.settings}
        if self.function is not None:
            table["function"] = self.function
            table |= {} if self.needs == _OWN_NEEDS else {"needs": self.needs}
        if self.function is not None or self.is_registered_by_user:
            table["direction"] = self.direction
        return table

    identity = entry

    @property
    def is_registered_by_user(self) -> bool:
        """Whether the metric came by `register_metric`: other processes and machines lack it."""
        if self.function is not None:
            return False
        metric = REGISTRY.get(self.name)
        if metric is None:
            return True
        function: Any = metric.terms or metric.compute
        home = getattr(function, "func", function).__module__  # of a partial function, too
        return not home.startswith(f"{__name__.partition('.')[0]}.")

    def check(self) -> None:
        """Refuse a metric that cannot be computed here: nobody knows it, or it has no module."""
        if self.function is None:
            one_of("metrics", self.name, REGISTRY)
        else:
            self.load()
        if self.truth_spec is not None and self.truth_spec.function is not None:
            self.truth_spec.load()

    def load(self) -> Callable[[Any, Any], Any]:
        """Import the function of a metric of your own."""
        found = imported(str(self.function), f"metric {self.name!r}: function")
        if not callable(found):
            raise InputError(
                f"metric {self.name!r}: {self.function} must be a function of (problem, "
                f"prediction); it is {found!r}"
            )
        return found

    def offered_by(self, prediction: Prediction) -> bool:
        """Whether a model's prediction has what the metric needs."""
        needs = self.needs if self.function is not None else REGISTRY[self.name].needs
        return prediction.has(needs)

    @property
    def truth_spec(self) -> MetricSpec | None:
        """The metric that gives the truth where every event is known; None without one."""
        if not self.truth:
            return None
        if self.function is not None and self.truth == self.name:
            return MetricSpec(self.name, self.name, function=self.function, needs=self.needs)
        if ":" in self.truth:
            return MetricSpec(self.truth, self.truth, function=self.truth, needs=self.needs)
        return MetricSpec(self.truth, PLAIN_ERRORS.get(self.truth, self.truth))

    @property
    def law(self) -> LawSpec | None:
        """The law that has to be fitted for it; None: Kaplan-Meier, or no law at all."""
        name = self.settings.get("law", KM)
        return None if name == KM else LawSpec(name)

    @property
    def truth_settings(self) -> dict[str, Any]:
        """Settings that change what is true, not only how it is estimated."""
        shared: tuple[str, ...] = ("tau", "time", "min_g", "min_at_risk", "threshold")
        if self.truth in PLAIN_ERRORS:
            # The two that say where the horizon lies.
            shared = shared[:1] + shared[2:] * (self.settings.get("tau") == HORIZON)
        return {key: self.settings[key] for key in shared if key in self.settings}

    @property
    def truth_label(self) -> str:
        """Name of the family of metrics that share a truth; empty without one."""
        return label_of({}, self.truth, self.truth_settings, "truth") if self.truth else ""


def _within_horizon(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Add what `mae_within` is in an evaluation: up to the horizon, with G of the test subjects."""
    metric = REGISTRY.get(name)
    if metric is None or not metric.within_horizon:
        return settings
    if settings.get("tau", HORIZON) != HORIZON:
        raise InputError(
            f"metric {name!r}: tau must be {HORIZON!r}, where it stops by itself; got "
            f"{settings['tau']!r}. For another horizon take 'mae_dr'"
        )
    return {"censoring": "test", "tau": HORIZON, **settings}


def _check_settings(name: str, settings: dict[str, Any]) -> None:
    metric = REGISTRY.get(name)
    time_error = metric is None or metric.method is not None
    decides = metric is None or metric.reads_threshold
    allowed = (*_SHARED, *_LAW_ONLY, *(_TIME_ERROR_ONLY if time_error else ()))
    allowed += _DECISION_ONLY if decides else ()
    refuse_unknown(settings, allowed, f"metric {name!r}")
    for key, choices in _TIME_ERROR_ONLY.items():
        if key in settings and settings[key] not in choices:
            raise InputError(
                f"metric {name!r}: {key} must be one of {', '.join(map(shown, choices))}; "
                f"got {settings[key]!r}"
            )
    tau = settings.get("tau", 1.0)
    if tau != HORIZON and not (isinstance(tau, int | float) and tau > 0):
        raise InputError(
            f"metric {name!r}: tau must be a positive number or {HORIZON!r}; got {tau!r}"
        )
    time = settings.get("time", 1.0)
    if isinstance(time, bool) or not (isinstance(time, int | float) and time > 0):
        raise InputError(
            f"metric {name!r}: time must be one positive number, an entry for each time; got "
            f"{time!r}"
        )
    if "threshold" in settings:
        probability(settings["threshold"], f"metric {name!r}: threshold")
    if metric is not None:
        metric.check_threshold(settings.get("threshold"))
    _check_law(name, settings)


def _check_law(name: str, settings: dict[str, Any]) -> None:
    law, source = settings.get("law", KM), settings.get("censoring")
    method = REGISTRY[name].method if name in REGISTRY else None
    if method is not None and not method.takes_law and "law" in settings:
        able = [m.name for m in REGISTRY.values() if m.method is not None and m.method.takes_law]
        raise InputError(f"metric {name!r} takes no law; {', '.join(able)} do")
    if law != KM:
        try:
            LawSpec(law)
        except InputError as error:
            raise InputError(f"metric {name!r}: {error}") from error
    if source is not None:
        one_of(f"metric {name!r}: censoring", source, (*G_SETS, MODEL))
    if source == MODEL and law == KM:
        raise InputError(
            f"metric {name!r}: censoring = 'model' takes the censoring model of a fitted law, but "
            "law is 'km'; say law = 'blend', or censoring = 'test' or 'train'"
        )
    floor = settings.get("floor", 0.1)
    if isinstance(floor, bool) or not isinstance(floor, int | float) or not 0 <= floor < 1:
        raise InputError(f"metric {name!r}: floor must be a probability below 1; got {floor!r}")


def _truth_of(name: str, given: Any, function: str | None, stopped: bool) -> str:
    if given is not None:
        if given != "" and not (isinstance(given, str) and ":" in given):
            one_of(f"metric {name!r}: truth", given, (*PLAIN_ERRORS, *REGISTRY, name))
        return str(given)
    if function is not None:
        return name
    metric = REGISTRY.get(name)
    if metric is not None and metric.method is not None:
        kind = metric.loss, metric.root
        for short, plain in PLAIN_ERRORS.items():
            if (REGISTRY[plain].loss, REGISTRY[plain].root) == kind:
                return short
    # Uno's C estimates Harrell's without censoring, unless a horizon leaves late pairs out.
    return "harrell" if name == "uno" and not stopped else name
