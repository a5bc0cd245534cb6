"""A method for censored subjects: its record, and what it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .._tools.arrays import Bools, Floats, stored_once
from .._tools.running import called
from .._tools.text import ShortRepr
from ..data.outcomes import Outcomes
from ..errors import InputError, UndefinedMetricError
from .doubly_robust import DoublyRobust
from .residual import ResidualDistribution

if TYPE_CHECKING:
    from .setting import Setting


@dataclass(frozen=True, repr=False)
class Surrogates(ShortRepr):
    """What each subject counts as, and how much.

    Attributes
    ----------
    time : ndarray of shape (n,)
        Event time for events, imputed time for censored subjects.
    weight : ndarray of shape (n,)
        Weight in the average; 0 where the subject does not take part.
    defined : ndarray of bool, shape (n,)
        False where the method has nothing to say about the subject.
    """

    time: Floats
    weight: Floats
    defined: Bools
    #: Subjects whose time is only a lower bound: predictions past it are not wrong.
    lower_bound: Bools | None = None
    #: Censored subjects count as this distribution, not as a single time.
    distribution: ResidualDistribution | None = None
    #: The loss of every subject comes from here, given the loss and the predicted times.
    robust: DoublyRobust | None = None
    #: Why subjects were left out or changed, with counts.
    notes: dict[str, int] = field(default_factory=dict)
    #: What was looked up of these subjects, for the next loss or model.
    looked_up: dict[str, Any] = field(default_factory=dict)

    def largest_weight(self, y: Outcomes) -> float:
        """Largest weight of a subject whose own is not zero."""
        if "largest_weight" not in self.looked_up:
            weight = self.weight[y.weight > 0] if y.weighted else self.weight
            weight = weight[:1] if stored_once(weight) else weight
            self.looked_up["largest_weight"] = float(weight.max(initial=0.0))
        return float(self.looked_up["largest_weight"])

    def largest_time(self, setting: Setting) -> float | None:
        """Largest time that a censored subject counts as; None where none counts."""
        if "largest_time" not in self.looked_up:
            rows, y = setting.censored, setting.y
            if self.defined is not setting.everybody:
                rows = rows[self.defined[rows]]
            if y.weighted:
                rows = rows[y.weight[rows] > 0]
            self.looked_up["largest_time"] = float(self.time[rows].max()) if rows.size else None
        largest: float | None = self.looked_up["largest_time"]
        return largest


@dataclass(frozen=True)
class Method:
    """What a censored subject counts as: a function, and what others have to know about it.

    Attributes
    ----------
    name : str
        By which users call it: ``method="po"``, ``mae_po``.
    function : callable
        Takes a `Setting` and returns `Surrogates`.
    title : str
        A few words after "MAE, ".
    counts_as : str
        The rest of the sentence "Each censored subject ...".
    reference : str
        Where it was published.
    imputes : bool
        Whether one time takes the place of a censored one, with the weight 1 - S(c) of the paper.
    looks_up : bool
        Whether censored subjects are looked up in the reference set.
    weights_by_g : bool
        Whether events are weighted by 1/G.
    reads_g : bool
        Whether it looks at G in another way.
    takes_distribution : bool
        Whether it takes a distribution per subject (`conditional`) where one is given.
    takes_cause : bool
        Whether it supports competing risks: it reads `Setting.value` where others read times.
    takes_entry : bool
        Whether it supports delayed entry; otherwise it is undefined where there is any.
    counts_censored : bool
        Whether censored subjects have a loss of their own.
    needs_truth : bool
        Whether it needs the true event times, which only made data have.
    extrapolates : bool
        Whether what it puts in place of a time hangs on the tail of Kaplan-Meier.
    misses_late : bool
        Whether it cannot see errors past the last reference time.
    usual : bool
        Whether warnings about predicted times stand beside its mean absolute error.
    """

    name: str
    function: Callable[[Setting], Surrogates]
    title: str
    counts_as: str
    reference: str = "Qi et al. (2023), ICML"
    imputes: bool = False
    looks_up: bool = False
    weights_by_g: bool = False
    reads_g: bool = False
    takes_distribution: bool = False
    takes_cause: bool = False
    takes_entry: bool = False
    counts_censored: bool = True
    needs_truth: bool = False
    extrapolates: bool = False
    misses_late: bool = False
    usual: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError(f"name must be the name of a method; got {self.name!r}")
        if not callable(self.function):
            raise InputError(
                f"method {self.name!r}: function must be a function of a Setting that returns "
                f"Surrogates; got {type(self.function).__name__}"
            )

    def __call__(self, setting: Setting) -> Surrogates:
        """Return what each subject of a setting counts as."""
        what = f"method {self.name!r}: function"
        if setting.by_entry and not self.takes_entry:
            raise UndefinedMetricError(
                f"method {self.name!r} does not support delayed entry, which its record would "
                "say by takes_entry=True; use a method of the package, such as 'po' or 'dr'"
            )
        found = called(self.function, what, setting)
        if not isinstance(found, Surrogates):
            raise InputError(
                f"{what} must return Surrogates, such as s.fill(times); got {type(found).__name__}"
            )
        n = len(setting.y)
        for part in ("time", "weight", "defined"):
            if np.shape(getattr(found, part)) != (n,):
                raise InputError(
                    f"{what} must return Surrogates with one {part} for each of {n} subjects; got "
                    f"shape {np.shape(getattr(found, part))}"
                )
        return found
