"""What each model is: the paper's table, where the class lives, which extra it needs.

Nothing is imported from here but the standard library, so that listing models costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelFacts:
    """One line of the table of models.

    Attributes
    ----------
    name : str
        What `build` and plans call it.
    title : str
        What it is.
    curves : bool
        Gives survival curves; if not, `predict_curves` is refused.
    individual : bool
        Predictions depend on the features.
    time : bool
        Predicts a time itself, rather than one read off a curve.
    continuous : bool or None
        Curves are defined in continuous time; None without curves.
    incidence : bool
        Takes outcomes of several causes and predicts the incidence of each.
    random : bool
        Fitting or predicting draws random numbers (the model has a `random_state`).
    extra : str
        What to install: ``pip install 'survgauge[<extra>]'``.
    needs : tuple of str
        Packages that must be importable.
    home : str
        ``module:class`` inside `survgauge.models`.
    """

    name: str
    title: str
    curves: bool = True
    individual: bool = True
    time: bool = False
    continuous: bool | None = False
    incidence: bool = False
    random: bool = False
    extra: str = "sklearn"
    needs: tuple[str, ...] = ("sklearn",)
    home: str = ""


_SKSURV = ("sklearn", "sksurv")
_LIFELINES = ("sklearn", "lifelines", "pandas")
_TORCH = ("sklearn", "torch")

#: All models by name, in the paper's order, and after them those of several causes.
FACTS: dict[str, ModelFacts] = {
    facts.name: facts
    for facts in (
        ModelFacts(
            "lr",
            "Linear regression on the uncensored rows",
            curves=False,
            time=True,
            continuous=None,
            home="classical:LinearTime",
        ),
        ModelFacts("km", "Kaplan-Meier", individual=False, home="classical:KaplanMeierModel"),
        ModelFacts(
            "coxph",
            "Cox proportional hazards, Breslow baseline",
            continuous=True,
            home="classical:CoxPH",
        ),
        ModelFacts(
            "aft",
            "Accelerated failure time, Weibull",
            time=True,
            continuous=True,
            extra="lifelines",
            needs=_LIFELINES,
            home="aft:WeibullAFT",
        ),
        ModelFacts(
            "gbm_c",
            "Gradient boosting, component-wise least squares",
            home="boosting:ComponentwiseBoosting",
        ),
        ModelFacts(
            "gbm_tree",
            "Gradient boosting, regression trees",
            random=True,
            home="boosting:TreeBoosting",
        ),
        ModelFacts(
            "rsf",
            "Random survival forest",
            random=True,
            extra="sksurv",
            needs=_SKSURV,
            home="forest:SurvivalForest",
        ),
        ModelFacts(
            "mtlr",
            "Multi-task logistic regression",
            random=True,
            extra="torch",
            needs=_TORCH,
            home="torch_models:MTLR",
        ),
        ModelFacts(
            "deephit",
            "DeepHit, one or several causes",
            incidence=True,
            random=True,
            extra="torch",
            needs=_TORCH,
            home="torch_models:DeepHit",
        ),
        ModelFacts(
            "sca",
            "Survival cluster analysis",
            continuous=True,
            random=True,
            extra="torch",
            needs=_TORCH,
            home="torch_models:SCA",
        ),
        ModelFacts(
            "smdn",
            "Survival mixture density network",
            time=True,
            continuous=True,
            random=True,
            extra="torch",
            needs=_TORCH,
            home="torch_models:SurvivalMDN",
        ),
        ModelFacts(
            "aalen_johansen",
            "Aalen-Johansen, several causes",
            individual=False,
            incidence=True,
            home="competing:AalenJohansenModel",
        ),
        ModelFacts(
            "cause_specific_cox",
            "A Cox model of each cause, combined to incidence",
            continuous=True,
            incidence=True,
            home="competing:CauseSpecificCox",
        ),
        ModelFacts(
            "survival_boost",
            "Boosted trees for several causes (hazardous' SurvivalBoost)",
            continuous=True,
            incidence=True,
            random=True,
            extra="hazardous",
            needs=("sklearn", "hazardous"),
            home="boosted_incidence:SurvivalBoostModel",
        ),
    )
}
