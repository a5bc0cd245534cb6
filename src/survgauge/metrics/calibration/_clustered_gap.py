"""Covariance of the gap of two curves where subjects come in clusters."""

from __future__ import annotations

import numpy as np

from ..._tools.arrays import Floats
from ...data.curve_reader import Scratch
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ..details import Clusters
from .gap_influence import Influence, cross_products


def clustered_covariance(
    y: Outcomes, curves: SurvivalCurves, table: Influence, clusters: Clusters
) -> Floats:
    """Covariance of mean curve - Kaplan-Meier at the points, from the sums of each cluster.

    With the sums u_g of the contributions of the G clusters it is G / (G - 1) sum u_g u_g'.
    """
    points, codes = table.points, clusters.codes
    read, scratch, status = curves.reader(points), Scratch(), table.status(y)
    own = table.own(y.time, status)
    sums = np.zeros((int(codes.max()) + 1, points.size))
    for rows in curves.blocks(points.size + curves.survival.shape[1]):
        unit = table.units(y.time[rows], status[rows], read(rows, scratch), own[rows])
        unit *= y.weight[rows, None]
        order = np.argsort(codes[rows], kind="stable")
        numbers, first = np.unique(codes[rows][order], return_index=True)
        sums[numbers] += np.add.reduceat(unit[order], first, axis=0)
    size = np.bincount(codes, weights=y.weight)
    sums -= size[:, None] * (sums.sum(axis=0) / size.sum())
    return cross_products(sums, sums) * (clusters.number / (clusters.number - 1))
