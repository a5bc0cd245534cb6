"""Data sets that come inside other packages, read through their public loaders."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._tools.extras import need
from ..data.outcomes import Outcomes
from .record import Dataset, Dropped
from .tables import columns_needed, tidy, zero_times

if TYPE_CHECKING:
    import pandas as pd

_LATER = "known only after the follow-up has begun"
SURVSET_DROPPED: dict[str, dict[str, str]] = {
    "rhc": {"surv2md1": "a model's prediction of survival"},
    "flchain": {"chapter": "cause of death: it gives the event away"},
    "grace": {"los": f"length of stay, {_LATER}", "revasc": f"treatment, {_LATER}"},
    "whas500": {"los": f"length of stay, {_LATER}"},
    "Z243": {"CouTot": "cost of the stay whose length is the outcome"},
    "zinc": {"zincset": "who was measured depended on the outcome (case-cohort sampling)"},
    "vlbw": {
        "cld": "oxygen at 30 days; its gaps are the early deaths",
        "lowph": f"lowest pH of the first four days, {_LATER}",
        "pvh": f"haemorrhage during the stay, {_LATER}",
        "ivh": f"haemorrhage during the stay, {_LATER}",
        "ipe": f"haemorrhage during the stay, {_LATER}",
        "vent": f"ventilation during the stay, {_LATER}",
        "pneumo": f"complication during the stay, {_LATER}",
        "pda": f"complication during the stay, {_LATER}",
    },
}
SURVSET_NOTES = {
    "hdfail": "the source does not say when the SMART readings (temp, rsc, rer, psc) were taken; "
    "they may be from the end of the follow-up",
    "Melanoma": "deaths of other causes count as censored",
    "prostateSurvival": "deaths of other causes count as censored",
    "Z243": "nobody is censored",
}
# Why the other sets of SurvSet are not offered.
SURVSET_UNSUITABLE = {
    "mgus": "columns measured after the start of the follow-up; mgus_causes has them as outcomes",
    "follic": "competing events; follic_causes has them",
    "acath": "the duration of symptoms is no follow-up time",
    "support2": "use support, which has every column and the paper's preprocessing",
    "retinopathy": "two eyes of a patient are two rows: rows are not independent",
    "diabetes": "two eyes of a patient are two rows: rows are not independent",
    **dict.fromkeys(
        ("aids", "csl", "epileptic", "FRTCS", "heart", "heartvalve", "oldmort", "Rossi"),
        "time-varying features",
    ),
}


@dataclass(frozen=True)
class LoaderCall:
    """A public loader function of another package, and which columns are the outcome."""

    function: str
    time: str = ""
    event: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    drop: Mapping[str, str] = field(default_factory=dict)
    unit: str = ""


_NAME = "an identifier or a name"
LIFELINES = {
    "lifelines_rossi": LoaderCall("load_rossi", "week", "arrest", unit="weeks"),
    "lifelines_gbsg2": LoaderCall("load_gbsg2", "time", "cens", unit="days"),
    "lifelines_lymph_node": LoaderCall(
        "load_lymph_node",
        "survtime",
        "censdead",
        drop={
            "rectime": f"recurrence, {_LATER}",
            "censrec": f"recurrence, {_LATER}",
            "recdate": f"recurrence, {_LATER}",
            "deathdate": "the outcome as a date",
            "diagdateb": "a date of entry that decides how long the follow-up can be",
        },
        unit="days",
    ),
    "lifelines_kidney_transplant": LoaderCall(
        "load_kidney_transplant", "time", "death", unit="days"
    ),
    "lifelines_lung": LoaderCall("load_lung", "time", "status", unit="days"),
    "lifelines_dd": LoaderCall(
        "load_dd",
        "duration",
        "observed",
        drop=dict.fromkeys(
            ("ctryname", "cowcode2", "politycode", "ehead", "leaderspellreg"), _NAME
        ),
        unit="years",
    ),
    "lifelines_waltons": LoaderCall("load_waltons", "T", "E", unit="days"),
    "lifelines_larynx": LoaderCall("load_larynx", "time", "death", unit="years"),
    "lifelines_lupus": LoaderCall(
        "load_lupus",
        "time_between_diagnosis_and_last_observation_(years)",
        "dead",
        drop={
            "year_month_of_diagnosis": "a date of entry that decides how long the follow-up can be",
            "year_month_of_last_observation": "the outcome as a date",
        },
        unit="years",
    ),
    "lifelines_leukemia": LoaderCall("load_leukemia", "t", "status", unit="weeks"),
    "lifelines_regression": LoaderCall("load_regression_dataset", "T", "E"),
}
SKSURV = {
    "sksurv_aids": LoaderCall("load_aids", arguments={"endpoint": "aids"}, unit="days"),
    "sksurv_aids_death": LoaderCall("load_aids", arguments={"endpoint": "death"}, unit="days"),
    "sksurv_breast_cancer": LoaderCall("load_breast_cancer", unit="days"),
    "sksurv_flchain": LoaderCall(
        "load_flchain", drop={"chapter": "cause of death: it gives the event away"}, unit="days"
    ),
    "sksurv_gbsg2": LoaderCall("load_gbsg2", unit="days"),
    "sksurv_veterans_lung_cancer": LoaderCall("load_veterans_lung_cancer", unit="days"),
    "sksurv_whas500": LoaderCall(
        "load_whas500", drop={"los": f"length of stay, {_LATER}"}, unit="days"
    ),
}


@dataclass(frozen=True)
class SurvSetTable:
    """A set of SurvSet as it comes, and its features under their own names, each once."""

    frame: pd.DataFrame
    X: pd.DataFrame
    source: str
    twice: tuple[str, ...]


def survset_table(name: str) -> SurvSetTable:
    """Read a set of SurvSet; of a variable that is both a number and a factor, the number."""
    module = need("SurvSet.data", f"the data set {name}", "survset")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the loader, about pandas internals
        answer = module.SurvLoader().load_dataset(ds_name=name)
    frame = answer["df"]
    columns_needed(frame, ["event", "time"], f"SurvSet's {name}")
    features = frame.drop(columns=["pid", "event", "time"], errors="ignore")
    # SurvSet marks numbers with num_ and factors with fac_; some variables come as both.
    numbers = {c[4:] for c in features.columns if c.startswith("num_")}
    twice = [c[4:] for c in features.columns if c.startswith("fac_") and c[4:] in numbers]
    X = features.drop(columns=[f"fac_{c}" for c in twice])
    X.columns = [c[4:] if c[:4] in ("num_", "fac_") else c for c in X.columns]
    source = f"SurvSet; {answer.get('ref', 'no reference given')}"
    return SurvSetTable(frame, X, source, tuple(twice))


def load_survset(name: str) -> Dataset:
    """Load a set of SurvSet without its leaking columns and its repeated ones."""
    table = survset_table(name)
    y = Outcomes(table.frame["time"], table.frame["event"])
    note = (SURVSET_NOTES[name],) if name in SURVSET_NOTES else ()
    return survset_dataset(name, name, table, y, SURVSET_DROPPED.get(name, {}), note)


def survset_dataset(
    name: str,
    theirs: str,
    table: SurvSetTable,
    y: Outcomes,
    leaking: Mapping[str, str],
    notes: tuple[str, ...],
) -> Dataset:
    """Make a data set of a table, which SurvSet calls `theirs`, without its leaking columns."""
    columns_needed(table.X, leaking, f"SurvSet's {theirs}")
    return Dataset(
        X=tidy(table.X.drop(columns=list(leaking))),
        y=y,
        name=name,
        source=table.source,
        licence=SURVSET_LICENCE,
        dropped=(
            *(Dropped(column, why) for column, why in leaking.items()),
            *(Dropped(f"fac_{column}", f"the same as num_{column}") for column in table.twice),
        ),
        notes=(*notes, *zero_times(y.time)),
    )


def load_lifelines(name: str) -> Dataset:
    """Load a set that lifelines bundles."""
    call = LIFELINES[name]
    module = need("lifelines.datasets", f"the data set {name}", "lifelines")
    frame = getattr(module, call.function)(**call.arguments)
    columns_needed(frame, [call.time, call.event, *call.drop], f"lifelines' {call.function}")
    X = frame.drop(columns=[call.time, call.event, *call.drop])
    y = Outcomes(frame[call.time], frame[call.event])
    return packaged(name, "lifelines", call, X, y, LIFELINES_LICENCE)


def load_sksurv(name: str) -> Dataset:
    """Load a set that scikit-survival bundles."""
    call = SKSURV[name]
    module = need("sksurv.datasets", f"the data set {name}", "sksurv")
    X, outcome = getattr(module, call.function)(**call.arguments)
    columns_needed(X, call.drop, f"scikit-survival's {call.function}")
    X = X.drop(columns=list(call.drop))
    return packaged(name, "scikit-survival", call, X, Outcomes.of(outcome), SKSURV_LICENCE)


def packaged(
    name: str,
    package: str,
    call: LoaderCall,
    X: pd.DataFrame,
    y: Outcomes,
    licence: str,
    notes: tuple[str, ...] = (),
) -> Dataset:
    """Make a data set of what a loader of another package gave."""
    return Dataset(
        X=tidy(X),
        y=y,
        name=name,
        source=f"{package}, datasets.{call.function}",
        licence=licence,
        dropped=tuple(Dropped(column, why) for column, why in call.drop.items()),
        notes=(*notes, *zero_times(y.time)),
        time_unit=call.unit,
    )


SURVSET_LICENCE = "SurvSet package GPL-3; each set on the terms of its own source"
LIFELINES_LICENCE = "lifelines package MIT"
SKSURV_LICENCE = "scikit-survival package GPL-3"
