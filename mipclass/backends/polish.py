"""From a rough point of a convex program to an accurate one: a regularised interior-point method that starts there.

Rows with two different sides become columns, w = A_i x, so that v = (x, w) has bounds l <= v <= u and the rows are Bv = b. With
slacks s = v - l, t = u - v of the finite bounds and their multipliers p, q, each step is Newton's on

    Qv + c - B'y - p + q = 0,    Bv = b,    v - s = l,    v + t = u,    s p = t q = mu,

with Mehrotra's predictor and corrector. The linear systems

    [ Q + p/s + q/t + e I   B'  ] [ dv ]
    [ B                    -e I ] [-dy ]

carry a small regularisation e (proximal terms in v and y, whose effect iterative refinement takes out again), so that free
columns and dependent rows do no harm. Rows and columns are equilibrated before (Ruiz). The point is measured by the
residuals of the declared program after every step, and the best one is kept.

References: S. Mehrotra, On the implementation of a primal-dual interior point method, SIAM Journal on Optimization 2 (1992)
575-601. M. P. Friedlander, D. Orban, A primal-dual regularized interior-point method for convex quadratic programs,
Mathematical Programming Computation 4 (2012) 71-107.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from ..arrays import Array
from ..modelling.program import Program
from ..protocol.run import Run
from .kkt import Residuals, reduced_costs, residuals

AIM = 1e-9
"""The residual (kkt.residuals) at which a point counts as polished."""
STEPS = 200
"""Most Newton steps; 15 to 60 are usual."""
PATIENCE = 30
"""Newton steps without a better point after which the best one is returned."""
EQUILIBRATIONS = 15
"""Rounds of Ruiz's equilibration; more change the scales by less than a percent."""
REGULARISATION = 1e-9
"""The parameter e in the scaled program: large enough for stable factors, small enough for refinement to remove."""
REFINEMENTS = 4
"""Rounds of iterative refinement of each linear system."""
INTERIOR = 0.995
"""Fraction of the way to the nearest bound that a step takes at most."""
MOST_ENTRIES = 5_000_000
"""Entries of Q and A together beyond which no polish is tried: each Newton step factorises them."""


@dataclass(frozen=True)
class Polished:
    """A point with its multipliers, and its residuals."""

    x: Array
    row_duals: Array
    column_duals: Array
    residuals: Residuals


def polish(program: Program, x: Array, run: Run) -> Polished | None:
    """The best point that the method reaches from x, within the limits of `run`; None when it takes no step."""
    entries = program.A.nnz + (0 if program.Q is None else program.Q.nnz)
    if entries > MOST_ENTRIES or not np.isfinite(x).all() or (program.lower > program.upper).any():
        return None
    method = _InteriorPoint(program, x)
    best: Polished | None = None
    since = 0
    with np.errstate(all="ignore"):  # a diverging run is seen by its residuals
        for _ in range(STEPS):
            if run.stop() is not None or since > PATIENCE or not method.step():
                break
            got = method.declared(program)
            if got is None:
                break
            since += 1
            if best is None or got.residuals.worst < best.residuals.worst:
                best, since = got, 0
            if best.residuals.worst <= AIM:
                break
    return best


class _InteriorPoint:
    """The scaled program with its iterate (v, y, s, t, p, q); see the module."""

    def __init__(self, program: Program, x: Array) -> None:
        n = program.n_columns
        Q = sp.csr_array((n, n)) if program.Q is None else sp.csr_array(program.Q)
        self.columns, self.rows = _equilibrate(Q, program.A)
        right = sp.diags_array(self.columns)
        A = sp.csr_array(sp.diags_array(self.rows) @ program.A @ right)
        Q, c = right @ Q @ right, self.columns * program.c
        self.cost = 1.0 / max(float(np.abs(c).max(initial=0.0)), float(np.abs(Q).max()) if Q.nnz else 0.0, 1e-10)
        sides = self.rows * program.row_lower, self.rows * program.row_upper
        self.ranged = np.flatnonzero(sides[0] != sides[1])
        k = len(self.ranged)
        pick = sp.csr_array((np.ones(k), (self.ranged, np.arange(k))), shape=(program.n_rows, k))
        self.n = n
        self.B = sp.csr_array(sp.hstack([A, -pick]))
        self.b = np.where(sides[0] == sides[1], sides[0], 0.0)
        self.Q = sp.csr_array(sp.block_diag([Q * self.cost, sp.csr_array((k, k))]))
        self.c = np.concatenate([c * self.cost, np.zeros(k)])
        lower = np.concatenate([program.lower / self.columns, sides[0][self.ranged]])
        upper = np.concatenate([program.upper / self.columns, sides[1][self.ranged]])
        self.low, self.high = np.flatnonzero(np.isfinite(lower)), np.flatnonzero(np.isfinite(upper))
        self.l, self.u = lower[self.low], upper[self.high]
        own = x / self.columns
        self.v = np.clip(np.concatenate([own, (A @ own)[self.ranged]]), lower, upper)
        self.y = np.zeros(program.n_rows)
        # Slacks and multipliers as large as what is still to be mended, or the first steps would end at once at a bound.
        slack = max(1.0, float(np.abs(self.B @ self.v - self.b).max(initial=0.0)))
        self.s, self.t = np.maximum(self.v[self.low] - self.l, slack), np.maximum(self.u - self.v[self.high], slack)
        push = max(1.0, float(np.abs(self.Q @ self.v + self.c).max(initial=0.0)))
        self.p, self.q = np.full(len(self.l), push), np.full(len(self.u), push)

    def step(self) -> bool:
        """One predictor-corrector step; False when the linear algebra failed."""
        products = len(self.l) + len(self.u)
        mu = float(self.s @ self.p + self.t @ self.q) / max(1, products)
        solve = self._factorise()
        if solve is None:
            return False
        aim_s, aim_t = np.zeros(len(self.l)), np.zeros(len(self.u))
        if products:
            predicted = self._direction(solve, aim_s, aim_t)
            if predicted is None:
                return False
            _, _, ds, dt, dp, dq = predicted
            primal, dual = _longest(self.s, ds, self.t, dt), _longest(self.p, dp, self.q, dq)
            ahead = float((self.s + primal * ds) @ (self.p + dual * dp) + (self.t + primal * dt) @ (self.q + dual * dq))
            centred = mu * min(1.0, max(0.0, ahead / products / mu)) ** 3 if mu > 0 else 0.0
            aim_s, aim_t = centred - ds * dp, centred - dt * dq
        moved = self._direction(solve, aim_s, aim_t)
        if moved is None:
            return False
        dv, dy, ds, dt, dp, dq = moved
        primal, dual = INTERIOR * _longest(self.s, ds, self.t, dt), INTERIOR * _longest(self.p, dp, self.q, dq)
        if self.Q.nnz:
            primal = dual = min(primal, dual)
        self.v, self.y = self.v + primal * dv, self.y + dual * dy
        self.s, self.t = self.s + primal * ds, self.t + primal * dt
        self.p, self.q = self.p + dual * dp, self.q + dual * dq
        return True

    def _factorise(self) -> Any:
        """A function that solves the linear system to the accuracy of iterative refinement; None when it is singular."""
        size, m = len(self.v), len(self.y)
        barrier = np.zeros(size)
        np.add.at(barrier, self.low, self.p / self.s)
        np.add.at(barrier, self.high, self.q / self.t)
        exact = sp.csc_matrix(
            sp.block_array([[self.Q + sp.diags_array(barrier), self.B.T], [self.B, sp.csr_array((m, m))]])
        )
        shift = np.concatenate([np.full(size, REGULARISATION), np.full(m, -REGULARISATION)])
        try:
            factors = splu(
                sp.csc_matrix(exact + sp.diags_array(shift)),
                permc_spec="MMD_AT_PLUS_A",
                diag_pivot_thresh=0.01,
                options={"SymmetricMode": True},
            )
        except RuntimeError:  # SuperLU's word for a singular matrix
            return None

        def solve(right: Array) -> Array:
            found = factors.solve(right)
            left = right - exact @ found
            for _ in range(REFINEMENTS):
                better = found + factors.solve(left)
                rest = right - exact @ better
                if not np.abs(rest).max(initial=0.0) < np.abs(left).max(initial=0.0):
                    break
                found, left = better, rest
            return np.asarray(found)

        return solve

    def _direction(self, solve: Any, aim_s: Array, aim_t: Array) -> tuple[Array, ...] | None:
        """(dv, dy, ds, dt, dp, dq) towards the products s p = aim_s, t q = aim_t; None when it is not finite."""
        size = len(self.v)
        dual = self.Q @ self.v + self.c - self.B.T @ self.y
        np.add.at(dual, self.low, -self.p)
        np.add.at(dual, self.high, self.q)
        off_s, off_t = self.v[self.low] - self.l - self.s, self.u - self.v[self.high] - self.t
        right = -dual
        np.add.at(right, self.low, (aim_s - self.p * (self.s + off_s)) / self.s)
        np.add.at(right, self.high, -(aim_t - self.q * (self.t + off_t)) / self.t)
        found = solve(np.concatenate([right, self.b - self.B @ self.v]))
        if not np.isfinite(found).all():
            return None
        dv, dy = found[:size], -found[size:]
        ds, dt = dv[self.low] + off_s, off_t - dv[self.high]
        return dv, dy, ds, dt, (aim_s - self.p * (self.s + ds)) / self.s, (aim_t - self.q * (self.t + dt)) / self.t

    def declared(self, program: Program) -> Polished | None:
        """The iterate as a point of the program, moved onto bounds that it violates; None when it is not finite."""
        x = np.clip(self.v[: self.n] * self.columns, program.lower, program.upper)
        row_duals = self.y * self.rows / self.cost
        if not (np.isfinite(x).all() and np.isfinite(row_duals).all()):
            return None
        column_duals = reduced_costs(program, x, row_duals)
        return Polished(x, row_duals, column_duals, residuals(program, x, row_duals, column_duals))


def _longest(s: Array, ds: Array, t: Array, dt: Array) -> float:
    """The longest step of at most 1 that keeps s + a ds and t + a dt from becoming negative."""
    shrinking = [-value[move < 0] / move[move < 0] for value, move in ((s, ds), (t, dt))]
    return min(1.0, *(float(part.min(initial=1.0)) for part in shrinking))


def _equilibrate(Q: sp.csr_array, B: sp.csr_array) -> tuple[Array, Array]:
    """Factors of columns and rows that bring the largest entry of each row of [[Q, B'], [B, 0]] near 1 (Ruiz)."""
    columns, rows = np.ones(B.shape[1]), np.ones(B.shape[0])
    Q, B = np.abs(Q), np.abs(B)
    for _ in range(EQUILIBRATIONS):
        right, left = sp.diags_array(columns), sp.diags_array(rows)
        q, b = right @ Q @ right, left @ B @ right
        tops = np.maximum(_column_tops(q), _column_tops(b)), _column_tops(b.T)
        columns /= np.sqrt(np.where(tops[0] > 0, tops[0], 1.0))
        rows /= np.sqrt(np.where(tops[1] > 0, tops[1], 1.0))
    return columns, rows


def _column_tops(M: sp.sparray) -> Array:
    return (
        np.asarray(sp.csc_array(M).max(axis=0).toarray(), dtype=np.float64).ravel()
        if min(M.shape)
        else np.zeros(M.shape[1])
    )
