"""Other packages as black boxes: their C-indices and AUCs under our presets, on tied data.

What does not agree, and why:

* scikit-survival, torchsurv, hazardous and SurvivalEVAL tie risks closer than 1e-8; ours must be
  equal, and under those presets they are rounded to 1e-8. SurvivalEVAL's AUC ties equal risks only,
  so that rounding errors decide between interpolated probabilities that are equal on paper; here
  its times are grid points.
* SurvivalEVAL's Margin concordance ties predicted times past the end of its Kaplan-Meier curve, and
  orders margin times that are equal on paper by their rounding errors. Here predictions lie below
  that end, and reference times are distinct events, so that margin times differ on paper.
* Past the last reference time, and where G = 0, each package has a rule of its own (exception,
  last value, line, floor); ours leaves out, counted, what has G = 0. Here the reference reaches
  further.
* torchsurv computes in float32.
"""

from __future__ import annotations

import numpy as np
import pytest
from discrimination_data import tied_case
from peer_import import peer

import survgauge as sg
from survgauge.metrics.ranking.auc import cumulative_dynamic_auc
from survgauge.metrics.ranking.concordance import concordance_index, concordance_td

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]

TIES = ("Risk", "None", "Time", "All")
GRID = np.arange(0.0, 26.0)


class Case:
    """Train and test outcomes, a risk with ties and crossing curves."""

    def __init__(self, seed, tied, n=120):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=n)
        self.test = self._outcomes(rng, x, tied)
        self.train = self._outcomes(rng, rng.normal(size=n + 30), tied)
        self.train[0][-1], self.train[1][-1] = 25.0, True  # reaches further than the test set
        self.risk = np.round(2 * (x + rng.normal(size=n))) / 4
        scale, shape = 6 * np.exp(-0.5 * x), np.round(rng.uniform(0.6, 1.6, n), 1)
        self.survival = np.round(np.exp(-((GRID / scale[:, None]) ** shape[:, None])), 2)
        self.curves = sg.SurvivalCurves(GRID, self.survival)

    @staticmethod
    def _outcomes(rng, x, tied):
        event_time, censoring = (
            7 * np.exp(-x) * rng.weibull(1.2, x.size),
            rng.exponential(9, x.size),
        )
        if tied:
            event_time, censoring = np.ceil(event_time), np.ceil(censoring)
        time = np.minimum(np.minimum(event_time, censoring), 20.0)
        return time, event_time <= np.minimum(censoring, 20.0)

    def arguments(self):
        """SurvivalEVAL's outcomes."""
        return *self.test, *self.train

    def curve_evaluator(self):
        return peer("SurvivalEVAL").SurvivalEvaluator(self.survival, GRID, *self._numbers())

    def point_evaluator(self):
        return peer("SurvivalEVAL").PointEvaluator(8 - self.risk, *self._numbers())

    def _numbers(self):
        return [np.asarray(part, dtype=float) for part in self.arguments()]


CASES = [(1, True), (2, True), (3, True), (4, False), (5, False)]


@pytest.fixture(params=CASES, ids=lambda p: f"seed{p[0]}-{'tied' if p[1] else 'distinct'}")
def case(request):
    return Case(*request.param)


def close(got, want, tolerance=1e-10):
    np.testing.assert_allclose(got, want, rtol=0, atol=tolerance)


# -- Harrell ------------------------------------------------------------------------------


def test_harrell_everywhere(case):
    got = concordance_index(case.test, case.risk)
    time, event = case.test
    lifelines = peer("lifelines.utils")
    close(got, lifelines.concordance_index(time, -case.risk, event))
    sksurv = peer("sksurv.metrics")
    close(got, sksurv.concordance_index_censored(event, time, case.risk)[0])
    close(got, case.point_evaluator().concordance(method="Harrell")[0])
    torch, cindex = peer("torch"), peer("torchsurv.metrics.cindex")
    arrays = (torch.tensor(a, dtype=torch.float32) for a in (case.risk, time))
    risk, times = arrays
    value = cindex.ConcordanceIndex()(risk, torch.tensor(event), times)
    if len(np.unique(times.numpy())) == len(np.unique(time)):
        close(got, float(value), 1e-6)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("tau", [None, 10.0, 10.1])
def test_survivalevals_ties(case, ties, tau):
    options = {"ties": ties.lower(), "tau": tau, "y_train": case.train}
    evaluator = case.point_evaluator()
    for theirs, ours in (("Harrell", "harrell"), ("Uno", "uno")):
        want = evaluator.concordance(ties=ties, method=theirs, tau=tau)[0]
        for rules in ({"censoring": "train"}, {"convention": "survivaleval"}):
            close(concordance_index(case.test, case.risk, method=ours, **rules, **options), want)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("tau", [None, 6.0])
def test_survivalevals_margin(case, ties, tau):
    case.train[0][:] += np.sqrt(np.arange(150)) / 50
    case.train[1][:] = True
    evaluator = case.point_evaluator()
    want = evaluator.concordance(ties=ties, method="Margin", tau=tau)[0]
    options = {"y_train": case.train, "ties": ties.lower(), "tau": tau, "method": "margin"}
    close(concordance_index(case.test, case.risk, convention="survivaleval", **options), want)
    # Ours weights all pairs by both confidences, which is another number.
    assert abs(concordance_index(case.test, case.risk, **options) - want) > 1e-4


# -- Uno ----------------------------------------------------------------------------------


@pytest.mark.parametrize("tau", [None, 10.0, 10.1])
def test_uno_with_g_at_the_event(case, tau):
    sksurv, util = peer("sksurv.metrics"), peer("sksurv.util")
    train, test = (util.Surv.from_arrays(e, t) for t, e in (case.train, case.test))
    options = {"method": "uno", "y_train": case.train, "tau": tau}
    got = concordance_index(case.test, case.risk, convention="sksurv", **options)
    close(got, sksurv.concordance_index_ipcw(train, test, case.risk, tau=tau)[0])
    torch, cindex = peer("torch"), peer("torchsurv.metrics.cindex")
    weight, risk, time, event = torch_arrays(case, case.test[0])
    top = None if tau is None else torch.tensor(tau)
    value = cindex.ConcordanceIndex()(risk, event, time, weight=weight, tmax=top)
    got = concordance_index(case.test, case.risk, convention="torchsurv", **options)
    if len(np.unique(time.numpy())) == len(np.unique(case.test[0])):
        close(got, float(value), 1e-6)


def torch_arrays(case, at):
    """Weights of torchsurv, 1/G(t), and the test set, in its own precision."""
    torch, ipcw = peer("torch"), peer("torchsurv.stats.ipcw")
    single = lambda a: torch.tensor(np.asarray(a), dtype=torch.float32)  # noqa: E731
    weight = ipcw.get_ipcw(torch.tensor(case.train[1]), single(case.train[0]), single(at))
    return weight, single(case.risk), single(case.test[0]), torch.tensor(case.test[1])


def test_hazardous_ranks_by_incidence_at_tau(case):
    metrics, pandas = peer("hazardous.metrics"), peer("pandas")
    frames = [
        pandas.DataFrame({"event": event.astype(int), "duration": time})
        for time, event in (case.test, case.train)
    ]
    for tau in (5.0, 8.0):
        risk = 1 - case.curves.at(tau)
        for estimator, method in ((None, "harrell"), ("km", "uno")):
            want = metrics.concordance_index_incidence(
                frames[0],
                1 - case.survival,
                y_train=frames[1],
                ipcw_estimator=estimator,
                time_grid=GRID,
                taus=[tau],
            )[0]
            options = {"y_train": case.train, "tau": tau, "convention": "hazardous"}
            close(concordance_index(case.test, risk, method=method, **options), want)


def test_risks_closer_than_1e_8_are_tied_for_scikit_survival_only():
    sksurv = peer("sksurv.metrics")
    time, event = np.array([1.0, 2.0]), np.array([True, True])
    risk = np.array([1 + 1e-9, 1.0])
    assert sksurv.concordance_index_censored(event, time, risk)[0] == 0.5
    assert concordance_index((time, event), risk, convention="sksurv") == 0.5
    assert concordance_index((time, event), risk) == 1.0


# -- Antolini -----------------------------------------------------------------------------


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("tau", [None, 10.0])
def test_survivalevals_antolini_and_ipcw(case, ties, tau):
    evaluator = case.curve_evaluator()
    for theirs, ours in (("Antolini", "antolini"), ("IPCW", "ipcw")):
        want = evaluator.concordance_time_dependent(ties=ties, method=theirs, tau=tau)[0]
        options = {"ties": ties.lower(), "tau": tau, "y_train": case.train, "method": ours}
        got = concordance_td(case.test, case.curves, convention="survivaleval", **options)
        close(got, want)


def test_torchsurv_with_curves_at_each_time(case):
    torch, cindex = peer("torch"), peer("torchsurv.metrics.cindex")
    risk = torch.tensor(-case.curves.at(case.test[0]), dtype=torch.float64)
    time, event = torch.tensor(case.test[0]), torch.tensor(case.test[1])
    value = float(cindex.ConcordanceIndex()(risk, event, time))
    close(concordance_td(case.test, case.curves, convention="torchsurv"), value, 1e-6)


@pytest.mark.parametrize("columns", [range(26), range(0, 26, 4), [3, 6, 9, 14]])
def test_pycox_reads_steps(case, columns):
    evaluation, pandas = peer("pycox.evaluation"), peer("pandas")
    grid, survival = GRID[columns], case.survival[:, columns]
    theirs = evaluation.EvalSurv(
        pandas.DataFrame(survival.T, index=grid), case.test[0], case.test[1].astype(int)
    )
    curves = sg.SurvivalCurves(grid, survival)
    got = concordance_td(case.test, curves, convention="pycox")
    close(got, theirs.concordance_td("antolini"))
    got = concordance_td(case.test, curves, convention="pycox", ties="adjusted")
    close(got, theirs.concordance_td("adj_antolini"))


# -- AUC ----------------------------------------------------------------------------------


def test_auc_with_g_at_the_event(case):
    sksurv, util = peer("sksurv.metrics"), peer("sksurv.util")
    train, test = (util.Surv.from_arrays(e, t) for t, e in (case.train, case.test))
    times = np.array([2.0, 3.0, 6.0, 6.5, 9.0, 12.0])
    options = {"y_train": case.train}
    for predicted, estimate in (
        (case.risk, case.risk),
        (case.curves, 1 - case.curves.at(times)),
        (1 - case.curves.at(times), 1 - case.curves.at(times)),
    ):
        values, mean = sksurv.cumulative_dynamic_auc(train, test, estimate, times)
        got = cumulative_dynamic_auc(case.test, predicted, times, convention="sksurv", **options)
        close(got.values, values)
        close(got.mean, mean)
    torch, auc = peer("torch"), peer("torchsurv.metrics.auc")
    weight, risk, time, event = torch_arrays(case, case.test[0])
    weight_new, *_ = torch_arrays(case, times)
    new = torch.tensor(times, dtype=torch.float32)
    theirs = auc.Auc()(risk, event, time, weight=weight, new_time=new, weight_new_time=weight_new)
    got = cumulative_dynamic_auc(case.test, case.risk, times, convention="torchsurv", **options)
    close(got.values, theirs.numpy(), 1e-6)


@pytest.mark.parametrize("time", [3.0, 6.0, 12.0])
def test_survivalevals_auc(case, time):
    evaluator = case.curve_evaluator()
    options = {"y_train": case.train, "convention": "survivaleval"}
    for theirs, ours in (("IPCW", "ipcw"), ("Naive", "unweighted")):
        got = cumulative_dynamic_auc(case.test, case.curves, time, method=ours, **options)
        close(got.mean, evaluator.auc(time, method=theirs))


# -- the numbers pinned in tests/unit -----------------------------------------------------


def test_where_the_pinned_numbers_come_from():
    train, test, risk, grid, survival = tied_case()
    numbers = [np.asarray(part, dtype=float) for part in (*test, *train)]
    points = peer("SurvivalEVAL").PointEvaluator(8 - risk, *numbers)
    close(points.concordance(method="Margin", ties="All", tau=8.0)[0], 0.6458915699377369)
    curves = peer("SurvivalEVAL").SurvivalEvaluator(survival, grid, *numbers)
    close(
        curves.concordance_time_dependent(ties="All", method="IPCW", tau=8.0)[0], 0.5924118404777098
    )
    close(curves.auc(6.0, method="Naive"), 0.7107438016528925)
    sksurv, util = peer("sksurv.metrics"), peer("sksurv.util")
    structured = [util.Surv.from_arrays(e, t) for t, e in (train, test)]
    close(sksurv.concordance_index_ipcw(*structured, risk, tau=8.0)[0], 0.6585701341703455)
    mean = sksurv.cumulative_dynamic_auc(*structured, risk, [3, 6, 6.5, 9])[1]
    close(mean, 0.647386987841368)


# -- the table of all packages ------------------------------------------------------------


def test_the_table_has_what_the_packages_print(case):
    """Each row of `concordance_by_package` beside its package, on the same predictions."""
    tau = 8.0
    found = sg.concordance_by_package(case.test, case.curves, y_train=case.train, tau=tau)
    ours = {(row.package, row.call): row.value for row in found}
    time, event = case.test
    predicted = case.curves.median()
    lifelines = peer("lifelines.utils")
    want = lifelines.concordance_index(time, predicted, event)
    close(ours["lifelines", "concordance_index(time, predicted, event)"], want)
    sksurv, util = peer("sksurv.metrics"), peer("sksurv.util")
    train, test = (util.Surv.from_arrays(e, t) for t, e in (case.train, case.test))
    want = sksurv.concordance_index_censored(event, time, -predicted)[0]
    close(ours["scikit-survival", "concordance_index_censored"], want)
    want = sksurv.concordance_index_ipcw(train, test, -predicted, tau=tau)[0]
    close(ours["scikit-survival", "concordance_index_ipcw(..., tau)"], want)
    points = peer("SurvivalEVAL").PointEvaluator(predicted, *case._numbers())
    for call in ('method="Harrell"', 'method="Uno"', 'method="Harrell", ties="All"'):
        options = {"method": "Uno" if "Uno" in call else "Harrell"}
        options["ties"] = "All" if "All" in call else "Risk"
        want = points.concordance(tau=tau if "Uno" in call else None, **options)[0]
        close(ours["SurvivalEVAL", f"concordance({call})"], want)
    evaluation, pandas = peer("pycox.evaluation"), peer("pandas")
    theirs = evaluation.EvalSurv(
        pandas.DataFrame(case.survival.T, index=GRID), time, event.astype(int)
    )
    for kind in ("antolini", "adj_antolini"):
        close(ours["pycox", f'concordance_td("{kind}")'], theirs.concordance_td(kind))
    metrics = peer("hazardous.metrics")
    frames = [
        pandas.DataFrame({"event": event.astype(int), "duration": time})
        for time, event in (case.test, case.train)
    ]
    for estimator in (None, "km"):
        want = metrics.concordance_index_incidence(
            frames[0], 1 - case.survival, y_train=frames[1], ipcw_estimator=estimator,
            time_grid=GRID, taus=[tau],
        )[0]  # fmt: skip
        name = "None" if estimator is None else '"km"'
        close(ours["hazardous", f"concordance_index_incidence(..., ipcw_estimator={name})"], want)
