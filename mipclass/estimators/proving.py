"""`prove=seconds` of the estimators whose method is a heuristic: a lower bound of the problem that they approach, and the gap that is left."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checks import is_number
from ..errors import InvalidInputError, UnsupportedProgramError
from ..modelling.model import Model
from ..protocol.result import Result, relative_gap
from ..protocol.run import Run
from ..solving.driver import solve_within


class Provable:
    """What an estimator knows after a fit with `prove=seconds`; without it none of these is set.

    bound_ : no rule has a smaller objective; None when nothing was proven.
    gap_ : relative distance of the objective of `result_`'s rule to it; None when there is no rule or no bound.
    proof_ : the Result of the proof, with its certificate if there is one, and the best rule it met.
    """

    prove: float | None
    bound_: float | None
    gap_: float | None
    proof_: Result

    def _check_prove(self) -> None:
        """Refuse a time for the proof that is no positive number."""
        if self.prove is not None and (not is_number(self.prove) or not 0 < self.prove < np.inf):
            raise InvalidInputError(f"prove must be a positive number of seconds, or None; got {self.prove!r}.")

    def _prove(self, model: Model, found: Result, run: Run, solvers: tuple[str, ...], seed: int) -> None:
        """Set bound_, gap_ and proof_ with the first of the solvers that takes the model, from the rule that was found."""
        if self.prove is None:
            return
        part = run.inner(time_limit=self.prove)
        self.proof_ = _first_that_takes(part, model, solvers, seed, found.values or None)
        self.bound_, self.gap_ = self.proof_.bound, None
        if self.bound_ is not None and found.values:
            self.gap_ = relative_gap(model.recount(found.values), self.bound_, 0.0)


def _first_that_takes(run: Run, model: Model, solvers: tuple[str, ...], seed: int, start: Any) -> Result:
    for name in solvers[:-1]:
        try:
            return solve_within(run, model, name, seed=seed, warm_start=start)
        except UnsupportedProgramError:
            continue
    return solve_within(run, model, solvers[-1], seed=seed, warm_start=start)
