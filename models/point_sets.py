"""Two point sets against h hyperplanes at array level: the error function and the linear programs around it.

f(V, g) = sum_i p_i [max_j v_j.a_i - g_j + 1]_+  +  sum_l q_l [min_j -v_j.b_l + g_j + 1]_+  +  l1 |V|_1

f is piecewise linear, not convex for h > 1. Once every point of B is assigned to one hyperplane the problem is an LP,
and `assignment_dual` is its dual; `descent_lp` is LP (14) of Astorino & Gaudioso (2002). See `models.polyhedral`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..arrays import Array, Mask, Positions
from ..modelling.blocks import Block
from ..modelling.program import Program


class PointSets(NamedTuple):
    """A and B with a column -1 appended (row . (v, g) = v.x - g), weights p and q, and the price l1 of each |v_c|.

    Hyperplanes are the rows (v_j, g_j) of an array `planes`; l1 has one entry per column, zero for the offset's.
    """

    A: Array
    B: Array
    p: Array
    q: Array
    l1: Array

    def errors_a(self, planes: Array) -> Array:
        """e_ij = v_j.a_i - g_j + 1; the error of a_i is [max_j e_ij]_+."""
        return np.asarray(1.0 + self.A @ planes.T)

    def errors_b(self, planes: Array) -> Array:
        """r_lj = -v_j.b_l + g_j + 1; the error of b_l is [min_j r_lj]_+."""
        return np.asarray(1.0 - self.B @ planes.T)

    def value(self, planes: Array) -> float:
        """f(V, g), the error function (8) with the penalty."""
        violation_a = self.errors_a(planes).max(axis=1).clip(min=0.0)
        violation_b = self.errors_b(planes).min(axis=1).clip(min=0.0)
        return float(self.p @ violation_a + self.q @ violation_b + (np.abs(planes) @ self.l1).sum())

    def nearest_plane(self, planes: Array) -> Positions:
        """The assignment that makes the LP touch f at `planes`: argmin_j r_lj (the first of equals)."""
        return np.asarray(self.errors_b(planes).argmin(axis=1), dtype=np.intp)


def assignment_dual(sets: PointSets, h: int) -> Program:
    """The dual of the LP with every point of B assigned to a hyperplane; the assignment is in the bounds of pi.

    Maximise    sum_ij lambda_ij + sum_lj pi_lj                    (written as a minimisation)
    Subject to  |sum_i lambda_ij a_i - sum_l pi_lj b_l| <= l1 and sum_i lambda_ij = sum_l pi_lj   for all j
                sum_j lambda_ij <= p_i;   lambda >= 0;   0 <= pi_lj <= q_l if s(l) = j, else 0
    Size        (m + k) h columns, h (n + 1) + m rows.

    The row duals of `balance` are the hyperplanes. A change of assignment changes bounds only, so that a simplex
    solver goes on from its last basis. As built, no point is assigned (pi = 0); `assignment_bounds` gives the bounds.
    """
    m, k, width = len(sets.A), len(sets.B), sets.A.shape[1]
    each_plane = sp.eye_array(h)
    balance = sp.hstack([sp.kron(sp.csr_array(sets.A.T), each_plane), sp.kron(sp.csr_array(-sets.B.T), each_plane)])
    budget = sp.hstack([sp.kron(sp.eye_array(m), np.ones((1, h))), sp.csr_array((m, k * h))])
    slack = np.repeat(sets.l1, h)
    return Program(
        c=-np.ones((m + k) * h),
        A=sp.csr_array(sp.vstack([balance, budget])),
        row_lower=np.concatenate([-slack, np.full(m, -np.inf)]),
        row_upper=np.concatenate([slack, sets.p]),
        lower=np.zeros((m + k) * h),
        upper=np.concatenate([np.full(m * h, np.inf), np.zeros(k * h)]),
        integer=np.zeros((m + k) * h, dtype=np.bool_),
        variables=(Block("lam", 0, (m, h), (None, None)), Block("pi", m * h, (k, h), (None, None))),
        rows=(Block("balance", 0, (width, h), (None, None)), Block("budget", width * h, (m,), (None,))),
        name="polyhedral_assignment_dual",
    )


def assignment_bounds(sets: PointSets, assignment: Positions, h: int) -> Array:
    """Upper bounds of pi, row by row, for the assignment s: q_l where j = s(l), else 0; s(l) = -1 leaves b_l out."""
    upper = np.zeros((len(sets.B), h))
    placed = np.flatnonzero(assignment >= 0)
    upper[placed, assignment[placed]] = sets.q[placed]
    return upper.ravel()


def planes_of_dual(row_duals: Array, width: int, h: int) -> Array:
    """The hyperplanes (v_j, g_j) in the row duals of `assignment_dual`."""
    return np.ascontiguousarray(row_duals[: width * h].reshape(width, h).T)


def descent_lp(
    sets: PointSets,
    planes: Array,
    assignment: Positions,
    near_a: Mask,
    near_b: Mask,
    box: float,
) -> Program:
    """LP (14): the best step (Delta, delta) from `planes` for the points near the margin, within a box.

    Minimise    sum_i p_i theta_i + sum_l q_l mu_l + l1 |V + Delta|_1            over i in near_a, l in near_b
    Subject to  theta_i >= Delta_j.a_i - delta_j + e_ij for all j,     theta_i >= 0
                mu_l >= -Delta_s(l).b_l + delta_s(l) + r_l,s(l),       mu_l >= 0,    |Delta|, |delta| <= box
    Size        h (n + 1) + |near_a| + |near_b| columns and h |near_a| + |near_b| rows; with l1 > 0 another h n columns
                and 2 h n rows.
    """
    h, width = planes.shape
    A, B, s = sets.A[near_a], sets.B[near_b], assignment[near_b]
    m, k, size = len(A), len(B), h * width
    e = sets.errors_a(planes)[near_a]
    r = sets.errors_b(planes)[near_b][np.arange(k), s]
    rows_a = sp.kron(sp.eye_array(h), sp.csr_array(A))  # row j m + i
    rows_b = _at_plane(-B, s, h)
    theta = sp.kron(np.ones((h, 1)), sp.eye_array(m))
    priced = np.flatnonzero(np.tile(sets.l1, h))
    pick = sp.csr_array((np.ones(len(priced)), (np.arange(len(priced)), priced)), shape=(len(priced), size))
    eye = sp.eye_array(len(priced))
    blocks: list[list[Any]] = [
        [rows_a, -theta, None, None],
        [rows_b, None, -sp.eye_array(k), None],
        [pick, None, None, -eye],
        [-pick, None, None, -eye],
    ]
    matrix = sp.csr_array(sp.block_array(blocks))
    v = planes.ravel()[priced]
    columns = size + m + k + len(priced)
    return Program(
        c=np.concatenate([np.zeros(size), sets.p[near_a], sets.q[near_b], np.tile(sets.l1, h)[priced]]),
        A=matrix,
        row_lower=np.full(matrix.shape[0], -np.inf),
        row_upper=np.concatenate([-e.T.ravel(), -r, -v, v]),
        lower=np.concatenate([np.full(size, -box), np.zeros(columns - size)]),
        upper=np.concatenate([np.full(size, box), np.full(columns - size, np.inf)]),
        integer=np.zeros(columns, dtype=np.bool_),
        variables=(
            Block("step", 0, (h, width), (None, None)),
            Block("theta", size, (m,), (None,)),
            Block("mu", size + m, (k,), (None,)),
            Block("size", size + m + k, (len(priced),), (None,)),
        ),
        name="polyhedral_descent",
    )


def _at_plane(rows: Array, plane: Positions, h: int) -> sp.csr_array:
    """Row l holds rows[l] in the columns of hyperplane plane[l]."""
    k, width = rows.shape
    columns = plane[:, None] * width + np.arange(width)
    return sp.csr_array((rows.ravel(), columns.ravel(), np.arange(0, k * width + 1, width)), shape=(k, h * width))
