"""Data sets that come inside other packages, read through their public loaders."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._tools.extras import need
from ..data.outcomes import Outcomes
from ..errors import MissingExtraError
from .record import Dataset, Dropped
from .tables import columns_needed, tidy, zero_times

if TYPE_CHECKING:
    import pandas as pd

_LATER = "known only after the follow-up has begun"
_ENTRY = "a date of entry that decides how long the follow-up can be"
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
    #: Causes of the events in the order of their codes; none where there is one kind of event.
    causes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


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
            "diagdateb": _ENTRY,
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
            "year_month_of_diagnosis": _ENTRY,
            "year_month_of_last_observation": "the outcome as a date",
        },
        unit="years",
    ),
    "lifelines_leukemia": LoaderCall("load_leukemia", "t", "status", unit="weeks"),
    "lifelines_regression": LoaderCall("load_regression_dataset", "T", "E"),
    "lifelines_senators_causes": LoaderCall(
        "load_canadian_senators",
        "diff_days",
        "reason",
        drop={
            "Name": "a name",
            "Appointed on the advice of": "tells the date of entry",
            "Term (yyyy.mm.dd)": "the outcome as dates",
            "start_date": _ENTRY,
            "end_date": "the outcome as a date",
            "observed": "tells the outcome",
        },
        unit="days",
        causes=("death", "resignation", "retirement"),
        notes=("those who declined their appointment are left out",),
    ),
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
    "sksurv_bmt_causes": LoaderCall("load_bmt", unit="months", causes=("transplant", "relapse")),
    "sksurv_cgvhd_causes": LoaderCall(
        "load_cgvhd", unit="years", causes=("cgvhd", "relapse", "death")
    ),
}


@dataclass(frozen=True)
class SurvSetCauses:
    """A set of SurvSet whose table tells the causes of events: how to read them."""

    theirs: str
    read: Callable[[pd.DataFrame], Outcomes]
    drop: Mapping[str, str]
    notes: tuple[str, ...] = ()


def _one_kind(frame: pd.DataFrame) -> Outcomes:
    return Outcomes(frame["time"], frame["event"])


def _follic(frame: pd.DataFrame) -> Outcomes:
    return Outcomes(frame["time"], frame["event"], causes=["relapse", "death"])


def _mgus(frame: pd.DataFrame) -> Outcomes:
    """Progression where its time is known, else death."""
    columns_needed(frame, ["num_pctime"], "SurvSet's mgus")
    progressed = frame["num_pctime"].notna()
    time = frame["num_pctime"].fillna(frame["time"])
    codes = (2 * frame["event"]).where(~progressed, 1)
    return Outcomes(time, codes, causes=["progression", "death"])


def _flchain(frame: pd.DataFrame) -> Outcomes:
    """Chapter of the cause of death; it is empty for the living."""
    columns_needed(frame, ["fac_chapter"], "SurvSet's flchain")
    chapter = frame["fac_chapter"].astype(str)
    codes = frame["event"] * chapter.map({"Circulatory": 1, "Neoplasms": 2}).fillna(3).astype(int)
    return Outcomes(frame["time"], codes, causes=["circulatory", "neoplasm", "other"])


SURVSET_CAUSES = {
    "follic_causes": SurvSetCauses("follic", _follic, {}),
    "mgus_causes": SurvSetCauses(
        "mgus",
        _mgus,
        {"pctime": "the outcome", "pcdx": "the outcome", "dxyr": _ENTRY},
        ("progression is to a plasma cell malignancy; the follow-up ends with it",),
    ),
    "flchain_causes": SurvSetCauses(
        "flchain",
        _flchain,
        {"chapter": "the outcome"},
        ("causes are chapters of the ICD; all but the two most frequent are 'other'",),
    ),
}


def load_survset(name: str) -> Dataset:
    """Load a set of SurvSet without its leaking columns and its repeated ones."""
    note = (SURVSET_NOTES[name],) if name in SURVSET_NOTES else ()
    plain = SurvSetCauses(name, _one_kind, SURVSET_DROPPED.get(name, {}), note)
    about = SURVSET_CAUSES.get(name, plain)
    module = need("SurvSet.data", f"the data set {about.theirs}", "survset")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the loader, about pandas internals
        answer = module.SurvLoader().load_dataset(ds_name=about.theirs)
    frame = answer["df"]
    columns_needed(frame, ["event", "time"], f"SurvSet's {about.theirs}")
    y = about.read(frame)
    features = frame.drop(columns=["pid", "event", "time"], errors="ignore")
    # SurvSet marks numbers with num_ and factors with fac_; of variables that come as both, the
    # number is taken.
    numbers = {c[4:] for c in features.columns if c.startswith("num_")}
    twice = [c[4:] for c in features.columns if c.startswith("fac_") and c[4:] in numbers]
    X = features.drop(columns=[f"fac_{c}" for c in twice])
    X.columns = [c[4:] if c[:4] in ("num_", "fac_") else c for c in X.columns]
    columns_needed(X, about.drop, f"SurvSet's {about.theirs}")
    return Dataset(
        X=tidy(X.drop(columns=list(about.drop))),
        y=y,
        name=name,
        source=f"SurvSet; {answer.get('ref', 'no reference given')}",
        licence=SURVSET_LICENCE,
        dropped=(
            *(Dropped(column, why) for column, why in about.drop.items()),
            *(Dropped(f"fac_{column}", f"the same as num_{column}") for column in twice),
        ),
        notes=(*about.notes, *zero_times(y.time)),
    )


def load_lifelines(name: str) -> Dataset:
    """Load a set that lifelines bundles."""
    call = LIFELINES[name]
    frame = _called("lifelines.datasets", name, "lifelines", call)
    columns_needed(frame, [call.time, call.event, *call.drop], f"lifelines' {call.function}")
    X = frame.drop(columns=[call.time, call.event, *call.drop])
    if not call.causes:
        y = Outcomes(frame[call.time], frame[call.event])
    else:
        words = frame[call.event].astype(object).where(frame["observed"], "censored").str.lower()
        kept = words.isin([*call.causes, "censored"])
        X = X[kept]
        y = Outcomes(frame[call.time][kept], words[kept].tolist(), causes=call.causes)
    return _packaged(name, "lifelines", call, X, y, LIFELINES_LICENCE)


def load_sksurv(name: str) -> Dataset:
    """Load a set that scikit-survival bundles."""
    call = SKSURV[name]
    X, outcome = _called("sksurv.datasets", name, "sksurv", call)
    columns_needed(X, call.drop, f"scikit-survival's {call.function}")
    X = X.drop(columns=list(call.drop))
    if call.causes:
        y = Outcomes(outcome["ftime"], outcome["status"], causes=call.causes)
    else:
        y = Outcomes.of(outcome)
    return _packaged(name, "scikit-survival", call, X, y, SKSURV_LICENCE)


def _called(module: str, name: str, extra: str, call: LoaderCall) -> Any:
    found = getattr(need(module, f"the data set {name}", extra), call.function, None)
    if found is None:
        raise MissingExtraError(f"the data set {name} (a newer version of it)", extra)
    return found(**call.arguments)


def _packaged(
    name: str, package: str, call: LoaderCall, X: pd.DataFrame, y: Outcomes, licence: str
) -> Dataset:
    """Make a data set of what a loader of another package gave."""
    return Dataset(
        X=tidy(X),
        y=y,
        name=name,
        source=f"{package}, datasets.{call.function}",
        licence=licence,
        dropped=tuple(Dropped(column, why) for column, why in call.drop.items()),
        notes=(*call.notes, *zero_times(y.time)),
        time_unit=call.unit,
    )


SURVSET_LICENCE = "SurvSet package GPL-3; each set on the terms of its own source"
LIFELINES_LICENCE = "lifelines package MIT"
SKSURV_LICENCE = "scikit-survival package GPL-3"
