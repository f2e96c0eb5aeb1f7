"""Checks a proof set of features by set of features: every rule uses the features of a set for which enough is proven.

With a cost c of each feature and at most k of them, a rule that uses exactly the features T costs at least c |T| plus what any rule over a
set that contains T costs. So for every size t <= k each set of t features has to lie in a set whose own bound is at least the claim less
c t. The bound of a set is proven by any other kind of proof, about the same points with these features alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from .arithmetic import Rejected, field, least_sum, rational, whole_list
from .patience import look
from .points.merged import merged_costs
from .points.vectors import Vectors
from .problem import ExactProblem
from .scope import Scope

Prove = Callable[[Any, ExactProblem, Scope], tuple[Fraction, int]]
"""Checks a proof about a problem without limits on features; (bound, nodes)."""


def check_supports(lower: Any, problem: ExactProblem, scope: Scope, prove: Prove) -> tuple[Fraction, int]:
    """(the claimed bound, nodes) when every set of features is covered; Rejected otherwise."""
    claimed = rational(field(lower, "bound", "lower"), "lower, bound")
    contents = field(lower, "proofs", "lower")
    if not isinstance(contents, list):
        raise Rejected("lower, proofs", "expected a list")
    d = problem.X.width
    sets, nodes = [], 0
    most_costly = sum(problem.costs, Fraction(0))
    for number, content in enumerate(contents):
        place = f"set {number}"
        features = whole_list(field(content, "features", place), place)
        if len(set(features)) != len(features) or not all(0 <= j < d for j in features):
            raise Rejected(place, "its features repeat or do not exist")
        features.sort()
        try:
            bound, more = _bound_of(content, on_features(problem, features), _scope_of(scope, features, d), prove)
        except Rejected as fault:
            raise Rejected(f"{place}, {fault.place}", fault.reason) from fault
        # No rule costs more than all points together: a higher bound says that none keeps the limits.
        sets.append((frozenset(features), bound, bound > most_costly))
        nodes += more
    most = d if problem.max_features is None else min(d, problem.max_features)
    for size in range(most if not problem.feature_cost else 0, most + 1):
        needed = claimed - size * problem.feature_cost
        if needed > 0:
            covering = [features for features, bound, is_impossible in sets if is_impossible or bound >= needed]
            _check_covered(size, d, covering)
    return claimed, nodes


def _bound_of(content: Any, problem: ExactProblem, scope: Scope, prove: Prove) -> tuple[Fraction, int]:
    """(bound, nodes) of one set: what its proof gives, or the next sum of costs above it if the proof claims that."""
    proof = field(content, "proof", "proof")
    claimed = rational(field(proof, "bound", "proof"), "bound")
    proven, nodes = prove(proof, problem, scope)
    if claimed > proven:
        proven = least_sum(merged_costs(problem), proven)
    if claimed > proven:
        raise Rejected("bound", f"the proof gives {proven}, the certificate claims {claimed}")
    return claimed, nodes


def on_features(problem: ExactProblem, features: list[int]) -> ExactProblem:
    """The problem over some features, all of which cost nothing; rows that say nothing about their weights or the offset are left out."""
    rows = [([row[j] for j in features] + row[-1:], end) for row, end in problem.rows]
    kept = [(row, end) for row, end in rows if any(row)]
    for row, end in rows:
        if not any(row) and end > 0:
            raise Rejected("rows", "a row cannot hold for weights of zero; proofs by sets of features do not cover it")
    return replace(
        problem,
        X=Vectors(problem.X.values[:, features]),
        rows=kept,
        max_features=None,
        feature_cost=Fraction(0),
        whole=None,
    )


def _scope_of(scope: Scope, features: list[int], d: int) -> Scope:
    """The scales of these features, and that of the offset if there is one."""
    return Scope(scope.margin, [scope.scales[j] for j in features] + scope.scales[d:])


def _check_covered(size: int, d: int, sets: list[frozenset[int]]) -> None:
    """Rejected unless each set of `size` of the features 0 to d - 1 is inside one of the sets."""

    def walk(chosen: list[int], start: int, around: list[frozenset[int]]) -> None:
        look()
        if len(chosen) == size:
            if not around:
                raise Rejected("lower, proofs", f"no proof covers the features {chosen}")
            return
        if any(features.issuperset(range(start, d)) for features in around):
            return
        for j in range(start, d - (size - len(chosen)) + 1):
            walk([*chosen, j], j + 1, [features for features in around if j in features])

    walk([], 0, sets)
