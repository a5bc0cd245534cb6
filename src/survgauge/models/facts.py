"""What each model is: the paper's table, where the class lives, which extra it needs.

Nothing is imported from here but the standard library, so that listing models costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelFacts:
    """One line of the table of models."""

    #: What `build` and plans call it.
    name: str
    #: What it is.
    title: str
    #: Gives survival curves; if not, `predict_curves` is refused.
    curves: bool = True
    #: Predictions depend on the features.
    individual: bool = True
    #: Predicts a time itself, rather than one read off a curve.
    time: bool = False
    #: Curves are defined in continuous time; None without curves.
    continuous: bool | None = False
    #: Takes outcomes of several causes and predicts the incidence of each.
    incidence: bool = False
    #: Fitting or predicting draws random numbers (the model has a `random_state`).
    random: bool = False
    #: What to install: ``pip install 'survgauge[<extra>]'``.
    extra: str = "sklearn"
    #: Packages that must be importable.
    needs: tuple[str, ...] = ("sklearn",)
    #: ``module:class`` inside `survgauge.models`.
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
