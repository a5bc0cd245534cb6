"""Data sets of several causes that come inside other packages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._tools.extras import need
from ..data.outcomes import Outcomes
from ..errors import MissingExtraError
from .packages import (
    LIFELINES_LICENCE,
    SKSURV_LICENCE,
    LoaderCall,
    packaged,
    survset_dataset,
    survset_table,
)
from .record import Dataset
from .tables import columns_needed

if TYPE_CHECKING:
    import pandas as pd

_ENTRY = "a date of entry that decides how long the follow-up can be"


@dataclass(frozen=True)
class SurvSetCauses:
    """A set of SurvSet whose table tells the causes of events: how to read them."""

    theirs: str
    read: Callable[[pd.DataFrame], Outcomes]
    drop: dict[str, str]
    notes: tuple[str, ...] = ()


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


SURVSET = {
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


@dataclass(frozen=True)
class CausesCall:
    """A public loader of another package, and the causes in the order of their codes."""

    call: LoaderCall
    causes: tuple[str, ...]
    notes: tuple[str, ...] = field(default=())


LIFELINES = {
    "lifelines_senators_causes": CausesCall(
        LoaderCall(
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
        ),
        ("death", "resignation", "retirement"),
        ("those who declined their appointment are left out",),
    ),
}
SKSURV = {
    "sksurv_bmt_causes": CausesCall(
        LoaderCall("load_bmt", unit="months"), ("transplant", "relapse")
    ),
    "sksurv_cgvhd_causes": CausesCall(
        LoaderCall("load_cgvhd", unit="years"), ("cgvhd", "relapse", "death")
    ),
}


def load_survset_causes(name: str) -> Dataset:
    """Load a set of SurvSet with the causes of its events."""
    about = SURVSET[name]
    table = survset_table(about.theirs)
    return survset_dataset(
        name, about.theirs, table, about.read(table.frame), about.drop, about.notes
    )


def load_lifelines_causes(name: str) -> Dataset:
    """Load a set that lifelines bundles, with the causes of its events."""
    about = LIFELINES[name]
    call = about.call
    frame = _called("lifelines.datasets", name, "lifelines", call)
    columns_needed(frame, [call.time, call.event, *call.drop], f"lifelines' {call.function}")
    words = frame[call.event].astype(object).where(frame["observed"], "censored").str.lower()
    kept = words.isin([*about.causes, "censored"])
    y = Outcomes(frame[call.time][kept], words[kept].tolist(), causes=about.causes)
    X = frame.drop(columns=[call.time, call.event, *call.drop])[kept]
    return packaged(name, "lifelines", call, X, y, LIFELINES_LICENCE, about.notes)


def load_sksurv_causes(name: str) -> Dataset:
    """Load a set that scikit-survival bundles, with the causes of its events."""
    about = SKSURV[name]
    X, outcome = _called("sksurv.datasets", name, "sksurv", about.call)
    y = Outcomes(outcome["ftime"], outcome["status"], causes=about.causes)
    return packaged(name, "scikit-survival", about.call, X, y, SKSURV_LICENCE, about.notes)


def _called(module: str, name: str, extra: str, call: LoaderCall) -> Any:
    found = getattr(need(module, f"the data set {name}", extra), call.function, None)
    if found is None:
        raise MissingExtraError(f"the data set {name} (a newer version of it)", extra)
    return found(**call.arguments)
