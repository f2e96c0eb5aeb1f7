"""Branch and bound with the user's own rules: solve(problem, solver="tree", options={"rules": rules}).

`rules` is a `mipclass.tree.Rules` object, or a function that makes one from the problem. Its incumbents carry the values
that the problem recounts ("w", "b", ...), and what it claims is checked: an incumbent whose recounted objective differs
from the one it states is refused with an error.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..errors import InvalidInputError, OptionError
from ..modelling.problem import Problem
from ..protocol.options import Option, Options, number, one_of, optional
from ..protocol.result import Claim, Outcome, Status
from ..protocol.run import Run
from ..tree import Incumbent, Rules, search
from ..tree.rules import Decisions
from .base import Method, Refusal

CLOSED = 1e-9
"""Relative gap from which an optimum is called proven; a gap that the caller allowed is no proof."""
RECOUNT_TOLERANCE = 1e-6
"""Largest relative difference between an incumbent's stated objective and the one recounted from the data."""


class TreeSearch(Method[Problem]):
    """Branch and bound by the user's rules; the form is the problem itself, which recounts every incumbent."""

    name: ClassVar[str] = "tree"
    promise: ClassVar[str] = "as good as the rules given: proven when the tree is done"
    options: ClassVar[Options] = {
        "rules": Option(None, "a mipclass.tree.Rules, or a function that makes one from the problem (required)"),
        "nodes": Option(None, "most nodes to visit; None: no limit", optional(number(1, integer=True))),
        "order": Option("depth", "'depth' first or 'best' bound first", one_of("depth", "best")),
        "keep_tree": Option(False, "hand back the tree as a networkx DiGraph in extra['tree']", one_of(True, False)),
        "granularity": Option(0.0, "objectives are multiples of this number; 0: unknown", number(0)),
    }

    def match(self, problem: Problem) -> Problem | Refusal:
        """Any problem: its rules come with the options."""
        return problem

    def solve(self, form: Problem, run: Run) -> Outcome:
        """Search the tree of the given rules."""
        rules = self._rules(form, run.options["rules"])
        checked = _Recounted(rules, form)
        got = search(
            checked,
            run,
            order=run.options["order"],
            node_limit=run.options["nodes"],
            keep_tree=run.options["keep_tree"],
            granularity=run.options["granularity"],
        )
        extra = {} if got.tree is None else {"tree": got.tree}
        bound = got.bound if np.isfinite(got.bound) else None
        if got.best is None:
            is_done = got.status is Status.OPTIMAL
            status = Status.INFEASIBLE if is_done else got.status
            return Outcome(status, "proven" if is_done else "none", None, None, bound, nodes=got.nodes, extra=extra)
        values = {name: np.asarray(value, dtype=np.float64) for name, value in got.best.values.items()}
        objective = got.best.objective
        is_closed = objective - got.bound <= CLOSED * max(abs(objective), abs(got.bound))
        claim: Claim = "proven" if got.status is Status.OPTIMAL and is_closed else "heuristic"
        return Outcome(got.status, claim, values, objective, bound, nodes=got.nodes, extra=extra)

    def _rules(self, problem: Problem, given: Any) -> Rules:
        rules = given(problem) if callable(given) and not isinstance(given, Rules) else given
        if not isinstance(rules, Rules):
            raise OptionError(
                "solver 'tree' needs options={'rules': ...}, a mipclass.tree.Rules object or a function that makes one from "
                f"the problem; got {type(given).__name__}. For the rules of Nguyen & Sanner use solver='bnb'."
            )
        return rules


class _Recounted(Rules):
    """The user's rules, every incumbent recounted from the data."""

    def __init__(self, rules: Rules, problem: Problem) -> None:
        self.rules, self.problem, self.n = rules, problem, rules.n

    def bound(self, fixed: Decisions) -> float:
        return self.rules.bound(fixed)

    def branch(self, fixed: Decisions) -> tuple[int, int] | None:
        return self.rules.branch(fixed)

    def propagate(self, fixed: Decisions, changed: int | None) -> Decisions | None:
        return self.rules.propagate(fixed, changed)

    def separate(self, fixed: Decisions) -> None:
        self.rules.separate(fixed)

    def incumbent(self, fixed: Decisions) -> Incumbent | None:
        found = self.rules.incumbent(fixed)
        if found is None:
            return None
        true = self.problem.recount(found.values)
        if abs(true - found.objective) > RECOUNT_TOLERANCE * max(abs(true), abs(found.objective)):
            raise InvalidInputError(
                f"the rules proposed a solution with objective {found.objective:g}, but recounted from the data it is {true:g}; "
                "Rules.incumbent must state the objective of its values."
            )
        return found
