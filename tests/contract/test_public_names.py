"""Every public name loads, and every metric of the promise is registered."""

from __future__ import annotations

import pytest

import survgauge as sg
from survgauge.metrics.registry import REGISTRY

METHODS = ("uncensored", "hinge", "margin", "ipcw_d", "ipcw_t", "po", "pop_po", "expected", "dr")
OTHERS = (
    "harrell",
    "uno",
    "antolini",
    "auc",
    "brier",
    "ibs",
    "ibll",
    "crps",
    "brier_dr",
    "ibs_dr",
    "crps_dr",
    "mae_within",
    "log_likelihood",
    "multi_log_loss",
    "multi_brier",
    "d_calibration",
    "one_calibration",
    "km_calibration",
    "ici",
    "calibration_slope",
    "observed_expected",
    "net_benefit",
    "calibration_intercept",
    "ici_cox",
    "calibration_slope_cox",
    "a_calibration",
    "ipa",
    "royston_d",
    "interval_mae_expected",
    "interval_mae_hinge",
    "interval_mse_expected",
    "interval_rmse_expected",
    "interval_c",
    "interval_brier",
    "interval_ibs",
    "interval_log_likelihood",
    "interval_observed_expected",
    "turnbull_calibration",
)
PROMISED = [f"{loss}_{m}" for loss in ("mae", "mse", "rmse") for m in METHODS] + list(OTHERS)


@pytest.mark.parametrize("name", [n for n in sg.__all__ if n not in ("models", "datasets")])
def test_names_load(name):
    assert getattr(sg, name) is not None


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'magic'"):
        sg.magic  # noqa: B018


def test_all_promised_metrics_are_registered():
    missing = sorted(set(REGISTRY) ^ set(PROMISED))
    assert sorted(REGISTRY) == sorted(PROMISED), f"METHODS and OTHERS of this file: {missing}"
    for row in sg.available_metrics():
        assert row["direction"] in ("lower", "higher", "target")
        assert (row["direction"] == "target") == (row["target"] is not None)
        assert row["title"]
        assert row["about"].endswith(".")
        assert row["needs"] in ("times", "curves", "risk")
        assert row["range"][0] < row["range"][1]
        assert row["reference"]
