"""OutlierPath: the solution at every breakpoint of an outlier path, stored as differences, and scores along the path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ...arrays import Array, Index, Mask
from ...errors import InvalidInputError
from .steps import EVENTS, Steps

Parameter = Literal["theta", "s"]

SETS = ("R", "E", "L", "O")  # the names of the first states
BLOCK = 256  # breakpoints scored at once
ZERO = 1e-14  # a multiplier up to this share of C is rounding of the summed differences


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
    most : while the path is made, it is thinned to so many breakpoints whenever it has twice as many; None for never.
    is_thinned : whether breakpoints have been left out.
    last_outliers : number of outliers at the last breakpoint.
    complete : the path reached theta = 0 or s = 0 (or the value asked for).
    """

    parameter: Parameter
    y: Array
    C: Array
    complete: bool = False
    note: str = ""
    _runs: list[Steps] = field(default_factory=list, repr=False)
    _objectives: list[Array] = field(default_factory=list, repr=False)
    last_outliers: int = 0
    most: int | None = None
    is_thinned: bool = False
    _cache: tuple[sp.csr_array, sp.csr_array] | None = field(default=None, repr=False)

    # ---- recording ---------------------------------------------------------------------------------------------

    def add(self, steps: Steps, objective: Array) -> None:
        """Append breakpoints and their objectives."""
        self._runs.append(steps)
        self._objectives.append(objective)
        became = int(np.count_nonzero(steps.toggled.value))
        self.last_outliers += 2 * became - len(steps.toggled.value)
        self._cache = None
        if self.most is not None and len(self) > 2 * self.most:
            self.thin(self.most)

    def thin(self, most: int) -> None:
        """Keep at most so many breakpoints (at least 2), evenly spread; the first and the last stay, and all that stay are exact.

        Between two breakpoints that stay, `at` then draws a straight line (or, along s, keeps the one before), which is not optimal.
        """
        count = len(self)
        if count <= max(most, 2):
            return
        kept = np.unique(np.linspace(0, count - 1, max(most, 2)).astype(np.intp))
        objective = self.objective[kept]
        self._runs, self._objectives = [self.steps.merged(kept, len(self.C))], [objective]
        self._cache, self.is_thinned = None, True

    @property
    def steps(self) -> Steps:
        """All breakpoints as differences."""
        if len(self._runs) > 1:
            self._runs = [Steps.joined(self._runs)]
        return self._runs[0]

    # ---- the breakpoints ---------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return sum(len(run) for run in self._runs)

    def __repr__(self) -> str:
        end = "complete" if self.complete else "stopped early"
        return f"OutlierPath({self.parameter}, {len(self)} breakpoints, {int(self.jumps.sum())} jumps, {end})"

    @property
    def theta(self) -> Array:
        """theta at each breakpoint."""
        return self.steps.theta

    @property
    def s(self) -> Array:
        """s at each breakpoint."""
        return self.steps.s

    @property
    def objective(self) -> Array:
        """The robust SVM's objective at each breakpoint."""
        if len(self._objectives) > 1:
            self._objectives = [np.concatenate(self._objectives)]
        return self._objectives[0]

    @property
    def last_objective(self) -> float:
        """The objective at the last breakpoint so far."""
        return float(self._objectives[-1][-1])

    @property
    def values(self) -> Array:
        """The moving parameter at each breakpoint."""
        return self.theta if self.parameter == "theta" else self.s

    @property
    def event(self) -> NDArray[np.str_]:
        """What happened at each breakpoint (see the class)."""
        return np.array(EVENTS)[self.steps.event]

    @property
    def point(self) -> Index:
        """The point concerned at each breakpoint, or -1."""
        return self.steps.point.astype(np.int64)

    @property
    def jumps(self) -> Mask:
        """Mask of the breakpoints that end a jump."""
        return np.asarray(self.event == "jump")

    def n_outliers(self) -> Index:
        """Number of outliers at each breakpoint."""
        toggled = self.steps.toggled
        gains = np.concatenate([[0], np.cumsum(np.where(toggled.value, 1, -1))])
        return np.asarray(gains[toggled.start[1:]], dtype=np.int64)

    # ---- solutions ---------------------------------------------------------------------------------------------

    def _matrices(self) -> tuple[sp.csr_array, sp.csr_array]:
        """(breakpoints, n) sparse matrices of the changes of rest and of C [outlier]."""
        if self._cache is None:
            steps = self.steps
            self._cache = steps.changes_of_rest(len(self.C)), steps.changes_of_outliers(self.C)
        return self._cache

    def alpha(self, k: int) -> Array:
        """(n,) multipliers at breakpoint k."""
        k = self._check(k)
        moved = self.steps[: k + 1].moved
        rest = np.bincount(moved.index, moved.value.astype(np.float64, copy=False), len(self.C))
        alpha = rest + self.theta[k] * self.C * self.outliers(k)
        alpha[np.abs(alpha) <= ZERO * self.C] = 0.0
        return alpha

    def multipliers(self, points: ArrayLike) -> Array:
        """(breakpoints, points) multipliers of some points at every breakpoint."""
        columns = np.atleast_1d(np.asarray(points, dtype=np.int64))
        rest, outlier = (np.cumsum(matrix[:, columns].toarray(), axis=0) for matrix in self._matrices())
        return np.asarray(rest + self.theta[:, None] * outlier)

    def travelled(self) -> Array:
        """(n,) by how much each multiplier changes along the path, rises and falls added up; O(n + changes)."""
        steps, n, count = self.steps, len(self.C), len(self)
        rows = [np.repeat(np.arange(count), np.diff(part.start)) for part in (steps.moved, steps.toggled)]
        index = np.concatenate([steps.moved.index, steps.toggled.index]).astype(np.int64)
        turn = np.where(steps.toggled.value, 1.0, -1.0) * self.C[steps.toggled.index]
        still, flat = np.zeros(len(turn)), np.zeros(len(rows[0]))
        keys, places = np.unique(index * count + np.concatenate(rows), return_inverse=True)
        rest = np.bincount(places, np.concatenate([steps.moved.value, still]), len(keys))
        outlier = np.bincount(places, np.concatenate([flat, turn]), len(keys))
        point, k = keys // count, keys % count
        total = np.cumsum(outlier)
        first = np.searchsorted(point, point)
        before = total - outlier - (total - outlier)[first]  # C [outlier] of the same point before this breakpoint
        theta = self.theta
        fall = np.append(0.0, -np.diff(theta))
        here = np.abs(rest + theta[k] * outlier - fall[k] * before) - fall[k] * before
        last = theta[-1] * self.C * self.outliers(count - 1)
        alone = np.bincount(point, theta[k] * outlier, n) - last  # C (fall of theta) while a point is an outlier
        return np.asarray(alone + np.bincount(point, np.where(k > 0, here, 0.0), n))

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
        toggled = self.steps[: k + 1].toggled
        mask[toggled.index] = toggled.value  # the last assignment to a point counts
        return mask

    def sets(self, k: int) -> dict[str, Index]:
        """Indices right of the margin (R), on it (E), left of it (L) and outliers (O) at breakpoint k."""
        k = self._check(k)
        state = np.zeros(len(self.y), dtype=np.int8)
        restated = self.steps[: k + 1].restated
        state[restated.index] = restated.value
        return {name: np.flatnonzero(state == code) for code, name in enumerate(SETS)}

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
