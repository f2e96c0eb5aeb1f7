"""The independent checker of certificates: exact arithmetic, and nothing of the search that found the proof.

`mipclass.verify(certificate, X, y)` answers with a Verdict: accepted or not, what is proven, and, for a
certificate that is rejected, why and where. Docs: docs/certificates.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .arithmetic import Rejected, field, least_sum, rational
from .patience import UnfinishedError, look, until
from .points.merged import check_rows, merged_costs
from .problem import ExactProblem, read_data, unfolded, without_choice
from .scope import Scope, read_scope, scope_in_words
from .wording import HARD_MARGIN, MAXIMUM_MARGIN, RAMP, AboutProblem, about

__all__ = ["UnfinishedError", "Verdict", "check", "verify"]

if TYPE_CHECKING:
    from ..modelling.problem import Problem


@dataclass(frozen=True)
class Verdict:
    """What the checker found. True in a condition when the certificate was accepted.

    lower, upper : proven limits of the optimum (None when rejected; `upper` also when the certificate holds no rule).
    reason, place : why and where it was rejected; empty otherwise.
    nodes : size of the tree that was checked.
    problem : what the certificate is about (None when that cannot be read): weights, limits, rows, margin, offset and scope.
    relative_margin : the bound `lower` speaks of the rules whose right points are right by this relative margin (`scope`); 0: of all.
    """

    accepted: bool
    lower: Fraction | None = None
    upper: Fraction | None = None
    reason: str = ""
    place: str = ""
    nodes: int = 0
    problem: AboutProblem | None = None
    relative_margin: Fraction = Fraction(0)

    @property
    def optimal(self) -> bool:
        """The rule in the certificate is proven to be optimal: no rule in the scope of the bound has a smaller loss."""
        return self.accepted and self.upper is not None and self.lower == self.upper

    def __bool__(self) -> bool:
        return self.accepted

    def __str__(self) -> str:
        return self.in_words()

    def in_words(self, feature_names: Sequence[str] | None = None) -> str:
        """The verdict and the problem that it is about, over several lines."""
        if not self.accepted:
            head = f"rejected at {self.place}: {self.reason}"
        else:
            upper = "no rule" if self.upper is None else f"a rule with loss {_show(self.upper)}"
            ending = "; the rule is optimal" if self.optimal else ""
            within = "" if self.problem is None or self.problem.is_plain else " of the problem below"
            speaks_of = scope_in_words(self.relative_margin)
            head = f"accepted: no rule{within}{speaks_of} has a loss below {_show(self.lower)}, {upper}{ending}"
        return "\n".join([head, *(f"  {line}" for line in (self.problem.lines(feature_names) if self.problem else []))])

    def as_dict(self) -> dict[str, Any]:
        """Everything, in values that JSON can hold; fractions as "p/q"."""
        return {
            "accepted": self.accepted,
            "optimal": self.optimal,
            "lower": None if self.lower is None else str(self.lower),
            "upper": None if self.upper is None else str(self.upper),
            "relative_margin": str(self.relative_margin),
            "reason": self.reason,
            "place": self.place,
            "nodes": self.nodes,
            "problem": None if self.problem is None else self.problem.as_dict(),
        }


def _show(value: Fraction | None) -> str:
    return "-" if value is None else f"{float(value):.10g}"


def verify(certificate: Any, X: Any, y: Any, *, problem: Problem | None = None, threads: int = 1) -> Verdict:
    """Check a certificate against the data it is about and, with `problem`, against the problem that it should be about.

    Without `problem` the certificate is checked for what it states itself, which `verdict.problem` tells: on the same data it may be
    about other weights, limits, rows, offset or margin than you think of.

    Parameters
    ----------
    certificate : a Certificate, its JSON content as a dict, JSON text, or the path of a file.
    X : (n, d) numbers, as they were when the certificate was made.   y : n labels of two kinds.
    problem : a Model; a certificate of another problem is rejected, with the parts that differ.
    threads : pieces of a large proof that are checked at a time.
    """
    content: Any = None
    try:
        content = _content(certificate)
        with until(None, threads):
            if problem is None:
                verdict = _check(content, X, y)
            else:
                read_data(content, X, y)
                verdict = _check_for(content, problem)
    except Rejected as fault:
        verdict = Verdict(False, reason=fault.reason, place=fault.place)
    return replace(verdict, problem=_about(content, X))


def check(certificate: Any, problem: Problem, stop: Callable[[], object] | None = None, threads: int = 1) -> Verdict:
    """Check a certificate against a Model: its data, and that it states this problem and no other.

    stop : asked often; UnfinishedError is raised once it is true.     threads : pieces of a proof that are checked at a time.
    """
    try:
        content = _content(certificate)
        with until(stop, threads):
            look()
            return _check_for(content, problem)
    except Rejected as fault:
        return Verdict(False, reason=fault.reason, place=fault.place)


def _check_for(content: Any, problem: Problem) -> Verdict:
    from ..modelling.model import Model
    from .statement import check_states_hard_margin, check_states_margin, check_states_ramp, check_states_zero_one

    if not isinstance(problem, Model):
        raise Rejected("problem", "certificates are about a Model")
    if _kind(content) == MAXIMUM_MARGIN:
        check_states_margin(content, problem)
    elif _kind(content) == HARD_MARGIN:
        check_states_hard_margin(content, problem)
    elif _kind(content) == RAMP:
        check_states_ramp(content, problem)
    else:
        check_states_zero_one(content, problem)
    return _check(content, problem.X, problem.y_pm1, signed=True)


def _about(content: Any, X: Any) -> AboutProblem | None:
    """What the certificate states, if it can be read and is about data of this size."""
    shape = X.shape if hasattr(X, "shape") else np.shape(X)
    data = content.get("data") if isinstance(content, dict) else None
    if len(shape) != 2 or not isinstance(data, dict) or shape != (data.get("points"), data.get("features")):
        return None
    try:
        return about(content, *shape)
    except Rejected:
        return None


def _content(certificate: Any) -> Any:
    content = getattr(certificate, "content", certificate)
    if isinstance(content, Path) or (isinstance(content, str) and not content.lstrip().startswith("{")):
        content = Path(content).read_text(encoding="utf-8")
    if isinstance(content, str):
        try:
            content = json.loads(content)
        except json.JSONDecodeError as err:
            raise Rejected("format", f"not a JSON document ({err})") from err
    return content


def _kind(content: Any) -> Any:
    stated = content.get("problem") if isinstance(content, dict) else None
    return stated.get("kind") if isinstance(stated, dict) else None


def _check(content: Any, X: Any, y: Any, *, signed: bool = False) -> Verdict:
    from .problem import check_rule, read_problem

    if signed and isinstance(content, dict) and isinstance(content.get("data"), dict):
        one_class = content["data"].get("positive") == "only"
        content = {**content, "data": {**content["data"], "positive": "only" if one_class else "larger"}}
    if _kind(content) == MAXIMUM_MARGIN:
        from .margin import check_margin

        reached = check_margin(content, X, y)
        return Verdict(True, lower=reached[0], upper=reached[1])
    if _kind(content) == HARD_MARGIN:
        from .hard_margin import check_hard_margin

        bound, cost, nodes = check_hard_margin(content, X, y)
        return Verdict(True, lower=bound, upper=cost, nodes=nodes)
    if _kind(content) == RAMP:
        from .balls.ramp import check_ramp

        bound, cost, nodes = check_ramp(content, X, y)
        return Verdict(True, lower=bound, upper=cost, nodes=nodes)
    problem = read_problem(content, X, y)
    upper = None
    if field(content, "upper", "upper") is not None:
        upper = check_rule(content["upper"], problem)
    lower = field(content, "lower", "lower")
    claimed = rational(field(lower, "bound", "lower"), "lower, bound")
    kind = field(lower, "kind", "lower")
    scope = read_scope(lower, problem)
    if kind == "supports":
        from .supports import check_supports

        proven, nodes = check_supports(lower, problem, scope, _proven_for_features)
    elif kind == "lattice":
        from .lattice import check_lattice

        proven, nodes = check_lattice(lower, problem, scope)
    else:
        proven, nodes = _proven_for_features(lower, without_choice(problem), scope)
    if claimed > proven:  # every loss is a sum of costs, so no rule lies between the bound and the next such sum
        proven = least_sum(merged_costs(problem), proven)
    if claimed > proven:
        raise Rejected("lower", f"the proof gives {proven}, the certificate claims {claimed}")
    if upper is not None and claimed > upper:
        raise Rejected("lower", "the bound exceeds the loss of the certificate's own rule")
    return Verdict(True, lower=claimed, upper=upper, nodes=nodes, relative_margin=scope.margin)


def _proven_for_features(lower: Any, problem: ExactProblem, scope: Scope) -> tuple[Fraction, int]:
    """The bound of a proof about a given set of features, with or without limits on errors, and the nodes of its tree."""
    kind = field(lower, "kind", "lower")
    problem = unfolded(problem)
    if kind == "priced":
        from .priced import plain_problem, shift

        plain = plain_problem(lower, problem)
        inside = field(lower, "proof", "lower")
        proven, nodes = _proven(inside, field(inside, "kind", "lower, proof"), plain, scope)
        return proven - shift(lower, problem), nodes
    if kind == "limited":
        from .limited import check_limited

        return check_limited(lower, problem, scope)
    return _proven(lower, kind, problem, scope)


def _proven(lower: Any, kind: Any, problem: ExactProblem, scope: Scope) -> tuple[Fraction, int]:
    """The bound that a proof of this kind gives and the nodes of its tree; Rejected when it does not hold."""
    if kind == "trivial":
        return (check_rows(lower, problem).constant if "constant" in lower else Fraction(0)), 0
    if kind == "box":
        from .box import check_box
        from .cone import read_cone, row_weights

        if problem.limits:
            raise Rejected("lower", 'a box proof says nothing about limits on errors; prices do (kind "priced")')
        cone = read_cone(lower, problem)
        rows = check_rows(lower, problem, may_repeat=True)
        vectors = problem.signed_rows(rows.points, cone.rows)
        weights = [*rows.weights, *row_weights(lower, cone)]
        inside = cone.behind(len(rows.points))
        whole, nodes = check_box(field(lower, "proof", "lower"), vectors, weights, scope, "box tree", inside)
        return rows.constant + rows.unit * whole, nodes
    if kind == "iis":
        from .iis import check_iis

        return check_iis(lower, problem, scope)
    raise Rejected("lower", f"proofs of kind {kind!r} are not known to this checker")
