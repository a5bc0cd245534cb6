"""DeepSurv: its loss against a plain loop, and what it learns."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="networks need torch")

import torch

from survgauge import InputError, models
from survgauge.bench.models.torch_models.continuous import partial_loss


def test_loss_is_breslows_partial_likelihood():
    score = np.array([0.3, -1.0, 0.5, 2.0, 0.0])
    time, event = np.array([1, 2, 2, 3, 4]), np.array([1, 1, 1, 0, 1])
    total = 0.0
    for i in np.flatnonzero(event):
        total += np.log(np.exp(score[time >= time[i]]).sum()) - score[i]
    found = partial_loss(*(torch.from_numpy(values) for values in (score, time, event)))
    assert float(found) == pytest.approx(total / event.sum())


def test_batches_without_an_event_have_loss_zero():
    score = torch.zeros(3, requires_grad=True)
    loss = partial_loss(score, torch.arange(3), torch.zeros(3, dtype=torch.bool))
    loss.backward()
    assert float(loss.detach()) == 0
    assert torch.isfinite(score.grad).all()


def test_learns_what_no_line_can():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(400, 1))
    y = (rng.exponential(np.exp(-2 * np.abs(X[:, 0]))), np.ones(400))
    model = models.build("deepsurv", learning_rate=0.01, epochs=60).fit(X, y)
    left, middle, right = model.predict_time([[-1.8], [0.0], [1.8]])
    assert middle > 3 * max(left, right)


def test_bad_layers_are_refused():
    with pytest.raises(InputError, match="hidden"):
        models.build("deepsurv", hidden=()).fit([[0.0], [1.0]], ([1, 2], [1, 1]))
