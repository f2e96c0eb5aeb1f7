"""What a solve returns: why it stopped, what the point is worth, and the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from html import escape
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..errors import InvalidInputError
from ..views.html import facts
from ..views.trace_picture import trace_picture

Claim = Literal["proven", "local", "heuristic", "none"]
"""What a point is worth: a proven optimum, a local optimum, a good point, or there is none."""
Values = dict[str, Array]
"""Arrays by name, e.g. "w" and "b"."""
Trace = list[tuple[float, float | None, float | None]]
"""(seconds, objective, bound), a new entry whenever one of the two improved."""


class Status(StrEnum):
    """Why a solve stopped. Compares equal to its plain string."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    TIME_LIMIT = "time_limit"
    NODE_LIMIT = "node_limit"
    ITERATION_LIMIT = "iteration_limit"
    INTERRUPTED = "interrupted"
    NUMERICAL_ERROR = "numerical_error"


@dataclass(frozen=True)
class Outcome:
    """What a method hands to the driver.

    `values` holds the decoded rule ("w", "b", ...) in the user's units, or None when there is no point. `bound` is a
    lower bound on the objective of the *declared* problem, or None. `claim` is what the method can answer for. `unit` is the
    size below which an objective counts as zero: 1, less where all costs are small, 0 where objectives are exact sums.
    """

    status: Status
    claim: Claim
    values: Values | None
    objective: float | None
    bound: float | None = None
    nodes: int | None = None
    iterations: int | None = None
    raw_status: str = ""
    certificate: Any = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    unit: float = 1.0


def relative_gap(objective: float | None, bound: float | None, unit: float = 1.0) -> float | None:
    """(objective - bound) / max(unit, |objective|), zero when the bound has met or passed it; None without both.

    unit : the size below which an objective counts as zero; less than one where all costs are small.
    reading : the classifier behind `predict`, `decision_function`, `classifier` and `rule`; None for a bare program.
    """
    if objective is None or bound is None:
        return None
    if np.isinf(bound):
        return float("inf") if bound < 0 else 0.0
    return 0.0 if bound >= objective else (objective - bound) / max(unit, abs(objective))


class Reading(Protocol):
    """The classifier behind a result: it predicts, and says in words what it predicts."""

    def decision_function(self, X: Any) -> Array:
        """The score of each row of X."""
        ...

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of X."""
        ...

    def sentence(self) -> str:
        """The rule in words."""
        ...

    def classifier(self) -> Any:
        """The rule as a fitted scikit-learn classifier."""
        ...


@dataclass(frozen=True, repr=False)
class Result:
    """The answer to one `solve` call.

    Attributes
    ----------
    status : why it stopped.
    claim : what the point is worth: "proven", "local", "heuristic" or "none".
    objective, bound : the objective of the point and a lower bound on the optimum (None if there is none).
    gap : relative gap between the two.
    values : arrays by name, e.g. "w" and "b", in the user's units; empty when there is no point.
    recounted : the objective recomputed from X, y and the decoded rule equals `objective`.
    certified : a certificate is attached and the independent checker accepts it.
    seconds, nodes, iterations : effort; model building is included in the seconds.
    solver, version, raw_status : who answered, and in which words.
    trace : list of (seconds, objective, bound) as the solve went on.
    extra : what else a method has to tell (path, tree, removed points, duals, rays ...).
    unit : the size below which an objective counts as zero, in `gap` and `recounted`: 1, or less where all costs are small.
    """

    status: Status
    claim: Claim
    objective: float | None
    bound: float | None
    values: Values
    recounted: bool
    certified: bool
    certificate: Any
    seconds: float
    nodes: int | None
    iterations: int | None
    solver: str
    version: str
    raw_status: str
    trace: Trace
    extra: Mapping[str, Any]
    unit: float = 1.0
    reading: Reading | None = field(default=None, repr=False, compare=False)

    @property
    def gap(self) -> float | None:
        """The relative gap between objective and bound; None without both."""
        return relative_gap(self.objective, self.bound, self.unit)

    @property
    def has_point(self) -> bool:
        """Whether there is a point at all, proven or not."""
        return bool(self.values)

    def decision_function(self, X: Any) -> Array:
        """The score of each row of X; the positive class is predicted where it is > 0."""
        return self._classifies().decision_function(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of X."""
        return self._classifies().predict(X)

    def classifier(self) -> Any:
        """The rule as a fitted scikit-learn classifier."""
        return self._classifies().classifier()

    @property
    def rule(self) -> str:
        """The rule in words, in the user's units, with as few digits as keep the decision for every training point."""
        return self._classifies().sentence()

    def _classifies(self) -> Reading:
        if self.reading is None and self.extra.get("without_rule"):
            raise InvalidInputError(str(self.extra["without_rule"]))
        if self.reading is None and self.has_point:
            raise InvalidInputError(
                "the result of a program, not of a Model, has no rule to predict with; its numbers are in result.values. "
                "Solve a models.Model to get a classifier."
            )
        if self.reading is None:
            why = {
                Status.INFEASIBLE: "no point satisfies all constraints: print(mipclass.explain(problem)) names those in conflict",
                Status.UNBOUNDED: "the objective has no minimum: add a penalty such as L2() or bounds on w",
            }.get(self.status, "raise the limit that ended it, or try another solver from mipclass.solvers(problem)")
            raise InvalidInputError(f"the result has no rule to predict with, for it ended {self.status}; {why}.")
        return self.reading

    def __str__(self) -> str:
        return self.summary() if self.reading is None else f"{self.summary()}\n  rule: {self.rule}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The rule, loss, bound, gap and scope, and the course of the solve, for notebooks."""

        def number(value: float | None) -> str:
            return "none" if value is None else f"{value:.10g}"

        head = f"{self.solver} {self.version}: {self.status} ({self.claim})".replace("  ", " ")
        pairs = [("answer", f"<b>{escape(head)}</b>")]
        pairs += [("rule", escape(self.rule))] if self.reading is not None else []
        pairs += [("objective", number(self.objective)), ("bound", number(self.bound)), ("gap", number(self.gap))]
        pairs += [("scope", escape(str(self.extra["scope"])))] if self.extra.get("scope") else []
        pairs += [("checks", escape(self._checks())), ("effort", self._effort())]
        if self.status is Status.INFEASIBLE:
            pairs.append(("next", "<code>mipclass.explain(problem)</code> names the constraints in conflict"))
        return facts(pairs) + trace_picture([*self.trace, (self.seconds, self.objective, self.bound)])

    def _checks(self) -> str:
        said = f"recounted {'yes' if self.recounted else 'no'}, certified {'yes' if self.certified else 'no'}"
        return f"{said}: {self.extra['unchecked']}" if self.extra.get("unchecked") else said

    def _effort(self) -> str:
        effort = [f"{self.seconds:.3g} s"]
        effort += [f"{self.nodes} nodes"] if self.nodes is not None else []
        effort += [f"{self.iterations} iterations"] if self.iterations is not None else []
        return ", ".join(effort)

    def summary(self) -> str:
        """Who answered what, with which claim and effort; without the rule."""

        def number(value: float | None) -> str:
            return "none" if value is None else f"{value:.10g}"

        lines = [
            f"{self.solver} {self.version}: {self.status} ({self.claim})".replace("  ", " "),
            f"  objective {number(self.objective)}, bound {number(self.bound)}, gap {number(self.gap)}",
            f"  {self._checks()}",
        ]
        lines.append(f"  {self._effort()}")
        if self.status is Status.INFEASIBLE:
            lines.append("  no point satisfies all constraints; mipclass.explain(problem) names those in conflict")
        return "\n".join(lines)
