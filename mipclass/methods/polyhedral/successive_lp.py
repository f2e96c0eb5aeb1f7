"""slp: polyhedral separation by successive linear programs (Astorino & Gaudioso 2002), as a method of the driver."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...arrays import Array
from ...backends.base import Backend
from ...backends.registry import backend_for
from ...errors import InvalidInputError
from ...modelling.model import Model
from ...modelling.program import Feature
from ...models.losses import AverageViolation
from ...models.penalties import L1
from ...models.polyhedral import point_sets
from ...models.rules import Linear, Polyhedron
from ...protocol.options import Option, Options, number, one_of, optional
from ...protocol.result import Outcome, Status, Values
from ...protocol.run import Run
from ..base import Method
from .search import Separation, separate, separate_as_printed

_OWN_LPS = ("auto", "highs", "interior-point")


class SuccessiveLP(Method):
    """AverageViolation, optionally with L1, over a Polyhedron (or the hyperplane of `rlp`), without side constraints.

    One hyperplane is one LP and the answer is proven. More are searched for; the claim is "proven" when f reaches 0,
    "local" when Theorem 4.1's condition was checked over all tied combinations, else "heuristic". The bound is 0, the
    least value that f can have, unless there is one hyperplane or `nodes` asks for a branch and bound, which needs no
    big-M and no box and ends with "proven" when it ends in time.
    """

    name: ClassVar[str] = "slp"
    promise: ClassVar[str] = "local: local minimum of the error function; proven for one hyperplane or zero error"
    options: ClassVar[Options] = {
        "variant": Option(
            "majorise",
            "'majorise': majorise-minimise with iterated local search; 'paper': Algorithm 4.1, corrected",
            one_of("majorise", "paper"),
        ),
        "rounds": Option(
            None,
            "disturbances of the iterated local search; None is 20, and up to 200 on small data",
            optional(number(0, integer=True)),
        ),
        "lp": Option(
            "auto",
            "who solves the LPs: 'highs' (warm dual simplex), 'interior-point', 'auto' (by size), or a backend's name",
            lambda value: None if isinstance(value, str) else "a name",
        ),
        "combinations": Option(64, "most tied assignments tried at a stationary point", number(1, integer=True)),
        "nodes": Option(
            0, "most nodes of a branch and bound that proves the optimum after the search", number(0, integer=True)
        ),
        "eps": Option(1e-3, "variant 'paper': eps_A, eps_B and the escape's threshold", number(0)),
        "sigma": Option(1e-3, "variant 'paper': the least predicted decrease that is worth a step", number(0)),
    }

    def refuses(self, problem: Any) -> str | None:
        if not isinstance(problem, Model):
            return "it takes models.polyhedral(...) or models.rlp(...), not a general program."
        if not isinstance(problem.rule, Polyhedron) and problem.rule != Linear():
            return f"its rule is {type(problem.rule).__name__}; slp takes rule=Polyhedron(h), or Linear() with a free offset."
        if problem.constraints:
            return "it has side constraints, which slp cannot keep; use solver='scip', or 'highs' with l1 > 0 or a box."
        kinds = [type(term) for coefficient, term in problem.terms if coefficient > 0]
        if kinds.count(AverageViolation) != 1 or not set(kinds) <= {AverageViolation, L1}:
            return "slp minimises AverageViolation(), alone or plus a multiple of L1()."
        return None

    def prefers(self, problem: Any) -> bool:
        return isinstance(problem.rule, Polyhedron)

    def solve(self, problem: Any, run: Run) -> Outcome:
        sets, h = point_sets(problem), getattr(problem.rule, "h", 1)
        options = run.options
        lp, start = options["lp"], _start(run.warm_start, h, sets.A.shape[1])
        shared = {"combinations": options["combinations"], "start": start}
        if options["variant"] == "paper":
            backend = _backend("highs" if lp in _OWN_LPS else lp)
            steps = {"eps": options["eps"], "sigma": options["sigma"]}
            found = separate_as_printed(sets, h, run, backend, **steps, **shared)
        elif lp in _OWN_LPS:
            found = separate(sets, h, run, rounds=options["rounds"], nodes=options["nodes"], lp=lp, **shared)
        else:
            shared |= {"rounds": options["rounds"], "nodes": options["nodes"], "backend": _backend(lp)}
            found = separate(sets, h, run, lp="backend", **shared)
        return _outcome(problem, found)


def _backend(name: str) -> Backend:
    return backend_for(name, Feature.LP, option="lp")


def _start(warm_start: Values | None, h: int, width: int) -> Array | None:
    """Hyperplanes (v_j, g_j), or the (w, b) of a linear rule, as a first iterate."""
    if warm_start is None:
        return None
    if "v" in warm_start and "g" in warm_start:
        v, g = np.atleast_2d(warm_start["v"]), np.ravel(warm_start["g"])
    elif h == 1 and "w" in warm_start:
        v, g = -np.atleast_2d(warm_start["w"]), np.ravel(warm_start.get("b", np.zeros(1)))
    else:
        return None
    if v.shape != (h, width - 1) or g.shape != (h,):
        raise InvalidInputError(
            f"warm_start has hyperplanes of shape {v.shape} and {g.shape}; this model needs {(h, width - 1)} and {(h,)}."
        )
    return np.ascontiguousarray(np.column_stack([v, g]))


def _outcome(problem: Model, found: Separation) -> Outcome:
    v, g = found.planes[:, :-1], found.planes[:, -1]
    linear = isinstance(problem.rule, Linear)
    values = {"w": -v[0], "b": np.asarray(g[0])} if linear else {"v": v.copy(), "g": g.copy()}
    words = {
        "proven": "optimal",
        "local": "local minimum (Theorem 4.1 holds)",
        "heuristic": "no better hyperplanes found",
    }
    return Outcome(
        status=found.status,
        claim=found.claim,
        values=values,
        objective=found.value,
        bound=found.bound,
        nodes=found.nodes,
        iterations=found.lps,
        raw_status=words[found.claim]
        if found.status in (Status.OPTIMAL, Status.ITERATION_LIMIT)
        else str(found.status),
        extra=found.extra,
    )
