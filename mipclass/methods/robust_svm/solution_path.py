"""OutlierPath: the solution at every breakpoint of an outlier path, stored as differences, and scores along the path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ...arrays import Array, Index, Mask
from ...errors import InvalidInputError
from .kernels.partition import States

Parameter = Literal["theta", "s"]

STATES = ("R", "E", "L", "O", "I at s", "O at s", "moving")
BLOCK = 256  # breakpoints scored at once
ZERO = 1e-14  # a multiplier up to this share of C is rounding of the summed differences


@dataclass(frozen=True)
class Step:
    """One breakpoint as a difference from the one before it, where alpha = rest + C theta [outlier].

    event, point : what happened and to which point (-1: none).     index, change : points whose rest changes, and by how much.
    toggled, became_outlier : points that change sides, and to which.   restated, states : points with a new state.
    """

    theta: float
    s: float
    event: str
    point: int
    index: Index
    change: Array
    toggled: Index
    became_outlier: Mask
    restated: Index
    states: States


@dataclass(frozen=True)
class Memory:
    """A recorded solution, relative to which the next step is a difference: rest = a - C theta [outlier]."""

    rest: Array
    outlier: Mask
    state: States

    @classmethod
    def of(cls, a: Array, out_level: Array, outlier: Mask, state: States) -> Memory:
        """A copy of the present solution; `out_level` is C theta."""
        return cls(np.where(outlier, a - out_level, a), outlier.copy(), state.copy())


@dataclass
class OutlierPath:
    """Local solutions of the robust SVM along theta (1 -> 0) or s (smallest margin -> 0).

    Breakpoint 0 is the plain SVM. Along theta, multipliers are linear between breakpoints and may jump at one value, which
    then appears twice: event "tie" (a point has reached the cut-off: the limit from before) and "jump" (the better local
    solution from which the path goes on). Along s the solution is constant until the next breakpoint.

    Attributes
    ----------
    parameter : "theta" or "s", the one that moves.
    y : (n,) labels -1/+1.       C : (n,) weights of the losses.
    theta, s, event, point, objective : one entry per breakpoint; `event` is "start", "E", "R", "L" (a point reaches the
        edge, or leaves it), "tie", "jump" or "end"; `point` is the index concerned or -1.
    complete : the path reached theta = 0 or s = 0 (or the value asked for).
    """

    parameter: Parameter
    y: Array
    C: Array
    complete: bool = False
    note: str = ""
    objective: list[float] = field(default_factory=list)
    _steps: list[Step] = field(default_factory=list, repr=False)
    _cache: tuple[sp.csr_array, sp.csr_array] | None = field(default=None, repr=False)

    # ---- recording ---------------------------------------------------------------------------------------------

    def add(self, step: Step, objective: float) -> None:
        """Append a breakpoint."""
        self._steps.append(step)
        self.objective.append(objective)
        self._cache = None

    # ---- the breakpoints ---------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._steps)

    def __repr__(self) -> str:
        end = "complete" if self.complete else "stopped early"
        return f"OutlierPath({self.parameter}, {len(self)} breakpoints, {int(self.jumps.sum())} jumps, {end})"

    @property
    def theta(self) -> Array:
        """theta at each breakpoint."""
        return np.array([step.theta for step in self._steps])

    @property
    def s(self) -> Array:
        """s at each breakpoint."""
        return np.array([step.s for step in self._steps])

    @property
    def values(self) -> Array:
        """The moving parameter at each breakpoint."""
        return self.theta if self.parameter == "theta" else self.s

    @property
    def event(self) -> NDArray[np.str_]:
        """What happened at each breakpoint (see the class)."""
        return np.array([step.event for step in self._steps])

    @property
    def point(self) -> Index:
        """The point concerned at each breakpoint, or -1."""
        return np.array([step.point for step in self._steps], dtype=np.int64)

    @property
    def jumps(self) -> Mask:
        """Mask of the breakpoints that end a jump."""
        return np.asarray(self.event == "jump")

    def n_outliers(self) -> Index:
        """Number of outliers at each breakpoint."""
        gains = [2 * int(step.became_outlier.sum()) - len(step.toggled) for step in self._steps]
        return np.cumsum(gains).astype(np.int64)

    # ---- solutions ---------------------------------------------------------------------------------------------

    def _matrices(self) -> tuple[sp.csr_array, sp.csr_array]:
        """(breakpoints, n) sparse matrices of the changes of rest and of C [outlier]."""
        if self._cache is None:
            self._cache = change_matrices(self._steps, self.C)
        return self._cache

    def alpha(self, k: int) -> Array:
        """(n,) multipliers at breakpoint k."""
        k = self._check(k)
        rest, outlier = (np.asarray(matrix[: k + 1].sum(axis=0)).ravel() for matrix in self._matrices())
        alpha = rest + self._steps[k].theta * outlier
        alpha[np.abs(alpha) <= ZERO * self.C] = 0.0
        return alpha

    def multipliers(self, points: ArrayLike) -> Array:
        """(breakpoints, points) multipliers of some points at every breakpoint."""
        columns = np.atleast_1d(np.asarray(points, dtype=np.int64))
        rest, outlier = (np.cumsum(matrix[:, columns].toarray(), axis=0) for matrix in self._matrices())
        return np.asarray(rest + self.theta[:, None] * outlier)

    def at(self, value: float) -> Array:
        """(n,) multipliers at any value of the parameter; at a jump, after it."""
        k, share = self._locate(value)
        alpha = self.alpha(k)
        return alpha if share == 0.0 else (1.0 - share) * alpha + share * self.alpha(k + 1)

    def _locate(self, value: float) -> tuple[int, float]:
        """(k, share): the last breakpoint at or before `value`, and the way from it to the next (0 on the s path)."""
        values = self.values
        first, last = float(values[0]), float(values[-1])
        if not min(first, last) <= value <= max(first, last):
            raise InvalidInputError(
                f"the path covers {self.parameter} from {first:.6g} to {last:.6g}, got {value!r}; choose a value in this range"
                + ("" if self.complete else " or let the path run to its end (it was stopped early)")
            )
        if self.parameter == "s":
            return int(np.searchsorted(values, value, side="right")) - 1, 0.0
        k = int(np.searchsorted(-values, -value, side="right")) - 1
        if values[k] == value or k + 1 == len(values):
            return k, 0.0
        return k, float((values[k] - value) / (values[k] - values[k + 1]))

    def outliers(self, k: int) -> Mask:
        """(n,) mask of the outliers at breakpoint k."""
        k = self._check(k)
        mask = np.zeros(len(self.y), dtype=bool)
        for step in self._steps[: k + 1]:
            mask[step.toggled] = step.became_outlier
        return mask

    def sets(self, k: int) -> dict[str, Index]:
        """Indices right of the margin (R), on it (E), left of it (L) and outliers (O) at breakpoint k."""
        k = self._check(k)
        state = np.zeros(len(self.y), dtype=np.int8)
        for step in self._steps[: k + 1]:
            state[step.restated] = step.states
        return {name: np.flatnonzero(state == code) for code, name in enumerate(STATES[:4])}

    def _check(self, k: int) -> int:
        if not -len(self) <= k < len(self):
            raise InvalidInputError(f"the path has breakpoints 0 to {len(self) - 1}, got {k}")
        return k % len(self)

    # ---- all breakpoints at once -------------------------------------------------------------------------------

    def coefficients(self, X: ArrayLike) -> Array:
        """(breakpoints, d) weight vectors w of the linear kernel, from the training rows X."""
        Z = np.asarray(X, dtype=np.float64) * self.y[:, None]
        rest, outlier = (np.cumsum(matrix @ Z, axis=0) for matrix in self._matrices())
        return np.asarray(rest + self.theta[:, None] * outlier)

    def score_blocks(self, K: ArrayLike) -> Iterator[tuple[int, Array]]:
        """(first breakpoint, (breakpoints, new points) scores) in blocks; K is (new points, training points).

        Few points change their multipliers within a block, so its scores are those before it plus one small product.
        """
        K = np.asarray(K, dtype=np.float64)
        if K.shape[1] != len(self.y):
            raise InvalidInputError(f"K must have {len(self.y)} columns (training points), got {K.shape[1]}")
        rest, outlier = np.zeros(len(K)), np.zeros(len(K))
        theta = self.theta
        for k in range(0, len(self), BLOCK):
            block = slice(k, min(k + BLOCK, len(self)))
            changes = [matrix[block] for matrix in self._matrices()]
            touched = np.unique(np.concatenate([matrix.indices for matrix in changes]))
            part = K[:, touched].T
            rests, outs = (np.cumsum(matrix[:, touched].toarray(), axis=0) * self.y[touched] for matrix in changes)
            yield k, (rests + theta[block, None] * outs) @ part + (rest + theta[block, None] * outlier)
            rest, outlier = rest + rests[-1] @ part, outlier + outs[-1] @ part

    def scores(self, K: ArrayLike) -> Array:
        """(breakpoints, new points) decision values; K is the kernel between new and training points."""
        return np.concatenate([block for _, block in self.score_blocks(K)])

    def errors(self, K: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Array:
        """Share of errors on labelled points at each breakpoint, for choosing one."""
        positive = np.asarray(y) > 0
        weights = np.ones(len(positive)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        parts = [((block > 0) != positive) @ weights for _, block in self.score_blocks(K)]
        return np.asarray(np.concatenate(parts) / weights.sum())


def starts(parts: Sequence[Index]) -> Index:
    """Where each part begins in their concatenation, and its length."""
    return np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)


def change_matrices(steps: Sequence[Step], C: Array) -> tuple[sp.csr_array, sp.csr_array]:
    """(steps, n) sparse matrices of the changes of rest and of C [outlier]."""

    def matrix(columns: list[Index], index: Index, data: Array) -> sp.csr_array:
        return sp.csr_array((data, index, starts(columns)), shape=(len(steps), len(C)))

    moved, toggled = [step.index for step in steps], [step.toggled for step in steps]
    index, became = np.concatenate(toggled), np.concatenate([step.became_outlier for step in steps])
    rest = matrix(moved, np.concatenate(moved), np.concatenate([step.change for step in steps]))
    return rest, matrix(toggled, index, np.where(became, 1.0, -1.0) * C[index])


def difference(
    before: Memory, now: Memory, names: Index, *, theta: float, s: float, event: str, point: int
) -> Step:  # fmt: skip
    """The step from one recorded solution to the next; `names` maps their positions to points."""
    changed = np.flatnonzero(now.rest != before.rest)
    toggled = np.flatnonzero(now.outlier != before.outlier)
    restated = np.flatnonzero(now.state != before.state)
    return Step(
        theta, s, event, point, names[changed], (now.rest - before.rest)[changed],
        names[toggled], now.outlier[toggled], names[restated], now.state[restated],
    )  # fmt: skip
