"""iis with SCIP's branch and bound as master: the covering problem over binary errors, subsystems as lazy rows.

    minimise  sum_i c_i e_i   subject to  limits on e,  e(I) >= 1 for each IIS I,  e in {0, 1}

The root is cut by our own LP first; its best supports are SCIP's first rows. SCIP is then shown more at every relaxation and candidate. A
candidate is accepted only when a rule is at hand that, counted on the data, errs on no other points. SCIP's bound is SCIP's word: it comes
without a certificate, and the certified bound of the root is handed out beside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import ceil

import numpy as np

from ....arrays import Array, Mask
from ....backends.base import Solution
from ....backends.scip import ScipBackend
from ....backends.second_look import second_look
from ....errors import SolverNotFoundError
from ....modelling.builder import Builder
from ....modelling.program import Program
from ....protocol.hooks import Cut, Hooks
from ....protocol.result import Claim, Outcome, Status
from ....protocol.run import Event, Run
from ..answer import answer, stopper
from ..form import ProofForm
from ..provers import IISProver
from .rules import widest_rules
from .separator import choose
from .tree import IISSearch

CUTS = 60
"""Rows given to SCIP for one fractional point, at most."""

REUSE = 12
"""New rows that may share a point."""

LOOKS = 25
"""Walks of the separating simplex for one fractional point."""

DEEP = 0.9
"""Fractional points are cut off only by supports whose cover is below this; shallower cuts would fill SCIP's LP."""

WHOLE = 1e-6
"""Distance from whole numbers up to which a point counts as whole: SCIP's own integrality tolerance."""

BOUND_SLACK = 1e-6
"""Fraction of SCIP's bound that is taken off before it is rounded up: SCIP's feasibility tolerance."""


def prove_by_scip(form: ProofForm, run: Run, starts: Iterable[Array]) -> Outcome:
    """Root cuts, then SCIP; the root's proof alone when that is enough or the time is up."""
    if not ScipBackend.is_installed():
        raise SolverNotFoundError(
            "options={'master': 'scip'} needs SCIP; pip install 'mipclass[scip]', or leave the option at 'own'."
        )
    prover = IISProver(form.cover(), run.seed, run)
    search = prover.search
    for W in starts:
        prover.offer(W)
    stop = stopper(run, lambda: 0)

    def tell() -> None:
        run.report(objective=search.data.cost(search.best), bound=search.data.cost(search.lower))

    search.cut_root(stop, tell)
    lazy = LazyCovers(search, run)
    solution = None
    if not search.finished and stop() is None:
        solution = lazy.solve()
    return _outcome(form, run, prover, solution, lazy.doubtful)


class LazyCovers:
    """The rules SCIP asks: which subsystems a point misses, and whether there is a better cover."""

    def __init__(self, search: IISSearch, run: Run) -> None:
        self.search, self.data, self.run = search, search.data, run
        self.doubtful = False  # a candidate was refused for want of a rule, though no missed subsystem was found
        self._offered = search.best

    def program(self) -> Program:
        """The covering problem with the supports of the root's LP."""
        build = Builder("cover")
        e = build.binaries("error", self.data.n)
        build.minimize((self.data.costs / self.search.master.unit) @ e)
        for k, (coefficients, at_most) in enumerate(self.data.limits):
            build.subject_to(f"limit{k}", coefficients @ e <= at_most)
        master = self.search.master
        if len(master.rows):
            build.subject_to("cover", master.pool[master.rows] @ e >= 1)
        return build.build()

    def solve(self) -> Solution:
        """SCIP's branch and bound over the covers, from the incumbent."""
        run = self.run

        def forward(event: Event) -> None:
            objective, bound = event.objective, event.bound
            run.report(
                objective=self.data.cost(None if objective is None else round(objective * self.search.master.unit)),
                bound=self.data.cost(None if bound is None else _rounded_up(bound, self.search)),
                nodes=event.nodes,
            )

        hooks = Hooks(separate=self.separate, incumbent=self.propose)
        inner = run.inner(gap=run.gap, callback=forward, hooks=hooks, node_limit=run.options.get("node_limit"))
        start = None if self.search.best_W is None else self.data.errors(self.search.best_W).astype(np.float64)
        backend, program = ScipBackend(), self.program()
        return second_look(backend, program, inner, backend.solve(program, inner, start), start)

    def separate(self, x: Array) -> list[Cut]:
        """Rows that x misses; none accepts a whole-numbered x."""
        cover = np.clip(x, 0.0, 1.0)
        if np.abs(cover - np.round(cover)).max(initial=0.0) <= WHOLE:
            return self._check(np.round(cover))
        found, rules = self.search.separator.violated(cover, cover, LOOKS, enough=4 * CUTS, stop=self.run.stop)
        for W in rules[:3]:
            self.search.offer(W)
        deep = [s for s in found if cover[[i for i in s if i < self.data.n]].sum() < DEEP]
        return self._cuts([tuple(s) for s in choose(deep, cover, self.data.n, CUTS, REUSE)])

    def _check(self, cover: Array) -> list[Cut]:
        """A candidate is right when some rule errs on its points only, by the count on the data."""
        wrong = cover > 0.5
        best = self.search.best_W
        if best is not None and self._errs_within(best, wrong):
            return []
        supports, _, W = self.search.separator.minimise(cover, cover, 0.5)
        if supports:
            return self._cuts(supports)
        for rule in [W, *widest_rules(self.data, ~wrong)]:
            if self._errs_within(rule, wrong):
                self.search.offer(rule)
                return []
        self.doubtful = True
        return self._cuts([tuple(np.flatnonzero(~wrong).tolist())])

    def _errs_within(self, W: Array, wrong: Mask) -> bool:
        if not np.isfinite(W).all() or not self.data.keeps_sides(W):
            return False
        return not (self.data.errors(W) & ~wrong).any()

    def _cuts(self, supports: list[tuple[int, ...]]) -> list[Cut]:
        cuts = []
        for support in supports:
            points = np.array([i for i in support if i < self.data.n], dtype=np.int64)
            if len(points):
                cuts.append(Cut(points, np.ones(len(points)), 1.0, np.inf))
            else:  # side rows alone contradict each other, which no error repairs: a row that no binary satisfies
                cuts.append(Cut(np.zeros(1, dtype=np.int64), np.ones(1), 2.0, np.inf))
        return cuts

    def propose(self, x: Array | None) -> Array | None:
        """The cover of a rule met while separating, once for each improvement."""
        best, W = self.search.best, self.search.best_W
        if best is None or W is None or best == self._offered:
            return None
        self._offered = best
        return self.data.errors(W).astype(np.float64)


def _rounded_up(bound: float, search: IISSearch) -> int:
    """SCIP's bound in units, less its tolerance, rounded up to the next attainable cost."""
    units = (bound - BOUND_SLACK * max(1.0, abs(bound))) * search.master.unit
    return search.leaves.sums.least_from(max(0, ceil(units)))


def _outcome(form: ProofForm, run: Run, prover: IISProver, solution: Solution | None, doubtful: bool) -> Outcome:
    """The certified answer of the root, with SCIP's bound in place of it where that is higher."""
    search, data = prover.search, prover.data
    rule = _finished_rule(form, prover, run)
    stopped = None if solution is None or solution.status is Status.OPTIMAL else solution.status
    lower = prover.proof()
    certified = answer(
        form,
        run,
        rule=rule,
        lower=lower,
        stopped=run.stop() or stopped,
        nodes=0 if solution is None else int(solution.nodes or 0),
        extra={"supports": len(search.master.supports)},
    )
    if solution is None or solution.bound is None or doubtful:
        return certified
    if solution.status is Status.INFEASIBLE:
        return _by_scip(certified, Status.INFEASIBLE, "proven", float("inf"), solution) if rule is None else certified
    loss = None if rule is None else form.exact_loss(*rule)
    bound = data.constant + data.unit * _rounded_up(solution.bound, search)
    bound = bound if loss is None else min(bound, loss)
    if bound <= Fraction(lower["bound"]):
        return certified
    closed = loss is not None and bound >= loss
    within = loss is not None and loss - bound <= Fraction(run.gap) * loss
    status = Status.OPTIMAL if closed or within else certified.status
    return _by_scip(certified, status, "proven" if closed else certified.claim, float(bound), solution)


def _finished_rule(form: ProofForm, prover: IISProver, run: Run) -> tuple[Array, float] | None:
    """The incumbent with the widest margins that get the same points right."""
    if form.statement.is_plain and prover.rule is not None:
        return form.finished_rule(form.data, prover.rule, run)
    return prover.widest_rule()


def _by_scip(root: Outcome, status: Status, claim: Claim, bound: float, solution: Solution) -> Outcome:
    """The root's outcome with SCIP's status, claim and bound; what the root has certified goes into `extra`."""
    certified = {"root_bound": root.bound, "root_certificate": root.certificate}
    is_empty = status is Status.INFEASIBLE
    return Outcome(
        status,
        claim,
        None if is_empty else root.values,
        None if is_empty else root.objective,
        bound,
        nodes=root.nodes,
        raw_status=solution.raw_status,
        extra={**root.extra, "proof_by": "scip", **certified},
        unit=root.unit,
    )
