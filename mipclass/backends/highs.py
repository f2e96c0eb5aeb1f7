"""HiGHS: LP, convex QP, MIP and, by outer approximation, convex MIQP; the embedded default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..arrays import Array
from ..modelling.program import Feature, Program
from ..protocol.hooks import check_hooks_without_cuts
from ..protocol.options import Option, Options, number, one_of, optional
from ..protocol.run import Run
from .base import Backend, Solution
from .highs_direct import solve_directly
from .outer_approximation import solve_miqp


class HighsBackend(Backend):
    """Any LP, convex QP or MIP. Convex MIQPs are solved by a loop of MIPs and QPs, see outer_approximation."""

    name: ClassVar[str] = "highs"
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.LP, Feature.QP, Feature.MIP, Feature.MIQP})
    module: ClassVar[str] = "highspy"
    distribution: ClassVar[str] = "highspy"
    hooks: ClassVar[frozenset[str]] = frozenset({"incumbent"})
    without_presolve: ClassVar[Mapping[str, Any]] = {"presolve": "off"}
    options: ClassVar[Options] = {
        "algorithm": Option("choose", "LP algorithm", one_of("choose", "simplex", "ipm", "pdlp")),
        "presolve": Option("choose", "presolve", one_of("choose", "on", "off")),
        "node_limit": Option(None, "most nodes of a MIP search", optional(number(1, integer=True))),
        "iteration_limit": Option(None, "most simplex or QP iterations", optional(number(0, integer=True))),
        "feasibility_tolerance": Option(
            None,
            "largest accepted violation of a row; None is HiGHS's own choice, 1e-7 and for a MIP 1e-6",
            optional(number(1e-10, 1e-2)),
        ),
        "hooks": Option(
            None,
            "Hooks, of which the `incumbent` rule proposes points during a MIP search; propagation and branching are left out",
            check_hooks_without_cuts,
        ),
        "highs": Option({}, "options passed to HiGHS as they are, by HiGHS's own names"),
    }

    def hears(self, program: Program) -> bool:
        """Not during a QP, which its active-set method solves in one step."""
        return program.Q is None or program.is_integer

    def solve(self, program: Program, run: Run, start: Array | None = None) -> Solution:
        """See `Backend.solve`."""
        solve = solve_miqp if program.kind is Feature.MIQP else solve_directly
        return solve(program, run, start)
