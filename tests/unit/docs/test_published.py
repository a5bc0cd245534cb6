"""The paper's published spreadsheet: what the rule says of it, and ours beside it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPTS = Path(__file__).parents[3] / "docs" / "scripts"
if not SCRIPTS.is_dir():
    pytest.skip("the scripts are not in a source distribution", allow_module_level=True)
pytest.importorskip("pandas")

import pandas as pd  # noqa: E402

sys.path.insert(0, str(SCRIPTS))
try:
    from published import read_published, side_by_side
finally:
    sys.path.remove(str(SCRIPTS))

from survgauge.bench.experiment import Results  # noqa: E402
from survgauge.bench.experiment.writing import PAPER_METRICS  # noqa: E402
from survgauge.errors import InputError  # noqa: E402


def test_side_by_side_compares_what_both_have():
    rows = [
        ("p", "uniform", fold, model, metric, true + off * k, float(true))
        for fold in range(2)
        for k, (model, true) in enumerate({"a": 10, "b": 12, "c": 15, "d": 20}.items())
        for metric, off in {"mae_po": 0.1, "mae_margin": 1.0, "mae_hinge": -9.0}.items()
    ]
    names = ["dataset", "censoring", "fold", "model", "metric", "value", "true_value"]
    exact = Results(pd.DataFrame(rows, columns=names))
    other = Results(exact.metrics.query("model != 'd'"))
    both = side_by_side(exact, other.select(metrics=["mae_po", "mae_margin"]))
    assert set(both["metric"]) == {"mae_po", "mae_margin"}
    assert (both["tau_ours"] == both["tau_published"]).all()
    assert both["winner_ours"].dtype == bool
    renamed = Results(other.metrics.replace({"model": {"a": "x", "b": "y", "c": "z"}}))
    with pytest.raises(InputError, match="no models in common"):
        side_by_side(exact, renamed)


@pytest.fixture(scope="module")
def published():
    folder = os.environ.get("SURVGAUGE_DATA")
    path = None if not folder else Path(folder).parent / "reference" / "paper_results.csv"
    if path is None or not path.is_file():
        pytest.skip("needs reference/paper_results.csv beside the folder of SURVGAUGE_DATA")
    return read_published(path).select(metrics=PAPER_METRICS)


def test_the_published_table_gives_the_counts_of_the_rule(published):
    wins = published.winners["metric"].value_counts().to_dict()
    assert wins == {"mae_po": 19, "mae_margin": 6, "mae_ipcw_d": 3, "mae_uncensored": 1}
    assert len(published.sets) == 29


def test_the_published_table_gives_the_known_mean_taus(published):
    assert published.summary()["tau"].round(2).to_dict() == {
        "mae_po": 0.81,
        "mae_ipcw_d": 0.75,
        "mae_margin": 0.74,
        "mae_ipcw_t": 0.67,
        "mae_hinge": 0.65,
        "mae_uncensored": 0.51,
    }


def test_the_paper_reads_its_first_figure_so(published):
    """Section 4.4: PO's first three are GBM-C, DeepHit, MTLR; margin has MTLR fifth."""
    panel = next(
        p for p in published.panels if (p.dataset, p.censoring) == ("gbm", "uniform_admin")
    )

    def order(column):
        return [panel.models[i] for i in np.argsort(column)]

    po, margin = (panel.mean[:, panel.metrics.index(m)] for m in ("mae_po", "mae_margin"))
    assert order(panel.true_mean[:, 0])[:3] == order(po)[:3] == ["gbm_c", "deephit", "mtlr"]
    assert order(margin).index("mtlr") == 4
    answers = dict(zip(panel.metrics, panel.answers.in_order, strict=True))
    assert answers["mae_po"] == 3


def test_the_advice_is_checked_with_its_evidence(published):
    advice = published.advice().set_index("situation")
    # The paper's sets come from five sources, too few for a sign test to be significant.
    assert advice.loc["other censoring", "verdict"] == "too few datasets to tell"
    assert advice.loc["exponential censoring", "data_sets"] == 5
    assert advice.loc["other censoring", ["recommended_wins", "other_wins"]].tolist() == [17, 4]
