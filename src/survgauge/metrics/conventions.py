"""Conventions in which packages differ, as presets, and settings that only specialists change."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import wraps
from typing import Any, TypeVar

from .._tools.arrays import LARGEST, flag, one_number, probability, shown, whole_number
from .._tools.writing import WrittenOut
from ..data.interpolation import check_tail
from ..errors import InputError, one_of
from ..estimators.conditional import check_floor
from ..estimators.kaplan_meier import AREAS

#: Fields that only metrics of ranking look at.
_RANKING = {"concerns": "ranking"}
#: Fields that say what is asked for, and not how ties, limits and divisors are taken.
_SETTING = {"concerns": "setting"}
#: What metrics do at times that the data do not support.
UNSUPPORTED = ("truncate", "raise", "nan")
_ONE_OF = {
    "area": AREAS,
    "normalize": ("n", "weights", "events"),
    "on_unsupported": UNSUPPORTED,
    "reference": ("fixed", "redrawn"),
}
_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True, repr=False)
class Convention(WrittenOut):
    """How ties, limits and divisors are taken, and settings that only specialists change.

    Functions that take a `convention` take the name of a preset, or one of these; see `of` for a
    preset with other settings.

    Attributes
    ----------
    name : str
        Of the preset, or your own.
    g_ties : {"events_first", "flipped"}
        Whether events leave the risk set of G before tied censorings, or G is plain Kaplan-Meier
        on flipped flags.
    g_floor : float
        Smallest value of G; 0 means none.
    event_limit, survivor_limit : {"left", "right"}
        G(t-) or G(t) for an event at t, and for somebody event-free past t.
    censored_at_t : str
        Whether somebody censored exactly at t is known to be event-free there.
    divisor : {"n", "weights"}
        Brier scores are divided by the number of subjects or by the sum of weights.
    unweighted_divisor : {"known", "n"}
        Brier scores without weights: "known" averages over subjects of known status, "n" over all.
    integration : {"trapezoid", "simpson", "simpson_average"}
        Rule for integrals over a grid: "simpson" lays a parabola through the last three of an even
        number of points, "simpson_average" takes the mean of a line first and a line last, as SciPy
        before 1.11.
    anchors_at_tau : bool
        Whether anchors exactly at tau count in truncated C-indices.
    clip : float
        Probabilities are kept within [clip, 1 - clip] before logarithms; 0 means they are not.
    g_influence : {"estimated", "hazard"}
        Standard errors where G is estimated in sample: "estimated" differentiates G exactly,
        "hazard" writes 1/Y for 1/(Y - c) and counts tied events as at risk.
    g_source : {"test", "train"}
        Whose censoring G describes: that of the test subjects, or of the training subjects where
        they are given.
    risk_tolerance, auc_tolerance : float
        Risks or probabilities closer than this are tied, in C-indices and in AUC.
    td_ties : {"risk", "strict"}
        Usual ties of the time-dependent C.
    td_curves : {"interpolated", "steps"}
        How curves are read between their times by the time-dependent C.
    margin_area : {"step", "trapezoid"}
        Area under Kaplan-Meier of the margin times in ``concordance_index(method="margin")``.
    margin_pairs : {"weighted", "seen_whole"}
        Whether pairs whose order was seen weigh 1 there, whatever their margin times weigh.
    weighted : bool
        Whether imputed times of censored subjects weigh 1 - S(c) (the paper's confidence) or 1.
    area : {"step", "trapezoid"}
        Area under Kaplan-Meier of the time errors; see `surrogate_times`.
    tail : {"linear", "exponential", "hold", "nan"}
        How Kaplan-Meier is extended beyond its last time, in the time errors.
    normalize : {"n", "weights", "events"}
        Divisor of ``ipcw_d``: all subjects, the sum of weights, or the number of events.
    floor : float
        Smallest G of ``dr``: no event weighs more than 1/floor subjects, and the error beyond
        rests on the distribution of the event time alone.
    on_unsupported : {"truncate", "raise", "nan"}
        What metrics do at times past the follow-up or past the horizon, or where G = 0.
    min_g, min_at_risk : float
        The horizon is the last time with G above `min_g` and at least `min_at_risk` test subjects
        at risk.
    threshold : float, optional
        Of `evaluate`: predicted risk from which on a subject is treated, for net_benefit, which
        needs it and belongs to the default metrics where it is given.
    censoring : {"test", "train"}, KaplanMeier or callable, optional
        Of `evaluate`: where G comes from, instead of `g_source`; or the caller's own G.
    n_boot : int
        Of `evaluate`: replicates where a metric has no analytic standard error.
    reference : {"fixed", "redrawn"}
        Of `evaluate`: whether intervals take the reference set as given, or redraw it with the
        test set (then every interval comes from the bootstrap).

    Examples
    --------
    >>> Convention(tail="exponential")
    Convention('survgauge', tail='exponential')
    >>> Convention.of("sksurv", on_unsupported="nan").event_limit
    'right'
    """

    name: str = "survgauge"
    g_ties: str = "events_first"
    g_floor: float = 0.0
    event_limit: str = "left"
    survivor_limit: str = "right"
    censored_at_t: str = "unknown"
    divisor: str = "n"
    integration: str = "trapezoid"
    anchors_at_tau: bool = False
    unweighted_divisor: str = "known"
    clip: float = 0.0
    g_influence: str = "estimated"
    g_source: str = "test"
    risk_tolerance: float = field(default=0.0, metadata=_RANKING)
    auc_tolerance: float = field(default=0.0, metadata=_RANKING)
    td_ties: str = field(default="risk", metadata=_RANKING)
    td_curves: str = field(default="interpolated", metadata=_RANKING)
    margin_area: str = field(default="step", metadata=_RANKING)
    margin_pairs: str = field(default="weighted", metadata=_RANKING)

    weighted: bool = field(default=True, metadata=_SETTING)
    area: str = field(default="step", metadata=_SETTING)
    tail: str = field(default="linear", metadata=_SETTING)
    normalize: str = field(default="n", metadata=_SETTING)
    floor: float = field(default=0.1, metadata=_SETTING)
    on_unsupported: str = field(default="truncate", metadata=_SETTING)
    min_g: float = field(default=0.05, metadata=_SETTING)
    min_at_risk: float = field(default=10, metadata=_SETTING)
    threshold: float | None = field(default=None, metadata=_SETTING)
    censoring: Any = field(default=None, metadata=_SETTING, compare=False)
    n_boot: int = field(default=100, metadata=_SETTING)
    reference: str = field(default="fixed", metadata=_SETTING)

    def __post_init__(self) -> None:
        for name, known in _ONE_OF.items():
            one_of(name, getattr(self, name), known)
        check_tail(self.tail)
        check_floor(self.floor)
        whole_number(self.n_boot, "n_boot", 0)
        if self.threshold is not None:
            probability(self.threshold, "threshold")
        object.__setattr__(self, "weighted", flag(self.weighted, "weighted"))
        if not 0 <= one_number(self.min_g) < 1:
            raise InputError(f"min_g must be a probability below 1; got {shown(self.min_g)}")
        if not 1 <= one_number(self.min_at_risk) <= LARGEST:
            raise InputError(
                f"min_at_risk must be a number of at least 1; got {shown(self.min_at_risk)}"
            )

    @classmethod
    def of(cls, given: str | Convention | None = None, **settings: Any) -> Convention:
        """Look a preset up by name (None is our own), with other settings if there are any."""
        if given is None:
            found = CONVENTIONS["survgauge"]
        elif isinstance(given, Convention):
            found = given
        elif isinstance(given, str):
            one_of("convention", given.lower(), CONVENTIONS)
            found = CONVENTIONS[given.lower()]
        else:
            raise InputError(
                f"convention must be a name or a Convention; got {type(given).__name__}"
            )
        unknown = [name for name in settings if name not in SETTINGS]
        if unknown:
            raise InputError(
                f"unknown setting {unknown[0]!r}; settings are time, tau, convention, "
                f"{', '.join(SETTINGS)}"
            )
        return replace(found, **settings) if settings else found

    @property
    def changed(self) -> dict[str, Any]:
        """Fields besides the name that are not this package's usual ones."""
        own = {f.name: getattr(self, f.name) for f in fields(self)[1:]}
        usual = {f.name: f.default for f in fields(self)[1:]}
        return {n: v for n, v in own.items() if v is not usual[n] and v != usual[n]}

    def __repr__(self) -> str:
        changed = [f"{name}={value!r}" for name, value in self.changed.items()]
        return f"Convention({', '.join([repr(self.name), *changed])})"

    def as_dict(self) -> dict[str, Any]:
        """Return the fields that concern G and scores, with `convention` for the name."""
        shown = {f.name: getattr(self, f.name) for f in fields(self) if not f.metadata}
        return {"convention": shown.pop("name"), **shown}

    @property
    def is_own(self) -> bool:
        """Whether ties, limits and divisors are this package's, whatever the settings."""
        return all(
            getattr(self, f.name) == f.default for f in fields(self) if f.metadata != _SETTING
        )

    @property
    def of_times(self) -> dict[str, Any]:
        """What methods for censored subjects look at."""
        return {name: getattr(self, name) for name in ("weighted", "area", "tail", "floor")}


#: Names of the settings.
SETTINGS = tuple(f.name for f in fields(Convention) if f.metadata == _SETTING)


def takes_settings(function: _Function) -> _Function:
    """Let a function with a `convention` take settings as arguments too, as in version 0.1."""
    known = inspect.signature(function).parameters

    @wraps(function)
    def called(*args: Any, **options: Any) -> Any:
        old = {name: options.pop(name) for name in SETTINGS if name in options.keys() - known}
        if old:
            told = ", ".join(f"{name}={shown(value)}" for name, value in old.items())
            message = (
                f"settings of {function.__name__} as arguments go in 0.3; write "
                f"convention=sg.Convention({told})"
            )
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            options["convention"] = Convention.of(options.get("convention"), **old)
        return function(*args, **options)

    return called  # type: ignore[return-value]


CONVENTIONS = {
    convention.name: convention
    for convention in (
        Convention("survgauge"),
        Convention("paper", g_source="train"),
        Convention("riskregression", g_influence="hazard"),
        Convention(
            "sksurv",
            event_limit="right",
            g_source="train",
            risk_tolerance=1e-8,
            auc_tolerance=1e-8,
        ),
        Convention(
            "torchsurv",
            event_limit="right",
            unweighted_divisor="n",
            g_source="train",
            risk_tolerance=1e-8,
            auc_tolerance=1e-8,
        ),
        Convention(
            "survivaleval",
            survivor_limit="left",
            censored_at_t="event_free",
            unweighted_divisor="n",
            g_source="train",
            risk_tolerance=1e-8,
            margin_area="trapezoid",
            margin_pairs="seen_whole",
            area="trapezoid",
            normalize="events",
        ),
        Convention(
            "pycox",
            g_ties="flipped",
            divisor="weights",
            integration="simpson",
            clip=1e-7,
            td_ties="strict",
            td_curves="steps",
        ),
        Convention(
            "hazardous",
            g_ties="flipped",
            g_floor=0.05,
            event_limit="right",
            anchors_at_tau=True,
            g_source="train",
            risk_tolerance=1e-8,
            auc_tolerance=1e-8,
        ),
    )
}
