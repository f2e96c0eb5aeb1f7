"""The rule of widest margin by a linear program: does a rule separate the rows, and where is the middle of a rule's cell.

    maximise rho   subject to   q_i.V >= rho,   -1 <= V_j <= 1,   rho <= 1,      q_i the unit rows of Z M, W = M V

The program's answers are floats; they are recounted on the rows before anyone relies on them.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ...arrays import Array
from ...protocol.run import Run
from .prepared import ZeroOneData

FEW_ROWS = 2_000
"""Number of rows up to which HiGHS's presolve costs more time than it saves."""


def _widest_rule(Z: Array, M: Array, run: Run | None) -> Array | None:
    """W = M V with the largest least margin over unit rows of Z M, V in the unit cube; None when it is not positive, or when the
    run's time is up first."""
    if not len(Z):
        return np.asarray(M @ np.ones(M.shape[1]))
    if run is not None and run.stop() is not None:
        return None
    Q = Z @ M
    V = deepest_point(Q / np.maximum(np.linalg.norm(Q, axis=1, keepdims=True), np.finfo(float).tiny), run)
    return None if V is None else np.asarray(M @ V)


def deepest_point(Q: Array, run: Run | None) -> Array | None:
    """V in the unit cube with the largest least q_i.V; None when that is not positive, or when the run's time is up first."""
    from ...backends.linear_session import LinearSession
    from ...modelling.program import Program

    n, r = Q.shape
    lp = Program(
        c=np.append(np.zeros(r), -1.0),
        A=sp.csr_array(np.column_stack([Q, -np.ones(n)])),
        row_lower=np.zeros(n),
        row_upper=np.full(n, np.inf),
        lower=np.append(-np.ones(r), -np.inf),
        upper=np.ones(r + 1),
        integer=np.zeros(r + 1, dtype=np.bool_),
        name="widest rule",
    )
    answer = LinearSession(lp, presolve="off" if n <= FEW_ROWS else "choose").solve(run)
    return None if answer.x is None or answer.x[-1] <= 0 else np.asarray(answer.x[:-1])


def separating_rule(data: ZeroOneData, run: Run | None = None) -> Array | None:
    """W with no error on the rows (checked by recounting), or None when the linear program finds none within the run's time."""
    if not len(data.Z):
        return np.append(np.zeros(data.Z.shape[1] - 1), 1.0)
    W = _widest_rule(data.Z, data.map, run)
    return W if W is not None and not (data.Z @ W <= 0).any() else None


def recentre(data: ZeroOneData, W: Array, run: Run | None = None) -> Array:
    """The widest rule among those that keep every point W gets right; W itself when that is no better than W or the run's time is up.

    The points W gets wrong are left out, so the loss never rises, ties disappear, and later rounding does no harm.
    """
    right = data.Z @ W > 0
    if not right.any():
        return W
    wider = _widest_rule(data.Z[right], data.map, run)
    return wider if wider is not None and data.cost(wider) <= data.cost(W) else W
