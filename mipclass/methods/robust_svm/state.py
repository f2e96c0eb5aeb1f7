"""The moving solution of the outlier path: multipliers, margins, states of the points and the factor of the active set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Array, Index, Mask
from .few_points import follow_few
from .kernel_rows import KernelRows
from .kernels import legs
from .kernels.active_set import ActiveSet
from .kernels.homotopy import follow
from .kernels.legs import Ball, Clock, Leg, Log
from .kernels.operators import Operator
from .kernels.partition import EDGE, OUT, RIGHT, TIE_IN, TIE_OUT, DualSolution, Levels, States
from .kernels.primal_dual import FIRST_LOOK

JITTER = 1e-10  # size of the random shifts of the levels 1 and s that separate tied points
# Changes of state per call of the kernel in a leg that has no budget; fewer where the multiplications of these would take more
# than some tenths of a second. Between two calls the state asks whether to stop.
EVENTS_A_CALL, CALL_COST = 2000, 200_000_000
NO_LOG = Log.empty(0, 0)  # for legs that keep none; kernels do not write to it
NO_POINTS, NO_RATES = np.empty(0, dtype=np.int64), np.empty(0)  # for legs that drive no multiplier
MOST_SHIFTS = 3  # times that the levels are shifted in one leg that stalls
WIDER = 10.0  # each time the shifts become so many times as large
# Changes of state in one leg: this many per point, and per point of MORE_POINTS. Only a leg that runs in circles makes more.
MOST_CHANGES, MORE_POINTS = 100, 100


class PathStalledError(ArithmeticError):
    """A leg made no progress although the levels were shifted; the caller keeps the path found so far."""


class PathCutError(Exception):
    """A leg was left because the run has to stop; the multipliers are feasible, and the caller keeps the path found so far."""


def never() -> None:
    """The `stop` of a state without limits."""


class PathOutsideError(Exception):
    """A leg was left because w would leave the ball of its working set; the caller goes back to before the jump."""


class LegEnd(NamedTuple):
    """How a leg ended: why (see legs), the point that tied or -1, the parameter t and the log."""

    code: int
    who: int
    t: float
    log: Log


class SavedSolution(NamedTuple):
    """A copy of a solution, its active points and its place in the ball, to which a state can be restored."""

    solution: DualSolution
    active: Index
    way: Array


@dataclass
class OutlierState:
    """a, m = Qa and the partition of the points, kept conditionally optimal while theta, s or one point moves.

    operator : Q.                     C : (n,) weight of each point's loss, C times its sample weight, all positive.
    shift : (n,) numbers in (-1, 1); jitter times them are the shifts of the levels that separate tied points.
    a, m, state : the solution.       p, q : the levels 1 and s of each point, shifted.     out_level : C theta.
    events : changes of state so far.   clock : that of the last leg, used again for the next.
    ball : where w may go; a leg other than CONTINUOUS that would leave it ends with PathOutsideError.
    still : (n,) zeros, the rates of levels at rest.
    look : (1,) how near to a level the primal-dual active set looks first; it adapts it.
    stop : asked between two calls of the kernel; anything but None ends the leg with PathCutError.
    """

    operator: Operator | KernelRows
    C: Array
    shift: Array
    a: Array
    m: Array
    state: States
    p: Array
    q: Array
    out_level: Array
    active_set: ActiveSet
    theta: float = 1.0
    s: float = -np.inf
    jitter: float = JITTER
    events: int = 0
    clock: Clock = field(default_factory=lambda: Clock.at(0.0))
    stop: Callable[[], object] = never
    look: Array = field(default_factory=lambda: np.array([FIRST_LOOK]))
    still: Array = field(init=False)
    ball: Ball = field(init=False)

    def __post_init__(self) -> None:
        """Make the zeros that stand for levels at rest, and let w go anywhere."""
        self.still = np.zeros(len(self.a))
        self.ball = Ball.whole(len(self.operator.features))

    @classmethod
    def at_zero(
        cls, operator: Operator | KernelRows, C: Array, *, seed: int = 0, stop: Callable[[], object] = never
    ) -> OutlierState:
        """The state with a = 0, theta = 1 and no cut-off."""
        n = len(C)
        return cls(
            operator,
            C,
            shift=np.random.default_rng(seed).uniform(-1.0, 1.0, n),
            a=np.zeros(n),
            m=np.zeros(n),
            state=np.full(n, RIGHT, dtype=np.int8),
            p=np.ones(n),
            q=np.full(n, -np.inf),
            out_level=C.copy(),
            active_set=ActiveSet.empty(n),
            stop=stop,
        )

    # ---- views -------------------------------------------------------------------------------------------------

    @property
    def solution(self) -> DualSolution:
        """a, m and the states, as kernels take them (not copies)."""
        return DualSolution(self.a, self.m, self.state)

    @property
    def levels(self) -> Levels:
        """The levels and the bounds of the multipliers, as kernels take them (not copies)."""
        return Levels(self.p, self.q, self.C, self.out_level)

    @property
    def A(self) -> Index:
        """The active points."""
        return self.active_set.members

    @property
    def outliers(self) -> Mask:
        """(n,) mask of the outliers, those tied at the cut-off included."""
        return np.asarray((self.state == OUT) | (self.state == TIE_OUT))

    def ties(self) -> Index:
        """The active points at the cut-off."""
        A = self.A
        return np.asarray(A[self.state[A] >= TIE_IN])

    def true_margins(self) -> Array:
        """y_i f(x_i) without the ridge."""
        return self.m - self.operator.ridge * self.a

    def objective(self) -> float:
        """1/2 |w|^2 + sum_i C_i loss(m_i; theta, s) at the present solution."""
        m = self.true_margins()
        loss = np.maximum(1.0 - m, 0.0)
        if np.isfinite(self.s):
            beyond = self.outliers
            loss[beyond] = (1.0 - self.s) + self.theta * (self.s - m[beyond])
        return float(0.5 * (self.a @ m) + self.C @ loss)

    # ---- restriction to a working set --------------------------------------------------------------------------

    def restrict(self, names: Index) -> OutlierState:
        """The same solution seen by the points in `names` alone, which must contain the active set.

        The factor is shared: after a move of the restricted state, return it with `adopt`.
        """
        return OutlierState(
            self.operator.restrict(names),
            self.C[names],
            shift=self.shift[names],
            a=self.a[names],
            m=self.m[names],
            state=self.state[names],
            p=self.p[names],
            q=self.q[names],
            out_level=self.out_level[names],
            active_set=self.active_set.restrict(names),
            theta=self.theta,
            s=self.s,
            jitter=self.jitter,
            stop=self.stop,
            look=self.look,
        )

    def adopt(self, part: OutlierState, names: Index, outside_margins: Array) -> None:
        """Take over the restricted state's solution; `outside_margins` is (n,) and used where `names` has no point."""
        self.m = outside_margins
        self.a[names] = part.a
        self.m[names] = part.m
        self.p[names] = part.p
        self.state[names] = part.state
        self.active_set = self.active_set.adopt(part.active_set, names)
        self.jitter = max(self.jitter, part.jitter)
        self.events += part.events
        self.set_theta(part.theta)
        self.set_s(part.s)
        out = self.state == OUT
        self.a[out] = self.out_level[out]

    # ---- parameters and margins --------------------------------------------------------------------------------

    def set_theta(self, theta: float) -> None:
        """Change theta and with it the multiplier of an outlier."""
        self.theta = theta
        self.out_level = self.C * theta

    def set_s(self, s: float) -> None:
        """Change the cut-off and with it the levels q."""
        self.s = s
        self.q = s + self.jitter * self.shift

    def product(self, index: Index, values: Array) -> Array:
        """Qv for v given by its entries."""
        return self.operator.product(index, values)

    def recompute_margins(self) -> None:
        """m = Qa, free of the rounding of many steps."""
        support = np.flatnonzero(self.a)
        self.m = self.product(support, self.a[support])

    def refresh(self) -> None:
        """Recompute m from a; the levels of the points on the edge take up the drift."""
        self.recompute_margins()
        edge = self.A[self.state[self.A] == EDGE]
        self.p[edge] = self.m[edge]

    # ---- the active set ----------------------------------------------------------------------------------------

    def reserve(self, size: int) -> None:
        """Make room for an active set of `size` and one more."""
        self.active_set = self.active_set.with_capacity(size)

    def factorise(self, index: Index) -> None:
        """Make `index` the active set, from scratch."""
        self.active_set.clear()
        self.reserve(len(index))
        self.operator.factorise(self.active_set, index)

    def release(self, j: int) -> None:
        """Take j out of the active set if it is there."""
        if self.active_set.position[j] >= 0:
            self.operator.take_out(self.active_set, j)

    def copy_solution(self) -> SavedSolution:
        """A copy to which `restore_solution` can go back."""
        solution = DualSolution(self.a.copy(), self.m.copy(), self.state.copy())
        return SavedSolution(solution, self.A.copy(), self.ball.way.copy())

    def restore_solution(self, saved: SavedSolution) -> None:
        """Go back to a copied solution; its active set is factored anew."""
        self.a[:], self.m[:], self.state[:] = saved.solution
        self.ball.way[:] = saved.way
        self.factorise(saved.active)

    # ---- legs --------------------------------------------------------------------------------------------------

    def leg(
        self,
        kind: int,
        t_end: float,
        *,
        moving: int = -1,
        v_index: Index | None = None,
        v: Array | None = None,
        drive: Array | None = None,
        dp: Array | None = None,
        dq: Array | None = None,
        start: float = 0.0,
        log: Log = NO_LOG,
        budget: int = 0,
    ) -> LegEnd:
        """Run one leg from t = start to t_end; it ends early after `budget` changes of state (0: no budget).

        The other arguments are those of Leg; `drive` is computed from v unless it is given.
        """
        index = NO_POINTS if v_index is None else v_index
        values = NO_RATES if v is None else v
        still = self.still
        leg = Leg(
            kind,
            moving,
            index,
            values,
            self.operator.drive(index, values) if drive is None else drive,
            still if dp is None else dp,
            still if dq is None else dq,
            t_end,
            budget or max(1, min(EVENTS_A_CALL, CALL_COST // max(1, self.operator.matrix.size))),
        )
        clock = self.clock.reset(start)
        shifted, limit = 0, MOST_CHANGES * (len(self.a) + MORE_POINTS)
        changes = 0
        run: Any = follow_few if self.operator.is_few and self.ball.radius[0] == np.inf else follow
        while True:
            before = int(self.active_set.size[0])
            code, who = run(self.operator, self.solution, self.levels, self.active_set, leg, log, clock, self.ball)
            self.events += int(clock.changes[0]) - changes
            changes = int(clock.changes[0])
            if code not in (legs.FINISHED, legs.TIED, legs.OUTSIDE) and self.stop() is not None:
                raise PathCutError
            if changes > limit:
                raise PathStalledError(f"more than {limit} changes of state in one leg")
            if code == legs.FACTOR_FULL:
                self.reserve(2 * int(self.active_set.size[0]))
            elif code == legs.OUTSIDE and kind != legs.CONTINUOUS:
                raise PathOutsideError
            elif code == legs.LOG_FULL:
                log = log.grown(before)
            elif code == legs.STALLED:
                shifted += 1
                if shifted > MOST_SHIFTS:
                    raise PathStalledError(f"point {who} keeps changing its state without progress")
                self._shift_levels()
            elif code != legs.BUDGET or budget:
                return LegEnd(code, who, float(clock.t[0]), log)

    def move_levels(self, p: Array, q: Array) -> None:
        """Follow the solution while the levels go from where they are to p and q."""
        with np.errstate(invalid="ignore"):
            dq = np.where(np.isfinite(q), q - self.q, 0.0)
        self.leg(legs.LEVELS, 1.0, dp=p - self.p, dq=dq)
        self.p, self.q = p, q

    def _shift_levels(self) -> None:
        """Enlarge the random shifts of the inactive points' levels by the factor WIDER: tied points part."""
        idle = self.active_set.position < 0
        self.p[idle] += (WIDER - 1.0) * self.jitter * self.shift[idle]
        self.jitter *= WIDER
        if np.isfinite(self.s):
            self.q[idle] = self.s + self.jitter * self.shift[idle]
