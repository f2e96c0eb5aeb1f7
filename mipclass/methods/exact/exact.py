"""Solver "exact": proven optimum of the 0-1 loss, with a certificate.

Preprocess (merge, cancel, drop constant columns), ask the separability LP, find a good rule by local search, then prove: by boxes
where there are few features, by infeasible subsystems where there are many or side constraints, by both in turn in between
(`plain`, `race`). With several workers boxes are grown in pieces (`box.piece_pass`), and infeasible
subsystems in subtrees (`iis.at_once`), or in a process of their own beside boxes.
"""

from __future__ import annotations

from typing import ClassVar

from ...modelling.problem import Problem
from ...protocol.options import Options
from ...protocol.result import Outcome
from ...protocol.run import Run
from ..base import Method, Refusal
from .answer import KEPT_OPTIONS
from .constrained import prove_constrained, prove_in_cone
from .few.search import MOST_SETS, number_of_sets, prove_few
from .form import ProofForm, match_proof
from .helping import open_checkpoint
from .plain import BOX_AT_MOST, prove_plain
from .priced import prove_priced
from .whole.search import prove_whole, refusal_of_whole


class Exact(Method[ProofForm]):
    """The 0-1 loss, plain or with limits on errors, homogeneous rows, few features, a cost of features or whole weights."""

    name: ClassVar[str] = "exact"
    promise: ClassVar[str] = "proven: optimum with a checkable certificate when it finishes, a proven bound at any time"
    options: ClassVar[Options] = KEPT_OPTIONS

    def match(self, problem: Problem) -> ProofForm | Refusal:
        """The 0-1 loss with limits, rows, few features or whole weights, or why the problem is not of that form."""
        form = match_proof(problem, plain=False, discrete=True)
        if isinstance(form, ProofForm) and form.statement.whole is not None:
            refused = refusal_of_whole(form)
            return form if refused is None else refused
        if isinstance(form, ProofForm) and form.statement.margin:
            return Refusal(
                "it proves the scale-free loss, ZeroOne(margin=0); use solver='iis' or 'highs' for a margin."
            )
        if isinstance(form, ProofForm) and form.statement.chooses_features and number_of_sets(form) > MOST_SETS:
            return Refusal(
                f"it proves one set of features after the other, up to {MOST_SETS:,} of them, and the problem has "
                f"{number_of_sets(form):,}; allow for fewer features, leave some out of X, or use solver='highs'."
            )
        return form

    def solve(self, form: ProofForm, run: Run) -> Outcome:
        """A race of provers for the plain problem; in few dimensions the same among rules that keep homogeneous rows, and prices for
        limits; branch and cut for other side constraints; all this set by set where features are to be chosen; boxes of the lattice for
        whole weights."""
        open_checkpoint(form, run)
        if form.statement.whole is not None:
            return prove_whole(form, run)
        if form.statement.chooses_features:
            return prove_few(form, run)
        if form.statement.is_plain:
            return prove_plain(form, run, None)
        if form.is_plain_in_a_cone and form.statement.limits:
            return prove_priced(form, run)
        if not form.is_plain_in_a_cone or form.X.shape[1] > BOX_AT_MOST:
            return prove_constrained(form, run)
        return prove_in_cone(form, run)
