"""SCIP plugins for progress, stop requests and Hooks. Imports pyscipopt, so it is imported only when SCIP is used.

PySCIPOpt prints and forgets an exception in a plugin. Here it is kept, the search is interrupted, and the backend
raises it afterwards as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from pyscipopt import (
    SCIP_EVENTTYPE,
    SCIP_HEURTIMING,
    SCIP_PROPTIMING,
    SCIP_RESULT,
    Branchrule,
    Conshdlr,
    Eventhdlr,
    Heur,
    Prop,
)
from pyscipopt.scip import Expr, ExprCons, Term

from ..arrays import Array
from ..modelling.program import Program
from ..protocol.hooks import Cut, Hooks
from ..protocol.run import Run
from .square_root import half_square

T = TypeVar("T")


class Plugins:
    """What the plugins of one solve share: the model, its variables, and the first exception."""

    def __init__(self, model: Any, program: Program, columns: list[Any], run: Run) -> None:
        self.model, self.program, self.run = model, program, run
        self.columns = columns[: program.n_columns]
        self.square = columns[program.n_columns] if len(columns) > program.n_columns else None
        self.failure: BaseException | None = None
        self._transformed: list[Any] | None = None

    def guard(self, action: Callable[[], T], otherwise: T) -> T:
        """Run a user's rule; after an exception, stop the search and answer `otherwise`."""
        if self.failure is not None:
            return otherwise
        try:
            answer = action()
        except BaseException as err:  # raised again by the backend once SCIP has returned
            self.failure = err
            self.model.interruptSolve()
            return otherwise
        if self.run.stop() is not None:
            self.model.interruptSolve()
        return answer

    @property
    def transformed(self) -> list[Any]:
        """The columns in the presolved problem, which is where bounds live during the search."""
        if self._transformed is None:
            self._transformed = [self.model.getTransformedVar(column) for column in self.columns]
        return self._transformed

    def point(self, solution: Any = None) -> Array:
        """A solution's values, or the current LP's (or pseudo) solution without one."""
        return np.array([self.model.getSolVal(solution, column) for column in self.columns])

    def local_bounds(self) -> tuple[Array, Array]:
        """Bounds of the columns at the current node, infinite ones as infinities."""
        lower = np.array([variable.getLbLocal() for variable in self.transformed])
        upper = np.array([variable.getUbLocal() for variable in self.transformed])
        lower[lower <= -self.model.infinity()] = -np.inf
        upper[upper >= self.model.infinity()] = np.inf
        return lower, upper


def attach(model: Any, program: Program, columns: list[Any], run: Run, hooks: Hooks | None) -> Plugins:
    """Include the watcher and one plugin for each rule that is present."""
    plugins = Plugins(model, program, columns, run)
    model.includeEventhdlr(Watcher(plugins), "mipclass_watch", "progress and stop requests")
    if hooks is None:
        return plugins
    if hooks.incumbent is not None:
        timing = SCIP_HEURTIMING.BEFORENODE | SCIP_HEURTIMING.AFTERLPNODE
        model.includeHeur(
            Proposer(plugins, hooks.incumbent), "mipclass_incumbent", "a user's points", "u",
            priority=1_000_000, freq=1, timingmask=timing,
        )  # fmt: skip
    if hooks.separate is not None:
        # Lower priorities than any of SCIP's own: the rule is asked about points that satisfy everything else.
        model.includeConshdlr(
            LazyCuts(plugins, hooks.separate), "mipclass_separate", "a user's lazy cuts",
            sepapriority=0, enfopriority=-2_000_000, chckpriority=-2_000_000, sepafreq=1, propfreq=-1, needscons=False,
        )  # fmt: skip
    if hooks.propagate is not None:
        model.includeProp(
            Propagator(plugins, hooks.propagate), "mipclass_propagate", "a user's bound tightening",
            presolpriority=0, presolmaxrounds=0, proptiming=SCIP_PROPTIMING.BEFORELP, priority=1_000_000, freq=1, delay=False,
        )  # fmt: skip
    if hooks.branch is not None:
        model.includeBranchrule(
            Brancher(plugins, hooks.branch), "mipclass_branch", "a user's branching",
            priority=1_000_000, maxdepth=-1, maxbounddist=1.0,
        )  # fmt: skip
    if hooks.separate is not None or hooks.propagate is not None:
        # SCIP does not see what the rules will cut off: reductions that argue from the visible rows alone are not valid.
        for parameter in ("misc/allowstrongdualreds", "misc/allowweakdualreds"):
            model.setParam(parameter, False)
        model.setParam("misc/usesymmetry", 0)
    if hooks.propagate is not None or hooks.branch is not None:
        for column in columns:  # rules speak of the original columns, so each must stay a variable of its own
            model.markDoNotAggrVar(column)
            model.markDoNotMultaggrVar(column)
    return plugins


class Watcher(Eventhdlr):  # type: ignore[misc]  # PySCIPOpt has no types
    """Reports incumbents, bounds and nodes; asks whether to stop."""

    EVENTS = (
        SCIP_EVENTTYPE.BESTSOLFOUND,
        SCIP_EVENTTYPE.NODESOLVED,
        SCIP_EVENTTYPE.LPSOLVED,
        SCIP_EVENTTYPE.PRESOLVEROUND,
    )

    def __init__(self, plugins: Plugins) -> None:
        self.plugins = plugins

    def eventinit(self) -> None:
        """Ask SCIP for the events."""
        for event in self.EVENTS:
            self.model.catchEvent(event, self)

    def eventexit(self) -> None:
        """Give the events up."""
        for event in self.EVENTS:
            self.model.dropEvent(event, self)

    def eventexec(self, event: Any) -> dict[str, Any]:
        """Report the incumbent, the bound and the nodes."""
        model, run = self.plugins.model, self.plugins.run

        def finite(value: float) -> float | None:
            return None if model.isInfinity(abs(value)) else float(value)

        self.plugins.guard(
            lambda: run.report(
                objective=finite(model.getPrimalbound()) if model.getNSols() else None,
                bound=finite(model.getDualbound()),
                nodes=int(model.getNTotalNodes()),
            ),
            None,
        )
        return {}


class Proposer(Heur):  # type: ignore[misc]  # PySCIPOpt has no types
    """hooks.incumbent as a primal heuristic."""

    def __init__(self, plugins: Plugins, rule: Callable[[Array | None], Array | None]) -> None:
        self.plugins, self.rule = plugins, rule

    def heurexec(self, heurtiming: int, nodeinfeasible: bool) -> dict[str, Any]:
        """Ask the rule for a point, with the relaxation's point once its LP is solved."""
        return {"result": self.plugins.guard(lambda: self._propose(heurtiming), SCIP_RESULT.DIDNOTRUN)}

    def _propose(self, timing: int) -> int:
        model, program = self.plugins.model, self.plugins.program
        after_lp = timing == SCIP_HEURTIMING.AFTERLPNODE
        point = self.rule(self.plugins.point() if after_lp else None)
        if point is None:
            return int(SCIP_RESULT.DIDNOTFIND)
        x = np.asarray(point, dtype=np.float64)
        solution = model.createOrigSol(self)
        for column, value in zip(self.plugins.columns, x.tolist(), strict=True):
            model.setSolVal(solution, column, value)
        if self.plugins.square is not None:
            model.setSolVal(solution, self.plugins.square, half_square(program, x))
        stored = model.trySol(solution, printreason=False)
        return int(SCIP_RESULT.FOUNDSOL if stored else SCIP_RESULT.DIDNOTFIND)


class LazyCuts(Conshdlr):  # type: ignore[misc]  # PySCIPOpt has no types
    """hooks.separate as a constraint handler: cuts off relaxation points and rejects integer ones."""

    def __init__(self, plugins: Plugins, rule: Callable[[Array], list[Cut]]) -> None:
        self.plugins, self.rule = plugins, rule

    def _cut_off(self, otherwise: int) -> dict[str, Any]:
        return {"result": self.plugins.guard(lambda: self._add(otherwise), otherwise)}

    def _add(self, otherwise: int) -> int:
        cuts = self.rule(self.plugins.point())
        for cut in cuts:
            row = Expr(
                {Term(self.plugins.columns[j]): float(a) for j, a in zip(cut.columns, cut.coefficients, strict=True)}
            )
            low, high = (None if np.isinf(side) else float(side) for side in (cut.lower, cut.upper))
            self.model.addCons(ExprCons(row, low, high))
        return int(SCIP_RESULT.CONSADDED) if cuts else otherwise

    def conssepalp(self, constraints: Any, nusefulconss: int) -> dict[str, Any]:
        """Cut off the relaxation's point."""
        return self._cut_off(int(SCIP_RESULT.DIDNOTFIND))

    def consenfolp(self, constraints: Any, nusefulconss: int, solinfeasible: bool) -> dict[str, Any]:
        """Cut off an integer point of the LP, or accept it."""
        return self._cut_off(int(SCIP_RESULT.FEASIBLE))

    def consenfops(
        self, constraints: Any, nusefulconss: int, solinfeasible: bool, objinfeasible: bool
    ) -> dict[str, Any]:
        """Cut off an integer point found without an LP, or accept it."""
        return self._cut_off(int(SCIP_RESULT.FEASIBLE))

    def conscheck(
        self, constraints: Any, solution: Any, checkintegrality: bool, checklprows: bool, printreason: bool,
        completely: bool, **results: Any,
    ) -> dict[str, Any]:  # fmt: skip
        """Accept a candidate when the rule has no cut against it."""
        accepted = self.plugins.guard(lambda: not self.rule(self.plugins.point(solution)), False)
        return {"result": SCIP_RESULT.FEASIBLE if accepted else SCIP_RESULT.INFEASIBLE}

    def conslock(self, constraint: Any, locktype: int, nlockspos: int, nlocksneg: int) -> None:
        """A cut may push any column either way, so none may be rounded or fixed without asking."""
        locks = nlockspos + nlocksneg
        for variable in self.plugins.transformed:
            self.model.addVarLocksType(variable, locktype, locks, locks)


class Propagator(Prop):  # type: ignore[misc]  # PySCIPOpt has no types
    """hooks.propagate as a propagator at every node."""

    def __init__(self, plugins: Plugins, rule: Callable[[Array, Array], tuple[Any, Array, Array] | None]) -> None:
        self.plugins, self.rule = plugins, rule

    def propexec(self, proptiming: int) -> dict[str, Any]:
        """Tighten the bounds of the node."""
        return {"result": self.plugins.guard(self._tighten, int(SCIP_RESULT.DIDNOTRUN))}

    def _tighten(self) -> int:
        found = self.rule(*self.plugins.local_bounds())
        if found is None:
            return int(SCIP_RESULT.CUTOFF)
        changed = False
        for j, low, high in zip(*found, strict=True):
            variable = self.plugins.transformed[j]
            for tighten, value in ((self.model.tightenVarLb, low), (self.model.tightenVarUb, high)):
                if np.isfinite(value):
                    infeasible, tightened = tighten(variable, float(value))
                    if infeasible:
                        return int(SCIP_RESULT.CUTOFF)
                    changed = changed or tightened
        return int(SCIP_RESULT.REDUCEDDOM if changed else SCIP_RESULT.DIDNOTFIND)


class Brancher(Branchrule):  # type: ignore[misc]  # PySCIPOpt has no types
    """hooks.branch as a branching rule; SCIP's own rules are asked when it answers None."""

    def __init__(self, plugins: Plugins, rule: Callable[[Array, Array, Array | None], tuple[int, int] | None]) -> None:
        self.plugins, self.rule = plugins, rule

    def branchexeclp(self, allowaddcons: bool) -> dict[str, Any]:
        """Branch at the LP's point."""
        return self._result(with_point=True)

    def branchexecext(self, allowaddcons: bool) -> dict[str, Any]:
        """Branch where external candidates are left."""
        return self._result(with_point=True)

    def branchexecps(self, allowaddcons: bool) -> dict[str, Any]:
        """Branch at a node without an LP."""
        return self._result(with_point=False)

    def _result(self, *, with_point: bool) -> dict[str, Any]:
        return {"result": self.plugins.guard(lambda: self._branch(with_point), int(SCIP_RESULT.DIDNOTRUN))}

    def _branch(self, with_point: bool) -> int:
        lower, upper = self.plugins.local_bounds()
        x = self.plugins.point() if with_point else None
        chosen = self.rule(lower, upper, x)
        if chosen is None:
            return int(SCIP_RESULT.DIDNOTRUN)
        column, first = chosen
        if not self.plugins.program.integer[column] or lower[column] >= upper[column]:
            raise ValueError(
                f"hooks.branch chose column {column}, which is not an integer column free at this node; choose one with "
                f"lower < upper among the integer columns, or return None."
            )
        at = x[column] if x is not None else 0.5 * (lower[column] + upper[column])
        floor = min(max(np.floor(at), lower[column]), upper[column] - 1)
        variable = self.plugins.transformed[column]
        estimate = self.model.getLocalEstimate()
        down = self.model.createChild(1.0 if first <= floor else 0.0, estimate)
        self.model.chgVarUbNode(down, variable, float(floor))
        up = self.model.createChild(1.0 if first > floor else 0.0, estimate)
        self.model.chgVarLbNode(up, variable, float(floor + 1))
        return int(SCIP_RESULT.BRANCHED)
