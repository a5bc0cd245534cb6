"""A million subjects: no digits lost, and the order or the portions of the work do not matter."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import survgauge as sg

N = 1_000_000
#: We promise 1e-7; refits in double precision, without care, are off by up to 1e-8.
CLOSE = 1e-10
extended = np.longdouble
needs_extended_precision = pytest.mark.skipif(
    np.finfo(extended).eps > 1e-18, reason="this platform's long double is no longer than a double"
)


def draw(rng, n, whole=False):
    event_time, censoring = 1000 * rng.weibull(1.5, n), rng.exponential(1500, n)
    if whole:
        event_time, censoring = np.ceil(event_time), np.ceil(censoring)
    return np.minimum(event_time, censoring), event_time <= censoring


class LongReference:
    """Kaplan-Meier means by refitting in extended precision, with one subject more or less."""

    def __init__(self, time, event):
        self.u, d = np.unique(time[event], return_counts=True)
        self.d = d.astype(extended)
        ordered = np.sort(time)
        self.n = (time.size - np.searchsorted(ordered, self.u)).astype(extended)
        self.size, self.last = time.size, ordered[-1]

    def mean(self, area, c=None, change=0):
        """Mean with `change` more subjects censored at `c`, tail along the line."""
        n = self.n if c is None else self.n + change * (self.u <= c)
        last = extended(self.last if c is None or change < 0 else max(self.last, c))
        s = np.concatenate(([extended(1)], np.cumprod(1 - self.d / n)))
        nodes = np.concatenate(([0.0], self.u, [last])).astype(extended)
        heights = s if area == "step" else (s + np.append(s[1:], s[-1])) / 2
        tail = last * s[-1] ** 2 / (2 * (1 - s[-1])) if s[-1] > 0 else 0
        return np.sum(heights * np.diff(nodes)) + tail

    def joining(self, area, c):
        return (self.size + 1) * self.mean(area, c, +1) - self.size * self.mean(area)

    def leaving(self, area, c):
        return self.size * self.mean(area) - (self.size - 1) * self.mean(area, c, -1)


@pytest.fixture(scope="module", params=["distinct", "whole"])
def million(request):
    time, event = draw(np.random.default_rng(11), N, whole=request.param == "whole")
    last = time == time.max()
    event[last] = request.param == "whole"
    return time, event


@needs_extended_precision
@pytest.mark.parametrize("area", ["step", "trapezoid"])
def test_pseudo_observations_of_a_million(million, area):
    time, event = million
    reference, long = sg.Reference(million), LongReference(time, event)
    c = np.append(np.quantile(time[~event], [0.0, 0.2, 0.7, 0.999, 1.0]), 1.1 * time.max())
    test = (c, np.zeros(c.size, dtype=bool))
    got = sg.surrogate_times(test, y_train=reference, area=area).time
    expected = [float(long.joining(area, value)) for value in c]
    np.testing.assert_allclose(got, expected, rtol=CLOSE)


@needs_extended_precision
def test_pseudo_observations_of_members(million):
    time, event = million
    got = sg.surrogate_times(million).time
    censored = np.flatnonzero(~event & (time < time.max()))
    ranked = censored[np.argsort(time[censored])]
    rows = ranked[[0, ranked.size // 2, int(0.99 * ranked.size), ranked.size - 1]]
    long = LongReference(time, event)
    expected = [float(long.leaving("step", time[row])) for row in rows]
    np.testing.assert_allclose(got[rows], expected, rtol=CLOSE)


@pytest.fixture(scope="module")
def subjects():
    rng = np.random.default_rng(12)
    train, test = draw(rng, 150_000), draw(rng, 200_000)
    return sg.Reference(train), test, 700 * rng.gamma(2, 0.7, 200_000)


def test_order_does_not_matter(subjects):
    reference, (time, event), predicted = subjects
    order = np.random.default_rng(13).permutation(time.size)
    plain = sg.time_errors((time, event), predicted, y_train=reference)
    shuffled = sg.time_errors((time[order], event[order]), predicted[order], y_train=reference)
    for name, details in plain.items():
        np.testing.assert_allclose(shuffled[name].value, details.value, rtol=1e-12)
        np.testing.assert_array_equal(shuffled[name].loss, details.loss[order])
        np.testing.assert_array_equal(shuffled[name].weight, details.weight[order])


def test_portions_do_not_matter(subjects):
    """Uneven portions, so that neither these nor the inner ones fall on the same borders."""
    reference, (time, event), predicted = subjects
    given = {"y_train": reference, "censoring": "train"}
    whole = sg.time_errors((time, event), predicted, **given)
    borders = [0, 999, 70_000, 199_000, time.size]
    parts = [
        sg.time_errors((time[a:b], event[a:b]), predicted[a:b], **given)
        for a, b in pairwise(borders)
    ]
    for name, details in whole.items():
        weight = np.concatenate([part[name].weight for part in parts])
        product = np.concatenate([part[name].weight * part[name].loss for part in parts])
        np.testing.assert_array_equal(weight, details.weight)
        np.testing.assert_array_equal(product, details.weight * details.loss)
        sizes = [part[name].normalizer for part in parts]
        combined = np.average([part[name].value for part in parts], weights=sizes)
        np.testing.assert_allclose(combined, details.value, rtol=1e-12)


def test_own_reference_in_any_order():
    time, event = draw(np.random.default_rng(14), 200_000)
    order = np.random.default_rng(15).permutation(time.size)
    plain = sg.surrogate_times((time, event))
    shuffled = sg.surrogate_times((time[order], event[order]))
    np.testing.assert_array_equal(shuffled.time, plain.time[order])
