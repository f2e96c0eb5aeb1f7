"""The path as an object: every breakpoint's solution, stored as differences, and what one wants to ask of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ...arrays import Array, Index
from ...errors import InvalidInputError

Parameter = Literal["theta", "s"]

STATES = ("R", "E", "L", "O", "I at s", "O at s", "moving")
_BLOCK = 256  # breakpoints scored at once


@dataclass(frozen=True)
class Step:
    """One breakpoint relative to the one before. alpha = rest + C theta [outlier]; index and change are of rest."""

    theta: float
    s: float
    event: str
    point: int
    index: Index
    change: Array
    toggled: Index
    became_outlier: NDArray[np.bool_]
    restated: Index
    states: NDArray[np.int8]


@dataclass(frozen=True)
class Memory:
    """The solution as recorded last, against which the next step is a difference."""

    rest: Array
    outlier: NDArray[np.bool_]
    state: NDArray[np.int8]


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
    theta, s, event, point, objective : one entry a breakpoint; `event` is "start", "E", "R", "L" (a point reaches the
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
    _cache: dict[str, Array | sp.csr_array] = field(default_factory=dict, repr=False)

    # ---- recording ---------------------------------------------------------------------------------------------

    def add(self, step: Step, objective: float) -> None:
        self._steps.append(step)
        self.objective.append(objective)
        self._cache.clear()

    # ---- the breakpoints ---------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._steps)

    def __repr__(self) -> str:
        end = "complete" if self.complete else "stopped early"
        return f"OutlierPath({self.parameter}, {len(self)} breakpoints, {int(self.jumps.sum())} jumps, {end})"

    @property
    def theta(self) -> Array:
        return np.array([step.theta for step in self._steps])

    @property
    def s(self) -> Array:
        return np.array([step.s for step in self._steps])

    @property
    def values(self) -> Array:
        """The moving parameter at each breakpoint."""
        return self.theta if self.parameter == "theta" else self.s

    @property
    def event(self) -> NDArray[np.str_]:
        return np.array([step.event for step in self._steps])

    @property
    def point(self) -> Index:
        return np.array([step.point for step in self._steps], dtype=np.int64)

    @property
    def jumps(self) -> NDArray[np.bool_]:
        return np.asarray(self.event == "jump")

    def n_outliers(self) -> Index:
        """Number of outliers at each breakpoint."""
        gains = [2 * int(step.became_outlier.sum()) - len(step.toggled) for step in self._steps]
        return np.cumsum(gains).astype(np.int64)

    # ---- solutions ---------------------------------------------------------------------------------------------

    def _matrix(self, which: Literal["rest", "outlier"]) -> sp.csr_array:
        """(breakpoints, n) sparse matrix of the changes of rest, or of C [outlier]."""
        if which not in self._cache:
            if which == "rest":
                columns = [step.index for step in self._steps]
                data = [step.change for step in self._steps]
            else:
                columns = [step.toggled for step in self._steps]
                data = [np.where(step.became_outlier, 1.0, -1.0) * self.C[step.toggled] for step in self._steps]
            start = np.concatenate([[0], np.cumsum([len(c) for c in columns])])
            shape = (len(self), len(self.y))
            self._cache[which] = sp.csr_array((np.concatenate(data), np.concatenate(columns), start), shape=shape)
        return self._cache[which]

    def alpha(self, k: int) -> Array:
        """(n,) multipliers at breakpoint k."""
        k = self._check(k)
        rest = np.asarray(self._matrix("rest")[: k + 1].sum(axis=0)).ravel()
        outlier = np.asarray(self._matrix("outlier")[: k + 1].sum(axis=0)).ravel()
        alpha = rest + self._steps[k].theta * outlier
        alpha[np.abs(alpha) <= 1e-14 * self.C] = 0.0  # rounding of the summed differences
        return alpha

    def multipliers(self, points: ArrayLike) -> Array:
        """(breakpoints, points) multipliers of some points at every breakpoint."""
        columns = np.atleast_1d(np.asarray(points, dtype=np.int64))
        rest = np.cumsum(self._matrix("rest")[:, columns].toarray(), axis=0)
        return np.asarray(rest + self.theta[:, None] * np.cumsum(self._matrix("outlier")[:, columns].toarray(), axis=0))

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

    def outliers(self, k: int) -> NDArray[np.bool_]:
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
        rest = np.cumsum(self._matrix("rest") @ Z, axis=0)
        return np.asarray(rest + self.theta[:, None] * np.cumsum(self._matrix("outlier") @ Z, axis=0))

    def score_blocks(self, K: ArrayLike) -> Iterator[tuple[int, Array]]:
        """(first breakpoint, (breakpoints, new points) scores) in blocks; K is (new points, training points).

        Few points change their multipliers within a block, so its scores are those before it plus one small product.
        """
        K = np.asarray(K, dtype=np.float64)
        if K.shape[1] != len(self.y):
            raise InvalidInputError(f"K must have {len(self.y)} columns (training points), got {K.shape[1]}")
        rest, outlier = np.zeros(len(K)), np.zeros(len(K))
        theta = self.theta
        for k in range(0, len(self), _BLOCK):
            block = slice(k, min(k + _BLOCK, len(self)))
            changes = self._matrix("rest")[block], self._matrix("outlier")[block]
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


def difference(
    state_a: Array,
    out_level: Array,
    outlier: NDArray[np.bool_],
    state: NDArray[np.int8],
    memory: Memory,
    names: Index,
    *,
    theta: float,
    s: float,
    event: str,
    point: int,
) -> tuple[Step, Memory]:
    """The step from `memory` to the present arrays; `names` maps their positions to points."""
    rest = np.where(outlier, state_a - out_level, state_a)
    changed = np.flatnonzero(rest != memory.rest)
    toggled = np.flatnonzero(outlier != memory.outlier)
    restated = np.flatnonzero(state != memory.state)
    step = Step(
        theta, s, event, point, names[changed], (rest - memory.rest)[changed],
        names[toggled], outlier[toggled], names[restated], state[restated],
    )  # fmt: skip
    return step, Memory(rest, outlier.copy(), state.copy())
