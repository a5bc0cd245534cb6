"""What a plan says of its metrics: which, with what settings, and against what truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..._old_names import renamed
from ..._tools.arrays import positive
from ..._tools.running import is_own
from ...data.predictions import Prediction
from ...errors import InputError, one_of
from ...estimators.estimated_g import G_SETS
from ...metrics.conventions import Convention
from ...metrics.registry import REGISTRY, Metric
from .specs import (
    KM,
    MODEL,
    DistributionSpec,
    entry_table,
    imported,
    label_of,
    refuse_unknown,
)

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
#: Settings of all metrics; of these the second row belongs to a `Convention`.
_SETTINGS = ("time", "tau", "convention", "censoring", "distribution")
_OF_CONVENTION = ("min_g", "min_at_risk", "on_unsupported", "floor")
#: Settings of time errors, which are fields of a `Convention` too.
_OF_TIME_ERRORS = ("weighted", "area", "tail", "normalize")


@dataclass(frozen=True)
class MetricSpec:
    """A metric with its settings, and the truth that it is measured against.

    The truth of ``mae_*``, ``mse_*`` and ``rmse_*`` is the error in the real times (``mae``, ...);
    that of ``harrell``, and of ``uno`` without tau, is Harrell's C in the real times; that of any
    other metric is itself with the real times. A setting ``truth`` chooses another metric, an empty
    text none. ``function = "module:name"`` is a metric of your own, called with (task,
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
        metric = None if function is not None else REGISTRY.get(name)
        if function is None and (direction is None or metric is not None):
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
        label = label_of(table, name, "metric")
        settings = renamed(table, f"metric {name!r}")
        try:
            if metric is not None and metric.within_horizon:
                settings = _within_horizon(settings)
            _check_settings(metric, settings)
        except InputError as error:
            raise InputError(f"metric {name!r}: {error}") from error
        truth = _truth_of(name, truth, function, "tau" in settings)
        true = REGISTRY.get(PLAIN_ERRORS.get(truth, truth))
        if function is not None and true is not None and true.direction != direction:
            raise InputError(
                f"metric {name!r}: its truth {truth!r} is better where it is {true.direction}, so "
                f"direction must be {true.direction!r}; got {direction!r}"
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
        return metric is None or not is_own(metric.terms or metric.compute)

    def check(self) -> None:
        """Refuse a metric that is not registered, or whose module is not there."""
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
                f"metric {self.name!r}: {self.function} must be a function of (task, "
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
    def distribution(self) -> DistributionSpec | None:
        """The distribution to fit for it; None: Kaplan-Meier, or no distribution at all."""
        name = self.settings.get("distribution", KM)
        return None if name == KM else DistributionSpec(name)

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
        return label_of(self.truth_settings, self.truth, "truth") if self.truth else ""


def _within_horizon(settings: dict[str, Any]) -> dict[str, Any]:
    """Add what `mae_within` is in an evaluation: up to the horizon, with G of the test subjects."""
    if settings.get("tau", HORIZON) != HORIZON:
        raise InputError(
            f"tau must be {HORIZON!r}, where it stops by itself; got {settings['tau']!r}. For "
            "another horizon take 'mae_dr'"
        )
    return {"censoring": "test", "tau": HORIZON, **settings}


def _check_settings(metric: Metric | None, settings: dict[str, Any]) -> None:
    """Refuse settings that a metric does not take; a metric of your own takes all of them."""
    method = None if metric is None else metric.method
    in_convention: tuple[str, ...] = _OF_CONVENTION
    if metric is None or method is not None:
        in_convention += _OF_TIME_ERRORS
    if metric is None or metric.reads_threshold:
        in_convention += ("threshold",)
    refuse_unknown(settings, (*_SETTINGS, *in_convention), "it")
    given = {key: value for key, value in settings.items() if key in in_convention}
    Convention.of(settings.get("convention", "paper"), **given)
    if metric is not None:
        metric.check_threshold(settings.get("threshold"))
    if settings.get("tau", HORIZON) != HORIZON:
        positive(settings["tau"], f"tau (or {HORIZON!r})")
    positive(settings.get("time", 1.0), "time (one number, an entry of the plan for each time)")
    if method is not None and not method.takes_distribution and "distribution" in settings:
        able = [m.name for m in REGISTRY.values() if m.method and m.method.takes_distribution]
        raise InputError(f"it takes no distribution; {', '.join(able)} do")
    distribution, source = settings.get("distribution", KM), settings.get("censoring")
    if distribution != KM:
        DistributionSpec(distribution)
    if source is not None:
        one_of("censoring", source, (*G_SETS, MODEL))
    if source == MODEL and distribution == KM:
        raise InputError(
            "censoring = 'model' takes the censoring model of a fitted distribution, but "
            "distribution is 'km'; say distribution = 'blend', or censoring = 'test' or 'train'"
        )


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
