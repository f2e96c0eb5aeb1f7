"""The one policy behind solver="auto", for `solve`, the estimators and the command line alike.

It looks at a problem's normal form (rule, losses, constraints), its size and the effort that the caller allows, and names
solvers in the order in which they are to be tried. Nothing is imported to name a solver: the driver imports the one it tries,
asks whether it takes the problem, and goes on to the next one when it does not, or when it ends without a trustworthy answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import comb
from typing import Any

from ..modelling.model import Model
from ..modelling.problem import Problem
from ..modelling.program import Feature
from .arguments import PlainProgram


class Effort(StrEnum):
    """How long the caller is ready to wait."""

    PROOF = "until proven, or until the time limit"
    SECOND = "about a second"


@dataclass(frozen=True)
class Choice:
    """A solver to try, why, and the options that go with the choice."""

    solver: str
    why: str
    options: Mapping[str, Any] = field(default_factory=dict)


PROVEN_IN_A_SECOND = {1: 10_000, 2: 5_000, 3: 5_000, 4: 2_000, 5: 500, 6: 100, 7: 60, 8: 60, 9: 60, 10: 60}
"""Number of features -> most distinct points for which `exact` proves the plain 0-1 loss in about one second of processor time.

Measured on overlapping normal classes with 20 % of the labels flipped; sets beyond the table go to `csa`.
"""

A_SECOND_OF_NODES: Mapping[str, Any] = {"node_limit": 20_000, "local_steps": 2_000}
"""Options of `exact` that bound its work deterministically: about a second in up to six features."""

SECONDS_OF_BOXES = 100_000_000
"""Different points x features squared x boxes that `lattice` goes through in a few seconds."""

FEWEST_BOXES, MOST_BOXES = 10, 5_000
"""Limits of the number of boxes that is derived from it."""

MOST_ENUMERATED = 1_000_000_000
"""Pencils x points x coordinates that `pcs` goes through in about a second."""

MOST_DIRECTIONS = 6
"""Features up to which the hard-margin loss goes to `directions`; with more its boxes multiply, and `subsystems` branches on points instead."""

MOST_RAMPS, RAMP_FEATURES = 30, 5
"""Points and features up to which the ramp loss of a linear rule is proven by default. On overlapping normal classes with 2 and 5 features, C from 0.1 to 100,
s = 0 and -1, theta = 0 and 0.3 every proof of 20 points took 0.1 CPU seconds at most, and every one of 40 points 11. With more points it depends on
the data, from a second to never, and the outlier path has a local minimum at once."""

RAMPS_OF_ANY_RULE = 16
"""Points up to which the ramp loss is proven with more features or a kernel: a full tree over their outliers has 2^17 nodes, about ten seconds."""

A_SECOND_OF_HARD_MARGIN: Mapping[str, Any] = {"node_limit": 500, "starts": 20}
"""Options of `directions` and `subsystems` that bound their work deterministically: about a second with 200 points."""

BY_KIND = {
    Feature.LP: ("highs", "cvxpy:CLARABEL"),
    Feature.QP: ("piqp", "cvxpy:CLARABEL", "highs", "osqp", "scip"),
    Feature.MIP: ("highs", "scip"),
    Feature.MIQP: ("scip", "highs"),
}
"""Kind of program -> backends in the order of preference; those that are not installed are passed over. A QP that is
not convex is refused by all but SCIP, which is the last to be asked because it is the slowest on convex ones."""


def choices(problem: Problem, effort: Effort) -> Iterator[Choice]:
    """Solvers for the problem, the best one first. Each may still refuse it, or not be installed."""
    yield from _made_for(problem, effort)
    kind = problem.program().kind
    for name in BY_KIND[kind]:
        yield Choice(name, f"the problem is a {kind} that no method made for its form takes")


def _made_for(problem: Problem, effort: Effort) -> Iterator[Choice]:
    """The methods made for the problem's normal form."""
    if isinstance(problem, PlainProgram):
        return
    if not isinstance(problem, Model):
        yield from _made_for_rankings(problem)
        return
    from ..models.logistic import Logistic
    from ..models.outlier_svm import HardMargin
    from ..models.penalties import L0
    from ..models.ramp import Ramp
    from ..models.rules import Polyhedron
    from ..models.topk_ranking import TopKRanking
    from ..models.zero_one_loss import ZeroOne

    terms = [term for coefficient, term in problem.terms if coefficient > 0]
    if isinstance(problem.rule, Polyhedron):
        yield Choice("slp", "its rule is a polyhedron")
    elif any(isinstance(term, ZeroOne) for term in terms):
        yield from _zero_one(problem, effort)
    elif any(isinstance(term, Ramp) for term in terms):
        yield from _ramp(problem, effort)
    elif any(isinstance(term, TopKRanking) for term in terms):
        yield Choice("lbfgs", "its loss is the top-k ranking loss")
    elif any(isinstance(term, Logistic) for term in terms):
        yield from _logistic(problem, effort)
    elif any(isinstance(constraint, HardMargin) for constraint in problem.constraints):
        yield Choice("gilbert", "it asks for the widest margin without outliers")
        yield Choice("rgd-tree", "it asks for the widest margin with outliers")
    elif terms and all(isinstance(term, L0) for term in terms):
        yield Choice("exact", "it minimises the number of features under limits on errors, which exact proves")


def _ramp(problem: Model, effort: Effort) -> Iterator[Choice]:
    """A proof of few points, or of any number where the offset is free: the outlier path does not take that, and a MIP solver has weaker bounds."""
    from ..models.rules import Linear

    is_small = isinstance(problem.rule, Linear) and problem.data.d <= RAMP_FEATURES
    if effort is Effort.PROOF and problem.points.n <= (MOST_RAMPS if is_small else RAMPS_OF_ANY_RULE):
        yield Choice("balls", "its loss is the ramp loss, and there are few enough points for a proof")
    elif effort is Effort.PROOF and isinstance(problem.rule, Linear) and problem.rule.intercept is True:
        yield Choice("balls", "its loss is the ramp loss, and its offset is free")
    yield Choice("outlier-path", "its loss is the ramp loss")


def _logistic(problem: Model, effort: Effort) -> Iterator[Choice]:
    """Each of the three takes what the one before refuses: convex, whole or few weights, any constraints."""
    yield Choice("newton", "its loss is the logistic loss and the problem is convex")
    yield Choice("lattice", "its loss is the logistic loss with whole or few weights", _few_boxes(problem, effort))
    yield Choice("cutting-plane", "its loss is the logistic loss, with constraints that need a MIP solver")


def _few_boxes(problem: Model, effort: Effort) -> Mapping[str, Any]:
    """Options of `lattice` that bound its work deterministically where the caller waits for seconds only."""
    if effort is Effort.PROOF:
        return {}
    boxes = SECONDS_OF_BOXES // (problem.points.n * (problem.data.d + 1) ** 2)
    return {"node_limit": min(max(boxes, FEWEST_BOXES), MOST_BOXES)}


def _made_for_rankings(problem: Problem) -> Iterator[Choice]:
    """Rankings and projections are problems of their own, not Models."""
    from ..models.false_positive import BlockedRanking, KernelRanking
    from ..models.topk_projection import TopKProjection

    if isinstance(problem, BlockedRanking):
        yield Choice("lbfgs", "it ranks rows that come in blocks")
    elif isinstance(problem, KernelRanking):
        yield Choice("fista", "it ranks by a kernel")
    elif isinstance(problem, TopKProjection):
        yield Choice("topk", "it is the projection onto the top-k simplex")


def _zero_one(problem: Model, effort: Effort) -> Iterator[Choice]:
    """Prove where that is affordable; enumeration second, since it decides in another way where rounding stopped a proof."""
    from ..models.penalties import L2
    from ..models.zero_one_loss import zero_one_margin

    if problem.term(L2) is not None:
        options = {} if effort is Effort.PROOF else A_SECOND_OF_HARD_MARGIN
        if problem.data.d <= MOST_DIRECTIONS:
            yield Choice("directions", "it minimises the hard-margin loss of few features", options)
        yield Choice("subsystems", "it minimises the hard-margin loss", options)
    if effort is Effort.PROOF or problem.constraints or len(problem.terms) > 1:
        yield Choice("exact", "it minimises the 0-1 loss, which exact proves with a certificate")
    elif problem.points.n <= PROVEN_IN_A_SECOND.get(problem.data.d, 0):
        yield Choice("exact", "a proof takes about a second at this size", A_SECOND_OF_NODES)
    if zero_one_margin(problem):
        yield Choice("iis", "it minimises the 0-1 loss with a margin, which iis proves with a certificate")
    if not problem.constraints and _is_enumerable(problem):
        yield Choice("pcs", "all hyperplanes through points can be tried in about a second")
    if effort is Effort.SECOND and not problem.constraints:
        yield Choice("csa", "a proof would take longer than about a second at this size")


def _is_enumerable(problem: Model) -> bool:
    n, d = problem.points.n, problem.data.d
    return comb(n, max(0, d - 1)) * n * (d + 4) <= MOST_ENUMERATED
