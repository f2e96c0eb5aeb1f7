"""min 1/2 a'Qa - 1'a over a box (the dual of an SVM without an offset), from multipliers that move along.

    RowDescent    coordinate descent on w = Z'a; where it is slow, an interior point gives it a better start
    GramDescent   coordinate descent on the margins Qa

Both have the same methods, so that the SVM at the start of a path and CCCP are written once for both operators.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....arrays import Array
from ....numeric.random import random_state
from ....protocol.result import Status
from ....protocol.run import Run
from ..kernels.dual_coordinate import MultiplierBounds, kernel_descent, linear_descent
from ..kernels.operators import Operator, SignedGram, SignedRows
from .interior import LARGEST_D, interior_point

FIRST_SWEEPS = 50  # an easy problem converges within these; others go to the interior point
SWEEPS = 1000  # after the interior point; the homotopy that follows mends what they leave
STEPS_PER_POINT = 200  # of descent on a Gram matrix; the homotopy that follows mends what they leave
CALL_COST = 100_000_000  # multiplications between two questions whether to stop


class RowDescent:
    """Multipliers a and w = Z'a for a linear rule; a unit of work is a sweep over all points."""

    #: units of work between two questions whether to stop, when the descent goes on until it converges
    A_CALL = 500

    def __init__(self, operator: SignedRows, tolerance: float, seed: int) -> None:
        self.operator, self.tolerance = operator, tolerance
        self.a = np.zeros(len(operator.matrix))
        self._w = np.zeros(operator.matrix.shape[1])
        self._random = random_state(seed)

    @property
    def cost(self) -> int:
        """Multiplications per unit of work."""
        return self.operator.matrix.size

    @property
    def budgets(self) -> tuple[int, ...]:
        """Units of work for working accuracy: easy problems need few sweeps, the others leap and get many."""
        return FIRST_SWEEPS, SWEEPS

    def margins(self) -> Array:
        """Qa."""
        return np.asarray(self.operator.matrix @ self._w)

    def begin(self, a: Array) -> None:
        """Go to the multipliers a."""
        self.a = a.copy()
        self._w = self.operator.matrix.T @ a

    def clip(self, box: MultiplierBounds) -> None:
        """Move a into the box."""
        clipped = np.clip(self.a, *box)
        moved = np.flatnonzero(clipped != self.a)
        self._w += self.operator.matrix[moved].T @ (clipped - self.a)[moved]
        self.a = clipped

    def descend(self, box: MultiplierBounds, sweeps: int) -> bool:
        """At most `sweeps` sweeps of coordinate descent; whether they reached the tolerance."""
        operator = self.operator
        used = linear_descent(
            operator.matrix, box, self.a, self._w, operator.diagonal, self.tolerance, sweeps, self._random
        )
        return bool(used < sweeps)

    def leap(self, box: MultiplierBounds, accuracy: float, stop: Callable[[], object]) -> None:
        """Go near the optimum by an interior point, to `accuracy`; stay when there are too many features for it."""
        Z = self.operator.matrix
        if Z.shape[1] <= LARGEST_D:
            self.a = box.lower + interior_point(Z, box.upper - box.lower, accuracy, stop, Z.T @ box.lower)
            self._w = Z.T @ self.a


class GramDescent:
    """Multipliers a and margins Qa for a Gram matrix; a unit of work is a step on one point."""

    #: units of work between two questions whether to stop, when the descent goes on until it converges
    A_CALL = 20_000

    def __init__(self, operator: SignedGram, tolerance: float) -> None:
        self.operator, self.tolerance = operator, tolerance
        self.a = np.zeros(len(operator.matrix))
        self._m = np.zeros(len(operator.matrix))

    @property
    def cost(self) -> int:
        """Multiplications per unit of work."""
        return len(self.operator.matrix)

    @property
    def budgets(self) -> tuple[int, ...]:
        """Units of work for working accuracy, at least those of one call."""
        n = len(self.operator.matrix)
        return (max(STEPS_PER_POINT * n, CALL_COST // max(1, n)),)

    def margins(self) -> Array:
        """Qa (a copy)."""
        return self._m.copy()

    def begin(self, a: Array) -> None:
        """Go to the multipliers a."""
        self.a = a.copy()
        self._m = self.operator.matrix @ a

    def clip(self, box: MultiplierBounds) -> None:
        """Move a into the box."""
        clipped = np.clip(self.a, *box)
        moved = np.flatnonzero(clipped != self.a)
        self._m += self.operator.matrix[moved].T @ (clipped - self.a)[moved]
        self.a = clipped

    def descend(self, box: MultiplierBounds, steps: int) -> bool:
        """At most `steps` steps of coordinate descent; whether they reached the tolerance."""
        operator = self.operator
        used = kernel_descent(operator.matrix, box, self.a, self._m, operator.diagonal, self.tolerance, steps)
        return bool(used < steps)

    def leap(self, box: MultiplierBounds, accuracy: float, stop: Callable[[], object]) -> None:
        """Stay: an interior point would cost O(n^3) per step."""


Descent = RowDescent | GramDescent


def approach(descent: Descent, box: MultiplierBounds, accuracy: float, run: Run) -> Status | None:
    """Go near the optimum, to the tolerance or as far as the budgets allow; returns why it stopped early, or None."""
    for number, budget in enumerate(descent.budgets):
        if number:
            descent.leap(box, accuracy, run.stop)
        units = max(1, min(budget, CALL_COST // max(1, descent.cost)))
        for _ in range(0, budget, units):
            done, status = descent.descend(box, units), run.stop()
            if done or status is not None:
                return status
    return None


def converge(descent: Descent, box: MultiplierBounds, accuracy: float, run: Run) -> Status | None:
    """Move a into the box and to the optimum within it; returns why it stopped early, or None."""
    descent.clip(box)
    units = max(1, min(descent.A_CALL, CALL_COST // max(1, descent.cost)))
    done, status = descent.descend(box, units), run.stop()
    if not done and status is None:
        descent.leap(box, accuracy, run.stop)
    while not done and status is None:
        done, status = descent.descend(box, units), run.stop()
    return None if done else status


def descent_on(operator: Operator, tolerance: float, seed: int = 0) -> Descent:
    """The descent for this operator, at a = 0; it stops at projected gradients of `tolerance`."""
    if isinstance(operator, SignedRows):
        return RowDescent(operator, tolerance, seed)
    return GramDescent(operator, tolerance)
