r"""Masses that maximise the likelihood of interval-censored outcomes: kernels, no checks.

Subject i has its event in one of the cells a_i, ..., b_i - 1 of m cells, so with cumulative masses
F its likelihood is F(b_i) - F(a_i). The mean log-likelihood is concave, and masses p are a maximum
if and only if the gradient

.. math:: d_k = \sum_i w_i\, 1(a_i \le k < b_i) / (F(b_i) - F(a_i)), \quad \sum_i w_i = 1

is at most 1 everywhere (Kuhn-Tucker; it is 1 on average over p). max d - 1 also bounds what the
mean log-likelihood lacks. Three kinds of steps alternate, each linear in the number of subjects and
none ever lowering the likelihood: EM, which is certain but slow; the iterative convex minorant,
which finds the cells with mass; and Newton's on those cells, which ends quickly. In F the Hessian
is that of a network: cells' bounds are nodes, subjects are edges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solveh_banded
from scipy.optimize import isotonic_regression
from scipy.sparse import coo_array
from scipy.sparse.linalg import LinearOperator, cg

from .._tools.arrays import Floats, Ints
from ..errors import UndefinedMetricError

#: How far the gradient may be above 1 where the search ends, and at the very most.
TOLERANCE, LOOSEST = 1e-9, 1e-8
#: Rounds of the three steps; a handful is usual.
MOST_ROUNDS = 2_000
#: Masses below this are none.
_NOTHING = 1e-14
#: Iterations of the conjugate gradients of one Newton step.
_MOST_CG = 200
#: Cells of which a matrix is made.
_FEW_CELLS = 1_000


@dataclass(frozen=True)
class Likelihood:
    """Subjects by the cells in which their event may be; equal rows are one, weights sum to 1."""

    a: Ints
    b: Ints
    w: Floats
    cells: int

    @classmethod
    def of(cls, a: Ints, b: Ints, weight: Floats, cells: int) -> Likelihood:
        """Put equal rows together."""
        code, inverse = np.unique(a * (cells + 1) + b, return_inverse=True)
        w = np.bincount(inverse.reshape(-1), weights=weight)
        return cls(code // (cells + 1), code % (cells + 1), w / w.sum(), cells)

    @property
    def single(self) -> Ints:
        """Rows with one cell only, whose mass needs no difference."""
        return np.flatnonzero(self.b - self.a == 1)

    def probabilities(self, p: Floats) -> Floats:
        """Probability of each row under masses p."""
        total = np.concatenate(([0.0], np.cumsum(p)))
        found: Floats = total[self.b] - total[self.a]
        one = self.single
        found[one] = p[self.a[one]]  # a difference of sums has fewer digits
        return found

    def value(self, p: Floats) -> float:
        """Mean log-likelihood; -inf where a row has no mass."""
        found = self.probabilities(p)
        return float(np.dot(self.w, np.log(found))) if (found > 0).all() else -np.inf

    def gradient(self, p: Floats) -> Floats:
        """Derivative of the mean log-likelihood by the mass of each cell."""
        ratio = self.w / self.probabilities(p)
        one = self.single
        alone = np.bincount(self.a[one], ratio[one], self.cells)
        ratio[one] = 0.0
        size = self.cells + 1
        change = np.bincount(self.a, ratio, size) - np.bincount(self.b, ratio, size)
        result: Floats = np.cumsum(change)[:-1] + alone
        return result

    def within(self, kept: Ints) -> Likelihood:
        """Return the same with some of the cells only."""
        rank = np.concatenate(([0], np.cumsum(np.bincount(kept, minlength=self.cells))))
        return Likelihood(rank[self.a], rank[self.b], self.w, kept.size)


def most_likely(rows: Likelihood) -> tuple[Floats, float, int]:
    """Return the masses of the cells, how far the gradient is above 1, and the rounds it took."""
    spread = np.bincount(rows.a, rows.w / (rows.b - rows.a), rows.cells + 1)
    spread -= np.bincount(rows.b, rows.w / (rows.b - rows.a), rows.cells + 1)
    p = np.maximum(np.cumsum(spread)[:-1], 0.0)  # everybody's mass evenly over its cells
    p /= p.sum()
    excess = np.inf
    for number in range(1, MOST_ROUNDS + 1):
        d = rows.gradient(p)
        excess = float(d.max()) - 1.0
        if excess <= TOLERANCE:
            return _trimmed(rows, p), excess, number
        p = p * d  # EM
        p /= p.sum()
        p = _convex_minorant(rows, p)
        p = _newton(rows, p)
    if excess > LOOSEST:
        raise UndefinedMetricError(
            f"Turnbull's estimate was not found in {MOST_ROUNDS} rounds: the gradient of the mean "
            f"log-likelihood is {excess:.1e} above its bound, where {LOOSEST:g} is asked for"
        )
    return _trimmed(rows, p), excess, MOST_ROUNDS


def _trimmed(rows: Likelihood, p: Floats) -> Floats:
    """Take masses that are nothing but rounding for none."""
    clean = np.where(p > _NOTHING, p, 0.0)
    clean /= clean.sum()
    return clean if rows.value(clean) > -np.inf else p


def _better(rows: Likelihood, p: Floats, towards: Floats) -> Floats:
    """Go from p towards other masses as far as the likelihood does not fall; halve the way."""
    before, share = rows.value(p), 1.0
    for _ in range(20):
        found = p + share * (towards - p)
        if rows.value(found) >= before:
            return found
        share /= 2
    return p


def _masses(cumulative: Floats) -> Floats:
    """Return masses of cumulative ones between 0 and 1."""
    inner = np.clip(cumulative, 0.0, 1.0)
    return np.maximum(np.diff(np.concatenate(([0.0], inner, [1.0]))), 0.0)


def _slope(rows: Likelihood, p: Floats) -> tuple[Floats, Floats]:
    """Return the derivatives by F at the inner bounds of cells, first and (minus) second."""
    ratio = rows.w / rows.probabilities(p)
    curve = ratio * ratio / rows.w
    size = rows.cells + 1
    ends = [np.bincount(end, values, size)[1:-1].astype(np.float64)
            for values in (ratio, curve) for end in (rows.b, rows.a)]  # fmt: skip
    return ends[0] - ends[1], ends[2] + ends[3]


def _convex_minorant(rows: Likelihood, p: Floats) -> Floats:
    """Take one step of the iterative convex minorant algorithm (Groeneboom; Jongbloed)."""
    if rows.cells < 2:
        return p
    first, second = _slope(rows, p)
    second = np.maximum(second, 1e-12 * second.max())
    wanted = np.cumsum(p)[:-1] + first / second
    return _better(rows, p, _masses(isotonic_regression(wanted, weights=second).x))


def _newton(rows: Likelihood, p: Floats) -> Floats:
    """Take one Newton step on the cells with mass; those that it empties are pooled."""
    kept = np.flatnonzero(p > _NOTHING)
    inside = rows.within(kept)
    if kept.size < 2:
        return p
    q = p[kept] / p[kept].sum()
    if not (inside.b > inside.a).all():
        return p
    found = np.zeros_like(p)
    slope, weights = _slope(inside, q)
    wanted = np.cumsum(q)[:-1] + network_solver(inside, q)(slope)
    if np.diff(np.concatenate(([0.0], wanted, [1.0]))).min() < 0:
        wanted = isotonic_regression(wanted, weights=np.maximum(weights, 1e-300)).x
    found[kept] = _better(inside, q, _masses(wanted))
    return found if rows.value(found) >= rows.value(p) else p


def _network(rows: Likelihood, p: Floats) -> tuple[Floats, Ints, Ints, Floats]:
    """Minus the Hessian by F as a network: its diagonal, both ends of the edges and their sizes."""
    second = _slope(rows, p)[1] * (1 + 1e-10)  # some nodes may hang together with neither end
    curve = rows.w / rows.probabilities(p) ** 2
    inner = (rows.a > 0) & (rows.b < rows.cells)
    return second, rows.a[inner] - 1, rows.b[inner] - 1, curve[inner]


def network_solver(rows: Likelihood, p: Floats) -> Callable[[Floats], Floats]:
    """Return what solves H x = g for minus the Hessian H by F, by conjugate gradients.

    Edges between neighbours are the preconditioner.
    """
    second, a, b, c = _network(rows, p)
    n = second.size
    if n == 1:
        return lambda g: g / second
    ends = np.concatenate((a, b)), np.concatenate((b, a))
    off = coo_array((np.concatenate((c, c)), ends), shape=(n, n)).tocsr()
    near = b - a == 1
    band = np.zeros((2, n))
    band[1] = second
    band[0, 1:] = -np.bincount(a[near], c[near], n)[: n - 1]
    system = LinearOperator((n, n), matvec=lambda x: second * x - off @ x)
    close = LinearOperator((n, n), matvec=lambda x: solveh_banded(band, x))

    def solve(g: Floats) -> Floats:
        found, _ = cg(system, g, rtol=1e-10, maxiter=_MOST_CG, M=close)
        return np.asarray(found, dtype=np.float64)

    return solve


def influences(rows: Likelihood, p: Floats, shares: Floats) -> Floats:
    """Return what each row adds to sums of masses by its share in the sampling error.

    A sum is `shares` @ p, (k, cells) @ (cells,); the result is (k, rows). All cells have mass, and
    which cells do is taken as given.
    """
    found = np.zeros((shares.shape[0], rows.a.size))
    if rows.cells < 2:
        return found
    scale, sides = rows.w / rows.probabilities(p), shares[:, :-1] - shares[:, 1:]
    if rows.cells <= _FEW_CELLS:
        solved = cho_solve(cho_factor(_hessian(rows, p)), sides.T).T
    else:
        solve = network_solver(rows, p)
        solved = np.stack([solve(side) for side in sides])
    for k, inner in enumerate(solved):
        z = np.concatenate(([0.0], inner, [0.0]))
        found[k] = scale * (z[rows.b] - z[rows.a])
    return found


def leverages(rows: Likelihood, p: Floats) -> Floats:
    """Return how much each row decides its own probability; 0 where there are too many cells.

    The sum over rows is the number of cells less one, and a row of one subject has at most 1.
    """
    if not 2 <= rows.cells <= _FEW_CELLS:
        return np.zeros(rows.a.size)
    inverse = np.zeros((rows.cells + 1, rows.cells + 1))
    inverse[1:-1, 1:-1] = cho_solve(cho_factor(_hessian(rows, p)), np.eye(rows.cells - 1))
    a, b = rows.a, rows.b
    spread = inverse[a, a] + inverse[b, b] - 2 * inverse[a, b]
    found: Floats = np.clip(rows.w * spread / rows.probabilities(p) ** 2, 0.0, 1.0)
    return found


def _hessian(rows: Likelihood, p: Floats) -> Floats:
    """Minus the Hessian by F, as a matrix."""
    second, a, b, c = _network(rows, p)
    size = second.size
    off = np.bincount(a * size + b, c, size * size).reshape(size, size)
    result: Floats = np.diag(second) - off - off.T
    return result
