"""Small worlds of dependent event and censoring times in which every probability is known."""

from __future__ import annotations

import itertools

import numpy as np

import survgauge as sg

#: Event times and censoring times: some equal, and all events can be seen.
EVENT_TIMES, CENSORING_TIMES = np.array([1.0, 2.0, 4.0, 5.0]), np.array([0.5, 2.0, 3.0, 6.0])
EVENT_LAW, CENSORING_LAW = np.array([0.2, 0.3, 0.35, 0.15]), np.array([0.15, 0.25, 0.3, 0.3])
DEPENDENCES = [
    sg.Dependence(0.4, "clayton"),
    sg.Dependence(0.3, "frank"),
    sg.Dependence(-0.5, "frank"),
    sg.Dependence(0.35, "gumbel"),
]


def joint_masses(dependence):
    """P(T = t, C = c) from rectangles of the joint survival, (event times, censoring times)."""
    s, g = (np.concatenate(([1.0], 1 - np.cumsum(law))) for law in (EVENT_LAW, CENSORING_LAW))
    s[-1] = g[-1] = 0.0
    joint = dependence.archimedean.joint(s[:, None], g[None, :])
    return np.diff(np.diff(joint, axis=0), axis=1)


def population(dependence, kinds=((0.8, 0.2), (0.5, 0.5), (0.3, 0.7), (0.1, 0.9))):
    """Everybody: T, C, a kind 0 or 1 that depends on T alone, and the mass of each combination."""
    masses = joint_masses(dependence)
    rows = [
        (EVENT_TIMES[i], CENSORING_TIMES[k], kind, 1000 * masses[i, k] * kinds[i][kind])
        for i, k, kind in itertools.product(range(4), range(4), (0, 1))
    ]
    t, c, kind, mass = np.array(rows).T
    return t, c, kind.astype(int), mass


def observed(t, c, mass):
    """Outcomes with frequencies; an event at the censoring time is seen."""
    return sg.Outcomes(np.minimum(t, c), t <= c, mass)
