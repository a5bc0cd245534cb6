"""What a validation study cites: entries, a numbered list, and a BibTeX file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from .. import __version__

#: How a text cites: [@key] or [@key; @other].
_CITATION = re.compile(r"\[(@[\w; @-]+)\]")


@dataclass(frozen=True)
class Citation:
    """A publication."""

    key: str
    authors: str
    title: str
    year: int
    place: str = ""
    volume: str = ""
    pages: str = ""
    doi: str = ""
    kind: str = "article"

    def text(self) -> str:
        """Return the entry of a numbered list."""
        where = f"{self.place} {self.volume}".strip()
        if self.pages:
            where = f"{where}:{self.pages}" if self.volume else f"{where}, pp. {self.pages}"
        names = self.authors.split(" and ")
        shown = ", ".join(names[:6]) + (", et al." if len(names) > 6 or "others" in names else "")
        title = f"{self.title} ({self.year})" if self.year else self.title
        parts = [shown.replace(", others", ""), title, where]
        told = ". ".join(part.rstrip(".") for part in parts if part)
        return f"{told}. doi:{self.doi}" if self.doi else f"{told}."

    def bibtex(self) -> str:
        """Return the entry for BibTeX."""
        places = {"article": "journal", "inproceedings": "booktitle", "incollection": "booktitle"}
        fields = {
            "author": f"{{{self.authors}}}" if self.kind == "misc" else self.authors,
            "title": f"{{{self.title}}}",
            places.get(self.kind, "note"): self.place,
            "year": str(self.year) if self.year else "",
            "volume": self.volume,
            "pages": self.pages.replace("-", "--"),
            "doi": self.doi.replace("<", r"\textless{}").replace(">", r"\textgreater{}"),
        }
        lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])

    def is_meant(self, text: str) -> bool:
        """Whether a metric's record names this publication: its first author and the year."""
        return self.authors.partition(",")[0] in text and str(self.year) in text


_SIM = "Statistics in Medicine"
_JASA = "Journal of the American Statistical Association"
_OWN = Citation(
    "survgauge", "The survgauge developers", "survgauge: evaluation of survival predictions", 0,
    f"Python package, version {__version__}", kind="misc",
)  # fmt: skip

REFERENCES = {
    reference.key: reference
    for reference in (
        _OWN,
        Citation("kaplan1958", "Kaplan, E. L. and Meier, P.",
                  "Nonparametric estimation from incomplete observations", 1958, _JASA, "53",
                  "457-481", "10.1080/01621459.1958.10501452"),
        Citation("aalen1978", "Aalen, O. O. and Johansen, S.",
                  "An empirical transition matrix for non-homogeneous Markov chains based on "
                  "censored observations", 1978, "Scandinavian Journal of Statistics", "5",
                  "141-150"),
        Citation("wolbers2014", "Wolbers, M. and Blanche, P. and Koller, M. T. and "
                  "Witteman, J. C. M. and Gerds, T. A.",
                  "Concordance for prognostic models with competing risks", 2014, "Biostatistics",
                  "15", "526-539", "10.1093/biostatistics/kxt059"),
        Citation("schemper1996", "Schemper, M. and Smith, T. L.",
                  "A note on quantifying follow-up in studies of failure time", 1996,
                  "Controlled Clinical Trials", "17", "343-346", "10.1016/0197-2456(96)00075-X"),
        Citation("collins2024", "Collins, G. S. and Moons, K. G. M. and Dhiman, P. and others",
                  "TRIPOD+AI statement: updated guidance for reporting clinical prediction models "
                  "that use regression or machine learning methods", 2024, "BMJ", "385", "e078378",
                  "10.1136/bmj-2023-078378"),
        Citation("mclernon2023", "McLernon, D. J. and Giardiello, D. and Van Calster, B. and "
                  "others", "Assessing performance and clinical usefulness in prediction models "
                  "with survival outcomes: practical guidance for Cox proportional hazards models",
                  2023, "Annals of Internal Medicine", "176", "105-114", "10.7326/M22-0844"),
        Citation("harrell1996", "Harrell, F. E. and Lee, K. L. and Mark, D. B.",
                  "Multivariable prognostic models: issues in developing models, evaluating "
                  "assumptions and adequacy, and measuring and reducing errors", 1996, _SIM, "15",
                  "361-387"),
        Citation("uno2011", "Uno, H. and Cai, T. and Pencina, M. J. and D'Agostino, R. B. and "
                  "Wei, L. J.", "On the C-statistics for evaluating overall adequacy of risk "
                  "prediction procedures with censored survival data", 2011, _SIM, "30",
                  "1105-1117", "10.1002/sim.4154"),
        Citation("antolini2005", "Antolini, L. and Boracchi, P. and Biganzoli, E.",
                  "A time-dependent discrimination index for survival data", 2005, _SIM, "24",
                  "3927-3944", "10.1002/sim.2427"),
        Citation("blanche2013", "Blanche, P. and Dartigues, J.-F. and Jacqmin-Gadda, H.",
                  "Estimating and comparing time-dependent areas under receiver operating "
                  "characteristic curves for censored event times with competing risks", 2013, _SIM,
                  "32", "5381-5397", "10.1002/sim.5958"),
        Citation("royston2004", "Royston, P. and Sauerbrei, W.",
                  "A new measure of prognostic separation in survival data", 2004, _SIM, "23",
                  "723-748", "10.1002/sim.1621"),
        Citation("graf1999", "Graf, E. and Schmoor, C. and Sauerbrei, W. and Schumacher, M.",
                  "Assessment and comparison of prognostic classification schemes for survival "
                  "data", 1999, _SIM, "18", "2529-2545"),
        Citation("kattan2018", "Kattan, M. W. and Gerds, T. A.",
                  "The index of prediction accuracy: an intuitive measure useful for evaluating "
                  "risk prediction models", 2018, "Diagnostic and Prognostic Research", "2", "7",
                  "10.1186/s41512-018-0029-2"),
        Citation("avati2020", "Avati, A. and Duan, T. and Zhou, S. and Jung, K. and "
                  "Shah, N. H. and Ng, A. Y.",
                  "Countdown regression: sharp and calibrated survival predictions", 2020,
                  "Uncertainty in Artificial Intelligence", kind="inproceedings"),
        Citation("rindt2022", "Rindt, D. and Hu, R. and Steinsaltz, D. and Sejdinovic, D.",
                  "Survival regression with proper scoring rules and monotonic neural networks",
                  2022, "Artificial Intelligence and Statistics", kind="inproceedings"),
        Citation("austin2020", "Austin, P. C. and Harrell, F. E. and van Klaveren, D.",
                  "Graphical calibration curves and the integrated calibration index (ICI) for "
                  "survival models", 2020, _SIM, "39", "2714-2742", "10.1002/sim.8570"),
        Citation("vanhouwelingen2000", "van Houwelingen, H. C.",
                  "Validation, calibration, revision and combination of prognostic survival models",
                  2000, _SIM, "19", "3401-3415"),
        Citation("debray2017", "Debray, T. P. A. and Damen, J. A. A. G. and Snell, K. I. E. and "
                  "others", "A guide to systematic review and meta-analysis of prediction model "
                  "performance", 2017, "BMJ", "356", "i6460", "10.1136/bmj.i6460"),
        Citation("vangeloven2022", "van Geloven, N. and Giardiello, D. and Bonneville, E. F. and "
                  "others", "Validation of prediction models in the presence of competing risks: a "
                  "guide through modern methods", 2022, "BMJ", "377", "e069249",
                  "10.1136/bmj-2021-069249"),
        Citation("haider2020", "Haider, H. and Hoehn, B. and Davis, S. and Greiner, R.",
                  "Effective ways to build and evaluate individual survival distributions", 2020,
                  "Journal of Machine Learning Research", "21", "1-63"),
        Citation("dagostino2003", "D'Agostino, R. B. and Nam, B.-H.",
                  "Evaluation of the performance of survival analysis models: discrimination and "
                  "calibration measures", 2003, "Handbook of Statistics", "23", "1-25",
                  kind="incollection"),
        Citation("simonsen2025", "Simonsen, M. R. and Waagepetersen, R. P.",
                  "A-calibration: assessment of prediction models for survival data under "
                  "censoring", 2025, "BMC Medical Research Methodology", "25", "236",
                  "10.1186/s12874-025-02671-6"),
        Citation("vickers2006", "Vickers, A. J. and Elkin, E. B.",
                  "Decision curve analysis: a novel method for evaluating prediction models", 2006,
                  "Medical Decision Making", "26", "565-574", "10.1177/0272989X06295361"),
        Citation("vickers2008", "Vickers, A. J. and Cronin, A. M. and Elkin, E. B. and Gonen, M.",
                  "Extensions to decision curve analysis, a novel method for evaluating diagnostic "
                  "tests, prediction models and molecular markers", 2008,
                  "BMC Medical Informatics and Decision Making", "8", "53",
                  "10.1186/1472-6947-8-53"),
        Citation("qi2023", "Qi, S. and Kumar, N. and Farrokh, M. and Sun, W. and Kuan, L. and "
                  "Ranganath, R. and Henao, R. and Greiner, R.",
                  "An effective meaningful way to evaluate survival models", 2023,
                  "International Conference on Machine Learning", kind="inproceedings"),
        Citation("robins1992", "Robins, J. M. and Rotnitzky, A.",
                  "Recovery of information and adjustment for dependent censoring using surrogate "
                  "markers", 1992, "AIDS Epidemiology: Methodological Issues", pages="297-331",
                  doi="10.1007/978-1-4757-1229-2_14", kind="incollection"),
        Citation("shivaswamy2007", "Shivaswamy, P. K. and Chu, W. and Jansche, M.",
                  "A support vector approach to censored targets", 2007,
                  "IEEE International Conference on Data Mining", pages="655-660",
                  doi="10.1109/ICDM.2007.93", kind="inproceedings"),
        Citation("dunn1961", "Dunn, O. J.", "Multiple comparisons among means", 1961, _JASA, "56",
                  "52-64", "10.1080/01621459.1961.10482090"),
        Citation("holm1979", "Holm, S.", "A simple sequentially rejective multiple test procedure",
                  1979, "Scandinavian Journal of Statistics", "6", "65-70"),
    )
}  # fmt: skip


def keys_of(text: str) -> list[str]:
    """Keys of the publications that the record of a metric names.

    >>> keys_of("Uno et al. (2011), Statistics in Medicine 30"), keys_of("this package")
    (['uno2011'], ['survgauge'])
    """
    found = [key for key, entry in REFERENCES.items() if entry.year and entry.is_meant(text)]
    return (["survgauge"] if "this package" in text else []) + found


def parts_of(text: str) -> list[str | list[str]]:
    """Split a text into texts and lists of the keys that it cites.

    >>> parts_of("By C [@uno2011], not [@nobody].")
    ['By C ', ['uno2011'], ', not [@nobody].']
    """
    found: list[str | list[str]] = []
    rest = ""
    for k, part in enumerate(_CITATION.split(text)):
        keys = [word.strip().lstrip("@") for word in part.split(";")]
        if k % 2 and all(key in REFERENCES for key in keys):
            found += [rest, keys]
            rest = ""
        else:  # a name may look like a citation
            rest += f"[{part}]" if k % 2 else part
    return [*found, rest]


def cited(texts: Iterable[str]) -> list[str]:
    """Keys of all publications that texts cite, in the order of their first citation.

    >>> cited(["By C [@uno2011; @harrell1996].", "By Brier [@graf1999] and C [@uno2011]."])
    ['uno2011', 'harrell1996', 'graf1999']
    """
    parts = [part for text in texts for part in parts_of(text)]
    return list(dict.fromkeys(key for part in parts if isinstance(part, list) for key in part))


def with_numbers(text: str, order: list[str]) -> str:
    """Replace citations by numbers in brackets.

    >>> with_numbers("By C [@uno2011; @graf1999].", ["graf1999", "uno2011"])
    'By C [2, 1].'
    """
    return "".join(
        part if isinstance(part, str) else f"[{', '.join(str(order.index(k) + 1) for k in part)}]"
        for part in parts_of(text)
    )
