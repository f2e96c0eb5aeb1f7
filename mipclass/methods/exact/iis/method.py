"""Solver "iis": the 0-1 loss, also under limits on errors and rows on (w, b), by covering infeasible subsystems (see `iis.tree`)."""

from __future__ import annotations

from typing import ClassVar

from ....errors import warn
from ....modelling.problem import Problem
from ....protocol.options import Option, Options, one_of
from ....protocol.result import Outcome
from ....protocol.run import Run
from ...base import Method, Refusal
from ..answer import KEPT_OPTIONS
from ..constrained import prove_constrained
from ..first_rules import first_rules
from ..form import ProofForm, match_proof
from ..helping import open_checkpoint
from ..plain import prove_plain


class IIS(Method[ProofForm]):
    """Best for many features or a small loss; takes false-positive limits, signs, bounds and margins."""

    name: ClassVar[str] = "iis"
    promise: ClassVar[str] = "proven: exact with a checkable certificate when it finishes, a proven bound at any time"
    options: ClassVar[Options] = {
        **KEPT_OPTIONS,
        "master": Option(
            "own",
            "'own' branch and bound, whose every bound is certified, or 'scip', whose bounds beyond the root's are SCIP's word",
            one_of("own", "scip"),
        ),
    }

    def match(self, problem: Problem) -> ProofForm | Refusal:
        """A 0-1 loss with limits, rows or a margin, or why the problem is not of that form."""
        return match_proof(problem, plain=False)

    def solve(self, form: ProofForm, run: Run) -> Outcome:
        """Branch and cut by our own tree or by SCIP's."""
        if run.options.get("master") == "scip":
            from .scip_master import prove_by_scip

            if run.options["checkpoint"] is not None:
                warn(
                    "the option 'checkpoint' keeps nothing of SCIP's search; use the option master='own' to keep what is proven."
                )
            return prove_by_scip(form, run, first_rules(form, run))
        open_checkpoint(form, run)
        if form.statement.is_plain:
            return prove_plain(form, run, ("iis",))
        return prove_constrained(form, run)
