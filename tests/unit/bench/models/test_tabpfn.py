"""TabPFN: which weights are taken, what is said without them, and the hazards of intervals."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the models need scikit-learn")

from sklearn.linear_model import LogisticRegression

from survgauge import InputError, MissingExtraError, Outcomes, models
from survgauge._tools.extras import installed
from survgauge.bench.models.registry import FOLDER_VARIABLE, available, find_weights
from survgauge.bench.models.tabpfn import TabPFNSurvival


class Logistic(TabPFNSurvival):
    """The same intervals with another classifier."""

    def _classifier(self):
        return LogisticRegression(C=np.inf)


def test_without_package_or_weights_one_line_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    assert not next(row for row in available() if row["name"] == "tabpfn")["installed"]
    if not installed("tabpfn"):
        with pytest.raises(MissingExtraError, match=r"survgauge\[tabpfn\]"):
            models.build("tabpfn")
        return
    with pytest.raises(InputError, match="accept their licence") as said:
        models.build("tabpfn")
    assert "\n" not in str(said.value)


def test_weights_named_by_the_user_or_the_newest_in_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    with pytest.raises(InputError, match=f"{tmp_path.name} holds no"):
        find_weights()
    for name in ("tabpfn-v2-classifier.ckpt", "tabpfn-v2.5-regressor.ckpt"):
        (tmp_path / name).write_bytes(b"weights")
    assert find_weights().name == "tabpfn-v2-classifier.ckpt"
    (tmp_path / "tabpfn-v2.6-classifier.ckpt").write_bytes(b"weights")
    assert find_weights().name == "tabpfn-v2.6-classifier.ckpt"
    assert find_weights(tmp_path / "tabpfn-v2.5-regressor.ckpt").name.endswith("regressor.ckpt")
    with pytest.raises(InputError, match="weights must be a file"):
        find_weights(tmp_path)


@pytest.mark.skipif(not installed("tabpfn"), reason="tabpfn is not installed")
def test_damaged_weights_are_a_named_failure(tmp_path):
    file = tmp_path / "tabpfn-v2-classifier.ckpt"
    file.write_bytes(b"no weights")
    X, y = np.arange(40.0)[:, None], Outcomes(np.arange(1.0, 41.0), np.arange(40) % 2)
    with pytest.raises(models.FitError, match="tabpfn cannot be fitted"):
        models.build("tabpfn", weights=str(file)).fit(X, y)


def test_without_features_that_matter_intervals_give_kaplan_meier_at_their_ends():
    rng = np.random.default_rng(0)
    y = Outcomes(rng.permutation(np.arange(1.0, 401.0)), np.ones(400))
    X = rng.normal(size=(400, 1))
    model = Logistic(intervals=4).fit(X, y)
    assert model.edges_.size == 5
    found = model.predict_curves(np.zeros((1, 1))).at(model.edges_)
    np.testing.assert_allclose(found, [[1.0, 0.75, 0.5, 0.25, 0.0]], atol=0.02)


def test_censored_subjects_count_where_they_were_seen_for_half_of_the_interval():
    # One interval, to 10: events at 2 and 10; censored at 3 (too early to say) and at 8.
    y = Outcomes([2, 10, 3, 8], [1, 1, 0, 0])
    X = np.zeros((4, 1))
    model = Logistic(intervals=1).fit(X, y)
    curve = model.predict_curves(X[:1]).at(model.edges_)
    np.testing.assert_allclose(curve, [[1.0, 1 / 3]], atol=1e-4)


def test_effects_follow_the_features():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 1))
    event, end = rng.exponential(np.exp(X[:, 0])), rng.uniform(0, 5, 500)
    model = Logistic().fit(X, (np.minimum(event, end), event <= end))
    early, late = model.predict_curves([[-1.0], [1.0]]).at(1.0)
    assert abs(early - np.exp(-np.e)) < 0.06
    assert abs(late - np.exp(-1 / np.e)) < 0.06
