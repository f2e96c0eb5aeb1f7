"""The moving solution of the outlier path: multipliers, margins, states of the points and the factor of the active set."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import cholesky

from ...arrays import Array, Index
from ...numeric.cholesky_update import append
from .kernels import homotopy as kernel
from .kernels.rows import Rows

# Relative to Q_ii: keeps every Q_AA factorable, far below the accuracy that is claimed. Smooth kernels have a continuous
# spectrum down to rounding and need it; rows of a linear kernel are dependent or not, and dependent ones stay out of A.
RIDGE_KERNEL = 1e-11
JITTER = 1e-10  # size of the random shifts of the levels 1 and s that tell tied points apart
EVENTS_A_CALL = 2000
SPARSE = 0.25  # share of nonzeros up to which rows are read in compressed form
NOT_COMPRESSED: Rows = (np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.uint32), np.empty(0))


class PathStalledError(ArithmeticError):
    """A leg made no progress although the levels were shifted; the caller keeps the path found so far."""


class OutlierState:
    """a, m = Qa and the partition of the points, kept conditionally optimal while theta, s or one point moves.

    Parameters
    ----------
    Z : (n, d) rows y_i x_i when `linear`, else the (n, n) matrix Q = (y y') * K. Q is taken over and gets the ridge.
    C : (n,) the weight of each point's loss, C times its sample weight, all positive.
    """

    def __init__(self, Z: Array, C: Array, *, linear: bool, seed: int = 0) -> None:
        n = len(C)
        self.Z, self.linear, self.C = Z, linear, C
        self.rows = compressed(Z) if linear else NOT_COMPRESSED
        self.columns = np.ascontiguousarray(Z.T) if linear else Z
        diagonal = np.einsum("ij,ij->i", Z, Z) if linear else np.diagonal(Z).copy()
        # A point at the origin has margin 0 whatever w is: give its row a scale so that no division by zero occurs.
        scale = np.where(diagonal > 0, diagonal, max(float(diagonal.max(initial=0.0)), 1.0))
        self.ridge = (0.0 if linear else RIDGE_KERNEL) * scale
        if not linear:
            Z[np.arange(n), np.arange(n)] += self.ridge
        self.diagonal = diagonal + self.ridge
        self.shift = np.random.default_rng(seed).uniform(-1.0, 1.0, n)
        self.jitter = JITTER
        self.a = np.zeros(n)
        self.m = np.zeros(n)
        self.p = np.ones(n)
        self.q = np.full(n, -np.inf)
        self.theta, self.s = 1.0, -np.inf
        self.out_level = C.copy()
        self.state = np.full(n, kernel.RIGHT, dtype=np.int8)
        self.active = np.empty(n + 1, dtype=np.int64)
        self.position = np.full(n, -1, dtype=np.int64)
        self.count = np.zeros(1, dtype=np.int64)
        self.U = np.empty((64, 64))
        self.events = 0
        self._begin()

    def _begin(self) -> None:
        self._still = np.zeros(len(self.a))
        self._nothing = np.empty(0, dtype=np.int64)
        self._no_log = (
            np.empty(0),
            self._nothing,
            self._nothing,
            self._nothing,
            self._nothing,
            self._nothing,
            np.empty(0),
            np.zeros(2, dtype=np.int64),
        )

    # ---- views -------------------------------------------------------------------------------------------------

    @property
    def A(self) -> Index:
        return self.active[: self.count[0]]

    @property
    def outliers(self) -> NDArray[np.bool_]:
        return np.asarray((self.state == kernel.OUT) | (self.state == kernel.TIE_OUT))

    def ties(self) -> Index:
        A = self.A
        return np.asarray(A[self.state[A] >= kernel.TIE_IN])

    def true_margins(self) -> Array:
        """y_i f(x_i) without the ridge."""
        return self.m - self.ridge * self.a

    def objective(self) -> float:
        """1/2 |w|^2 + sum_i C_i loss(m_i; theta, s) at the present solution."""
        m = self.true_margins()
        loss = np.maximum(1.0 - m, 0.0)
        if np.isfinite(self.s):
            beyond = self.outliers
            loss[beyond] = (1.0 - self.s) + self.theta * (self.s - m[beyond])
        return float(0.5 * (self.a @ m) + self.C @ loss)

    def restrict(self, names: Index) -> OutlierState:
        """The same solution seen by the points in `names` alone, which must contain the active set.

        The factor is shared: after a move of the restricted state, hand it back with `adopt`.
        """
        part = object.__new__(OutlierState)
        part.linear, part.theta, part.s, part.jitter, part.events = self.linear, self.theta, self.s, self.jitter, 0
        part.Z = self.Z[names] if self.linear else self.Z[np.ix_(names, names)]
        part.rows = compressed(part.Z) if len(self.rows[0]) else NOT_COMPRESSED
        part.columns = np.ascontiguousarray(part.Z.T) if self.linear else part.Z
        for name in ("C", "ridge", "diagonal", "shift", "a", "m", "p", "q", "out_level", "state"):
            setattr(part, name, getattr(self, name)[names])
        place = np.full(len(self.a), -1, dtype=np.int64)
        place[names] = np.arange(len(names))
        part.position = self.position[names]
        part.active = np.empty(len(names) + 1, dtype=np.int64)
        part.count = self.count.copy()
        part.active[: part.count[0]] = place[self.A]
        part.U = self.U
        part._begin()
        return part

    def adopt(self, part: OutlierState, names: Index, outside_margins: Array) -> None:
        """Take over the restricted state's solution; `outside_margins` is (n,) and used where `names` has no point."""
        self.m = outside_margins
        for name in ("a", "m", "p", "state", "position"):
            getattr(self, name)[names] = getattr(part, name)
        k = part.count[0]
        self.active[:k] = names[part.A]
        self.count[0] = k
        self.U = part.U
        self.jitter = max(self.jitter, part.jitter)
        self.events += part.events
        self.set_theta(part.theta)
        self.set_s(part.s)
        out = self.state == kernel.OUT
        self.a[out] = self.out_level[out]

    # ---- products with Q ---------------------------------------------------------------------------------------

    def product(self, index: Index, values: Array) -> tuple[Array, Array]:
        """(Z'v, Qv) for v given by entries; the first is empty in the kernel case."""
        if self.linear:
            drive = self.Z[index].T @ values
            g = self.Z @ drive
            g[index] += self.ridge[index] * values
            return drive, g
        return np.empty(self.Z.shape[1]), self.Z[index].T @ values if len(index) != 1 else self.Z[index[0]] * values[0]

    def pull(self) -> Array:
        """Q (C [outlier]): the rate at which margins grow with theta before the active set answers."""
        out = np.flatnonzero(self.outliers)
        return self.product(out, self.C[out])[1]

    def refresh(self) -> float:
        """Recompute m from a; the active levels take up the drift, whose size (relative to 1) is returned."""
        support = np.flatnonzero(self.a)
        _, self.m = self.product(support, self.a[support])
        edge = self.A[self.state[self.A] == kernel.EDGE]
        self.p[edge] = self.m[edge]
        return float(np.abs(self.p[edge] - 1.0).max(initial=0.0))

    # ---- parameters --------------------------------------------------------------------------------------------

    def set_theta(self, theta: float) -> None:
        self.theta = theta
        self.out_level = self.C * theta

    def set_s(self, s: float) -> None:
        self.s = s
        self.q = s + self.jitter * self.shift

    # ---- the active set ----------------------------------------------------------------------------------------

    def reserve(self, size: int) -> None:
        """Room for an active set of `size` and one more."""
        if size + 1 > len(self.U):
            room = min(max(size + 1, 2 * len(self.U)), len(self.a) + 2)
            grown = np.empty((room, room))
            k = self.count[0]
            grown[:k, :k] = self.U[:k, :k]
            self.U = grown

    def factorise(self, index: Index) -> None:
        """Make `index` the active set, from scratch."""
        k = len(index)
        self.position[self.A] = -1
        self.count[0] = 0
        self.reserve(k)
        if self.linear:
            scratch = np.empty((1, len(self.U)))
            for j in index:
                kernel.join_row(
                    self.Z, self.rows, self.diagonal, self.active, self.position, self.count, self.U, j, scratch
                )
            return
        matrix = self.Z[np.ix_(index, index)]
        try:
            self.U[:k, :k] = cholesky(matrix, lower=False, check_finite=False)
        except np.linalg.LinAlgError:  # numerically dependent points: the update raises their pivots to the floor
            for c in range(k):
                column, corner = matrix[c : c + 1].copy(), matrix[c : c + 1, c : c + 1].copy()
                append(self.U, c, column, corner, kernel.PIVOT * corner[0])
        self.active[:k] = index
        self.position[index] = np.arange(k)
        self.count[0] = k

    def release(self, j: int) -> None:
        """Take j out of the active set if it is there."""
        if self.position[j] >= 0:
            kernel.leave(self.active, self.position, self.count, self.U, np.array([j]), np.empty((1, len(self.U))))

    def copy_solution(self) -> tuple[Array, Array, NDArray[np.int8], Index]:
        return self.a.copy(), self.m.copy(), self.state.copy(), self.A.copy()

    def restore_solution(self, saved: tuple[Array, Array, NDArray[np.int8], Index]) -> None:
        self.a[:], self.m[:], self.state[:] = saved[:3]
        self.factorise(saved[3])

    # ---- legs --------------------------------------------------------------------------------------------------

    def leg(
        self,
        kind: int,
        t_end: float,
        *,
        moving: int = -1,
        v_index: Index | None = None,
        v: Array | None = None,
        product: tuple[Array, Array] | None = None,
        dp: Array | None = None,
        dq: Array | None = None,
        clock: float = 0.0,
        log: Log | None = None,
        budget: int = 0,
        stop: Callable[[], object] = lambda: None,
    ) -> tuple[int, int, float]:
        """Run one leg; returns (why it stopped, tied index, t). It ends early after `budget` events (0: no budget) or
        when `stop()`, asked every few thousand events, is not None.
        """
        index = self._nothing if v_index is None else v_index
        values = self._still[:0] if v is None else v
        if product is not None:
            drive, g = product
        elif self.linear:
            drive = self.Z[index[0]] * values[0] if len(index) == 1 else self.Z[index].T @ values
            g = self._still
        else:
            drive, g = self.product(index, values)
        time = np.zeros(kernel.CLOCK)
        time[kernel.T], time[kernel.RANDOM] = clock, 1.0
        dp = self._still if dp is None else dp
        dq = self._still if dq is None else dq
        shifted, total, limit = 0, 0, 100 * (len(self.a) + 100)
        while True:
            before = self.count[0]
            code, who = kernel.follow(
                self.Z, self.rows, self.columns, self.linear, self.ridge, self.diagonal, self.a, self.m, self.p, self.q, self.C, self.out_level,
                self.state, self.active, self.position, self.count, self.U,
                kind, moving, index, values, drive, g, dp, dq, time, t_end, budget or EVENTS_A_CALL,
                *(self._no_log if log is None else log.arrays()),
            )  # fmt: skip
            made = int(time[kernel.CHANGES])
            time[kernel.CHANGES] = 0.0
            self.events += made
            total += made
            if total > limit:
                raise PathStalledError(f"more than {limit} changes of state in one leg")
            if code == kernel.FACTOR_FULL:
                self.reserve(2 * int(self.count[0]))
            elif code == kernel.LOG_FULL and log is not None:
                log.grow(int(before))
            elif code == kernel.STALLED:
                shifted += 1
                if shifted > 3:
                    raise PathStalledError(f"point {who} keeps changing its state without progress")
                self._shift_levels()
            elif code != kernel.BUDGET or budget or stop() is not None:
                return code, who, float(time[kernel.T])

    def move_levels(self, p: Array, q: Array) -> None:
        """Follow the solution while the levels go from where they are to p and q."""
        with np.errstate(invalid="ignore"):
            dq = np.where(np.isfinite(q), q - self.q, 0.0)
        self.leg(kernel.LEVELS, 1.0, dp=p - self.p, dq=dq)
        self.p, self.q = p, q

    def _shift_levels(self) -> None:
        """Enlarge the random shifts of the inactive points' levels tenfold: tied points part."""
        idle = self.position < 0
        self.p[idle] += 9.0 * self.jitter * self.shift[idle]
        self.jitter *= 10.0
        if np.isfinite(self.s):
            self.q[idle] = self.s + self.jitter * self.shift[idle]


def compressed(Z: Array) -> Rows:
    """The rows as (start, column, value) when that is shorter to read, else empty."""
    sparse = sp.csr_array(Z) if np.count_nonzero(Z) <= SPARSE * Z.size else None
    if sparse is None:
        return NOT_COMPRESSED
    return sparse.indptr.astype(np.uint32), sparse.indices.astype(np.uint32), np.asarray(sparse.data, dtype=np.float64)


class Log:
    """Growing record of a continuous leg: after each event the parameter, who changed to what, and the change of a_A."""

    def __init__(self, events: int = 256, entries: int = 1 << 14) -> None:
        self.t = np.empty(events)
        self.index = np.empty(events, dtype=np.int64)
        self.state = np.empty(events, dtype=np.int64)
        self.kept = np.zeros(events, dtype=np.int64)
        self.start = np.zeros(events + 1, dtype=np.int64)
        self.which = np.empty(entries, dtype=np.int64)
        self.change = np.empty(entries)
        self.count = np.zeros(2, dtype=np.int64)

    def arrays(self) -> tuple[Array, Index, Index, Index, Index, Index, Array, Index]:
        return self.t, self.index, self.state, self.kept, self.start, self.which, self.change, self.count

    def clear(self) -> None:
        self.count[:] = 0

    def grow(self, active: int) -> None:
        for name in ("t", "index", "state", "kept", "start"):
            old = getattr(self, name)
            setattr(self, name, np.concatenate([old, np.zeros_like(old)]))
        extra = max(len(self.which), 4 * active)
        self.which = np.concatenate([self.which, np.zeros(extra, dtype=np.int64)])
        self.change = np.concatenate([self.change, np.zeros(extra)])
