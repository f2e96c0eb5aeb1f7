"""cutting-plane: smooth convex losses under any constraints, by tangents in a mixed-integer master problem.

    minimise loss + penalties over a mixed-integer set   becomes   minimise t + penalties with t >= tangents of the loss.

A tangent lies below the loss everywhere, so every bound of the master is a bound of the problem. In turn: solve the master (bound),
evaluate the loss at its point (incumbent), improve the point by steps of one on its whole weights, add the tangents there; stop
when bound and incumbent meet (Kelley 1960; Duran and Grossmann 1986; for scorecards Ustun and Rudin 2019). The first tangents come from
the master without whole numbers. A backend with lazy cuts (SCIP) adds tangents inside one branch and bound instead; others are
called again and again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...arrays import Array
from ...backends.base import Backend, Solution
from ...backends.registry import find_backend
from ...errors import UnsupportedProgramError
from ...modelling.algebra import Objective
from ...modelling.model import Model
from ...modelling.problem import Problem
from ...modelling.program import Feature
from ...models.logistic import Logistic, OuterApproximation, SmoothLoss
from ...protocol.hooks import Cut, Hooks
from ...protocol.options import Option, Options, number
from ...protocol.result import Claim, Outcome, Status, Values, relative_gap
from ...protocol.run import Run
from ...reductions.base import Answer
from ...reductions.chain import NO_INDICATORS, road_to
from ...reductions.hooks_along import hooks_along
from ..base import Method, Refusal
from .form import read_form

TOLERANCE = 1e-6
"""Relative gap at which bound and incumbent count as equal: the accuracy to which MIP solvers satisfy rows."""

MOST_ROUNDS = 500
"""Master problems at most, by default."""

RELAXED_ROUNDS = 60
"""Masters without whole numbers at most, before the first one with them."""

RELAXED_GAP = 1e-4
"""Relative gap at which rounds without whole numbers end: closer tangents there do not help the search."""

CHANGED = 1e-12
"""A lazy cut is added where the loss is above the epigraph variable by more than this fraction of it plus TOLERANCE / 10."""

MASTER_GAP = 0.2
"""Masters are solved to this fraction of the gap between incumbent and bound."""

MOST_STEPS = 50
"""Improvements of one incumbent by coordinate moves, at most."""


class CuttingPlane(Method[Model]):
    """Logistic, SquaredHinge or Squared with any constraints, on a MIP solver."""

    name: ClassVar[str] = "cutting-plane"
    promise: ClassVar[str] = (
        f"proven: bound and objective meet to {TOLERANCE:g} when it finishes; a valid bound at any time"
    )
    options: ClassVar[Options] = {
        "backend": Option("highs", "the solver of the master problem, such as highs or scip"),
        "rounds": Option(MOST_ROUNDS, "master problems at most", number(at_least=1, integer=True)),
    }

    def match(self, problem: Problem) -> Model | Refusal:
        """A Model with a smooth convex loss."""
        smooth = smooth_terms(problem) if isinstance(problem, Model) else []
        if not smooth or not isinstance(problem, Model):
            return Refusal("it takes a Model with a smooth convex loss: Logistic(), SquaredHinge() or Squared().")
        if any(isinstance(term, Logistic) and term.is_free for term in smooth):
            return Refusal(
                "a multiplier to be chosen makes the loss non-convex; use solver='lattice' or a fixed multiplier."
            )
        return problem

    def solve(self, form: Model, run: Run) -> Outcome:
        """Rounds of masters on the backend that the options name."""
        return by_tangents(form, find_backend(run.options["backend"]), run, run.options["rounds"], {})


def smooth_terms(model: Model) -> list[Any]:
    """The terms of positive weight that have tangents."""
    return [term for coefficient, term in model.terms if coefficient > 0 and isinstance(term, SmoothLoss)]


def by_tangents(model: Model, backend: Backend, run: Run, rounds: int, options: dict[str, Any]) -> Outcome:
    """The model by cutting planes on the backend, which gets the given options in every round."""
    model.program()  # A loss without tangents is refused here, before a start is read that may lack the loss's own values.
    return _Rounds(model, backend, run, options).outcome(rounds)


@dataclass
class _Incumbent:
    values: Values
    objective: float


class _Rounds:
    """Tangents, the best point and the best bound of one solve."""

    def __init__(self, model: Model, backend: Backend, run: Run, options: dict[str, Any]) -> None:
        self.model, self.backend, self.run, self.options = model, backend, run, options
        self.at: list[Values] = [{"w": np.zeros(model.data.d), "b": np.zeros(())}]
        self.best: _Incumbent | None = None
        self.bound = -np.inf
        self.rounds = self.nodes = 0
        self.lazy = "separate" in backend.hooks and len(smooth_terms(model)) == 1
        form = read_form(model)
        self.box = None if isinstance(form, Refusal) or not form.whole else (form.lower, form.upper, form.whole_offset)
        if run.warm_start is not None and "w" in run.warm_start:
            self.add({"b": np.zeros(()), **{k: v for k, v in run.warm_start.items() if k in ("w", "b")}})

    def master(self) -> Model:
        """The model with its smooth losses replaced by their tangents."""
        terms = tuple(
            (c, OuterApproximation(term, tuple(self.at)) if isinstance(term, SmoothLoss) and c > 0 else term)
            for c, term in self.model.terms
        )
        return Model.from_data(
            self.model.data,
            rule=self.model.rule,
            minimize=Objective(terms),
            subject_to=self.model.constraints,
            name=self.model.name,
        )

    def outcome(self, rounds: int) -> Outcome:
        """All rounds, and where they ended."""
        master = self.master()
        if master.program().is_integer:
            master = self._relaxed_rounds(master)
        status = Status.ITERATION_LIMIT
        words = f"{rounds} rounds"
        for _ in range(rounds):
            stopped = self.run.stop()
            if stopped is not None:
                status, words = stopped, "stopped"
                break
            solution, values = self._solve(master, relaxed=False)
            if solution.status is Status.INFEASIBLE:
                return Outcome(
                    Status.INFEASIBLE, "proven", None, None, float("inf"), self.nodes, raw_status=solution.raw_status
                )
            known = values is not None and self._is_known(values)
            if values is not None:
                self.add(values)
            self.run.report(objective=self._objective(), bound=self._bound(), nodes=self.nodes, rounds=self.rounds)
            if self._is_closed(max(self.run.gap, TOLERANCE)):
                status, words = Status.OPTIMAL, "bound and objective meet"
                break
            if solution.status is not Status.OPTIMAL or values is None:
                status, words = self.run.stop() or solution.status, solution.raw_status
                break
            if known and self._master_gap() <= TOLERANCE:
                status, words = Status.NUMERICAL_ERROR, "the master returns a point whose tangent it has already"
                break
            master = self.master()
        return self._outcome(status, words, master)

    def _relaxed_rounds(self, master: Model) -> Model:
        """Tangents from the master without whole numbers, whose optimum is a bound too."""
        for _ in range(RELAXED_ROUNDS):
            if self.run.stop() is not None:
                break
            try:
                _solution, values = self._solve(master, relaxed=True)
            except (
                UnsupportedProgramError
            ):  # unbounded weights have no big-M rows; a solver with indicators does without these rounds
                if Feature.INDICATOR not in self.backend.features:
                    raise
                break
            if values is None or self._is_known(values):
                break
            self.at.append(values)
            above = self.model.recount(values)
            master = self.master()
            if relative_gap(above, self.bound) is not None and above - self.bound <= RELAXED_GAP * max(1.0, abs(above)):
                break
        return master

    def _solve(self, master: Model, relaxed: bool) -> tuple[Solution, Values | None]:
        """One master; its point as weights and offset, not rounded when relaxed."""
        program = master.program()
        features = NO_INDICATORS if relaxed else self.backend.features
        reduced, receipt = road_to(features, None).apply(program)
        if relaxed:
            reduced = reduced.replace_with(integer=np.zeros(reduced.n_columns, bool))
        missing = reduced.needs - self.backend.features
        if missing:
            raise UnsupportedProgramError(
                f"solver {self.backend.name!r} cannot solve the master problem, a {reduced.kind}: it lacks "
                f"{', '.join(sorted(missing))}. Use solver='cutting-plane' with options={{'backend': 'highs'}} or 'scip'."
            )
        inner = self.run.inner(gap=self._master_gap(), **self._options(master, relaxed))
        if inner.options.get("hooks") is not None:
            inner.options["hooks"] = hooks_along(inner.options["hooks"], receipt)
        start = None if self.best is None else receipt.forward(master.encode(self.best.values))
        solution = self.backend.solve(reduced, inner, start)
        self.rounds += 1
        self.nodes += solution.nodes or 0
        if solution.bound is not None and np.isfinite(solution.bound) and solution.status is not Status.NUMERICAL_ERROR:
            self.bound = max(self.bound, float(solution.bound))
        x = receipt.back(Answer(solution.x)).x
        if x is None:
            return solution, None
        if relaxed:
            parts = program.split(x)
            return solution, {"w": parts["w"], "b": parts.get("b", np.zeros(()))}
        return solution, master.decode(x)

    def _master_gap(self) -> float:
        """The relative gap to which a master is solved: a fraction of the present one, for its bound changes with every tangent."""
        now = relative_gap(self._objective(), self._bound())
        least = 0.1 * max(self.run.gap, TOLERANCE)
        return least if now is None or self.lazy else max(least, MASTER_GAP * now)

    def _options(self, master: Model, relaxed: bool) -> dict[str, Any]:
        """The backend's options, its defaults filled in, with lazy tangents where it takes them."""
        options = {name: option.default for name, option in self.backend.options.items()} | self.options
        if not relaxed and self.lazy:
            options["hooks"] = Hooks(separate=lambda x: self._violated(master, x))
        return options

    def _violated(self, master: Model, x: Array) -> list[Cut]:
        """The tangent at a point of the master, where the epigraph variable is below the loss."""
        program = master.program()
        parts = program.split(x)
        [loss] = smooth_terms(self.model)
        points = master.points
        scores = points.X @ parts["w"] + float(parts.get("b", np.zeros(())))
        margins = points.y_pm1 * scores
        value = float(points.weights @ loss.of_margin(margins))
        if value <= float(parts["loss"]) * (1.0 + CHANGED) + 0.1 * TOLERANCE * max(1.0, value):
            return []
        slopes = points.weights * loss.slope(margins) * points.y_pm1
        gradient = np.asarray(points.X.T @ slopes)
        columns = np.arange(program.block("w").start, program.block("w").stop)
        constant = value - float(slopes @ scores)
        coefficients = [-gradient, np.ones(1)]
        index = [columns, np.array([program.block("loss").start])]
        if "b" in parts:
            coefficients.append(np.array([-float(slopes.sum())]))
            index.append(np.array([program.block("b").start]))
        return [Cut(np.concatenate(index), np.concatenate(coefficients), constant, np.inf)]

    # -- incumbents ---------------------------------------------------------------------------------------------------

    def add(self, values: Values) -> None:
        """A tangent at the rule; the rule and its neighbours on the lattice as incumbents."""
        values = {
            "w": np.asarray(values["w"], dtype=np.float64),
            "b": np.asarray(values.get("b", 0.0), dtype=np.float64),
        }
        self.at.append(values)
        if self.model.violations(values):
            return
        found = self._polished(_Incumbent(values, self.model.recount(values)))
        if self.best is None or found.objective < self.best.objective:
            self.best = found
            if found.values is not values:
                self.at.append(found.values)

    def _polished(self, start: _Incumbent) -> _Incumbent:
        """The rule after steps of one on its whole numbers, while they lower the objective and keep the constraints."""
        if self.box is None or (self.best is not None and start.objective > 1.5 * self.best.objective + 1.0):
            return start
        lower, upper, whole_offset = self.box
        now = start
        for _ in range(MOST_STEPS):
            trials = []
            for j in range(len(lower)):
                for step in (-1.0, 1.0):
                    if lower[j] <= now.values["w"][j] + step <= upper[j]:
                        w = now.values["w"].copy()
                        w[j] += step
                        trials.append({**now.values, "w": w})
            trials += [{**now.values, "b": now.values["b"] + step} for step in (-1.0, 1.0) if whole_offset]
            ranked = sorted(((self.model.recount(v), k) for k, v in enumerate(trials)), key=lambda pair: pair[0])
            better = next((
                _Incumbent(trials[k], value) for value, k in ranked
                if value < now.objective and not self.model.violations(trials[k])
            ), None)  # fmt: skip
            if better is None or self.run.stop() is not None:
                return now
            now = better
        return now

    def _is_known(self, values: Values) -> bool:
        return any(np.array_equal(values["w"], v["w"]) and np.array_equal(values["b"], v["b"]) for v in self.at)

    def _objective(self) -> float | None:
        return None if self.best is None else self.best.objective

    def _bound(self) -> float | None:
        return None if np.isinf(self.bound) else self.bound

    def _is_closed(self, tolerance: float) -> bool:
        gap = relative_gap(self._objective(), self._bound())
        return gap is not None and gap <= tolerance

    def _outcome(self, status: Status, words: str, master: Model) -> Outcome:
        extra = {
            "rounds": self.rounds,
            "tangents": len(self.at),
            "outer_approximation": master.program(),
            "scope": self.model.scope().partition("outer approximation")[0].rstrip("; "),
        }
        claim: Claim = "none" if self.best is None else "proven" if self._is_closed(TOLERANCE) else "heuristic"
        values = None if self.best is None else self.best.values
        words = f"cutting planes on {self.backend.name}: {words} after {self.rounds} rounds, {len(self.at)} tangents"
        return Outcome(
            status, claim, values, self._objective(), self._bound(), self.nodes, raw_status=words, extra=extra
        )
